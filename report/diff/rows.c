#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/base/names.h"
#include "report/diff/private.h"

void ws_diff_rows_release(struct ws_diff_rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->row[i].ns[0]);
		free(r->row[i].ns[1]);
	}
	free(r->row);
	ws_texts_release(&r->keys);
	*r = (struct ws_diff_rows){0};
}

enum ws_status ws_diff_row_of(struct ws_diff_rows *r, const uint32_t key[WS_DIFF_FIELDS],
                              struct ws_diff_row **out, struct ws_err *err)
{
	struct ws_diff_row *row;
	uint32_t number;

	WS_FORWARD(ws_texts_add(&r->keys, (struct ws_bytes){key, WS_DIFF_FIELDS * sizeof(*key)},
	                        &number, err));
	if (number <= r->n) {
		*out = &r->row[number - 1];
		return WS_OK;
	}
	WS_FORWARD(WS_GROW(r->row, r->n + 1, r->capacity, err));
	*out = row = &r->row[r->n++];
	*row = (struct ws_diff_row){0};
	memcpy(row->field, key, sizeof(row->field));
	for (int s = 0; s < 2; s++) {
		row->ns[s] = calloc(r->nsamples[s] + 1, sizeof(*row->ns[s]));
		if (!row->ns[s])
			return WS_FAIL_MEMORY(err, "comparing the traces");
	}
	return WS_OK;
}

enum ws_status ws_diff_compare(const struct ws_diff *d, const int64_t *a, const int64_t *b,
                               struct ws_comparison *out, struct ws_err *err)
{
	const int64_t *ns[2] = {a, b};
	struct ws_samples samples[2];
	double *values[2] = {NULL, NULL};
	enum ws_status status = WS_OK;

	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		values[s] = calloc(side->nsamples + 1, sizeof(*values[s]));
		if (!values[s]) {
			status = WS_FAIL_MEMORY(err, "comparing the traces");
			continue;
		}
		/* work that a sample lacks took less than can be told: logarithms want a value */
		for (size_t i = 0; i < side->nsamples; i++)
			values[s][i] = ns[s][i] > 0 ? (double)ns[s][i] : 0.5;
		samples[s] = (struct ws_samples){values[s], side->steps, side->nrecordings};
	}
	WS_THEN(status, ws_compare(&samples[0], &samples[1], &d->grade, out, err));
	if (status == WS_OK && ws_diff_is_unlike(d))
		out->grade = WS_GRADE_UNLIKE;
	free(values[0]);
	free(values[1]);
	return status;
}

static double mean_of(const int64_t *ns, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)ns[i];
	return sum / (double)n;
}

static double change(const struct ws_diff_row *row)
{
	return fabs((row->instances[1] ? row->mean[1] : 0) -
	            (row->instances[0] ? row->mean[0] : 0));
}

/* Then by what it is: the same order on every run. */
static int by_change(const void *pa, const void *pb)
{
	const struct ws_diff_row *a = pa, *b = pb;
	double x = change(a), y = change(b);

	if (x != y)
		return x > y ? -1 : 1;
	return memcmp(a->field, b->field, sizeof(a->field));
}

enum ws_status ws_diff_rows_grade(const struct ws_diff *d, struct ws_diff_rows *r,
                                  struct ws_err *err)
{
	struct ws_comparison **both = calloc(r->n + 1, sizeof(*both));
	size_t n = 0;
	enum ws_status status = both ? WS_OK : WS_FAIL_MEMORY(err, "comparing the traces");

	for (size_t i = 0; i < 2 * r->n; i++) {
		struct ws_diff_row *row = &r->row[i / 2];
		int s = i % 2;

		row->mean[s] = row->instances[s] ? mean_of(row->ns[s], r->nsamples[s]) : NAN;
	}
	if (r->n)
		qsort(r->row, r->n, sizeof(*r->row), by_change);
	for (size_t i = 0; i < r->n && status == WS_OK; i++) {
		struct ws_diff_row *row = &r->row[i];

		/* of work that one side has alone the typical time is wanted, no grade */
		status = ws_diff_compare(d, row->ns[0], row->ns[1], &row->c, err);
		if (row->instances[0] && row->instances[1])
			both[n++] = &row->c;
	}
	WS_THEN(status, ws_grade_rows(both, n, &d->grade, err));
	free(both);
	return status;
}

