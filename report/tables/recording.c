/* Tables about the recording and the report: losses, soundness, resources, method. */

#include "report/advice/advice.h"
#include "report/model/load.h"
#include "report/tables/tables.h"

/* Linux numbers of the signals that end programs. The report may run on another system. */
static const struct {
	int64_t number;
	const char *name;
} signals[] = {
        {1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},   {5, "SIGTRAP"},
        {6, "SIGABRT"},  {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},  {10, "SIGUSR1"},
        {11, "SIGSEGV"}, {12, "SIGUSR2"}, {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"},
        {24, "SIGXCPU"}, {31, "SIGSYS"},
};

void ws_note_origin(const struct ws_model *m, struct ws_table *t)
{
	for (size_t i = 0; i < m->nends; i++) {
		const struct ws_process_end *end = &m->ends[i];
		const char *name = "unknown name"; /* of the signal */

		for (size_t k = 0; k < sizeof(signals) / sizeof(*signals); k++)
			name = signals[k].number == end->code ? signals[k].name : name;

		if (end->end == WS_END_SIGNALED)
			ws_table_note(t,
			              "The program (process %" PRIu64 ") was killed by signal "
			              "%" PRId64 " (%s): the report shows what it had done until "
			              "then.",
			              end->pid, end->code, name);
		else if (end->end == WS_END_EXITED && end->code)
			ws_table_note(t,
			              "The program (process %" PRIu64 ") ended with exit status "
			              "%" PRId64 ".",
			              end->pid, end->code);
	}
	if (!m->file.closed)
		ws_table_note(t, "The trace was not closed: recording was cut off. Everything "
		                 "that had reached the file is in the report.");
	if (m->file.damaged_blocks || m->file.skipped_bytes)
		ws_table_note(t,
		              "The trace is damaged: %" PRIu64 " blocks and %" PRIu64 " bytes "
		              "could not be read. `warpsheet check` lists the damage.",
		              m->file.damaged_blocks, m->file.skipped_bytes);
}

void ws_note_clocks(const struct ws_model *m, struct ws_table *t)
{
	static const struct {
		const char *key, *prefix, *suffix;
	} parts[] = {
	        {"clock.slew_ppm", "drift of the trace's clock against the machine's counter ",
	         " ppm"},
	        {"clock.cupti_apart_ns", "CUPTI's clock less the real-time clock, at most ", " ns"},
	        {"clock.largest_step_ns", "largest step of the real-time clock ", " ns"},
	        {"clock.realtime_apart_ns", "all its steps ", " ns"},
	};
	char text[512] = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct ws_bytes value = ws_meta_value(&m->meta, parts[i].key);
		int n = value.len < 32 ? (int)value.len : 32;

		if (n)
			ws_say_add(text, sizeof(text), "%s%s%.*s%s", *text ? "; " : "",
			           parts[i].prefix, n, (const char *)value.ptr, parts[i].suffix);
	}
	if (*text)
		ws_table_note(t,
		              "Clocks while recording: %s. None of it shifts the times in the "
		              "trace, except where `time_uncertain` counts.",
		              text);
}

static void add_row(void *table, const struct ws_missing *missing)
{
	struct ws_table *t = table;
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_str(t, &row[WS_TC_losses_source], missing->source);
	ws_cell_set_text(t, &row[WS_TC_losses_cause], missing->cause.ptr, missing->cause.len);
	if (!missing->is_unknown)
		ws_cell_set_int(&row[WS_TC_losses_count],
		                missing->count > INT64_MAX ? INT64_MAX : (int64_t)missing->count);
	ws_cell_set_str(t, &row[WS_TC_losses_meaning], missing->meaning);
}

void ws_tab_losses(const struct ws_table_context *tab, struct ws_table *t)
{
	ws_missing_each(tab->m, add_row, t);
	ws_note_origin(tab->m, t);
	ws_note_clocks(tab->m, t);
	ws_table_note(t, "These counts are of the whole trace, whatever the filter.");
}

/* --- impossible records: the table `soundness` ---------------------------- */

