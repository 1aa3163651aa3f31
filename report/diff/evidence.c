/*
 * What a referee asks of a recording besides its work and its times: docs/dev/referee.md.
 */

#include "report/model/load.h"
#include "report/analysis/calibration.h"
#include "report/base/ui.h"
#include "report/diff/recording.h"

/* A cache of a device holds at most so many bytes: the largest that is built has 256 MiB. */
#define MOST_CACHED (256.0 * (1 << 20))

struct evidence {
	struct ws_reader *c;
	struct ws_evidence *out;
	int64_t *end_ns;  /* by sample: end of its last kernel */
	uint64_t *stream; /* … and its stream */
	uint32_t last_call;
	uint64_t launches, ranges, ops; /* in samples */
	uint64_t instant;               /* kernels of 0 ns in samples */
	bool has_fractions;             /* some kernel lasts no whole number of microseconds */
};

static void add_place(struct evidence *e, struct ws_work_place *at, bool is_inside,
                      int64_t start_ns)
{
	at->in_samples += is_inside;
	if (!is_inside && e->c->r->has_steps)
		++*(start_ns < e->c->windows->window[0].start_ns ? &at->calls_before
		                                                 : &at->calls_later);
}

/* --- peaks ----------------------------------------------------------------------------------- */

/* Keeps the work that needs the largest share of its time at a peak of the device. */
static void claim_peak(struct evidence *e, double needed_ns, double ns, const char *what,
                       struct ws_bytes name)
{
	struct ws_evidence *out = e->out;

	if (!(ns > 0) || !(needed_ns / ns > out->peak_share))
		return;
	out->peak_share = needed_ns / ns;
	snprintf(out->peak_words, sizeof(out->peak_words),
	         "%s of %.*s need %s at the device's peak, but took %s", what,
	         WS_SHOWN_MOST(name, 60), WS_SHOWN_TIME(needed_ns), WS_SHOWN_TIME(ns));
}

/* The highest rate that a product can reach in FLOP/s; 0 if none is known. A product of fp32 whose
 * unit is not known may run in TF32. */
static double highest_rate(const struct ws_device_peaks *peaks, const struct ws_cost_group *g,
                           struct ws_bytes dtype)
{
	if (!ws_class_is_product(g->class))
		return 0;
	if (ws_name_is(dtype, "fp32"))
		return fmax(peaks->value[WS_PEAK_FP32],
		            g->tensor == WS_TENSOR_NO ? 0 : peaks->value[WS_PEAK_TF32]);
	for (int i = WS_PEAK_TF32; i <= WS_PEAK_FP8; i++)
		if (ws_name_is(dtype, ws_peak_name((enum ws_peak)i)))
			return peaks->value[i];
	return 0;
}

static double claimed_ns(const struct ws_model *m)
{
	const struct ws_bytes value = ws_model_fact(m, WS_CLAIMED_STEP);
	char text[32] = "", *end;

	if (!value.len || value.len >= sizeof(text))
		return NAN;
	memcpy(text, value.ptr, value.len);
	const double ms = strtod(text, &end);

	return *end || !(ms >= 0) || isinf(ms) ? NAN : 1e6 * ms;
}

