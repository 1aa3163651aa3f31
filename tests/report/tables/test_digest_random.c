/*
 * Tables of random traces are the same as simple loops over all rows make them.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "tests/report/tables/oracle/compare.h"
#include "tests/report/random_traces.h"
#include "tests/support/trace_builder.h"

#define THREADS 3

struct scene {
	struct tb *b;
	uint32_t random;
	int64_t now; /* all threads share a clock, so that rows come in order of time */
	unsigned depth[THREADS + 1];
	uint64_t correlation; /* the last one given out */
	int64_t busy_until;
	int ties, shuffle, tells; /* every product its FLOPs and dtype, so that MFU is known */
	bool ids_come_back;       /* in two processes, and kernels may begin before their calls */
	unsigned again, early, long_before; /* launches that do */
	unsigned crosses; /* one of so many acts may let ranges do that; 0 = none */
	uint64_t starts;  /* so many of those */
	unsigned other_depth[THREADS + 1]; /* of the other domain */
};

/* Of all traces: where tables came from, and what was in them. */
struct seen {
	unsigned of_scopes, filtered, mfu, attention, pytorch, recorded;
	unsigned ids_again, early, long_before; /* traces that have such launches */
	unsigned crossed, cross_thread, at_end;
	size_t rollup_rows;
};

static unsigned pick(struct scene *s, unsigned n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 17;
	s->random ^= s->random << 5;
	return s->random % n;
}

/* Of the next launch. */
static uint64_t next_id(struct scene *s)
{
	if (!s->ids_come_back || !s->correlation || pick(s, 4))
		return ++s->correlation;
	s->again++;
	return s->correlation - pick(s, s->correlation < 6 ? (unsigned)s->correlation : 6);
}

/* The third thread's process is another where ids come back. */
static uint64_t process_of(const struct scene *s, unsigned thread)
{
	return 100 + (s->ids_come_back && thread == THREADS);
}

/* When what was launched at start_ns begins. */
static int64_t kernel_begins(struct scene *s, int64_t start_ns)
{
	if (s->ids_come_back && !pick(s, 8)) {
		s->early++;
		return start_ns - (int64_t)pick(s, 300);
	}
	if (s->ids_come_back && !pick(s, 60)) {
		s->long_before++;
		return start_ns - 3000000000;
	}
	return start_ns + (int64_t)pick(s, 400);
}

static void pass_time(struct scene *s)
{
	s->now += s->ties ? pick(s, 2) : 1 + pick(s, 50);
}

static void begin(struct scene *s, unsigned thread)
{
	static const char *const names[] = {"warm-up",
	                                    "step",
	                                    "forward",
	                                    "backward",
	                                    "setup",
	                                    "a",
	                                    "b",
	                                    "optimizer",
	                                    "step",
	                                    "forward",
	                                    "computing softmax",
	                                    "layer 2",
	                                    "final matmul",
	                                    "loss",
	                                    "enumerate(DataLoader)#0",
	                                    "ProfilerStep#",
	                                    "batch 0x"};
	static const char *const ops[] = {"gemm", "softmax", "scale", "attention", NULL};
	static const char *const dtypes[] = {"fp32", "bf16", NULL};
	struct tb_op op = {.flops = pick(s, 1000),
	                   .bytes_read = pick(s, 100),
	                   .op = ops[pick(s, 5)],
	                   .direction = pick(s, 2) ? "forward" : NULL,
	                   .dtype = dtypes[pick(s, s->tells ? 2 : 3)],
	                   .layer = (int32_t)pick(s, 4)};
	const uint64_t size[4] = {1 + pick(s, 2), pick(s, 3), 8, 8};
	const char *name = names[pick(s, sizeof(names) / sizeof(*names))];
	const bool has_number = strchr("#x", name[strlen(name) - 1]);
	char numbered[32];

	/* the numbers come in no order */
	snprintf(numbered, sizeof(numbered), "%s%u", name, pick(s, 3));
	if (has_number)
		name = numbered;
	/* one around another is a group, and what it launches itself is of no operation */
	if (s->tells ? s->depth[thread] < 2 : pick(s, 3))
		tb_push(s->b, s->now, name);
	else
		tb_push_sized_op(s->b, s->now, pick(s, 2) ? "op" : "other", &op, size);
	s->depth[thread]++;
}