/* --- of work ----------------------------------------------------------------------------- */

/* Items of each side by group: order[first[g]] .. order[first[g + 1]). */
struct by_group {
	uint32_t *order, *first;
};

static enum ws_status sort_by_group(const struct ws_diff *d, int s, struct by_group *out,
                                    struct ws_err *err)
{
	const uint32_t *group = d->match.group[s];
	size_t n = d->side[s].nslots, ngroups = d->match.ngroups;

	out->order = calloc(n + 1, sizeof(*out->order));
	out->first = calloc(ngroups + 2, sizeof(*out->first));
	if (!out->order || !out->first)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	for (size_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			out->first[group[i] + 2]++;
	for (size_t g = 2; g < ngroups + 2; g++)
		out->first[g] += out->first[g - 1];
	for (uint32_t i = 0; i < n; i++)
		if (group[i] != WS_NONE)
			out->order[out->first[group[i] + 1]++] = i;
	return WS_OK;
}

static void add_slot(const struct ws_diff *d, int s, uint32_t slot, struct ws_diff_row *row)
{
	const struct ws_side *side = &d->side[s];

	row->instances[s] += side->slots[slot].instances;
	row->kernels[s] += side->slots[slot].kernels;
	for (size_t i = 0; i < side->nsamples; i++)
		row->ns[s][i] += side->slot_ns[slot * side->nsamples + i];
}

static enum ws_status add_group(const struct ws_diff *d, const struct by_group of[2], size_t g,
                                ws_diff_key_fn key_of, struct ws_diff_rows *out, struct ws_err *err)
{
	uint32_t key[WS_DIFF_FIELDS] = {0};
	const struct ws_side_item *first[2];
	struct ws_diff_row *row;
	size_t n[2];

	for (int s = 0; s < 2; s++) {
		n[s] = of[s].first[g + 1] - of[s].first[g];
		first[s] = n[s] ? &d->side[s].slots[of[s].order[of[s].first[g]]] : NULL;
	}
	key_of(d, first, n, d->match.by[g], key);
	WS_FORWARD(ws_diff_row_of(out, key, &row, err));
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < n[s]; i++)
			add_slot(d, s, of[s].order[of[s].first[g] + i], row);
	return WS_OK;
}

static enum ws_status add_unmatched(const struct ws_diff *d, int s, ws_diff_key_fn key_of,
                                    struct ws_diff_rows *out, struct ws_err *err)
{
	for (uint32_t i = 0; i < d->side[s].nslots; i++) {
		const struct ws_side_item *item[2] = {NULL, NULL};
		uint32_t key[WS_DIFF_FIELDS] = {0};
		const size_t n[2] = {!s, s != 0};
		struct ws_diff_row *row;

		if (d->match.group[s][i] != WS_NONE)
			continue;
		item[s] = &d->side[s].slots[i];
		key_of(d, item, n, -1, key);
		WS_FORWARD(ws_diff_row_of(out, key, &row, err));
		add_slot(d, s, i, row);
	}
	return WS_OK;
}

enum ws_status ws_diff_rows_of_work(const struct ws_diff *d, ws_diff_key_fn key_of,
                                    struct ws_diff_rows *out, struct ws_err *err)
{
	struct by_group of[2] = {{0}};
	enum ws_status status = WS_OK;

	*out = (struct ws_diff_rows){.nsamples = {d->side[0].nsamples, d->side[1].nsamples}};
	for (int s = 0; s < 2 && status == WS_OK; s++)
		status = sort_by_group(d, s, &of[s], err);
	for (size_t g = 0; g < d->match.ngroups && status == WS_OK; g++)
		status = add_group(d, of, g, key_of, out, err);
	for (int s = 0; s < 2 && status == WS_OK; s++)
		status = add_unmatched(d, s, key_of, out, err);
	for (int s = 0; s < 2; s++) {
		free(of[s].order);
		free(of[s].first);
	}
	return status == WS_OK ? ws_diff_rows_grade(d, out, err) : status;
}