void ws_reader_find_evidence(struct ws_reader *c)
{
	const struct ws_soundness *s = &c->m->soundness;
	const size_t nsamples = c->r->nsamples;
	struct evidence e = {.c = c, .out = &c->r->evidence, .last_call = WS_NONE};

	WS_NEW(&c->arena, e.end_ns, nsamples);
	WS_NEW(&c->arena, e.stream, nsamples);
	for (size_t i = 0; i < nsamples; i++)
		e.end_ns[i] = INT64_MIN;
	e.out->nplaces = c->r->has_host_ops ? c->m->cpu_ops.nconfigs : c->m->nconfigs;
	e.out->places = ws_xarray(e.out->nplaces + 1, sizeof(*e.out->places));
	if (!c->r->has_host_ops) {
		for (size_t i = 0; i < c->m->nconfigs; i++)
			e.out->places[i].name = ws_reader_text(c, c->m->configs[i].name);
		WS_EACH_KERNEL(c->rows, i, k) {
			const uint32_t sample = ws_reader_sample(c, k->step);

			add_place(&e, &e.out->places[k->kind->config], sample != WS_NONE,
			          k->start_ns);
			e.out->untimed += !k->kind->timed;
			e.has_fractions |= k->dur_ns % 1000 != 0;
			if (sample == WS_NONE)
				continue;
			e.instant += k->kind->timed && !k->dur_ns;
			/* the kernels of a graph have one launch */
			e.launches += k->call == WS_NONE || k->call != e.last_call;
			e.last_call = k->call;
			if (k->start_ns + k->dur_ns > e.end_ns[sample]) {
				e.end_ns[sample] = k->start_ns + k->dur_ns;
				e.stream[sample] = c->m->configs[k->kind->config].stream;
			}
		}
	}

	const struct ws_cpu_ops *ops = &c->m->cpu_ops;
	const struct ws_op_tree *tree = &ops->tree;

	for (size_t i = 0; i < ops->nconfigs && c->r->has_host_ops; i++)
		e.out->places[i].name = ws_reader_text(c, ops->configs[i].name);
	for (uint32_t i = 0; i < tree->n; i++) {
		const bool in_samples =
		        ws_reader_sample(c, ws_step_of_op(c->m, c->rows, i)) != WS_NONE;

		e.ops += in_samples;
		if (c->r->has_host_ops)
			add_place(&e, &e.out->places[ops->config[i]], in_samples,
			          tree->start_ns[i]);
	}

	/* How long after the end of its range the device works for the median step, and on which
	 * stream. */
	double *behind = ws_xarray(c->r->nsamples + 1, sizeof(*behind));

	for (size_t i = 0; i < c->r->nsamples && c->r->has_steps; i++) {
		const struct ws_model_step *step = &c->m->steps[c->windows->window[i].step];
		const int64_t end_ns = step->start_ns + step->total_ns;

		if (e.end_ns[i] <= end_ns)
			continue;
		behind[i] = (double)(e.end_ns[i] - end_ns);
		e.out->behind_stream = e.stream[i];
	}
	e.out->behind_ns = c->r->has_steps ? ws_stat_median(behind, c->r->nsamples) : 0;
	free(behind);

	/*
	 * Algorithms such as Winograd's need fewer FLOPs than a convolution is counted with, and
	 * attention with an unknown mask may. Bytes may be in a cache before an operation, and may
	 * stay in it after. The peaks are those of the table, not those that the program reports.
	 */
	const struct ws_model *m = c->m;
	const struct ws_cost_groups *groups = ws_cost_groups_find(m, &c->sel);
	double *products_ns = ws_xarray(m->ndevices + 1, sizeof(*products_ns)), steps_ns = 0;

	for (size_t i = 0; i < groups->n; i++) {
		const struct ws_cost_group *g = &groups->group[i];
		const struct ws_device_peaks *peaks;

		if (!g->by_name || g->device == WS_NONE || !m->devices[g->device].has_peaks)
			continue;
		peaks = &m->devices[g->device].peaks;
		const double rate = highest_rate(peaks, g, m->texts[g->dtype]),
		             bytes_per_s = peaks->value[WS_PEAK_MEMORY];
		const double bytes = (double)g->bytes - 2 * MOST_CACHED * (double)g->calls;
		const double flops = g->class == WS_TEXT_CONV              ? 0
		                     : g->class != WS_TEXT_FUSED_ATTENTION ? (double)g->flops
		                     : g->needed_unknown                   ? 0
		                                                           : (double)g->needed;
		const double needed_ns = rate > 0 ? 1e9 * flops / rate : 0;

		products_ns[g->device] += needed_ns;
		claim_peak(&e, needed_ns, (double)g->gpu_ns, "The FLOPs", m->texts[g->name]);
		if (bytes_per_s > 0)
			claim_peak(&e, 1e9 * bytes / bytes_per_s, (double)g->gpu_ns, "The bytes",
			           m->texts[g->name]);
	}
	for (size_t i = 0; i < c->r->nsamples; i++)
		steps_ns += (double)c->r->samples[i].step_ns;
	for (size_t d = 0; d < m->ndevices; d++)
		claim_peak(&e, products_ns[d], steps_ns, "The FLOPs",
		           c->r->has_steps ? ws_bytes_of("all steps")
		                           : ws_bytes_of("the whole run"));
	free(products_ns);
	for (size_t i = 0; i < c->r->nranges; i++)
		e.ranges += ws_recording_range(c->r, i)->sample != WS_NONE;
	/* profiles of times in microseconds have kernels of 0 */
	e.out->instant = e.has_fractions ? e.instant : 0;
	/* another tool has other costs, and kernels of the CPU are no launches of CUDA */
	if (ws_model_on_cpu(c->m))
		e.launches = 0;
	if (!ws_meta_value(&c->m->meta, "import.source").len)
		e.out->recorder_ns = (double)(e.launches * (uint64_t)ws_recording_launch_ns(m) +
		                              e.ranges * WS_COST_RANGE_NS + e.ops * WS_COST_OP_NS) /
		                     (double)(nsamples ? nsamples : 1);
	e.out->claims = ws_model_fact(c->m, WS_CLAIMED_STEP).len > 0;
	e.out->claimed_ns = claimed_ns(c->m);
	e.out->holes = ws_broken_count(&s->broken[WS_LAW_LAUNCH_HAS_WORK]);
	e.out->broken_times = ws_broken_count(&s->broken[WS_LAW_BEFORE_LAUNCH]) +
	                      ws_broken_count(&s->broken[WS_LAW_FAR_AWAY]) +
	                      ws_broken_count(&s->broken[WS_LAW_ONE_AT_A_TIME]);
	e.out->is_open = !c->m->file.closed;
}
