/*
 * The data of one recording that a comparison needs: the work in each sample, with names that are
 * shared between recordings. Independent of the model. A sample is a measured step, or the whole
 * trace if it has no steps.
 */
#pragma once

#include "report/analysis/steps.h"
#include "report/base/names.h"
#include "report/replay/replay.h"
#include "report/table/table.h"

/* Attributes that must be equal to match two items, besides their phase, from strict to loose. */
enum ws_likeness { WS_LIKE_KIND_AND_SHAPE, WS_LIKE_KIND, WS_LIKE_CLASS, WS_LIKENESSES };

/* Work that only a program of another precision needs: casts, and the scaling of its loss. */
enum ws_precision_work {
	WS_PRECISION_NONE,
	WS_PRECISION_CAST,
	WS_PRECISION_SCALING, /* unscaling gradients, looking for infinities, updating the scale */
	WS_PRECISION_SCALAR,  /* operations on one element: with the scale, or others */
};

/*
 * Shared attributes of similar calls. A call is an operation with all its kernels, or one kernel
 * outside operations. Compared by bytes, so without padding.
 */
struct ws_work_item {
	uint32_t place; /* path of its innermost range, WS_NONE: outside ranges */
	/* texts; 0 = unknown */
	uint32_t op;       /* name of the operation */
	uint32_t kind;     /* normalised kind of operation: "gemm", "add" */
	uint32_t shape;    /* "4x128x768", without dtypes */
	uint32_t class;    /* never 0 */
	uint32_t dtype;    /* type that it reads */
	uint32_t kernels;  /* names of its kernels */
	uint16_t phase;    /* enum ws_phase */
	uint8_t tensor;    /* enum ws_tensor, of its longest kernel */
	uint8_t precision; /* enum ws_precision_work */
	uint32_t nkernels : 31;
	/* an operation of the host: aten::linear calls aten::addmm, and both are one product */
	uint32_t contains_its_class : 1;
	float flops;                      /* as recorded; 0 = unknown */
	float volume;                     /* product of the recorded sizes; 0 = not known */
	float threads;                    /* of its kernels; 0 = not known */
	uint32_t likeness[WS_LIKENESSES]; /* equal numbers: similar by that criterion */
};

/* Work whose sizes differ by more than this is not the same. */
#define WS_WORK_APART 0.05
/* 0: a size is not known. */
static inline bool ws_work_apart(double a, double b)
{
	return a > 0 && b > 0 && (a > b ? b / a : a / b) < 1 - WS_WORK_APART;
}

/* One call. */
struct ws_work_call {
	int64_t gpu_ns;
	int64_t longest_ns; /* of its kernels */
	uint32_t item;      /* number (ws_names_item) */
	uint32_t instance;  /* number of the range among those of its path in the sample, from 0 */
	uint32_t slot;      /* slot of the side (private.h) once merged; see calls_are_slots */
};

struct ws_range_at {
	uint32_t sample; /* WS_NONE: not compared */
	uint32_t place, instance;
	int64_t gpu_ns; /* of kernels launched in it, and in ranges inside it */
};

struct ws_class_time {
	uint32_t class;
	uint32_t kernels;
	int64_t gpu_ns, tensor_ns, unknown_ns; /* total, on Tensor Cores, and unknown */
};

/* A device that worked in the samples. */
struct ws_device_time {
	uint64_t id;
	struct ws_window_use *of_sample;
};

/* Copies in one direction, or fills. */
struct ws_copy_sum {
	uint64_t count, bytes, without_size;
	int64_t ns;
};

struct ws_sample {
	size_t first_call, ncalls; /* in launch order */
	bool calls_are_slots;      /* calls have the slots 0, 1, … */
	size_t first_class, nclasses;
	int64_t step_ns; /* length with its device work; for a whole trace from its first device
	                    work to its last, 0 without any */
	int64_t use_ns[WS_USES]; /* over its devices; those of a device add up to step_ns */
	int64_t graph_ns;        /* of CUDA graphs traced as a whole */
	int64_t host_ns;         /* the range on its thread */
	int64_t gpu_ns;          /* of all kernels */
	int64_t phase_ns[WS_PHASES], phase_gpu_ns[WS_PHASES];
	int64_t window_ns[WS_PHASES]; /* as in ws_step_times; -1: unknown */
	uint8_t phases;               /* bit p: it has a range of phase p */
};

