#include "report/diff/align.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"
#include "report/base/order.h"

struct aligner {
	const uint32_t *a, *b;
	/* by diagonal x - y: how far a search of so many differences has come */
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

/* Where the search that came farthest stands, when neither has met the other. */
static struct point farthest(const struct aligner *g, const struct box *box, ptrdiff_t f[2],
                             ptrdiff_t r[2])
{
	struct point ahead = {box->a0, box->b0}, back = {box->a1, box->b1};

	for (ptrdiff_t d = f[1]; d >= f[0]; d -= 2) {
		ptrdiff_t x = g->forward[d] < box->a1 ? g->forward[d] : box->a1, y = x - d;

		if (y > box->b1)
			y = box->b1, x = y + d;
		if (x + y > ahead.x + ahead.y)
			ahead = (struct point){x, y};
	}
	for (ptrdiff_t d = r[1]; d >= r[0]; d -= 2) {
		ptrdiff_t x = g->backward[d] > box->a0 ? g->backward[d] : box->a0, y = x - d;

		if (y < box->b0)
			y = box->b0, x = y + d;
		if (x + y < back.x + back.y)
			back = (struct point){x, y};
	}
	return ahead.x + ahead.y - box->a0 - box->b0 >= box->a1 + box->b1 - back.x - back.y ? ahead
	                                                                                    : back;
}

/* The diagonals that a search with one difference more can reach. */
static void widen(ptrdiff_t *reach, ptrdiff_t range[2], const struct box *box, ptrdiff_t absent)
{
	if (range[0] > box->a0 - box->b1)
		reach[--range[0] - 1] = absent;
	else
		++range[0];
	if (range[1] < box->a1 - box->b0)
		reach[++range[1] + 1] = absent;
	else
		--range[1];
}

/* A point on a path with as few differences as possible. Neither ends of the box are equal. */
static struct point middle(const struct aligner *g, const struct box *box)
{
	ptrdiff_t first = box->a0 - box->b0, last = box->a1 - box->b1;
	ptrdiff_t f[2] = {first, first}, r[2] = {last, last};
	int odd = (first - last) & 1;

	g->forward[first] = box->a0;
	g->backward[last] = box->a1;
	for (ptrdiff_t differences = 1;; differences++) {
		widen(g->forward, f, box, -1);
		for (ptrdiff_t d = f[1]; d >= f[0]; d -= 2) {
			ptrdiff_t below = g->forward[d - 1], above = g->forward[d + 1];
			ptrdiff_t x = below >= above ? below + 1 : above, y = x - d;

			while (x < box->a1 && y < box->b1 && g->a[x] == g->b[y])
				x++, y++;
			g->forward[d] = x;
			if (odd && r[0] <= d && d <= r[1] && g->backward[d] <= x)
				return (struct point){x, y};
		}
		widen(g->backward, r, box, PTRDIFF_MAX);
		for (ptrdiff_t d = r[1]; d >= r[0]; d -= 2) {
			ptrdiff_t below = g->backward[d - 1], above = g->backward[d + 1];
			ptrdiff_t x = below < above ? below : above - 1, y = x - d;

			while (x > box->a0 && y > box->b0 && g->a[x - 1] == g->b[y - 1])
				x--, y--;
			g->backward[d] = x;
			if (!odd && f[0] <= d && d <= f[1] && x <= g->forward[d])
				return (struct point){x, y};
		}
		if (differences >= g->max_differences)
			return farthest(g, box, f, r);
	}
}

static void align(const struct aligner *g, struct box box)
{
	struct point at;

	for (;;) {
		while (box.a0 < box.a1 && box.b0 < box.b1 && g->a[box.a0] == g->b[box.b0])
			g->partner[box.a0++] = (uint32_t)box.b0++;
		while (box.a0 < box.a1 && box.b0 < box.b1 && g->a[box.a1 - 1] == g->b[box.b1 - 1])
			g->partner[--box.a1] = (uint32_t)--box.b1;
		if (box.a0 == box.a1 || box.b0 == box.b1)
			return;
		at = middle(g, &box);
		/* the smaller half by recursion: its depth is a logarithm */
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
	/* diagonals from -nb - 1 to na + 1 */
	size_t n = na + nb + 3;
	ptrdiff_t *reach = ws_xarray(2 * n, sizeof(*reach));
	struct aligner g = {.a = a, .b = b, .partner = partner};

	g.forward = reach + nb + 1;
	g.backward = g.forward + n;
	g.max_differences = (ptrdiff_t)fmax(256, sqrt((double)n));
	for (size_t i = 0; i < na; i++)
		partner[i] = WS_NONE;
	align(&g, (struct box){0, (ptrdiff_t)na, 0, (ptrdiff_t)nb});
	free(reach);
}
