/*
 * The tables that are views of a digest are the same as simple loops over all
 * rows make them: from the streaming pass, from a loaded model, with filters;
 * on fixtures, imported traces and random ones.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/import/import.h"
#include "tests/report/tables/oracle/oracle.h"
#include "report/pass/pass.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

static const struct {
	const char *name;
	oracle_fn make;
} tables[] = {
        {"kernel-summary", oracle_kernel_summary},
        {"kernel-launches", oracle_kernel_launches},
        {"classes", oracle_classes},
        {"ranges", oracle_ranges},
        {"range-kernels", oracle_range_kernels},
        {"step-split", oracle_step_split},
        {"api-summary", oracle_api_summary},
        {"steps", oracle_steps}, /* the last of a pass: not all of its columns are */
        {"step-statistics", oracle_step_statistics},
};
#define NTABLES   (sizeof(tables) / sizeof(*tables))
#define NSTREAMED (NTABLES - 1)

/* MFU and what follows it are younger than the oracle: test_utilization.c. */
static int has_oracle(const struct ws_table_def *def, size_t column)
{
	return def != &ws_def_steps || column < WS_TC_steps_mfu;
}

/* The time of a step has its device work, for which rows are needed. */
static int is_streamed(size_t column)
{
	return column < WS_TC_steps_mfu && column != WS_TC_steps_total_ns &&
	       column != WS_TC_steps_tokens_per_s && column != WS_TC_steps_images_per_s &&
	       column != WS_TC_steps_outlier;
}

/* --- comparing --------------------------------------------------------------------------- */

/* Sums of products of doubles depend on the order; all else is exact. */
static int same_cell(const struct ws_cell *a, const struct ws_cell *b)
{
	if (a->type != b->type)
		return 0;
	switch (a->type) {
	case WS_CELL_INT:
		return a->i == b->i;
	case WS_CELL_REAL:
		return fabs(a->r - b->r) <= 1e-12 * fabs(a->r);
	case WS_CELL_TEXT:
		return a->text.len == b->text.len && !memcmp(a->text.ptr, b->text.ptr, a->text.len);
	default:
		return 1;
	}
}

static void same_rows(const struct ws_table *a, const struct ws_table *b, int streamed,
                      const char *where)
{
	cr_assert(eq(sz, a->nrows, b->nrows), "%s: rows of %s", where, a->def->name);
	for (size_t i = 0; i < a->nrows * a->def->ncolumns; i++)
		cr_assert(same_cell(&a->cells[i], &b->cells[i]) ||
		                  !has_oracle(a->def, i % a->def->ncolumns) ||
		                  (streamed && a->def == &ws_def_steps &&
		                   !is_streamed(i % a->def->ncolumns)),
		          "%s: %s, row %zu, column %s", where, a->def->name, i / a->def->ncolumns,
		          a->def->columns[i % a->def->ncolumns].id);
	cr_assert(eq(int, a->totals != NULL, b->totals != NULL), "%s", where);
	for (size_t i = 0; a->totals && i < a->def->ncolumns; i++)
		cr_assert(same_cell(&a->totals[i], &b->totals[i]), "%s: %s, totals, %s", where,
		          a->def->name, a->def->columns[i].id);
	cr_assert(eq(int, a->not_recorded != NULL, b->not_recorded != NULL), "%s: %s", where,
	          a->def->name);
}

/* The product adds notes of its own behind those of a table. */
static void same_notes(const struct ws_table *oracle, const struct ws_table *table,
                       const char *where)
{
	cr_assert(ge(sz, table->nnotes, oracle->nnotes), "%s: notes of %s", where,
	          table->def->name);
	for (size_t i = 0; i < oracle->nnotes; i++)
		cr_assert(eq(str, table->notes[i], oracle->notes[i]), "%s", where);
}

static struct ws_table *oracle_table(const struct ws_model *m, size_t which,
                                     const struct ws_filter *filter)
{
	struct ws_table *t = ws_table_new(ws_table_def_by_name(tables[which].name));
	struct ws_selection sel;
	struct ws_table_context tab = {.m = m, .sel = &sel};
	struct ws_err err;

	cr_assert(eq(int, ws_select(m, filter, &sel, &err), WS_OK), "%s", err.text);
	cr_assert(eq(int, tables[which].make(&tab, t, &err), WS_OK), "%s", err.text);
	ws_selection_release(&sel);
	return t;
}

