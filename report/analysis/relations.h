/* The relations of one trace: what is folded of it, as tables of SQL. docs/dev/query.md lists them.
 */
#pragma once

#include "report/analysis/filter.h"
#include "report/query/query.h"

/* What the relations of a trace are made of. All zero, but for tab; free with ws_relations_release,
 * behind the queries. */
struct ws_relations {
	const struct ws_table_context *tab; /* with the parts of a digest that the queries read */
	uint32_t *paths;                    /* path in reading order, by place */
	uint32_t *places;                   /* the reverse */
	struct ws_work_sums *work;
	size_t nwork;
	struct ws_launch_sums *launches;
	size_t nlaunches, launches_capacity;
	bool has_launches;       /* they are found */
	uint64_t without_launch; /* kernels that no launch is known of */
	struct ws_arena arena;
};
void ws_relations_release(struct ws_relations *r);

/* Adds them to a database, with the parameters of a report. r may be NULL: queries are only
 * checked. */
void ws_relations_add(struct ws_query *q, struct ws_relations *r);
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
