/*
 * A comparison in words.
 */
#include <math.h>
#include <stdio.h>

#include "report/diff/private.h"

/* How much faster or slower, always over 1. */
static double times_of(double ratio)
{
	return ratio < 1 ? 1 / ratio : ratio;
}

/* "; about 8 recordings a side would show 2 %" */
static void print_runs_needed(const struct ws_diff *d, const struct ws_comparison *c, char *out,
                              size_t size)
{
	double effect = times_of(c->ratio) - 1;
	unsigned n;

	if (effect < d->grade.min_effect)
		effect = d->grade.same_within;
	n = ws_grade_recordings_for(c, effect);
	*out = '\0';
	if (n && (n > c->recordings[0] || n > c->recordings[1]))
		snprintf(out, size, "; about %u recordings per side would show %.2g %%", n,
		         effect * 100);
	else if (!n)
		snprintf(out, size, "; not even 1000 recordings per side would show %.2g %%",
		         effect * 100);
}

static void print_ambiguous(const struct ws_diff *d, const struct ws_comparison *c, char *out,
                            size_t size)
{
	char settles[96];

	print_runs_needed(d, c, settles, sizeof(settles));
	if (c->low <= 1 && c->high >= 1)
		snprintf(out, size,
		         "not significant: %s looks %.3g× %s than %s, but that is too noisy to "
		         "tell (%.3g× to %.3g×)%s",
		         d->side[1].name, times_of(c->ratio), c->ratio < 1 ? "faster" : "slower",
		         d->side[0].name, c->low, c->high, settles);
	else
		snprintf(out, size,
		         "not significant: %s looks %.3g× %s than %s, which is too small or "
		         "too uncertain to count (%.3g× to %.3g×)%s",
		         d->side[1].name, times_of(c->ratio), c->ratio < 1 ? "faster" : "slower",
		         d->side[0].name, c->low, c->high, settles);
}

void ws_diff_print(const struct ws_diff *d, const struct ws_comparison *c, char *out, size_t size)
{
	const char *a = d->side[0].name, *b = d->side[1].name;
	double slow = times_of(c->low), fast = times_of(c->high);

	switch (c->grade) {
	case WS_GRADE_SAME:
		snprintf(out, size, "%s and %s take the same time", a, b);
		break;
	case WS_GRADE_FASTER:
	case WS_GRADE_SLOWER:
		snprintf(out, size, "%s is %.3g× %s than %s (%.3g× to %.3g×)", b,
		         times_of(c->ratio), c->ratio < 1 ? "faster" : "slower", a,
		         fmin(slow, fast), fmax(slow, fast));
		break;
	case WS_GRADE_UNLIKE:
		snprintf(out, size, "%s and %s did not do the same work: no ratio is given", a, b);
		break;
	default:
		if (isnan(c->ratio))
			snprintf(out, size, "cannot tell: one side has no such time");
		else if (isnan(c->low))
			snprintf(out, size,
			         "cannot tell: %s looks %.3g× %s than %s, but by how much "
			         "recordings vary is not known",
			         b, times_of(c->ratio), c->ratio < 1 ? "faster" : "slower", a);
		else
			print_ambiguous(d, c, out, size);
	}
}