/* A range path, with the same number in all recordings: names without parts that vary between
 * calls. */
struct ws_place {
	uint32_t text, domain; /* text of the path; domain of its innermost name */
	uint8_t style;         /* 0 or WS_RANGE_START_END */
};

struct ws_recorded_fact {
	uint32_t key, value;
};

/* The fact by which a program reports its own time per step, in ms. */
#define WS_CLAIMED_STEP "claimed_step_ms"

/* How often work of one name is where: kernels, or without any the host's operations. */
struct ws_work_place {
	uint32_t name; /* text */
	uint64_t in_samples;
	uint64_t calls_before, calls_later; /* outside of them: before the first one, and later */
};

/* What a referee asks of a recording besides its work and its times. */
struct ws_evidence {
	struct ws_work_place *places; /* several may have one name */
	size_t nplaces;
	double behind_ns;       /* device work after the end of the median step's range */
	uint64_t behind_stream; /* the stream of the last kernel of such a step */
	double recorder_ns;     /* estimated cost of recording, per sample */
	bool claims;            /* has WS_CLAIMED_STEP */
	double claimed_ns;      /* its value; NaN = none, or no time */
	/* the largest share of its time that work needs at a peak of the device (0 = not known),
	 * and a sentence about it without its full stop */
	double peak_share;
	char peak_words[200];
	uint64_t untimed, instant;    /* kernels without a time; of duration 0 */
	uint64_t broken_times, holes; /* records whose time breaks a law; launches without work */
	bool is_open;                 /* the trace was not closed */
};

struct ws_recording {
	uint32_t name; /* name of the recording as given */
	uint64_t file_hash, file_size;
	int64_t base_ns;
	struct ws_sample *samples;
	size_t nsamples;
	bool has_steps;
	double *unrecorded_ns; /* times of steps that were not recorded */
	size_t nunrecorded;
	struct ws_spill calls; /* struct ws_work_call, sample after sample */
	size_t ncalls;
	struct ws_spill ranges; /* struct ws_range_at, one for each range of the trace */
	size_t nranges;
	struct ws_class_time *classes;
	size_t nclasses;
	struct ws_device_time *devices;
	size_t ndevice_times;
	struct ws_copy_sum *copies;     /* WS_COPY_NAMES (tables.h) per sample */
	struct ws_recorded_fact *facts; /* of workload, device and provenance */
	size_t nfacts;
	uint64_t *dtypes; /* per place: bits of the dtypes read in it */
	size_t nplaces;
	size_t incomplete_steps; /* steps that are not measured, as their records are not whole */
	size_t unfinished;       /* steps during which recording ended, which are left out */
	uint32_t ndevices;       /* that ran kernels */
	int on_cpu;              /* as ws_model_on_cpu */
	bool has_host_ops;       /* no device work: operations on the host are compared */
	struct ws_idle_verdict idle; /* of the measured steps */
	bool damaged;                /* blocks were lost */
	uint64_t lost;      /* records that were not recorded, as far as they are counted */
	int64_t peak_bytes; /* allocated on a device; -1 = not recorded */
	int64_t graphs_ns;  /* of CUDA graphs traced as a whole, whose kernels are unknown */
	double mfu_percent, hfu_percent; /* NaN = not known */
	char peak[240];                  /* peak rate used for the utilizations */
	/* the multiprocessors' clock: the mean of its samples in the measured steps, and of the
	 * readings at begin and end; 0 = not recorded, or no GPU worked */
	double sampled_mhz, read_mhz;
	double step_j;            /* energy of the GPUs per step; NaN = not known */
	struct ws_table *origin;  /* for notes about the end of recording */
	struct ws_page *page;     /* first screen of its median step; NULL: not requested */
	struct ws_replay *replay; /* replay of its median step; NULL: not requested */
	uint32_t *call_of_piece;  /* per piece: the call of its kernel, WS_NONE */
	uint32_t replayed_sample; /* the sample of that step */
	struct ws_evidence evidence;
};

