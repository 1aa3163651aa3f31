/* Rules about waiting of the device: A1 launches, A16 data, A17 communication, A18 copies, A19 host
 * synchronisation, A20 other work of the host, A23 to A26 the device itself and both ends, A31
 * others on the device. All from one analysis, idle.h. */

#include "report/advice/advice.h"
#include "report/model/load.h"

#define SMALL_COPY_BYTES 65536
#define COPY_DTOH        2  /* memcpy.kind */
#define SMALL_COPIES     10 /* fewer are no series */
/* The host is slow at launching if it is late for this share of the kernels, by less than that. */
#define LATE_PERCENT 10
#define LATE_NS      500000

/* Mean over the devices: they wait in parallel, so a step gains no more than one device. */
static double mean_ns(const struct ws_advice *a, enum ws_use use)
{
	return a->idle->nworked ? (double)a->idle->all.ns[use] / (double)a->idle->nworked : 0;
}

/* The change that removes a cause of waiting. False if a replay cannot remove it. */
static bool change_without(struct ws_advice *a, enum ws_use use, struct ws_whatif *change)
{
	double *dur_ns;

	*change = (struct ws_whatif){0};
	change->removed[use] = 1;
	if (use == WS_USE_COLLECTIVE || use == WS_USE_COPY) {
		WS_NEW(&a->arena, dur_ns, a->replayed->npieces);
		for (size_t i = 0; i < a->replayed->npieces; i++) {
			const struct ws_replay_piece *piece = &a->replayed->pieces[i];

			dur_ns[i] = piece->use == use ? 0 : (double)piece->dur_ns;
		}
		change->dur_ns = dur_ns;
	}
	return use < WS_USE_UNKNOWN;
}

/* Does the device wait for launches of small copies to it, or of kernels that serve as many copies?
 * A result that the host reads again and again cannot be put together with the next. */
static bool waits_for_small_copies(const struct ws_advice *a)
{
	uint64_t copies = 0, bytes = 0;

	for (size_t i = 0; i < a->m->nwork; i++)
		if (a->m->work[i].kind == WS_WORK_MEMCPY && a->m->work[i].direction != COPY_DTOH &&
		    ws_work_ran(a->tab->sel, a->m, i)) {
			copies++;
			bytes += a->m->work[i].bytes;
		}
	return copies >= SMALL_COPIES && bytes / copies < SMALL_COPY_BYTES &&
	       (copies > a->kernels ||
	        2 * a->idle->launch_before_copies_ns > a->idle->all.ns[WS_USE_LAUNCH]);
}

/* Did one call launch most of what waited in a queue, as nodes of a CUDA graph? */
static bool runs_graphs(const struct ws_advice *a)
{
	struct ws_joined_rows *rows = a->tab->sel->rows;
	size_t n = 0;

	for (size_t i = 0; i < a->nof_row; i++) {
		const struct ws_replay_piece *piece = &a->replayed->pieces[a->of_row[i]];
		const struct ws_joined_call *call = ws_joined_rows_call(rows, piece->call);

		n += call &&
		     ws_name_matches(ws_bytes_of("*GraphLaunch*"), a->m->texts[call->kind->name]);
	}
	return 2 * n > a->nof_row;
}

/* GPU time of communication by kernels that send to and receive from single ranks, or may: NCCL
 * runs an all-to-all by the same kernel, and only some traces tell which it was. */
static bool sends_and_receives(const struct ws_advice *a)
{
	struct ws_joined_rows *rows = a->tab->sel->rows;
	int64_t all_ns = 0, single_ns = 0;

	for (size_t i = 0; i < a->replayed->npieces; i++) {
		const struct ws_replay_piece *piece = &a->replayed->pieces[i];

		if (piece->use != WS_USE_COLLECTIVE)
			continue;
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(rows, piece->row);
		const struct ws_collective *known = ws_joined_collective(a->m, k);
		all_ns += k->dur_ns;
		if (ws_name_matches(ws_bytes_of("*SendRecv*"),
		                    a->m->texts[a->m->configs[k->kind->config].name]) &&
		    !(known &&
		      ws_name_matches(ws_bytes_of("*all*to*all*"), a->m->texts[known->name])))
			single_ns += k->dur_ns;
	}
	return 2 * single_ns > all_ns;
}

