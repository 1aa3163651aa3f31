/*
 * The tables of a diff, and its answer in sentences.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/columns.h"
#include "report/diff/diff.h"
#include "report/base/names.h"
#include "report/analysis/idle.h"
#include "report/tables/tables.h"

/* --- differences in words ------------------------------------------------------------------ */

static const char *noise_words(const struct ws_welch *w)
{
	if (!w->judged)
		return "too few steps to judge noise";
	return w->beyond_noise ? "beyond noise" : "within noise";
}

/* "B takes 0.76 times as long as A (12.300 ms against 16.100 ms), beyond noise" */
static void say_difference(const struct ws_stat *a, const struct ws_stat *b, char *out, size_t size)
{
	struct ws_welch w;

	ws_stat_welch(a, b, &w);
	if (a->mean <= 0 || b->mean <= 0)
		snprintf(out, size, "%.3f ms in A, %.3f ms in B", a->mean / 1e6, b->mean / 1e6);
	else if (w.judged && !w.beyond_noise)
		snprintf(out, size,
		         "no difference beyond noise: B takes %.3g times as long as A "
		         "(%.3f ms against %.3f ms)",
		         b->mean / a->mean, b->mean / 1e6, a->mean / 1e6);
	else
		snprintf(out, size, "B takes %.3g times as long as A (%.3f ms against %.3f ms), %s",
		         b->mean / a->mean, b->mean / 1e6, a->mean / 1e6, noise_words(&w));
}

/* A difference of means in the columns diff_ns .. noise, which two tables have in this order. */
static void set_difference(struct ws_table *t, struct ws_cell *diff, const struct ws_stat *a,
                           const struct ws_stat *b, int by_steps)
{
	struct ws_welch w;

	ws_stat_welch(a, b, &w);
	ws_cell_set_real(&diff[0], w.diff);
	ws_cell_set_real(&diff[1], ws_stat_ratio(b->mean, a->mean));
	if (!by_steps)
		return;
	if (w.judged) {
		ws_cell_set_real(&diff[2], w.low);
		ws_cell_set_real(&diff[3], w.high);
	}
	ws_cell_set_str(t, &diff[4], noise_words(&w));
}
_Static_assert(WS_TC_diff_phases_noise - WS_TC_diff_phases_diff_ns == 4, "order of columns");
_Static_assert(WS_TC_diff_ranges_noise - WS_TC_diff_ranges_diff_ns == 4, "order of columns");

/* --- diff-phases ------------------------------------------------------------------------------ */

static const char *phase_label(int phase)
{
	return phase == WS_PHASES ? "total" : ws_phase_name((enum ws_phase)phase);
}

static void phase_stats(const struct ws_diff *d, int phase, enum ws_measure measure,
                        struct ws_stat stat[2])
{
	for (int i = 0; i < 2; i++)
		ws_step_stat(d->side[i].m, &d->side[i].times, phase, measure, &stat[i]);
}

static void add_phase(const struct ws_diff *d, struct ws_table *t, int phase,
                      enum ws_measure measure)
{
	static const int means[] = {WS_TC_diff_phases_mean_a_ns, WS_TC_diff_phases_mean_b_ns};
	static const int stds[] = {WS_TC_diff_phases_std_a_ns, WS_TC_diff_phases_std_b_ns};
	static const int steps[] = {WS_TC_diff_phases_steps_a, WS_TC_diff_phases_steps_b};
	struct ws_stat stat[2];
	struct ws_cell *row;
	int present = 0;

	for (int i = 0; i < 2; i++)
		present += ws_step_phase_present(&d->side[i].times, phase);
	if (!present)
		return;
	phase_stats(d, phase, measure, stat);
	row = ws_table_row(t);
	ws_cell_set_str(t, &row[WS_TC_diff_phases_phase], phase_label(phase));
	ws_cell_set_str(t, &row[WS_TC_diff_phases_measure], ws_measure_name(measure));
	for (int i = 0; i < 2; i++) {
		ws_cell_set_int(&row[steps[i]], (int64_t)stat[i].n);
		if (!ws_step_phase_present(&d->side[i].times, phase))
			continue;
		ws_cell_set_real(&row[means[i]], stat[i].mean);
		if (stat[i].n > 1)
			ws_cell_set_real(&row[stds[i]], stat[i].std);
	}
	if (present == 2)
		set_difference(t, &row[WS_TC_diff_phases_diff_ns], &stat[0], &stat[1], 1);
}

