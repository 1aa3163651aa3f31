/* The relations of one trace: what is folded of it, as tables of SQL. docs/dev/query.md lists them.
 */
#pragma once

#include "report/analysis/filter.h"
#include "report/query/query.h"

/* The rows of `kernel`. */
struct ws_kernel_rows {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_spill kept;  /* the kernel of each row; none: all are */
	struct ws_bytes *path; /* of each path, once it was asked for */
	size_t n;
	struct ws_arena arena;
};

/* What the relations of a trace are made of. All zero, but for tab; free with ws_relations_release,
 * behind the queries. */
struct ws_relations {
	const struct ws_table_context *tab; /* with the parts of a digest that the queries read */
	uint32_t *paths;                    /* path in reading order, by place */
	uint32_t *places;                   /* the reverse */
	struct ws_stat times;               /* of the ranges of path times_of - 1 */
	size_t times_of;
	struct ws_work_sums *work;
	size_t nwork;
	struct ws_kernel_rows kernels;
	struct ws_launch_sums *launches;
	size_t nlaunches, launches_capacity;
	bool has_launches;       /* they are found */
	uint64_t without_launch; /* kernels that no launch is known of */
	struct ws_arena arena;
};
void ws_relations_release(struct ws_relations *r);

/*
 * Rows that are also tables. They outlive the selection: of `kernel` when r.kernels has its rows,
 * of `path` when tab has its model and digest.
 */
extern const struct ws_relation ws_relation_kernel, ws_relation_path;
/* Is a path a row of the tables of ranges? */
bool ws_path_is_shown(const struct ws_relations *r, uint32_t path);
/* Paths in reading order, those of no range at the end. */
const uint32_t *ws_paths_in_order(struct ws_relations *r);

/* Adds them to a database, with the parameters of a report. r may be NULL: queries are only
 * checked. */
void ws_relations_add(struct ws_query *q, struct ws_relations *r);
/* Each of them, with what a row is. */
void ws_relations_each(void (*with)(void *ctx, const struct ws_relation *rel, const char *row_is),
                       void *ctx);
/* The parts of a digest (enum ws_digest_part) that queries of q have read. */
unsigned ws_relations_parts(const struct ws_query *q);

/* The rows of `path` behind those of the ranges: kernels launched in no range, kernels without a
 * record of their launch. */
static inline uint32_t ws_path_no_range(const struct ws_model *m)
{
	return (uint32_t)m->ranges.npaths;
}
static inline uint32_t ws_path_no_launch(const struct ws_model *m)
{
	return (uint32_t)m->ranges.npaths + 1;
}
/* Their names; the style of a range of a path. */
static inline const char *ws_path_outside(const struct ws_model *m, uint32_t p)
{
	return p == ws_path_no_range(m) ? "(in no range)" : "(no launch record)";
}
static inline const char *ws_path_style(const struct ws_model *m, uint32_t p)
{
	return m->ranges.paths[p].style ? "StartEnd" : "PushPop";
}