/* Does a record cover what the host did in the longest gap of this cause? */
static bool knows_host(struct ws_advice *a, enum ws_use use)
{
	uint32_t host[WS_IDLE_LONGEST];
	size_t i = 0;

	while (i < a->idle->nlongest && a->idle->longest[i].cause != use)
		i++;
	if (i == a->idle->nlongest)
		return false;
	ws_idle_find_hosts(a->m, a->tab->sel->rows, a->idle, host);
	return host[i] != WS_NONE;
}

/* What to do about a cause of waiting in this trace. */
static const char *cure_of(struct ws_advice *a, enum ws_use use)
{
	const struct ws_host_activity *host = ws_host_activity_find(a->m, a->tab->sel);
	const struct ws_windows *w = ws_windows(a->m, a->tab->sel);
	const uint64_t gaps = a->idle->all.gaps[use];
	/* PyTorch's terms are used only for programs of PyTorch */
	const bool has_ops = a->costs->n > a->costs->nranges;
	const bool is_torch =
	        has_ops || ws_bytes_begin(ws_meta_value(&a->m->meta, "import.source"), "PyTorch");
	int64_t alloc_ns = 0;

	for (size_t i = 0; i < w->n; i++)
		alloc_ns +=
		        ws_spans_inside(&host->alloc, w->window[i].start_ns, w->window[i].end_ns);
	if (use == WS_USE_HOST && 2 * (double)alloc_ns > mean_ns(a, use))
		return ws_advice_text(a,
		                      "Allocate once, before the loop: allocating and freeing "
		                      "memory in it takes the host %s%s",
		                      ws_advice_time(a, (double)alloc_ns), ws_advice_each(a));
	if (use == WS_USE_LAUNCH && waits_for_small_copies(a))
		return "Copy once: put the small arrays into one array, and copy that";
	if (use == WS_USE_LAUNCH && !is_torch)
		return "Launch fewer, larger kernels: fuse them, capture CUDA graphs, or give each "
		       "more "
		       "to do. Faster kernels do not shorten this wait";
	if (use == WS_USE_WAIT && a->idle->waits_for_unrecorded)
		return "Find out what this device waits for: work launched before recording began, "
		       "another process or the host. The trace does not contain it";
	if (use == WS_USE_HOST && is_torch && 100 * gaps >= LATE_PERCENT * a->kernels && gaps > 1 &&
	    a->idle->all.ns[use] < LATE_NS * (int64_t)gaps)
		return ws_advice_text(
		        a,
		        "Fuse operations, capture CUDA graphs, compile the model, or make "
		        "batches larger: the host is late for %s of %s kernels%s",
		        ws_say_number(a->texts, (double)gaps),
		        ws_say_number(a->texts, (double)a->kernels), ws_advice_each(a));
	/* in a trace without steps one gap need not be in a loop */
	if (use == WS_USE_HOST && !a->found->has_steps &&
	    2 * a->idle->all.longest_ns[use] > a->idle->all.ns[use])
		return ws_advice_text(a,
		                      "Look at what the host does in the longest gap, %s. If it is "
		                      "in the loop, do it before, or in the background",
		                      ws_advice_time(a, (double)a->idle->all.longest_ns[use]));
	if (use == WS_USE_HOST && !a->found->has_steps && !knows_host(a, use))
		return "Find out what the host does meanwhile, as no range, operation or call "
		       "covers it: put ranges around it. Its work can move out of the loop; if it "
		       "waits for input or requests, the GPU has nothing to do";
	if (use == WS_USE_COLLECTIVE && sends_and_receives(a))
		return "Balance what ranks wait for: sends and receives end when both sides have "
		       "come. In a pipeline balance its stages and use more micro-batches; in an "
		       "all-to-all balance what ranks exchange";
	if (use == WS_USE_DEVICE && runs_graphs(a))
		return "Use fewer, larger kernels: they are in CUDA graphs already";
	if (use == WS_USE_SYNC && !has_ops)
		return "Synchronise less: let the host run ahead, and read results one step later";
	return ws_use_defs[use].cure;
}

