/*
 * sweep-pivot and sweep-scaling.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"
#include "report/diff/sweep_private.h"

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory for the pivot");
}

/* --- sweep-pivot ------------------------------------------------------------------------- */

struct pivot {
	struct ws_sweep *s;
	const struct ws_table *rows; /* the table of the sweep */
	const char *row_key, *column_key;
	uint32_t *column_value; /* of each column group, in order */
	size_t ncolumns;
	int shown[4]; /* columns of the table that each group shows */
	size_t nshown;
	uint32_t *label; /* row of the sweep -> text of its configuration */
};

static enum ws_status find_shown(struct pivot *p, const char *value, struct ws_err *err)
{
	static const int usual[] = {WS_TC_sweep_forward_ns, WS_TC_sweep_forward_std_ns,
	                            WS_TC_sweep_backward_ns, WS_TC_sweep_backward_std_ns};
	const struct ws_table_def *def = p->rows->def;

	if (!value) {
		memcpy(p->shown, usual, sizeof(usual));
		p->nshown = 4;
		return WS_OK;
	}
	for (size_t i = 0; i < def->ncolumns; i++)
		if (!strcasecmp(def->columns[i].id, value) ||
		    !strcasecmp(def->columns[i].title, value))
			p->shown[p->nshown++] = (int)i;
	WS_FAIL_IF(!p->nshown || def->columns[p->shown[0]].type == WS_CELL_TEXT, err, USAGE,
	           "--value %s: no column of numbers of the table sweep; write its title, as in "
	           "'Total (ns)'",
	           value);
	return WS_OK;
}

/* A key that the user gave, else the first of these that runs have in more than one value. */
static enum ws_status find_key(const struct ws_sweep *s, const char *given, const char *option,
                               const char *other, const char **out, struct ws_err *err)
{
	static const char *const usual[] = {"context", "batch", "dtype", "model", "layers"};

	WS_FAIL_IF(given && !ws_sweep_has_key(s, given), err, USAGE,
	           "--%s %s: no trace has such a fact; 'warpsheet info' lists a trace's", option,
	           given);
	*out = given;
	for (size_t k = 0; !*out && k < sizeof(usual) / sizeof(*usual); k++)
		for (size_t i = 1; i < s->nrows; i++)
			if (strcmp(usual[k], other) != 0 &&
			    ws_sweep_fact(s, &s->rows[i], usual[k]) !=
			            ws_sweep_fact(s, &s->rows[0], usual[k]))
				*out = usual[k];
	if (!*out)
		*out = strcmp(other, "context") ? "context" : "batch";
	return WS_OK;
}

static int by_value(const void *a, const void *b, void *s)
{
	return ws_sweep_compare_values(s, *(const uint32_t *)a, *(const uint32_t *)b);
}

static enum ws_status find_columns(struct pivot *p, struct ws_err *err)
{
	struct ws_sweep *s = p->s;
	size_t n = 0;

	p->column_value = calloc(s->nrows + 1, sizeof(*p->column_value));
	if (!p->column_value)
		return no_memory(err);
	for (size_t i = 0; i < s->nrows; i++)
		p->column_value[i] = ws_sweep_fact(s, &s->rows[i], p->column_key);
	qsort_r(p->column_value, s->nrows, sizeof(*p->column_value), by_value, s);
	for (size_t i = 0; i < s->nrows; i++)
		if (!i || p->column_value[i] != p->column_value[n - 1])
			p->column_value[n++] = p->column_value[i];
	p->ncolumns = n;
	return WS_OK;
}

static enum ws_status make_def(struct pivot *p, struct ws_err *err)
{
	struct ws_arena *arena = &p->s->arena;
	const struct ws_table_column *from = p->rows->def->columns;
	size_t n = 2 + p->ncolumns * p->nshown, at = 0;
	struct ws_table_column *columns = ws_arena_array(arena, n, sizeof(*columns));

