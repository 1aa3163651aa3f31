/* sweep-verdict: what the configurations say together. */
#include <stdio.h>
#include <string.h>

#include "report/sweep/private.h"

/* "transformer-small, context 128, fp32, kernel_width 5": what tells the rows apart. */
void ws_sweep_name_row(const struct ws_sweep *s, const struct ws_sweep_row *row, char *out,
                       size_t size)
{
	static const char *const words[] = {"", "context ", "batch ", ""};
	char others[256];
	size_t n = 0;

	*out = '\0';
	ws_sweep_others(s, row->run, "", others, sizeof(others));
	for (size_t i = 0; i < 4; i++) {
		struct ws_bytes value = ws_sweep_text(s, row->run, ws_sweep_facts[i]);

		if (value.len && n < size &&
		    (s->nrows == 1 || ws_sweep_differ(s, ws_sweep_facts[i])))
			n += (size_t)snprintf(out + n, size - n, "%s%s%.*s", n ? ", " : "",
			                      words[i], value.len < 60 ? (int)value.len : 60,
			                      (const char *)value.ptr);
	}
	if (*others && n < size)
		snprintf(out + n, size - n, "%s%s", n ? ", " : "", others);
}

static void add_failures(const struct ws_sweep *s, struct ws_table *t)
{
	size_t failed = 0;

	for (size_t i = 0; i < s->nruns; i++)
		failed += s->runs[i].failed != 0;
	ws_table_add(t, "configurations", "%zu configuration%s, %zu run%s, %zu failed.", s->nrows,
	             s->nrows == 1 ? "" : "s", s->nruns, s->nruns == 1 ? "" : "s", failed);
	if (s->ncopies)
		ws_table_add(t, "copies",
		             "%zu trace%s left out: %s has the same bytes as another, and a run "
		             "counts once.",
		             s->ncopies, s->ncopies == 1 ? " is" : "s are",
		             s->ncopies == 1 ? "it" : "each");
	for (size_t i = 0; i < s->nrows; i++) {
		struct ws_bytes why = ws_texts_get(&s->texts, s->rows[i].status);
		char name[640];

		ws_sweep_name_row(s, &s->rows[i], name, sizeof(name));
		if (!ws_bytes_begin(why, WS_SWEEP_OK))
			ws_table_add(t, "failed", "%s%s%.*s.", name, *name ? ": " : "",
			             why.len < 200 ? (int)why.len : 200, (const char *)why.ptr);
		if (ws_over_peak(fmax(s->rows[i].mfu_percent, s->rows[i].hfu_percent)))
			ws_table_add(t, "ALARM", "%s%sMFU %.1f %%, HFU %.1f %%, %s", name,
			             *name ? ": " : "", s->rows[i].mfu_percent,
			             s->rows[i].hfu_percent, WS_OVER_PEAK);
	}
}

void ws_sweep_find_gain(const struct ws_sweep *s, uint32_t value, struct ws_sweep_gain *g)
{
	double log_speed = 0, log_memory = 0;

	*g = (struct ws_sweep_gain){
	        .value = value, .min = INFINITY, .low = NAN, .high = NAN, .memory = NAN};
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];

		if (ws_sweep_value(r->run, s->baseline_key) != value || isnan(r->speedup))
			continue;
		g->n++;
		log_speed += log(r->speedup);
		log_memory += log(r->memory);
		g->min = fmin(g->min, r->speedup);
		g->max = fmax(g->max, r->speedup);
		g->low = fmin(g->low, r->low);
		g->high = fmax(g->high, r->high);
		g->under_1 += r->speedup < 1;
		g->faster += r->low > 1;
		g->slower += r->high < 1;
		g->unknown += isnan(r->low);
		g->is_assumed |= r->is_assumed;
	}
	g->mean = exp(log_speed / g->n);
	g->memory = exp(log_memory / g->n);
}

