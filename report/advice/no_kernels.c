#include "report/advice/advice.h"

/* Number of kinds of launches named in the sentence. */
#define SHOWN 3

struct launches {
	uint64_t *of_name; /* text -> calls */
	uint64_t n;
};

/* "cudaLaunchKernel 236, cuLaunchKernel 24" */
static const char *names_of(const struct ws_model *m, struct launches *l, struct ws_arena *arena)
{
	const char *list = "";

	for (int shown = 0; shown < SHOWN; shown++) {
		size_t most = 0;

		for (size_t i = 1; i < m->ntexts; i++)
			if (l->of_name[i] > l->of_name[most])
				most = i;
		if (!l->of_name[most])
			break;
		list = ws_arena_format(arena, "%s%s%.*s %s", list, shown ? ", " : "",
		                       WS_SHOWN_MOST(m->texts[most], 64),
		                       ws_say_number(arena, (double)l->of_name[most]));
		l->of_name[most] = 0;
	}
	return list;
}

const char *ws_no_kernels_words(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_arena *arena)
{
	struct ws_joined_rows *rows = sel->rows;
	struct launches l = {0};
	uint64_t graphs = 0; /* traced as a whole */

	for (size_t i = 0; i < m->nwork; i++)
		graphs += m->work[i].kind == WS_WORK_GRAPH;
	WS_NEW(arena, l.of_name, m->ntexts);
	for (uint32_t i = 0; i < rows->ncalls; i++) {
		const uint32_t name = ws_joined_rows_call(rows, i)->kind->name;

		if (!ws_call_launches(m->texts[name]))
			continue;
		l.of_name[name]++;
		l.n++;
	}
	if (graphs)
		return ws_arena_format(arena,
		                       "CUDA graphs were recorded as wholes (launches: %s), so "
		                       "their kernels are not known. Record with "
		                       "`--graph-level node` to see them.",
		                       ws_say_number(arena, (double)graphs));
	if (l.n)
		return ws_arena_format(
		        arena,
		        "%s kernel %s recorded (%s), but no kernel: the profiler saw no work of "
		        "the GPU. Usual reasons: no permission to read GPU activity (container, "
		        "administrator). Another profiler holds the GPU. The driver is older than "
		        "the profiler's CUDA. The recording ended before the kernels ran.",
		        ws_say_number(arena, (double)l.n),
		        l.n == 1 ? "launch was" : "launches were", names_of(m, &l, arena));
	if (sel->rows->ncalls || m->cpu_ops.tree.n)
		return ws_arena_format(arena,
		                       "The host was recorded (%s API calls, %s operations), but "
		                       "no kernel and no launch. The program ran on the CPU, or "
		                       "GPU activity was not asked for.",
		                       ws_say_number(arena, (double)sel->rows->ncalls),
		                       ws_say_number(arena, (double)m->cpu_ops.tree.n));
	if (sel->rows->nranges)
		return "No GPU work was recorded.";
	return "No kernel, no launch and no operation was recorded: the program launched none, or "
	       "the recording did not reach it.";
}
