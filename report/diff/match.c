#include "report/diff/match.h"

/* Ranges with more operations are containers, whose content cannot be matched as a group. */
#define SMALL_RANGE 16u
/* Maximum number of items considered as one that was fused or split. */
#define MOST_NEIGHBOURS 8u

const char *ws_matched_by_name(enum ws_matched_by by)
{
	static const char *const names[] = {WS_MATCHED_BY_LIST(WS_LIST_SECOND)};

	return names[by];
}

struct matcher {
	const struct ws_names *names;
	struct ws_work_list side[2];
	uint32_t *scratch[2]; /* symbols for ws_align */
	struct ws_match *out;
	bool swapped;      /* side 0 is the caller's b */
	uint32_t sized[4]; /* classes for which different sizes mean different work; 0 = unused */
	struct ws_arena temp;
};

static const char *const sized_classes[] = {"gemm", "conv", "attention", "comm"};

static const struct ws_work_item *item_of(const struct matcher *m, int side, size_t at)
{
	return ws_names_item(m->names, m->side[side].call[at].item);
}

static uint32_t symbol_of(const struct matcher *m, int level, int side, size_t at)
{
	return item_of(m, side, at)->likeness[level];
}

/* Positions in the sequence of a side, ascending. */
struct positions {
	const uint32_t *index;
	size_t n;
};

/* Parameters of align_level. */
struct rule {
	int level, last_level;
	enum ws_matched_by criterion;
	int small; /* the rest of a small range pair may be matched as a group */
};

static void join(struct matcher *m, const struct positions p[2], enum ws_matched_by by)
{
	struct ws_match_kind kind = {.criterion = by};
	uint32_t group = (uint32_t)m->out->ngroups++;

	for (int s = 0; s < 2; s++) {
		/* sides of the caller, regardless of swapping */
		const int side = s ^ m->swapped;

		kind.n[side] = (uint32_t)p[s].n;
		kind.item[side] = p[s].n ? m->side[s].call[*p[s].index].item : 0;
		for (size_t i = 0; i < p[s].n; i++) {
			m->out->group[s][p[s].index[i]] = group;
			kind.flops[side] += item_of(m, s, p[s].index[i])->flops;
		}
	}
	m->out->kind[group] = ws_match_add_kind(m->out, &kind);
}

/*
 * A group of items on one side and a group on the other are the same work if their FLOPs agree, or
 * if none are known and they are of one class. In a small range they may be of several classes
 * without known sizes: a norm in parts, and as a whole.
 */
static bool may_be_same(const struct matcher *m, const struct positions p[2], bool in_range)
{
	double flops[2] = {0, 0};
	const uint32_t class = item_of(m, 0, *p[0].index)->class;
	bool one_class = true, sized = false; /* sizes matter for one of the classes */

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < p[s].n; i++) {
			const struct ws_work_item *item = item_of(m, s, p[s].index[i]);

			flops[s] += item->flops;
			one_class &= item->class == class;
			for (size_t k = 0; k < sizeof(m->sized) / sizeof(*m->sized); k++)
				sized |= item->class == m->sized[k];
		}
	if (flops[0] > 0 && flops[1] > 0)
		return !ws_work_apart(flops[0], flops[1]);
	if (p[0].n == 1 && p[1].n == 1 &&
	    ws_work_apart(item_of(m, 0, *p[0].index)->volume, item_of(m, 1, *p[1].index)->volume))
		return false;
	return one_class || (in_range && !sized);
}

static void join_pair(struct matcher *m, const uint32_t *a, const uint32_t *b,
                      const struct rule *rule)
{
	const struct positions pair[2] = {{a, 1}, {b, 1}};
	const bool are_operations = item_of(m, 0, *a)->op && item_of(m, 1, *b)->op;

	join(m, pair,
	     rule->criterion == WS_MATCHED_BY_OPERATION && !are_operations ? WS_MATCHED_BY_CLASS
	                                                                   : rule->criterion);
}

/* Are the sequences equal, as for most ranges? */
static bool have_same_symbols(const struct matcher *m, const struct positions p[2], int level)
{
	size_t i = 0;

	while (i < p[0].n && i < p[1].n &&
	       symbol_of(m, level, 0, p[0].index[i]) == symbol_of(m, level, 1, p[1].index[i]))
		i++;
	return i == p[0].n && i == p[1].n;
}