static void fill_phases(const struct ws_diff *d, struct ws_table *t)
{
	if (!d->by_steps) {
		ws_table_set_not_recorded(t,
		                          "Not both traces have a finished, measured range `step`, "
		                          "so there are no phases to compare.");
		return;
	}
	for (int measure = WS_MEASURE_WALL; measure <= WS_MEASURE_GPU; measure++)
		for (int phase = 0; phase <= WS_PHASES; phase++)
			add_phase(d, t, phase, (enum ws_measure)measure);
	ws_table_note(
	        t, "wall: times of the ranges on their thread; GPU: times of the kernels launched "
	           "in them. The rows of one measure add up to its total.");
}

/* --- diff-ranges ------------------------------------------------------------------------------ */

static void set_dtypes(const struct ws_side *s, struct ws_table *t, struct ws_cell *cell,
                       uint32_t path)
{
	char text[512];
	size_t n = 0;

	for (unsigned bit = 0; bit < s->ndtypes; bit++) {
		struct ws_bytes name = s->m->texts[s->dtype_text[bit]];

		if (!(s->dtypes[path] >> bit & 1) || name.len + 2 > sizeof(text) - n)
			continue;
		if (n) {
			text[n++] = ',';
			text[n++] = ' ';
		}
		memcpy(text + n, name.ptr, name.len);
		n += name.len;
	}
	if (n)
		ws_cell_set_text(t, cell, text, n);
}

static void set_side(const struct ws_diff *d, struct ws_table *t, struct ws_cell *row, int side,
                     size_t item, const struct ws_stat *stat, uint64_t instances)
{
	static const int counts[] = {WS_TC_diff_ranges_instances_a, WS_TC_diff_ranges_instances_b};
	static const int means[] = {WS_TC_diff_ranges_mean_a_ns, WS_TC_diff_ranges_mean_b_ns};
	static const int dtypes[] = {WS_TC_diff_ranges_dtype_a, WS_TC_diff_ranges_dtype_b};
	static const int shares[] = {WS_TC_diff_ranges_share_a, WS_TC_diff_ranges_share_b};
	const struct ws_side *s = &d->side[side];

	ws_cell_set_mean(&row[counts[side]], (int64_t)instances, s->nsamples);
	ws_cell_set_mean(&row[means[side]], stat->sum, stat->n);
	set_dtypes(s, t, &row[dtypes[side]], d->items[item].path[side]);
	ws_cell_set_real(&row[shares[side]], ws_stat_percent((double)stat->sum, (double)s->gpu_ns));
}

static enum ws_status set_path(struct ws_table *t, struct ws_cell *row, const struct ws_model *m,
                               uint32_t path, struct ws_err *err)
{
	char *text;
	size_t len;

	WS_FORWARD(ws_cells_set_path(t, &row[WS_TC_diff_ranges_path], m, path, err));
	WS_FORWARD(ws_diff_path_text(m, path, &text, &len, err));
	ws_cell_set_text(t, &row[WS_TC_diff_ranges_path], text, len);
	free(text);
	return WS_OK;
}

static enum ws_status add_range_row(const struct ws_diff *d, struct ws_table *t, size_t item,
                                    const char *match, enum ws_diff_part part, int only_side,
                                    struct ws_err *err)
{
	const struct ws_item *it = &d->items[item];
	int from = only_side < 0 ? (it->path[0] == WS_NONE) : only_side;
	struct ws_cell *row = ws_table_row(t);
	struct ws_stat stat[2];