static void compare_loaded(const struct ws_model *m, const struct ws_filter *filter,
                           const char *where)
{
	for (size_t i = 0; i < NTABLES; i++) {
		struct ws_table *expected = oracle_table(m, i, filter);
		struct ws_table *t = tb_table(m, tables[i].name, filter);

		same_rows(expected, t, 0, where);
		same_notes(expected, t, where);
		ws_table_free(expected);
		ws_table_free(t);
	}
}

/* Each table alone, then all in one pass; returns how many were made so. */
static unsigned compare_scope(const struct ws_trace_reader *r, const struct ws_model *m,
                              enum ws_scope scope, const char *where)
{
	struct ws_filter filter = WS_FILTER_ALL;
	const struct ws_table_def *defs[NSTREAMED];
	struct ws_table *expected[NSTREAMED];
	unsigned made = 0;

	filter.scope = scope;
	for (size_t i = 0; i < NSTREAMED; i++) {
		defs[i] = ws_table_def_by_name(tables[i].name);
		expected[i] = oracle_table(m, i, &filter);
	}
	/* of one scope steps, and all others at once: alone they differ in what is read, not in
	 * what is counted */
	for (size_t i = scope == WS_SCOPE_ALL ? 0 : NSTREAMED - 1; i <= NSTREAMED; i++) {
		size_t first = i < NSTREAMED ? i : 0, n = i < NSTREAMED ? 1 : NSTREAMED - 1;
		uint8_t wanted[WS_TC_steps_host_ns + 1] = {0};
		struct ws_report *report = NULL;
		const char *declined = NULL;
		struct ws_err err;

		for (size_t c = 0; c < sizeof(wanted); c++)
			wanted[c] = (uint8_t)is_streamed(c);
		cr_assert(eq(int,
		             ws_report_stream(r, where, NULL, scope, defs + first, n,
		                              i == NSTREAMED - 1 ? wanted : NULL, &report,
		                              &declined, &err),
		             WS_OK),
		          "%s: %s", where, err.text);
		cr_assert(eq(int, report != NULL, declined == NULL));
		for (size_t t = 0; report && t < n; t++) {
			same_rows(expected[first + t], report->tables[t], 1, where);
			same_notes(expected[first + t], report->tables[t], where);
		}
		made += report != NULL;
		ws_report_free(report);
	}
	for (size_t i = 0; i < NSTREAMED; i++)
		ws_table_free(expected[i]);
	return made;
}

/* Tables of a scope come from the pass unless a measured step never ended: how many of these did.
 */
static unsigned made_of_scopes;

/* In each scope; returns how many tables of the whole trace were made so. */
static unsigned compare_streamed(const struct ws_trace_reader *r, const struct ws_model *m,
                                 const char *where)
{
	for (int scope = WS_SCOPE_STEPS; scope < WS_SCOPES; scope++)
		made_of_scopes += compare_scope(r, m, (enum ws_scope)scope, where);
	return compare_scope(r, m, WS_SCOPE_ALL, where);
}

/* --- joined rows ------------------------------------------------------------------------- */

/* What a pass tells of each row, beside the arrays of a loaded model. */
struct told {
	const struct ws_model *m;
	const char *where;
	struct ws_joined_call *calls;
	size_t ncalls;
	uint32_t *kernels; /* by device: how many were told */
	struct ws_joined_kernel *of_device[4];
	struct ws_joined_range *ranges;
	size_t nranges;
};

static enum ws_status told_call(void *ctx, const struct ws_joined_call *call, uint32_t *number,
                                struct ws_err *err)
{
	struct told *t = ctx;

	(void)err;
	cr_assert(lt(sz, t->ncalls, t->m->api.n), "%s", t->where);
	*number = (uint32_t)t->ncalls;
	t->calls[t->ncalls++] = *call;
	return WS_OK;
}

static enum ws_status told_kernel(void *ctx, const struct ws_joined_kernel *k, struct ws_err *err)
{
	struct told *t = ctx;
	uint32_t device = t->m->configs[k->config].device;

	(void)err;
	cr_assert(lt(u32, device, 4), "%s", t->where);
	cr_assert(lt(sz, t->kernels[device], t->m->kernels.n), "%s", t->where);
	t->of_device[device][t->kernels[device]++] = *k;
	return WS_OK;
}

static enum ws_status told_range(void *ctx, const struct ws_joined_range *range, struct ws_err *err)
{
	struct told *t = ctx;

	(void)err;
	cr_assert(lt(sz, range->number, t->m->ranges.n), "%s", t->where);
	t->ranges[range->number] = *range;
	t->nranges++;
	return WS_OK;
}

