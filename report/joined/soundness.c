#include "report/joined/rows.h"

#include "report/model/load.h"

/* Dependent kernels of one stream may overlap: the next one begins while the last blocks of this
 * one end. In real profiles overlaps were at most 13 us. */
#define OVERLAP_NS 20000
/* A record is far away if its distance is over this, … */
#define FAR_NS          (INT64_C(3600) * 1000000000)
#define FAR_TIMES       1000 /* … over this many times the span of the others, … */
#define FAR_PERCENT     10   /* … and if fewer than this share of the records are there. */
#define EQUAL_WORK_BACK 16   /* largest distance between equal copies in the list */
#define CLOCK_NS        1000 /* older profiles round times to microseconds */
#define MOVE_FROM       10   /* minimum number of kernels to correct a clock */
#define COPY_NS         1500 /* shorter calls copy or fill 0 bytes */

enum ws_launch_role ws_launch_role_of(struct ws_bytes name)
{
	return ws_name_has(name, "LaunchKernel") || ws_name_has(name, "GraphLaunch") ||
	                       ws_name_has(name, "LaunchCooperativeKernel")
	               ? WS_LAUNCHES_KERNELS
	       : ws_name_has(name, "Memcpy") ? WS_LAUNCHES_COPY
	       : ws_name_has(name, "Memset") ? WS_LAUNCHES_FILL
	                                     : WS_LAUNCHES_NOTHING;
}

bool ws_call_begins_capture(struct ws_bytes name)
{
	return ws_name_has(name, "StreamBeginCapture");
}

bool ws_call_ends_capture(struct ws_bytes name)
{
	return ws_name_has(name, "StreamEndCapture");
}

/* --- rows in order ---------------------------------------------------------------------- */

void ws_judged_streams_begin(struct ws_judged_streams *s, const struct ws_model *m,
                             struct ws_arena *arena)
{
	struct ws_strtab streams = {0};

	WS_NEW(arena, s->of_config, m->nconfigs);
	WS_NEW(arena, s->last, m->nconfigs);
	for (size_t i = 0; i < m->nconfigs; i++) {
		const struct ws_config *c = &m->configs[i];
		const uint64_t key[] = {c->process, c->device, c->stream};

		s->of_config[i] = (uint32_t)(ws_strtab_add(&streams, key, sizeof(key)) - 1);
		/* kernels of several threads of the host run side by side */
		s->last[s->of_config[i]].is_of_host =
		        c->device < m->ndevices &&
		        m->devices[c->device].kind == WS_DEVICE_CPU_REFERENCE;
	}
	ws_strtab_free(&streams);
}

bool ws_judged_streams_has(const struct ws_judged_streams *s, const struct ws_model *m,
                           const struct ws_pass_kernel *k)
{
	const struct ws_judged_kernel *last = &s->last[s->of_config[k->config]];

	return last->is_known && last->start_ns == k->start_ns && k->timed &&
	       last->end_ns == k->start_ns + k->dur_ns && last->correlation == k->correlation &&
	       (k->config == last->config ||
	        m->configs[k->config].name == m->configs[last->config].name);
}

/* Kernels of one launch belong to a graph, whose branches run side by side. */
bool ws_judged_streams_add(struct ws_judged_streams *s, const struct ws_pass_kernel *k,
                           uint32_t step, size_t row, struct ws_judged_kernel *overrun)
{
	struct ws_judged_kernel *last = &s->last[s->of_config[k->config]];
	const bool is_of_host = last->is_of_host;
	const bool overruns = last->is_known && !is_of_host &&
	                      last->end_ns - k->start_ns > OVERLAP_NS &&
	                      !(k->correlation && k->correlation == last->correlation);

	if (!k->timed || !k->config)
		return false;
	if (overruns)
		*overrun = *last;
	*last = (struct ws_judged_kernel){.start_ns = k->start_ns,
	                                  .end_ns = k->start_ns + k->dur_ns,
	                                  .correlation = k->correlation,
	                                  .row = row,
	                                  .config = k->config,
	                                  .step = step,
	                                  .is_known = true,
	                                  .is_of_host = is_of_host};
	return overruns;
}

