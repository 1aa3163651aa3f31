/* The pictures of the first sheet, as native charts of cells beside the page. */

#include <math.h>
#include <stdbool.h>

#include "report/base/say.h"
#include "report/front/front.h"
#include "report/writers/xlsx/front.h"

#define BAR_ROWS      9
#define NAMED_LEAST   1.0 /* percent: less is one of the others */
#define ICICLE_LEVELS 8
#define LEVELS_LEAST  5     /* a chart of less is as high: LibreOffice breaks names by its height */
#define SLOTS_MAX     48    /* boxes and gaps of a level */
#define BOX_LEAST     0.006 /* of the GPU time: less is no box */
#define LABEL_MOST    32    /* letters of a name */
#define LABEL_LEAST   0.07  /* of the width: less has no room for a name */

static lxw_chart *new_chart(struct ws_xlsx *x, const char *title)
{
	lxw_chart *chart = ws__xlsx_chart(x, LXW_CHART_BAR_STACKED);
	lxw_chart_font font = {.size = 10, .bold = LXW_EXPLICIT_FALSE, .color = 0x595959};

	chart_title_set_name(chart, title);
	chart_title_set_name_font(chart, &font);
	chart_axis_major_gridlines_set_visible(chart->x_axis, LXW_FALSE);
	chart_axis_major_gridlines_set_visible(chart->y_axis, LXW_FALSE);
	return chart;
}

/* --- the step ------------------------------------------------------------------------------- */

/* Idle time is pale, each cause a shade of its own. */
static lxw_color_t colour_of(const struct ws_page_segment *segment, size_t nth_idle)
{
	const uint32_t light = ws_page_colour_def(segment->colour).light;
	lxw_color_t mixed = 0;

	if (!segment->is_idle)
		return light;
	for (int shift = 0; shift < 24; shift += 8) {
		const double channel = light >> shift & 0xff;

		mixed |= (lxw_color_t)(channel * (1 - 0.09 * (double)(nth_idle % 5))) << shift;
	}
	return mixed;
}

struct bar {
	struct ws_xlsx *x;
	const struct ws_xlsx_sheet *s;
	lxw_chart *chart;
	struct ws_shown_column shown;
	uint32_t row; /* of the next part's cells */
};

static void add_part(struct bar *b, const char *name, double ns, double percent, lxw_color_t colour)
{
	lxw_chart_fill fill = {.color = colour};
	lxw_chart_line line = {.color = LXW_COLOR_WHITE, .width = 0.5};
	lxw_chart_series *series = ws__xlsx_series(b->chart);
	const lxw_col_t col = FRONT_DATA + 1;
	struct ws_cell cell;

	ws_cell_set_real(&cell, ns);
	ws__xlsx_text(b->x, b->s->sheet, b->row, FRONT_DATA, name, b->x->styles[WS_XLSX_SOURCE]);
	ws__xlsx_cell(b->x, b->s->sheet, b->row, col, &cell, &b->shown, WS_XLSX_CELL);
	chart_series_set_name(series, ws__xlsx_format(b->x, "%s %s", name,
	                                              ws_say_percent(&b->x->arena, percent)));
	chart_series_set_values(series, b->s->name, b->row, col, b->row, col);
	chart_series_set_fill(series, &fill);
	chart_series_set_line(series, &line);
	b->row++;
}

/* Work, then idle time; what is too small for a name is one part of each. */
static void add_parts(struct bar *b, const struct ws_page *page)
{
	for (int idle = 0; idle < 2; idle++) {
		double ns = 0, percent = 0;
		size_t nth = 0;

		for (size_t i = 0; i < page->nsegments; i++) {
			const struct ws_page_segment *part = &page->segment[i];
			const double time = ws_page_segment_ns(page, part);

			if (part->is_idle != idle)
				continue;
			if (part->percent >= NAMED_LEAST) {
				add_part(b, part->name, time, part->percent,
				         colour_of(part, nth++));
				continue;
			}
			ns += time;
			percent += part->percent;
		}
		if (ns > 0)
			add_part(b, idle ? "other idle time" : "other work", ns, percent,
			         idle ? 0xD9CFC4 : 0x6B7280);
	}
}

static void style_bar(lxw_chart *chart, const struct ws_page *page, const struct bar *b)
{
	lxw_chart_font font = {.size = 9, .bold = LXW_EXPLICIT_FALSE};

	chart_set_series_gap(chart, 15);
	chart_axis_set_max(chart->x_axis, page->step_ns / pow(10, b->shown.exponent));
	chart_axis_set_min(chart->x_axis, 0);
	chart_axis_set_name(chart->x_axis, ws__xlsx_format(b->x, "time (%s)", b->shown.unit));
	chart_axis_set_name_font(chart->x_axis, &font);
	chart_axis_set_num_font(chart->x_axis, &font);
	chart_axis_set_num_format(chart->x_axis, "#,##0.##");
	chart_axis_set_label_position(chart->y_axis, LXW_CHART_AXIS_LABEL_POSITION_NONE);
	chart_legend_set_position(chart, LXW_CHART_LEGEND_BOTTOM);
	chart_legend_set_font(chart, &font);
}

