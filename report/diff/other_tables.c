/*
 * diff-memory and diff-config.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/model.h"
#include "report/base/names.h"
#include "report/diff/private.h"

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
	if (a <= 0 || b <= 0 || fabs(log(b / a)) >= log1p(d->grade.min_effect))
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

void ws_diff_fill_memory(struct ws_diff *d, struct ws_table *t)
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
			struct ws_cell *row;

			for (int s = 0; s < 2; s++)
				value[s] = ws_side_copies(&d->side[s], name, (enum ws_copies)what);
			if (!ws_side_copies(&d->side[0], name, WS_COPIES_COUNT) &&
			    !ws_side_copies(&d->side[1], name, WS_COPIES_COUNT))
				continue;
			row = add_memory(d, t, numbers[what].section, ws_copy_name(name), value,
			                 numbers[what].unit);
			if (what == 2) /* one mean of a time is no ground for a grade */
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

/* Differs in any two runs and says nothing. */
static bool is_told_apart(struct ws_bytes key)
{
	static const char *const keys[] = {"record.start_utc", "clock.*", "pytorch.span_*_ns",
	                                   "cupti.flush*"};

	return WS_NAME_IS_ONE_OF(key, keys);
}

/* Every key of both sides once, in order; its text is the row. */
static void list_keys(const struct ws_diff *d, struct ws_arena *temp, struct ws_row_key **out,
                      size_t *n)
{
	uint8_t *seen;

	*n = 0;
	WS_NEW(temp, seen, d->names.texts.n + 1);
	WS_NEW(temp, *out, d->names.texts.n + 1);
	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < d->side[s].nrecordings; r++)
			for (size_t i = 0; i < d->side[s].recordings[r].nfacts; i++) {
				uint32_t key = d->side[s].recordings[r].facts[i].key;

				if (!seen[key])
					(*out)[(*n)++] = (struct ws_row_key){
					        .text = {ws_texts_get(&d->names.texts, key)},
					        .row = key};
				seen[key] = 1;
			}
	ws_row_keys_sort(*out, *n);
}

/* The values of a fact in the recordings of a side, each once: "a | b"; text of the comparison. */
static void values_of(struct ws_diff *d, int s, uint32_t key, uint32_t *out)
{
	const struct ws_side *side = &d->side[s];
	uint32_t seen[4], value;
	size_t nseen = 0;
	char text[512];
	size_t n = 0;

	*out = 0;
	for (size_t r = 0; r < side->nrecordings; r++) {
		struct ws_bytes bytes;
		size_t i = 0;

		value = 0;
		for (size_t k = 0; k < side->recordings[r].nfacts; k++)
			if (side->recordings[r].facts[k].key == key)
				value = side->recordings[r].facts[k].value;
		while (i < nseen && seen[i] != value)
			i++;
		if (!value || i < nseen || nseen == sizeof(seen) / sizeof(*seen))
			continue;
		seen[nseen++] = value;
		bytes = ws_texts_get(&d->names.texts, value);
		if (nseen == 1)
			*out = value;
		if (bytes.len + 3 > sizeof(text) - n)
			continue;
		if (n) {
			memcpy(text + n, " | ", 3);
			n += 3;
		}
		memcpy(text + n, bytes.ptr, bytes.len);
		n += bytes.len;
	}
	if (nseen > 1)
		*out = ws_texts_add(&d->names.texts, (struct ws_bytes){text, n});
}

void ws_diff_fill_config(struct ws_diff *d, struct ws_table *t)
{
	struct ws_arena temp = {0};
	struct ws_row_key *keys;
	uint32_t value[2] = {0, 0};
	size_t n, same = 0;

	list_keys(d, &temp, &keys, &n);
	for (size_t i = 0; i < n; i++) {
		struct ws_cell *row;

		if (is_told_apart(keys[i].text[0]))
			continue;
		for (int s = 0; s < 2; s++)
			values_of(d, s, keys[i].row, &value[s]);
		if (value[0] == value[1]) {
			same++;
			continue;
		}
		row = ws_table_row(t);
		ws_diff_set_text(d, t, &row[WS_TC_diff_config_key], keys[i].row);
		ws_diff_set_text(d, t, &row[WS_TC_diff_config_a], value[0]);
		ws_diff_set_text(d, t, &row[WS_TC_diff_config_b], value[1]);
	}
	ws_arena_free(&temp);
	ws_table_note(t, "%zu other facts are the same on both sides.", same);
	ws_diff_note_samples(d, t);
}