/* Steps are numbered otherwise while they come: the same when they begin alike. */
static int same_step(const struct ws_model *passed, uint32_t told, const struct ws_model *m,
                     uint32_t step)
{
	for (size_t i = 0; i < passed->nsteps; i++)
		if (told != WS_NONE && passed->steps[i].range == told)
			return i == step;
	return step == WS_NONE && m->nsteps == passed->nsteps;
}

static int same_text(const struct ws_model *a, uint32_t x, const struct ws_model *b, uint32_t y)
{
	return a->texts[x].len == b->texts[y].len &&
	       !memcmp(a->texts[x].ptr, b->texts[y].ptr, a->texts[x].len);
}

static int same_path(const struct ws_model *a, uint32_t x, const struct ws_model *b, uint32_t y)
{
	while (x != WS_NONE && y != WS_NONE) {
		const struct ws_path *p = &a->ranges.paths[x], *q = &b->ranges.paths[y];

		if (!same_text(a, p->name, b, q->name) || !same_text(a, p->domain, b, q->domain))
			return 0;
		x = p->parent;
		y = q->parent;
	}
	return x == y;
}

static int same_kernel(const struct told *t, const struct ws_joined_kernel *k,
                       const struct ws_model *p, size_t i)
{
	const struct ws_model *m = t->m;
	const struct ws_joined_call *c = k->call == WS_NONE ? NULL : &t->calls[k->call];
	uint32_t call = m->kernels.call[i], range = m->kernels.range[i];

	if (k->timed &&
	    (k->start_ns != m->kernels.start_ns[i] || k->dur_ns != m->kernels.dur_ns[i]))
		return 0;
	if (!c != (call == WS_NONE) || (c && (c->start_ns != m->api.start_ns[call] ||
	                                      c->start_ns + c->dur_ns != m->api.end_ns[call] ||
	                                      c->thread != m->api.thread[call] ||
	                                      !same_text(p, c->name, m, m->api.name[call]))))
		return 0;
	return k->timed == !(m->kernels.flags[i] & WS_KERNEL_NO_TIME) &&
	       k->cut_off == ((m->kernels.flags[i] & WS_KERNEL_CUT_OFF) != 0) &&
	       k->config == m->kernels.config[i] && k->phase == ws_kernel_phase(m, i) &&
	       same_path(p, k->path, m, range == WS_NONE ? WS_NONE : m->ranges.path[range]) &&
	       same_text(p, k->class, m, ws_kernel_class(m, i)) &&
	       same_text(p, k->direction, m, ws_kernel_direction(m, i)) &&
	       same_text(p, k->dtype, m, ws_kernel_dtype(m, i)) &&
	       same_step(p, k->step, m, ws_kernel_step(m, i));
}

static int same_range(const struct told *t, const struct ws_joined_range *told,
                      const struct ws_model *p, uint32_t i)
{
	const struct ws_ranges *r = &t->m->ranges;

	return told->start_ns == r->start_ns[i] && told->end_ns == r->end_ns[i] &&
	       told->thread == r->thread[i] && told->depth == r->depth[i] &&
	       told->payload == r->payload[i] && same_text(p, told->name, t->m, r->name[i]) &&
	       same_path(p, told->path, t->m, r->path[i]) && told->phase == t->m->range_phase[i] &&
	       told->is_open == ((r->flags[i] & WS_RANGE_OPEN) != 0) &&
	       told->is_start_end == ((r->flags[i] & WS_RANGE_START_END) != 0) &&
	       same_step(p, told->step, t->m, t->m->range_step[i]);
}

static void compare_told(const struct told *t, const struct ws_model *passed)
{
	const struct ws_model *m = t->m;
	uint32_t at[4] = {0};

	cr_assert(eq(sz, t->nranges, m->ranges.n), "%s", t->where);
	for (size_t i = 0; i < m->kernels.n; i++) {
		uint32_t device = ws_kernel_device(m, i);

		cr_assert(lt(u32, at[device], t->kernels[device]), "%s", t->where);
		cr_assert(same_kernel(t, &t->of_device[device][at[device]++], passed, i),
		          "%s: kernel %zu", t->where, i);
	}
	/* the model's ranges stand by thread, then begin */
	for (uint32_t thread = 0, i = 0; thread < m->nthreads; thread++)
		for (size_t n = 0; n < t->nranges; n++)
			if (t->ranges[n].thread == thread)
				cr_assert(same_range(t, &t->ranges[n], passed, i++), "%s: range %u",
				          t->where, i - 1);
}