/* A profiler that records Python calls slows the host, so host-bound work may be bound by the
 * profiler. */
static const char *stack_caveat(struct ws_advice *a, enum ws_use use)
{
	const struct ws_bytes by = ws_meta_value(&a->m->meta, "import.source");

	if ((use != WS_USE_LAUNCH && use != WS_USE_HOST) || a->m->python_calls <= a->kernels ||
	    !ws_bytes_begin(by, "PyTorch"))
		return "";
	return ws_advice_text(a,
	                      ". The profiler recorded %s Python calls, which slows the host: "
	                      "record without with_stack to be sure",
	                      ws_say_number(a->texts, (double)a->m->python_calls));
}

/* ", while the host is in hipMemcpyWithStream, before ampere_sgemm": for the longest gap; "" if
 * unknown, and for many short waits. */
static const char *object_of(struct ws_advice *a, enum ws_use use)
{
	uint32_t host[WS_IDLE_LONGEST];
	size_t i = 0;
	const char *out = "";

	while (i < a->idle->nlongest && a->idle->longest[i].cause != use)
		i++;
	if (i == a->idle->nlongest || use == WS_USE_LAUNCH || use == WS_USE_DEVICE)
		return "";
	ws_idle_find_hosts(a->m, a->tab->sel->rows, a->idle, host);
	if (a->idle->nworked > 1)
		out = ws_advice_text(
		        a, " of GPU %llu",
		        (unsigned long long)a->m->devices[a->idle->longest[i].device].id);
	if (host[i] != WS_NONE && !ws_step_is_name(a->m, host[i], NULL))
		out = ws_advice_text(a, "%s, while the host is in %s", out,
		                     ws_advice_name(a, host[i]));
	if (a->idle->longest[i].next != WS_NONE)
		out = ws_advice_text(a, "%s, before %s", out,
		                     ws_advice_name(a, a->idle->longest[i].next));
	return out;
}

static void judge_use(struct ws_advice *a, enum ws_rule rule, enum ws_use use)
{
	struct ws_whatif change;
	double ns = mean_ns(a, use), share = 100 * ns / a->found->step_ns;
	const uint64_t gaps = a->idle->all.gaps[use];
	const bool is_side_issue = use == WS_USE_LAUNCH && !a->idle->verdict.launch_bound;
	const char *of_gaps = "", *part = ws_advice_part(a, ns);

	if (!a->idle->wall_ns || share < WS_WAIT_PERCENT || a->m->soundness.obstacle)
		return;
	if (gaps == 1)
		of_gaps = ", in one gap";
	else if (gaps)
		of_gaps =
		        ws_advice_text(a, ". %s gaps: mean %s, longest %s",
		                       ws_say_number(a->texts, (double)gaps),
		                       ws_say_time(a->texts,
		                                   (double)a->idle->all.ns[use] / (double)gaps),
		                       ws_say_time(a->texts, (double)a->idle->all.longest_ns[use]));
	if (use == WS_USE_WAIT && a->idle->waits_for_unrecorded)
		ns = NAN; /* the effect is unknown */
	ws_advice_add(a, rule,
	              share >= WS_WAIT_STRONG_PERCENT && !is_side_issue ? WS_SEVERITY_STRONG
	                                                                : WS_SEVERITY_WEAK,
	              ns, !isnan(ns) && change_without(a, use, &change) ? &change : NULL,
	              "whole run",
	              ws_advice_text(a, "%s: %s%s%s%s", ws_use_defs[use].name, part, of_gaps,
	                             object_of(a, use), stack_caveat(a, use)),
	              cure_of(a, use));
}

