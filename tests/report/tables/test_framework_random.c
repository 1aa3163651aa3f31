/*
 * Random traces with the operations of a framework: calls of operations and modules, links from
 * forward to backward and to device work, collectives. A pass completes its rows by them; the
 * loaded trace is the other program for the same.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/report/tables/oracle/compare.h"
#include "tests/report/random_traces.h"
#include "tests/support/trace_builder.h"

#define THREADS 3
#define OPS     40
#define END_NS  3000

struct scene {
	struct tb *b;
	uint32_t random;
	uint64_t correlation; /* the last one given out */
	bool ids_come_back;
	int64_t op_ns[OPS]; /* their begins */
	uint64_t op_thread[OPS];
};

static unsigned pick(struct scene *s, unsigned n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 17;
	s->random ^= s->random << 5;
	return s->random % n;
}

static int64_t some_time(struct scene *s)
{
	return (int64_t)pick(s, END_NS);
}

/* What a thread does from its first moment to its last. No two threads call at one time, since
 * of two calls with one id that began together neither is the last; calls of a thread do not
 * overlap. */
static void run_thread(struct scene *s, uint64_t thread)
{
	static const char *const ranges[] = {"step", "step",    "forward",   "backward",
	                                     "loss", "warm-up", "optimizer", "ProfilerStep#5"};
	static const char *const kernels[] = {"elementwise_kernel", "ampere_sgemm_128x64_nn",
	                                      "unheard_of",
	                                      "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};
	unsigned depth = 0;

	tb_on_thread(s->b, thread);
	for (int64_t now = pick(s, 30) * THREADS + (int64_t)thread; now < END_NS;
	     now += THREADS * (7 + pick(s, 14))) {
		unsigned what = pick(s, 8);
		uint64_t id = ++s->correlation;

		if (s->ids_come_back && !pick(s, 6))
			id = 1 + pick(s, (unsigned)id);
		/* backward runs where no range is */
		if (what < 2 && depth < 4 && thread < THREADS) {
			tb_push(s->b, now, ranges[pick(s, sizeof(ranges) / sizeof(*ranges))]);
			depth++;
		} else if (what < 4 && depth) {
			tb_pop(s->b, now);
			depth--;
		} else {
			tb_call(s->b, now, pick(s, 20), pick(s, 10) ? id : 0);
			if (pick(s, 5))
				tb_kernel(s->b, &(struct tb_kernel){
				                        .name = kernels[pick(s, 4)],
				                        .start_ns = now + (int64_t)pick(s, 200),
				                        .dur_ns = pick(s, 100),
				                        .correlation = pick(s, 15) ? id : 0,
				                        .pid = 100,
				                });
			else if (pick(s, 2))
				tb_add(s->b, WS_KIND_MEMCPY,
				       &(struct ws_row_memcpy){.start_ns = now + pick(s, 200),
				                               .dur_ns = 10,
				                               .bytes = 64,
				                               .kind = 1,
				                               .pid = 100,
				                               .correlation = id});
			else
				tb_add(s->b, WS_KIND_MEMORY,
				       &(struct ws_row_memory){
				               .time_ns = now,
				               .pid = 100,
				               .thread = thread,
				               .op = WS_MEMORY_OP_ALLOC,
				               .memory_kind = WS_MEMORY_DEVICE,
				               .bytes = 8,
				               .address = id,
				       });
		}
	}
	while (depth-- && pick(s, 4))
		tb_pop(s->b, END_NS + 100);
}

static void add_configs(struct scene *s)
{
	static const char *const names[] = {"aten::mm",
	                                    "aten::softmax",
	                                    "aten::nll_loss",
	                                    "autograd::engine::evaluate_function: MmBackward0",
	                                    "Optimizer.step#SGD.step",
	                                    "c10d::allreduce_"};

	for (uint64_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		tb_add(s->b, WS_KIND_OP_CONFIG,
		       &(struct ws_row_op_config){.id = i + 1,
		                                  .name = tb_text(s->b, names[i]),
		                                  .dims = i % 2 ? tb_text(s->b, "[[2,3]]") : 0,
		                                  .kind = pick(s, 5),
		                                  .direction = pick(s, 3),
		                                  .dtype = pick(s, 4),
		                                  .cost = pick(s, 3),
		                                  .flops = pick(s, 1000),
		                                  .bytes_read = pick(s, 100)});
}

static void add_ops(struct scene *s)
{
	int sequences = (int)pick(s, 2);

	for (int i = 0; i < OPS; i++) {
		s->op_ns[i] = some_time(s);
		s->op_thread[i] = 1 + pick(s, THREADS);
		tb_add(s->b, WS_KIND_CPU_OP,
		       &(struct ws_row_cpu_op){
		               .start_ns = s->op_ns[i],
		               .dur_ns = (int64_t)pick(s, pick(s, 2) ? 100 : 1000),
		               .thread = s->op_thread[i],
		               .config = 1 + pick(s, 6),
		               .external_id = pick(s, 3) ? (uint64_t)i + 1 : 0,
		               .sequence = sequences ? (int64_t)pick(s, 10) : -1,
		               .forward_thread = sequences ? pick(s, 2) : 0,
		       });
	}
	for (int i = 0; i < OPS / 4 && !sequences; i++) {
		int from = (int)pick(s, OPS), to = (int)pick(s, OPS);

		tb_add(s->b, WS_KIND_FLOW,
		       &(struct ws_row_flow){.from_ns = s->op_ns[from],
		                             .from_thread = s->op_thread[from],
		                             .to_ns = s->op_ns[to],
		                             .to_thread = s->op_thread[to]});
	}
}

static void add_links(struct scene *s, bool has_modules)
{
	for (int i = 0; i < OPS / 2; i++)
		tb_add(s->b, WS_KIND_EXTERNAL_LINK,
		       &(struct ws_row_external_link){.pid = 100,
		                                      .correlation =
		                                              1 + pick(s, (unsigned)s->correlation),
		                                      .kind = pick(s, 4) ? WS_EXTERNAL_CUSTOM0 : 0,
		                                      .external_id = 1 + pick(s, OPS)});
	for (int i = 0; i < 4; i++)
		tb_add(s->b, WS_KIND_COLLECTIVE,
		       &(struct ws_row_collective){
		               .time_ns = some_time(s),
		               .pid = 100,
		               .correlation =
		                       pick(s, 2) ? 1 + pick(s, (unsigned)s->correlation) : 0,
		               .external_id = 1 + pick(s, OPS),
		               .name = tb_text(s->b, "allreduce"),
		               .sequence = i});
	for (int i = 0; i < 10 && has_modules; i++)
		tb_add(s->b, WS_KIND_PYTHON_CALL,
		       &(struct ws_row_python_call){.start_ns = some_time(s),
		                                    .dur_ns = pick(s, 500),
		                                    .thread = 1 + pick(s, THREADS),
		                                    .name = tb_text(s->b,
		                                                    pick(s, 2) ? "nn.Module: A_0"
		                                                               : "nn.Module: B_1"),
		                                    .id = (uint64_t)i + 1,
		                                    .module = pick(s, 4) ? i : -1});
}

/* What the random traces held: a branch that none of them meets is not tested. */
struct seen {
	unsigned inherited, linked, collective, phased;
};

static void look(const struct loaded *l, struct seen *seen)
{
	const struct ws_model *m = l->m;

	for (size_t i = 0; i < l->kernels.n; i++) {
		uint32_t op = l->kernels.op[i], call = l->kernels.call[i];

		seen->linked += op != WS_NONE && (call == WS_NONE || l->api.op[call] != op);
		seen->inherited += l->kernels.range[i] != WS_NONE &&
		                   (call == WS_NONE || l->api.range[call] == WS_NONE);
		seen->collective += l->kernels.collective && l->kernels.collective[i] != WS_NONE;
	}
	for (size_t i = 0; i < m->nsteps; i++)
		seen->phased += (m->steps[i].phases & 1u << WS_PHASE_BACKWARD) != 0;
}

static void compare(uint32_t seed, struct seen *seen)
{
	struct scene s = {.b = tb_new(),
	                  .random = seed * 2654435761u + 1,
	                  .ids_come_back = seed % 3 == 1};
	struct ws_trace_reader *r = NULL;
	struct loaded *l;
	struct ws_bytes bytes;
	struct ws_err err;
	unsigned of_scopes = 0;
	char where[64];

	snprintf(where, sizeof(where), "random trace of a framework %u", seed);
	for (uint64_t t = 2; t <= THREADS; t++)
		tb_thread(s.b, t, 100);
	for (uint64_t t = 1; t <= THREADS; t++)
		run_thread(&s, t);
	add_configs(&s);
	add_ops(&s);
	add_links(&s, seed % 3 == 0);
	bytes = tb_close(s.b);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK));
	cr_assert(eq(int, loaded_open_reader(&l, r, where, NULL, &err), WS_OK), "%s: %s", where,
	          err.text);
	look(l, seen);
	/* modules cross the program's ranges */
	oracle_compare_joined(r, l, where);
	oracle_compare_loaded(l, NULL, where);
	cr_expect(eq(u32, oracle_compare_streamed(r, l, where, &of_scopes), ORACLE_STREAMED + 1));
	oracle_compare_tables(r, l, where);
	oracle_compare_filtered(r, l, seed, where);
	oracle_compare_runs(r, l, where);
	ws_trace_reader_free(r);
	loaded_free(l);
	tb_free(s.b);
}

Test(framework_random, rows_and_tables_of_a_pass)
{
	struct seen seen = {0};

	for (uint32_t seed = 0; seed < RANDOM_TRACES(40); seed++)
		compare(seed, &seen);
	cr_expect(random_traces_had(seen.inherited, 20));
	cr_expect(random_traces_had(seen.linked, 20));
	cr_expect(random_traces_had(seen.collective, 20));
	cr_expect(random_traces_had(seen.phased, 20));
}
