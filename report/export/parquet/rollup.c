#include "report/export/parquet/rollup.h"

#include <stdlib.h>

#include "formats/base/strtab.h"
#include "report/export/parquet/parquet.def"
#include "report/base/order.h"
#include "report/export/parquet/folder.h"
#include "formats/base/grow.h"

/* --- buckets ---------------------------------------------------------------------------------- */

#define SUB_BITS 7u /* an octave has 2^7 buckets */
#define SUB      (1u << SUB_BITS)

uint32_t ws_rollup_bucket(uint64_t dur_ns)
{
	unsigned octave;

	if (dur_ns < SUB)
		return (uint32_t)dur_ns;
	octave = 63u - (unsigned)__builtin_clzll(dur_ns) - SUB_BITS;
	return octave * SUB + (uint32_t)(dur_ns >> octave);
}

uint64_t ws_rollup_bucket_from(uint32_t bucket)
{
	unsigned octave;

	if (bucket < 2 * SUB)
		return bucket;
	octave = bucket / SUB - 1;
	return (uint64_t)(bucket % SUB + SUB) << octave;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* What tells rows apart; indexes of the model. Hashed as bytes, so without holes. */
struct group_key {
	uint32_t step, path; /* WS_NONE: in none */
	uint32_t launch;     /* number of the launch configuration by its values */
	uint32_t op_class, dtype;
};

struct group {
	struct group_key key;
	uint32_t config; /* one that has those values */
	int64_t kernels, without_time;
	int64_t sum_ns, min_ns, max_ns;
	/* Sums of the squares' parts above and below bit 32: each adds up on its own, exactly, in
	 * the 64 bits that every engine has */
	int64_t sum_sq_hi, sum_sq_lo;
};

struct rollup {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	uint32_t *launch_of; /* number of each config of the model */
	struct ws_strtab launches, keys;
	struct group *groups;
	size_t n, capacity;
	uint32_t *group_of; /* of each kernel with a time, WS_NONE */
	uint16_t *bucket;   /* of its time */
	struct ws_arena arena;
};

static void rollup_release(struct rollup *r)
{
	ws_arena_free(&r->arena);
	ws_strtab_free(&r->launches);
	ws_strtab_free(&r->keys);
	free(r->groups);
}

/* Stream, context and process are left out: the same launch in two processes is the same. */
static void number_launches(struct rollup *r)
{
	const struct ws_model *m = r->m;

	for (size_t i = 0; i < m->nconfigs; i++) {
		const struct ws_config *c = &m->configs[i];
		const uint64_t key[] = {c->name,
		                        c->device,
		                        c->shape.grid_x,
		                        c->shape.grid_y,
		                        c->shape.grid_z,
		                        c->shape.block_x,
		                        c->shape.block_y,
		                        c->shape.block_z,
		                        c->shape.registers,
		                        c->shape.shared_bytes};
		uint64_t id;

		id = ws_strtab_add(&r->launches, key, sizeof(key));
		r->launch_of[i] = (uint32_t)id;
	}
}

static uint32_t find_group(struct rollup *r, const struct ws_joined_kernel *k)
{
	const struct group_key key = {
	        .step = k->step,
	        .path = k->kind->path,
	        .launch = r->launch_of[k->kind->config],
	        .op_class = k->kind->class,
	        .dtype = k->kind->dtype,
	};
	const uint64_t id = ws_strtab_add(&r->keys, &key, sizeof(key));

	if (id > r->n) {
		WS_GROW(r->groups, r->n + 1, r->capacity);
		r->groups[r->n++] = (struct group){.key = key, .config = k->kind->config};
	}
	return (uint32_t)(id - 1);
}

static enum ws_status add_time(struct group *g, int64_t dur_ns, struct ws_err *err)
{
	unsigned __int128 square = (unsigned __int128)dur_ns * (unsigned __int128)dur_ns;

	if (!g->kernels++ || dur_ns < g->min_ns)
		g->min_ns = dur_ns;
	if (dur_ns > g->max_ns)
		g->max_ns = dur_ns;
	g->sum_ns += dur_ns; /* the model has seen that all of them fit */
	WS_FAIL_IF(square >> 95 ||
	                   __builtin_add_overflow(g->sum_sq_hi, (int64_t)(square >> 32),
	                                          &g->sum_sq_hi) ||
	                   __builtin_add_overflow(g->sum_sq_lo, (int64_t)(uint32_t)square,
	                                          &g->sum_sq_lo),
	           err, CORRUPT, "the squares of the kernels' times do not fit a roll-up: %lld ns",
	           (long long)dur_ns);
	return WS_OK;
}

static enum ws_status roll_up(struct rollup *r, struct ws_err *err)
{
	const size_t n = r->rows->nkernels;

	WS_NEW(&r->arena, r->launch_of, r->m->nconfigs);
	WS_NEW(&r->arena, r->group_of, n);
	WS_NEW(&r->arena, r->bucket, n);
	number_launches(r);
	for (size_t i = 0; i < n; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(r->rows, i);
		struct group *g;

		r->group_of[i] = find_group(r, k);
		g = &r->groups[r->group_of[i]];
		if (!k->kind->timed) {
			g->without_time++;
			r->group_of[i] = WS_NONE;
			continue;
		}
		WS_FORWARD(add_time(g, k->dur_ns, err));
		r->bucket[i] = (uint16_t)ws_rollup_bucket((uint64_t)k->dur_ns);
	}
	return WS_OK;
}
_Static_assert(WS_ROLLUP_BUCKETS <= UINT16_MAX, "a bucket's type");

/* --- tables ----------------------------------------------------------------------------------- */

static void put_group(struct ws_parquet_table *t, const struct rollup *r, size_t i,
                      const struct ws_parquet_paths *paths)
{
	const struct ws_model *m = r->m;
	const struct group *g = &r->groups[i];
	const struct ws_config *config = &m->configs[g->config];
	const struct ws_device *device = &m->devices[config->device];
	const struct ws_launch_shape *shape = &config->shape;
	const struct ws_bytes name = m->texts[config->name];
	struct ws_parquet_writer *w = t->w;

	WS_PARQUET_ROLLUP_FIELDS(WS_PARQUET_PUT)
	ws_parquet_table_end_row(t);
}

static enum ws_status put_groups(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	const struct rollup *r = ctx;
	struct ws_parquet_paths paths = {0};

	(void)err;
	ws_parquet_paths_make(&paths, r->m);
	for (size_t i = 0; i < r->n; i++)
		put_group(t, r, i, &paths);
	ws_parquet_paths_free(&paths);
	return WS_OK;
}

static void put_bucket(struct ws_parquet_table *t, size_t group, uint32_t bucket, size_t kernels)
{
	const uint64_t from = ws_rollup_bucket_from(bucket);
	struct ws_parquet_writer *w = t->w;

	WS_PARQUET_ROLLUP_HISTOGRAM_FIELDS(WS_PARQUET_PUT)
	ws_parquet_table_end_row(t);
}

static int by_bucket(const void *pa, const void *pb)
{
	const uint16_t *a = pa, *b = pb;

	return *a - *b;
}

/* The kernels of a group, in the order of their buckets. */
static void put_group_buckets(struct ws_parquet_table *t, size_t group, uint16_t *bucket, size_t n)
{
	ws_sort(bucket, n, sizeof(*bucket), by_bucket);
	for (size_t i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && bucket[i + run] == bucket[i];)
			run++;
		put_bucket(t, group, bucket[i], run);
	}
}

