#include "report/front/front.h"

#include "report/base/stat.h"

#define COLUMN(id, title, unit, type, display, rank)                                      \
	{                                                                                 \
		id, title, unit, WS_CELL_##type, WS_DISPLAY_##display, "", WS_RANK_##rank \
	}

static const struct ws_table_column tree_columns[] = {
        COLUMN("part", "Part", "", TEXT, PLAIN, NAME),
        COLUMN("time_ns", "GPU Time (ns)", "ns", REAL, TIME_NS, ANSWER),
        COLUMN("share", "Share (%)", "%", REAL, PERCENT, ANSWER),
        COLUMN("own_ns", "Own Time (ns)", "ns", REAL, TIME_NS, ANSWER),
        COLUMN("calls", "Calls", "", REAL, COUNT, ANSWER),
        COLUMN("kernels", "Kernels", "", REAL, COUNT, ANSWER),
};
enum { PART, PART_TIME, PART_SHARE, PART_OWN, PART_CALLS, PART_KERNELS, PART_MEAN = PART_KERNELS };

/* … if only ranges were recorded. */
static const struct ws_table_column host_columns[] = {
        COLUMN("part", "Part", "", TEXT, PLAIN, NAME),
        COLUMN("time_ns", "Host Time (ns)", "ns", REAL, TIME_NS, ANSWER),
        COLUMN("share", "Share (%)", "%", REAL, PERCENT, ANSWER),
        COLUMN("own_ns", "Own Time (ns)", "ns", REAL, TIME_NS, ANSWER),
        COLUMN("calls", "Calls", "", REAL, COUNT, ANSWER),
        COLUMN("mean_ns", "Mean (ns)", "ns", REAL, EACH_NS, ANSWER),
};

/* Columns for kernels, or for operations if there are no kernels; the title of the rates has their
 * unit. */
#define COST_COLUMNS(what, device)                                                           \
	{                                                                                    \
		COLUMN("kernel", what, "", TEXT, PLAIN, NAME),                               \
		        COLUMN("class", "Class", "", TEXT, PLAIN, ANSWER),                   \
		        COLUMN("calls", "Calls", "", REAL, COUNT, ANSWER),                   \
		        COLUMN("time_ns", device " Time (ns)", "ns", REAL, TIME_NS, ANSWER), \
		        COLUMN("share", "Share (%)", "%", REAL, PERCENT, ANSWER),            \
		        COLUMN("mean_ns", "Mean (ns)", "ns", REAL, EACH_NS, ANSWER),         \
		        COLUMN("rate", "FLOP/s", "", REAL, REAL, ANSWER),                    \
		        COLUMN("attained", "Of Its Roof (%)", "%", REAL, PERCENT, ANSWER)    \
	}
static const struct ws_table_column kernel_columns[] = COST_COLUMNS("Kernel", "GPU"),
                                    operation_columns[] = COST_COLUMNS("Operation", "CPU");
enum {
	KERNEL,
	KERNEL_CLASS,
	KERNEL_CALLS,
	KERNEL_TIME,
	KERNEL_SHARE,
	KERNEL_MEAN,
	KERNEL_RATE,
	KERNEL_ATTAINED
};

static const struct ws_table_column time_columns[] = {
        COLUMN("time_ns", "Time (ns)", "ns", REAL, TIME_NS, ANSWER),
};

static const struct ws_table_column change_columns[] = {
        COLUMN("op", "Operation", "", TEXT, PLAIN, NAME),
        COLUMN("class", "Class", "", TEXT, PLAIN, ANSWER),
        COLUMN("a_ns", "A (ns)", "ns", REAL, TIME_NS, ANSWER),
        COLUMN("b_ns", "B (ns)", "ns", REAL, TIME_NS, ANSWER),
        COLUMN("diff_ns", "B - A (ns)", "ns", REAL, TIME_NS, ANSWER),
        COLUMN("ratio", "B / A", "", REAL, RATIO, ANSWER),
        COLUMN("grade", "Grade", "", TEXT, PLAIN, ANSWER),
};
enum { CHANGE, CHANGE_CLASS, CHANGE_A, CHANGE_B, CHANGE_DIFF, CHANGE_RATIO, CHANGE_GRADE };

#define DEF(name, title, columns)                                                     \
	{                                                                             \
		name, title, title, "", columns, sizeof(columns) / sizeof(*(columns)) \
	}
static const struct ws_table_def tree_def = DEF("front-tree", "Where in the model", tree_columns);
static const struct ws_table_def host_def = DEF("front-tree", "Where in the program", host_columns);
static const struct ws_table_def kernel_def =
        DEF("front-kernels", "Kernels that cost most", kernel_columns);
static const struct ws_table_def change_def =
        DEF("front-changes", "Operations that changed most", change_columns);
static const struct ws_table_def operation_def =
        DEF("front-operations", "Operations that cost most", operation_columns);
static const struct ws_table_def time_def = DEF("front-time", "Time", time_columns);

