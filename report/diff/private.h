/*
 * State of a comparison, shared by the builders of its tables.
 */
#pragma once

#include "report/diff/diff.h"
#include "report/diff/match.h"
#include "report/tables/tables.h"

/*
 * One side of a comparison: recordings of one configuration, with their work matched.
 */

/*
 * Samples are numbered consecutively over all recordings. A slot is the same work in all samples:
 * first the calls of the first sample in launch order, then calls that only later samples have.
 */
struct ws_side {
	struct ws_recording *recordings;
	size_t nrecordings;
	size_t ncopies; /* number of recordings left out because they are copies of another one */
	size_t *steps;  /* samples of each recording */
	size_t nsamples;
	struct ws_sample **samples;
	/* the sample shown on pages: the median sample of the recording with the median median, of
	 * an even number the shorter one; number of samples if there is none */
	size_t shown;
	size_t shown_recording;
	struct ws_work_ref *slots; /* the calls that created the slots */
	size_t nslots, slots_capacity;
	int64_t slots_ns; /* GPU time of these calls */
	int64_t gpu_ns;   /* of all kernels of all samples */
	char name[96];    /* displayed name */
};

/* Matches the recordings of a side with each other, and assigns slots to calls. Free with
 * ws_side_release, also after a failure. */
void ws_side_merge(struct ws_side *s, const struct ws_names *names);
void ws_side_release(struct ws_side *s);

/* The recording of a sample. */
struct ws_recording *ws_side_recording(const struct ws_side *s, size_t sample);

/* The value of a fact if it is equal in all recordings; else 0. */
uint32_t ws_side_fact(const struct ws_side *s, const struct ws_names *names, const char *key);

/*
 * Names of two sides: the values of the few facts in which they differ, else the names of their
 * files. Always different, and safe for terminals.
 */
void ws_sides_name(struct ws_side side[2], const struct ws_names *names);

#define WS_DIFF_MAX_REASONS 12

/* Kinds of times with different noise between recordings. */
enum ws_diff_noise {
	WS_DIFF_NOISE_GPU,  /* GPU time */
	WS_DIFF_NOISE_STEP, /* steps, or from the first device work to the last */
	WS_DIFF_NOISE_HOST, /* times on the host */
	WS_DIFF_NOISES
};

/* Sums over calls of one kind (report/diff/match.h) in one sample. */
struct ws_work_sum {
	uint32_t kind, sample;
	uint64_t instances, kernels;
	int64_t gpu_ns;
};

/* Key of a row: fields that its table does not use are 0. Rows with equal changes are ordered by
 * these fields. */