static enum ws_status put_buckets(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	struct rollup *r = ctx;
	const size_t n = r->rows->nkernels;
	struct ws_rows_by_key of;
	uint16_t *bucket;

	(void)err;
	ws_order_by_key(&of, &r->arena, r->group_of, n, r->n);
	WS_NEW(&r->arena, bucket, n);
	for (size_t g = 0; g < r->n; g++) {
		const size_t first = of.first[g], end = of.first[g + 1];

		for (size_t i = first; i < end; i++)
			bucket[i] = r->bucket[of.order[i]];
		put_group_buckets(t, g, bucket + first, end - first);
	}
	return WS_OK;
}

enum ws_status ws_rollup_export(const struct ws_model *m, struct ws_joined_rows *rows,
                                const struct ws_export_job *job, struct ws_err *err)
{
	struct ws_parquet_folder f = {0};
	struct rollup r = {.m = m, .rows = rows};
	enum ws_status status = roll_up(&r, err);

	WS_THEN(status, ws_parquet_folder_open(&f, m, job, r.n, err));
	WS_THEN(status, WS_PARQUET_TABLE_WRITE(&f, "rollup", WS_PARQUET_ROLLUP_FIELDS, put_groups,
	                                       &r, err));
	WS_THEN(status,
	        WS_PARQUET_TABLE_WRITE(&f, "rollup_histogram", WS_PARQUET_ROLLUP_HISTOGRAM_FIELDS,
	                               put_buckets, &r, err));
	WS_THEN(status, ws_outfolder_commit(&f.out, err));
	ws_outfolder_abandon(&f.out);
	rollup_release(&r);
	return status;
}
