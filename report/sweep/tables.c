/* The report of a sweep: its tables, the sentences of its verdict and its first screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/analysis/utilization.h"
#include "report/base/say.h"
#include "report/page/page.h"
#include "report/query/query.h"
#include "report/sweep/private.h"
#include "report/tables/report.h"
#include "report/tables/tables.h"

/* --- configuration: a row of `sweep` -------------------------------------------------------- */

static size_t count_configurations(void *ctx)
{
	return ((const struct ws_sweep *)ctx)->nrows;
}

/* As a number where it is one. */
static void put_number(struct ws_put *out, struct ws_bytes value)
{
	double number;

	if (ws_sweep_number(value, &number))
		ws_put_int(out, (int64_t)number);
	else
		ws_put_text(out, value);
}

/* A phase, and its window on the device. */
#define PHASE(X, name, NAME)                                          \
	X(name##_ns, ws_put_real(out, row->mean[WS_SWEEP_##NAME]))    \
	X(name##_std_ns, ws_put_real(out, row->std[WS_SWEEP_##NAME])) \
	X(window_##name##_ns, ws_put_real(out, row->mean[WS_SWEEP_##NAME##_WINDOW]))

#define CONFIGURATION(X)                                                           \
	X(model, ws_put_text(out, ws_sweep_text(s, run, "model")))                 \
	X(context, put_number(out, ws_sweep_text(s, run, "context")))              \
	X(batch, put_number(out, ws_sweep_text(s, run, "batch")))                  \
	X(dtype, ws_put_text(out, ws_sweep_text(s, run, "dtype")))                 \
	X(phase, ws_put_text(out, ws_sweep_text(s, run, "phase")))                 \
	X(recordings, ws_put_count(out, row->n))                                   \
	X(steps, if (run->has_steps || !row->steps) ws_put_count(out, row->steps)) \
	PHASE(X, forward, FORWARD)                                                 \
	PHASE(X, backward, BACKWARD)                                               \
	PHASE(X, optimizer, OPTIMIZER)                                             \
	X(total_ns, ws_put_real(out, row->mean[WS_SWEEP_TOTAL]))                   \
	X(total_std_ns, ws_put_real(out, row->std[WS_SWEEP_TOTAL]))                \
	X(step_tokens, if (run->tokens > 0) ws_put_real(out, run->tokens))         \
	X(step_images, if (run->images > 0) ws_put_real(out, run->images))         \
	X(step_flops, ws_put_real(out, run->flops))                                \
	X(mfu, ws_put_real(out, row->mfu_percent))                                 \
	X(hfu, ws_put_real(out, row->hfu_percent))                                 \
	X(check, ws_put_str(out, row->check))                                      \
	X(peak_bytes, ws_put_real(out, row->peak_bytes))                           \
	X(softmax, ws_put_real(out, run->softmax_percent))                         \
	X(speedup, ws_put_real(out, row->speedup))                                 \
	X(low, ws_put_real(out, row->low))                                         \
	X(high, ws_put_real(out, row->high))                                       \
	X(status, ws_put_text(out, ws_bytes_of(row->status)))                      \
	X(others, ws_put_text(out, ws_bytes_of(ws_sweep_list_others(s, "", run, "", ""))))

static void put_configuration(void *ctx, size_t number, int column, struct ws_put *out)
{
	struct ws_sweep *s = ctx;
	const struct ws_sweep_row *row = &s->rows[number];
	const struct ws_sweep_run *run = row->run;

	WS_PUT_COLUMN(column, CONFIGURATION);
}

static const struct ws_relation configuration = {"configuration", CONFIGURATION(WS_COLUMN_NAME),
                                                 count_configurations, put_configuration};

void ws_sweep_relations(struct ws_query *q, struct ws_sweep *s)
{
	ws_query_add(q, &configuration, s);
}

static void note_sweep(const struct ws_sweep *s, struct ws_table *t)
{
	ws_table_show_as(t, WS_TC_sweep_forward_ns, "Host Forward (ns)");
	ws_table_show_as(t, WS_TC_sweep_backward_ns, "Host Backward (ns)");
	ws_table_show_as(t, WS_TC_sweep_optimizer_ns, "Host Optimizer (ns)");
	ws_table_note(t, "MFU: FLOPs of the forward's matmuls and convolutions over the step's "
	                 "time and the dense peak of their dtype. With a backward, three times "
	                 "that. HFU: FLOPs of all that ran. Attention counts the pairs that its "
	                 "operation computes. Empty where the device's peak is not known.");
	if (!isnan(s->grade.run_noise))
		ws_table_note(t,
		              "Intervals of speed-ups with fewer than three runs per side assume "
		              "%.3g %% noise between runs (--run-noise).",
		              s->grade.run_noise * 100);
}

/* --- sweep-pivot: the table of a sweep by two facts ----------------------------------------- */

#define MOST_SHOWN 5

struct pivot {
	struct ws_sweep *s;
	const char *row_title, *column_title; /* keys of the facts of rows and of columns */
	uint32_t row, column;                 /* their numbers */
	uint32_t *group;                      /* values of the columns' fact, once each, in order */
	size_t ngroups;
	int shown[MOST_SHOWN]; /* columns of the table sweep that each group shows */
	size_t nshown;
};

/* The column that --value names, else the phases' times. */
static enum ws_status find_shown(struct pivot *p, struct ws_err *err)
{
	static const int usual[MOST_SHOWN] = {WS_TC_sweep_forward_ns, WS_TC_sweep_forward_std_ns,
	                                      WS_TC_sweep_backward_ns, WS_TC_sweep_backward_std_ns,
	                                      WS_TC_sweep_backward_ratio};
	const struct ws_table_def *def = p->s->table->def;
	const char *value = p->s->opts->value;

	for (size_t i = 0; i < MOST_SHOWN && !value; i++)
		p->shown[p->nshown++] = usual[i];
	for (size_t i = 0; i < def->ncolumns && value && !p->nshown; i++)
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

	WS_FAIL_IF(given && !ws_sweep_key(s, given), err, USAGE,
	           "--%s %s: no trace has such a fact; 'warpsheet info' lists a trace's", option,
	           given);
	*out = given;
	for (size_t k = 0; !*out && k < sizeof(usual) / sizeof(*usual); k++) {
		const uint32_t key = ws_sweep_key(s, usual[k]);

		for (size_t i = 1; i < s->nrows; i++)
			if (strcmp(usual[k], other) != 0 &&
			    ws_sweep_value(s->rows[i].run, key) !=
			            ws_sweep_value(s->rows[0].run, key))
				*out = usual[k];
	}
	if (!*out)
		*out = strcmp(other, "context") ? "context" : "batch";
	return WS_OK;
}

static int by_value(const void *a, const void *b, void *s)
{
	return ws_sweep_compare_values(s, *(const uint32_t *)a, *(const uint32_t *)b);
}

static void find_groups(struct pivot *p)
{
	struct ws_sweep *s = p->s;

	WS_NEW(&s->arena, p->group, s->nrows);
	for (size_t i = 0; i < s->nrows; i++)
		p->group[i] = ws_sweep_value(s->rows[i].run, p->column);
	if (s->nrows)
		qsort_r(p->group, s->nrows, sizeof(*p->group), by_value, s);
	for (size_t i = 0; i < s->nrows; i++)
		if (!i || p->group[i] != p->group[p->ngroups - 1])
			p->group[p->ngroups++] = p->group[i];
}

/* The fixed columns of def, the first of which is called as --rows, and the groups'. */
static struct ws_table_def *make_def(const struct pivot *p, const struct ws_table_def *def)
{
	struct ws_arena *arena = &p->s->arena;
	const struct ws_table_column *from = p->s->table->def->columns;
	struct ws_table_def *made = ws_arena_alloc(arena, sizeof(*made));
	struct ws_table_column *columns =
	        ws_arena_array(arena, def->ncolumns + p->ngroups * p->nshown, sizeof(*columns));
	size_t at = def->ncolumns;

	memcpy(columns, def->columns, at * sizeof(*columns));
	columns[0].title = ws_arena_copy(arena, p->row_title, strlen(p->row_title));
	for (size_t c = 0; c < p->ngroups; c++) {
		struct ws_bytes value = ws_texts_get(&p->s->texts, p->group[c]);

		for (size_t k = 0; k < p->nshown; k++) {
			const struct ws_table_column *of = &from[p->shown[k]];

			columns[at] = *of;
			/* deviations too: they stand beside their means */
			if (!strcmp(of->unit, from[p->shown[0]].unit))
				columns[at].rank = WS_RANK_ANSWER;
			/* the ends of an interval are no ratios to draw */
			if (p->shown[k] == WS_TC_sweep_low || p->shown[k] == WS_TC_sweep_high)
				columns[at].display = WS_DISPLAY_REAL;
			columns[at].id = ws_arena_format(arena, "%s_%zu", of->id, c);
			columns[at++].title =
			        ws_arena_format(arena, "%s %.*s%s%s", p->column_title,
			                        value.len < 60 ? (int)value.len : 60,
			                        value.len ? (const char *)value.ptr : "",
			                        value.len ? " " : "", of->title);
		}
	}
	*made = *def;
	made->columns = columns;
	made->ncolumns = at;
	return made;
}

/* The facts in which rows of the pivot differ beside that of --rows: "dtype fp32, layers 2". */
static const char *label_of(const struct pivot *p, const struct ws_sweep_run *run)
{
	const char *label = "";

	for (size_t k = 0; k < WS_SWEEP_FACTS; k++) {
		const uint32_t key = ws_sweep_key(p->s, ws_sweep_facts[k]);

		if (key != p->row && key != p->column && p->s->varies[key])
			label = ws_sweep_list(p->s, label, ws_sweep_facts[k],
			                      ws_texts_get(&p->s->texts, ws_sweep_value(run, key)));
	}
	return ws_sweep_list_others(p->s, label, run, p->row_title, p->column_title);
}

static void fill_pivot(const struct pivot *p, size_t fixed, struct ws_table *t)
{
	struct ws_sweep *s = p->s;
	/* row of the pivot -> of the sweep with which it begins, and its label */
	size_t *first = ws_arena_array(&s->arena, s->nrows, sizeof(*first));
	const char **label = ws_arena_array(&s->arena, s->nrows, sizeof(*label));

	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_run *run = s->rows[i].run;
		const uint32_t value = ws_sweep_value(run, p->row);
		const char *own = label_of(p, run);
		struct ws_cell *cells;
		size_t c = 0, r = 0;

		while (p->group[c] != ws_sweep_value(run, p->column))
			c++;
		while (r < t->nrows && (ws_sweep_value(s->rows[first[r]].run, p->row) != value ||
		                        strcmp(label[r], own) != 0))
			r++;
		if (r == t->nrows) {
			const struct ws_bytes text =
			        value ? ws_texts_get(&s->texts, value) : ws_bytes_of("not known");

			first[r] = i;
			label[r] = own;
			cells = ws_table_row(t);
			ws_cell_set_text(t, &cells[WS_TC_sweep_pivot_row], text.ptr, text.len);
			if (*own)
				ws_cell_set_str(t, &cells[WS_TC_sweep_pivot_configuration], own);
		}
		cells = t->cells + r * t->def->ncolumns + fixed + c * p->nshown;
		for (size_t k = 0; k < p->nshown; k++)
			cells[k] = ws_table_cells(s->table, i)[p->shown[k]];
	}
}

/* In place of the empty table *t; after the table sweep. */
static enum ws_status make_pivot(struct ws_sweep *s, struct ws_table **t, struct ws_err *err)
{
	const struct ws_table_def *fixed = (*t)->def, *def;
	const char *rows = s->opts->rows;
	struct pivot p = {.s = s};

	if (!rows && ws_sweep_key(s, "model"))
		rows = "model";
	WS_FORWARD(find_shown(&p, err));
	WS_FORWARD(find_key(s, rows, "rows", "", &p.row_title, err));
	WS_FORWARD(find_key(s, s->opts->columns, "columns", p.row_title, &p.column_title, err));
	p.row = ws_sweep_key(s, p.row_title);
	p.column = ws_sweep_key(s, p.column_title);
	find_groups(&p);
	def = make_def(&p, fixed);
	ws_table_free(*t);
	*t = ws_table_new(def);
	fill_pivot(&p, fixed->ncolumns, *t);
	return WS_OK;
}

/* --- the verdict ----------------------------------------------------------------------------- */

static void add_failures(const struct ws_sweep *s, struct ws_table *t)
{
	ws_table_add(t, "configurations", "%zu configuration%s, %zu run%s, %zu failed.", s->nrows,
	             s->nrows == 1 ? "" : "s", s->nruns, s->nruns == 1 ? "" : "s", s->nfailed);
	if (s->ncopies)
		ws_table_add(t, "copies",
		             "%zu trace%s left out: %s has the same bytes as another, and a run "
		             "counts once.",
		             s->ncopies, s->ncopies == 1 ? " is" : "s are",
		             s->ncopies == 1 ? "it" : "each");
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		const char *colon = *r->name ? ": " : "";

		if (strncmp(r->status, WS_SWEEP_OK, strlen(WS_SWEEP_OK)) != 0)
			ws_table_add(t, "failed", "%s%s%.200s.", r->name, colon, r->status);
		if (r->check)
			ws_table_add(t, "ALARM", "%s%sMFU %.1f %%, HFU %.1f %%, %s", r->name, colon,
			             r->mfu_percent, r->hfu_percent, WS_OVER_PEAK);
	}
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

static void add_speedup(const struct ws_sweep *s, struct ws_table *t, const struct ws_sweep_gain *g)
{
	struct ws_bytes name = ws_texts_get(&s->texts, g->value),
	                base = ws_texts_get(&s->texts, s->baseline_value);
	char significance[160], range[64] = "";
	struct ws_cell *row;

	if (!g->n)
		return;
	print_significance(g, significance, sizeof(significance));
	if (g->n > 1)
		snprintf(range, sizeof(range), ", %.3g× to %.3g×", g->min, g->max);
	row = ws_table_add(t, "speed-up",
	                   "%.*s runs at %.3g× the speed of %.*s (%s%u configuration%s%s).%s",
	                   name.len < 80 ? (int)name.len : 80, (const char *)name.ptr, g->mean,
	                   base.len < 80 ? (int)base.len : 80, (const char *)base.ptr,
	                   g->n > 1 ? "geometric mean of " : "", g->n, g->n == 1 ? "" : "s", range,
	                   significance);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_value], g->mean);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_low], g->low);
	ws_cell_set_real(&row[WS_TC_sweep_verdict_high], g->high);
}

