/* The attaching of a process to its recording. */
#pragma once

#include <stdbool.h>

/* Attach this process to the segment of WS_SEG_ENV, once. 1 = recorded. */
bool ws_attach_once(void);