uint32_t ws__xlsx_add_bar(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint32_t row)
{
	const struct ws_page *page = x->report->page;
	struct bar b = {.x = x,
	                .s = s,
	                .chart = new_chart(x, "Time by class of work, then idle time by cause"),
	                .row = row + 1};

	ws_front_times(page->step_ns, &b.shown);
	ws__xlsx_text(x, s->sheet, row, FRONT_DATA, "Cells of the bar", x->styles[WS_XLSX_SOURCE]);
	ws__xlsx_text(x, s->sheet, row, FRONT_DATA + 1, b.shown.title, x->styles[WS_XLSX_SOURCE]);
	add_parts(&b, page);
	style_bar(b.chart, page, &b);
	ws__xlsx_place_chart(x, s->sheet, row, b.chart, WS_XLSX_PAGE_PIXELS, BAR_ROWS,
	                     "Stacked bar: time of work by class, then idle time by cause");
	return row + BAR_ROWS;
}

/* --- the model ------------------------------------------------------------------------------- */

/* A box, or a gap before one. */
struct slot {
	double width;
	const struct ws_page_node *node; /* NULL: a gap */
};

struct icicle {
	struct slot slot[ICICLE_LEVELS][SLOTS_MAX];
	size_t n[ICICLE_LEVELS];
	double end[ICICLE_LEVELS]; /* where the last box of a level ends */
	size_t levels;
};

/* Boxes stand from left to right below their parents: where each begins. Parents come first. */
static void lay_out(const struct ws_page *page, double scale, struct icicle *icicle)
{
	struct ws_arena arena = {0};
	const bool *passed = ws_front_passed(&arena, page);
	size_t *depth;        /* of what a node holds */
	double *begin, *used; /* used: by the children of each */

	WS_NEW(&arena, depth, page->nnodes + 1);
	WS_NEW(&arena, begin, page->nnodes + 1);
	WS_NEW(&arena, used, page->nnodes + 1);
	for (size_t i = 0; i < page->nnodes; i++) {
		const struct ws_page_node *node = &page->node[i];
		const size_t up = node->parent == WS_PAGE_ROOT ? page->nnodes : node->parent;
		const double width = scale * (double)node->inclusive_ns / (double)page->gpu_ns;
		const size_t level = depth[up];

		depth[i] = level + !passed[i];
		begin[i] = (up < page->nnodes ? begin[up] : 0) + used[up];
		used[up] += width;
		if (passed[i] || width < BOX_LEAST || level >= ICICLE_LEVELS ||
		    icicle->n[level] + 2 > SLOTS_MAX)
			continue;
		/* boxes of a level come in this order where nodes are in that of the tree */
		if (begin[i] < icicle->end[level] - 1e-9)
			continue;
		if (begin[i] > icicle->end[level] + 1e-9)
			icicle->slot[level][icicle->n[level]++] =
			        (struct slot){begin[i] - icicle->end[level], NULL};
		icicle->slot[level][icicle->n[level]++] = (struct slot){width, node};
		icicle->end[level] = begin[i] + width;
		icicle->levels = level + 1 > icicle->levels ? level + 1 : icicle->levels;
	}
	ws_arena_free(&arena);
}

struct painting {
	struct ws_xlsx *x;
	lxw_worksheet *sheet;
	const char *sheet_name;
	const struct ws_xlsx_icicle *page_icicle;
	const struct icicle *icicle;
	lxw_chart *chart;
};

/* Of a comparison by what changed, else by the class with most time. */
static struct ws_page_colour_def paint_of(const struct ws_xlsx_icicle *of,
                                          const struct ws_page_node *node)
{
	static const struct ws_page_colour_def changes[] = {
	        [WS_CHANGE_NONE] = {0x8F969F, 0x8F969F, 0x10212B},
	        [WS_CHANGE_SAVES] = {0x22744A, 0x22744A, 0xFFFFFF},
	        [WS_CHANGE_COSTS] = {0xB13F2D, 0xB13F2D, 0xFFFFFF},
	        [WS_CHANGE_ALONE] = {0xE8C37A, 0xE8C37A, 0x10212B},
	};

	if (!node)
		return ws_page_colour_def(WS_PAGE_IDLE);
	if (!of->other_page)
		return ws_page_colour_def(node->colour);
	return changes[ws_change_colour(ws_pages_ratio(of->page, of->other_page,
	                                               (size_t)(node - of->page->node), of->is_b))];
}

/* LibreOffice breaks a name into lines: one that would have more than three is cut in its middle.
 */
static const char *short_label(struct ws_xlsx *x, const char *label)
{
	const char *clean = ws__xlsx_clean(x, label, strlen(label)), *end;
	size_t begin = LABEL_MOST / 2 - 3;

	if (ws_display_width(clean, strlen(clean)) <= LABEL_MOST)
		return ws__xlsx_format(x, "%s", clean);
	end = clean + strlen(clean) - LABEL_MOST / 2 - 2;
	while ((clean[begin] & 0xc0) == 0x80) /* behind a whole character */
		begin--;
	while ((*end & 0xc0) == 0x80)
		end++;
	return ws__xlsx_format(x, "%.*s…%s", (int)begin, clean, end);
}

