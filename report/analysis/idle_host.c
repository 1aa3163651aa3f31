#include "report/analysis/idle.h"

#include "report/base/names.h"
#include "report/base/stat.h"

bool ws_call_waits(struct ws_bytes name)
{
	static const char *const blocking[] = {"cudaMemcpy", "cuMemcpyDtoH", "cuMemcpyHtoD",
	                                       "hipMemcpy", "hipMemcpyWithStream"};
	const char *text = name.ptr;
	size_t len = name.len;

	if (memmem(name.ptr, len, "Synchronize", 11))
		return true;
	/* cuMemcpyDtoH_v2, cudaMemcpy_v3020: the version is not part of the name */
	for (size_t i = len; i-- > 2;)
		if (text[i] == 'v' && text[i - 1] == '_') {
			len = i - 1;
			break;
		}
	return WS_NAME_IS_ONE_OF(((struct ws_bytes){text, len}), blocking);
}

/* --- start-up ------------------------------------------------------------------------ */

#define QUARTERS      4
#define LONG_PAUSE_NS 1000000
#define ALONE_TIMES   4 /* times as long as every other one: start-up */

/* A call longer than a launch that neither waits nor copies. */
struct long_call {
	uint32_t row, name, kernel; /* kernel: name of its first launched kernel, WS_NONE */
	struct ws_span span;
};

/* A pause of the host, longer than a launch, before a launch. */
struct pause {
	uint32_t row; /* of the launch */
	struct ws_span span;
};

/* The launches of a kernel's name. */
struct launched {
	uint32_t first; /* row of the first call, plus 1; 0: none */
	uint64_t n;
	const struct pause *pause; /* before the first; NULL */
	int64_t later_ns;          /* the longest pause before another launch */
};

/* Duration of the longest call of a name in each quarter of all calls; 0: no long call. */
struct recurrence {
	int64_t longest_ns[QUARTERS];
};

enum call_role {
	ROLE_LAUNCH = 1,
	ROLE_ALLOC = 2,
	ROLE_CAPTURE_BEGINS = 4,
	ROLE_CAPTURE_ENDS = 8,
	ROLE_NO_SETUP = 16, /* it waits for the device, or stages data */
};

struct setup_finder {
	struct ws_joined_rows *rows;
	struct ws_host_activity *host;
	uint8_t *role;             /* by text */
	int64_t *captures_from_ns; /* by thread: begin of its capture, plus 1; 0: none */
	int64_t *made_until_ns;    /* by thread: end of its last call; 0: none yet */
	struct long_call *call;    /* by row */
	size_t ncalls, calls_capacity;
	bool is_new_in[QUARTERS]; /* by quarter: a new kernel was launched */
	struct pause *pause;      /* by row */
	size_t npauses, pauses_capacity;
	size_t nsearched; /* kernels that searches launched */
};

static int64_t pause_ns(const struct pause *pause)
{
	return pause ? pause->span.end_ns - pause->span.start_ns : 0;
}

static size_t quarter_of(const struct setup_finder *f, uint32_t row)
{
	return (size_t)((uint64_t)QUARTERS * row / f->rows->ncalls);
}

/* A slow first launch of a kernel name loads the kernel's module. A pause before it is start-up,
 * too, if no other launch of the kernel has a comparable pause before it.
 */
static void find_first_launches(struct setup_finder *f, const struct ws_model *m,
                                struct ws_arena *arena)
{
	if (!f->ncalls && !f->npauses)
		return;
	struct launched *of_name = ws_arena_array(arena, m->ntexts, sizeof(*of_name));
	WS_EACH_KERNEL(f->rows, i, k)
		if (k->call != WS_NONE) {
			struct launched *l = &of_name[m->configs[k->kind->config].name];
			size_t at;

			/* Another launch of the kernel; rows of kernels do not stand in the order
			 * of their calls. */
			WS_COUNT_FIRST(at, f->npauses, f->pause[at].row < k->call);
			const struct pause *pause = at < f->npauses && f->pause[at].row == k->call
			                                    ? &f->pause[at]
			                                    : NULL;
			const bool is_first = !l->first || k->call + 1 < l->first;
			const int64_t other_ns = pause_ns(is_first ? l->pause : pause);

			l->n++;
			l->later_ns = other_ns > l->later_ns ? other_ns : l->later_ns;
			if (is_first) {
				l->first = k->call + 1;
				l->pause = pause;
			}
		}
	for (uint32_t text = 0; text < m->ntexts; text++) {
		const struct launched *l = &of_name[text];
		size_t at;

		if (!l->first)
			continue;
		f->is_new_in[quarter_of(f, l->first - 1)] = true;
		WS_COUNT_FIRST(at, f->ncalls, f->call[at].row < l->first - 1);
		if (at < f->ncalls && f->call[at].row == l->first - 1)
			f->call[at].kernel = text;
		if (l->pause && l->n > 2 &&
		    ALONE_TIMES * (double)l->later_ns < (double)pause_ns(l->pause))
			ws_spans_add(&f->host->setup, l->pause->span.start_ns,
			             l->pause->span.end_ns);
	}
}