/* " It is significantly faster in 3 and slower in 0." */
static void print_significance(const struct ws_sweep_gain *g, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	if (g->n > g->unknown && !g->faster && !g->slower)
		used = (size_t)snprintf(out, size, " %s not significant.",
		                        g->n == 1 ? "The difference is" : "The differences are");
	else if (g->n > g->unknown && g->n == 1)
		used = (size_t)snprintf(out, size, " The difference is significant.");
	else if (g->n > g->unknown)
		used = (size_t)snprintf(out, size,
		                        " It is significantly faster in %u and slower in %u.",
		                        g->faster, g->slower);
	if (g->unknown)
		snprintf(out + used, size - used,
		         " CPU runs need at least three per side for an interval.");
}

/* All configurations in which the baseline's fact has this value. */
static void add_speedup(const struct ws_sweep *s, struct ws_table *t, uint32_t value)
{
	struct ws_bytes name = ws_texts_get(&s->texts, value),
	                base = ws_texts_get(&s->texts, s->baseline_value);
	char significance[160], range[64] = "";
	struct ws_sweep_gain g;
	struct ws_cell *row;

	ws_sweep_find_gain(s, value, &g);
	if (!g.n)
		return;
	print_significance(&g, significance, sizeof(significance));
	if (g.n > 1)
		snprintf(range, sizeof(range), ", %.3g× to %.3g×", g.min, g.max);
	row = ws_table_add(t, "speed-up",
	                   "%.*s runs at %.3g× the speed of %.*s (%s%u configuration%s%s).%s",
	                   name.len < 80 ? (int)name.len : 80, (const char *)name.ptr, g.mean,
	                   base.len < 80 ? (int)base.len : 80, (const char *)base.ptr,
	                   g.n > 1 ? "geometric mean of " : "", g.n, g.n == 1 ? "" : "s", range,
	                   significance);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_value], g.mean);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_low], g.low);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_high], g.high);
}

/* Is this row the first with its value of the baseline's fact, and not of the baseline? */
bool ws_sweep_is_first(const struct ws_sweep *s, size_t row)
{
	const uint32_t value = ws_sweep_value(s->rows[row].run, s->baseline_key);
	size_t first = 0;

	while (ws_sweep_value(s->rows[first].run, s->baseline_key) != value)
		first++;
	return s->baseline_key && first == row && value != s->baseline_value;
}

static void add_speedups(const struct ws_sweep *s, struct ws_table *t)
{
	for (size_t i = 0; i < s->nrows; i++)
		if (ws_sweep_is_first(s, i))
			add_speedup(s, t, ws_sweep_value(s->rows[i].run, s->baseline_key));
	if (s->nrows && !s->baseline_key)
		ws_table_add(t, "speed-up",
		             "No trace is a baseline (%s). Name another with --baseline "
		             "KEY=VALUE.",
		             s->baseline);
}

const struct ws_sweep_row *ws_sweep_best(const struct ws_sweep *s, bool tokens, double rate[2])
{
	const struct ws_sweep_row *best = NULL;

	rate[0] = rate[1] = 0;
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		const double own =
		        (tokens ? r->run->tokens : r->run->images) / r->mean[WS_SWEEP_TOTAL] * 1e9;

		if (own > rate[0]) {
			rate[1] = rate[0];
			rate[0] = own;
			best = r;
		} else if (own > rate[1]) {
			rate[1] = own;
		}
	}
	return best;
}

static void add_best(const struct ws_sweep *s, struct ws_table *t, const char *subject, bool tokens)
{
	double rate[2];
	const struct ws_sweep_row *best = ws_sweep_best(s, tokens, rate);
	char name[640];

	if (!best)
		return;
	ws_sweep_name_row(s, best, name, sizeof(name));
	ws_cell_set_real(&ws_table_add(t, subject, "Highest throughput%s%s.", *name ? ": " : "",
	                               name)[WS_TC_sweep_verdict_value],
	                 rate[0]);
}

void ws_sweep_verdict(const struct ws_sweep *s, struct ws_table *t)
{
	add_failures(s, t);
	add_speedups(s, t);
	add_best(s, t, "tokens/s", true);
	add_best(s, t, "images/s", false);
	for (size_t i = 0; i < s->nruns; i++)
		if (s->runs[i].on_cpu) {
			ws_table_note(t, "Recorded on the CPU reference. These are CPU times, not "
			                 "GPU performance.");
			break;
		}
}