/* Matches items at this level; then the gaps between them at the next. */
static void align_level(struct matcher *m, const struct positions p[2], struct rule rule)
{
	size_t from[2] = {0, 0};

	if (!p[0].n || !p[1].n || rule.level > rule.last_level) {
		if (rule.small && p[0].n && p[1].n && may_be_same(m, p, true))
			join(m, p,
			     p[0].n == 1 && p[1].n == 1 ? WS_MATCHED_BY_RANGE
			                                : WS_MATCHED_BY_NEIGHBOURS);
		return;
	}
	if (rule.level != WS_LIKE_CLASS && have_same_symbols(m, p, rule.level)) {
		for (size_t i = 0; i < p[0].n; i++)
			join_pair(m, &p[0].index[i], &p[1].index[i], &rule);
		return;
	}
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < p[s].n; i++)
			m->scratch[s][i] = symbol_of(m, rule.level, s, p[s].index[i]);
	uint32_t *partner = ws_xarray(p[0].n, sizeof(*partner));
	ws_align(m->scratch[0], p[0].n, m->scratch[1], p[1].n, partner);
	for (size_t i = 0; i <= p[0].n; i++) {
		int at_end = i == p[0].n;
		size_t j = at_end ? p[1].n : partner[i];

		if (!at_end && partner[i] == WS_NONE)
			continue;
		/* Operations of different kinds are not the same only because they have the same
		 * class. */
		if (!at_end && rule.level == WS_LIKE_CLASS) {
			const struct ws_work_item *x = item_of(m, 0, p[0].index[i]),
			                          *y = item_of(m, 1, p[1].index[j]);

			if (x->op && y->op && x->kind != y->kind)
				continue;
		}
		if (i > from[0] || j > from[1]) {
			struct positions gap[2] = {{p[0].index + from[0], i - from[0]},
			                           {p[1].index + from[1], j - from[1]}};
			struct rule next = rule;

			next.level++;
			align_level(m, gap, next);
		}
		if (!at_end)
			join_pair(m, &p[0].index[i], &p[1].index[j], &rule);
		from[0] = i + 1;
		from[1] = j + 1;
	}
	free(partner);
}

/* --- pass 1: ranges ---------------------------------------------------------------------- */

static int64_t range_of(const struct matcher *m, int side, uint32_t call)
{
	return (int64_t)((uint64_t)item_of(m, side, call)->place << 31 |
	                 m->side[side].call[call].instance);
}

/* Context of by_place. */
struct by_range {
	const uint32_t *place; /* by call */
	const struct ws_work_ref *call;
};

static int by_place(const void *pa, const void *pb, void *ctx)
{
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const struct by_range *r = ctx;

	WS_ORDER_BY(r->place[a], r->place[b]);
	WS_ORDER_BY(r->call[a].instance, r->call[b].instance);
	return ws_order_compare(a, b);
}

/* Calls in ranges, by range, in launch order. temp: one entry per call. */
static void by_range(struct matcher *m, int side, struct positions *out, uint32_t *temp)
{
	const struct ws_work_list *list = &m->side[side];
	const size_t nplaces = m->names->nplaces;
	struct by_range by = {temp, list->call};
	struct ws_rows_by_key of;

	for (uint32_t i = 0; i < list->n; i++)
		temp[i] = item_of(m, side, i)->place;
	/* few calls and many places: sort instead of visiting each place */
	if (list->n < nplaces) {
		size_t n = 0;

		uint32_t *order = ws_arena_array(&m->temp, list->n, sizeof(*order));
		for (uint32_t i = 0; i < list->n; i++)
			if (temp[i] != WS_NONE)
				order[n++] = i;
		ws_sort_by(order, n, sizeof(*order), by_place, &by);
		*out = (struct positions){order, n};
		return;
	}
	ws_order_by_key(&of, &m->temp, temp, list->n, nplaces);
	*out = (struct positions){of.order, of.first[nplaces]};
	for (size_t p = 0; p < nplaces; p++) {
		size_t i = of.first[p] + 1;

		while (i < of.first[p + 1] &&
		       list->call[of.order[i - 1]].instance <= list->call[of.order[i]].instance)
			i++;
		if (i < of.first[p + 1])
			ws_sort_by(of.order + of.first[p], of.first[p + 1] - of.first[p],
			           sizeof(*of.order), by_place, &by);
	}
}

/* --- passes 2 to 4: remaining items --------------------------------------------------------- */

/* Length of the run of unmatched items that begins at i, in one phase. */
static size_t unmatched_run_length(const struct matcher *m, int side, size_t i)
{
	size_t n = 0;

	while (i + n < m->side[side].n && m->out->group[side][i + n] == WS_NONE &&
	       item_of(m, side, i + n)->phase == item_of(m, side, i)->phase)
		n++;
	return n;
}

