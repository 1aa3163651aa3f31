/* Rules about the run itself: A2 steps, A11 precision, A14 search for algorithms, A32 clocks. */

#include "report/advice/advice.h"
#include "report/analysis/energy.h"
#include "report/base/names.h"

/* --- A2 unsteady steps ---------------------------------------------------------------------- */

/* "3 (41.2 ms), 7 (…)": the outliers. are_first: only the first steps are outliers. */
static const char *outliers(struct ws_advice *a, int phase, const struct ws_stat *stat,
                            bool *are_first)
{
	enum { MOST = 5 };
	const char *text = "";
	size_t n = 0, seen = 0;

	*are_first = true;
	for (size_t i = 0; i < a->times->nmeasured; i++) {
		uint32_t s = a->times->measured[i];
		int64_t ns = ws_step_time(a->m, a->times, s, phase,
		                          phase == WS_PHASES ? WS_MEASURE_STEP : WS_MEASURE_WALL);

		seen += ns >= 0;
		if (ns < 0 || !ws_stat_is_outlier(stat, ns))
			continue;
		*are_first &= ++n == seen;
		if (n <= MOST)
			text = ws_advice_text(a, "%s%s%u (%s)", text, n > 1 ? ", " : "",
			                      (unsigned)a->m->steps[s].number,
			                      ws_say_time(a->texts, (double)ns));
	}
	*are_first &= 2 * n < seen;
	return n > MOST ? ws_advice_text(a, "%s and %zu more", text, n - MOST) : text;
}

/* A range that all steps which stand out have, no other step has, and that takes half of what they
 * take more: its path, WS_NONE. Of several the longest. */
static uint32_t what_they_alone_have(struct ws_advice *a, const struct ws_stat *stat)
{
	enum { NOT_COUNTED, OTHER, STANDS_OUT } * kind;
	struct ws_joined_rows *rows = a->whole->rows;
	struct of_path {
		int64_t ns;
		uint32_t last, steps; /* last: step, plus 1 */
		bool is_elsewhere;
	} * of;
	double more_ns = 0;
	uint32_t n = 0, found = WS_NONE;

	WS_NEW(&a->arena, kind, a->m->nsteps);
	WS_NEW(&a->arena, of, a->m->ranges.npaths);
	for (size_t i = 0; i < a->times->nmeasured; i++) {
		const uint32_t s = a->times->measured[i];
		const int64_t ns = ws_step_time(a->m, a->times, s, WS_PHASES, WS_MEASURE_STEP);
		const bool stands_out = ns >= 0 && ws_stat_is_outlier(stat, ns);

		kind[s] = stands_out ? STANDS_OUT : OTHER;
		more_ns += stands_out ? (double)ns - stat->median : 0;
		n += stands_out;
	}
	WS_EACH_RANGE(rows, i, r) {
		const uint32_t s = ws_joined_range_step(rows, r);
		struct of_path *p = &of[r->context->path];

		if (s == WS_NONE || r->is_step || kind[s] == NOT_COUNTED)
			continue;
		p->is_elsewhere |= kind[s] == OTHER;
		p->ns += r->end_ns - r->start_ns;
		p->steps += p->last != s + 1;
		p->last = s + 1;
	}
	for (uint32_t i = 0; i < a->m->ranges.npaths; i++)
		if (!of[i].is_elsewhere && of[i].steps == n && n &&
		    2 * (double)of[i].ns > more_ns && (found == WS_NONE || of[i].ns > of[found].ns))
			found = i;
	return found;
}

