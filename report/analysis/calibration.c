#include "report/analysis/calibration.h"

#include "report/base/elementary.h"
#include "report/base/stat.h"
#include "report/base/ui.h"
#include "report/model/load.h"

static double time_of(const struct ws_calibration_step *c)
{
	return fmax((double)(c->end_ns - c->start_ns), 1);
}

/* Steps between those of a pair: after a change from one kind to the other two settle. */
#define BETWEEN 2

/* Of one thread, one of each kind, with few steps between them. */
static bool is_pair(const struct ws_model *m, const struct ws_calibration_step *a,
                    const struct ws_calibration_step *b)
{
	size_t n, between = 0;

	if (a->is_unrecorded == b->is_unrecorded || a->thread != b->thread)
		return 0;
	WS_COUNT_FIRST(n, m->nsteps, m->steps[n].start_ns < a->end_ns);
	for (; n < m->nsteps && m->steps[n].start_ns < b->start_ns; n++)
		between += m->steps[n].thread == a->thread &&
		           m->steps[n].start_ns + m->steps[n].total_ns <= b->start_ns;
	return between <= BETWEEN;
}

/*
 * The interval of the median of n sorted values from the k-th smallest to the k-th greatest, k from
 * 1, lacks it in at most 5 % of cases, whatever the distribution: each value lies above the median
 * as often as below.
 */
static size_t rank_of_interval(size_t n)
{
	double chance = ldexp(1, -(int)n), below = 0;
	size_t k = 0;

	while (2 * (below + chance) <= 0.05 && k < n / 2) {
		below += chance;
		k++;
		chance *= (double)(n - k + 1) / (double)k;
	}
	return k;
}

struct ws_calibration_cost ws_calibration_cost(const struct ws_model *m)
{
	struct ws_calibration_cost cost = {0};
	const struct ws_calibration_step *before = NULL;
	struct ws_arena temp = {0};
	double *time[2], *ratio;

	for (int s = 0; s < 2; s++)
		WS_NEW(&temp, time[s], m->ncalibration + 1);
	WS_NEW(&temp, ratio, m->ncalibration + 1);
	for (size_t i = 0; i < m->ncalibration; i++) {
		const struct ws_calibration_step *c = &m->calibration[i];

		if (c->settles)
			continue;
		if (!before || !is_pair(m, before, c)) {
			before = c;
			continue;
		}
		time[c->is_unrecorded][cost.pairs] = time_of(c);
		time[!c->is_unrecorded][cost.pairs] = time_of(before);
		ratio[cost.pairs] = ws_log(time[0][cost.pairs] / time[1][cost.pairs]);
		cost.pairs++;
		before = NULL;
	}
	if (cost.pairs) {
		cost.recorded_ns = ws_stat_median(time[0], cost.pairs);
		cost.unrecorded_ns = ws_stat_median(time[1], cost.pairs);
		cost.percent = 100 * (cost.recorded_ns / cost.unrecorded_ns - 1);
	}
	if (cost.pairs >= WS_CALIBRATION_PAIRS) {
		(void)ws_stat_median(ratio, cost.pairs); /* sorts them */
		size_t k = rank_of_interval(cost.pairs);
		cost.low = fmin(100 * (ws_exp(ratio[k - 1]) - 1), cost.percent);
		cost.high = fmax(100 * (ws_exp(ratio[cost.pairs - k]) - 1), cost.percent);
		cost.is_known = cost.low > 0 || cost.high < 0;
	}
	ws_arena_free(&temp);
	return cost;
}

bool ws_recording_has_costs(const struct ws_model *m)
{
	return !ws_model_on_cpu(m) && ws_meta_value(&m->meta, "cupti.version").len &&
	       !ws_meta_value(&m->meta, "import.source").len;
}

bool ws_recording_has_all_calls(const struct ws_model *m)
{
	const struct ws_bytes options = ws_meta_value(&m->meta, "record.options");

	return ws_name_has(options, "--api all") || ws_name_has(options, "--api=all");
}

/* May an unrecorded step pay 1 % or more for being in a recorded program? Steps of PyTorch of 2.2
 * ms pay 0.1 to 1.0 %; with NVIDIA's package nvtx 0.4 µs per range, which that takes once a tool is
 * attached (docs/dev/recorder.md, 10). */
static bool pays_unrecorded(const struct ws_model *m, double unrecorded_ns)
{
	return ws_meta_value(&m->meta, "nvtx.python").len ||
	       (m->nop_periods && unrecorded_ns < 1e6);
}

const char *ws_calibration_words(const struct ws_model *m, struct ws_arena *texts)
{
	const struct ws_calibration_cost cost = ws_calibration_cost(m);

	if (!cost.pairs)
		return "";
	const char *steps = ws_arena_format(texts, "steps of %s, %s without",
	                                    ws_say_time(texts, cost.recorded_ns),
	                                    ws_say_time(texts, cost.unrecorded_ns));
	if (cost.pairs < WS_CALIBRATION_PAIRS)
		return ws_arena_format(texts,
		                       "Cannot tell what recording adds from %zu pair%s of %s; %d "
		                       "pairs are needed.",
		                       cost.pairs, WS_PLURAL(cost.pairs), steps,
		                       WS_CALIBRATION_PAIRS);
	if (!cost.is_known)
		return ws_arena_format(texts,
		                       "Cannot tell what recording adds: between %.1f and %.1f %%, "
		                       "as steps vary; %s.",
		                       cost.low, cost.high, steps);
	return ws_arena_format(texts, "Recording adds %s%.1f %% (%.1f to %.1f): %s.",
	                       pays_unrecorded(m, cost.unrecorded_ns) ? "at least " : "",
	                       cost.percent, cost.low, cost.high, steps);
}

size_t ws_calibration_unrecorded(const struct ws_model *m, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->ncalibration; i++)
		if (m->calibration[i].is_unrecorded && !m->calibration[i].settles)
			out[n++] = time_of(&m->calibration[i]);
	return n;
}
