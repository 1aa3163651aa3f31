/* Finding the segment that this process records into. */
#pragma once

#include "recorder/shared/segment.h"

/*
 * The segment that belongs to this process now, mapped: the one that WS_SEG_ENV
 * names for the first process that asks and for its later images, one of its
 * own beside it for each further process. NULL: this process is not recorded;
 * where there was a recording it is counted as process_not_recorded. Called
 * once in each copy of the library.
 */
struct ws_seg_header *ws_control_claim(void);