	WS_FORWARD(set_path(t, row, d->side[from].m, it->path[from], err));
	ws_cell_set_str(t, &row[WS_TC_diff_ranges_match], match);
	for (int side = 0; side < 2; side++) {
		uint64_t instances;

		if (only_side >= 0 && side != only_side)
			continue;
		WS_FORWARD(ws_diff_item_stat(d, side, item, part, &stat[side], &instances, err));
		set_side(d, t, row, side, item, &stat[side], instances);
	}
	if (only_side < 0)
		set_difference(t, &row[WS_TC_diff_ranges_diff_ns], &stat[0], &stat[1], d->by_steps);
	return WS_OK;
}

static enum ws_status fill_ranges(const struct ws_diff *d, struct ws_table *t, struct ws_err *err)
{
	for (size_t i = 0; i < d->nitems; i++) {
		const uint32_t *n = d->items[i].per_step;

		if (n[0] && n[1])
			WS_FORWARD(add_range_row(d, t, i, "both", WS_DIFF_BOTH, -1, err));
		if (n[0] > n[1])
			WS_FORWARD(add_range_row(d, t, i, "only in A", WS_DIFF_REST, 0, err));
		if (n[1] > n[0])
			WS_FORWARD(add_range_row(d, t, i, "only in B", WS_DIFF_REST, 1, err));
	}
	if (!d->nitems)
		ws_table_set_not_recorded(t, "Neither trace has NVTX ranges to match.");
	ws_table_note(
	        t,
	        "Shares are of the GPU time of all kernels in %s. Rows nest: a range holds the "
	        "time of the ranges in it.",
	        d->by_steps ? "the measured steps" : "the traces");
	return WS_OK;
}

/* --- diff-config ------------------------------------------------------------------------------ */

/* The last row of this key. */
static struct ws_bytes meta_value(const struct ws_model *m, struct ws_bytes key)
{
	struct ws_bytes value = {"", 0};

	for (uint64_t i = 0; i < m->meta.rows; i++)
		if (!ws_name_compare(ws_blob(&m->meta, WS_COL_meta_key, i), key))
			value = ws_blob(&m->meta, WS_COL_meta_value, i);
	return value;
}

static struct ws_bytes fact_value(const struct ws_model *m, struct ws_bytes key)
{
	for (size_t i = 0; i < m->nfacts; i++)
		if (!ws_name_compare(m->facts[i].key, key))
			return m->facts[i].value;
	return (struct ws_bytes){"", 0};
}

struct config_table {
	struct ws_table *t;
	size_t same;
};

/* A row when the values differ. */
static void compare_values(struct config_table *c, const char *prefix, struct ws_bytes key,
                           struct ws_bytes a, struct ws_bytes b)
{
	struct ws_cell *row;
	char text[256];
	int n;

	if (!ws_name_compare(a, b)) {
		c->same++;
		return;
	}
	row = ws_table_row(c->t);
	n = snprintf(text, sizeof(text), "%s%.*s", prefix, key.len < 200 ? (int)key.len : 200,
	             (const char *)key.ptr);
	ws_cell_set_text(c->t, &row[WS_TC_diff_config_key], text, (size_t)n);
	if (a.len)
		ws_cell_set_text(c->t, &row[WS_TC_diff_config_a], a.ptr, a.len);
	if (b.len)
		ws_cell_set_text(c->t, &row[WS_TC_diff_config_b], b.ptr, b.len);
}

/* Only its last row speaks for a key; the start time always differs and says nothing. */
static int meta_row_counts(const struct ws_model *m, uint64_t row)
{
	struct ws_bytes key = ws_blob(&m->meta, WS_COL_meta_key, row);

	return !ws_name_is(key, "record.start_utc") &&
	       meta_value(m, key).ptr == ws_blob(&m->meta, WS_COL_meta_value, row).ptr;
}

static int has_meta(const struct ws_model *m, struct ws_bytes key)
{
	for (uint64_t i = 0; i < m->meta.rows; i++)
		if (!ws_name_compare(ws_blob(&m->meta, WS_COL_meta_key, i), key))
			return 1;
	return 0;
}

static int has_fact(const struct ws_model *m, struct ws_bytes key)
{
	for (size_t i = 0; i < m->nfacts; i++)
		if (!ws_name_compare(m->facts[i].key, key))
			return 1;
	return 0;
}

