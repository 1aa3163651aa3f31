#include "formats/merge/merge.h"

#include <stdlib.h>

#include "formats/base/outfile.h"
#include "formats/base/xalloc.h"
#include "formats/merge/private.h"

#define MAX_TRACES (1u << 15)

/* --- one trace after the other --- */

static void add_rows(struct ws_merge *m, struct ws_merge_source *s, const struct ws_column_data *t)
{
	void *row = ws_xarray(1, t->def->row_size);

	for (uint64_t i = 0; i < t->rows; i++) {
		ws_merge_make_row(m, s, t, i, row);
		ws_trace_writer_add(m->writer, t->def->id, row, NULL);
	}
	free(row);
}

static enum ws_status add_kind(struct ws_merge *m, struct ws_merge_source *s,
                               const struct ws_column_data *t, struct ws_err *err)
{
	struct ws_column_data attrs;
	enum ws_status status = WS_OK;

	switch (t->def->id) {
	case WS_KIND_SCHEMA: /* the writer's own */
	case WS_KIND_INDEX:
	case WS_KIND_META: /* done for all traces at once */
	case WS_KIND_DEVICE_ATTR:
		break;
	case WS_KIND_STRING:
	case WS_KIND_PAYLOAD:
	case WS_KIND_LAUNCH_CONFIG:
		ws_merge_interned(m, s, t);
		break;
	case WS_KIND_THREAD:
		ws_merge_counted(m, s, t, WS_COL_thread_id, s->thread_offset, &m->threads);
		break;
	case WS_KIND_OP_CONFIG:
		ws_merge_counted(m, s, t, WS_COL_op_config_id, s->op_config_offset, &m->op_configs);
		break;
	case WS_KIND_DEVICE:
		WS_FORWARD(ws_trace_reader_load(s->reader, WS_KIND_DEVICE_ATTR, &attrs, err));
		status = ws_merge_devices(m, s, t, &attrs, err);
		ws_column_data_release(&attrs);
		break;
	case WS_KIND_LOSS:
		ws_merge_note_losses(m, s, t);
		break;
	default:
		add_rows(m, s, t);
	}
	return status;
}

/* Definitions before what names them. */
static enum ws_status add_source(struct ws_merge *m, struct ws_merge_source *s, struct ws_err *err)
{
	s->thread_offset = m->threads;
	s->op_config_offset = m->op_configs;
	s->number = s->highest_number = m->next_number;
	for (int dict = 1; dict >= 0; dict--) {
		for (unsigned kind = 0; kind < WS_KIND_END; kind++) {
			const struct ws_kind_def *def = ws_schema_kind(kind);
			struct ws_column_data t;
			enum ws_status status;

			if (!def || def->is_dict != dict)
				continue;
			WS_FORWARD(ws_trace_reader_load(s->reader, (enum ws_kind)kind, &t, err));
			status = add_kind(m, s, &t, err);
			ws_column_data_release(&t);
			WS_FORWARD(status);
		}
	}
	m->next_number = s->highest_number + 1;
	return WS_OK;
}

/* --- begin and end --- */

static enum ws_status look_at_source(struct ws_merge_source *s, size_t index,
                                     struct ws_column_data *meta, struct ws_err *err)
{
	struct ws_column_data processes;

	s->index = index;
	WS_FORWARD(ws_trace_reader_load(s->reader, WS_KIND_PROCESS, &processes, err));
	if (processes.rows)
		s->pid = ws_merge_cell(&processes, WS_COL_process_pid, 0);
	ws_column_data_release(&processes);
	return ws_trace_reader_load(s->reader, WS_KIND_META, meta, err);
}

