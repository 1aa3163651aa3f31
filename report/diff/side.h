/*
 * One side of a comparison: recordings of one configuration, their work laid
 * over each other.
 */
#pragma once

#include "report/base/grade.h"
#include "report/diff/match.h"

/*
 * Samples are numbered through: those of the first recording, then those of
 * the second. A slot is the same work in all samples: the calls of the first sample
 * in launch order, behind them what only later samples have.
 */
struct ws_side {
	struct ws_recording *recordings;
	size_t nrecordings;
	size_t ncopies; /* that were left out: they have the bytes of one that is there */
	size_t *steps; /* samples of each recording */
	size_t nsamples;
	struct ws_sample **samples;
	/* what pages show of the side: the median sample of the recording whose median is the
	 * median, of an even number the shorter one; NSAMPLES where there is none */
	size_t shown;
	size_t shown_recording;
	struct ws_work_ref *slots; /* as where they were found first */
	size_t nslots, slots_capacity;
	int64_t slots_ns; /* of the calls that they were found with */
	int64_t gpu_ns;   /* of all kernels of all samples */
	char name[96];    /* what people call it */
};

/* Lay the recordings over each other: calls get their slots. Free with ws_side_release, also after
 * a failure. */
void ws_side_merge(struct ws_side *s, const struct ws_names *names);
void ws_side_release(struct ws_side *s);

/* The recording of a sample. */
struct ws_recording *ws_side_recording(const struct ws_side *s, size_t sample);

/* The fact in all recordings; 0 when one lacks it or has another. */
uint32_t ws_side_fact(const struct ws_side *s, const struct ws_names *names, const char *key);

/*
 * Names of two sides: the values of the few facts in which they differ, else
 * the names of their files. Never the same, nothing in them that would harm a terminal.
 */
void ws_sides_name(struct ws_side side[2], const struct ws_names *names);
