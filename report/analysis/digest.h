/*
 * Sums over a trace: counts and exact statistics of kernels by launch configuration and place, of
 * NVTX ranges by path, of API calls by name. Most tables of a report are computed from it.
 * docs/dev/engine.md
 */
#pragma once

#include "report/analysis/filter.h"
#include "report/query/query.h"

/* Parts that a table needs. Other parts are neither decoded nor computed. */
enum ws_digest_part {
	WS_DIGEST_KERNELS = 1u << 0, /* kernels by configuration */
	WS_DIGEST_PLACES = 1u << 1,  /* … and by path, class, direction and dtype */
	WS_DIGEST_PATHS = 1u << 2,   /* NVTX ranges by path, with the kernels launched in them */
	WS_DIGEST_STEPS = 1u << 3,   /* kernels in measured steps; rows for ws_step_times */
	WS_DIGEST_COSTS = 1u << 4,   /* FLOPs and bytes of paths and kernel names */
	WS_DIGEST_CALLS = 1u << 5,   /* API calls by name */
	WS_DIGEST_NAMES = 1u << 6,   /* class, direction and dtype from kernel names */
	/* not a sum: the joined rows themselves (report/joined/rows.h), with attributes from kernel
	 * names */
	WS_DIGEST_ROWS = 1u << 7,
	/* not a sum: counts of records that joins could not place, in the model (struct
	 * ws_leftovers) */
	WS_DIGEST_LEFT = 1u << 8,
	/* all of these need joined rows */
	WS_DIGEST_JOINED = WS_DIGEST_PLACES | WS_DIGEST_PATHS | WS_DIGEST_STEPS | WS_DIGEST_COSTS |
	                   WS_DIGEST_ROWS | WS_DIGEST_LEFT,
	/* these need rows of kernels; a filter does, too */
	WS_DIGEST_OF_KERNELS = WS_DIGEST_KERNELS | WS_DIGEST_PLACES | WS_DIGEST_PATHS |
	                       WS_DIGEST_STEPS | WS_DIGEST_COSTS,
};

/* Path numbers of kernels outside ranges. */
#define WS_PATH_NO_RANGE  (UINT32_MAX - 1)
#define WS_PATH_NO_LAUNCH UINT32_MAX

/* Where a kernel was launched, and its attributes by that place. Texts; 0 = unknown. */
struct ws_kernel_place {
	uint32_t path;  /* path of its innermost range, or WS_PATH_NO_… */
	uint32_t class; /* by ranges and operations */
	uint32_t direction, dtype;
	uint32_t source;      /* line of the program that called for it */
	uint32_t is_captured; /* … in a CUDA graph, and so the path is that of its capture */
};

/* The kernels of one configuration and place. */
struct ws_digest_cell {
	uint32_t config;
	struct ws_kernel_place place;
	struct ws_values dur_ns; /* of those whose time is known */
	uint64_t without_time;
	uint64_t in_steps; /* kernels launched in measured steps of the report */
	int64_t total_ns;
	uint64_t first; /* index of its first kernel, by device, then start */
};

/* Kernels of a cell. */
static inline uint64_t ws_digest_cell_count(const struct ws_digest_cell *c)
{
	return ws_values_count(&c->dur_ns) + c->without_time;
}

/* The ranges of one path and their launches. */
struct ws_path_sums {
	struct ws_values dur_ns; /* durations of its ranges */
	int64_t range_ns;        /* their sum */
	int64_t inclusive_ns, exclusive_ns, projected_ns;
	uint64_t ops_inclusive, ops_exclusive, open;
	int64_t flops, bytes; /* of operations inside */
	uint8_t says_flops, says_bytes;
	uint64_t stamp; /* last counted kernel, plus 1 */
};

/* The API calls of one name. */
struct ws_call_sums {
	struct ws_values dur_ns;
	int64_t total_ns;
	uint64_t failed;
};

struct ws_digest {
	unsigned parts;
	size_t ndevices;
	struct ws_digest_cell *cells;
	size_t ncells, cells_capacity;
	struct ws_strtab cell_ids;  /* configuration and place -> cell + 1 */
	uint32_t *cell_of;          /* kind of kernels -> cell, WS_NONE: none yet */
	struct ws_path_sums *paths; /* by path; [0] and [1]: no range, no launch */
	struct ws_union *busy;      /* path × device */
	size_t npaths, paths_capacity;
	struct ws_call_sums *calls; /* by text of the name */
	int64_t *flops; /* by kernel name: FLOPs of operations whose kernels all have this name */
	uint8_t *flops_unknown; /* by kernel name: some kernels have no such operation */
	size_t ntexts;
	uint64_t kernels;
	uint64_t ncalls; /* of any scope */
	int64_t gpu_ns;
	/* kernels of setup and warm-up */
	uint64_t setup, warm_up;
	int64_t setup_ns, warm_up_ns;
};

void ws_digest_release(struct ws_digest *d);

static inline struct ws_path_sums *ws_digest_path(const struct ws_digest *d, uint32_t path)
{
	return &d->paths[(uint32_t)(path + 2)]; /* the two special ones wrap to 0 and 1 */
}
/* Time in which at least one kernel of the path ran, summed over devices. */
int64_t ws_digest_busy_ns(const struct ws_digest *d, uint32_t path);

/* Computes the digest of a selection from its rows. Free with ws_digest_release. */
void ws_digest_of_rows(struct ws_digest *d, const struct ws_model *m,
                       const struct ws_selection *sel, unsigned parts);