/* Whose times begin first is time 0 of all. out NULL: in memory. */
static enum ws_status begin(struct ws_merge *m, const struct ws_column_data *meta,
                            const struct ws_outfile *out, int zstd_level, struct ws_err *err)
{
	struct ws_trace_writer_opts opts = {.base_ns = INT64_MAX, .zstd_level = zstd_level};

	ws_merge_clocks(m, meta);
	for (size_t i = 0; i < m->nsources; i++)
		if (m->sources[i].base_ns < opts.base_ns)
			opts.base_ns = m->sources[i].base_ns;
	for (size_t i = 0; i < m->nsources; i++)
		WS_FAIL_IF(__builtin_sub_overflow(m->sources[i].base_ns, opts.base_ns,
		                                  &m->sources[i].shift_ns),
		           err, CORRUPT,
		           "the times of these traces lie more than 292 years apart: one of them "
		           "is damaged");
	WS_FORWARD(out ? ws_trace_writer_create(&m->writer, fileno(out->f), out->path, &opts, err)
	               : ws_trace_writer_create_mem(&m->writer, &opts, err));
	ws_merge_meta(m, meta);
	return WS_OK;
}

/* All sources have their readers. */
static enum ws_status merge_into(struct ws_merge *m, const struct ws_outfile *out, int zstd_level,
                                 struct ws_err *err)
{
	struct ws_column_data *meta = ws_xarray(m->nsources, sizeof(*meta));
	enum ws_status status = WS_OK;
	size_t seen = 0;

	while (status == WS_OK && seen < m->nsources) {
		status = look_at_source(&m->sources[seen], seen, &meta[seen], err);
		seen += status == WS_OK;
	}
	WS_THEN(status, begin(m, meta, out, zstd_level, err));
	while (seen)
		ws_column_data_release(&meta[--seen]);
	free(meta);
	WS_FORWARD(status);
	for (size_t i = 0; i < m->nsources; i++) {
		WS_FAIL_IF(
		        m->next_number >= WS_MERGE_NUMBERS, err, USAGE,
		        "the ids of the first %zu traces leave none for the next; name them last",
		        i);
		WS_FORWARD(add_source(m, &m->sources[i], err));
	}
	ws_merge_losses(m);
	return ws_trace_writer_close(m->writer, err);
}

/* Readers and writer stay. */
static void release(struct ws_merge *m)
{
	for (size_t i = 0; i < m->nsources; i++)
		for (unsigned kind = 0; kind < WS_KIND_END; kind++)
			ws_map_free(&m->sources[i].maps[kind]);
	free(m->sources);
	for (size_t i = 0; i < m->ndevices; i++)
		free(m->devices[i].facts);
	free(m->devices);
	free(m->losses);
}

static enum ws_status merge_files(struct ws_merge *m, const char *const *paths, const char *out,
                                  int zstd_level, struct ws_err *err)
{
	struct ws_outfile file;
	enum ws_status status;

	for (size_t i = 0; i < m->nsources; i++)
		WS_FORWARD(ws_trace_reader_open(&m->sources[i].reader, paths[i], err));
	WS_FORWARD(ws_outfile_open(&file, out, err));
	status = merge_into(m, &file, zstd_level, err);
	if (status == WS_OK)
		return ws_outfile_commit(&file, err);
	ws_outfile_abandon(&file);
	return status;
}

enum ws_status ws_trace_merge(const char *const *paths, size_t n, const char *out, int zstd_level,
                              struct ws_merge_result *result, struct ws_err *err)
{
	struct ws_merge m = {.nsources = n};
	enum ws_status status;

	WS_FAIL_IF(!n || n > MAX_TRACES, err, USAGE, "1 to %u traces can be merged", MAX_TRACES);
	m.sources = ws_xarray(n, sizeof(*m.sources));
	status = merge_files(&m, paths, out, zstd_level, err);
	if (status == WS_OK) {
		result->kernels = ws_trace_writer_rows(m.writer, WS_KIND_KERNEL);
		result->file_size = ws_trace_writer_size(m.writer);
	}
	for (size_t i = 0; i < n; i++)
		ws_trace_reader_free(m.sources[i].reader);
	ws_trace_writer_free(m.writer);
	release(&m);
	return status;
}

enum ws_status ws_trace_merge_mem(struct ws_trace_reader *const *readers, size_t n,
                                  struct ws_trace_writer **out, struct ws_err *err)
{
	struct ws_merge m = {.sources = ws_xarray(n, sizeof(*m.sources)), .nsources = n};
	enum ws_status status;

	*out = NULL;
	for (size_t i = 0; i < n; i++)
		m.sources[i].reader = readers[i];
	status = merge_into(&m, NULL, 0, err);
	*out = m.writer;
	release(&m);
	return status;
}