static bool is_matched(const struct matcher *m, int side, size_t i)
{
	uint32_t group = i < m->side[side].n ? m->out->group[side][i] : WS_NONE;

	return group != WS_NONE &&
	       ws_match_kind(m->out, m->out->kind[group])->criterion != WS_MATCHED_BY_CAST;
}

static bool is_unmatched(const struct matcher *m, int side, uint32_t i,
                         enum ws_precision_work precision)
{
	return i < m->side[side].n && m->out->group[side][i] == WS_NONE &&
	       item_of(m, side, i)->precision == precision;
}

static void join_alone(struct matcher *m, int side, uint32_t i, enum ws_matched_by by)
{
	struct positions alone[2] = {{NULL, 0}, {NULL, 0}};

	alone[side] = (struct positions){&i, 1};
	join(m, alone, by);
}

/* Is all work the same, in the same ranges and order? Then matches are known without sorting by
 * range. */
static bool is_all_same(const struct matcher *m)
{
	const struct ws_work_ref *a = m->side[0].call, *b = m->side[1].call;
	size_t i = 0;

	if (m->side[0].n != m->side[1].n)
		return false;
	for (; i < m->side[0].n && a[i].instance == b[i].instance; i++) {
		if (a[i].item == b[i].item)
			continue;
		const struct ws_work_item *x = ws_names_item(m->names, a[i].item);
		const struct ws_work_item *y = ws_names_item(m->names, b[i].item);
		if (x->place != y->place ||
		    x->likeness[WS_LIKE_KIND_AND_SHAPE] != y->likeness[WS_LIKE_KIND_AND_SHAPE])
			break;
	}
	return i == m->side[0].n;
}

