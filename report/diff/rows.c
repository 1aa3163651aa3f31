#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
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

void ws_diff_row_of(struct ws_diff_rows *r, const uint32_t key[WS_DIFF_FIELDS],
                    struct ws_diff_row **out)
{
	struct ws_diff_row *row;
	uint32_t number;

	number = ws_texts_add(&r->keys, (struct ws_bytes){key, WS_DIFF_FIELDS * sizeof(*key)});
	if (number <= r->n) {
		*out = &r->row[number - 1];
		return;
	}
	WS_GROW(r->row, r->n + 1, r->capacity);
	*out = row = &r->row[r->n++];
	*row = (struct ws_diff_row){0};
	memcpy(row->field, key, sizeof(row->field));
	for (int s = 0; s < 2; s++)
		row->ns[s] = ws_xarray(r->nsamples[s] + 1, sizeof(*row->ns[s]));
}

void ws_diff_compare(const struct ws_diff *d, const int64_t *a, const int64_t *b,
                     struct ws_comparison *out)
{
	const int64_t *ns[2] = {a, b};
	struct ws_samples samples[2];
	double *values[2] = {NULL, NULL};

	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		values[s] = ws_xarray(side->nsamples + 1, sizeof(*values[s]));
		/* work that a sample lacks took less than can be told: logarithms want a value */
		for (size_t i = 0; i < side->nsamples; i++)
			values[s][i] = ns[s][i] > 0 ? (double)ns[s][i] : 0.5;
		samples[s] = (struct ws_samples){values[s], side->steps, side->nrecordings};
	}
	ws_compare(&samples[0], &samples[1], &d->grade, out);
	if (ws_diff_is_unlike(d))
		out->grade = WS_GRADE_UNLIKE;
	free(values[0]);
	free(values[1]);
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

	WS_ORDER_BY(y, x);
	return memcmp(a->field, b->field, sizeof(a->field));
}

void ws_diff_rows_grade(const struct ws_diff *d, struct ws_diff_rows *r)
{
	struct ws_comparison **both = ws_xarray(r->n + 1, sizeof(*both));
	size_t n = 0;

	for (size_t i = 0; i < 2 * r->n; i++) {
		struct ws_diff_row *row = &r->row[i / 2];
		int s = i % 2;

		row->mean[s] = row->instances[s] ? mean_of(row->ns[s], r->nsamples[s]) : NAN;
	}
	if (r->n)
		qsort(r->row, r->n, sizeof(*r->row), by_change);
	for (size_t i = 0; i < r->n; i++) {
		struct ws_diff_row *row = &r->row[i];

		/* of work that one side has alone the typical time is wanted, no grade */
		ws_diff_compare(d, row->ns[0], row->ns[1], &row->c);
		if (row->instances[0] && row->instances[1])
			both[n++] = &row->c;
	}
	ws_grade_rows(both, n, &d->grade);
	free(both);
}