/* The nth slot of every level is a series: its boxes in their colours, its gaps unseen. */
static void add_slots(const struct painting *p, size_t nth, uint32_t row)
{
	struct ws_xlsx *x = p->x;
	const struct icicle *icicle = p->icicle;
	lxw_chart_fill fill[ICICLE_LEVELS];
	lxw_chart_line none = {.none = LXW_TRUE}, edge = {.color = LXW_COLOR_WHITE, .width = 0.75};
	lxw_chart_font font[ICICLE_LEVELS];
	lxw_chart_point point[ICICLE_LEVELS] = {{0}}, *points[ICICLE_LEVELS + 1];
	lxw_chart_data_label label[ICICLE_LEVELS] = {{0}}, *labels[ICICLE_LEVELS + 1];
	lxw_chart_series *series = ws__xlsx_series(p->chart);
	const lxw_col_t col = (lxw_col_t)(FRONT_DATA + nth);

	for (size_t level = 0; level < icicle->levels; level++) {
		const struct slot *slot = nth < icicle->n[level] ? &icicle->slot[level][nth] : NULL;
		const struct ws_page_node *node = slot ? slot->node : NULL;
		const struct ws_page_colour_def colour = paint_of(p->page_icicle, node);

		if (slot)
			ws__xlsx_try(x, worksheet_write_number(p->sheet, row + (uint32_t)level, col,
			                                       100 * slot->width,
			                                       x->styles[WS_XLSX_SOURCE]));
		fill[level] = (lxw_chart_fill){.color = colour.light, .none = !node};
		font[level] = (lxw_chart_font){.color = colour.ink, .size = 8};
		point[level].fill = &fill[level];
		point[level].line = node ? &edge : &none;
		points[level] = &point[level];
		label[level].hide = !node || slot->width < LABEL_LEAST;
		if (!label[level].hide) {
			label[level].value = (char *)(uintptr_t)short_label(x, node->label);
			label[level].font = &font[level];
		}
		labels[level] = &label[level];
	}
	points[icicle->levels] = NULL;
	labels[icicle->levels] = NULL;
	chart_series_set_values(series, p->sheet_name, row, col, row + (uint32_t)icicle->levels - 1,
	                        col);
	chart_series_set_points(series, points);
	chart_series_set_labels(series);
	chart_series_set_labels_position(series, LXW_CHART_LABEL_POSITION_CENTER);
	ws__xlsx_try(x, chart_series_set_labels_custom(series, labels));
}

static void style_icicle(lxw_chart *chart)
{
	lxw_chart_font font = {.size = 8, .bold = LXW_EXPLICIT_FALSE};

	chart_set_series_gap(chart, 0);
	chart_axis_set_max(chart->x_axis, 100);
	chart_axis_set_min(chart->x_axis, 0);
	chart_axis_set_name_font(chart->x_axis, &font);
	chart_axis_set_num_font(chart->x_axis, &font);
	chart_axis_set_reverse(chart->y_axis); /* the outermost on top, the numbers still below */
	chart_axis_set_crossing_max(chart->y_axis);
	chart_axis_set_label_position(chart->y_axis, LXW_CHART_AXIS_LABEL_POSITION_NONE);
	chart_legend_set_position(chart, LXW_CHART_LEGEND_NONE);
}

uint32_t ws__xlsx_add_icicle(struct ws_xlsx *x, lxw_worksheet *sheet, const char *sheet_name,
                             const struct ws_xlsx_icicle *of, uint32_t row)
{
	struct icicle *icicle;
	struct painting p = {x, sheet, sheet_name, of, NULL, NULL};
	size_t slots = 0;
	unsigned rows;

	WS_NEW(&x->arena, icicle, 1);
	p.icicle = icicle;
	lay_out(of->page, of->scale, icicle);
	for (size_t level = 0; level < icicle->levels; level++)
		slots = icicle->n[level] > slots ? icicle->n[level] : slots;
	if (!slots || (slots < 2 && !of->other_page))
		return row;
	p.chart = new_chart(x, of->title);
	rows = 4 +
	       (icicle->levels < LEVELS_LEAST ? 2 * LEVELS_LEAST : 2 * (unsigned)icicle->levels);
	ws__xlsx_text(x, sheet, row, FRONT_DATA, "Cells of the icicle: % of time, a row a level",
	              x->styles[WS_XLSX_SOURCE]);
	for (size_t nth = 0; nth < slots; nth++)
		add_slots(&p, nth, row + 1);
	chart_axis_set_name(p.chart->x_axis,
	                    ws__xlsx_format(x, "%% of %s time%s", ws_page_work(of->page),
	                                    of->other_page ? " of the longer side" : ""));
	style_icicle(p.chart);
	ws__xlsx_place_chart(
	        x, sheet, row, p.chart, WS_XLSX_PAGE_PIXELS, rows,
	        "Icicle: parts of the model, each below its parent, as wide as its time");
	return row + rows;
}