static int64_t call_ns(const struct long_call *call)
{
	return call->span.end_ns - call->span.start_ns;
}

/* --- a search for algorithms ------------------------------------------------------------------ */

#define SEARCH_KERNELS 4 /* of different names, each timed by a wait for an event: a search */

/* Convolution kernels launched by a thread, with waits for events between them. */
struct search {
	int64_t from_ns, until_ns; /* from the first launch to the end of the last wait */
	uint32_t name[SEARCH_KERNELS];
	size_t names, waits, kernels;
	bool has_conv, is_open; /* is_open: there were launches */
	bool has_new;           /* … since the last wait */
};

static void end_search(struct search *s, struct setup_finder *f)
{
	if (s->has_conv && s->names == SEARCH_KERNELS && s->waits >= SEARCH_KERNELS) {
		ws_spans_add(&f->host->setup, s->from_ns, s->until_ns);
		ws_spans_add(&f->host->searches, s->from_ns, s->until_ns);
		f->nsearched += s->kernels;
	}
	*s = (struct search){0};
}

/* A library that searches for the fastest algorithm of a convolution runs them one after the other,
 * each between two events, and waits for the second event. Nothing else is launched meanwhile,
 * unlike in a loop. */
static void find_searches(struct setup_finder *f, const struct ws_model *m, struct ws_arena *arena)
{
	static const char *const classes[] = {"conv", "conv_aux", "gemm", "gemm_aux", "layout"};
	uint32_t *kernel_of; /* call -> row of its last kernel plus 1; 0: none */
	bool *is_wait, any = false;

	WS_NEW(arena, is_wait, m->ntexts);
	for (size_t i = 0; i < m->ntexts; i++)
		any |= is_wait[i] = ws_name_has(m->texts[i], "EventSynchronize");
	if (!any)
		return;
	struct search *of_thread = ws_arena_array(arena, m->nthreads, sizeof(*of_thread));
	WS_NEW(arena, kernel_of, f->rows->ncalls);
	WS_EACH_KERNEL(f->rows, i, k)
		if (k->call != WS_NONE)
			kernel_of[k->call] = (uint32_t)i + 1;
	WS_EACH_CALL(f->rows, i, call) {
		struct search *s = &of_thread[call->kind->thread];
		const struct ws_joined_kernel *k =
		        kernel_of[i] ? ws_joined_rows_kernel(f->rows, kernel_of[i] - 1) : NULL;

		if (k && WS_NAME_IS_ONE_OF(m->texts[k->kind->class], classes)) {
			const uint32_t name = m->configs[k->kind->config].name;
			size_t n = 0;

			if (!s->is_open)
				s->from_ns = call->start_ns;
			s->is_open = s->has_new = true;
			s->kernels++;
			s->has_conv |= k->kind->class == WS_TEXT_CONV;
			while (n < s->names && s->name[n] != name)
				n++;
			if (n == s->names && n < SEARCH_KERNELS)
				s->name[s->names++] = name;
		} else if (k) {
			end_search(s, f);
		} else if (is_wait[call->kind->name] && s->has_new) {
			s->waits++;
			s->has_new = false;
			s->until_ns = call->start_ns + call->dur_ns;
		}
	}
	for (size_t t = 0; t < m->nthreads; t++)
		end_search(&of_thread[t], f);
	ws_spans_merge(&f->host->searches);
}

static void find_setup(const struct ws_model *m, const struct ws_selection *sel,
                       struct ws_host_activity *host, struct ws_arena *arena)
{
	const struct ws_windows *w = ws_windows(m, sel);
	struct setup_finder f = {.rows = sel->rows, .host = host};
	int64_t setup_ns = 0;