	if (!columns)
		return no_memory(err);
	columns[at++] = (struct ws_table_column){.id = "row",
	                                         .title = ws_arena_copy(arena, p->row_key,
	                                                                strlen(p->row_key)),
	                                         .unit = "",
	                                         .type = WS_CELL_TEXT,
	                                         .definition = "The fact that makes the rows."};
	columns[at++] =
	        (struct ws_table_column){.id = "configuration",
	                                 .title = "Configuration",
	                                 .unit = "",
	                                 .type = WS_CELL_TEXT,
	                                 .definition = "What else differs between the rows."};
	for (size_t c = 0; c < p->ncolumns; c++) {
		struct ws_bytes value = ws_texts_get(&p->s->names.texts, p->column_value[c]);

		for (size_t k = 0; k < p->nshown; k++) {
			const struct ws_table_column *of = &from[p->shown[k]];

			columns[at] = *of;
			columns[at].id = ws_arena_format(arena, "%s_%zu", of->id, c);
			columns[at++].title =
			        ws_arena_format(arena, "%s %.*s %s", p->column_key,
			                        value.len < 60 ? (int)value.len : 60,
			                        value.len ? (const char *)value.ptr : "?",
			                        of->title);
		}
	}
	p->s->pivot = ws_def_sweep_pivot;
	p->s->pivot.columns = columns;
	p->s->pivot.ncolumns = n;
	return ws_arena_check(arena, "the pivot", err);
}

/* Facts in which rows differ beside the pivot's own: "dtype fp32, layers 2". */
static enum ws_status find_labels(struct pivot *p, struct ws_err *err)
{
	static const char *const also[] = {"model", "context", "batch", "dtype", "phase"};
	struct ws_sweep *s = p->s;

	p->label = calloc(s->nrows + 1, sizeof(*p->label));
	if (!p->label)
		return no_memory(err);
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_cell *others =
		        &p->rows->cells[i * p->rows->def->ncolumns + WS_TC_sweep_others];
		const char *label = "";

		for (size_t k = 0; k < sizeof(also) / sizeof(*also); k++) {
			uint32_t value = ws_sweep_fact(s, &s->rows[i], also[k]);
			struct ws_bytes text = ws_texts_get(&s->names.texts, value);
			int differs = 0;

			/* what left no trace does not say all */
			for (size_t r = 0; r < s->nrows && value; r++) {
				uint32_t other = ws_sweep_fact(s, &s->rows[r], also[k]);

				differs |= other && other != value;
			}
			if (differs && strcmp(also[k], p->row_key) &&
			    strcmp(also[k], p->column_key))
				label = ws_arena_format(&s->arena, "%s%s%s %.*s", label,
				                        *label ? ", " : "", also[k], (int)text.len,
				                        (const char *)text.ptr);
		}
		if (others->type == WS_CELL_TEXT)
			label = ws_arena_format(&s->arena, "%s%s%.*s", label, *label ? ", " : "",
			                        (int)others->text.len, others->text.ptr);
		WS_FORWARD(ws_arena_check(&s->arena, "the pivot", err));
		WS_FORWARD(ws_texts_add_str(&s->names.texts, label, &p->label[i], err));
	}
	return WS_OK;
}

static size_t column_of(const struct pivot *p, uint32_t value)
{
	size_t c = 0;

	while (p->column_value[c] != value)
		c++;
	return c;
}

static void fill_pivot(const struct pivot *p, struct ws_table *t)
{
	struct ws_sweep *s = p->s;
	uint32_t *row_value = calloc(s->nrows + 1, sizeof(*row_value));
	uint32_t *row_label = calloc(s->nrows + 1, sizeof(*row_label));

	for (size_t i = 0; i < s->nrows && row_value && row_label; i++) {
		uint32_t value = ws_sweep_fact(s, &s->rows[i], p->row_key);
		size_t c = column_of(p, ws_sweep_fact(s, &s->rows[i], p->column_key)), r = 0;
		struct ws_cell *cells;

		while (r < t->nrows && (row_value[r] != value || row_label[r] != p->label[i]))
			r++;
		if (r == t->nrows) {
			struct ws_bytes text = ws_texts_get(&s->names.texts, value),
			                label = ws_texts_get(&s->names.texts, p->label[i]);

			cells = ws_table_row(t);
			row_value[r] = value;
			row_label[r] = p->label[i];
			if (text.len)
				ws_cell_set_text(t, &cells[0], text.ptr, text.len);
			if (label.len)
				ws_cell_set_text(t, &cells[1], label.ptr, label.len);
		}
		cells = t->cells + r * t->def->ncolumns;
		for (size_t k = 0; k < p->nshown; k++) {
			const struct ws_cell *from =
			        &p->rows->cells[i * p->rows->def->ncolumns + (size_t)p->shown[k]];

			if (from->type == WS_CELL_REAL)
				ws_cell_set_real(&cells[2 + c * p->nshown + k], from->r);
			else if (from->type == WS_CELL_INT)
				ws_cell_set_int(&cells[2 + c * p->nshown + k], from->i);
		}
	}
	free(row_value);
	free(row_label);
}