/* --- the tree ---------------------------------------------------------------------------- */

#define NONE        SIZE_MAX
#define LEAST_SHARE 0.005 /* minimum share of the GPU time of a shown part */

struct tree {
	const struct ws_page *page;
	bool *is_shown;
};

/* A label that is nearly all of its hidden parent includes the parent: "backward › layer ×2". */
static const char *name_of(const struct tree *t, struct ws_arena *arena, size_t i)
{
	const struct ws_page_node *all = t->page->node;
	const size_t up = all[i].parent;

	return up != WS_PAGE_ROOT && all[up].whole == i
	               ? ws_arena_format(arena, "%s › %s", all[up].label, all[i].label)
	               : all[i].label;
}

/* The nearest ancestor with a row; NONE. */
static size_t row_around(const struct tree *t, size_t i)
{
	size_t up = t->page->node[i].parent;

	while (up != WS_PAGE_ROOT && !t->is_shown[up])
		up = t->page->node[up].parent;
	return up;
}

#define DISTINCT_BYTES 32

/* The part of a label that differs from the other one: the whole label if it is short, else the
 * text between quotes or brackets: "(6, 3, 5, 5)" of "{'op': 'conv2d', 'shape': (6, 3, 5, 5),
 * …}". */
static const char *differing_part(struct ws_arena *arena, const char *label, const char *other)
{
	size_t at = 0, end;

	if (strlen(label) <= DISTINCT_BYTES)
		return label;
	while (label[at] && label[at] == other[at])
		at++;
	end = at + strcspn(label + at, "'\")]}");
	while (at && !strchr("'\"([{", label[at - 1]))
		at--;
	if (at && label[at - 1] == '(' && label[end] == ')') {
		at--;
		end++;
	}
	if (end - at <= DISTINCT_BYTES)
		return ws_arena_format(arena, "%.*s", (int)(end - at), label + at);
	for (end = at + DISTINCT_BYTES; ((unsigned char)label[end] & 0xc0) == 0x80;)
		end--; /* not inside a character */
	return ws_arena_format(arena, "%.*s…", (int)(end - at), label + at);
}

/* Text that distinguishes a row from others of the same name in the same part: an ancestor without
 * a row; "" if the name is unique. */
static const char *distinction(const struct tree *t, struct ws_arena *arena, size_t i)
{
	const struct ws_page_node *all = t->page->node;
	const char *name = name_of(t, arena, i);
	size_t nth = 1, same = 0;

	for (size_t k = 0; k < t->page->nnodes; k++) {
		size_t a = i, b = k;

		if (k == i || !t->is_shown[k] || row_around(t, k) != row_around(t, i) ||
		    strcmp(name_of(t, arena, k), name) != 0)
			continue;
		same++;
		nth += k < i;
		while (all[a].parent != WS_PAGE_ROOT && all[b].parent != WS_PAGE_ROOT) {
			a = all[a].parent;
			b = all[b].parent;
			if (strcmp(all[a].label, all[b].label) != 0)
				return ws_arena_format(arena, "%s › ",
				                       differing_part(arena, all[a].label,
				                                      all[b].label));
		}
	}
	return same ? ws_arena_format(arena, "%zu: ", nth) : "";
}

struct ws_table *ws_front_tree(const struct ws_page *page, size_t rows)
{
	struct ws_table *table = ws_table_new(page->has_host_ranges ? &host_def : &tree_def);
	struct tree t = {.page = page};
	struct ws_arena arena = {0};
	unsigned *depth; /* of the shown parts */

	ws_table_set_title(table, page->tree_title ? page->tree_title : tree_def.title, NULL);
	table->without_gpu = page->on_cpu;
	table->is_chosen = true; /* keeps this order and all columns */
	WS_NEW(&arena, t.is_shown, page->nnodes);
	WS_NEW(&arena, depth, page->nnodes);
	/* Selects the longest parts. A parent is at least as long as its children, so no part is
	 * shown without its parents. */
	for (size_t i = 0; i < rows; i++) {
		size_t most = NONE;

		for (size_t k = 0; k < page->nnodes; k++)
			if (!t.is_shown[k] && !ws_page_passed(page, k) &&
			    (most == NONE ||
			     page->node[k].inclusive_ns > page->node[most].inclusive_ns))
				most = k;
		if (most == NONE ||
		    (double)page->node[most].inclusive_ns < LEAST_SHARE * ws_page_gpu_ns(page))
			break;
		t.is_shown[most] = true;
	}
	for (size_t i = 0; i < page->nnodes; i++) {
		const size_t up = page->node[i].parent;

		depth[i] = up == WS_PAGE_ROOT ? 0 : depth[up] + t.is_shown[up];
		if (t.is_shown[i]) {
			const struct ws_page_node *node = &page->node[i];
			struct ws_cell *row = ws_table_row(table);
			struct ws_arena texts = {0};

			ws_cell_set_str(table, &row[PART],
			                ws_arena_format(&texts, "%*s%s%s", 2 * (int)depth[i], "",
			                                distinction(&t, &texts, i),
			                                name_of(&t, &texts, i)));
			ws_arena_free(&texts);
			ws_cell_set_real(&row[PART_TIME],
			                 (double)node->inclusive_ns / page->samples);
			ws_cell_set_real(&row[PART_SHARE],
			                 100.0 * (double)node->inclusive_ns / ws_page_gpu_ns(page));
			ws_cell_set_real(&row[PART_OWN],
			                 (double)node->exclusive_ns / page->samples);
			if (node->calls)
				ws_cell_set_real(&row[PART_CALLS],
				                 (double)node->calls / page->samples);
			if (page->has_host_ranges)
				ws_cell_set_real(&row[PART_MEAN],
				                 ws_stat_ratio((double)node->inclusive_ns,
				                               (double)node->calls));
			else
				ws_cell_set_real(&row[PART_KERNELS],
				                 (double)node->kernels / page->samples);
		}
	}
	ws_arena_free(&arena);
	return table;
}

