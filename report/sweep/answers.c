/* What the first screen of a sweep says: who is fastest, by how much, and what stands against it.
 */
#include "report/page/page.h"

#include "formats/base/xalloc.h"
#include "report/base/say.h"
#include "report/sweep/private.h"

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

/* Of what is not the baseline, that with the highest mean; n 0: nothing is compared. */
static struct ws_sweep_gain find_best(const struct ws_sweep *s)
{
	struct ws_sweep_gain best = {0}, g;

	for (size_t i = 0; i < s->nrows; i++) {
		if (!ws_sweep_is_first(s, i))
			continue;
		ws_sweep_find_gain(s, ws_sweep_value(s->rows[i].run, s->baseline_key), &g);
		if (g.n && (!best.n || g.mean > best.mean))
			best = g;
	}
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

/* "bf16 is 1.6× faster than fp32 (mean of 4 configurations, 1.5× to 1.8×)." */
static void say_speed(const struct answering *a, const struct ws_sweep_gain *g)
{
	const char *name = text_of(a, g->value), *base = text_of(a, a->s->baseline_value);
	const bool faster = g->mean > 1;
	const char *grade = ws_grade_name(grade_of(g));
	const char *of = "";

	if (g->n > 1)
		of = ws_arena_format(a->texts, " (mean of %u configurations)", g->n);
	if (fmax(g->mean, 1 / g->mean) < UNSEEN)
		ws_page_say(a->out, grade, "", name, " is as fast as ", base, of, ".", NULL);
	else
		ws_page_say(a->out, grade, "", name, " is ",
		            ws_arena_format(a->texts, "%s %s", ws_say_amount(a->texts, g->mean),
		                            faster ? "faster" : "slower"),
		            ws_arena_format(a->texts, " than %s%s.", base, of), NULL);
}

/* "Highest throughput: transformer-tiny, context 16: 16.1 k tokens per second, 1.2× the next." */
static bool say_throughput(const struct answering *a, bool tokens)
{
	double rate[2];
	const struct ws_sweep_row *best = ws_sweep_best(a->s, tokens, rate);
	const char *next_one = "";
	size_t words = 1;
	char name[640];

	if (!best)
		return false;
	ws_sweep_name_row(a->s, best, name, sizeof(name));
	for (const char *c = name; *c; c++)
		words += *c == ' ';
	if (rate[1] > 0 && rate[0] / rate[1] >= WS_SAY_TIMES_FROM)
		next_one = ws_arena_format(a->texts, ", %s the next",
		                           ws_say_amount(a->texts, rate[0] / rate[1]));
	ws_page_say(a->out, "", "Highest throughput: ",
	            words > NAME_WORDS || !*name ? "" : ws_arena_format(a->texts, "%s", name),
	            words > NAME_WORDS || !*name ? "" : ": ",
	            ws_arena_format(a->texts, "%s%s per second", ws_say_si(a->texts, rate[0], ""),
	                            tokens ? " tokens" : " images"),
	            next_one, "", ".", NULL);
	return true;
}

/* --- what stands against it --------------------------------------------------------------------
 */

static void say_slower_rows(const struct answering *a, const struct ws_sweep_gain *g)
{
	const unsigned against = g->mean < 1 ? g->n - g->under_1 : g->under_1,
	               unsure = g->n - g->unknown - g->faster - g->slower;

	if (a->out->nheadline == WS_PAGE_LINES)
		return;
	if (against)
		ws_page_say(a->out, "", "Against it: ",
		            ws_arena_format(a->texts, "%s in %u of %u",
		                            g->mean < 1 ? "faster" : "slower", against, g->n),
		            ", at most ", ws_say_amount(a->texts, g->mean < 1 ? g->max : g->min),
		            ".", NULL);
	else if (g->unknown)
		ws_page_say(a->out, "",
		            "Against it: CPU runs need at least three per side for an interval.",
		            NULL);
	else if (unsure)
		ws_page_say(a->out, "", "Against it: ",
		            ws_arena_format(a->texts, "no significant change in %u of %u", unsure,
		                            g->n),
		            ".", NULL);
	if (a->out->nheadline < WS_PAGE_LINES && g->mean > 1 && g->memory >= MEMORY_FROM)
		ws_page_say(a->out, "", "Against it: ",
		            ws_arena_format(a->texts, "%s more memory",
		                            ws_say_amount(a->texts, g->memory)),
		            ws_arena_format(a->texts, " than %s.",
		                            text_of(a, a->s->baseline_value)),
		            NULL);
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static void say_failures(const struct answering *a, const struct ws_table *verdict)
{
	size_t failed = 0;

	for (size_t i = 0; i < a->s->nruns; i++)
		failed += a->s->runs[i].failed != 0;
	for (size_t i = 0; i < verdict->nrows; i++)
		if (ws_cell_is(&ws_table_cells(verdict, i)[WS_TC_sweep_verdict_subject], "ALARM")) {
			ws_page_say(a->out, "ALARM",
			            "A configuration exceeds the peak: see Verdict.", NULL);
			break;
		}
	if (failed)
		ws_page_say(a->out, "", "",
		            ws_arena_format(a->texts, "%zu of %zu runs failed", failed,
		                            a->s->nruns),
		            ": see Verdict.", NULL);
}

void ws_sweep_answer(const struct ws_sweep *s, struct ws_report *report)
{
	struct ws_page *out = report->page = ws_xarray(1, sizeof(*out));
	const struct answering a = {s, out, &out->arena};
	const struct ws_sweep_gain best = find_best(s);

	out->is_comparison = true;
	out->source = report->trace;
	out->title = ws_arena_format(a.texts, "%zu configuration%s in %zu run%s", s->nrows,
	                             s->nrows == 1 ? "" : "s", s->nruns, s->nruns == 1 ? "" : "s");
	say_failures(&a, report->tables[0]);
	if (best.n)
		say_speed(&a, &best);
	if (!say_throughput(&a, true))
		say_throughput(&a, false);
	if (best.n)
		say_slower_rows(&a, &best);
	if (report->tables[0]->nnotes)
		out->note = report->tables[0]->notes[0];
}
