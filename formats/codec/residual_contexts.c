/*
 * Which rows of a block share the measure of their residuals: contexts, by
 * how the residuals of pairs and tokens lie.
 */
#include "formats/codec/residual_private.h"

#define MIN_CONTEXT_ROWS 24u /* fewer do not pay for a context of their own */
#define CENTER           48  /* symbol of a context's mean: there is more room above it */
#define CLAMP            (INT64_C(1) << 40) /* deviations count no more than this */

/*
 * Groups: the rows of a pair where they are enough, the other rows of a token
 * where those are, and all that remain, which are group 0.
 */
static void find_groups(struct ws_residual *r, const struct ws_residual_how *how, uint32_t n)
{
	struct ws_residual_writing *w = r->writing;
	const uint32_t tokens = how->tokens->count;

	w->ngroups = 1;
	memcpy(w->others_of_token, w->rows_of_key, w->ntokens * sizeof(*w->rows_of_key));
	memset(w->group_of_token, 0, sizeof(*w->group_of_token) * (tokens ? tokens : 1));
	w->groups[0] = (struct ws_residual_group){.rows = n};
	if (how->context == WS_CONTEXT_ONE)
		return;
	for (uint32_t p = 1; p <= r->npairs; p++) {
		const uint32_t rows = w->rows_of_key[w->ntokens + p - 1];
		int enough = rows >= MIN_CONTEXT_ROWS;

		w->group_of_pair[p] = enough ? (uint16_t)w->ngroups : 0;
		if (enough)
			w->groups[w->ngroups++] = (struct ws_residual_group){.rows = rows};
		else
			w->others_of_token[w->pair_keys[p] & 0xffff] += rows;
	}
	for (uint32_t k = 0; k < tokens; k++) {
		int enough = w->others_of_token[k] >= MIN_CONTEXT_ROWS;

		w->group_of_token[k] = enough ? (uint16_t)w->ngroups : 0;
		if (enough)
			w->groups[w->ngroups++] =
			        (struct ws_residual_group){.rows = w->others_of_token[k]};
	}
	for (uint32_t g = 1; g < w->ngroups; g++)
		w->groups[0].rows -= w->groups[g].rows;
}

static int64_t clamped(int64_t v)
{
	return v > CLAMP ? CLAMP : v < -CLAMP ? -CLAMP : v;
}

#define GUESSES 15u

/* The middle one of a few values: an outlier does not move it. */
static uint64_t guess_middle(const uint64_t *v, uint32_t n)
{
	uint64_t sorted[GUESSES];
	uint32_t count = n < GUESSES ? n : GUESSES;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = v[(uint64_t)i * n / count];
		uint32_t k = i;

		for (; k && (int64_t)sorted[k - 1] > (int64_t)value; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = value;
	}
	return sorted[count / 2];
}

/*
 * Mean and variance of n values, without those further from the middle than
 * six mean deviations: they are told in full anyway.
 */
static void measure(const uint64_t *v, uint32_t n, int64_t *mean, double *variance)
{
	const uint64_t middle = guess_middle(v, n);
	uint64_t dev = 0;
	int64_t sum = 0, limit;
	double squares = 0, off;
	uint32_t within = 0;

	for (uint32_t i = 0; i < n; i++)
		dev += ws_magnitude((uint64_t)clamped((int64_t)(v[i] - middle)));
	limit = (int64_t)(6 * dev / n) + 1;
	for (uint32_t i = 0; i < n; i++) {
		int64_t d = (int64_t)(v[i] - middle);
		int in = d >= -limit && d <= limit;

		d = in ? d : 0;
		within += (uint32_t)in;
		sum += d;
		squares += (double)d * (double)d;
	}
	off = (double)sum / within;
	*mean = (int64_t)(middle + (uint64_t)(sum / (int64_t)within));
	*variance = squares / within - off * off;
	*variance = *variance > 0 ? *variance : 0;
}

