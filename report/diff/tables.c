/*
 * Notes and totals of a comparison's tables (compared.c makes their rows), and the tables
 * diff-memory and diff-config.
 */

#include "report/base/elementary.h"
#include "report/analysis/calibration.h"
#include "report/diff/private.h"

/* --- notes ---------------------------------------------------------------------------------- */

static size_t unrecorded_of(const struct ws_side *side)
{
	size_t n = 0;

	for (size_t i = 0; i < side->nrecordings; i++)
		n += side->recordings[i].nunrecorded;
	return n;
}

void ws_diff_note_samples(const struct ws_diff *d, struct ws_table *t)
{
	ws_table_set_sides(t, d->side[0].name, d->side[1].name);
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		ws_table_note(t, "%s is %s: %zu recording%s, %zu %s%s in all.", s ? "B" : "A",
		              side->name, side->nrecordings, WS_PLURAL(side->nrecordings),
		              side->nsamples,
		              side->recordings[0].has_steps ? "measured step" : "whole trace",
		              WS_PLURAL(side->nsamples));
		ws_diff_note_copies(side, s ? "B: " : "A: ", t);
	}
	if (ws_clocks_differ(d->result->clock_mhz[0], d->result->clock_mhz[1]) &&
	    ws_diff_is_of_one_device(d))
		ws_table_note(t,
		              "The clocks differed (%.0f and %.0f MHz): a difference that they "
		              "explain is AMBIGUOUS.",
		              d->result->clock_mhz[0], d->result->clock_mhz[1]);
	if (d->compares_unrecorded)
		ws_table_note(t,
		              "Typical time, change and grade of the whole step are those of %zu "
		              "and %zu steps that were not recorded (record --calibrate).",
		              unrecorded_of(&d->side[0]), unrecorded_of(&d->side[1]));
	else if (unrecorded_of(&d->side[0]) + unrecorded_of(&d->side[1]))
		ws_table_note(t,
		              "Recorded steps are compared: not every recording has %d steps that "
		              "were not recorded (record --calibrate).",
		              WS_CALIBRATION_PAIRS);
}

void ws_diff_note_copies(const struct ws_side *side, const char *before, struct ws_table *t)
{
	const bool is_one = side->ncopies == 1;

	if (side->ncopies)
		ws_table_note(t,
		              "%s%zu trace%s left out: %s has the same bytes as another, and a "
		              "recording counts once.",
		              before, side->ncopies, is_one ? " is" : "s are",
		              is_one ? "it" : "each");
}

/* Shows the host's times: those of the operations without the operations inside them. */
static void show_host_times(const struct ws_diff *d, struct ws_table *t)
{
	static const char *const titles[][2] = {{"GPU Time A (ns)", "Self CPU A (ns)"},
	                                        {"GPU Time B (ns)", "Self CPU B (ns)"},
	                                        {"A GPU Time (ns)", "A Self CPU (ns)"},
	                                        {"B GPU Time (ns)", "B Self CPU (ns)"},
	                                        {"GPU Time (ns)", "Self CPU (ns)"}};

	for (size_t c = 0; c < t->def->ncolumns && ws_diff_is_of_host_ops(d); c++)
		for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
			if (!strcmp(t->def->columns[c].title, titles[i][0]))
				ws_table_show_as(t, c, titles[i][1]);
	if (!ws_diff_is_of_host_ops(d))
		return;
	ws_table_note(t, "No device worked: times are of operations on the host, without "
	                 "those inside them.");
}

void ws_diff_note_work(struct ws_diff *d, struct ws_table *t)
{
	show_host_times(d, t);
	if (!t->nrows)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	ws_diff_note_samples(d, t);
}