static void find(struct matcher *m, bool of_two_sides)
{
	struct ws_match *out = m->out;

	out->kind = ws_xmalloc((m->side[0].n + m->side[1].n + 1) * sizeof(*out->kind));
	for (int s = 0; s < 2; s++) {
		out->group[s] = ws_xmalloc((m->side[s].n + 1) * sizeof(**out->group));
		memset(out->group[s], 0xff, (m->side[s].n + 1) * sizeof(**out->group));
	}
	if (is_all_same(m)) {
		for (uint32_t i = 0; i < m->side[0].n; i++) {
			const bool in_range = item_of(m, 0, i)->place != WS_NONE;
			const struct rule rule = {.criterion = in_range ? WS_MATCHED_BY_RANGE
			                                                : WS_MATCHED_BY_OPERATION};

			join_pair(m, &i, &i, &rule);
		}
		return;
	}
	for (int s = 0; s < 2; s++)
		WS_NEW(&m->temp, m->scratch[s], m->side[s].n);
	struct positions in[2];
	size_t at[2] = {0, 0};

	for (int s = 0; s < 2; s++)
		by_range(m, s, &in[s], m->scratch[s]);
	while (at[0] < in[0].n && at[1] < in[1].n) {
		int64_t key[2] = {range_of(m, 0, in[0].index[at[0]]),
		                  range_of(m, 1, in[1].index[at[1]])};
		size_t end[2];

		for (int s = 0; s < 2; s++) {
			end[s] = at[s];
			while (end[s] < in[s].n && range_of(m, s, in[s].index[end[s]]) == key[s])
				end[s]++;
		}
		if (key[0] == key[1]) {
			struct positions p[2] = {{in[0].index + at[0], end[0] - at[0]},
			                         {in[1].index + at[1], end[1] - at[1]}};

			int small = p[0].n <= SMALL_RANGE && p[1].n <= SMALL_RANGE;
			/* the same kinds in the same order: then the range alone determines the
			 * match */
			struct rule rule = {WS_LIKE_KIND_AND_SHAPE, WS_LIKE_KIND,
			                    small || have_same_symbols(m, p, WS_LIKE_KIND)
			                            ? WS_MATCHED_BY_RANGE
			                            : WS_MATCHED_BY_OPERATION,
			                    small};

			align_level(m, p, rule);
		}
		if (key[0] <= key[1])
			at[0] = end[0];
		if (key[1] <= key[0])
			at[1] = end[1];
	}

	/* the work that no range matches */
	struct positions p[2];
	struct rule rule = {WS_LIKE_KIND_AND_SHAPE, WS_LIKE_CLASS, WS_MATCHED_BY_OPERATION, 0};

	for (int s = 0; s < 2; s++) {
		uint32_t *left = ws_arena_array(&m->temp, m->side[s].n, sizeof(*left));

		p[s] = (struct positions){left, 0};
		for (uint32_t i = 0; i < m->side[s].n; i++)
			if (m->out->group[s][i] == WS_NONE)
				left[p[s].n++] = i;
	}
	align_level(m, p, rule);

	/*
	 * Matches runs after matched neighbours: three kernels of A and one of B between the same
	 * work are the same work, fused.
	 */
	uint32_t *last_of_group;
	uint32_t run[2][MOST_NEIGHBOURS];

	WS_NEW(&m->temp, last_of_group, m->side[1].n + 1);
	for (uint32_t i = 0; i < m->side[1].n; i++)
		if (m->out->group[1][i] != WS_NONE)
			last_of_group[m->out->group[1][i]] = i + 1;
	for (size_t i = 0; i < m->side[0].n; i++) {
		uint32_t before = i ? m->out->group[0][i - 1] : WS_NONE;
		size_t n[2] = {unmatched_run_length(m, 0, i), 0}, j;
		struct positions group[2];

		if (!n[0] || (i && before == WS_NONE))
			continue;
		j = i ? last_of_group[before] : 0;
		n[1] = unmatched_run_length(m, 1, j);
		if (n[1] && n[0] + n[1] <= MOST_NEIGHBOURS &&
		    item_of(m, 0, i)->phase == item_of(m, 1, j)->phase) {
			for (int s = 0; s < 2; s++) {
				for (size_t k = 0; k < n[s]; k++)
					run[s][k] = (uint32_t)((s ? j : i) + k);
				group[s] = (struct positions){run[s], n[s]};
			}
			if (!may_be_same(m, group, false))
				continue;
			join(m, group, WS_MATCHED_BY_NEIGHBOURS);
			last_of_group[m->out->ngroups - 1] = (uint32_t)(j + n[1]);
		}
		i += n[0] - 1;
	}
	for (int s = 0; of_two_sides && s < 2; s++) {
		/* Matches loss scaling, which works on gradients and on single numbers: the scale,
		 * its factor and reciprocal, the flag of an infinity. */
		bool scales = false;

		for (uint32_t i = 0; i < m->side[s].n; i++)
			scales |= is_unmatched(m, s, i, WS_PRECISION_SCALING);
		for (uint32_t i = 0; scales && i < m->side[s].n; i++)
			if (is_unmatched(m, s, i, WS_PRECISION_SCALING) ||
			    is_unmatched(m, s, i, WS_PRECISION_SCALAR))
				join_alone(m, s, i, WS_MATCHED_BY_SCALING);

		/* Matches a run of casts beside matched work, which is due to the other dtype of
		 * that work. */
		for (uint32_t i = 0, end; i < m->side[s].n; i = end) {
			end = i + 1;
			if (!is_unmatched(m, s, i, WS_PRECISION_CAST))
				continue;
			while (is_unmatched(m, s, end, WS_PRECISION_CAST))
				end++;
			if (!is_matched(m, s, end) && !(i && is_matched(m, s, i - 1)))
				continue;
			for (uint32_t k = i; k < end; k++)
				join_alone(m, s, k, WS_MATCHED_BY_CAST);
		}
	}
}

void ws_match_find(struct ws_match *out, const struct ws_names *names, const struct ws_work_list *a,
                   const struct ws_work_list *b, bool of_two_sides)
{
	/*
	 * Which of several best alignments is found depends on the order of the sides. A fixed
	 * order makes diff B A mirror diff A B.
	 */
	const bool swapped = !(a->n != b->n ? a->n < b->n : a->gpu_ns <= b->gpu_ns);
	struct matcher m = {.names = names,
	                    .side = {swapped ? *b : *a, swapped ? *a : *b},
	                    .out = out,
	                    .swapped = swapped};

	*out = (struct ws_match){0};
	for (size_t i = 0; i < sizeof(m.sized) / sizeof(*m.sized); i++)
		m.sized[i] = (uint32_t)ws_strtab_find(&names->texts.known, sized_classes[i],
		                                      strlen(sized_classes[i]));
	find(&m, of_two_sides);
	if (swapped) {
		uint32_t *group = out->group[0];

		out->group[0] = out->group[1];
		out->group[1] = group;
	}
	ws_arena_free(&m.temp);
}

void ws_match_release(struct ws_match *m)
{
	free(m->group[0]);
	free(m->group[1]);
	free(m->kind);
	ws_texts_release(&m->kinds);
	*m = (struct ws_match){0};
}
