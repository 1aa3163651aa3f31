/* What the first screen of many ranks says: who waits for whom, why, and what communication costs.
 */
#include "report/page/page.h"

#include <ctype.h>
#include <inttypes.h>

#include "formats/base/xalloc.h"
#include "report/base/say.h"
#include "report/base/stat.h"
#include "report/ranks/private.h"

/* From here on a rank's computation explains that it is late. */
#define SLOWER_PERCENT 1.0

static void say_late_rank(const struct ws_ranks *r, const struct ws_rank *late, struct ws_page *out)
{
	struct ws_arena *t = &out->arena;
	const size_t others = ws_ranks_beside(r, late);
	const double slower = 100 * ws_rank_slower(r, (size_t)(late - r->ranks));

	ws_page_say(out, "", "", ws_arena_format(t, "Rank %" PRId64, late->number),
	            ws_arena_format(t, " makes %zu other%s wait ", others, others == 1 ? "" : "s"),
	            ws_arena_format(t, "%s a step",
	                            ws_say_time(t, ws_rank_mean(late, WS_RANK_CAUSED) /
	                                                   (double)others)),
	            others == 1 ? ": " : " each: ",
	            ws_say_percent(t, ws_rank_caused_share(r, late)), " of all waiting.", NULL);
	if (slower >= SLOWER_PERCENT)
		ws_page_say(out, "", "Its computation takes ",
		            ws_arena_format(t, "%s longer", ws_say_percent(t, slower)),
		            " than that of the median rank.", NULL);
	else if (!isnan(slower))
		ws_page_say(out, "",
		            "Its computation is not slower: look at its host, data and launches.",
		            NULL);
}

/* Who waits for whom. residual_ns: what the clocks leave open; NaN: they are not aligned. */
static void say_waiting(const struct ws_ranks *r, double residual_ns, struct ws_page *out)
{
	const struct ws_calls_judged of = ws_ranks_judged(r);
	const struct ws_rank *late = ws_ranks_straggler(r), *most = ws_ranks_last_rank(r);
	const double waiting = ws_ranks_mean(r, WS_RANK_WAITING);
	struct ws_arena *t = &out->arena;

	if (isnan(residual_ns)) {
		ws_page_say(out, "",
		            "Nobody can tell who waits for whom: the ranks share no collective.",
		            NULL);
	} else if (late) {
		say_late_rank(r, late, out);
	} else if (of.judged_ns < of.ns / 2) {
		ws_page_say(out, "", "Nobody can tell who waits for whom: ",
		            ws_say_percent(t, ws_stat_percent(of.ns - of.judged_ns, of.ns)),
		            " of communication has no match.", NULL);
	} else if (!most) {
		ws_page_say(out, "", "No rank is surely late: all arrive within ",
		            ws_say_time(t, residual_ns), ", which is what the clocks show.", NULL);
	} else {
		ws_page_say(out, "", "No single rank is late: each waits ",
		            ws_arena_format(t, "%s a step", ws_say_time(t, waiting)),
		            ws_arena_format(t, "; rank %" PRId64 " causes most, ", most->number),
		            ws_say_percent(t, ws_rank_caused_share(r, most)), ".", NULL);
	}
}

void ws_ranks_answer(const struct ws_ranks *r, struct ws_report *report)
{
	struct ws_page *out = report->page = ws_xarray(1, sizeof(*out));
	struct ws_arena *t = &out->arena;
	const double step_ns = ws_ranks_mean(r, WS_RANK_STEP),
	             exposed_ns = ws_ranks_mean(r, WS_RANK_EXPOSED);

	out->is_comparison = true;
	out->title = ws_arena_format(t, "%zu ranks", r->n);
	if (*r->alarm)
		ws_page_say(out, "ALARM",
		            ws_arena_format(t, "%c%s.", toupper(*r->alarm), r->alarm + 1), NULL);
	say_waiting(r, ws_ranks_residual(r, NULL), out);
	if (!isnan(step_ns) && *r->alarm)
		ws_page_say(out, "", "A step takes ", ws_say_time(t, step_ns), ".", NULL);
	else if (!isnan(step_ns))
		ws_page_say(out, "", "A step takes ", ws_say_time(t, step_ns), "; for ",
		            ws_say_part_of(t, exposed_ns, ws_stat_percent(exposed_ns, step_ns)),
		            " of it only communication runs.", NULL);
}
