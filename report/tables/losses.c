/* What is missing: the table `losses`, and what notes say of it. */
#include <inttypes.h>

#include "report/analysis/missing.h"
#include "report/model/columns.h"
#include "report/tables/tables.h"

/* Linux numbers of the signals that end programs. The laptop may be no Linux. */
static const struct {
	int64_t number;
	const char *name;
} signals[] = {
        {1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},   {5, "SIGTRAP"},
        {6, "SIGABRT"},  {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},  {10, "SIGUSR1"},
        {11, "SIGSEGV"}, {12, "SIGUSR2"}, {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"},
        {24, "SIGXCPU"}, {31, "SIGSYS"},
};

static const char *signal_name(int64_t number)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (signals[i].number == number)
			return signals[i].name;
	return "unknown name";
}

void ws_note_origin(const struct ws_model *m, struct ws_table *t)
{
	for (size_t i = 0; i < m->nends; i++) {
		const struct ws_process_end *end = &m->ends[i];

		if (end->end == WS_END_SIGNALED)
			ws_table_note(t,
			              "The program (process %" PRIu64 ") was killed by signal "
			              "%" PRId64 " (%s): the report shows what it had done until "
			              "then.",
			              end->pid, end->code, signal_name(end->code));
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
	size_t len = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct ws_bytes value = ws_meta_value(&m->meta, parts[i].key);
		int n = value.len < 32 ? (int)value.len : 32;

		if (n)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%.*s%s",
			                        len ? "; " : "", parts[i].prefix, n,
			                        (const char *)value.ptr, parts[i].suffix);
	}
	if (len)
		ws_table_note(
		        t,
		        "Clocks while recording: %s. None of it shifts the times in the trace, "
		        "except where `time_uncertain` counts.",
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
