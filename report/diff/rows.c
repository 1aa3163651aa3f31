#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
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

struct work_rows {
	const struct ws_diff *d;
	struct ws_diff_rows *out;
	ws_diff_key_fn key_of;
	int side;
	struct ws_rows_by_key of[2]; /* slots of each side by group */
	uint32_t *row_of[2];         /* slot -> its row */
	struct ws_arena temp;
};

/* The row of a group, or of one slot alone, by: -1. */
static enum ws_status add_row(struct work_rows *w, const uint32_t *const slot[2], const size_t n[2],
                              int by, struct ws_err *err)
{
	const struct ws_diff *d = w->d;
	const struct ws_work_item *item[2] = {NULL, NULL};
	uint32_t key[WS_DIFF_FIELDS] = {0};
	struct ws_diff_row *row;

	for (int s = 0; s < 2; s++)
		if (n[s])
			item[s] = ws_names_item(&d->names, d->side[s].slots[*slot[s]].item);
	w->key_of(d, item, n, by, key);
	WS_FORWARD(ws_diff_row_of(w->out, key, &row, err));
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < n[s]; i++)
			w->row_of[s][slot[s][i]] = (uint32_t)(row - w->out->row);
	return WS_OK;
}

static void add_call(void *ctx, size_t sample, const struct ws_work_call *call)
{
	const struct work_rows *w = ctx;
	const int s = w->side;
	struct ws_diff_row *row = &w->out->row[w->row_of[s][call->slot]];

	row->instances[s]++;
	row->kernels[s] += ws_names_item(&w->d->names, call->item)->nkernels;
	row->ns[s][sample] += call->gpu_ns;
}

static enum ws_status find_rows(struct work_rows *w, struct ws_err *err)
{
	const struct ws_diff *d = w->d;

	for (int s = 0; s < 2; s++) {
		WS_NEW(&w->temp, w->row_of[s], d->side[s].nslots);
		WS_FORWARD(ws_order_by_key(&w->of[s], &w->temp, d->match.group[s],
		                           d->side[s].nslots, d->match.ngroups, err));
	}
	for (size_t g = 0; g < d->match.ngroups; g++) {
		const uint32_t *slot[2];
		size_t n[2];

		for (int s = 0; s < 2; s++) {
			slot[s] = w->of[s].order + w->of[s].first[g];
			n[s] = w->of[s].first[g + 1] - w->of[s].first[g];
		}
		WS_FORWARD(add_row(w, slot, n, d->match.by[g], err));
	}
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; i < d->side[s].nslots; i++)
			if (d->match.group[s][i] == WS_NONE)
				WS_FORWARD(add_row(w, (const uint32_t *const[]){&i, &i},
				                   (const size_t[]){!s, s != 0}, -1, err));
	return WS_OK;
}

enum ws_status ws_diff_rows_of_work(const struct ws_diff *d, ws_diff_key_fn key_of,
                                    struct ws_diff_rows *out, struct ws_err *err)
{
	struct work_rows w = {.d = d, .out = out, .key_of = key_of};
	enum ws_status status;

	*out = (struct ws_diff_rows){.nsamples = {d->side[0].nsamples, d->side[1].nsamples}};
	status = find_rows(&w, err);
	for (w.side = 0; w.side < 2 && status == WS_OK; w.side++)
		ws_side_each_call(&d->side[w.side], add_call, &w);
	ws_arena_free(&w.temp);
	return status == WS_OK ? ws_diff_rows_grade(d, out, err) : status;
}