static struct ws_bytes device_name(const struct ws_model *m)
{
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].kernels)
			return m->texts[m->devices[i].name];
	return (struct ws_bytes){"", 0};
}

static void fill_config(const struct ws_diff *d, struct ws_table *t)
{
	const struct ws_model *a = d->side[0].m, *b = d->side[1].m;
	struct config_table c = {t, 0};

	for (size_t i = 0; i < a->nfacts; i++)
		compare_values(&c, "workload.", a->facts[i].key, a->facts[i].value,
		               fact_value(b, a->facts[i].key));
	for (size_t i = 0; i < b->nfacts; i++)
		if (!has_fact(a, b->facts[i].key))
			compare_values(&c, "workload.", b->facts[i].key, (struct ws_bytes){"", 0},
			               b->facts[i].value);
	compare_values(&c, "", (struct ws_bytes){"device", 6}, device_name(a), device_name(b));
	for (uint64_t i = 0; i < a->meta.rows; i++)
		if (meta_row_counts(a, i))
			compare_values(&c, "", ws_blob(&a->meta, WS_COL_meta_key, i),
			               ws_blob(&a->meta, WS_COL_meta_value, i),
			               meta_value(b, ws_blob(&a->meta, WS_COL_meta_key, i)));
	for (uint64_t i = 0; i < b->meta.rows; i++)
		if (meta_row_counts(b, i) && !has_meta(a, ws_blob(&b->meta, WS_COL_meta_key, i)))
			compare_values(&c, "", ws_blob(&b->meta, WS_COL_meta_key, i),
			               (struct ws_bytes){"", 0},
			               ws_blob(&b->meta, WS_COL_meta_value, i));
	ws_table_note(t, "%zu other facts are the same in A and B.", c.same);
}

/* --- diff-verdict ------------------------------------------------------------------------------
 */

static struct ws_cell *add_verdict(struct ws_table *t, const char *subject, const char *verdict)
{
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_str(t, &row[WS_TC_diff_verdict_subject], subject);
	ws_cell_set_str(t, &row[WS_TC_diff_verdict_verdict], verdict);
	return row;
}

static void set_numbers(struct ws_table *t, struct ws_cell *row, double a, double b,
                        const char *unit)
{
	ws_cell_set_real(&row[WS_TC_diff_verdict_a], a);
	ws_cell_set_real(&row[WS_TC_diff_verdict_b], b);
	ws_cell_set_str(t, &row[WS_TC_diff_verdict_unit], unit);
	ws_cell_set_real(&row[WS_TC_diff_verdict_ratio], ws_stat_ratio(b, a));
}

static void add_matched(const struct ws_diff *d, struct ws_table *t)
{
	double share[2];
	char text[160];

	for (int i = 0; i < 2; i++)
		share[i] =
		        ws_stat_percent((double)d->side[i].matched_ns, (double)d->side[i].gpu_ns);
	if (d->side[0].gpu_ns && d->side[1].gpu_ns)
		snprintf(text, sizeof(text),
		         "%.1f %% of A's and %.1f %% of B's GPU time is matched by "
		         "range path and order",
		         share[0], share[1]);
	else
		snprintf(text, sizeof(text), "one side has no GPU time, so nothing is matched");
	set_numbers(t, add_verdict(t, "matched work", text), share[0], share[1], "%");
}

static void add_stat_verdict(struct ws_table *t, const char *subject, const struct ws_stat stat[2])
{
	char text[256];

	say_difference(&stat[0], &stat[1], text, sizeof(text));
	set_numbers(t, add_verdict(t, subject, text), stat[0].mean / 1e6, stat[1].mean / 1e6, "ms");
}

