#include "report/base/sequential.h"

#include "formats/base/memory.h"
#include "report/base/elementary.h"
#include "report/base/stat.h"

/*
 * Bets against a centre: if it is true, then the size of a distance from it says nothing about its
 * sign. A bettor who has seen the size stakes on the sign at fair odds, so the expected wealth
 * stays 1, and it ever reaches 1 / chance with at most that chance (Ville 1939). Six bettors share
 * the first unit: three stakes, each on either sign.
 */
static const double stakes[] = {0.5, 1.5, 4, -0.5, -1.5, -4};
#define BETTORS (sizeof(stakes) / sizeof(*stakes))

/* A distance of more medians wins no more. */
#define MOST_MEDIANS 100.0

/* The wealth after n differences; scratch[2 n]. */
static double wealth(const double *difference, size_t n, double centre, double *scratch)
{
	double *size = scratch, *sorted = scratch + n, of[BETTORS], all = 0;

	for (size_t b = 0; b < BETTORS; b++)
		of[b] = 1;
	for (size_t i = 0; i < n; i++) {
		const double distance = difference[i] - centre;

		size[i] = fabs(distance);
		if (!(size[i] > 0))
			continue; /* no sign to bet on */
		memcpy(sorted, size, (i + 1) * sizeof(*sorted));
		double median = ws_stat_median(sorted, i + 1);
		double x = median > 0 ? fmin(size[i] / median, MOST_MEDIANS) : MOST_MEDIANS;
		/* e^(s x) / cosh(s x), without overflow */
		for (size_t b = 0; b < BETTORS; b++)
			of[b] *= 2 / (1 + ws_exp(-2 * copysign(x, distance) * stakes[b]));
	}
	for (size_t b = 0; b < BETTORS; b++)
		all += of[b] / BETTORS;
	return all;
}

/* The centre farthest from `inside` towards `outside` that is not refuted. */
static double bound(const double *difference, size_t n, double limit, double inside, double outside,
                    double *scratch)
{
	enum { PLACES = 200, HALVINGS = 60 };
	const double step = (outside - inside) / PLACES;
	double refuted = outside;

	for (int i = PLACES - 1; i > 0; i--) {
		const double at = inside + i * step;

		if (wealth(difference, n, at, scratch) < limit) {
			inside = at;
			break;
		}
		refuted = at;
	}
	for (int i = 0; i < HALVINGS; i++) {
		const double middle = inside + (refuted - inside) / 2;

		if (wealth(difference, n, middle, scratch) < limit)
			inside = middle;
		else
			refuted = middle;
	}
	return refuted;
}

void ws_sequential_interval(const double *difference, size_t n, double chance,
                            struct ws_sequential *out)
{
	double *scratch = ws_xarray(2 * n + 1, sizeof(*scratch)), least = INFINITY,
	       most = -INFINITY, far;

	*out = (struct ws_sequential){NAN, -INFINITY, INFINITY};
	for (size_t i = 0; i < n; i++) {
		least = fmin(least, difference[i]);
		most = fmax(most, difference[i]);
		scratch[i] = difference[i];
	}
	out->centre = ws_stat_median(scratch, n);
	/* Beyond all differences each sign is the same. If that does not refute, nothing does. */
	far = n ? 10 * (most - least) + 1e-9 * fmax(fabs(least), fabs(most)) + 1e-300 : 0;
	if (n && wealth(difference, n, least - far, scratch) >= 1 / chance)
		out->low = bound(difference, n, 1 / chance, out->centre, least - far, scratch);
	if (n && wealth(difference, n, most + far, scratch) >= 1 / chance)
		out->high = bound(difference, n, 1 / chance, out->centre, most + far, scratch);
	free(scratch);
}

bool ws_sequential_refutes(const double *difference, size_t n, double chance, double value)
{
	double *scratch = ws_xarray(2 * n + 1, sizeof(*scratch));
	const bool refutes = wealth(difference, n, value, scratch) >= 1 / chance;

	free(scratch);
	return refutes;
}

size_t ws_sequential_fewest(double chance)
{
	double difference[64], scratch[2 * 64];
	size_t n = 0;

	while (n < 64) {
		difference[n++] = 1;
		if (wealth(difference, n, 0, scratch) >= 1 / chance)
			break;
	}
	return n;
}
