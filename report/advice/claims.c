/* Findings, their kernels, and their gains: no kernel is in two gains. */

#include "report/advice/advice.h"

/* --- adding ---------------------------------------------------------------------------------- */

/* A finding that gains less than one per cent of the step is weak. gain_ns: per step. */
static enum ws_severity severity_of(const struct ws_advice *a, enum ws_severity severity,
                                    double gain_ns)
{
	return severity == WS_SEVERITY_STRONG && !isnan(gain_ns) &&
	                       100 * gain_ns <
	                               WS_WAIT_PERCENT * (a->found->step_ns - a->found->setup_ns)
	               ? WS_SEVERITY_WEAK
	               : severity;
}

static void add_claimed(struct ws_advice *a, struct ws_finding finding, struct ws_claim claim)
{
	struct ws_findings *found = a->found;

	WS_GROW(found->finding, found->n + 1, a->capacity);
	WS_GROW(a->claim, found->n + 1, a->claim_capacity);
	a->claim[found->n] = claim;
	found->fired[finding.rule] = 1;
	found->finding[found->n++] = finding;
}

double ws_advice_replay_gain(const struct ws_advice *a, const struct ws_whatif *change)
{
	const struct ws_idle *idle = a->idle;
	const double gain_ns = a->replayed->recorded_ns - ws_replay_step_ns(a->replay, change);
	const double all_ns = (double)idle->all.ns[WS_USE_RECORDING];
	double waits_ns = 0, recording_ns = 0; /* of the waits that the change removes */

	for (int use = 0; use < WS_USES && !change->graph_path; use++)
		if (ws_use_is_of_host((enum ws_use)use)) {
			waits_ns += change->removed[use] * (double)idle->all.ns[use];
			recording_ns += change->removed[use] * (double)idle->all.recording_ns[use];
		}
	if (change->graph_path) {
		waits_ns = (double)idle->path_gap_ns[WS_USE_LAUNCH][change->graph_path - 1];
		recording_ns = (double)idle->path_gap_ns[WS_USE_RECORDING][change->graph_path - 1];
	}
	if (!(waits_ns > 0) || !(all_ns > 0))
		return gain_ns;
	/* what recording adds to a wait is no gain of the program; nor is that in other waits, if
	 * they vanish as well */
	const double n = (double)idle->nworked,
	             others_ns = fmax(gain_ns - (waits_ns + recording_ns) / n, 0);
	return fmax(gain_ns - recording_ns / n - fmin((all_ns - recording_ns) / n, others_ns), 0);
}

void ws_advice_add(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                   double gain_ns, const struct ws_whatif *change, const char *scope,
                   const char *evidence, const char *advice)
{
	const bool is_replayed = change && !a->replayed->obstacle;

	gain_ns = is_replayed ? fmin(ws_advice_replay_gain(a, change), gain_ns) : gain_ns;
	add_claimed(a,
	            (struct ws_finding){rule, severity_of(a, severity, gain_ns), gain_ns,
	                                is_replayed, NAN, scope, evidence, advice},
	            (struct ws_claim){.rate = NULL});
}

static double rate_of_work(const struct ws_advice *a, const struct ws_advice_cell *cell,
                           const struct ws_claim *claim)
{
	return cell->work != WS_NONE && &a->work[cell->work] == claim->work ? claim->value : -1;
}

struct ws_claim ws_claim_work(const struct ws_work_group *g, double gain_ns)
{
	return (struct ws_claim){.rate = rate_of_work,
	                         .work = g,
	                         .value = gain_ns / (double)g->gpu_ns};
}

static double rate_of_configs(const struct ws_advice *a, const struct ws_advice_cell *cell,
                              const struct ws_claim *claim)
{
	return claim->covers(a, cell->config) ? claim->value : -1;
}

/* --- sums over kernels ------------------------------------------------------------------------ */