/* The dtype that the workload names, made safe to print; "" when it names none. */
static void dtype_label(const struct ws_model *m, char *out, size_t size)
{
	struct ws_bytes dtype = ws_model_fact(m, "dtype");
	const char *p = dtype.ptr;
	size_t n = 0;

	out[0] = '\0';
	if (!dtype.len || dtype.len > 40)
		return;
	n = (size_t)snprintf(out, size, " (");
	for (size_t i = 0; i < dtype.len && n + 2 < size; i++)
		out[n++] = isalnum((unsigned char)p[i]) || strchr("-_.+", p[i]) ? p[i] : '?';
	out[n++] = ')';
	out[n] = '\0';
}

static void judge(const struct ws_diff *d, const struct ws_diff_opts *opts, const struct ws_stat *a,
                  const struct ws_stat *b, struct ws_diff_result *result)
{
	char label[2][64], phases[224] = "";
	size_t n = 0;
	struct ws_welch w;
	double ratio = a->mean > 0 ? b->mean / a->mean : 0;

	for (int i = 0; i < 2; i++)
		dtype_label(d->side[i].m, label[i], sizeof(label[i]));
	ws_stat_welch(a, b, &w);
	for (int phase = 0; phase < WS_PHASE_OTHER; phase++) {
		struct ws_stat stat[2];

		phase_stats(d, phase, WS_MEASURE_GPU, stat);
		if (stat[0].sum && stat[1].sum && n < sizeof(phases))
			n += (size_t)snprintf(phases + n, sizeof(phases) - n, "%s %s %.3g",
			                      n ? "," : "; GPU time B / A:",
			                      ws_phase_name((enum ws_phase)phase),
			                      stat[1].mean / stat[0].mean);
	}
	if (w.judged && !w.beyond_noise)
		snprintf(result->verdict, sizeof(result->verdict),
		         "B%s and A%s do not differ beyond noise: %.3f ms a step against %.3f ms%s",
		         label[1], label[0], b->mean / 1e6, a->mean / 1e6, phases);
	else
		snprintf(
		        result->verdict, sizeof(result->verdict),
		        "B%s takes %.3g times as long as A%s: %.3f ms a step against %.3f ms, %s%s",
		        label[1], ratio, label[0], b->mean / 1e6, a->mean / 1e6, noise_words(&w),
		        phases);
	result->finding = opts && opts->threshold_percent >= 0 && w.beyond_noise && a->mean > 0 &&
	                  ratio > 1 + opts->threshold_percent / 100;
}

static enum ws_status add_step_verdicts(const struct ws_diff *d, const struct ws_diff_opts *opts,
                                        struct ws_table *t, struct ws_diff_result *result,
                                        struct ws_err *err)
{
	struct ws_idle_verdict idle[2];
	struct ws_stat stat[2];
	struct ws_cell *row;

	for (int i = 0; i < 2; i++) {
		struct ws_idle found;
		enum ws_status status =
		        ws_idle_find(d->side[i].m, &d->side[i].sel, false, &found, err);

		idle[i] = found.verdict;
		ws_idle_release(&found);
		WS_FORWARD(status);
	}
	phase_stats(d, WS_PHASES, WS_MEASURE_WALL, stat);
	judge(d, opts, &stat[0], &stat[1], result);
	if (idle[0].launch_bound && idle[1].launch_bound)
		snprintf(result->verdict, sizeof(result->verdict),
		         "both runs are launch-bound (the GPU waits for launches %.0f %% and %.0f %% "
		         "of a step): the host's launches set the pace, so this says nothing of the "
		         "dtypes",
		         idle[0].percent, idle[1].percent);
	row = add_verdict(t, "overall", result->verdict);
	set_numbers(t, row, stat[0].mean / 1e6, stat[1].mean / 1e6, "ms");
	phase_stats(d, WS_PHASES, WS_MEASURE_GPU, stat);
	add_stat_verdict(t, "GPU time of a step", stat);
	for (int phase = 0; phase < WS_PHASES; phase++) {
		char subject[48];

		phase_stats(d, phase, WS_MEASURE_GPU, stat);
		if (!stat[0].sum && !stat[1].sum)
			continue;
		snprintf(subject, sizeof(subject), "GPU time of %s", phase_label(phase));
		add_stat_verdict(t, subject, stat);
	}
	if (stat[0].n < WS_STAT_MIN_SAMPLES || stat[1].n < WS_STAT_MIN_SAMPLES)
		ws_table_note(t,
		              "A has %" PRIu64 " measured steps and B %" PRIu64 ": with fewer than "
		              "%d on a side nothing can be said about noise.",
		              stat[0].n, stat[1].n, WS_STAT_MIN_SAMPLES);
	return WS_OK;
}

