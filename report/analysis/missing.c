/* Everything that can be missing from a trace, in one list. */
#include "report/analysis/device_time.h"

#include "formats/schema/loss.h"
#include "report/model/load.h"

struct emitter {
	const struct ws_model *m;
	void (*fn)(void *ctx, const struct ws_missing *missing);
	void *ctx;
};

static void emit(const struct emitter *e, const char *source, const char *cause, uint64_t count,
                 const char *meaning)
{
	struct ws_missing missing = {source, {cause, strlen(cause)}, count, 0, meaning};

	e->fn(e->ctx, &missing);
}

void ws_missing_each(const struct ws_model *m,
                     void (*fn)(void *ctx, const struct ws_missing *missing), void *ctx)
{
	struct emitter e = {m, fn, ctx};
	uint64_t signaled = 0, unknown = 0;
	uint64_t unfinished = 0, graphs = 0, copies_without_time = 0;
	static const struct {
		const char *name, *meaning;
	} losses[] = {
#define X(name, meaning) {#name, meaning},
	        WS_DROPPED_LIST(X) WS_IMPORT_LOSS_LIST(X)
#undef X
	};
	const struct ws_column_data *t = &e.m->loss;

	/* Emit the recorder's counters: the greatest value of each cause, in order of first
	 * appearance. */
	const struct ws_bytes import_ = {"import_*", 8};
	bool has_recorders = false; /* an import counts only its own losses */
	struct ws_arena temp = {0};
	uint8_t *state; /* 1 = seen, 2 = emitted */

	uint64_t *count = ws_arena_array(&temp, e.m->ntexts, sizeof(*count));
	WS_NEW(&temp, state, e.m->ntexts);
	for (uint64_t i = 0; i < t->rows; i++) {
		uint32_t cause = ws_model_text(e.m, ws_value(t, WS_COL_loss_cause, i));
		uint64_t value = ws_value(t, WS_COL_loss_count, i);

		state[cause] = 1;
		if (value > count[cause])
			count[cause] = value;
	}
	for (uint64_t i = 0; i < t->rows; i++) {
		uint32_t cause = ws_model_text(e.m, ws_value(t, WS_COL_loss_cause, i));
		/* for a trace that was not closed, losses after the last reading are unknown */
		const bool by_import = ws_name_matches(import_, e.m->texts[cause]);
		struct ws_missing missing = {by_import ? "import" : "recorder", e.m->texts[cause],
		                             count[cause], !e.m->file.closed && !count[cause],
		                             "a loss counter that this program does not know"};

		for (size_t k = 0; k < sizeof(losses) / sizeof(*losses); k++)
			if (ws_name_is(e.m->texts[cause], losses[k].name))
				missing.meaning = losses[k].meaning;
		has_recorders |= !by_import;

		if (state[cause] == 1)
			e.fn(e.ctx, &missing);
		state[cause] = 2;
	}
	if (!has_recorders && ws_meta_value(&e.m->meta, "import.source").len)
		emit(&e, "import", "profiles without a loss counter", 1,
		     "The profiler's file does not say whether records were dropped while "
		     "profiling.");
	else if (!has_recorders)
		emit(&e, "recorder", "recordings without a loss counter", 1,
		     "The recorder wrote no counters: whether it lost anything is not known.");
	ws_arena_free(&temp);

	/* the file, then the records of impossible times */
	const struct ws_trace_summary *f = &e.m->file;

	emit(&e, "file", "damaged blocks", f->damaged_blocks,
	     "Blocks whose checksum or header is wrong; their records are missing.");
	emit(&e, "file", "skipped bytes", f->skipped_bytes,
	     "Bytes of the file that belong to no whole block.");
	emit(&e, "file", "blocks of unknown kind", f->unknown_blocks,
	     "Whole, but written by a newer program; their records are not in the report.");
	emit(&e, "file", "trace not closed", !f->closed,
	     "1 when recording was cut off before the file was finished.");

	const struct ws_broken_law *twice = &e.m->soundness.broken[WS_LAW_ONCE];

	emit(&e, "soundness", "import_duplicate", ws_broken_count(twice),
	     "Records that stood twice, equal in every field: they count once.");
	emit(&e, "soundness", "time_impossible",
	     ws_broken_count(&e.m->soundness.broken[WS_LAW_BEFORE_LAUNCH]) +
	             ws_broken_count(&e.m->soundness.broken[WS_LAW_FAR_AWAY]) +
	             ws_broken_count(&e.m->soundness.broken[WS_LAW_ONE_AT_A_TIME]),
	     "Records whose times cannot be true: see table soundness.");
	emit(&e, "soundness", "launch_without_kernel",
	     ws_broken_count(&e.m->soundness.broken[WS_LAW_LAUNCH_HAS_WORK]),
	     "Launches, copies and fills whose device work the trace lacks: see table soundness.");
	for (size_t i = 0; i < m->nends; i++) {
		signaled += m->ends[i].end == WS_END_SIGNALED;
		unknown += m->ends[i].end != WS_END_SIGNALED && m->ends[i].end != WS_END_EXITED;
	}
	/* other profilers record no ends: "program end, not recorded" says so once; and a flight
	 * recorder writes traces while the program runs */
	if (m->processes > m->nends && !ws_meta_value(&m->meta, "import.source").len &&
	    (!ws_meta_value(&m->meta, "flight.trigger").len ||
	     ws_meta_value(&m->meta, "record.salvaged").len))
		unknown += m->processes - m->nends;
	emit(&e, "program", "processes killed by a signal", signaled,
	     "They were stopped before they finished; the trace holds what they had done.");
	emit(&e, "program", "processes whose end is not recorded", unknown,
	     "They ended, or ran exec, unseen; or recording ended first.");
	for (size_t i = 0; i < m->nwork; i++) {
		graphs += m->work[i].kind == WS_WORK_GRAPH;
		copies_without_time += m->work[i].no_time;
	}
	for (size_t i = 0; i < m->nsteps; i++)
		unfinished += (uint64_t)m->steps[i].unfinished;
	emit(&e, "join", "kernels without a launch record", m->leftovers.no_launch,
	     "The call that launched them is unknown, so they belong to no range; row (no launch "
	     "record) of `ranges`.");
	emit(&e, "join", "kernels launched in no range", m->leftovers.no_range,
	     "Row (in no range) of `ranges`.");
	emit(&e, "join", "graph kernels of unknown capture", m->leftovers.no_capture,
	     "They count where the graph was launched: no record of their nodes, or captured "
	     "outside all ranges and operations.");
	emit(&e, "join", "kernels without a time", m->leftovers.no_time,
	     "They count as launched, but are in no sum of times.");
	emit(&e, "join", "CUDA graphs traced as a whole", graphs,
	     "Their kernels are not recorded: their time is in `gpu` and `execution`, in no table "
	     "of kernels.");
	emit(&e, "join", "copies and fills without a time", copies_without_time,
	     "They count as done, but are in no sum of times.");
	emit(&e, "join", "launches behind the last recorded work", m->leftovers.launches_behind,
	     "Recording ended before the device had done them; their steps are not finished.");
	emit(&e, "join", "kernels cut off", m->leftovers.cut_off,
	     "Still running when recording ended; their time is too short.");
	emit(&e, "join", "kernels whose description was lost", m->leftovers.no_config,
	     "Name, device and process are in a damaged part of the file.");
	emit(&e, "join", "kernels of unknown class", m->leftovers.unknown_class,
	     "No annotated operation launched them and no rule knows their name.");
	emit(&e, "join", "annotated operations without a kernel", m->leftovers.ops_without_kernel,
	     "Their FLOPs are counted, but no GPU time stands against them.");
	emit(&e, "join", "operations too big to add", m->leftovers.ops_too_big,
	     "Their FLOPs or bytes would overflow the sum and are left out.");
	emit(&e, "join", "operations with an unreadable payload", m->ops.undecodable,
	     "Schema and bytes do not fit together; their FLOPs are not known.");
	emit(&e, "join", "collectives with an unreadable payload", m->ops.unreadable_messages,
	     "Schema and bytes do not fit together; their sizes are not known.");
	emit(&e, "join", "steps that did not finish", unfinished,
	     "Left out of every statistic of steps.");
	emit(&e, "join", "ranges open at the end", m->ranges.open,
	     "They are taken to end with the last record of the trace.");
	emit(&e, "join", "pops without a push", m->ranges.unmatched_pops,
	     "Their ranges began before recording did, or the program pops too often.");
	emit(&e, "join", "range ends without a start", m->ranges.unmatched_ends,
	     "Their ranges began before recording did, or were ended twice.");
	emit(&e, "join", "ranges ended on another thread", m->ranges.cross_thread,
	     "Start/end ranges hold what their process launched, whatever thread ends them.");
	emit(&e, "join", "ranges nested too deep", m->ranges.folded,
	     "Below 512 levels ranges share the path of the level above.");
	emit(&e, "join", "launches with too many crossing ranges", m->attribution.not_followed,
	     "They are missing from some inclusive times.");
}

bool ws_missing_is_of_records(const struct ws_missing *missing)
{
	static const char *const names[] = {"ring_overflow",        "thread_without_ring",
	                                    "unknown_record",       "process_not_recorded",
	                                    "definition_overflow",  "disk_full",
	                                    "activity_refused",     "activity_dropped",
	                                    "activity_damaged",     "activity_unknown",
	                                    "launch_not_told",      "import_unreadable",
	                                    "import_cut_off",       "import_bad_time",
	                                    "import_bad_value",     "import_missing_field",
	                                    "import_damaged_table", "damaged blocks",
	                                    "skipped bytes",        "blocks of unknown kind"};

	return WS_NAME_IS_ONE_OF(missing->cause, names);
}