/* The model of a row: a text of the sweep, 0 = not known. */
static uint32_t model_of(const struct ws_sweep *s, size_t row)
{
	const uint32_t key = ws_sweep_key(s, "model");

	return key ? ws_sweep_value(s->rows[row].run, key) : 0;
}

/* The configuration of a model with the highest rate, and that of the next one; NULL: none is
 * known. Rates of different models are of different work. */
static const struct ws_sweep_row *find_best(const struct ws_sweep *s, uint32_t model, bool tokens,
                                            double rate[2])
{
	const struct ws_sweep_row *best = NULL;

	rate[0] = rate[1] = 0;
	for (size_t i = 0; i < s->nrows; i++) {
		const struct ws_sweep_row *r = &s->rows[i];
		const double own =
		        (tokens ? r->run->tokens : r->run->images) / r->mean[WS_SWEEP_TOTAL] * 1e9;

		if (model_of(s, i) != model)
			continue;
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
	for (size_t i = 0; i < s->nrows; i++) {
		double rate[2];
		const struct ws_sweep_row *best;
		size_t before = 0;

		while (before < i && model_of(s, before) != model_of(s, i))
			before++;
		best = before < i ? NULL : find_best(s, model_of(s, i), tokens, rate);
		if (!best)
			continue;
		ws_cell_set_real(&ws_table_add(t, subject, "Highest throughput%s%s.",
		                               *best->name ? ": " : "",
		                               best->name)[WS_TC_sweep_verdict_value],
		                 rate[0]);
	}
}

static void fill_verdict(const struct ws_sweep *s, struct ws_table *t)
{
	add_failures(s, t);
	for (size_t i = 0; i < s->ngains; i++)
		add_speedup(s, t, &s->gains[i]);
	if (s->nrows && !s->baseline_key)
		ws_table_add(t, "speed-up",
		             "No trace is a baseline (%s). Name another with --baseline "
		             "KEY=VALUE.",
		             s->baseline);
	add_best(s, t, "tokens/s", true);
	add_best(s, t, "images/s", false);
	if (s->on_cpu)
		ws_table_note(t, "Recorded on the CPU reference. These are CPU times, not "
		                 "GPU performance.");
}

/* --- the first screen: who is fastest, by how much, and what stands against it --------------- */

#define UNSEEN      1.0005
#define MEMORY_FROM 1.05 /* more memory than that stands against a speed-up */
#define NAME_WORDS  6 /* of "Highest throughput: NAME: 16.1 k tokens per second, 1.2× the next." */

struct answering {
	const struct ws_sweep *s;
	struct ws_page *out;
	struct ws_arena *texts;
};

static const char *text_of(const struct answering *a, uint32_t text)
{
	const struct ws_bytes value = ws_texts_get(&a->s->texts, text);

	return ws_arena_copy(a->texts, value.ptr, value.len);
}

/* That with the highest mean; NULL: nothing is compared. */
static const struct ws_sweep_gain *find_best_gain(const struct ws_sweep *s)
{
	const struct ws_sweep_gain *best = NULL;

	for (const struct ws_sweep_gain *g = s->gains; g < s->gains + s->ngains; g++)
		if (g->n && (!best || g->mean > best->mean))
			best = g;
	return best;
}

/* Of all rows together: nothing is claimed where one is not sure. */
static enum ws_grade grade_of(const struct ws_sweep_gain *g)
{
	if (g->faster == g->n)
		return g->is_assumed ? WS_GRADE_LIKELY_FASTER : WS_GRADE_FASTER;
	if (g->slower == g->n)
		return g->is_assumed ? WS_GRADE_LIKELY_SLOWER : WS_GRADE_SLOWER;
	return WS_GRADE_AMBIGUOUS;
}

/* Why it is not sure: "CPU runs need three per side to be sure"; NULL: one by one all are. */
static const char *unsure_of(const struct answering *a, const struct ws_sweep_gain *g)
{
	const unsigned sure = g->faster + g->slower;

	if (sure == g->n) /* some are slower: the next sentence */
		return NULL;
	if (g->unknown)
		return "CPU runs need three per side to be sure";
	if (g->n == 1 || !sure)
		return "runs vary too much to be sure";
	return ws_arena_format(a->texts, "only %u of %u differ beyond noise", sure, g->n);
}

/* "bf16 is 1.6× faster than fp32 (mean of 4 configurations)." Or: "bf16 looks 1.6× faster than
 * fp32, but CPU runs need three per side to be sure." */
static void say_speed(const struct answering *a, const struct ws_sweep_gain *g)
{
	const char *name = text_of(a, g->value), *base = text_of(a, a->s->baseline_value);
	const bool faster = g->mean > 1;
	const char *grade = ws_grade_name(grade_of(g));
	const char *unsure = grade_of(g) == WS_GRADE_AMBIGUOUS ? unsure_of(a, g) : NULL;
	const char *of = "";

	if (g->n > 1)
		of = ws_arena_format(a->texts, " (mean of %u configurations)", g->n);
	if (fmax(g->mean, 1 / g->mean) < UNSEEN)
		ws_page_say(a->out, grade, "", name, " is as fast as ", base, of, ".", NULL);
	else
		ws_page_say(a->out, grade, "", name, unsure ? " looks " : " is ",
		            ws_arena_format(a->texts, "%s %s", ws_say_amount(a->texts, g->mean),
		                            faster ? "faster" : "slower"),
		            ws_arena_format(a->texts, " than %s%s%s%s.", base, of,
		                            unsure ? ", but " : "", unsure ? unsure : ""),
		            NULL);
}

/* "Highest throughput: transformer-tiny, context 16: 16.1 k tokens per second, 1.2× the next." */
static bool say_throughput(const struct answering *a, bool tokens)
{
	double rate[2];
	const struct ws_sweep_row *best;
	const char *next_one = "";
	bool is_named;
	size_t words = 1;

	for (size_t i = 1; i < a->s->nrows; i++)
		if (model_of(a->s, i) != model_of(a->s, 0))
			return false;
	best = a->s->nrows ? find_best(a->s, model_of(a->s, 0), tokens, rate) : NULL;
	if (!best)
		return false;
	for (const char *c = best->name; *c; c++)
		words += *c == ' ';
	is_named = *best->name && words <= NAME_WORDS;
	if (rate[1] > 0 && rate[0] / rate[1] >= WS_SAY_TIMES_FROM)
		next_one = ws_arena_format(a->texts, ", %s the next",
		                           ws_say_amount(a->texts, rate[0] / rate[1]));
	ws_page_say(a->out, "", "Highest throughput: ",
	            is_named ? ws_arena_format(a->texts, "%s", best->name) : "",
	            is_named ? ": " : "",
	            ws_arena_format(a->texts, "%s%s per second", ws_say_si(a->texts, rate[0], ""),
	                            tokens ? " tokens" : " images"),
	            next_one, "", ".", NULL);
	return true;
}

static void say_slower_rows(const struct answering *a, const struct ws_sweep_gain *g)
{
	const unsigned against = g->mean < 1 ? g->n - g->under_1 : g->under_1;

	if (a->out->nheadline == WS_PAGE_LINES)
		return;
	if (against)
		ws_page_say(a->out, "", "But it is ",
		            ws_arena_format(a->texts, "%s in %u of %u",
		                            g->mean < 1 ? "faster" : "slower", against, g->n),
		            ", at most ", ws_say_amount(a->texts, g->mean < 1 ? g->max : g->min),
		            ".", NULL);
	if (a->out->nheadline < WS_PAGE_LINES && g->mean > 1 && g->memory >= MEMORY_FROM)
		ws_page_say(a->out, "", "But it takes ",
		            ws_arena_format(a->texts, "%s more memory",
		                            ws_say_amount(a->texts, g->memory)),
		            ws_arena_format(a->texts, " than %s.",
		                            text_of(a, a->s->baseline_value)),
		            NULL);
}

static void say_failures(const struct answering *a)
{
	const struct ws_sweep *s = a->s;

	for (size_t i = 0; i < s->nrows; i++)
		if (s->rows[i].check) {
			ws_page_say(a->out, "ALARM",
			            "A configuration exceeds the peak: see Verdict.", NULL);
			break;
		}
	if (s->nfailed)
		ws_page_say(a->out, "", "",
		            ws_arena_format(a->texts, "%zu of %zu runs failed", s->nfailed,
		                            s->nruns),
		            ": see Verdict.", NULL);
}

static void make_first_screen(const struct ws_sweep *s, struct ws_report *report)
{
	struct ws_page *out = report->page = ws_xarray(1, sizeof(*out));
	const struct answering a = {s, out, &out->arena};
	const struct ws_sweep_gain *best = find_best_gain(s);

	out->is_comparison = true;
	out->source = report->trace;
	out->title = ws_arena_format(a.texts, "%zu configuration%s in %zu run%s", s->nrows,
	                             s->nrows == 1 ? "" : "s", s->nruns, s->nruns == 1 ? "" : "s");
	say_failures(&a);
	if (best)
		say_speed(&a, best);
	if (!say_throughput(&a, true))
		say_throughput(&a, false);
	if (best)
		say_slower_rows(&a, best);
	if (report->tables[0]->nnotes)
		out->note = report->tables[0]->notes[0];
}

/* The rows of a query are there already: what is left are sentences, and the pivot. */
static enum ws_status fill(void *ctx, size_t which, struct ws_table **t, struct ws_err *err)
{
	struct ws_sweep *s = ctx;

	(void)which;
	if ((*t)->def == &ws_def_sweep_pivot)
		return make_pivot(s, t, err);
	if ((*t)->def == &ws_def_sweep_verdict) {
		fill_verdict(s, *t);
	} else {
		s->table = *t;
		note_sweep(s, *t);
	}
	return WS_OK;
}

enum ws_status ws_sweep_make(struct ws_sweep *s, const struct ws_sweep_opts *opts,
                             struct ws_report **out, struct ws_err *err)
{
	struct ws_report_plan plan = {.title = "Warpsheet sweep", .fill = fill, .ctx = s};
	enum ws_status status;
	char trace[32];

	*out = NULL;
	WS_FORWARD(ws_sweep_find_rows(s, opts, err));
	snprintf(trace, sizeof(trace), "%zu traces", s->nruns);
	plan.trace = trace;
	plan.created_ns = s->created_ns;
	plan.defs = ws_sweep_defs(&plan.ndefs);
	WS_FORWARD(ws_query_open(&plan.query, err));
	ws_sweep_relations(plan.query, s);
	status = ws_report_of_plan(&plan, out, err);
	ws_query_close(plan.query);
	WS_FORWARD(status);
	make_first_screen(s, *out);
	return WS_OK;
}