void ws_judge_begin(struct ws_judge *j)
{
	const struct ws_model *m = j->m;

	ws_judged_streams_begin(&j->streams, m, &j->arena);
	WS_NEW(&j->arena, j->has_work, j->rows->ncalls / 64 + 1);
	WS_NEW(&j->arena, j->before, m->ndevices);
	WS_NEW(&j->arena, j->timed, m->ndevices);
	WS_NEW(&j->arena, j->lead_ns, m->ndevices);
	WS_NEW(&j->arena, j->spoilt, m->nsteps);
}

static void spoil_step(struct ws_judge *j, uint32_t step)
{
	if (step != WS_NONE)
		j->spoilt[step] = true;
}

static void note_first(struct ws_broken_law *broken, int64_t start_ns, uint32_t name)
{
	if (!ws_broken_count(broken) || start_ns < broken->first_ns) {
		broken->first_ns = start_ns;
		broken->first = name;
	}
}

static void note_most(struct ws_broken_law *broken, int64_t ns)
{
	broken->most_ns = ns > broken->most_ns ? ns : broken->most_ns;
}

static void note_kernel(struct ws_broken_law *broken, const struct ws_model *m, uint32_t config,
                        int64_t start_ns, int64_t ns)
{
	note_first(broken, start_ns, m->configs[config].name);
	note_most(broken, ns);
	broken->kernels++;
}

bool ws_judge_counts(struct ws_judge *j, const struct ws_pass_kernel *k)
{
	if (!ws_judged_streams_has(&j->streams, j->m, k))
		return true;
	note_kernel(&j->m->soundness.broken[WS_LAW_ONCE], j->m, k->config, k->start_ns, 0);
	return false;
}

static void mark_call(struct ws_judge *j, uint32_t call)
{
	if (call != WS_NONE)
		j->has_work[call / 64] |= UINT64_C(1) << call % 64;
}

static void compare_with_launch(struct ws_judge *j, const struct ws_joined_call *call,
                                const struct ws_joined_kernel *k)
{
	const uint32_t device = j->m->configs[k->kind->config].device;
	const int64_t lead_ns = call->start_ns - k->start_ns;

	j->timed[device]++;
	if (lead_ns <= CLOCK_NS)
		return;
	j->before[device]++;
	j->lead_ns[device] = lead_ns > j->lead_ns[device] ? lead_ns : j->lead_ns[device];
	note_kernel(&j->m->soundness.broken[WS_LAW_BEFORE_LAUNCH], j->m, k->kind->config,
	            k->start_ns, lead_ns);
}

size_t ws_judge_kernel(struct ws_judge *j, const struct ws_pass_kernel *from,
                       const struct ws_joined_call *call, const struct ws_joined_kernel *k,
                       size_t row)
{
	struct ws_judged_kernel overrun;

	mark_call(j, k->call);
	if (from->timed && call)
		compare_with_launch(j, call, k);
	if (!ws_judged_streams_add(&j->streams, from, k->step, row, &overrun))
		return SIZE_MAX;
	note_kernel(&j->m->soundness.broken[WS_LAW_ONE_AT_A_TIME], j->m, overrun.config,
	            overrun.start_ns, overrun.end_ns - from->start_ns);
	spoil_step(j, overrun.step);
	return overrun.row;
}

/* --- copies and fills ------------------------------------------------------------------------ */

void ws_judge_drop_equal_work(struct ws_judge *j)
{
	struct ws_broken_law *broken = &j->m->soundness.broken[WS_LAW_ONCE];
	struct ws_work *work = j->m->work;
	size_t n = 0;

	for (size_t i = 0; i < j->m->nwork; i++) {
		bool is_equal = false;

		for (size_t k = 1; k <= EQUAL_WORK_BACK && k <= n && !is_equal; k++) {
			const struct ws_work *a = &work[n - k], *b = &work[i];

			is_equal = a->start_ns == b->start_ns && a->dur_ns == b->dur_ns &&
			           a->bytes == b->bytes && a->stream == b->stream &&
			           a->correlation == b->correlation && a->process == b->process &&
			           a->device == b->device && a->kind == b->kind &&
			           a->direction == b->direction && !a->no_time && !b->no_time;
		}

		if (!is_equal) {
			work[n++] = work[i];
			continue;
		}
		note_first(broken, work[i].start_ns, WS_TEXT_EMPTY);
		broken->copies++;
	}
	j->m->nwork = n;
}