static void add_trace_verdict(const struct ws_diff *d, struct ws_table *t,
                              struct ws_diff_result *result)
{
	struct ws_stat stat[2] = {{.n = 1}, {.n = 1}};

	for (int i = 0; i < 2; i++)
		stat[i].mean = (double)d->side[i].gpu_ns;
	say_difference(&stat[0], &stat[1], result->verdict, sizeof(result->verdict));
	set_numbers(t, add_verdict(t, "GPU time of the whole traces", result->verdict),
	            stat[0].mean / 1e6, stat[1].mean / 1e6, "ms");
	ws_table_note(
	        t, "Not both traces have a finished, measured range `step`: the whole traces are "
	           "compared, setup and warm-up included, and nothing can be said about noise.");
}

/* GPU time in ranges that the other side lacks. */
static void add_unmatched(const struct ws_diff *d, struct ws_table *t)
{
	for (int i = 0; i < 2; i++) {
		const struct ws_side *s = &d->side[i];
		size_t paths = 0;
		char subject[32], text[160];

		for (size_t k = 0; k < d->nitems; k++)
			paths += d->items[k].per_step[i] > d->items[k].per_step[!i];
		snprintf(subject, sizeof(subject), "only in %s", s->letter);
		snprintf(text, sizeof(text),
		         "%zu range paths have no counterpart or more instances than "
		         "it; unmatched GPU time: %.3f ms %s, kernels in no range included",
		         paths, (double)(s->gpu_ns - s->matched_ns) / (double)s->nsamples / 1e6,
		         d->by_steps ? "a step" : "in all");
		add_verdict(t, subject, text);
	}
}

static enum ws_status fill_verdict(const struct ws_diff *d, const struct ws_diff_opts *opts,
                                   struct ws_table *t, struct ws_diff_result *result,
                                   struct ws_err *err)
{
	add_matched(d, t);
	if (d->by_steps)
		WS_FORWARD(add_step_verdicts(d, opts, t, result, err));
	else
		add_trace_verdict(d, t, result);
	add_unmatched(d, t);
	for (int i = 0; i < 2; i++) {
		const struct ws_side *s = &d->side[i];
		char whose[8];

		snprintf(whose, sizeof(whose), "%s: ", s->letter);
		if (ws_model_on_cpu(s->m))
			ws_table_note(t,
			              "%s ran on the CPU reference: these are true times of a "
			              "reference computation, and no GPU's.",
			              s->letter);
		ws_note_origin(s->m, whose, t);
	}
	return WS_OK;
}

/* --- all of them -------------------------------------------------------------------------------
 */

enum ws_status ws_diff_fill(const struct ws_diff *d, const struct ws_diff_opts *opts,
                            struct ws_report *report, struct ws_diff_result *result,
                            struct ws_err *err)
{
	size_t count;
	const struct ws_table_def *const *defs = ws_diff_defs(&count);

	for (size_t i = 0; i < count; i++) {
		struct ws_table *t = ws_table_new(defs[i]);

		if (!t)
			return WS_FAIL(err, NO_MEMORY, "no memory for the table %s", defs[i]->name);
		report->tables[report->ntables++] = t;
		if (defs[i] == &ws_def_diff_verdict)
			WS_FORWARD(fill_verdict(d, opts, t, result, err));
		else if (defs[i] == &ws_def_diff_phases)
			fill_phases(d, t);
		else if (defs[i] == &ws_def_diff_ranges)
			WS_FORWARD(fill_ranges(d, t, err));
		else if (defs[i] == &ws_def_diff_config)
			fill_config(d, t);
		else
			ws_method_fill(t, defs, count);
		WS_FORWARD(ws_table_done(t, err));
	}
	return WS_OK;
}
