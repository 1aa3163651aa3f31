/*
 * A comparison in words.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/diff/private.h"

/* Three digits without an exponent. */
struct number {
	char text[16];
};

static struct number number(double value, bool sign)
{
	const double size = fabs(value);
	struct number n;

	if (size >= 999.5)
		snprintf(n.text, sizeof(n.text), sign ? "%+.0f" : "%.0f", value);
	else if (size > 0 && size < 0.001)
		snprintf(n.text, sizeof(n.text), sign ? "%+.4f" : "%.4f", value);
	else
		snprintf(n.text, sizeof(n.text), sign ? "%+.3g" : "%.3g", value);
	return n;
}
#define DIGITS(value) (number(value, false).text)
#define SIGNED(value) (number(value, true).text)

struct ws_bytes ws_diff_class_name(struct ws_bytes name)
{
	const char *p = name.ptr;

	/* "(unclassified)" */
	if (name.len > 2 && *p == '(' && p[name.len - 1] == ')')
		return (struct ws_bytes){p + 1, name.len - 2};
	return name;
}

/* How many times faster or slower: always at least 1. */
static double times_of(double ratio)
{
	return ratio < 1 ? 1 / ratio : ratio;
}

static void print_amount(double times, bool in_times, char *out, size_t size)
{
	if (in_times)
		snprintf(out, size, "%s×", DIGITS(times));
	else
		snprintf(out, size, "%s %%", DIGITS(100 * (times - 1)));
}

/* "1.6× faster", "2.3 % slower" */
static void print_ratio(double ratio, char *out, size_t size)
{
	char amount[32];

	print_amount(times_of(ratio), times_of(ratio) >= WS_SAY_TIMES_FROM, amount, sizeof(amount));
	snprintf(out, size, "%s %s", amount, ratio < 1 ? "faster" : "slower");
}

/* " Record about 12 runs per side to resolve 3 %." */
static void print_runs_needed(const struct ws_diff *d, const struct ws_comparison *c, char *out,
                              size_t size)
{
	const double effect = ws_grade_effect(c, &d->grade);
	unsigned n;

	n = ws_grade_recordings_for(c, effect, d->opts.confidence);
	*out = '\0';
	if (n && (n > c->recordings[0] || n > c->recordings[1]))
		snprintf(out, size, " Record about %u runs per side to resolve %s %%.", n,
		         DIGITS(effect * 100));
	else if (!n)
		snprintf(out, size, " These runs vary too much to detect %s %%.",
		         DIGITS(effect * 100));
}

/* ", assumes 5 % noise"; "" if the runs show their own noise */
static const char *print_assumed(const struct ws_comparison *c, char out[48])
{
	*out = '\0';
	if (c->basis == WS_BASIS_STEPS && !c->identical && !isnan(c->run_noise))
		snprintf(out, 48, ", assumes %.2g %% noise", c->run_noise * 100);
	return out;
}

static void print_ambiguous(const struct ws_diff *d, const struct ws_comparison *c, char *out,
                            size_t size)
{
	const bool in_percent = times_of(c->ratio) < WS_SAY_TIMES_FROM;
	char settles[96], assumed[48], change[128];

	print_runs_needed(d, c, settles, sizeof(settles));
	if (in_percent)
		snprintf(change, sizeof(change), " by %s %% (95 %% CI %s %% to %s %%",
		         SIGNED(100 * (c->ratio - 1)), SIGNED(100 * (c->low - 1)),
		         SIGNED(100 * (c->high - 1)));
	else
		snprintf(change, sizeof(change), " by %s× (95 %% CI %s× to %s×", DIGITS(c->ratio),
		         DIGITS(c->low), DIGITS(c->high));
	snprintf(out, size, "No significant difference: %s differs%s%s).%s", d->side[1].name,
	         change, print_assumed(c, assumed), settles);
}

/* A sentence for times that differ because one side did more work. */
static void print_other_work(const struct ws_diff *d, const struct ws_comparison *c, char *out,
                             size_t size)
{
	const bool faster = c->ratio < 1;
	const double more = (faster ? c->less_work : c->more_work) - 1;
	char ratio[64];

	print_ratio(c->ratio, ratio, sizeof(ratio));
	snprintf(out, size,
	         "No significant difference in common work: %s is %s, but %s also did %s %% "
	         "more work.",
	         d->side[1].name, ratio, d->side[!faster].name, DIGITS(100 * more));
}

static void print_different(const struct ws_diff *d, const struct ws_comparison *c, char *out,
                            size_t size)
{
	const bool likely = c->basis == WS_BASIS_STEPS;
	const double slow = times_of(c->low), fast = times_of(c->high);
	const bool in_times = times_of(c->ratio) >= WS_SAY_TIMES_FROM;
	char ratio[64], least[32], most[32], assumed[48];

	print_ratio(c->ratio, ratio, sizeof(ratio));
	print_amount(fmin(slow, fast), in_times, least, sizeof(least));
	print_amount(fmax(slow, fast), in_times, most, sizeof(most));
	snprintf(out, size, "%s is %s%s than %s (95 %% CI %s to %s%s).", d->side[1].name,
	         likely ? "likely " : "", ratio, d->side[0].name, least, most,
	         print_assumed(c, assumed));
}

void ws_diff_print(const struct ws_diff *d, const struct ws_comparison *c, char *out, size_t size)
{
	const char *a = d->side[0].name, *b = d->side[1].name;
	char ratio[64];

	if (c->grade == WS_GRADE_UNLIKE)
		snprintf(out, size, "%s and %s did different work, so there is no ratio.", a, b);
	else if (isnan(c->ratio))
		snprintf(out, size, "Only one side has this time.");
	else if (c->grade == WS_GRADE_SAME)
		snprintf(out, size, "%s and %s take the same time, within %.3g %%.", a, b,
		         d->grade.same_within * 100);
	else if (ws_grade_is_faster(c->grade) || ws_grade_is_slower(c->grade))
		print_different(d, c, out, size);
	else if (isnan(c->low)) {
		print_ratio(c->ratio, ratio, sizeof(ratio));
		snprintf(out, size, "%s is %s than %s, but run-to-run noise is unknown.", b, ratio,
		         a);
	} else if (c->discovered && (c->high < 1 || c->low > 1) &&
	           (c->ratio < 1 ? c->less_work : c->more_work) > 1.0005)
		print_other_work(d, c, out, size);
	else
		print_ambiguous(d, c, out, size);
}