/* Sums of a claim over kernels that no finding has yet. */
struct sum {
	double gain_ns; /* per step; NaN = unknown for all of them */
	int64_t all_ns, taken_ns;
};

/* owner: by cell: its finding plus 1; NULL = no finding has cells yet. */
static struct sum sum_claim(struct ws_advice *a, const struct ws_claim *claim,
                            const uint32_t *owner)
{
	struct sum s = {NAN, 0, 0};
	double *gain, *cell_rate;

	WS_NEW(&a->arena, gain, a->m->ndevices);
	WS_NEW(&a->arena, cell_rate, a->ncells);
	for (size_t d = 0; d < a->m->ndevices; d++)
		gain[d] = NAN;
	for (size_t i = 0; i < a->ncells; i++) {
		const struct ws_advice_cell *cell = &a->cell[i];
		const double rate = claim->rate(a, cell, claim);
		double *of_device = &gain[a->m->configs[cell->config].device];

		cell_rate[i] = NAN;
		if (rate < 0)
			continue;
		s.all_ns += cell->ns;
		if (owner && owner[i]) {
			s.taken_ns += cell->ns;
		} else if (!isnan(rate)) {
			cell_rate[i] = fmin(rate, 1);
			*of_device = (isnan(*of_device) ? 0 : *of_device) +
			             cell_rate[i] * (double)cell->ns;
		}
	}

	/* Upper bound of the gain, if time saved in kernels were time saved in the step: devices
	 * work in parallel, so the step gains at most the gain of one device, and at most its
	 * computing time.
	 */
	for (size_t d = 0; d < a->m->ndevices; d++) {
		if (isnan(gain[d]))
			continue;
		if (d < a->idle->ndevices && a->idle->device[d].ns[WS_USE_COMPUTE] > 0)
			gain[d] = fmin(gain[d], (double)a->idle->device[d].ns[WS_USE_COMPUTE]);
		s.gain_ns = isnan(s.gain_ns) ? gain[d] : fmax(s.gain_ns, gain[d]);
	}
	if (!isnan(s.gain_ns) && !a->replayed->obstacle) {
		/* The same by replay. cell_rate: by cell, NaN: unchanged. */

		double *dur_ns = ws_arena_array(&a->arena, a->replayed->npieces, sizeof(*dur_ns));
		for (size_t i = 0; i < a->replayed->npieces; i++) {
			const uint32_t cell = a->cell_of[i];
			const bool stays = cell == WS_NONE || isnan(cell_rate[cell]) ||
			                   a->replayed->pieces[i].is_trial;
			const double rate = stays ? 0 : cell_rate[cell];

			dur_ns[i] = (1 - rate) * (double)a->replayed->pieces[i].dur_ns;
		}
		s.gain_ns = ws_advice_replay_gain(a, &(struct ws_whatif){.dur_ns = dur_ns});
	}
	return s;
}

/* The line that calls most of a claim's kernels, as the end of a sentence; "" if unknown. */
static const char *line_of_claim(struct ws_advice *a, const struct ws_claim *claim)
{
	struct ws_arena temp = {0};
	uint32_t best = 0, others = 0;

	int64_t *ns = ws_arena_array(&temp, a->m->ntexts, sizeof(*ns));
	for (size_t i = 0; i < a->ncells; i++) {
		const struct ws_advice_cell *cell = &a->cell[i];

		if (!cell->source || !cell->ns || claim->rate(a, cell, claim) < 0)
			continue;
		others += !ns[cell->source];
		ns[cell->source] += cell->ns;
		if (!best || ns[cell->source] > ns[best])
			best = cell->source;
	}
	ws_arena_free(&temp);
	if (!best)
		return "";
	return ws_advice_text(a, ". Called at %.*s%s", WS_SHOWN(a->m->texts[best]),
	                      others > 1 ? ws_advice_text(a, " (+%u)", others - 1) : "");
}