void ws_rule_cold(struct ws_advice *a)
{
	if (a->times->nmeasured < WS_STAT_MIN_SAMPLES) {
		a->found->not_judged[WS_RULE_cold] = "there are fewer than 3 measured steps";
		return;
	}
	for (int phase = WS_PHASES; phase >= 0; phase--) {
		struct ws_stat stat;

		/* the remainder is not a phase of its own, and short */
		if (phase == WS_PHASE_OTHER || !ws_step_phase_present(a->times, phase))
			continue;
		ws_step_stat(a->m, a->times, phase,
		             phase == WS_PHASES ? WS_MEASURE_STEP : WS_MEASURE_WALL, &stat);
		/* a phase that was shorter once did not slow a step */
		if (phase != WS_PHASES && stat.mean <= stat.median)
			continue;
		if (!(stat.std > WS_STAT_CV_LIMIT * stat.mean) &&
		    !((double)stat.max > WS_STAT_OUTLIER_TIMES * stat.median))
			continue;

		bool are_first;
		const char *which = outliers(a, phase, &stat, &are_first);
		const uint32_t alone =
		        phase == WS_PHASES ? what_they_alone_have(a, &stat) : WS_NONE;
		bool has_warm_up = false;

		for (size_t s = 0; s < a->m->nsteps; s++)
			has_warm_up |= a->m->steps[s].warm_up;
		if (alone != WS_NONE)
			a->found->alone = ws_advice_name(a, a->m->ranges.paths[alone].name);
		ws_advice_add(
		        a, WS_RULE_cold, WS_SEVERITY_STRONG, NAN, NULL,
		        phase == WS_PHASES ? "step" : ws_phase_name((enum ws_phase)phase),
		        ws_advice_text(a,
		                       "%s%smean %s, median %s, standard deviation %s over %s "
		                       "steps%s. Far from the others: step %s",
		                       phase == WS_PHASES ? ""
		                                          : ws_phase_name((enum ws_phase)phase),
		                       phase == WS_PHASES ? "" : " on the host: ",
		                       ws_say_time(a->texts, stat.mean),
		                       ws_say_time(a->texts, phase == WS_PHASES ? a->found->step_ns
		                                                                : stat.median),
		                       ws_say_time(a->texts, stat.std),
		                       ws_say_number(a->texts, (double)stat.n),
		                       has_warm_up ? "" : ", none of warm-up", which),
		        alone != WS_NONE
		                ? ws_advice_text(a,
		                                 "Compare steps of one kind: only those that stand "
		                                 "out have %s. Report the median",
		                                 a->found->alone)
		                : ws_advice_text(
		                          a,
		                          are_first
		                                  ? "Run more full warm-up steps (forward and "
		                                    "backward), and report the median"
		                                  : "Report the median. Steps after the first ones "
		                                    "stand out, so more warm-up does not help"));
	}
}

/* --- A11 precision --------------------------------------------------------------------------- */

static bool fact_is(const struct ws_advice *a, const char *key, const char *value)
{
	return ws_name_is(ws_model_fact(a->m, key), value);
}

static void add_fact(struct ws_advice *a, const char *scope, const char *evidence,
                     const char *advice)
{
	ws_advice_add(a, WS_RULE_precision, WS_SEVERITY_STRONG, NAN, NULL, scope, evidence, advice);
}

static bool sums_in_fp16(const struct ws_advice *a, size_t config)
{
	/* h884gemm, h1688gemm and hgemm accumulate in half precision, and so do names with f16
	 * only */
	static const char *const patterns[] = {"*_h884*gemm*", "*_h1688*gemm*", "*_h16816*gemm*",
	                                       "*_hgemm_*", "*gemm_f16f16_f16f16_f16_*"};

	return WS_NAME_IS_ONE_OF(a->m->texts[a->m->configs[config].name], patterns);
}

void ws_rule_precision(struct ws_advice *a)
{
	int64_t skipped = ws_fact_number(a->m, "skipped_steps"), half_ns = 0, geforce_ns = 0;
	const struct ws_bytes scale = ws_model_fact(a->m, "loss_scale"),
	                      dtype = ws_model_fact(a->m, "dtype");
	char text[32];

	if (scale.len && scale.len < sizeof(text)) {
		memcpy(text, scale.ptr, scale.len);
		text[scale.len] = '\0';
		if (!strcmp(text, "none") && ws_name_matches(ws_bytes_of("*fp16*"), dtype) &&
		    !ws_name_matches(ws_bytes_of("*bf16*"), dtype))
			add_fact(a, "loss scale",
			         ws_advice_text(a,
			                        "dtype %.*s with loss scale none: gradients under "
			                        "6e-8 are 0",
			                        WS_SHOWN(dtype)),
			         "Scale the loss dynamically");
		if (!strncmp(text, "static:", 7) && strtod(text + 7, NULL) > 0 &&
		    strtod(text + 7, NULL) < 1)
			add_fact(a, "loss scale", ws_advice_text(a, "loss scale %s", text + 7),
			         "A scale under 1 makes gradients smaller: use one over 1, or find "
			         "what overflows");
	}
	if (skipped)
		add_fact(a, "loss scale",
		         ws_advice_text(a,
		                        "%s steps were skipped: their gradients were "
		                        "infinite or not a number",
		                        ws_say_number(a->texts, (double)skipped)),
		         "A few at the start are normal for a dynamic scale. If there are more, "
		         "lower its first value, or check whether the loss diverges");
	if (fact_is(a, "dtype", "fp16") &&
	    (fact_is(a, "optimizer", "adamw") || fact_is(a, "optimizer", "adamw-cs336")))
		add_fact(a, "optimizer",
		         "AdamW with dtype fp16: its epsilon 1e-8 is 0 there, and "
		         "small updates vanish",
		         "Keep weights and optimizer state in fp32");
	for (size_t i = 0; i < a->m->nconfigs; i++)
		if (a->config_ns[i] && sums_in_fp16(a, i)) {
			half_ns += a->config_ns[i];
			geforce_ns += ws_advice_is_geforce(a, a->m->configs[i].device)
			                      ? a->config_ns[i]
			                      : 0;
		}
	if (ws_advice_share(a, half_ns) >= WS_A3_SHARE_PERCENT)
		ws_advice_add(
		        a, WS_RULE_precision, WS_SEVERITY_HINT, NAN, NULL,
		        "matrix products that sum in fp16", ws_advice_top_kernels(a, sums_in_fp16),
		        2 * geforce_ns > half_ns
		                ? "Check the results. If they are exact enough, sum in fp16: on "
		                  "this GPU sums in fp32 run at half the rate"
		                : "Ask for fp32 as compute type");
	if (!a->found->fired[WS_RULE_precision] && !ws_model_fact(a->m, "dtype").len)
		a->found->not_judged[WS_RULE_precision] =
		        "the program does not say its precision (workload.dtype, "
		        "workload.loss_scale); nothing in kernel names speaks against it";
}