struct ws_diff_key {
	uint32_t side; /* for work without a counterpart: 1 = A, 2 = B */
	uint32_t path, domain, style, match;
	uint32_t measure;
	uint32_t op, phase, shape, class;
	uint32_t dtype[2];
	uint32_t matched_by; /* enum ws_matched_by, plus 1 */
	uint32_t count[2];
	uint32_t shape_b; /* shape of B if it differs */
	uint32_t kernels[2];
	uint32_t tensor[2]; /* enum ws_tensor, plus 1 */
};
struct ws_diff_row {
	struct ws_diff_key key;
	struct ws_diff_sums {
		/* sums of the row in one sample of the side; samples without such work are left
		 * out, so memory depends on the work, not on steps × rows */
		struct ws_diff_sum {
			uint32_t sample;
			int64_t ns;
			int64_t like_ns; /* matched work of one size */
			/* number of matched groups; several calls matched with one count as one */
			double groups;
		} * sum; /* by sample */
		size_t n, capacity;
	} sums[2];
	bool compares_like; /* like_ns is compared instead of ns */
	enum ws_diff_noise noise;
	uint64_t instances[2], kernels[2];
	uint64_t like_calls[2],
	        apart_calls[2];         /* matched calls of equal size, and of different sizes */
	int64_t like_ns[2], call_ns[2]; /* GPU time of calls of equal size; of all calls */
	double more_ns[2];              /* as in struct ws_diff */
	/* for classes, over all samples: time on Tensor Cores, and time for which that is
	 * unknown */
	int64_t tensor_ns[2], unknown_ns[2];
	double mean[2]; /* ns per sample; NaN: the side has no such work */
	/* ns in the displayed sample of the side; NaN as above. c.typical is of the same sample,
	 * and c.ratio is the ratio of both. */
	double shown[2];
	struct ws_comparison c;
	/* why c.grade is AMBIGUOUS although the times differ */
	enum ws_by_clocks by_clocks;
};
/* Starts as all zeros. */
struct ws_diff_rows {
	bool of_work;             /* rows are of matched work */
	bool of_calls;            /* rows with few or short calls are not graded */
	enum ws_diff_noise noise; /* of their times */
	struct ws_texts keys;
	struct ws_diff_row *row;
	size_t n, capacity;
	struct ws_arena arena; /* for functions that fill them */
};
/* The rows of a relation, made on demand. */
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
	/* every recording has enough steps that were not recorded: the step's time is theirs */
	bool compares_unrecorded;
	struct ws_grade_opts grade;
	struct ws_match match; /* only its kinds; groups are freed */
	struct ws_work_sums {
		struct ws_spill rows; /* struct ws_work_sum */
		size_t n;
	} work[2];
	int64_t matched_ns[2]; /* GPU time of matched work, over all samples */
	/* GPU time of work without a counterpart of equal size: the sum, and per sample and
	 * phase */
	int64_t unlike_ns[2], *unlike_phase_ns[2];
	/* by phase, over all samples: GPU time that a side would take more than the other for its
	 * matched work alone, when time grows as recorded sizes do */
	double more_ns[2][WS_PHASES];
	/* per range path, without nested ranges: the same, plus work without a counterpart */
	double *more_place_ns[2];
	double flops[2];      /* per sample: FLOPs of matched operations recorded on both sides */
	double typical_ns[2]; /* displayed step or elapsed time of each side; NaN = none */
	double noise[WS_DIFF_NOISES]; /* noise between recordings of one program; NaN = unknown */
	struct ws_unmatched_work {
		uint64_t kernels; /* kernels without a counterpart */
		uint64_t casts;   /* kernels beside matched work */
		int64_t cast_ns;
		uint64_t scalings; /* kernels that scale the loss */
		int64_t scaling_ns;
	} unmatched[2];
	uint32_t *kind_of_piece; /* per piece of A's replay: kind of its call, 0: none; NULL: no
	                            replay */
	/* A's step replayed: as recorded, and with B's times of kernels; NaN: unknown */
	double replayed_ns[2];
	/* … if the host waited for the device where it only may have; NaN: it does not matter */
	double replayed_waiting_ns;
	bool by_steps; /* the samples of both sides are steps */
	/* reasons why the work is not the same; none: it is */
	char reasons[WS_DIFF_MAX_REASONS][160];
	size_t nreasons;
	/* in pairs: they are about products, but B's have as many FLOPs in all as A's, and may be
	 * the same in other calls */
	bool is_arranged_otherwise;
	bool lacks_products; /* B has none, and A has some */
	/* of pairs: share of A's GPU time that other kernels of B do with other work, or that B
	 * leaves out */
	double fused_share;
	bool clocks_are_sampled; /* result->clock_mhz is of samples, in every recording */
	struct ws_diff_result *result;
	struct ws_compared compared[WS_DIFF_RELATIONS];
};

/* Is the work different, so that ratios of the sides' times are not shown? */
static inline bool ws_diff_is_unlike(const struct ws_diff *d)
{
	return d->nreasons && !d->opts.force;
}

/* For an A/A test: merges the recordings of side 0, and sets options for grading. */
struct ws_diff *ws_sides_diff(struct ws_sides *s);
void ws_sides_prepare_aa(struct ws_sides *s, const struct ws_diff_opts *opts);

/* --- rows.c: sums per sample, and their grades ---------------------------------------------- */

/* Options for comparing times of this kind. */
struct ws_grade_opts ws_diff_grade_opts(const struct ws_diff *d, enum ws_diff_noise noise);