void ws_diff_note_only(struct ws_diff *d, struct ws_table *t)
{
	if (!t->nrows)
		ws_table_note(t, "All %s of both sides is matched.",
		              ws_diff_is_of_host_ops(d) ? "work" : "GPU work");
	show_host_times(d, t);
	ws_diff_note_samples(d, t);
}
void ws_diff_note_phases(struct ws_diff *d, struct ws_table *t)
{
	if (!d->by_steps) {
		ws_table_set_not_recorded(t, "No steps found, so there are no phases to compare. "
		                             "Use --step PATTERN to name the step range.");
		return;
	}
	if (ws_diff_has_phases(d))
		ws_table_note(
		        t, "The rows of measure wall add up to its total, and so do those of %s.",
		        ws_diff_is_of_host_ops(d) ? "operations" : "GPU");
	ws_diff_note_samples(d, t);
}

void ws_diff_note_ranges(struct ws_diff *d, struct ws_table *t)
{
	if (!t->nrows)
		ws_table_set_not_recorded(t, "Neither trace has NVTX ranges to match.");
	ws_table_note(t,
	              "Shares are of the time of all %s in %s. Rows nest: a range holds the "
	              "time of the ranges in it.",
	              ws_diff_work_noun(d), d->by_steps ? "the measured steps" : "the traces");
	ws_diff_note_samples(d, t);
}

/* --- diff-memory ------------------------------------------------------------------------- */

double ws_side_peak(const struct ws_side *s)
{
	int64_t peak = -1;

	for (size_t i = 0; i < s->nrecordings; i++)
		if (s->recordings[i].peak_bytes > peak)
			peak = s->recordings[i].peak_bytes;
	return (double)peak;
}

enum ws_grade ws_diff_grade_count(const struct ws_diff *d, double a, double b)
{
	if (a == b)
		return WS_GRADE_SAME;
	if (a <= 0 || b <= 0 || fabs(ws_log(b / a)) >= ws_log1p(d->grade.min_effect))
		return b < a ? WS_GRADE_FASTER : WS_GRADE_SLOWER;
	return WS_GRADE_SAME;
}

static struct ws_cell *add_memory(const struct ws_diff *d, struct ws_table *t, const char *section,
                                  const char *item, const double value[2], const char *unit)
{
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_str(t, &row[WS_TC_diff_memory_section], section);
	ws_cell_set_str(t, &row[WS_TC_diff_memory_item], item);
	ws_cell_set_real(&row[WS_TC_diff_memory_a], value[0]);
	ws_cell_set_real(&row[WS_TC_diff_memory_b], value[1]);
	ws_cell_set_str(t, &row[WS_TC_diff_memory_unit], unit);
	ws_cell_set_real(&row[WS_TC_diff_memory_diff], value[1] - value[0]);
	if (!isnan(value[0]) && !isnan(value[1]))
		ws_cell_set_str(t, &row[WS_TC_diff_memory_grade],
		                ws_grade_count_name(ws_diff_grade_count(d, value[0], value[1])));
	return row;
}

double ws_side_copies(const struct ws_side *s, uint32_t name, enum ws_copies what)
{
	double sum = 0;

	for (size_t r = 0; r < s->nrecordings; r++)
		for (size_t i = 0; i < s->recordings[r].nsamples; i++) {
			const struct ws_copy_sum *copy =
			        &s->recordings[r].copies[i * WS_COPY_NAMES + name];

			if (what == WS_COPIES_BYTES && copy->without_size)
				return NAN;
			sum += what == WS_COPIES_COUNT   ? (double)copy->count
			       : what == WS_COPIES_BYTES ? (double)copy->bytes
			                                 : (double)copy->ns;
		}
	return sum / (double)s->nsamples;
}

