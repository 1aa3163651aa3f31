#include "report/diff/match.h"

struct aligner {
	const uint32_t *a, *b;
	/* by diagonal x - y, relative to the start: farthest point of the search */
	ptrdiff_t *forward, *backward;
	ptrdiff_t max_differences; /* differences after which a split is good enough */
	uint32_t *partner;
};

/* A part of both sequences: a[a0, a1) and b[b0, b1). */
struct box {
	ptrdiff_t a0, a1, b0, b1;
};

struct point {
	ptrdiff_t x, y;
};

/* A search from one end of a box; each iteration allows one more difference. */
struct search {
	ptrdiff_t *reach;    /* by diagonal - first */
	ptrdiff_t first;     /* the diagonal where it began */
	ptrdiff_t low, high; /* range of reached diagonals, every second one */
};

static ptrdiff_t *reach_of(const struct search *s, ptrdiff_t diagonal)
{
	return &s->reach[diagonal - s->first];
}

/* The farthest point of a search, if the two searches have not met. */
static struct point farthest(const struct box *box, const struct search *f, const struct search *r)
{
	struct point ahead = {box->a0, box->b0}, back = {box->a1, box->b1};

	for (ptrdiff_t d = f->high; d >= f->low; d -= 2) {
		ptrdiff_t x = *reach_of(f, d) < box->a1 ? *reach_of(f, d) : box->a1, y = x - d;

		if (y > box->b1)
			y = box->b1, x = y + d;
		if (x + y > ahead.x + ahead.y)
			ahead = (struct point){x, y};
	}
	for (ptrdiff_t d = r->high; d >= r->low; d -= 2) {
		ptrdiff_t x = *reach_of(r, d) > box->a0 ? *reach_of(r, d) : box->a0, y = x - d;

		if (y < box->b0)
			y = box->b0, x = y + d;
		if (x + y < back.x + back.y)
			back = (struct point){x, y};
	}
	return ahead.x + ahead.y - box->a0 - box->b0 >= box->a1 + box->b1 - back.x - back.y ? ahead
	                                                                                    : back;
}

/* Extends the diagonals of a search by one more difference. */
static void widen(struct search *s, const struct box *box, ptrdiff_t absent)
{
	if (s->low > box->a0 - box->b1)
		*reach_of(s, --s->low - 1) = absent;
	else
		++s->low;
	if (s->high < box->a1 - box->b0)
		*reach_of(s, ++s->high + 1) = absent;
	else
		--s->high;
}

/* A point on a path with as few differences as possible. The symbols at both ends of the box
 * differ. */
static struct point middle(const struct aligner *g, const struct box *box)
{
	const ptrdiff_t first = box->a0 - box->b0, last = box->a1 - box->b1;
	struct search f = {g->forward, first, first, first}, r = {g->backward, last, last, last};
	int odd = (first - last) & 1;

	*reach_of(&f, first) = box->a0;
	*reach_of(&r, last) = box->a1;
	for (ptrdiff_t differences = 1;; differences++) {
		widen(&f, box, -1);
		for (ptrdiff_t d = f.high; d >= f.low; d -= 2) {
			ptrdiff_t below = *reach_of(&f, d - 1), above = *reach_of(&f, d + 1);
			ptrdiff_t x = below >= above ? below + 1 : above, y = x - d;

			while (x < box->a1 && y < box->b1 && g->a[x] == g->b[y])
				x++, y++;
			*reach_of(&f, d) = x;
			if (odd && r.low <= d && d <= r.high && *reach_of(&r, d) <= x)
				return (struct point){x, y};
		}
		widen(&r, box, PTRDIFF_MAX);
		for (ptrdiff_t d = r.high; d >= r.low; d -= 2) {
			ptrdiff_t below = *reach_of(&r, d - 1), above = *reach_of(&r, d + 1);
			ptrdiff_t x = below < above ? below : above - 1, y = x - d;

			while (x > box->a0 && y > box->b0 && g->a[x - 1] == g->b[y - 1])
				x--, y--;
			*reach_of(&r, d) = x;
			if (!odd && f.low <= d && d <= f.high && x <= *reach_of(&f, d))
				return (struct point){x, y};
		}
		if (differences >= g->max_differences)
			return farthest(box, &f, &r);
	}
}

static void align(const struct aligner *g, struct box box)
{
	for (;;) {
		while (box.a0 < box.a1 && box.b0 < box.b1 && g->a[box.a0] == g->b[box.b0])
			g->partner[box.a0++] = (uint32_t)box.b0++;
		while (box.a0 < box.a1 && box.b0 < box.b1 && g->a[box.a1 - 1] == g->b[box.b1 - 1])
			g->partner[--box.a1] = (uint32_t)--box.b1;
		if (box.a0 == box.a1 || box.b0 == box.b1)
			return;
		struct point at = middle(g, &box);
		/* recursion for the smaller half only, so that its depth is logarithmic */
		if (at.x - box.a0 + at.y - box.b0 < box.a1 - at.x + box.b1 - at.y) {
			align(g, (struct box){box.a0, at.x, box.b0, at.y});
			box.a0 = at.x, box.b0 = at.y;
		} else {
			align(g, (struct box){at.x, box.a1, at.y, box.b1});
			box.a1 = at.x, box.b1 = at.y;
		}
	}
}

void ws_align(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *partner)
{
	const size_t most = (size_t)fmax(256, sqrt((double)(na + nb + 3)));
	/* each difference extends a search by one diagonal on each side */
	const size_t diagonals = 2 * most + 5;
	ptrdiff_t *reach = ws_xarray(2 * diagonals, sizeof(*reach));
	struct aligner g = {.a = a,
	                    .b = b,
	                    .forward = reach + most + 2,
	                    .backward = reach + diagonals + most + 2,
	                    .max_differences = (ptrdiff_t)most,
	                    .partner = partner};

	for (size_t i = 0; i < na; i++)
		partner[i] = WS_NONE;
	align(&g, (struct box){0, (ptrdiff_t)na, 0, (ptrdiff_t)nb});
	free(reach);
}