void ws_judge_work(struct ws_judge *j, const struct ws_work *w)
{
	const struct ws_joined_call *call = ws_joined_rows_call(j->rows, w->call);
	struct ws_broken_law *broken = &j->m->soundness.broken[WS_LAW_BEFORE_LAUNCH];

	mark_call(j, w->call);
	if (!call || w->no_time)
		return;
	int64_t lead_ns = call->start_ns - w->start_ns;
	if (lead_ns <= CLOCK_NS)
		return;
	note_first(broken, w->start_ns, WS_TEXT_EMPTY);
	note_most(broken, lead_ns);
	broken->copies++;
	if (w->device < j->m->ndevices && lead_ns > j->lead_ns[w->device])
		j->lead_ns[w->device] = lead_ns;
}

/* --- launches without work ------------------------------------------------------------------- */

struct hole_finder {
	struct ws_judge *j;
	uint8_t *role;                       /* role by text */
	uint8_t *captures;                   /* by text: 1 begins, 2 ends a capture */
	int64_t (*last_ns)[WS_LAUNCH_ROLES]; /* by process: last launch with work */
	bool *is_capturing;                  /* by thread */
	uint32_t *workless;                  /* rows of launches without work */
	size_t nworkless, workless_capacity;
	struct ws_launches launches;
	bool has_launches;
};

/* Is this the only call of its process with its id? A runtime call makes a driver call with the
 * same id, and work is joined to one of the two. */
static bool is_only_one(struct hole_finder *f, uint32_t row, const struct ws_joined_call *call)
{
	struct ws_call_key key = {.correlation = call->correlation,
	                          .process = f->j->m->threads[call->kind->thread].process,
	                          .start_ns = INT64_MAX};

	if (f->j->rows->calls_by_id)
		return true;
	if (!f->has_launches) {
		ws_launches_of_rows(&f->launches, f->j->rows, f->j->m);
		f->has_launches = true;
	}
	if (ws_launches_find(&f->launches, key) != row)
		return false;
	key.start_ns = INT64_MIN;
	return ws_launches_find(&f->launches, key) == row;
}

/* --- records far away ------------------------------------------------------------------------ */

struct far_finder {
	struct ws_judge *j;
	int64_t middle_ns, limit_ns; /* records further from the middle than this are far away */
	struct distances {
		uint64_t n;
		int64_t least_ns, most_ns;
	} of_power[64]; /* by the power of two */
	uint64_t n;
	int64_t begin_ns, end_ns; /* span of the near records */
};

static int64_t distance(const struct far_finder *f, int64_t time_ns)
{
	return time_ns > f->middle_ns ? time_ns - f->middle_ns : f->middle_ns - time_ns;
}

static bool is_far(const struct far_finder *f, int64_t start_ns, int64_t end_ns)
{
	return distance(f, start_ns) > f->limit_ns || distance(f, end_ns) > f->limit_ns;
}

static void look_at_time(struct far_finder *f, int64_t start_ns, int64_t end_ns)
{
	const int64_t start = distance(f, start_ns), end = distance(f, end_ns);
	const int64_t ns = start > end ? start : end;
	struct distances *d = &f->of_power[ns ? 63 - __builtin_clzll((uint64_t)ns) : 0];

	d->least_ns = !d->n || ns < d->least_ns ? ns : d->least_ns;
	d->most_ns = ns > d->most_ns ? ns : d->most_ns;
	d->n++;
	f->n++;
}

static void keep_time(struct far_finder *f, int64_t start_ns, int64_t end_ns)
{
	if (is_far(f, start_ns, end_ns))
		return;
	f->begin_ns = start_ns < f->begin_ns ? start_ns : f->begin_ns;
	f->end_ns = end_ns > f->end_ns ? end_ns : f->end_ns;
}