#define GROUP_SAMPLES 256u

/* Measure each group by so many of its rows, spread over the block. */
static void measure_groups(struct ws_residual *r, const uint64_t *quanta, uint32_t n)
{
	struct ws_residual_writing *w = r->writing;
	const uint16_t *key_of_row = w->key_of_row, *of_key = w->of_key;
	uint32_t start = 0;

	memcpy(w->of_key, w->group_of_token, w->ntokens * sizeof(*w->of_key));
	for (uint32_t p = 1; p <= r->npairs; p++)
		w->of_key[w->ntokens + p - 1] =
		        w->group_of_pair[p] ? w->group_of_pair[p]
		                            : w->group_of_token[w->pair_keys[p] & 0xffff];
	for (uint32_t g = 0; g < w->ngroups; g++) {
		struct ws_residual_group *group = &w->groups[g];

		group->step = group->rows / GROUP_SAMPLES + 1;
		w->wait[g] = group->step / 2;
		group->start = r->cursor[g] = start;
		/* what the loop below takes of it: all groups together no more than n */
		start += (group->rows + (group->step - 1) / 2) / group->step;
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < n; i++) {
		unsigned g = of_key[key_of_row[i]];

		if (__builtin_expect(w->wait[g]-- == 0, 0)) {
			w->wait[g] = w->groups[g].step - 1;
			r->clustered[r->cursor[g]++] = quanta[i];
		}
	}
	for (uint32_t g = 0; g < w->ngroups; g++)
		if (r->cursor[g] > w->groups[g].start)
			measure(r->clustered + w->groups[g].start,
			        r->cursor[g] - w->groups[g].start, &w->groups[g].mean,
			        &w->groups[g].variance);
}

/* log2 of x > 0, right to a tenth: exponent and mantissa as they stand. */
static double rough_log2(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (double)(bits >> 40) / 4096 - 1023;
}

/* Bits that the rows of a group take, but for what all groups' rows take alike. */
static double cost(const struct ws_residual_group *g)
{
	return 0.5 * g->rows * rough_log2(g->variance + 0.0625);
}

static struct ws_residual_group united(const struct ws_residual_group *a,
                                       const struct ws_residual_group *b)
{
	struct ws_residual_group u = {.rows = a->rows + b->rows, .context = a->context};
	int64_t apart = clamped((int64_t)((uint64_t)b->mean - (uint64_t)a->mean));
	double share = (double)b->rows / u.rows;

	u.mean = (int64_t)((uint64_t)a->mean + (uint64_t)(apart * (int64_t)b->rows / u.rows));
	u.variance = a->variance * (1 - share) + b->variance * share +
	             share * (1 - share) * (double)apart * (double)apart;
	return u;
}

#define CONTEXT_BITS 32.0 /* what telling a context takes, and the pairs that have it */
#define MAX_TRIED    64u

/* Let groups that are alike share a context; merged are the contexts. */
static void merge_groups(struct ws_residual *r)
{
	struct ws_residual_writing *w = r->writing;

	r->ncontexts = 0;
	for (uint32_t g = 0; g < w->ngroups; g++) {
		struct ws_residual_group *group = &w->groups[g], best = {0};
		double least = CONTEXT_BITS;
		uint32_t tried = r->ncontexts < MAX_TRIED ? r->ncontexts : MAX_TRIED;

		group->context = r->ncontexts;
		if (!group->rows && g)
			continue;
		for (uint32_t k = r->ncontexts - tried; k < r->ncontexts; k++) {
			struct ws_residual_group u = united(&w->merged[k], group);
			double more = cost(&u) - cost(&w->merged[k]) - cost(group);

			if (w->merged[k].rows && more < least) {
				least = more;
				best = u;
				group->context = k;
			}
		}
		if (group->context == r->ncontexts) {
			w->merged[r->ncontexts] = *group;
			r->ncontexts++;
		} else {
			w->merged[group->context] = best;
		}
	}
}