void ws_advice_add_claim(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                         struct ws_claim claim, const char *scope, const char *evidence,
                         const char *advice)
{
	if (!claim.rate)
		claim.rate = rate_of_configs;

	const struct sum s = sum_claim(a, &claim, NULL);

	add_claimed(a,
	            (struct ws_finding){
	                    rule, severity_of(a, severity, s.gain_ns), s.gain_ns,
	                    !a->replayed->obstacle && !isnan(s.gain_ns) && !claim.is_bound,
	                    (double)s.all_ns, scope,
	                    ws_advice_text(a, "%s%s", evidence, line_of_claim(a, &claim)), advice},
	            claim);
}

void ws_advice_add_kernels(struct ws_advice *a, enum ws_rule rule, enum ws_severity severity,
                           struct ws_claim claim, const char *scope, const char *advice)
{
	ws_advice_add_claim(
	        a, rule, severity, claim, scope,
	        ws_advice_text(a, "%s: %s",
	                       ws_advice_kernel_part(a, ws_advice_time_of(a, claim.covers)),
	                       ws_advice_top_kernels(a, claim.covers)),
	        advice);
}

double ws_finding_whole_ns(const struct ws_findings *all, const struct ws_finding *f)
{
	/* a replay may save time in a gap that also contains start-up */
	return f->gain_ns < all->step_ns - all->setup_ns ? all->step_ns - all->setup_ns
	                                                 : all->step_ns;
}

const char *ws_finding_gain(struct ws_arena *texts, const struct ws_findings *all,
                            const struct ws_finding *f)
{
	const char *each = all->has_steps ? " per step" : "";
	const double now_ns = ws_finding_whole_ns(all, f);

	if (!(f->gain_ns > 0) || !(all->step_ns > 0))
		return "";
	if (f->is_replayed)
		return ws_arena_format(texts, "%s → %s%s%s", ws_say_time(texts, now_ns),
		                       ws_say_time(texts, now_ns - f->gain_ns), each,
		                       now_ns < all->step_ns ? ", start-up left out" : "");
	return ws_arena_format(texts, "at most %s%s",
	                       ws_say_part_of(texts, f->gain_ns, 100 * f->gain_ns / all->step_ns),
	                       each);
}

bool ws_finding_is_small(const struct ws_findings *all, const struct ws_finding *f)
{
	const double most_ns = isnan(f->gain_ns) ? f->kernels_ns : f->gain_ns;

	return !isnan(most_ns) &&
	       (100 * most_ns < WS_WAIT_PERCENT * (all->step_ns - all->setup_ns) ||
	        most_ns < WS_LAUNCH_NOISE_NS);
}

void ws_advice_number_work(struct ws_advice *a)
{
	uint32_t *index = ws_arena_array(&a->arena, a->nwork, sizeof(*index));

	for (size_t i = 0; i < a->nwork; i++)
		index[a->work[i].id] = (uint32_t)i;
	for (size_t i = 0; i < a->ncells; i++)
		if (a->cell[i].work != WS_NONE)
			a->cell[i].work = index[a->cell[i].work];
}

/* --- findings on the same kernels ------------------------------------------------------------- */

struct merger {
	struct ws_advice *a;
	uint32_t *owner; /* by cell: its finding, plus 1 */
	uint32_t *order; /* findings about kernels, those of known gain first */
	uint8_t *goes, *has_guest;
};

static double gain_or_less(const struct ws_finding *f)
{
	return isnan(f->gain_ns) ? -1 : f->gain_ns;
}

static int by_weight(const void *pa, const void *pb, void *arg)
{
	const struct ws_finding *all = arg;
	const struct ws_finding *a = &all[*(const uint32_t *)pa], *b = &all[*(const uint32_t *)pb];

	WS_ORDER_BY(isnan(a->gain_ns) != 0, isnan(b->gain_ns) != 0);
	WS_ORDER_BY(a->severity, b->severity);
	WS_ORDER_BY(gain_or_less(b), gain_or_less(a));
	WS_ORDER_BY(b->kernels_ns, a->kernels_ns);
	WS_ORDER_BY(a->rule, b->rule);
	return (*(const uint32_t *)pa > *(const uint32_t *)pb) -
	       (*(const uint32_t *)pa < *(const uint32_t *)pb);
}

