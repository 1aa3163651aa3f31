/* A segment as a program may have left it, from a fuzzer's input. */
#pragma once

#include "recorder/drain/drain.h"
#include "tests/fuzz/input.h"

#define FUZZ_SEG_BASE INT64_C(1700000000000000000)

enum fuzz_step {
	FUZZ_STEP_DEFINITION, /* kind and id, body: the head is made right */
	FUZZ_STEP_RECORD,     /* an event: sizes are made right */
	FUZZ_STEP_POP,
	FUZZ_STEP_RAW,    /* bytes as they are, in the log, a ring or a buffer of CUPTI's */
	FUZZ_STEP_HEADER, /* bytes of the segment's header */
	FUZZ_STEP_PASS,   /* the launcher reads */
	FUZZ_STEP_COMMIT,
	FUZZ_STEP_DEATH, /* of the launcher */
	FUZZ_STEPS
};

/* An empty segment of 2 thread buffers and 2 slots; the same memory each time. */
struct ws_seg_header *fuzz_segment(size_t *size);
/*
 * The next step of the input, done in the segment. PASS and later ones are the caller's. HEADER
 * goes into the fixed part only with has_fixed: while the launcher reads it has a copy of that.
 */
enum fuzz_step fuzz_segment_step(struct ws_seg_header *seg, struct fuzz_input *in, int has_fixed);