/*
 * The context of a token is that of most of its rows; pairs are told only
 * where theirs is another.
 */
static void assign_contexts(struct ws_residual *r, const struct ws_residual_how *how)
{
	struct ws_residual_writing *w = r->writing;
	const uint32_t tokens = how->tokens->count ? how->tokens->count : 1;
	uint32_t *most = w->wait;

	for (uint32_t k = 0; k < tokens; k++) {
		const struct ws_residual_group *g = &w->groups[w->group_of_token[k]];

		r->context_of_token[k] = (uint16_t)g->context;
		most[k] = w->group_of_token[k] ? g->rows : 0;
	}
	for (uint32_t p = 1; p <= r->npairs; p++) {
		const struct ws_residual_group *g = &w->groups[w->group_of_pair[p]];
		uint32_t token = w->pair_keys[p] & 0xffff;

		if (w->group_of_pair[p] && g->rows > most[token]) {
			most[token] = g->rows;
			r->context_of_token[token] = (uint16_t)g->context;
		}
	}
	for (uint32_t p = 1; p <= r->npairs; p++) {
		uint16_t group = w->group_of_pair[p];

		w->context_of_pair[p] = group ? (uint16_t)w->groups[group].context
		                              : r->context_of_token[w->pair_keys[p] & 0xffff];
	}
}

/*
 * Set base and shift so that the standard deviation is LOW to 2 LOW symbols,
 * where the raw low bits cost next to nothing. The result orders contexts by
 * the shape of their symbols, in quarters of octaves: like shapes share a
 * Huffman table.
 */
#define LOW 3.0

static uint8_t set_measure(struct ws_residual_context *x, const struct ws_residual_group *g)
{
	static const double quarters[] = {1.4142136, 2, 2.8284271}; /* of variance */
	double variance = g->variance / (LOW * LOW);
	unsigned octave = 40, quarter = 0;

	x->shift = 0;
	for (; variance >= 4 && x->shift < WS_RESIDUAL_MAX_SHIFT; x->shift++)
		variance /= 4;
	x->base = (uint64_t)g->mean - ((uint64_t)CENTER << x->shift);
	for (; variance < 1 && octave; octave--)
		variance *= 4;
	while (quarter < 3 && variance >= quarters[quarter])
		quarter++;
	return (uint8_t)(octave ? 4 * octave + quarter : 0);
}

/* Number the contexts by shape. */
static void order_contexts(struct ws_residual *r, const struct ws_residual_how *how)
{
	struct ws_residual_writing *w = r->writing;
	const uint32_t tokens = how->tokens->count ? how->tokens->count : 1;
	uint16_t *place = w->group_of_pair; /* not needed any more */
	uint32_t start[256] = {0}, sum = 0;
	uint8_t *shape = r->lane_begun;
	struct ws_residual_context x;

	for (uint32_t k = 0; k < r->ncontexts; k++) {
		shape[k] = set_measure(&x, &w->merged[k]);
		start[shape[k]]++;
	}
	for (unsigned s = 0; s < 256; s++) {
		uint32_t count = start[s];

		start[s] = sum;
		sum += count;
	}
	for (uint32_t k = 0; k < r->ncontexts; k++) {
		place[k] = (uint16_t)start[shape[k]]++;
		w->shape[place[k]] = set_measure(&r->contexts[place[k]], &w->merged[k]);
		r->contexts[place[k]].rows = 0;
	}
	for (uint32_t k = 0; k < tokens; k++)
		r->context_of_token[k] = place[r->context_of_token[k]];
	for (uint32_t p = 1; p <= r->npairs; p++)
		w->context_of_pair[p] = place[w->context_of_pair[p]];
}

void ws_residual_find_contexts(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint64_t *quanta, uint32_t n)
{
	find_groups(r, how, n);
	measure_groups(r, quanta, n);
	merge_groups(r);
	assign_contexts(r, how);
	order_contexts(r, how);
}