/* 1 when the pass did not decline. */
static unsigned compare_joined(const struct ws_trace_reader *r, const struct ws_model *m,
                               const char *where)
{
	uint32_t kernels[4] = {0};
	struct told t = {.m = m, .where = where, .kernels = kernels};
	const struct ws_joined_sink sink = {&t, told_call, told_kernel, told_range};
	struct ws_model *passed = NULL;
	const char *declined;
	struct ws_err err;

	t.calls = calloc(m->api.n + 1, sizeof(*t.calls));
	t.ranges = calloc(m->ranges.n + 1, sizeof(*t.ranges));
	for (size_t d = 0; d < 4; d++)
		t.of_device[d] = calloc(m->kernels.n + 1, sizeof(*t.of_device[d]));
	cr_assert(eq(int, ws_pass_rows(r, where, &sink, &passed, &declined, &err), WS_OK), "%s: %s",
	          where, err.text);
	if (!declined)
		compare_told(&t, passed);
	ws_model_free(passed);
	free(t.calls);
	free(t.ranges);
	for (size_t d = 0; d < 4; d++)
		free(t.of_device[d]);
	return declined == NULL;
}

/* --- files ------------------------------------------------------------------------------- */

static unsigned compare_file(const char *path)
{
	const struct ws_filter filters[] = {
	        WS_FILTER_ALL,
	        {.nvtx = "*step*", .step_first = -1, .step_last = -1, .device = -1},
	        {.step_first = 1, .step_last = 2, .device = -1},
	        {.scope = WS_SCOPE_STEPS, .step_first = -1, .step_last = -1, .device = -1},
	        {.scope = WS_SCOPE_WARM_UP, .step_first = -1, .step_last = -1, .device = -1},
	        {.scope = WS_SCOPE_SETUP, .step_first = -1, .step_last = -1, .device = -1},
	        {.scope = WS_SCOPE_OUTSIDE, .step_first = -1, .step_last = -1, .device = -1},
	        {.step_first = -1, .step_last = -1, .device = -1, .kernel = "gemm|elementwise"},
	        {.step_first = -1,
	         .step_last = -1,
	         .device = -1,
	         .has_time = 1,
	         .time_first_ns = 100000,
	         .time_end_ns = 900000},
	};
	static struct ws_import_stats stats;
	char imported[] = "/tmp/ws-digest-XXXXXX";
	struct ws_trace_reader *r = NULL;
	struct ws_model *m = NULL;
	const struct ws_importer *importer;
	struct ws_err err;
	unsigned made;

	cr_assert(eq(int, ws_import_find(path, &importer, &err), WS_OK), "%s", err.text);
	if (importer) {
		int fd = mkstemp(imported);

		cr_assert(fd >= 0);
		close(fd);
		cr_assert(eq(int, ws_import_file(path, imported, NULL, &stats, &err), WS_OK));
		cr_assert(eq(int, ws_trace_reader_open(&r, imported, &err), WS_OK));
		unlink(imported);
	} else {
		cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_OK), "%s", err.text);
	}
	cr_assert(eq(int, ws_model_open_reader(&m, r, path, NULL, &err), WS_OK), "%s", err.text);
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		compare_loaded(m, &filters[i], path);
	made = compare_streamed(r, m, path);
	cr_expect(eq(u32, compare_joined(r, m, path), made > 2), "%s", path);
	ws_model_free(m);
	ws_trace_reader_free(r);
	return made;
}