enum ws_status ws_sweep_pivot(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                              const struct ws_table *rows, struct ws_table **out,
                              struct ws_err *err)
{
	struct pivot p = {.s = s, .rows = rows};
	enum ws_status status = find_shown(&p, opts->value, err);

	*out = NULL;
	if (status == WS_OK)
		status = find_key(s,
		                  opts->rows                     ? opts->rows
		                  : ws_sweep_has_key(s, "model") ? "model"
		                                                 : NULL,
		                  "rows", "", &p.row_key, err);
	if (status == WS_OK)
		status = find_key(s, opts->columns, "columns", p.row_key, &p.column_key, err);
	if (status == WS_OK)
		status = find_columns(&p, err);
	if (status == WS_OK)
		status = make_def(&p, err);
	if (status == WS_OK)
		status = find_labels(&p, err);
	if (status == WS_OK && !(*out = ws_table_new(&s->pivot)))
		status = no_memory(err);
	if (status == WS_OK)
		fill_pivot(&p, *out);
	free(p.column_value);
	free(p.label);
	return status;
}

/* --- sweep-scaling ----------------------------------------------------------------------- */

/* A straight line through points on logarithmic scales. */
struct line {
	double slope, low, high; /* 95 % interval; NaN with under three points */
	size_t n;
};

static struct line fit(const double *x, const double *y, size_t n)
{
	double mx = 0, my = 0, xx = 0, xy = 0, rest = 0, half;
	struct line l = {NAN, NAN, NAN, n};

	for (size_t i = 0; i < n; i++) {
		mx += x[i] / (double)n;
		my += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		xy += (x[i] - mx) * (y[i] - my);
	}
	if (n < 2 || xx <= 0)
		return l;
	l.slope = xy / xx;
	if (n < 3)
		return l;
	for (size_t i = 0; i < n; i++) {
		double off = y[i] - my - l.slope * (x[i] - mx);

		rest += off * off;
	}
	half = ws_stat_t_quantile(0.975, (double)(n - 2)) * sqrt(rest / (double)(n - 2) / xx);
	l.low = l.slope - half;
	l.high = l.slope + half;
	return l;
}

static double number_of(const struct ws_sweep *s, const struct ws_sweep_row *row, const char *key)
{
	struct ws_bytes text = ws_texts_get(&s->names.texts, ws_sweep_fact(s, row, key));
	char copy[32] = "", *end;
	double value;

	if (!text.len || text.len >= sizeof(copy))
		return NAN;
	memcpy(copy, text.ptr, text.len);
	value = strtod(copy, &end);
	return *end || value <= 0 ? NAN : value;
}

/* Are two rows the same but for this fact, and what follows from it? */
static bool differ_only_in(const struct ws_sweep *s, const struct ws_sweep_row *a,
                           const struct ws_sweep_row *b, const char *key)
{
	const struct ws_sweep_run *x = &s->runs[a->first], *y = &s->runs[b->first];
	static const char *const follow[] = {"result",          "seed",  "skipped_steps",
	                                     "parameters",      "steps", "tokens_per_step",
	                                     "images_per_step", "warmup"};

	for (uint32_t k = 1; k <= s->keys.n; k++) {
		struct ws_bytes name = ws_texts_get(&s->keys, k);
		uint32_t va = k < x->nfacts ? x->fact[k] : 0, vb = k < y->nfacts ? y->fact[k] : 0;
		bool follows = ws_name_is(name, key);

		for (size_t i = 0; i < sizeof(follow) / sizeof(*follow); i++)
			follows |= ws_name_is(name, follow[i]);
		if (!follows && va != vb)
			return false;
	}
	return true;
}