void ws_diff_note_memory(struct ws_diff *d, struct ws_table *t)
{
	static const struct {
		const char *section, *unit;
	} numbers[] = {{"copies and fills", ""}, {"bytes moved", "bytes"}, {"GPU time", "ns"}};
	double value[2];

	for (int s = 0; s < 2; s++) {
		value[s] = ws_side_peak(&d->side[s]);
		value[s] = value[s] < 0 ? NAN : value[s];
	}
	if (!isnan(value[0]) || !isnan(value[1]))
		add_memory(d, t, "device memory", "peak allocated", value, "bytes");
	for (int what = 0; what < 3; what++) {
		for (uint32_t name = 0; name < WS_COPY_NAMES; name++) {
			for (int s = 0; s < 2; s++)
				value[s] = ws_side_copies(&d->side[s], name, (enum ws_copies)what);
			if (!ws_side_copies(&d->side[0], name, WS_COPIES_COUNT) &&
			    !ws_side_copies(&d->side[1], name, WS_COPIES_COUNT))
				continue;
			struct ws_cell *row =
			        add_memory(d, t, numbers[what].section, ws_copy_name(name), value,
			                   numbers[what].unit);
			if (what == 2) /* one mean without its runs cannot be graded */
				row[WS_TC_diff_memory_grade] = (struct ws_cell){WS_CELL_EMPTY, {0}};
		}
	}
	if (!t->nrows)
		ws_table_set_not_recorded(t, "Neither trace has allocations, copies or fills "
		                             "(`warpsheet record` records them unless "
		                             "--kernels-only).");
	ws_table_note(t,
	              "Of several recordings the highest peak counts. Copies and "
	              "fills are averages over %s; kernels are not among them.",
	              d->by_steps ? "a measured step" : "the whole trace");
	ws_diff_note_samples(d, t);
}

/* --- diff-config ------------------------------------------------------------------------- */

/* Facts that differ between any two runs and explain nothing. */
static bool is_told_apart(struct ws_bytes key)
{
	static const char *const keys[] = {"record.start_utc",    "clock.*",
	                                   "pytorch.span_*_ns",   "record.window.*",
	                                   "record.kept_from_ns", "flight.*",
	                                   "cupti.flush*"};

	return WS_NAME_IS_ONE_OF(key, keys);
}

/* The fact with this index among those of all recordings, and its side. NULL: after the last. */
static const struct ws_recorded_fact *fact_at(const struct ws_diff *d, size_t place, int *side)
{
	for (*side = 0; *side < 2; ++*side)
		for (size_t r = 0; r < d->side[*side].nrecordings; r++) {
			const struct ws_recording *of = &d->side[*side].recordings[r];

			if (place < of->nfacts)
				return &of->facts[place];
			place -= of->nfacts;
		}
	return NULL;
}

static size_t count_facts(void *ctx)
{
	size_t n = 0;
	int side;

	while (fact_at(ctx, n, &side))
		n++;
	return n;
}

#define FACT(X)                                                             \
	X(side, ws_put_str(out, side ? "B" : "A"))                          \
	X(key, ws_put_text(out, key))                                       \
	X(value, ws_put_text(out, ws_texts_get(&d->names.texts, f->value))) \
	X(is_told_apart, ws_put_int(out, is_told_apart(key)))

static void put_fact(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_diff *d = ctx;
	int side;
	const struct ws_recorded_fact *f = fact_at(d, row, &side);
	const struct ws_bytes key = ws_texts_get(&d->names.texts, f->key);

	WS_PUT_COLUMN(column, FACT);
}

const struct ws_relation ws_diff_relation_fact = {"fact", FACT(WS_COLUMN_NAME), count_facts,
                                                  put_fact};

void ws_diff_note_config(struct ws_diff *d, struct ws_table *t)
{
	uint8_t *seen = ws_xarray(d->names.texts.n + 1, sizeof(*seen)); /* key */
	const struct ws_recorded_fact *f;
	size_t keys = 0;
	int side;

	for (size_t i = 0; (f = fact_at(d, i, &side)); i++) {
		keys += !seen[f->key] && !is_told_apart(ws_texts_get(&d->names.texts, f->key));
		seen[f->key] = 1;
	}
	free(seen);
	ws_table_note(t, "%zu other facts are the same on both sides.", keys - t->nrows);
	ws_diff_note_samples(d, t);
}