static unsigned compare_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned made = 0;

	cr_assert(dir != NULL, "%s", folder);
	while ((entry = readdir(dir))) {
		char path[4096];

		if (entry->d_name[0] == '.' || strstr(entry->d_name, ".md"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		made += compare_file(path);
	}
	closedir(dir);
	return made;
}

Test(digest_tables, of_recorded_traces)
{
	/* every table of every trace that is whole comes from the pass */
	cr_expect(ge(u32, compare_folder(WS_FIXTURES "/traces"), 4 * (NSTREAMED + 1)));
}

Test(digest_tables, of_imported_traces)
{
	/* operations of a framework need rows, other tables do not */
	cr_expect(gt(u32, compare_folder(WS_FIXTURES "/imports"), 0));
}

/* --- random traces ----------------------------------------------------------------------- */

#define THREADS 3

struct scene {
	struct tb *b;
	uint32_t random;
	int64_t now; /* all threads share a clock, so that rows come in order of time */
	unsigned depth[THREADS + 1];
	uint64_t correlation; /* the last one given out */
	int64_t busy_until;
	int ties, shuffle;
};

static unsigned pick(struct scene *s, unsigned n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 17;
	s->random ^= s->random << 5;
	return s->random % n;
}

static void pass_time(struct scene *s)
{
	s->now += s->ties ? pick(s, 2) : 1 + pick(s, 50);
}

static void begin(struct scene *s, unsigned thread)
{
	static const char *const names[] = {
	        "warm-up",   "step", "forward", "backward",          "setup", "a", "b",
	        "optimizer", "step", "forward", "computing softmax", "loss"};
	static const char *const ops[] = {"gemm", "softmax", "scale", NULL};
	static const char *const dtypes[] = {"fp32", "bf16", NULL};
	struct tb_op op = {.flops = pick(s, 1000),
	                   .bytes_read = pick(s, 100),
	                   .op = ops[pick(s, 4)],
	                   .direction = pick(s, 2) ? "forward" : NULL,
	                   .dtype = dtypes[pick(s, 3)]};

	if (pick(s, 3))
		tb_push(s->b, s->now, names[pick(s, sizeof(names) / sizeof(*names))]);
	else
		tb_push_op(s->b, s->now, "op", &op);
	s->depth[thread]++;
}

/* A call, and mostly a kernel of it: late, without a time, several, or none. */
static void call(struct scene *s)
{
	static const char *const kernels[] = {"ws_gemm_k", "ws_softmax_k", "elementwise_kernel",
	                                      "sgemm_128x64", "unheard_of"};
	int64_t start = s->now, dur = s->ties ? (int64_t)pick(s, 3) : 1 + (int64_t)pick(s, 20);
	uint64_t id = ++s->correlation;
	unsigned n = pick(s, 8) ? 1 : pick(s, 4);

	tb_call(s->b, start, dur, pick(s, 10) ? id : 0);
	s->now += dur;
	for (unsigned i = 0; i < n; i++) {
		struct tb_kernel k = {.name = kernels[pick(s, 5)],
		                      /* some do not fit into 32 bits */
		                      .dur_ns = pick(s, 50) ? pick(s, 2) ? pick(s, 300) : 64
		                                            : (int64_t)5 << 32,
		                      .correlation = pick(s, 20) ? id : 0,
		                      .device = pick(s, 2),
		                      .pid = 100,
		                      .flags = pick(s, 30) ? 0 : WS_KERNEL_NO_TIME};

		k.start_ns = start + (int64_t)pick(s, 400);
		if (k.start_ns < s->busy_until && pick(s, 4))
			k.start_ns = s->busy_until;
		s->busy_until = k.start_ns + k.dur_ns;
		tb_kernel(s->b, &k);
	}
}

static void flush(struct scene *s)
{
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_flush(tb_writer(s->b), &err), WS_OK));
}

static void act(struct scene *s)
{
	unsigned thread = 1 + pick(s, THREADS);

	tb_on_thread(s->b, thread);
	pass_time(s);
	switch (pick(s, 6)) {
	case 0:
	case 1:
		if (s->depth[thread] < 5)
			begin(s, thread);
		break;
	case 2:
	case 3:
		if (s->depth[thread] || !pick(s, 20))
			tb_pop(s->b, s->now);
		s->depth[thread] -= s->depth[thread] > 0;
		break;
	default:
		call(s);
	}
	if (!pick(s, 15))
		flush(s);
	if (!pick(s, 60))
		tb_mark(s->b, s->now,
		        pick(s, 2) ? "workload.tokens_per_step=64"
		                   : "workload.tokens_per_step=128");
	/* what another thread did before comes later in the file */
	if (s->shuffle && !pick(s, 40))
		s->now -= 30;
}

/* Another program for: which step is a kernel in? */
static void check_membership(const struct ws_model *m, const char *where)
{
	for (size_t k = 0; k < m->kernels.n; k++) {
		uint32_t call = m->kernels.call[k], range = m->kernels.range[k], best = WS_NONE, r;
		int64_t begin, end;
		int in_warm_up = 0;

		for (r = range; r != WS_NONE && best == WS_NONE; r = m->ranges.parent[r]) {
			in_warm_up |= m->ranges.name[r] == WS_TEXT_WARM_UP;
			for (uint32_t s = 0; s < m->nsteps; s++)
				if (m->steps[s].range == r)
					best = s;
		}
		if (best == WS_NONE && !in_warm_up && call != WS_NONE) {
			begin = m->api.start_ns[call];
			end = m->api.end_ns[call];
			for (uint32_t s = 0; s < m->nsteps; s++) {
				r = m->steps[s].range;
				if (m->ranges.name[r] == WS_TEXT_STEP &&
				    m->ranges.start_ns[r] <= begin && m->ranges.end_ns[r] >= end &&
				    m->threads[m->ranges.thread[r]].process == m->api.process[call])
					best = s;
			}
		}
		cr_assert(eq(u32, m->kernels.step[k], best), "%s: kernel %zu", where, k);
	}
}