/* A call, and mostly a kernel of it: late, without a time, several, or none. */
static void call(struct scene *s, unsigned thread)
{
	static const char *const kernels[] = {
	        "ws_softmax_k",
	        "elementwise_kernel",
	        "unheard_of",
	        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
	        "at::native::float16_copy_kernel_cuda",
	        "ws_gemm_k",
	        ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_"
	         "tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel"),
	        "sgemm_128x64"};
	/* one that is a product by its name alone has no FLOPs */
	const unsigned nkernels = s->tells ? 5 : sizeof(kernels) / sizeof(*kernels);
	int64_t start = s->now, dur = s->ties ? (int64_t)pick(s, 3) : 1 + (int64_t)pick(s, 20);
	uint64_t id = next_id(s);
	unsigned n = pick(s, 8) ? 1 : pick(s, 4);

	tb_call(s->b, start, dur, pick(s, 10) ? id : 0);
	s->now += dur;
	for (unsigned i = 0; i < n; i++) {
		struct tb_kernel k = {.name = kernels[pick(s, nkernels)],
		                      /* some do not fit into 32 bits */
		                      .dur_ns = pick(s, 50) ? pick(s, 2) ? pick(s, 300) : 64
		                                            : (int64_t)5 << 32,
		                      .correlation = pick(s, 20) ? id : 0,
		                      .device = pick(s, 2),
		                      .pid = process_of(s, thread),
		                      .flags = pick(s, 30)  ? 0
		                               : pick(s, 2) ? WS_KERNEL_NO_TIME
		                                            : WS_KERNEL_CUT_OFF};

		k.start_ns = kernel_begins(s, start);
		if (k.start_ns < s->busy_until && k.start_ns >= start && pick(s, 4))
			k.start_ns = s->busy_until;
		s->busy_until = k.start_ns + k.dur_ns;
		tb_kernel(s->b, &k);
	}
}

/* A call that launches no kernel: it waits, or copies. */
static void other_call(struct scene *s, unsigned thread)
{
	bool copies = pick(s, 2);
	uint64_t id = next_id(s);
	int64_t start = s->now, dur = s->ties ? (int64_t)pick(s, 3) : 1 + (int64_t)pick(s, 60);

	tb_add(s->b, WS_KIND_API,
	       &(struct ws_row_api){.start_ns = start,
	                            .dur_ns = dur,
	                            .thread = thread,
	                            .name = tb_text(s->b, copies ? "cudaMemcpyAsync"
	                                                         : "cudaStreamSynchronize"),
	                            .result = id % 9 == 0,
	                            .correlation = id});
	s->now += dur;
	if (copies)
		tb_add(s->b, WS_KIND_MEMCPY,
		       &(struct ws_row_memcpy){.start_ns = kernel_begins(s, start),
		                               .dur_ns = pick(s, 200),
		                               .bytes = 1 + pick(s, 1000),
		                               .kind = 1,
		                               .device = pick(s, 2),
		                               .pid = process_of(s, thread),
		                               .correlation = pick(s, 10) ? id : 0});
}

/* What a thread takes and gives back, some of it of no thread, and some of the host. */
static void allocate(struct scene *s, unsigned thread)
{
	tb_add(s->b, WS_KIND_MEMORY,
	       &(struct ws_row_memory){.time_ns = s->now,
	                               .pid = 100,
	                               .thread = pick(s, 10) ? thread : 0,
	                               .op = pick(s, 2) ? WS_MEMORY_OP_ALLOC : WS_MEMORY_OP_FREE,
	                               .memory_kind =
	                                       pick(s, 10) ? WS_MEMORY_DEVICE : WS_MEMORY_PINNED,
	                               .device = pick(s, 2),
	                               .address = 1 + pick(s, 8),
	                               .bytes = 1 + pick(s, 5)});
}

/* A range of another domain, or one that any thread may end, and twice. */
static void cross(struct scene *s, unsigned thread)
{
	static const char *const names[] = {"step", "forward", "copy", "warm-up", "setup"};
	const unsigned what = pick(s, 6);

	if (what < 2) {
		tb_start(s->b, s->now, names[pick(s, 5)], ++s->starts);
		if (!pick(s, 20)) /* an id in use again */
			tb_start(s->b, s->now, names[pick(s, 5)], s->starts);
	} else if (what < 4) {
		for (unsigned n = pick(s, 3); n < 3; n++)
			tb_end(s->b, s->now, s->starts - pick(s, s->starts < 4 ? 1 : 4));
	} else if (what == 4 && s->other_depth[thread] < 3) {
		tb_in_domain(s->b, "other");
		begin(s, thread);
		s->depth[thread]--;
		s->other_depth[thread]++;
	} else if (what == 5 && s->other_depth[thread]) {
		tb_in_domain(s->b, "other");
		tb_pop(s->b, s->now);
		s->other_depth[thread]--;
	}
	tb_in_domain(s->b, "warpsheet");
}