unsigned ws_front_depth(const struct ws_cell *name)
{
	unsigned n = 0;

	while (name->type == WS_CELL_TEXT && n < name->text.len && name->text.ptr[n] == ' ')
		n++;
	return n / 2;
}

/* --- the others ---------------------------------------------------------------------------- */

struct ws_table *ws_front_kernels(const struct ws_page *page, size_t rows)
{
	struct ws_table *t = ws_table_new(page->has_operations ? &operation_def : &kernel_def);

	t->without_gpu = page->on_cpu;
	if (page->rate_unit > 0)
		ws_table_show_as(t, KERNEL_RATE, page->rate_name);
	for (size_t i = 0; i < page->nkernels && i < rows; i++) {
		const struct ws_page_kernel *k = &page->kernel[i];
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[KERNEL], k->name);
		if (k->class)
			ws_cell_set_str(t, &row[KERNEL_CLASS], k->class);
		ws_cell_set_real(&row[KERNEL_CALLS], (double)k->calls / page->samples);
		ws_cell_set_real(&row[KERNEL_TIME], (double)k->ns / page->samples);
		ws_cell_set_real(&row[KERNEL_SHARE], k->percent);
		ws_cell_set_real(&row[KERNEL_MEAN], k->mean_ns);
		if (k->flops_per_s > 0 && page->rate_unit > 0)
			ws_cell_set_real(&row[KERNEL_RATE], k->flops_per_s / page->rate_unit);
		ws_cell_set_real(&row[KERNEL_ATTAINED], k->attained);
	}
	return t;
}

struct ws_table *ws_front_changes(const struct ws_page *page)
{
	struct ws_table *t = ws_table_new(&change_def);

	for (size_t i = 0; i < page->nchanges; i++) {
		const struct ws_change *c = &page->change[i];
		struct ws_arena arena = {0};
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[CHANGE],
		                ws_arena_format(&arena, "%s%s%s", c->name, *c->shape ? " " : "",
		                                c->shape));
		ws_cell_set_str(t, &row[CHANGE_CLASS], c->class);
		ws_cell_set_real(&row[CHANGE_A], c->ns[0]);
		ws_cell_set_real(&row[CHANGE_B], c->ns[1]);
		ws_cell_set_real(&row[CHANGE_DIFF], c->ns[1] - c->ns[0]);
		ws_cell_set_real(&row[CHANGE_RATIO], c->ratio);
		ws_cell_set_str(t, &row[CHANGE_GRADE], c->grade);
		ws_arena_free(&arena);
	}
	return t;
}

void ws_front_times(double longest_ns, struct ws_shown_column *out)
{
	struct ws_table *whole = ws_table_new(&time_def);

	ws_cell_set_real(&ws_table_row(whole)[0], longest_ns);
	ws_display_column(whole, 0, out);
	ws_table_free(whole);
}

const char *ws_front_source(struct ws_arena *arena, const struct ws_page *page)
{
	const char *const parts[] = {page->device, page->source, page->scope, page->losses};
	const char *out = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i])
			out = ws_arena_format(arena, "%s%s%s", out, *out ? " · " : "", parts[i]);
	return out;
}

size_t ws_front_part(const struct ws_page_row_part *const *parts, size_t n, const char *name)
{
	size_t i = 0;

	while (i < n && strcmp(parts[i]->name, name) != 0)
		i++;
	return i;
}

size_t ws_front_parts(const struct ws_page *page,
                      const struct ws_page_row_part *out[WS_FRONT_PARTS])
{
	size_t n = 0;

	for (size_t i = 0; i < page->nrows; i++)
		for (size_t k = 0; k < page->row[i].nparts && n < WS_FRONT_PARTS; k++)
			if (ws_front_part(out, n, page->row[i].part[k].name) == n)
				out[n++] = &page->row[i].part[k];
	return n;
}