static unsigned random_trace(uint32_t seed, int ties, int shuffle)
{
	struct scene s = {.b = tb_new(), .random = seed * 2654435761u + 1, .ties = ties};
	struct ws_trace_reader *r = NULL;
	struct ws_model *m;
	struct ws_bytes bytes;
	struct ws_err err;
	char where[64];
	unsigned made;

	s.shuffle = shuffle;
	snprintf(where, sizeof(where), "random trace %u, ties %d, shuffle %d", seed, ties, shuffle);
	tb_device(s.b, 1, pick(&s, 2) ? WS_DEVICE_CUDA : WS_DEVICE_CPU_REFERENCE, "Other");
	for (uint64_t t = 2; t <= THREADS; t++)
		tb_thread(s.b, t, 100);
	for (unsigned i = 0, n = 20 + pick(&s, 300); i < n; i++)
		act(&s);
	if (pick(&s, 2))
		for (unsigned t = 1; t <= THREADS; t++)
			for (tb_on_thread(s.b, t); s.depth[t]; s.depth[t]--)
				tb_pop(s.b, ++s.now);
	m = tb_model(s.b);
	bytes = tb_bytes(s.b);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	check_membership(m, where);
	compare_loaded(m, NULL, where);
	made = compare_streamed(r, m, where);
	cr_expect(eq(u32, compare_joined(r, m, where), made > 2), "%s", where);
	ws_trace_reader_free(r);
	ws_model_free(m);
	tb_free(s.b);
	return made;
}

Test(digest_tables, of_random_traces)
{
	made_of_scopes = 0;
	for (uint32_t seed = 0; seed < 60; seed++)
		cr_assert(eq(u32, random_trace(seed, 0, 0), NSTREAMED + 1), "seed %u", seed);
	cr_expect(gt(u32, made_of_scopes, 60));
}

Test(digest_tables, of_random_traces_where_much_happens_at_once)
{
	for (uint32_t seed = 0; seed < 60; seed++)
		cr_assert(eq(u32, random_trace(seed, 1, 0), NSTREAMED + 1), "seed %u", seed);
}

Test(digest_tables, of_random_traces_whose_rows_are_out_of_order)
{
	unsigned made = 0;

	for (uint32_t seed = 0; seed < 60; seed++)
		made += random_trace(seed, 0, 1);
	/* ranges may cross then, which needs rows */
	cr_expect(gt(u32, made, 60 * 3));
}

/* --- what needs rows ----------------------------------------------------------------------- */

/* The pass declines such traces, for this reason, and the model makes the same tables. */
static void declines(struct tb *b, const char *reason)
{
	const struct ws_table_def *def = ws_table_def_by_name("ranges");
	struct ws_model *m = tb_model(b);
	struct ws_bytes bytes = tb_bytes(b);
	struct ws_trace_reader *r = NULL;
	struct ws_report *report = NULL;
	const char *declined = NULL;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	cr_assert(eq(int,
	             ws_report_stream(r, "", NULL, WS_SCOPE_ALL, &def, 1, NULL, &report, &declined,
	                              &err),
	             WS_OK),
	          "%s", err.text);
	cr_expect(report == NULL);
	cr_expect(declined && !strcmp(declined, reason), "%s", declined ? declined : "(made)");
	compare_loaded(m, NULL, reason);
	ws_trace_reader_free(r);
	ws_model_free(m);
	tb_free(b);
}

Test(digest_tables, crossing_ranges_need_rows)
{
	struct tb *b = tb_new();

	tb_push(b, 10, "a");
	tb_in_domain(b, "other");
	tb_push(b, 20, "b");
	tb_launch(b, 25, "k", 40, 10);
	tb_in_domain(b, "warpsheet");
	tb_launch(b, 30, "k", 60, 10);
	tb_start(b, 32, "c", 1);
	tb_end(b, 34, 1);
	tb_in_domain(b, "");
	tb_pop(b, 50);
	tb_in_domain(b, "other");
	tb_pop(b, 70);
	declines(b, "ranges of a thread cross");
}