/* --- A14 search for algorithms ---------------------------------------------------------------- */

void ws_rule_autotune(struct ws_advice *a)
{
	uint32_t example = 0;
	int64_t ns = 0;

	/* a filter may exclude the first step */
	if (!a->m->nsteps || a->times->nmeasured < 2) {
		a->found->not_judged[WS_RULE_autotune] = "there are fewer than 2 measured steps";
		return;
	}

	/* Convolution kernels of the first step that no other step ran; by name. */
	uint64_t n = 0;
	size_t last = 0;

	for (uint32_t name = 0; name < a->m->ntexts; name++) {
		const struct ws_tried *tried = &a->tried[name];

		if (!tried->last || tried->later)
			continue;
		ns += tried->gpu_ns;
		n++;
		if (tried->last > last)
			example = name;
		last = tried->last > last ? tried->last : last;
	}
	if (!n)
		return;
	int warm = a->m->steps[0].warm_up;
	ws_advice_add(a, WS_RULE_autotune, warm ? WS_SEVERITY_HINT : WS_SEVERITY_STRONG, NAN, NULL,
	              warm ? "first warm-up step" : "first step",
	              ws_advice_text(a,
	                             "%" PRIu64 " convolution kernel%s (%s) ran only in it: %s%s",
	                             n, WS_PLURAL(n), ws_say_time(a->texts, (double)ns),
	                             ws_advice_name(a, example), n > 1 ? " and others" : ""),
	              warm ? "Nothing to do: a search like cudnn.benchmark's, "
	                     "in warm-up and so in no statistic"
	                   : NULL);
}

/* --- A32 reduced clocks ---------------------------------------------------------------------- */

void ws_rule_throttled(struct ws_advice *a)
{
	const struct ws_device_energy *all = ws_device_energy(a->m, a->whole);
	size_t judged = 0, shown = 0;

	for (size_t d = 0; d < a->m->ndevices; d++) {
		const struct ws_energy *e = &all[d].steps;
		bool is_more = false;

		if (!ws_energy_is_known(e) || isnan(ws_time_mean(e->throttled)))
			continue;
		judged++;
		if (ws_time_mean(e->throttled) < WS_A32_PERCENT ||
		    !ws_advice_has_room(a, WS_RULE_throttled, &shown))
			continue;
		for (int r = WS_THROTTLE_hw_slowdown; r <= WS_THROTTLE_REASONS; r++)
			is_more |= ws_time_mean(e->reason[r]) >= WS_A32_PERCENT;
		ws_advice_add(
		        a, WS_RULE_throttled, is_more ? WS_SEVERITY_STRONG : WS_SEVERITY_WEAK, NAN,
		        NULL,
		        ws_advice_text(a, "device %llu", (unsigned long long)a->m->devices[d].id),
		        ws_advice_text(
		                a, "Clocks were reduced for %s of %s: %s%s",
		                ws_say_percent(a->texts, ws_time_mean(e->throttled)),
		                a->found->has_steps ? "the measured steps" : "the time",
		                ws_throttle_shares(e, a->texts),
		                e->sm_min_mhz < 0
		                        ? ""
		                        : ws_advice_text(
		                                  a, ". Mean SM clock %.0f MHz, lowest %lld MHz",
		                                  ws_time_mean(e->sm_mhz),
		                                  (long long)e->sm_min_mhz)),
		        is_more ? NULL
		                : "Raise the power limit (nvidia-smi -pl) if the GPU allows, or "
		                  "accept it: the GPU is as fast as its power lets it. Compare "
		                  "only runs with the same clocks");
	}
	if (!judged)
		a->found->not_judged[WS_RULE_throttled] =
		        "throttle reasons of the GPU were not sampled, or fewer than five times";
}
