/* sweep-verdict: what the configurations say together. */
#include <stdio.h>
#include <string.h>

#include "report/sweep/private.h"

/* "transformer-small, context 128, fp32, kernel_width 5" */
static void name_row(const struct ws_sweep *s, const struct ws_sweep_row *row, char *out,
                     size_t size)
{
	static const char *const facts[] = {"model", "context", "batch", "dtype"};
	static const char *const words[] = {"", "context ", "batch ", ""};
	char others[256];
	size_t n = 0;

	*out = '\0';
	ws_sweep_others(s, row->run, "", others, sizeof(others));
	for (size_t i = 0; i < 4; i++) {
		struct ws_bytes value = ws_sweep_text(s, row->run, facts[i]);

		if (value.len && n < size)
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
	for (size_t i = 0; i < s->nrows; i++) {
		struct ws_bytes why = ws_texts_get(&s->texts, s->rows[i].status);
		char name[640];

		name_row(s, &s->rows[i], name, sizeof(name));
		if (!ws_bytes_begin(why, WS_SWEEP_OK))
			ws_table_add(t, "failed", "%s: %.*s.", name,
			             why.len < 200 ? (int)why.len : 200, (const char *)why.ptr);
		if (ws_over_peak(fmax(s->rows[i].mfu_percent, s->rows[i].hfu_percent)))
			ws_table_add(t, "ALARM", "%s: MFU %.1f %%, HFU %.1f %%, %s", name,
			             s->rows[i].mfu_percent, s->rows[i].hfu_percent, WS_OVER_PEAK);
	}
}

/* " It is significantly faster in 3 and slower in 0." */
static void print_significance(unsigned n, unsigned faster, unsigned slower, unsigned unknown,
                               char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	if (n > unknown && !faster && !slower)
		used = (size_t)snprintf(out, size, " %s not significant.",
		                        n == 1 ? "The difference is" : "The differences are");
	else if (n > unknown && n == 1)
		used = (size_t)snprintf(out, size, " The difference is significant.");
	else if (n > unknown)
		used = (size_t)snprintf(out, size,
		                        " It is significantly faster in %u and slower in %u.",
		                        faster, slower);
	if (unknown)
		snprintf(out + used, size - used,
		         " CPU runs need at least three per side for an interval.");
}

/* All configurations in which the baseline's fact has this value. */
static void add_speedup(const struct ws_sweep *s, struct ws_table *t, uint32_t value)
{
	struct ws_bytes name = ws_texts_get(&s->texts, value),
	                base = ws_texts_get(&s->texts, s->baseline_value);
	char significance[160], range[64] = "";
	double sum = 0, least = INFINITY, most = 0, low = NAN, high = NAN;
	unsigned n = 0, faster = 0, slower = 0, unknown = 0;
	struct ws_cell *row;

	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];

		if (ws_sweep_value(r->run, s->baseline_key) != value || isnan(r->speedup))
			continue;
		n++;
		sum += log(r->speedup);
		least = fmin(least, r->speedup);
		most = fmax(most, r->speedup);
		low = fmin(low, r->low);
		high = fmax(high, r->high);
		faster += r->low > 1;
		slower += r->high < 1;
		unknown += isnan(r->low);
	}
	if (!n)
		return;
	print_significance(n, faster, slower, unknown, significance, sizeof(significance));
	if (n > 1)
		snprintf(range, sizeof(range), ", %.3g× to %.3g×", least, most);
	row = ws_table_add(t, "speed-up",
	                   "%.*s runs at %.3g× the speed of %.*s (%s%u configuration%s%s).%s",
	                   name.len < 80 ? (int)name.len : 80, (const char *)name.ptr, exp(sum / n),
	                   base.len < 80 ? (int)base.len : 80, (const char *)base.ptr,
	                   n > 1 ? "geometric mean of " : "", n, n == 1 ? "" : "s", range,
	                   significance);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_value], exp(sum / n));
	ws_cell_set_real(&row[WS_TC_sweep_verdict_low], low);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_high], high);
}

static void add_speedups(const struct ws_sweep *s, struct ws_table *t)
{
	for (size_t i = 0; i < s->nrows && s->baseline_key; i++) {
		uint32_t value = ws_sweep_value(s->rows[i].run, s->baseline_key);
		size_t first = 0;

		while (ws_sweep_value(s->rows[first].run, s->baseline_key) != value)
			first++;
		if (first == i && value != s->baseline_value)
			add_speedup(s, t, value);
	}
	if (s->nrows && !s->baseline_key)
		ws_table_add(t, "speed-up",
		             "No trace is a baseline (%s). Name another with --baseline "
		             "KEY=VALUE.",
		             s->baseline);
}

/* The row with the highest rate. */
static void add_best(const struct ws_sweep *s, struct ws_table *t, const char *subject, bool tokens)
{
	const struct ws_sweep_row *best = NULL;
	double most = 0;
	char name[640];

	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		double rate =
		        (tokens ? r->run->tokens : r->run->images) / r->mean[WS_SWEEP_TOTAL] * 1e9;

		if (rate > most) {
			most = rate;
			best = r;
		}
	}
	if (!best)
		return;
	name_row(s, best, name, sizeof(name));
	ws_cell_set_real(&ws_table_add(t, subject, "Highest throughput: %s.",
	                               name)[WS_TC_sweep_verdict_value],
	                 most);
}

void ws_sweep_verdict(const struct ws_sweep *s, struct ws_table *t)
{
	add_failures(s, t);
	add_speedups(s, t);
	add_best(s, t, "tokens/s", true);
	add_best(s, t, "images/s", false);
	for (size_t i = 0; i < s->nruns; i++)
		if (s->runs[i].on_cpu) {
			ws_table_note(t,
			              "Recorded on the CPU reference. These are CPU times, not GPU "
			              "performance.");
			break;
		}
}