	WS_NEW(arena, f.role, m->ntexts);
	WS_NEW(arena, f.captures_from_ns, m->nthreads);
	WS_NEW(arena, f.made_until_ns, m->nthreads);
	for (size_t i = 0; i < m->ntexts; i++) {
		const struct ws_bytes name = m->texts[i];
		const bool allocates = ws_name_has(name, "Malloc") ||
		                       ws_name_has(name, "MemAlloc") || ws_name_has(name, "Free");

		f.role[i] |= ws_call_launches(name) ? ROLE_LAUNCH : 0;
		f.role[i] |= allocates ? ROLE_ALLOC : 0;
		f.role[i] |= ws_call_begins_capture(name) ? ROLE_CAPTURE_BEGINS : 0;
		f.role[i] |= ws_call_ends_capture(name) ? ROLE_CAPTURE_ENDS : 0;
		f.role[i] |= ws_call_waits(name) || ws_name_has(name, "Memcpy") ? ROLE_NO_SETUP : 0;
	}
	for (uint32_t i = 0; i < f.rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(f.rows, i);
		const int64_t end_ns = call->start_ns + call->dur_ns;
		const uint8_t role = f.role[call->kind->name];
		int64_t *captures_from_ns = &f.captures_from_ns[call->kind->thread];
		int64_t *made_until_ns = &f.made_until_ns[call->kind->thread];

		if (role & ROLE_CAPTURE_BEGINS)
			*captures_from_ns = call->start_ns + 1;
		f.host->captured += *captures_from_ns && role & ROLE_LAUNCH;
		if (role & ROLE_CAPTURE_ENDS && *captures_from_ns) {
			ws_spans_add(&f.host->setup, *captures_from_ns - 1, end_ns);
			*captures_from_ns = 0;
		}
		if (role & ROLE_LAUNCH && *made_until_ns &&
		    call->start_ns - *made_until_ns > WS_IDLE_LAUNCH_US * 1000) {
			WS_GROW(f.pause, f.npauses + 1, f.pauses_capacity);
			f.pause[f.npauses++] = (struct pause){i, {*made_until_ns, call->start_ns}};
		}
		*made_until_ns = end_ns;
		if (call->dur_ns <= WS_IDLE_LAUNCH_US * 1000 || role & ROLE_NO_SETUP)
			continue;
		WS_GROW(f.call, f.ncalls + 1, f.calls_capacity);
		f.call[f.ncalls++] =
		        (struct long_call){i, call->kind->name, WS_NONE, {call->start_ns, end_ns}};
	}
	find_first_launches(&f, m, arena);

	/* Recurring long calls belong to the program's loop, unless the program launches new
	 * kernels in each of the last three quarters and so has no loop yet. */
	bool has_loop = false;

	struct recurrence *of_name = ws_arena_array(arena, m->ntexts, sizeof(*of_name));
	for (size_t i = 1; i < QUARTERS; i++)
		has_loop |= !f.is_new_in[i];
	for (size_t i = 0; i < f.ncalls; i++) {
		const struct long_call *call = &f.call[i];
		int64_t *longest_ns = &of_name[call->name].longest_ns[quarter_of(&f, call->row)];

		*longest_ns = call_ns(call) > *longest_ns ? call_ns(call) : *longest_ns;
	}
	for (size_t i = 0; i < f.ncalls; i++) {
		const struct long_call *call = &f.call[i];
		const uint8_t role = f.role[call->name];
		bool recurs = has_loop; /* such long calls occur in the last three quarters, too */

		for (size_t q = 1; q < QUARTERS; q++)
			recurs &= (double)of_name[call->name].longest_ns[q] >=
			          (double)call_ns(call) / ALONE_TIMES;
		if (role & ROLE_LAUNCH ? call->kernel != WS_NONE : !recurs)
			ws_spans_add(&f.host->setup, call->span.start_ns, call->span.end_ns);
		else if (role & ROLE_ALLOC)
			ws_spans_add(&f.host->alloc, call->span.start_ns, call->span.end_ns);
	}
	find_searches(&f, m, arena);
	/* First steps that are far longer than the others are start-up. */
	if (w->n >= WS_STAT_MIN_SAMPLES && w->window[0].step == 0 && m->kept_from_ns == INT64_MIN) {
		const struct ws_time_window *median = ws_windows_median(w);
		const double most_ns =
		        WS_IDLE_FIRST_TIMES * (double)(median->end_ns - median->start_ns);

		for (const struct ws_time_window *at = w->window;
		     (double)(at->end_ns - at->start_ns) > most_ns; at++) {
			ws_spans_add(&host->setup, at->start_ns, at->end_ns);
			host->first_steps++;
		}
	}

	/* What the program itself calls a warm-up. */
	struct ws_joined_rows *rows = f.rows;
	WS_EACH_RANGE(rows, i, r)
		if (r->context->is_warm_up)
			ws_spans_add(&host->setup, r->start_ns, r->end_ns);
	ws_spans_merge(&host->setup);
	ws_spans_merge(&host->alloc);