Test(digest_tables, ranges_that_end_elsewhere_need_rows)
{
	struct tb *b = tb_new();

	tb_thread(b, 2, 100);
	tb_start(b, 10, "a", 7);
	tb_launch(b, 20, "k", 40, 10);
	tb_on_thread(b, 2);
	tb_end(b, 60, 7);
	declines(b, "a range ends on another thread");
}

Test(digest_tables, ids_used_twice_need_rows)
{
	struct tb *b = tb_new();

	tb_push(b, 1, "a");
	tb_call(b, 10, 5, 3);
	tb_kernel(b, &(struct tb_kernel){"k", 20, 10, 3, 0, 100, 0});
	tb_pop(b, 35);
	tb_call(b, 40, 5, 3);
	tb_kernel(b, &(struct tb_kernel){"k", 50, 10, 3, 0, 100, 0});
	declines(b, "a process used the id of a launch twice");
}

/* --- steps that the user names ------------------------------------------------------------- */

Test(digest_tables, steps_are_what_the_user_names)
{
	static const char *const patterns[] = {"iter*", "loop/iter 1", "nothing"};
	struct tb *b = tb_new();
	struct ws_trace_reader *r = NULL;
	struct ws_bytes bytes;
	struct ws_err err;

	tb_push(b, 0, "loop");
	for (int i = 0; i < 3; i++) {
		tb_push(b, 1000 * i + 10, i % 2 ? "iter 1" : "iter 0");
		tb_launch(b, 1000 * i + 20, "k", 1000 * i + 30, 100 + i);
		tb_pop(b, 1000 * i + 500);
	}
	tb_pop(b, 4000);
	ws_model_free(tb_model(b));
	bytes = tb_bytes(b);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		const struct ws_model_opts opts = {.step = patterns[i]};
		const struct ws_table_def *def = ws_table_def_by_name("steps");
		struct ws_report *report = NULL;
		struct ws_model *m = NULL;
		const char *declined = NULL;
		uint8_t wanted[WS_TC_steps_host_ns + 1] = {1};
		struct ws_table *t;

		cr_assert(eq(int, ws_model_open_reader(&m, r, "t", &opts, &err), WS_OK));
		cr_assert(eq(int,
		             ws_report_stream(r, "t", &opts, WS_SCOPE_ALL, &def, 1, wanted, &report,
		                              &declined, &err),
		             WS_OK));
		t = tb_table(m, "steps", NULL);
		cr_expect(eq(sz, t->nrows, i == 0 ? 3 : i == 1));
		/* a pattern that names nothing is for the model, which says so */
		cr_assert(eq(int, report != NULL, t->nrows || !patterns[i]), "%s", declined);
		if (report)
			same_rows(t, report->tables[0], 1, patterns[i]);
		ws_table_free(t);
		ws_report_free(report);
		ws_model_free(m);
	}
	ws_trace_reader_free(r);
	tb_free(b);
}

/* --- scope ------------------------------------------------------------------------------- */

/* Setup, a warm-up, and two steps, in which another thread launches `bwd`, as autograd does. */
static struct tb *scoped_trace(void)
{
	struct tb *b = tb_new();

	tb_thread(b, 2, 100);
	tb_push(b, 0, "setup");
	tb_launch(b, 1, "init", 10, 7);
	tb_pop(b, 20);
	tb_push(b, 100, "warm-up");
	tb_push(b, 110, "step");
	tb_launch(b, 120, "fwd", 130, 1000);
	tb_pop(b, 900);
	tb_pop(b, 950);
	for (int i = 0; i < 2; i++) {
		int64_t t = 2000 + 1000 * i;

		tb_on_thread(b, 1);
		tb_push(b, t, "step");
		tb_launch(b, t + 10, "fwd", t + 100, 30);
		tb_on_thread(b, 2);
		tb_launch(b, t + 200, "bwd", t + 300, 50);
		tb_on_thread(b, 1);
		tb_pop(b, t + 500);
		tb_launch(b, t + 600, "between", t + 650, 5);
	}
	return b;
}

static int64_t sum_in_scope(const struct ws_model *m, enum ws_scope scope)
{
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_selection sel;
	struct ws_err err;
	int64_t ns;

	filter.scope = scope;
	cr_assert(eq(int, ws_select(m, &filter, &sel, &err), WS_OK));
	ns = sel.gpu_ns;
	ws_selection_release(&sel);
	return ns;
}