void ws_diff_rows_release(struct ws_diff_rows *r);
/* The row with this key, which is added if new; valid until the next call. */
struct ws_diff_row *ws_diff_row_of(struct ws_diff_rows *r, const struct ws_diff_key *key);
/* The sums of the row in a sample of side s, which are added with zeros if new; valid until the
 * next call. */
struct ws_diff_sum *ws_diff_sum_of(struct ws_diff_row *row, int s, uint32_t sample);
/* Computes means and grades, and sorts by the size of the change. */
void ws_diff_rows_grade(const struct ws_diff *d, struct ws_diff_rows *r);
/* GPU time of matched work in a sample of side s and a phase; WS_PHASES: all phases. */
int64_t ws_diff_matched_ns(const struct ws_diff *d, int s, size_t sample, int phase);
/* --- work_sums.c -------------------------------------------------------------------------- */

/* Adds up calls by the kind of their match. Call after matching; frees the groups of the match,
 * which nothing reads afterwards. */
void ws_diff_sum_work(struct ws_diff *d);
/* Matched and unmatched work of both sides, with one row for all work that is equal in the fields
 * whose bits are set in `fields`. */
void ws_diff_gather_work(struct ws_diff *d, const struct ws_diff_key *fields,
                         struct ws_diff_rows *out);

/* --- rows.c, too: assumed noise by kind of time ------------------------------------ */

void ws_diff_assume_noise(struct ws_diff *d);

/* --- compared.c ---------------------------------------------------------------------------- */

/* Frees the rows of relations; they are made again on demand. */
void ws_diff_relations_release(struct ws_diff *d);

/* --- like.c ------------------------------------------------------------------------------- */

/* Is matched work of equal size, as far as sizes are recorded? ratio: B's size over A's, 1 =
 * unknown. */
bool ws_diff_is_like(const struct ws_diff *d, const struct ws_match_kind *kind, double *ratio);
/* Reasons why the recordings of a side did not do the same work; why the sides did not. */
void ws_diff_compare_recordings(struct ws_diff *d, int s);
void ws_diff_find_reasons(struct ws_diff *d);

/* Adds a row for each class. */
void ws_diff_gather_classes(struct ws_diff *d, struct ws_diff_rows *rows);

/* Most bytes allocated on devices in any recording; -1 = not recorded. */
double ws_side_peak(const struct ws_side *s);
/* A number about copies of this name, per sample. NaN: bytes, if some copies have no recorded
 * size. */
enum ws_copies { WS_COPIES_COUNT, WS_COPIES_BYTES, WS_COPIES_NS };
double ws_side_copies(const struct ws_side *s, uint32_t name, enum ws_copies what);
/* Grades numbers that do not scatter: SAME, FASTER (less) or SLOWER (more). */
enum ws_grade ws_diff_grade_count(const struct ws_diff *d, double a, double b);

/* --- ranges.c: times of samples ------------------------------------------------------------ */

/* Adds a row for this measure and phase, WS_PHASES = the whole; none if neither side has it. */
void ws_diff_gather_time(const struct ws_diff *d, struct ws_diff_rows *rows, int phase,
                         enum ws_measure measure);
bool ws_diff_has_phases(const struct ws_diff *d);
/* Adds the rows of diff-phases; of diff-ranges. */
void ws_diff_gather_phases(struct ws_diff *d, struct ws_diff_rows *rows);
void ws_diff_gather_ranges(struct ws_diff *d, struct ws_diff_rows *rows);
enum ws_diff_match { WS_DIFF_BOTH, WS_DIFF_ONLY_A, WS_DIFF_ONLY_B };

/* --- gains.c: rows of diff-verdict ---------------------------------------------------------- */

/* Computes the part of B - A that kernel times alone explain. Call after the sums are complete. */
void ws_diff_replay(struct ws_diff *d);
/* Adds the row of the verdict about it; overall: the times of both sides. */
void ws_verdict_replayed(const struct ws_diff *d, struct ws_table *t,
                         const struct ws_comparison *overall);
