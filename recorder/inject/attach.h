/* The attaching of a process to its recording. */
#ifndef WS_RECORDER_INJECT_ATTACH_H
#define WS_RECORDER_INJECT_ATTACH_H

#include <stdbool.h>

/* Attach this process to the segment of WS_SEG_ENV, once. 1 = recorded. */
bool ws_attach_once(void);

#endif
