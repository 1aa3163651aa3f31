/* The table `method`: what every column means. */
#include "report/advice/advice.h"
#include "report/tables/tables.h"

static const struct {
	const char *topic, *text;
} conventions[] = {
        {"Times", "Times are ns in CSV and JSON. Where people read, times that are compared have "
                  "one unit; ties are "
                  "rounded half away from zero."},
        {"Unknown", "An empty cell is unknown or does not apply; 0 is a measured or counted 0."},
        {"Attribution",
         "By launch: a kernel belongs to a range when the call that launched it lies "
         "inside the range, on the same thread. The innermost range is the one that "
         "began last. A range begun on one thread and ended on another lies on the "
         "first. Backward work on another thread lies in the range of the forward "
         "operation that the framework links it to."},
        {"Statistics", "Sums are exact. Median: the middle value or the mean of the two middle "
                       "ones. Standard deviation: of a sample, divisor n - 1."},
        {"FLOPs", "From annotations, or from recorded shapes of a framework's operations; never "
                  "guessed. A multiply-add is 2, "
                  "softmax 5 per element (max, subtract, exp, sum, divide), attention counts "
                  "the full T x T. Other tools count softmax as 1, 3 or 40 per element."},
        {"Units",
         "MB is 10^6 bytes, TFLOP/s 10^12 per second. A column `B / A` is B divided by A."},
        {"Steps",
         "A step is an outermost range `step`, PyTorch's ProfilerStep#N, or what --step names. "
         "It holds what its thread did, and what other threads did in its time. Steps in a "
         "range `warm-up` are in no statistic, nor is a step that had not ended when the trace "
         "ended."},
        {"Noise", "Measured steps are the samples. A difference of means is beyond noise when "
                  "Welch's 95 % interval leaves 0 out; both sides need 3 steps."},
};

void ws_method_fill(struct ws_table *t, const struct ws_table_def *const *defs, size_t ndefs)
{
	for (size_t i = 0; i < sizeof(conventions) / sizeof(*conventions); i++) {
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_method_table], "conventions");
		ws_cell_set_str(t, &row[WS_TC_method_column], conventions[i].topic);
		ws_cell_set_str(t, &row[WS_TC_method_definition], conventions[i].text);
	}
	for (size_t d = 0; d < ndefs; d++) {
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_method_table], defs[d]->name);
		ws_cell_set_str(t, &row[WS_TC_method_definition], defs[d]->meaning);
		for (size_t c = 0; c < defs[d]->ncolumns; c++) {
			const struct ws_table_column *column = &defs[d]->columns[c];

			row = ws_table_row(t);
			ws_cell_set_str(t, &row[WS_TC_method_table], defs[d]->name);
			ws_cell_set_str(t, &row[WS_TC_method_column], column->title);
			if (*column->unit)
				ws_cell_set_str(t, &row[WS_TC_method_unit], column->unit);
			ws_cell_set_str(t, &row[WS_TC_method_definition], column->definition);
		}
	}
}

void ws_tab_method(const struct ws_table_context *tab, struct ws_table *t)
{
	size_t count;
	const struct ws_table_def *const *defs = ws_table_defs(&count);

	(void)tab;
	ws_method_fill(t, defs, count);
	for (int i = 0; i < WS_RULES; i++) {
		struct ws_cell *row = ws_table_row(t);

		ws_cell_set_str(t, &row[WS_TC_method_table], ws_def_advice.name);
		ws_cell_set_str(t, &row[WS_TC_method_column], ws_rule_defs[i].id);
		ws_cell_set_str(t, &row[WS_TC_method_definition], ws_rule_defs[i].condition);
	}
	ws_table_note(t,
	              "`--table kernel-trace` gives every execution of every kernel; it is in no "
	              "report of all tables.");
}