static void each_time(struct far_finder *f,
                      void (*look)(struct far_finder *f, int64_t start_ns, int64_t end_ns))
{
	struct ws_joined_rows *rows = f->j->rows;
	const struct ws_model *m = f->j->m;

	WS_EACH_KERNEL(rows, i, k)
		if (k->kind->timed)
			look(f, k->start_ns, k->start_ns + k->dur_ns);
	for (size_t i = 0; i < m->nwork; i++)
		if (!m->work[i].no_time)
			look(f, m->work[i].start_ns, m->work[i].start_ns + m->work[i].dur_ns);
	WS_EACH_CALL(rows, i, call)
		look(f, call->start_ns, call->start_ns + call->dur_ns);
	WS_EACH_RANGE(rows, i, range)
		look(f, range->start_ns, range->is_open ? range->start_ns : range->end_ns);
	for (size_t i = 0; i < m->cpu_ops.tree.n; i++)
		look(f, m->cpu_ops.tree.start_ns[i], m->cpu_ops.tree.end_ns[i]);
}

static void note_far(struct far_finder *f, int64_t start_ns, int64_t end_ns, uint32_t name)
{
	struct ws_broken_law *broken = &f->j->m->soundness.broken[WS_LAW_FAR_AWAY];
	const int64_t start = distance(f, start_ns), end = distance(f, end_ns);

	note_first(broken, start > f->limit_ns ? start_ns : end_ns, name);
	note_most(broken, start > end ? start : end);
}

static void find_far(struct ws_judge *j)
{
	struct ws_joined_rows *rows = j->rows;
	const bool is_long = j->m->end_ns - j->m->begin_ns >= FAR_NS;

	struct far_finder f = {.j = j,
	                       .limit_ns = INT64_MAX,
	                       .begin_ns = INT64_MAX,
	                       .end_ns = INT64_MIN};
	uint64_t near = 0;
	int64_t most_ns = 0;
	bool found = false;

	/* a wrong end does not extend the run either */
	if (!is_long && !j->m->soundness.broken[WS_LAW_ONE_AT_A_TIME].kernels)
		return;
	/* rows are nearly in order of time, so the middle row lies among most records */
	f.middle_ns = rows->ncalls ? ws_joined_rows_call(rows, (uint32_t)rows->ncalls / 2)->start_ns
	              : rows->nkernels ? ws_joined_rows_kernel(rows, rows->nkernels / 2)->start_ns
	              : rows->nranges
	                      ? ws_joined_rows_range(rows, (uint32_t)rows->nranges / 2)->start_ns
	                      : j->m->begin_ns;
	each_time(&f, look_at_time);
	/* is there a gap of over FAR_TIMES the span of the near records? */
	for (int power = 0; power < 64 && is_long && !found; power++) {
		const struct distances *d = &f.of_power[power];

		if (!d->n)
			continue;
		found = near && d->least_ns - most_ns > FAR_NS &&
		        d->least_ns / FAR_TIMES > most_ns && 100 * (f.n - near) < FAR_PERCENT * f.n;
		if (found)
			f.limit_ns = most_ns + (d->least_ns - most_ns) / 2;
		near += d->n;
		most_ns = d->most_ns;
	}

	each_time(&f, keep_time);
	if (found) {
		struct ws_model *m = j->m;
		struct ws_broken_law *broken = &m->soundness.broken[WS_LAW_FAR_AWAY];

		WS_EACH_KERNEL(rows, i, k) {
			if (!k->kind->timed || !is_far(&f, k->start_ns, k->start_ns + k->dur_ns))
				continue;
			note_far(&f, k->start_ns, k->start_ns + k->dur_ns,
			         m->configs[k->kind->config].name);
			broken->kernels++;
			spoil_step(j, k->step);
			j->forget_time(j->ctx, i);
		}
		for (size_t i = 0; i < m->nwork; i++) {
			struct ws_work *w = &m->work[i];

			if (w->no_time || !is_far(&f, w->start_ns, w->start_ns + w->dur_ns))
				continue;
			note_far(&f, w->start_ns, w->start_ns + w->dur_ns, WS_TEXT_EMPTY);
			broken->copies++;
			spoil_step(j, w->step);
			w->no_time = true;
			w->dur_ns = 0;
		}
		for (uint32_t i = 0; i < rows->ncalls; i++) {
			const struct ws_joined_call call = *ws_joined_rows_call(rows, i);

			if (!is_far(&f, call.start_ns, call.start_ns + call.dur_ns))
				continue;
			note_far(&f, call.start_ns, call.start_ns + call.dur_ns, call.kind->name);
			broken->calls++;
			spoil_step(j, ws_joined_call_step(rows, m, &call));
		}
		for (uint32_t i = 0; i < rows->nranges; i++) {
			struct ws_joined_range range = *ws_joined_rows_range(rows, i);

			if (range.is_open && range.end_ns > f.end_ns &&
			    range.start_ns <= f.end_ns) {
				range.end_ns = f.end_ns;
				ws_spill_put(&rows->ranges, sizeof(range), i, &range);
			}
			if (!is_far(&f, range.start_ns, range.end_ns))
				continue;
			note_far(&f, range.start_ns, range.end_ns, range.recorded);
			broken->calls++;
		}
		for (uint32_t i = 0; i < m->nsteps; i++)
			if (is_far(&f, m->steps[i].start_ns,
			           m->steps[i].start_ns + m->steps[i].total_ns))
				spoil_step(j, i);
	}
	j->m->begin_ns = f.begin_ns;
	j->m->end_ns = f.end_ns;
	if (found) {
		/* Far records on the clock of a device are not counted as early; their time is
		 * unknown. */
		const struct ws_model *m = j->m;

		j->m->soundness.broken[WS_LAW_BEFORE_LAUNCH] = (struct ws_broken_law){0};
		for (size_t i = 0; i < m->ndevices; i++)
			j->before[i] = j->timed[i] = 0, j->lead_ns[i] = 0;
		for (size_t i = 0; i < m->nwork; i++)
			ws_judge_work(j, &m->work[i]);
		for (size_t i = 0; i < rows->nkernels; i++) {
			const struct ws_joined_kernel k = *ws_joined_rows_kernel(rows, i);
			const struct ws_joined_call *call = ws_joined_rows_call(rows, k.call);

			if (call && k.kind->timed)
				compare_with_launch(j, call, &k);
		}
	}
}

