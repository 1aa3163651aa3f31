/*
 * What the launcher tells every process that it records, beside what lies in
 * the rings, and how further processes find their way into the recording.
 * docs/recorder-design.md, section "Several processes".
 */
#ifndef WS_RECORDER_CONTROL_H
#define WS_RECORDER_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

/* Bytes of an output pattern, its NUL included. */
#define WS_MAX_OUTPUT 2048

/* Part of the segment's header. */
struct ws_seg_control {
	/* fixed by the launcher before the program starts; further segments get a copy */
	char output[WS_MAX_OUTPUT]; /* absolute pattern of the traces' names */
	uint32_t keep_existing;     /* 1: a name that a file has is not taken */

	/* written by the collector, in the first segment only */
	_Atomic uint32_t processes; /* further segments that were made */
	_Atomic uint32_t no_room;   /* pid of a process for whose segment there was no room */
};

#endif