/* Names shared by recordings. */
struct ws_names {
	struct ws_texts texts;
	struct ws_texts place_keys;
	struct ws_place *places; /* number of the key - 1 */
	uint32_t *parents;       /* per place: the surrounding place, WS_NONE */
	size_t nplaces, places_capacity, parents_capacity;
	struct ws_texts items, likenesses; /* their bytes */
#define WS_MOST_DTYPES 64
	uint32_t dtype[WS_MOST_DTYPES]; /* texts: dtypes that operations read, the first first */
	size_t ndtypes;
};
/* The number of a place, which is added if new. */
uint32_t ws_names_add_place(struct ws_names *names, const struct ws_place *place, uint32_t parent);
/* The number of an item, which is added if new. Its likeness[] must be set. */
uint32_t ws_names_add_item(struct ws_names *names, struct ws_work_item *item);
static inline const struct ws_work_item *ws_names_item(const struct ws_names *names, uint32_t item)
{
	return names->items.text[item].ptr;
}
void ws_names_release(struct ws_names *names);

/* names: shared by all recordings of a comparison. is_replayed: includes the replay of its median
 * step. has_evidence: includes what a referee asks. Free with ws_recording_release. */
void ws_recording_read(struct ws_recording *out, struct ws_names *names, const struct ws_model *m,
                       struct ws_joined_rows *rows, bool is_replayed, bool has_evidence);
void ws_recording_release(struct ws_recording *r);
/* Call i, or range i; valid until the next call. */
static inline struct ws_work_call *ws_recording_call(struct ws_recording *r, size_t i)
{
	return ws_spill_row(&r->calls, sizeof(struct ws_work_call), i);
}
static inline struct ws_range_at *ws_recording_range(struct ws_recording *r, size_t i)
{
	return ws_spill_row(&r->ranges, sizeof(struct ws_range_at), i);
}

/* The length of the median sample; NaN without samples. */
double ws_recording_median_ns(const struct ws_recording *r);
/* Relative standard deviation between runs that is assumed of a step with these uses of its time;
 * 0: that of its GPU time. */
double ws_noise_of_waiting(const double use_ns[WS_USES]);
/* Robust relative standard deviation of the steps of a recording; 0: too few. */
double ws_scatter_of_steps(const double *ns, size_t n);
/* If clocks differ by more than this, times are not compared. */
#define WS_CLOCKS_APART 0.02
/* 0: a clock was not recorded. */
bool ws_clocks_differ(double mhz_a, double mhz_b);
/* Why different clocks explain a ratio of times, A's clock first; a clock of 0 is not known. */
enum ws_by_clocks {
	WS_CLOCKS_NO_REASON,
	WS_CLOCKS_SAME_CYCLES, /* in cycles there is no difference */
	WS_CLOCKS_ENOUGH,      /* sampled clocks differ by as much, in the same direction */
};
enum ws_by_clocks ws_clocks_explain(double ratio, const double mhz[2], bool are_sampled,
                                    double min_effect);
/* By samples if both have some: a reading at the end is often that of an idle GPU. */
bool ws_recordings_are_apart(const struct ws_recording *a, const struct ws_recording *b);
/* Most bytes allocated on devices at one time; -1 = not recorded. */
int64_t ws_memory_peak(const struct ws_model *m);
/* The value of a fact ("workload.dtype", "device"); 0 = not recorded. */
uint32_t ws_recording_fact(const struct ws_recording *r, const struct ws_names *names,
                           const char *key);

/*
 * What the parts of reading a recording share: who it is and its ranges (recording.c), and what
 * ran in it (recorded_work.c).
 */

struct ws_reader {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_recording *r;
	struct ws_names *names;
	struct ws_selection sel;
	const struct ws_windows *windows; /* one per sample */
	struct ws_arena arena;
	uint32_t *sample_of_step; /* WS_NONE = not compared */
	uint32_t *place_of_path;
	uint32_t *text_of; /* text of the model -> text of the comparison; WS_NONE = not yet */
	uint32_t unclassified;
};

/* The sample of a step; 0 if the whole trace is the sample; WS_NONE: none. */
static inline uint32_t ws_reader_sample(const struct ws_reader *c, uint32_t step)
{
	if (!c->r->has_steps)
		return 0;
	return step == WS_NONE ? WS_NONE : c->sample_of_step[step];
}
/* Number in the comparison of a text of the model; 0 stays 0. */
uint32_t ws_reader_text(struct ws_reader *c, uint32_t text);

/* Calls, classes, copies and the times of ranges. After all else. */
void ws_reader_read_work(struct ws_reader *c);
/* After ranges were read. */
void ws_reader_find_evidence(struct ws_reader *c);
