/*
 * Sums of a trace: counts and exact
 * order statistics of kernels by launch configuration and place, of NVTX
 * ranges by path, of API calls by name. The tables of a report are
 * views of it. docs/dev/engine.md
 */
#pragma once

#include <stdbool.h>

#include "report/analysis/filter.h"
#include "report/base/interval.h"
#include "report/base/order.h"
#include "report/base/spans.h"
#include "report/base/values.h"
#include "report/model/model.h"

/* What a table needs. What nobody asked for is neither decoded nor counted. */
enum ws_digest_part {
	WS_DIGEST_KERNELS = 1u << 0, /* kernels by configuration */
	WS_DIGEST_PLACES = 1u << 1,  /* … and by path, class, direction and dtype */
	WS_DIGEST_PATHS = 1u << 2,   /* NVTX ranges by path, with the kernels launched in them */
	WS_DIGEST_STEPS = 1u << 3,   /* kernels in measured steps; rows for ws_step_times */
	WS_DIGEST_COSTS = 1u << 4,   /* FLOPs and bytes of paths and kernel names */
	WS_DIGEST_CALLS = 1u << 5,   /* API calls by name */
	WS_DIGEST_NAMES = 1u << 6,   /* what kernel names tell of class, direction and dtype */
	/* no sum: the joined rows themselves (report/joined/rows.h), with what kernel names tell */
	WS_DIGEST_ROWS = 1u << 7,
	/* no sum of its own: what the joins left over, in the model (struct ws_leftovers) */
	WS_DIGEST_LEFT = 1u << 8,
	/* all of these need joined rows */
	WS_DIGEST_JOINED = WS_DIGEST_PLACES | WS_DIGEST_PATHS | WS_DIGEST_STEPS | WS_DIGEST_COSTS |
	                   WS_DIGEST_ROWS | WS_DIGEST_LEFT,
	/* … and these the rows of kernels; a filter does, too */
	WS_DIGEST_OF_KERNELS = WS_DIGEST_KERNELS | WS_DIGEST_PLACES | WS_DIGEST_PATHS |
	                       WS_DIGEST_STEPS | WS_DIGEST_COSTS,
};

/* Numbers of the paths of kernels that lie in none. */
#define WS_PATH_NO_RANGE  (UINT32_MAX - 1)
#define WS_PATH_NO_LAUNCH UINT32_MAX

/* Where a kernel was launched, and what it is for that. Texts; 0 = unknown. */
struct ws_kernel_place {
	uint32_t path;  /* of its innermost range, or WS_PATH_NO_… */
	uint32_t class; /* what ranges and operations say */
	uint32_t direction, dtype;
};

/* The kernels of one configuration and place. */
struct ws_digest_cell {
	uint32_t config;
	struct ws_kernel_place place;
	struct ws_values dur_ns; /* of those whose time is known */
	uint64_t without_time;
	uint64_t in_steps; /* launched in measured steps of the report */
	int64_t total_ns;
	uint64_t first; /* place of its first kernel among all, by device, then start */
};

/* Kernels of a cell. */
static inline uint64_t ws_digest_cell_count(const struct ws_digest_cell *c)
{
	return ws_values_count(&c->dur_ns) + c->without_time;
}

/* The ranges of one path and what they launched. */
struct ws_path_sums {
	struct ws_values dur_ns; /* of its ranges */
	int64_t range_ns;        /* their sum */
	int64_t inclusive_ns, exclusive_ns, projected_ns;
	uint64_t ops_inclusive, ops_exclusive, open;
	int64_t flops, bytes; /* of the operations in it */
	uint8_t says_flops, says_bytes;
	uint64_t stamp; /* the last kernel counted, plus 1 */
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
	int64_t *flops;             /* by kernel name: of operations all of whose kernels it is */
	uint8_t *flops_unknown;     /* by kernel name: some kernels have no such operation */
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
/* Time in which something of the path ran, summed over devices. */
int64_t ws_digest_busy_ns(const struct ws_digest *d, uint32_t path);

/* Of what the selection lets through, from its rows. Free with ws_digest_release. */
void ws_digest_of_rows(struct ws_digest *d, const struct ws_model *m,
                       const struct ws_selection *sel, unsigned parts);
/* The same of all of a trace, whose rows are summed as they come, where parts and scope ask for
 * nothing of the join; else *m is NULL. rows has none then, and knows their number. */
enum ws_status ws_digest_of_trace(struct ws_digest *d, struct ws_joined_rows *rows,
                                  const struct ws_trace_reader *r, const char *name,
                                  const struct ws_model_opts *opts, enum ws_scope scope,
                                  unsigned parts, struct ws_model **m, struct ws_err *err);
/* A text of a cell's kernels: their class, else what their name says; their name. */
typedef uint32_t (*ws_digest_text_fn)(const struct ws_model *, const struct ws_digest_cell *);
uint32_t ws_digest_class(const struct ws_model *m, const struct ws_digest_cell *cell);
uint32_t ws_digest_name(const struct ws_model *m, const struct ws_digest_cell *cell);
/* Kernels of one text: time.n and time.sum are of those whose time is known. */
struct ws_group {
	struct ws_stat time;
	uint64_t without_time;
};
/* Kernels by a text of theirs, in the order of the kernel summary; only counts and sums. */
struct ws_ranking {
	struct ws_group *groups;  /* by text */
	struct ws_row_key *order; /* n of them */
	size_t n;
};
void ws_digest_rank(const struct ws_table_context *tab, ws_digest_text_fn text_of,
                    struct ws_ranking *out);

/*
 * The measured step of median length, which pages and advice are about: the same report about that
 * one step, or tab itself where a report has no measured steps or one. Lives as long as tab->sel.
 */
const struct ws_table_context *ws_median_step(const struct ws_table_context *tab);