/* --- consequences ---------------------------------------------------------------------------- */

void ws_judge_end(struct ws_judge *j)
{
	struct ws_model *m = j->m;
	struct ws_soundness *s = &m->soundness;
	struct hole_finder f = {.j = j};
	bool shifts = false;

	find_far(j);
	WS_NEW(&j->arena, f.role, m->ntexts);
	WS_NEW(&j->arena, f.captures, m->ntexts);
	WS_NEW(&j->arena, f.last_ns, m->nprocesses);
	WS_NEW(&j->arena, f.is_capturing, m->nthreads);
	for (size_t i = 0; i < m->ntexts; i++) {
		f.role[i] = (uint8_t)ws_launch_role_of(m->texts[i]);
		f.captures[i] = ws_call_begins_capture(m->texts[i]) ? 1
		                : ws_call_ends_capture(m->texts[i]) ? 2
		                                                    : 0;
	}
	for (size_t i = 0; i < m->nprocesses; i++)
		for (int role = 0; role < WS_LAUNCH_ROLES; role++)
			f.last_ns[i][role] = INT64_MIN;
	/* Calls with work determine until when work was recorded; others are judged by that. */
	WS_EACH_CALL(j->rows, i, call) {
		const uint32_t name = call->kind->name, thread = call->kind->thread;
		const uint8_t role = f.role[name];
		int64_t *last_ns;

		if (f.captures[name])
			f.is_capturing[thread] = f.captures[name] == 1;
		if (!role)
			continue;
		s->broken[WS_LAW_LAUNCH_HAS_WORK].judged += role == WS_LAUNCHES_KERNELS;
		if (j->has_work[i / 64] >> i % 64 & 1) {
			last_ns = &f.last_ns[m->threads[thread].process][role];
			*last_ns = call->start_ns > *last_ns ? call->start_ns : *last_ns;
		} else if (f.is_capturing[thread]) {
			s->captured += role == WS_LAUNCHES_KERNELS;
		} else if (call->correlation && !call->kind->failed &&
		           call->start_ns >= m->kept_from_ns &&
		           (role == WS_LAUNCHES_KERNELS || call->dur_ns >= COPY_NS)) {
			WS_GROW(f.workless, f.nworkless + 1, f.workless_capacity);
			f.workless[f.nworkless++] = i;
		}
	}
	for (size_t i = 0; i < f.nworkless; i++) {
		const struct ws_joined_call call = *ws_joined_rows_call(j->rows, f.workless[i]);
		struct ws_broken_law *broken = &m->soundness.broken[WS_LAW_LAUNCH_HAS_WORK];
		const uint32_t process = m->threads[call.kind->thread].process;
		const int64_t last_ns = f.last_ns[process][f.role[call.kind->name]];
		const uint32_t step = ws_joined_call_step(j->rows, m, &call);

		/* A launch without work: it comes before a launch of its kind with work, or
		 * after all of them. */
		if (!is_only_one(&f, f.workless[i], &call) || last_ns == INT64_MIN)
			continue;
		if (call.start_ns > last_ns) {
			if (f.role[call.kind->name] != WS_LAUNCHES_KERNELS)
				continue;
			m->leftovers.launches_behind++;
			if (step != WS_NONE)
				m->steps[step].unfinished = true;
			continue;
		}
		note_first(broken, call.start_ns, call.kind->name);
		broken->calls += f.role[call.kind->name] == WS_LAUNCHES_KERNELS;
		broken->copies += f.role[call.kind->name] != WS_LAUNCHES_KERNELS;
		spoil_step(j, step);
	}
	free(f.workless);
	if (f.has_launches)
		ws_launches_free(&f.launches);
	for (size_t i = 0; i < m->ndevices; i++)
		s->broken[WS_LAW_BEFORE_LAUNCH].judged += j->timed[i];
	s->clock_is_off = ws_broken_count(&s->broken[WS_LAW_BEFORE_LAUNCH]) > 0;

	/* If most work of a device begins before its launch, shift its times by the smallest amount
	 * that corrects this, so that work lies in the steps that launched it, or nearly. */
	for (size_t i = 0; i < m->ndevices && s->clock_is_off; i++) {
		if (2 * j->before[i] <= j->timed[i] || j->timed[i] < MOVE_FROM)
			j->lead_ns[i] = 0;
		shifts |= j->lead_ns[i] > 0;
	}
	for (size_t i = 0; i < j->rows->nkernels && shifts; i++) {
		struct ws_joined_kernel k = *ws_joined_rows_kernel(j->rows, i);

		k.start_ns += j->lead_ns[m->configs[k.kind->config].device];
		ws_spill_put(&j->rows->kernels, sizeof(k), i, &k);
		if (k.kind->timed)
			ws_extend_time(m, k.start_ns, k.start_ns + k.dur_ns);
	}
	for (size_t i = 0; i < m->nwork && shifts; i++)
		if (m->work[i].device < m->ndevices && !m->work[i].no_time)
			m->work[i].start_ns += j->lead_ns[m->work[i].device];

	/* Steps with records that break a law become unmeasured. */
	m->nmeasured = 0;
	for (uint32_t i = 0; i < m->nsteps; i++) {
		m->steps[i].unsound = j->spoilt[i] && !m->steps[i].unfinished;
		m->nmeasured += ws_step_is_measured(m, i);
	}
	if (s->clock_is_off)
		s->obstacle = "work begins before its launch, so the device's clock is off";
	else if (ws_broken_count(&s->broken[WS_LAW_LAUNCH_HAS_WORK]) && !m->nmeasured)
		s->obstacle = "launches have no work in the trace";
	else if (ws_broken_count(&s->broken[WS_LAW_ONE_AT_A_TIME]) && !m->nmeasured)
		s->obstacle = "ends of kernels are not believed";
}

void ws_judge_free(struct ws_judge *j)
{
	ws_arena_free(&j->arena);
}
