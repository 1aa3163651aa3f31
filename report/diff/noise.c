/*
 * What recordings of one thing may vary by, where too few were made to show it:
 * docs/dev/statistics.md.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/diff/private.h"

/* Under this share of a step in waiting it varies as its GPU time does. */
#define LITTLE_WAITING 0.05
#define STEP_NOISE     (WS_RUN_NOISE_STEP_PERCENT / 100)
/* What a cause of waiting varies by: measured on two cycles of one training, 47.5 and 27.5 ms a
 * step for data; docs/dev/statistics.md. */
#define WAITING_NOISE 0.3

/* Time without computation that is no gap between kernels that were queued. */
static bool is_waiting(enum ws_use use)
{
	return use > WS_USE_COMPUTE && use != WS_USE_DEVICE;
}

/* Standard deviation that the causes of waiting give a step; 0 where it hardly waits. */
static double noise_of_waiting(const struct ws_recording *r)
{
	double ns[WS_USES] = {0}, all = 0, waiting = 0, squares = 0;

	for (size_t i = 0; i < r->nsamples; i++)
		for (int use = 0; use < WS_USES; use++) {
			ns[use] += (double)r->samples[i].use_ns[use];
			all += (double)r->samples[i].use_ns[use];
		}
	if (all <= 0)
		return STEP_NOISE; /* the host's time alone */
	for (int use = 0; use < WS_USES; use++) {
		if (!is_waiting((enum ws_use)use))
			continue;
		waiting += ns[use] / all;
		squares += pow(WAITING_NOISE * ns[use] / all, 2);
	}
	return waiting > LITTLE_WAITING ? fmax(STEP_NOISE, sqrt(squares)) : 0;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Robust standard deviation of the logarithms of the steps' times. */
static double scatter_of_steps(const struct ws_recording *r)
{
	double *v = ws_xarray(r->nsamples + 1, sizeof(*v)), median, scatter;
	size_t n = r->nsamples;

	for (size_t i = 0; i < n; i++)
		v[i] = log(fmax(1, (double)r->samples[i].step_ns));
	if (n)
		qsort(v, n, sizeof(*v), by_value);
	median = n ? (v[(n - 1) / 2] + v[n / 2]) / 2 : 0;
	for (size_t i = 0; i < n; i++)
		v[i] = fabs(v[i] - median);
	if (n)
		qsort(v, n, sizeof(*v), by_value);
	scatter = n > 2 ? 1.4826 * (v[(n - 1) / 2] + v[n / 2]) / 2 : 0;
	free(v);
	return scatter;
}

void ws_diff_assume_noise(struct ws_diff *d)
{
	double step = d->noise[WS_DIFF_NOISE_GPU], host = STEP_NOISE;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->side[s].nrecordings; i++) {
			const struct ws_recording *r = &d->side[s].recordings[i];
			const double waiting = noise_of_waiting(r), scatter = scatter_of_steps(r);

			host = fmax(host, scatter);
			if (waiting > 0)
				step = fmax(step, fmax(waiting, scatter));
		}
	d->noise[WS_DIFF_NOISE_STEP] = step;
	d->noise[WS_DIFF_NOISE_HOST] = host;
}