/* Nothing is later than the ends of ranges on whichever thread. */
static void end_late(struct scene *s)
{
	s->now = s->busy_until + 1000 + (s->now > s->busy_until ? s->now - s->busy_until : 0);
	for (unsigned i = 0; i < 4; i++) {
		tb_on_thread(s->b, 1 + pick(s, THREADS));
		tb_end(s->b, s->now, s->starts - pick(s, s->starts < 4 ? 1 : 4));
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
	if (s->crosses && !pick(s, s->crosses)) {
		cross(s, thread);
		return;
	}
	switch (pick(s, 8)) {
	case 0:
	case 1:
		if (s->depth[thread] < (s->tells ? 3 : 5))
			begin(s, thread);
		break;
	case 2:
	case 3:
		if (s->depth[thread] || !pick(s, 20))
			tb_pop(s->b, s->now);
		s->depth[thread] -= s->depth[thread] > 0;
		break;
	case 4:
		other_call(s, thread);
		break;
	case 5:
		allocate(s, thread);
		break;
	default:
		call(s, thread);
	}
	if (!pick(s, 15))
		flush(s);
	if (!pick(s, 40))
		tb_end(s->b, s->now, 77); /* of a range that began before recording did */
	if (!pick(s, 60))
		tb_mark(s->b, s->now,
		        pick(s, 2) ? "workload.tokens_per_step=64"
		                   : "workload.tokens_per_step=128");
	/* what another thread did before comes later in the file */
	if (s->shuffle && !pick(s, 40))
		s->now -= 30;
}

static int is_step(const struct loaded *l, uint32_t range)
{
	return l->ranges.name[range] == WS_TEXT_STEP ||
	       ws_bytes_begin(l->m->texts[l->ranges.name[range]], "ProfilerStep#");
}

/* Another program for: which step is a kernel in? */
static void check_membership(const struct loaded *l, const char *where)
{
	const struct ws_model *m = l->m;

	for (size_t k = 0; k < l->kernels.n; k++) {
		uint32_t call = l->kernels.call[k], range = l->kernels.range[k], best = WS_NONE, r;
		int64_t begin, end;
		int in_warm_up = 0;

		for (r = range; r != WS_NONE && best == WS_NONE; r = l->ranges.parent[r]) {
			in_warm_up |= l->ranges.name[r] == WS_TEXT_WARM_UP;
			for (uint32_t s = 0; s < m->nsteps; s++)
				if (m->steps[s].range == r)
					best = s;
		}
		if (best == WS_NONE && !in_warm_up && call != WS_NONE) {
			begin = l->api.start_ns[call];
			end = l->api.end_ns[call];
			for (uint32_t s = 0; s < m->nsteps; s++) {
				r = m->steps[s].range;
				if (is_step(l, r) && l->ranges.start_ns[r] <= begin &&
				    l->ranges.end_ns[r] >= end &&
				    m->threads[l->ranges.thread[r]].process == l->api.process[call])
					best = s;
			}
		}
		cr_assert(eq(u32, l->kernels.step[k], best), "%s: kernel %zu", where, k);
	}
}

/* What tables of costs and steps had to tell. */
static void see(struct loaded *l, struct seen *seen)
{
	struct ws_table *steps = oracle_product_table(l, "steps", NULL);
	struct ws_table *softmax = oracle_product_table(l, "softmax-matmul", NULL);
	bool known = false;

	for (size_t i = 0; i < l->m->nsteps; i++)
		seen->pytorch += l->m->steps[i].is_pytorch && l->m->steps[i].number != i;
	for (size_t i = 0; i < steps->nrows; i++)
		known |= !tb_is_empty(steps, i, "mfu");
	seen->mfu += known;
	seen->attention += tb_count(softmax, "scope", "layer 2") > 0;
	ws_table_free(steps);
	ws_table_free(softmax);
}

/* What ranges cross. */
static void see_crossing(const struct loaded *l, struct seen *seen)
{
	const struct loaded_ranges *r = &l->ranges;
	bool at_end = false;

	seen->crossed += l->attribution.ncrossings > 0;
	seen->cross_thread += r->cross_thread > 0;
	for (uint32_t i = 0; i < r->n; i++)
		at_end |= r->flags[i] & LOADED_OPEN && r->parent[i] != WS_NONE &&
		          r->flags[r->parent[i]] & LOADED_CROSS_THREAD;
	seen->at_end += at_end;
}

static unsigned random_trace(uint32_t seed, int ties, int shuffle, bool ids_come_back,
                             unsigned crosses, struct seen *seen)
{
	static const char *const patterns[] = {"*Step#1", "batch 0x2/*", "*tch 0x1/*a*", "loss"};
	struct scene s = {.b = tb_new(),
	                  .random = seed * 2654435761u + 1,
	                  .ties = ties,
	                  .ids_come_back = ids_come_back,
	                  .crosses = crosses};
	struct ws_trace_reader *r = NULL;
	struct loaded *l;
	struct ws_bytes bytes;
	struct ws_err err;
	char where[64];
	unsigned made;

	s.shuffle = shuffle;
	s.tells = seed % 2 == 0;
	snprintf(where, sizeof(where), "random trace %u, ties %d, shuffle %d", seed, ties, shuffle);
	tb_device(s.b, 1, pick(&s, 2) ? WS_DEVICE_CUDA : WS_DEVICE_CPU_REFERENCE, "Other");
	if (s.tells) {
		tb_mark(s.b, 0, "workload.peak.fp32=10");
		tb_mark(s.b, 0, "workload.peak.bf16=100");
	}
	for (uint64_t t = 2; t <= THREADS; t++)
		tb_thread(s.b, t, process_of(&s, (unsigned)t));
	for (unsigned i = 0, n = 20 + pick(&s, 300); i < n; i++)
		act(&s);
	if (pick(&s, 2))
		for (unsigned t = 1; t <= THREADS; t++)
			for (tb_on_thread(s.b, t); s.depth[t]; s.depth[t]--)
				tb_pop(s.b, ++s.now);
	if (crosses && pick(&s, 2))
		end_late(&s);
	bytes = tb_close(s.b);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	cr_assert(eq(int, loaded_open_reader(&l, r, where, NULL, &err), WS_OK), "%s: %s", where,
	          err.text);
	check_membership(l, where);
	oracle_compare_loaded(l, NULL, where);
	oracle_compare_joined(r, l, where);
	made = oracle_compare_streamed(r, l, where, &seen->of_scopes);
	oracle_compare_tables(r, l, where);
	see(l, seen);
	for (unsigned i = 0; i < 4; i++)
		seen->filtered += oracle_compare_filtered(
		        r, l, 121 * i + seed + 60 * (unsigned)(ties + 2 * shuffle), where);
	seen->recorded += oracle_compare_recorded(r, patterns[seed % 4], where);
	oracle_compare_runs(r, l, where);
	seen->rollup_rows += oracle_compare_rollup(r, l, where);
	seen->ids_again += s.again > 0;
	seen->early += s.early > 0;
	seen->long_before += s.long_before > 0;
	see_crossing(l, seen);
	ws_trace_reader_free(r);
	loaded_free(l);
	tb_free(s.b);
	return made;
}

Test(digest_random, traces)
{
	struct seen seen = {0};

	for (uint32_t seed = 0; seed < RANDOM_TRACES(60); seed++)
		cr_assert(eq(u32, random_trace(seed, 0, 0, false, 0, &seen), ORACLE_STREAMED + 1),
		          "seed %u", seed);
	/* without those of steps that never end it would be 294 */
	cr_expect(random_traces_had(seen.of_scopes, 350));
	cr_expect(random_traces_had(seen.filtered, 25));
	cr_expect(random_traces_had(seen.mfu, 2));
	cr_expect(random_traces_had(seen.attention, 2));
	cr_expect(random_traces_had(seen.pytorch, 8));
	cr_expect(random_traces_had(seen.recorded, 10));
	cr_expect(random_traces_had(seen.rollup_rows, 1000));
}

Test(digest_random, traces_where_much_happens_at_once)
{
	struct seen seen = {0};

	for (uint32_t seed = 0; seed < RANDOM_TRACES(60); seed++)
		cr_assert(eq(u32, random_trace(seed, 1, 0, false, 0, &seen), ORACLE_STREAMED + 1),
		          "seed %u", seed);
}

Test(digest_random, traces_whose_rows_are_out_of_order)
{
	struct seen seen = {0};

	for (uint32_t seed = 0; seed < RANDOM_TRACES(60); seed++)
		cr_assert(eq(u32, random_trace(seed, 0, 1, false, 0, &seen), ORACLE_STREAMED + 1),
		          "seed %u", seed);
}

Test(digest_random, traces_whose_ids_come_back)
{
	struct seen seen = {0};

	for (uint32_t seed = 0; seed < RANDOM_TRACES(40); seed++)
		cr_assert(eq(u32, random_trace(seed, seed % 4 == 0, 0, true, 0, &seen),
		             ORACLE_STREAMED + 1),
		          "seed %u", seed);
	cr_expect(random_traces_had(seen.ids_again, 35));
	cr_expect(random_traces_had(seen.early, 25));
	cr_expect(random_traces_had(seen.long_before, 12));
	cr_expect(random_traces_had(seen.filtered, 15));
}

Test(digest_random, traces_whose_ranges_cross)
{
	struct seen seen = {0};

	for (uint32_t seed = 0; seed < RANDOM_TRACES(60); seed++)
		cr_assert(eq(u32,
		             random_trace(seed, seed % 2, seed % 4 > 1, seed % 5 == 0,
		                          seed % 3 ? 3 : 30, &seen),
		             ORACLE_STREAMED + 1),
		          "seed %u", seed);
	cr_expect(random_traces_had(seen.crossed, 30));
	cr_expect(random_traces_had(seen.cross_thread, 30));
	/* what never ended lies in what another thread ended when the trace does */
	cr_expect(random_traces_had(seen.at_end, 2));
}
