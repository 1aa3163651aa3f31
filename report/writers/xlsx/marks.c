/* Cells that a reader must not miss, by rules that Excel evaluates: they hold after sorting, too.
 */
#include "report/writers/xlsx/xlsx.h"

/* Blue: B is faster; orange: B is slower. Told apart with every common colour blindness. */
#define COLOUR_FASTER 0x9DC3E6
#define COLOUR_SAME   0xFFFFFF
#define COLOUR_SLOWER 0xF4B183

/* A text, or every number over 0. */
static const struct {
	const char *table, *column, *text;
} marks[] = {
        {"losses", "Count", NULL},           {"steps", "Outlier", "yes"},
        {"advice", "Severity", "strong"},    {"diff-verdict", "Grade", "SLOWER"},
        {"diff-verdict", "Grade", "UNLIKE"}, {"diff-phases", "Grade", "SLOWER"},
        {"diff-ranges", "Grade", "SLOWER"},  {"diff-ops", "Grade", "SLOWER"},
        {"diff-classes", "Grade", "SLOWER"}, {"ranks-verdict", "Subject", "ALARM"},
        {"ranks", "Straggler", "yes"},       {"rank-steps", "Straggler", "yes"},
};

static void add(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint16_t col,
                lxw_conditional_format *format)
{
	const uint32_t first = WS_XLSX_ROW_DATA, last = first + (uint32_t)s->rows - 1;

	ws__xlsx_try(x,
	             worksheet_conditional_format_range(s->sheet, first, col, last, col, format));
}

static void add_mark(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint16_t col,
                     const char *text)
{
	lxw_conditional_format format = {
	        .type = text ? LXW_CONDITIONAL_TYPE_TEXT : LXW_CONDITIONAL_TYPE_CELL,
	        .criteria = text ? LXW_CONDITIONAL_CRITERIA_TEXT_CONTAINING
	                         : LXW_CONDITIONAL_CRITERIA_GREATER_THAN,
	        .value = 0,
	        .value_string = (char *)(uintptr_t)text, /* only read */
	        .format = x->styles[WS_XLSX_WARNING],
	};

	add(x, s, col, &format);
}

/* Around 1, from half to double. */
static void add_ratio_scale(struct ws_xlsx *x, const struct ws_xlsx_sheet *s, uint16_t col)
{
	lxw_conditional_format scale = {
	        .type = LXW_CONDITIONAL_3_COLOR_SCALE,
	        .min_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
	        .mid_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
	        .max_rule_type = LXW_CONDITIONAL_RULE_TYPE_NUMBER,
	        .min_value = 0.5,
	        .mid_value = 1,
	        .max_value = 2,
	        .min_color = COLOUR_FASTER,
	        .mid_color = COLOUR_SAME,
	        .max_color = COLOUR_SLOWER,
	};

	add(x, s, col, &scale);
}

void ws__xlsx_add_marks(struct ws_xlsx *x, const struct ws_xlsx_sheet *s)
{
	const struct ws_table_def *def = s->table->def;

	for (uint16_t c = 0; c < s->view.n; c++) {
		const char *title = def->columns[s->view.column[c].index].title;

		if (!strcmp(title, "B / A"))
			add_ratio_scale(x, s, c);
		for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
			if (!strcmp(marks[i].table, def->name) && !strcmp(marks[i].column, title))
				add_mark(x, s, c, marks[i].text);
	}
}
