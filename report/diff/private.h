/*
 * A comparison in the making: what the builders of its tables share.
 */
#pragma once

#include <stdbool.h>

#include "report/base/grade.h"
#include "report/base/ui.h"
#include "report/diff/diff.h"
#include "report/diff/match.h"
#include "report/tables/tables.h"

/*
 * One side of a comparison: recordings of one configuration, their work laid
 * over each other.
 */

/*
 * Samples are numbered through: those of the first recording, then those of
 * the second. A slot is the same work in all samples: the calls of the first sample
 * in launch order, behind them what only later samples have.
 */
struct ws_side {
	struct ws_recording *recordings;
	size_t nrecordings;
	size_t ncopies; /* that were left out: they have the bytes of one that is there */
	size_t *steps;  /* samples of each recording */
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

#define WS_DIFF_MAX_REASONS 12

/* What recordings of one thing vary by depends on what is compared. */
enum ws_diff_noise {
	WS_DIFF_NOISE_GPU,  /* GPU time */
	WS_DIFF_NOISE_STEP, /* steps, or from the first device work to the last */
	WS_DIFF_NOISE_HOST, /* times on the host */
	WS_DIFF_NOISES
};

/* Calls of one kind (report/diff/match.h) in one sample. */
struct ws_work_sum {
	uint32_t kind, sample;
	uint64_t instances, kernels;
	int64_t gpu_ns;
};

/* What a row is of: 0 where its table does not ask for it. Of rows that changed as much the order
 * of these decides. */
struct ws_diff_key {
	uint32_t side; /* of work without a counterpart: 1 = A, 2 = B */
	uint32_t path, domain, style, match;
	uint32_t measure;
	uint32_t op, phase, shape, class;
	uint32_t dtype[2];
	uint32_t matched_by; /* enum ws_matched_by, plus 1 */
	uint32_t count[2];
	uint32_t shape_b; /* where it differs */
	uint32_t kernels[2];
	uint32_t tensor[2]; /* enum ws_tensor, plus 1 */
};
struct ws_diff_row {
	struct ws_diff_key key;
	struct ws_diff_sums {
		/* what the row has in a sample of the side; samples that have nothing of it are
		 * left out, so memory follows what there is, not steps × rows */
		struct ws_diff_sum {
			uint32_t sample;
			int64_t ns;
			int64_t like_ns; /* matched work of one size */
			/* calls of that, of which several count as one where they face one */
			double groups;
		} * sum; /* by sample */
		size_t n, capacity;
	} sums[2];
	bool compares_like; /* like_ns is compared, not ns */
	enum ws_diff_noise noise;
	uint64_t instances[2], kernels[2];
	uint64_t like_calls[2], apart_calls[2]; /* matched, and of one size or not */
	int64_t like_ns[2], call_ns[2];         /* of those of one size; of all */
	double more_ns[2];                      /* as that of struct ws_diff */
	/* of classes, over all samples: on Tensor Cores, and where that is not known */
	int64_t tensor_ns[2], unknown_ns[2];
	double mean[2]; /* ns a sample; NaN: the side has no such work */
	/* ns in the sample that pages show of the side; NaN as above. So has c.typical, of
	 * what is compared, and c.ratio is that of the two. */
	double shown[2];
	struct ws_comparison c;
};
/* Starts as all zeros. */
struct ws_diff_rows {
	bool of_work;             /* rows are of matched work */
	bool of_calls;            /* few or short ones are not graded */
	enum ws_diff_noise noise; /* of their times */
	struct ws_texts keys;
	struct ws_diff_row *row;
	size_t n, capacity;
	struct ws_arena arena; /* for who fills them */
};
/* The rows of a relation, made when a query asks for them. */
struct ws_compared {
	struct ws_diff *d;
	void (*gather)(struct ws_diff *d, struct ws_diff_rows *rows);
	struct ws_diff_rows rows;
	bool is_made;
};
#define WS_DIFF_RELATIONS 7

struct ws_diff {
	struct ws_side side[2];
	struct ws_names names;
	struct ws_diff_opts opts;
	struct ws_grade_opts grade;
	struct ws_match match; /* its kinds; groups are gone */
	struct ws_work_sums {
		struct ws_spill rows; /* struct ws_work_sum */
		size_t n;
	} work[2];
	int64_t matched_ns[2]; /* GPU time of what has a counterpart, over all samples */
	/* of what has none of its size: the sum, and of each sample by phase */
	int64_t unlike_ns[2], *unlike_phase_ns[2];
	/* by phase, over all samples: GPU time that a side would take more than the other for its
	 * matched work alone, when time grows as recorded sizes do */
	double more_ns[2][WS_PHASES];
	/* the same and work without a counterpart, of each range place itself */
	double *more_place_ns[2];
	double flops[2]; /* recorded of matched operations that tell them on both sides, a sample */
	double typical_ns[2]; /* step, or elapsed time, that is shown of each side; NaN = none */
	double noise[WS_DIFF_NOISES]; /* between recordings of one thing; NaN = not known */
	struct ws_unmatched_work {
		uint64_t kernels; /* of what has none */
		uint64_t casts;   /* kernels beside matched work */
		int64_t cast_ns;
		uint64_t scalings; /* kernels that scale the loss */
		int64_t scaling_ns;
	} unmatched[2];
	uint32_t *kind_of_piece; /* of A's replay: kind of its call, 0: none; NULL: no replay */
	/* A's replayed step: as recorded, and with B's times of matched kernels; NaN: cannot tell
	 */
	double replayed_ns[2];
	/* … if the host waited for the device where it only may have; NaN: it does not matter */
	double replayed_waiting_ns;
	bool by_steps; /* the samples of both sides are steps */
	/* why they are not the same work; none: they are */
	char reasons[WS_DIFF_MAX_REASONS][160];
	size_t nreasons;
	struct ws_diff_result *result;
	struct ws_compared compared[WS_DIFF_RELATIONS];
};

/* Are ratios of the sides' times withheld? */
static inline bool ws_diff_is_unlike(const struct ws_diff *d)
{
	return d->nreasons && !d->opts.force;
}

/* What an A/A test needs of them: recordings of side 0 merged, and how they are graded. */
struct ws_diff *ws_sides_diff(struct ws_sides *s);
void ws_sides_prepare_aa(struct ws_sides *s, const struct ws_diff_opts *opts);

/* --- rows.c: sums a sample, and their grades ---------------------------------------------- */

/* How times of this kind are compared. */
struct ws_grade_opts ws_diff_grade_opts(const struct ws_diff *d, enum ws_diff_noise noise);

void ws_diff_rows_release(struct ws_diff_rows *r);
/* The row of this key, new where there is none; valid until the next call. */
struct ws_diff_row *ws_diff_row_of(struct ws_diff_rows *r, const struct ws_diff_key *key);
/* What the row has in a sample of side s, nothing so far where it is new; valid until the next
 * call. */
struct ws_diff_sum *ws_diff_sum_of(struct ws_diff_row *row, int s, uint32_t sample);
/* Means and grades; then what changed most comes first. */
void ws_diff_rows_grade(const struct ws_diff *d, struct ws_diff_rows *r);
/* GPU time of a sample of side s in a phase, WS_PHASES: in all, for work that both sides did. */
int64_t ws_diff_matched_ns(const struct ws_diff *d, int s, size_t sample, int phase);
/* --- work_sums.c -------------------------------------------------------------------------- */

/* Adds up calls by what they are matched with: once they are. */
void ws_diff_sum_work(struct ws_diff *d);
/* The matched and unmatched work of both sides: a row of all that is alike in the fields of which
 * the bits are set in `fields`. */
void ws_diff_gather_work(struct ws_diff *d, const struct ws_diff_key *fields,
                         struct ws_diff_rows *out);

/* --- rows.c, too: noise of what is graded, by what it is ------------------------------------ */

void ws_diff_assume_noise(struct ws_diff *d);

/* --- compared.c ---------------------------------------------------------------------------- */

/* Frees their rows; whoever asks for them again makes them anew. */
void ws_diff_relations_release(struct ws_diff *d);

/* --- like.c ------------------------------------------------------------------------------- */

/* Work that has a counterpart: is it of the same size, as far as sizes are recorded? ratio: of B's
 * to A's size, 1 = not known. */
bool ws_diff_is_like(const struct ws_diff *d, const struct ws_match_kind *kind, double *ratio);
/* Reasons why the sides did not do the same work. */
void ws_diff_find_reasons(struct ws_diff *d);

/* A row of each class. */
void ws_diff_gather_classes(struct ws_diff *d, struct ws_diff_rows *rows);

/* Most bytes allocated on devices in any recording; -1 = not recorded. */
double ws_side_peak(const struct ws_side *s);
/* A number of the copies of this name, a sample. NaN: bytes that some of them do not tell. */
enum ws_copies { WS_COPIES_COUNT, WS_COPIES_BYTES, WS_COPIES_NS };
double ws_side_copies(const struct ws_side *s, uint32_t name, enum ws_copies what);
/* SAME, FASTER (less) or SLOWER (more) of numbers that do not scatter. */
enum ws_grade ws_diff_grade_count(const struct ws_diff *d, double a, double b);

/* --- ranges.c: times of samples ------------------------------------------------------------ */

/* A row of this measure and phase, WS_PHASES = the whole; none where neither side has it. */
void ws_diff_gather_time(const struct ws_diff *d, struct ws_diff_rows *rows, int phase,
                         enum ws_measure measure);
bool ws_diff_has_phases(const struct ws_diff *d);
/* Those of diff-phases; of diff-ranges. */
void ws_diff_gather_phases(struct ws_diff *d, struct ws_diff_rows *rows);
void ws_diff_gather_ranges(struct ws_diff *d, struct ws_diff_rows *rows);
enum ws_diff_match { WS_DIFF_BOTH, WS_DIFF_ONLY_A, WS_DIFF_ONLY_B };

/* --- gains.c: rows of diff-verdict ---------------------------------------------------------- */

/* What of B - A the kernel times alone explain: behind the sums. */
void ws_diff_replay(struct ws_diff *d);
/* A row of the verdict about it; overall: the times of both sides. */
void ws_verdict_replayed(const struct ws_diff *d, struct ws_table *t,
                         const struct ws_comparison *overall);
#define WS_DIFF_SHARE 160
/* Does what kernel times explain depend on waits that no call shows? */
bool ws_diff_replay_is_unsure(const struct ws_diff *d, const struct ws_comparison *overall);
/* "74 % of the difference"; "" where there is none. */
const char *ws_diff_replayed_share(const struct ws_diff *d, const struct ws_comparison *overall,
                                   char out[WS_DIFF_SHARE]);

/* The sentences of a row grow here; what does not fit is left out. */
struct ws_sentence {
	char text[512];
};
#define ws_sentence_add(sentence, ...) \
	ws_say_add((sentence)->text, sizeof((sentence)->text), __VA_ARGS__)
void ws_verdict_numbers(struct ws_table *t, struct ws_cell *row, double a, double b,
                        const char *unit);
/* What gained, what lost, where the gain went, Tensor Cores. step_ns, gpu_ns: typical, of each
 * side. */
void ws_verdict_gains(struct ws_diff *d, struct ws_table *t, const double step_ns[2],
                      const double gpu_ns[2]);

/* --- verdict_text.c ----------------------------------------------------------------------- */

/* "amp-bf16 is 1.6× faster than fp32 (1.5× to 1.7×)" */
void ws_diff_print(const struct ws_diff *d, const struct ws_comparison *c, char *out, size_t size);

/* A class without its brackets. */
struct ws_bytes ws_diff_class_name(struct ws_bytes name);
#define WS_DIFF_NOTHING "Nothing to compare: a side has no device work."

/* --- waterfall.c: what a step is made of ---------------------------------------------------- */

enum ws_diff_part_kind {
	WS_PART_CLASS,
	WS_PART_OPERATION, /* of a class, on the host: no device worked */
	WS_PART_GRAPHS,
	WS_PART_OVERLAP,
	WS_PART_COPIES,
	WS_PART_COMMUNICATION,
	WS_PART_IDLE,
};
struct ws_diff_parts {
	struct ws_diff_part {
		enum ws_diff_part_kind kind;
		struct ws_bytes name;
		double ns[2];
	} * part; /* by kind, then largest change first; of each side they add up to … */
	size_t n;
	double whole_ns[2]; /* … the step that is shown of it */
};
/* Free with ws_diff_parts_release. */
void ws_diff_find_parts(struct ws_diff *d, struct ws_diff_parts *out);
void ws_diff_parts_release(struct ws_diff_parts *p);
/* "47.5 ms less waiting for data", "3.2 ms more gemm kernels" */
void ws_diff_print_part(const struct ws_diff_part *p, char *out, size_t size);
/* "51 ms less per step: 47.5 ms less waiting for data." Empty where nothing changed. */
void ws_diff_print_cause(const struct ws_diff *d, const struct ws_diff_parts *p, char *out,
                         size_t size);

/* Has a side times of the CPU reference? */
static inline bool ws_diff_is_on_cpu(const struct ws_diff *d)
{
	bool is = false;

	for (int s = 0; s < 2; s++)
		is |= d->side[s].nrecordings && d->side[s].recordings[0].on_cpu;
	return is;
}
/* Are the operations of the host its work: did no device work on either side? */
static inline bool ws_diff_is_of_host_ops(const struct ws_diff *d)
{
	bool is = true;

	for (int s = 0; s < 2; s++)
		is &= d->side[s].nrecordings && d->side[s].recordings[0].has_host_ops;
	return is;
}
/* What the sum of their work is called, and its parts. */
static inline const char *ws_diff_work_time(const struct ws_diff *d)
{
	return ws_diff_is_of_host_ops(d) ? "operation time"
	       : ws_diff_is_on_cpu(d)    ? "kernel time"
	                                 : "GPU time";
}
/* Whose rows of the verdict are called so on the CPU reference, too. */
static inline const char *ws_diff_sum_name(const struct ws_diff *d)
{
	return ws_diff_is_of_host_ops(d) ? "operation time" : "GPU time";
}
static inline const char *ws_diff_work_noun(const struct ws_diff *d)
{
	return ws_diff_is_of_host_ops(d) ? "operations" : "kernels";
}

/* --- answers.c ------------------------------------------------------------------------------ */

/* The first screen of the report, which has all its tables. */
void ws_diff_answer(struct ws_diff *d, struct ws_report *report);

/* --- the tables --------------------------------------------------------------------------- */

/* Says once a table what its times are of. */
void ws_diff_note_samples(const struct ws_diff *d, struct ws_table *t);
/* Traces that were given twice. */
void ws_diff_note_copies(const struct ws_side *side, const char *before, struct ws_table *t);

/* A fact of a recording: side, key, value. */
struct ws_relation;
extern const struct ws_relation ws_diff_relation_fact;
/* What a table has beside the rows of its query; or all of it. */
#define X(name) void ws_diff_note_##name(struct ws_diff *d, struct ws_table *t);
X(verdict)
X(waterfall)
X(idle)
X(phases)
X(ranges)
X(work)
X(memory)
X(only)
X(config)
#undef X