/* The same for a whole trace, summing rows as they are read, if neither parts nor scope need the
 * join; otherwise sets *m to NULL. rows then has only the number of rows. */
enum ws_status ws_digest_of_trace(struct ws_digest *d, struct ws_joined_rows *rows,
                                  const struct ws_trace_reader *r, const char *name,
                                  const struct ws_model_opts *opts, enum ws_scope scope,
                                  unsigned parts, struct ws_model **m, struct ws_err *err);
/* A text by which to group kernels of cells: their class, or their name. */
typedef uint32_t (*ws_digest_text_fn)(const struct ws_model *, const struct ws_digest_cell *);
uint32_t ws_digest_class(const struct ws_model *m, const struct ws_digest_cell *cell);
uint32_t ws_digest_name(const struct ws_model *m, const struct ws_digest_cell *cell);
/* Kernels with one text; time.n and time.sum cover those with a known time. */
struct ws_group {
	struct ws_stat time;
	uint64_t without_time;
};
/* Kernels grouped by a text, in the order of the kernel summary; only counts and sums. */
struct ws_ranking {
	struct ws_group *groups;  /* by text */
	struct ws_row_key *order; /* n of them */
	size_t n;
};
void ws_digest_rank(const struct ws_table_context *tab, ws_digest_text_fn text_of,
                    struct ws_ranking *out);

/*
 * The context for the measured step of median length, which pages and advice describe; tab itself
 * if the report has fewer than two measured steps. Freed with tab->sel.
 */
const struct ws_table_context *ws_median_step(const struct ws_table_context *tab);

/*
 * The rank of a trace in a distributed program, from the recorder or PyTorch's profiler.
 */

/* -1 if the trace has no rank, or several (merged traces). */
int64_t ws_model_rank(const struct ws_model *m);
/* Number of ranks; 0 = not recorded. */
int64_t ws_model_world_size(const struct ws_model *m);
/* There are kernels and several ranks, but no communication kernels, so communication was not
 * recognised. */
bool ws_model_lacks_comm(const struct ws_model *m);
/* Advice for that case. */
#define WS_LACKS_COMM                                                                   \
	"communication was not recorded, or its kernels have names that no rule knows " \
	"(kernel-summary of one trace, --rules FILE)"

/* The relations of a trace: its sums as SQL tables. docs/dev/query.md lists them. */

/* The rows of `kernel`. */
struct ws_kernel_rows {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_spill kept;  /* index of the kernel of each row; none: all kernels */
	struct ws_bytes *path; /* text of each path, on demand */
	size_t n;
	struct ws_arena arena;
};

/* Data of the relations of a trace. Set tab, all else zero; free with ws_relations_release after
 * closing the queries. */
struct ws_relations {
	const struct ws_table_context *tab; /* with the parts of a digest that the queries read */
	uint32_t *paths;                    /* path in reading order, by place */
	uint32_t *places;                   /* the reverse */
	struct ws_stat times;               /* statistics of the ranges of path times_of - 1 */
	size_t times_of;
	struct ws_work_sums *work;
	size_t nwork;
	struct ws_kernel_rows kernels;
	struct ws_launch_sums *launches;
	size_t nlaunches, launches_capacity;
	bool has_launches;                    /* the launches are computed */
	uint64_t without_launch;              /* kernels without a known launch */
	struct ws_range_energy *range_energy; /* analysis/energy.c; NULL: not computed */
	size_t nrange_energy;
	struct ws_clock_row *clocks;
	size_t nclocks;
	struct ws_counter_sums *counters; /* analysis/counters.c; NULL: not computed */
	struct ws_counter_times *counter_times;
	size_t ncounter_times;
	struct ws_stat step_total; /* of the windows of steps */
	bool has_step_total;
	struct ws_arena arena;
};
void ws_relations_release(struct ws_relations *r);

/*
 * Relations whose rows are also tables and outlive the selection: `kernel`, if r.kernels has its
 * rows, and `path`, if tab has its model and digest.
 */
extern const struct ws_relation ws_relation_kernel, ws_relation_path;
/* Is a path a row of the tables of ranges? */
bool ws_path_is_shown(const struct ws_relations *r, uint32_t path);
/* Paths in reading order; the two entries outside ranges come last. */
const uint32_t *ws_paths_in_order(struct ws_relations *r);

/* Adds the relations to a database, with the parameters of a report. r may be NULL if queries are
 * only checked. */
void ws_relations_add(struct ws_query *q, struct ws_relations *r);
/* Calls `with` for each relation, with the meaning of a row. */
void ws_relations_each(void (*with)(void *ctx, const struct ws_relation *rel, const char *row_is),
                       void *ctx);
/* The parts of a digest (enum ws_digest_part) that queries of q have read. */
unsigned ws_relations_parts(const struct ws_query *q);

/* The last two rows of `path`: kernels launched outside ranges, and kernels without a launch
 * record. */
static inline uint32_t ws_path_no_range(const struct ws_model *m)
{
	return (uint32_t)m->ranges.npaths;
}
static inline uint32_t ws_path_no_launch(const struct ws_model *m)
{
	return (uint32_t)m->ranges.npaths + 1;
}
/* The names of these two rows, or the style of a path. */
static inline const char *ws_path_outside(const struct ws_model *m, uint32_t p)
{
	return p == ws_path_no_range(m) ? "(in no range)" : "(no launch record)";
}
static inline const char *ws_path_style(const struct ws_model *m, uint32_t p)
{
	return m->ranges.paths[p].style ? "StartEnd" : "PushPop";
}
