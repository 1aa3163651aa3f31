/* sweep-scaling: how times grow with sizes. */
#include <stdlib.h>
#include <string.h>

#include "report/sweep/private.h"

const char *const ws_sweep_sizes[] = {"context",          "batch",      "layers",   "kernel_width",
                                      "depth_multiplier", "image_size", "channels", NULL};

/* A straight line through points on logarithmic scales. */
struct line {
	double slope, low, high; /* 95 % interval; NaN with under three points */
};

static struct line fit(const double *x, const double *y, size_t n)
{
	double mx = 0, my = 0, xx = 0, xy = 0, rest = 0, half;
	struct line l = {NAN, NAN, NAN};

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

/* Rows that differ in one size alone. */
struct group {
	const struct ws_sweep *s;
	const char *key;
	const struct ws_sweep_row **row;
	size_t n;
	double *x, *y;
};

/* The size; NaN when it is no number over 0. */
static double size_of(const struct ws_sweep *s, const struct ws_sweep_row *row, const char *key)
{
	double value;

	return ws_sweep_number(ws_sweep_text(s, row->run, key), &value) && value > 0 ? value : NAN;
}

/* A line through a time of the group, or through its FLOPs: time WS_SWEEP_TIMES. */
static struct line fit_group(const struct group *g, int time, size_t *points)
{
	*points = 0;
	for (size_t i = 0; i < g->n; i++) {
		const struct ws_sweep_row *row = g->row[i];
		double value = time == WS_SWEEP_TIMES ? row->run->flops : row->mean[time];

		if (!(value > 0))
			continue;
		g->x[*points] = log(size_of(g->s, row, g->key));
		g->y[(*points)++] = log(value);
	}
	return fit(g->x, g->y, *points);
}

static void add_group(const struct group *g, struct ws_table *t)
{
	static const char *const names[] = {"forward", "backward", "optimizer", "total"};

	for (int time = 0; time <= WS_SWEEP_TOTAL; time++) {
		struct ws_bytes model = ws_sweep_text(g->s, g->row[0]->run, "model"),
		                dtype = ws_sweep_text(g->s, g->row[0]->run, "dtype");
		size_t points, known;
		struct line line = fit_group(g, time, &points);
		struct ws_cell *cells;

		if (isnan(line.slope))
			continue;
		cells = ws_table_row(t);
		ws_cell_set_text(t, &cells[WS_TC_sweep_scaling_model], model.ptr, model.len);
		ws_cell_set_text(t, &cells[WS_TC_sweep_scaling_dtype], dtype.ptr, dtype.len);
		ws_cell_set_str(t, &cells[WS_TC_sweep_scaling_over], g->key);
		ws_cell_set_str(t, &cells[WS_TC_sweep_scaling_time], names[time]);
		ws_cell_set_int(&cells[WS_TC_sweep_scaling_points], (int64_t)points);
		ws_cell_set_real(&cells[WS_TC_sweep_scaling_exponent], line.slope);
		ws_cell_set_real(&cells[WS_TC_sweep_scaling_low], line.low);
		ws_cell_set_real(&cells[WS_TC_sweep_scaling_high], line.high);
		if (time == WS_SWEEP_TOTAL)
			ws_cell_set_real(&cells[WS_TC_sweep_scaling_flops],
			                 fit_group(g, WS_SWEEP_TIMES, &known).slope);
	}
}

void ws_sweep_scaling(struct ws_sweep *s, struct ws_table *t)
{
	struct group g = {.s = s,
	                  .row = ws_arena_array(&s->arena, s->nrows, sizeof(*g.row)),
	                  .x = ws_arena_array(&s->arena, s->nrows, sizeof(*g.x)),
	                  .y = ws_arena_array(&s->arena, s->nrows, sizeof(*g.y))};
	uint8_t *done = ws_arena_array(&s->arena, s->nrows, 1);

	for (size_t k = 0; ws_sweep_sizes[k]; k++) {
		g.key = ws_sweep_sizes[k];
		if (s->nrows)
			memset(done, 0, s->nrows);
		for (size_t i = 0; i < s->nrows; i++) {
			if (done[i] || isnan(size_of(s, &s->rows[i], g.key)))
				continue;
			g.n = 0;
			for (size_t j = i; j < s->nrows; j++)
				if (ws_sweep_differ_only_in(s, s->rows[i].run, s->rows[j].run,
				                            g.key, "warmup") &&
				    !isnan(size_of(s, &s->rows[j], g.key))) {
					done[j] = 1;
					g.row[g.n++] = &s->rows[j];
				}
			if (g.n > 1)
				add_group(&g, t);
		}
	}
	if (!t->nrows)
		ws_table_set_not_recorded(t, "No two traces differ in one size alone: nothing to "
		                             "draw a line through.");
}