Test(digest_tables, scopes_are_the_parts_of_a_run)
{
	struct tb *b = scoped_trace();
	struct ws_model *m = tb_model(b);
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_table *t;

	cr_expect(eq(i64, sum_in_scope(m, WS_SCOPE_STEPS), 160));
	cr_expect(eq(i64, sum_in_scope(m, WS_SCOPE_WARM_UP), 1000));
	cr_expect(eq(i64, sum_in_scope(m, WS_SCOPE_SETUP), 7));
	cr_expect(eq(i64, sum_in_scope(m, WS_SCOPE_OUTSIDE), 10));
	cr_expect(eq(i64, sum_in_scope(m, WS_SCOPE_ALL), 1177));

	/* one number of kernels and one time of the steps, in `ranges` as in `steps` */
	filter.scope = WS_SCOPE_STEPS;
	t = tb_table(m, "ranges", &filter);
	cr_assert(eq(sz, t->nrows, 3));
	cr_expect(eq(i64, t->cells[WS_TC_ranges_inclusive_ns].i, 160));
	cr_expect(eq(i64, t->cells[WS_TC_ranges_ops_inclusive].i, 4));
	ws_table_free(t);
	t = tb_table(m, "steps", &filter);
	cr_assert(eq(sz, t->nrows, 3), "the warm-up is shown, once");
	for (size_t row = 1; row < 3; row++) {
		cr_expect(eq(i64, t->cells[row * t->def->ncolumns + WS_TC_steps_kernels].i, 2));
		cr_expect(eq(i64, t->cells[row * t->def->ncolumns + WS_TC_steps_gpu_ns].i, 80));
	}
	ws_table_free(t);
	ws_model_free(m);
	tb_free(b);
}

Test(digest_tables, without_work_in_steps_the_scope_is_the_whole_trace)
{
	struct tb *b = tb_new();
	struct ws_model *m;

	/* no launch is recorded: nobody knows what belongs to the step */
	tb_push(b, 10, "step");
	tb_pop(b, 100);
	tb_kernel(b, &(struct tb_kernel){"k", 20, 40, 0, 0, 100, 0});
	m = tb_model(b);
	cr_expect(eq(i64, sum_in_scope(m, WS_SCOPE_STEPS), 40));
	ws_model_free(m);
	tb_free(b);
}

/* --- columns ----------------------------------------------------------------------------- */

/* What a column does not need is not read, and the column is the same all the same. */
static void compare_columns(const struct ws_trace_reader *r, const struct ws_model *m, size_t which)
{
	const struct ws_table_def *def = ws_table_def_by_name(tables[which].name);
	struct ws_table *expected = oracle_table(m, which, NULL);
	uint8_t *wanted = calloc(def->ncolumns, 1);

	for (size_t c = 0; c < def->ncolumns; c++) {
		struct ws_report *report = NULL;
		const char *declined = NULL;
		struct ws_err err;

		if (def == &ws_def_steps && !is_streamed(c))
			continue;
		memset(wanted, 0, def->ncolumns);
		wanted[c] = 1;
		cr_assert(eq(int,
		             ws_report_stream(r, "", NULL, WS_SCOPE_ALL, &def, 1, wanted, &report,
		                              &declined, &err),
		             WS_OK),
		          "%s", err.text);
		cr_assert(report != NULL, "%s", declined);
		cr_assert(eq(sz, report->tables[0]->nrows, expected->nrows));
		for (size_t row = 0; row < expected->nrows; row++)
			cr_assert(same_cell(&expected->cells[row * def->ncolumns + c],
			                    &report->tables[0]->cells[row * def->ncolumns + c]),
			          "%s, row %zu, %s", def->name, row, def->columns[c].id);
		ws_report_free(report);
	}
	free(wanted);
	ws_table_free(expected);
}

Test(digest_tables, each_column_alone_is_the_same)
{
	static const char path[] = WS_FIXTURES "/traces/step-bf16.wtrace";
	struct ws_trace_reader *r = NULL;
	struct ws_model *m = NULL;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_reader_open(&r, path, &err), WS_OK), "%s", err.text);
	cr_assert(eq(int, ws_model_open_reader(&m, r, path, NULL, &err), WS_OK), "%s", err.text);
	for (size_t i = 0; i < NSTREAMED; i++)
		compare_columns(r, m, i);
	ws_model_free(m);
	ws_trace_reader_free(r);
}