bool ws_path_is_launch_bound(const struct ws_idle *idle, uint32_t path)
{
	double launch = (double)idle->path_gap_ns[WS_USE_LAUNCH][path],
	       kernel = (double)idle->path_kernel_ns[path];

	return launch > 0 && 100 * launch >= WS_A1_PATH_PERCENT * (launch + kernel);
}

void ws_rule_launch_bound(struct ws_advice *a)
{
	const struct ws_path *paths = a->m->ranges.paths;
	size_t shown = 0;

	if (!a->idle->nworked)
		return;
	if (a->idle->verdict.may_be_bound) {
		a->found->not_judged[WS_RULE_launch_bound] =
		        "recording may cause the waits for launches: record --calibrate with more "
		        "steps measures what it takes";
		return;
	}
	/* else the paths that are */
	for (uint32_t p = 0; p < a->m->ranges.npaths && !a->idle->verdict.launch_bound; p++) {
		double ns =
		        (double)a->idle->path_gap_ns[WS_USE_LAUNCH][p] / (double)a->idle->nworked;
		uint32_t up = paths[p].parent;
		char *path;
		size_t len;

		if (100 * ns < WS_WAIT_PERCENT * (double)a->idle->wall_ns ||
		    !a->idle->path_kernel_ns[p] || !ws_path_is_launch_bound(a->idle, p))
			continue;
		/* is a path around it launch-bound, too? */
		while (up != WS_NONE && !ws_path_is_launch_bound(a->idle, up))
			up = paths[up].parent;
		if (up != WS_NONE)
			continue;
		if (!ws_advice_has_room(a, WS_RULE_launch_bound, &shown))
			continue;
		ws_path_text(&a->m->ranges, p, a->m->texts, &path, &len);
		ws_advice_add(a, WS_RULE_launch_bound, WS_SEVERITY_WEAK, ns,
		              &(struct ws_whatif){.removed[WS_USE_LAUNCH] = 1, .graph_path = p + 1},
		              ws_arena_copy(a->texts, path, len),
		              ws_advice_text(a, "%s waits for launches %s; its kernels run %s%s",
		                             ws_advice_name(a, a->m->ranges.paths[p].name),
		                             ws_advice_part(a, ns),
		                             ws_advice_time(a, (double)a->idle->path_kernel_ns[p]),
		                             stack_caveat(a, WS_USE_LAUNCH)),
		              waits_for_small_copies(a) ? cure_of(a, WS_USE_LAUNCH) : NULL);
		free(path);
	}
	if (!a->found->fired[WS_RULE_launch_bound])
		judge_use(a, WS_RULE_launch_bound, WS_USE_LAUNCH);
	if (2 * a->idle->all.ns[WS_USE_UNKNOWN] >
	    a->idle->all.window_ns - a->idle->all.ns[WS_USE_COMPUTE])
		a->found->not_judged[WS_RULE_launch_bound] =
		        "most device work has no record of its launch, so the cause of its "
		        "waiting is unknown";
}

#define RULE_OF_USE(function, USE)                              \
	void ws_rule_##function(struct ws_advice *a)            \
	{                                                       \
		judge_use(a, WS_RULE_##function, WS_USE_##USE); \
	}
RULE_OF_USE(data_loading, DATA)
RULE_OF_USE(communication, COLLECTIVE)
RULE_OF_USE(copies, COPY)
RULE_OF_USE(synchronisation, SYNC)
RULE_OF_USE(host_work, HOST)
RULE_OF_USE(stream_wait, WAIT)
RULE_OF_USE(queue, DEVICE)
RULE_OF_USE(late_start, START)
RULE_OF_USE(late_end, END)
RULE_OF_USE(managed_memory, PAGING)

void ws_rule_shared_gpu(struct ws_advice *a)
{
	if (!a->m->nswitches)
		a->found->not_judged[WS_RULE_shared_gpu] = "context switches are not recorded";
	judge_use(a, WS_RULE_shared_gpu, WS_USE_SHARED);
}