#define WS_DIFF_SHARE 160
/* Does what kernel times explain depend on waits that no call shows? */
bool ws_diff_replay_is_unsure(const struct ws_diff *d, const struct ws_comparison *overall);
/* "74 % of the difference"; "" where there is none. */
const char *ws_diff_replayed_share(const struct ws_diff *d, const struct ws_comparison *overall,
                                   char out[WS_DIFF_SHARE]);

/* A buffer for the sentences of a row; truncated if it is full. */
struct ws_sentence {
	char text[512];
};
#define ws_sentence_add(sentence, ...) \
	ws_say_add((sentence)->text, sizeof((sentence)->text), __VA_ARGS__)
void ws_verdict_numbers(struct ws_table *t, struct ws_cell *row, double a, double b,
                        const char *unit);
/* Adds rows about gains, losses, gains without effect on the step, and Tensor Cores. step_ns,
 * gpu_ns: typical times of each side. */
void ws_verdict_gains(struct ws_diff *d, struct ws_table *t, const double step_ns[2],
                      const double gpu_ns[2]);

#define WS_DIFF_NOTHING "Nothing to compare: a side has no device work."

/* --- waterfall.c: parts of a step ---------------------------------------------------- */

/* A class without its brackets. */
struct ws_bytes ws_diff_class_name(struct ws_bytes name);

enum ws_diff_part_kind {
	WS_PART_CLASS,
	WS_PART_OPERATION, /* host operations of a class, without device work */
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
	} * part; /* by kind, then largest change first; the parts of a side add up to … */
	size_t n;
	double whole_ns[2]; /* … its displayed step */
};
/* Free with ws_diff_parts_release. */
void ws_diff_find_parts(struct ws_diff *d, struct ws_diff_parts *out);
void ws_diff_parts_release(struct ws_diff_parts *p);
/* "47.5 ms less waiting for data", "3.2 ms more gemm kernels" */
void ws_diff_print_part(const struct ws_diff_part *p, char *out, size_t size);
/* "51 ms less per step: 47.5 ms less waiting for data." Empty if nothing changed. */
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
/* Did both sides run on one kind of GPU? Only then their clocks can be compared. */
static inline bool ws_diff_is_of_one_device(const struct ws_diff *d)
{
	const uint32_t name = ws_side_fact(&d->side[0], &d->names, "device");

	return name && name == ws_side_fact(&d->side[1], &d->names, "device");
}
/* Is the compared work host operations, because no device worked on either side? */
static inline bool ws_diff_is_of_host_ops(const struct ws_diff *d)
{
	bool is = true;

	for (int s = 0; s < 2; s++)
		is &= d->side[s].nrecordings && d->side[s].recordings[0].has_host_ops;
	return is;
}
/* Name of the sum of work, and of its parts. */
static inline const char *ws_diff_work_time(const struct ws_diff *d)
{
	return ws_diff_is_of_host_ops(d) ? "operation time"
	       : ws_diff_is_on_cpu(d)    ? "kernel time"
	                                 : "GPU time";
}
/* Name of these rows of the verdict, also for the CPU reference. */
static inline const char *ws_diff_sum_name(const struct ws_diff *d)
{
	return ws_diff_is_of_host_ops(d) ? "operation time" : "GPU time";
}
static inline const char *ws_diff_work_noun(const struct ws_diff *d)
{
	return ws_diff_is_of_host_ops(d) ? "operations" : "kernels";
}

/* --- answers.c ------------------------------------------------------------------------------ */

/* Makes the first screen of the report. Call after all its tables are made. */
void ws_diff_answer(struct ws_diff *d, struct ws_report *report);

/* --- the tables --------------------------------------------------------------------------- */

/* Adds a note that says what the times of a table cover. */
void ws_diff_note_samples(const struct ws_diff *d, struct ws_table *t);
/* Adds a note about traces that were given twice. */
void ws_diff_note_copies(const struct ws_side *side, const char *before, struct ws_table *t);

/* A fact of a recording: side, key, value. */
struct ws_relation;
extern const struct ws_relation ws_diff_relation_fact;
/* Adds notes to a table made by a query, or makes the whole table. */
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