	/* A trace of one window that is mostly start-up is a program's first iteration: what else
	 * held the host up for long there, a compiler for example, happens once as well. If most
	 * kernels are those of searches for algorithms, each operation is prepared there, and all
	 * that the host does is. */
	for (size_t i = 0; i < host->setup.n; i++)
		setup_ns += host->setup.span[i].end_ns - host->setup.span[i].start_ns;
	if (w->n == 1 && 2 * f.nsearched > rows->nkernels)
		ws_spans_add(&host->setup, w->window[0].start_ns, w->window[0].end_ns);
	if (w->n == 1 && (2 * f.nsearched > rows->nkernels ||
	                  2 * setup_ns > w->window[0].end_ns - w->window[0].start_ns)) {
		for (size_t i = 0; i < f.npauses; i++)
			if (pause_ns(&f.pause[i]) > LONG_PAUSE_NS)
				ws_spans_add(&host->setup, f.pause[i].span.start_ns,
				             f.pause[i].span.end_ns);
		ws_spans_merge(&host->setup);
	}

	free(f.call);
	free(f.pause);
}

static void release(void *result)
{
	struct ws_host_activity *host = result;

	ws_spans_release(&host->data);
	ws_spans_release(&host->setup);
	ws_spans_release(&host->alloc);
	ws_spans_release(&host->searches);
	ws_spans_release(&host->waits);
}

const struct ws_host_activity *ws_host_activity_find(const struct ws_model *m,
                                                     const struct ws_selection *sel)
{
	static const char key;
	struct ws_arena temp = {0};
	int64_t latest = INT64_MIN;
	bool *is_sync, has_waits = false;

	sel = ws_selection_whole(sel); /* start-up is determined from all steps */
	struct ws_host_activity *host = ws_kept_result(sel, &key);
	if (host)
		return host;
	WS_NEW(&sel->kept->arena, host, 1);
	WS_NEW(&sel->kept->arena, is_sync, m->ntexts);
	for (size_t i = 0; i < m->ntexts; i++)
		has_waits |= is_sync[i] = ws_call_waits(m->texts[i]);
	for (uint32_t i = 0; has_waits && i < sel->rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(sel->rows, i);

		if (is_sync[call->kind->name])
			ws_spans_add(&host->waits, call->start_ns, call->start_ns + call->dur_ns);
	}
	ws_spans_sort(&host->waits);
	WS_NEW(&sel->kept->arena, host->wait_end_ns, host->waits.n);
	for (size_t i = 0; i < host->waits.n; i++) {
		latest = host->waits.span[i].end_ns > latest ? host->waits.span[i].end_ns : latest;
		host->wait_end_ns[i] = latest;
	}

	/* when it loads data */
	struct ws_joined_rows *rows = sel->rows;
	const struct ws_op_tree *ops = &m->cpu_ops.tree;
	bool *loads_data, any = false;

	WS_NEW(&temp, loads_data, m->ntexts);
	for (size_t i = 0; i < m->ntexts; i++)
		any |= loads_data[i] = ws_name_loads_data(m->texts[i]);
	for (uint32_t i = 0; any && i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);

		if (loads_data[r->context->name])
			ws_spans_add(&host->data, r->start_ns, r->end_ns);
	}
	for (size_t i = 0; any && i < ops->n; i++)
		if (loads_data[ops->name[i]])
			ws_spans_add(&host->data, ops->start_ns[i], ops->end_ns[i]);
	ws_spans_merge(&host->data);
	find_setup(m, sel, host, &temp);
	ws_arena_free(&temp);
	ws_keep_result(sel, &key, host, release);
	return host;
}

int64_t ws_host_waited(const struct ws_host_activity *host, int64_t from_ns, int64_t call_ns)
{
	int64_t ns = 0;
	size_t i;

	WS_COUNT_FIRST(i, host->waits.n, host->waits.span[i].start_ns < from_ns);
	/* waits that began before the gap and ended in it; a few suffice, as threads rarely wait at
	 * the same time */
	for (size_t looked = 0; i-- > 0 && host->wait_end_ns[i] >= from_ns && looked < 64;
	     looked++) {
		const struct ws_span *span = &host->waits.span[i];

		if (span->end_ns >= from_ns && span->end_ns <= call_ns)
			ns = span->end_ns - span->start_ns > ns ? span->end_ns - span->start_ns
			                                        : ns;
	}
	return ns;
}