void ws_tab_soundness(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_soundness *s = &m->soundness;

	for (int law = 0; law < WS_LAWS; law++) {
		const struct ws_broken_law *b = &s->broken[law];

		if (!ws_broken_count(b))
			continue;
		struct ws_cell *row = ws_table_row(t);
		ws_cell_set_str(t, &row[WS_TC_soundness_law], ws_law_defs[law].law);
		ws_cell_set_str(t, &row[WS_TC_soundness_what],
		                ws_broken_what(tab->temp, s, (enum ws_law)law));
		ws_cell_set_int(&row[WS_TC_soundness_count], (int64_t)ws_broken_count(b));
		if (b->judged)
			ws_cell_set_int(&row[WS_TC_soundness_judged], (int64_t)b->judged);
		if (b->most_ns)
			ws_cell_set_int(&row[WS_TC_soundness_most_ns], b->most_ns);
		ws_cell_set_int(&row[WS_TC_soundness_first_ns], b->first_ns - m->begin_ns);
		if (b->first)
			ws_cell_set_text(t, &row[WS_TC_soundness_first_name],
			                 m->texts[b->first].ptr, m->texts[b->first].len);
		ws_cell_set_str(t, &row[WS_TC_soundness_use], ws_law_defs[law].use);
	}
	if (ws_is_sound(s))
		ws_table_note(t, "Nothing in the trace contradicts itself.");
	if (s->captured)
		ws_table_note(t,
		              "%s launches were captured into a graph: that they have no work of "
		              "their own breaks no law.",
		              ws_say_number(tab->temp, (double)s->captured));
	ws_table_note(t, "This is of the whole trace, whatever the filter.");
}

/* --- objects named by NVTX, except threads --------------------------------------------- */

static void set_number(struct ws_cell *cell, int64_t number)
{
	if (number >= 0)
		ws_cell_set_int(cell, number);
}

void ws_tab_resources(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_kind_def *def = ws_schema_kind(WS_KIND_RESOURCE);
	const struct ws_model *m = tab->m;

	for (size_t i = 0; i < m->resources.rows.n; i++) {
		const struct ws_row_resource *r = ws_records_row(&m->resources.rows, i);
		struct ws_bytes type =
		        ws_enum_name(def->columns[WS_COL_resource_type].unit, r->type);
		struct ws_cell *row = ws_table_row(t);
		char handle[32];

		if (!type.len)
			type = ws_bytes_of("other");
		snprintf(handle, sizeof(handle), "0x%" PRIx64, r->handle);
		ws_cell_set_text(t, &row[WS_TC_resources_type], type.ptr, type.len);
		ws_cell_set_model_text(t, &row[WS_TC_resources_name], m, ws_model_text(m, r->name));
		set_number(&row[WS_TC_resources_number],
		           r->type == WS_RESOURCE_CUDA_DEVICE ? (int64_t)r->device : r->number);
		ws_cell_set_str(t, &row[WS_TC_resources_handle], handle);
		if (r->domain)
			ws_cell_set_model_text(t, &row[WS_TC_resources_domain], m,
			                       ws_model_text(m, r->domain));
		set_number(&row[WS_TC_resources_pid], (int64_t)r->pid);
	}
	if (!m->resources.rows.n)
		ws_table_set_not_recorded(t, "The program named nothing but threads, or the trace "
		                             "is of a recorder that keeps no names.");
	ws_table_note(t, "These names are of the whole trace, whatever the filter.");
}

/* --- the table `method`: definitions of columns --------------------------------------------- */

static const struct {
	const char *topic, *text;
} conventions[] = {
        {"Times", "Times are ns in CSV and JSON. Where people read, times that are compared have "
                  "one unit; ties are rounded half away from zero."},
        {"Unknown", "An empty cell is unknown or does not apply; 0 is a measured or counted 0."},
        {"Attribution",
         "By launch: a kernel belongs to a range when the call that launched it lies inside the "
         "range, on the same thread. The innermost range is the one that began last. A range begun "
         "on one thread and ended on another lies on the first. Backward work on another thread "
         "lies in the range of the forward operation that the framework links it to."},
        {"Statistics", "Sums are exact. Median: the middle value or the mean of the two middle "
                       "ones. Standard deviation: of a sample, divisor n - 1."},
        {"FLOPs", "From annotations, or from recorded shapes of a framework's operations; never "
                  "guessed. A multiply-add is 2, "
                  "softmax 5 per element (max, subtract, exp, sum, divide), attention counts "
                  "the full T x T. Other tools count softmax as 1, 3 or 40 per element."},
        {"Units",
         "MB is 10^6 bytes, TFLOP/s 10^12 per second. A column `B / A` is B divided by A."},
        {"Steps",
         "A step is an outermost range `step`, PyTorch's ProfilerStep#N, or what --step names. It "
         "holds what its thread did, and what other threads did in its time. Steps in a range "
         "`warm-up` are in no statistic, nor is a step that had not ended when the trace ended."},
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
	ws_table_note(t, "`--table kernel-trace` gives every execution of every kernel; it is in "
	                 "no report of all tables.");
}