/*
 * Decides whether a finding stays, with the kernels that no other finding has. It becomes an
 * alternative if over half of its kernels or of its gain belongs to another finding. A strong
 * finding of unknown gain stays.
 */
static void settle(struct merger *m, uint32_t at)
{
	struct ws_advice *a = m->a;
	struct ws_finding *f = &a->found->finding[at];
	const struct ws_claim *claim = &a->claim[at];
	const struct sum s = sum_claim(a, claim, m->owner);
	const double left_ns = s.gain_ns;
	const bool is_known = !isnan(f->gain_ns);

	if ((is_known || f->severity != WS_SEVERITY_STRONG) && s.taken_ns &&
	    (2 * s.taken_ns > s.all_ns || (is_known && !(2 * left_ns >= f->gain_ns)))) {
		/* The host is the finding that has most of the claim's kernels. */
		uint32_t host = WS_NONE;

		int64_t *ns = ws_arena_array(&a->arena, a->found->n, sizeof(*ns));
		for (size_t i = 0; i < a->ncells; i++)
			if (m->owner[i] && !(claim->rate(a, &a->cell[i], claim) < 0))
				ns[m->owner[i] - 1] += a->cell[i].ns;
		for (uint32_t i = 0; i < a->found->n; i++)
			if (ns[i] && (host == WS_NONE || ns[i] > ns[host]))
				host = i;
		m->goes[at] = 1;

		/* one alternative is shown, with the host's own advice */
		struct ws_finding *to = &a->found->finding[host];
		const char *text = to->advice ? to->advice : ws_rule_defs[to->rule].advice;
		const size_t len = strlen(text);

		if (!m->has_guest[host]++) {
			/* … and the first sentence of the finding's */
			const char *own = f->advice ? f->advice : ws_rule_defs[f->rule].advice;
			const char *end = strstr(own, ". ");
			size_t n = end ? (size_t)(end - own) : strlen(own);

			while (n && own[n - 1] == '.')
				n--;
			to->advice = ws_advice_text(a, "%.*s. Alternatively: %.*s",
			                            (int)(len - (len && text[len - 1] == '.')),
			                            text, (int)n, own);
		}
		return;
	}
	if (s.taken_ns && is_known) {
		f->gain_ns = left_ns;
		f->severity = severity_of(a, f->severity, s.gain_ns);
		f->evidence = ws_advice_text(a, "%s. The gain leaves out kernels of other findings",
		                             f->evidence ? f->evidence : "");
	}
	for (size_t i = 0; i < a->ncells; i++)
		if (!m->owner[i] && !(claim->rate(a, &a->cell[i], claim) < 0))
			m->owner[i] = at + 1;
}

void ws_advice_merge(struct ws_advice *a)
{
	struct ws_findings *all = a->found;
	struct merger m = {.a = a};
	size_t n = 0;

	WS_NEW(&a->arena, m.owner, a->ncells);
	WS_NEW(&a->arena, m.order, all->n);
	WS_NEW(&a->arena, m.goes, all->n);
	WS_NEW(&a->arena, m.has_guest, all->n);
	for (uint32_t i = 0; i < all->n; i++)
		if (a->claim[i].rate)
			m.order[n++] = i;
	if (n)
		ws_sort_by(m.order, n, sizeof(*m.order), by_weight, all->finding);
	for (size_t i = 0; i < n; i++)
		settle(&m, m.order[i]);
	n = 0;
	for (size_t i = 0; i < all->n; i++)
		if (m.goes[i])
			all->merged[all->finding[i].rule]++;
		else
			all->finding[n++] = all->finding[i];
	all->n = n;
}