static void add_scaling(const struct ws_sweep *s, struct ws_table *t, size_t first,
                        const size_t *group, size_t n, const char *key, double *x, double *y)
{
	static const char *const names[] = {"forward", "backward", "optimizer", "total"};
	const struct ws_sweep_row *row = &s->rows[first];

	for (int time = 0; time < WS_SWEEP_TIMES; time++) {
		struct ws_bytes model = ws_texts_get(&s->names.texts,
		                                     ws_sweep_fact(s, row, "model")),
		                dtype = ws_texts_get(&s->names.texts,
		                                     ws_sweep_fact(s, row, "dtype"));
		struct line line, theory = {NAN, NAN, NAN, 0};
		struct ws_cell *cells;
		size_t points = 0, known = 0;

		for (size_t i = 0; i < n; i++) {
			const struct ws_sweep_row *of = &s->rows[group[i]];

			if (!(of->mean[time] > 0))
				continue;
			x[points] = log(number_of(s, of, key));
			y[points++] = log(of->mean[time]);
		}
		line = fit(x, y, points);
		if (isnan(line.slope))
			continue;
		for (size_t i = 0; i < n && time == WS_SWEEP_TOTAL; i++) {
			const struct ws_sweep_row *of = &s->rows[group[i]];

			if (!(of->flops > 0))
				continue;
			x[known] = log(number_of(s, of, key));
			y[known++] = log(of->flops);
		}
		if (known)
			theory = fit(x, y, known);
		cells = ws_table_row(t);
		ws_cell_set_text(t, &cells[WS_TC_sweep_scaling_model], model.ptr, model.len);
		ws_cell_set_text(t, &cells[WS_TC_sweep_scaling_dtype], dtype.ptr, dtype.len);
		ws_cell_set_str(t, &cells[WS_TC_sweep_scaling_over], key);
		ws_cell_set_str(t, &cells[WS_TC_sweep_scaling_time], names[time]);
		ws_cell_set_int(&cells[WS_TC_sweep_scaling_points], (int64_t)points);
		ws_cell_set_real(&cells[WS_TC_sweep_scaling_exponent], line.slope);
		ws_cell_set_real(&cells[WS_TC_sweep_scaling_low], line.low);
		ws_cell_set_real(&cells[WS_TC_sweep_scaling_high], line.high);
		ws_cell_set_real(&cells[WS_TC_sweep_scaling_flops], theory.slope);
	}
}

enum ws_status ws_sweep_scaling(struct ws_sweep *s, struct ws_table *t, struct ws_err *err)
{
	static const char *const keys[] = {"context",          "batch",
	                                   "layers",           "kernel_width",
	                                   "depth_multiplier", "image_size",
	                                   "channels"};
	size_t *group = calloc(s->nrows + 1, sizeof(*group));
	double *x = calloc(s->nrows + 1, sizeof(*x)), *y = calloc(s->nrows + 1, sizeof(*y));
	uint8_t *done = calloc(s->nrows + 1, 1);
	enum ws_status status = group && x && y && done ? WS_OK : no_memory(err);

	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys) && status == WS_OK; k++) {
		memset(done, 0, s->nrows);
		for (size_t i = 0; i < s->nrows; i++) {
			size_t n = 0;

			if (done[i] || isnan(number_of(s, &s->rows[i], keys[k])))
				continue;
			for (size_t j = i; j < s->nrows; j++)
				if (differ_only_in(s, &s->rows[i], &s->rows[j], keys[k]) &&
				    !isnan(number_of(s, &s->rows[j], keys[k]))) {
					done[j] = 1;
					group[n++] = j;
				}
			if (n > 1)
				add_scaling(s, t, i, group, n, keys[k], x, y);
		}
	}
	free(group);
	free(x);
	free(y);
	free(done);
	if (!t->nrows)
		ws_table_set_not_recorded(t, "No two traces differ in one size alone: nothing to "
		                             "draw a line through.");
	return status;
}
