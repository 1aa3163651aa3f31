#include "report/export/parquet/parquet.h"

#include <stdlib.h>

#include "report/export/parquet/private.h"

/* Rows that the tables will have, for progress; facts, which are few, are not counted. */
static uint64_t count_rows(const struct ws_parquet_export *x)
{
	static const enum ws_kind kinds[] = {
#define X(KIND, table) WS_KIND_##KIND,
	        WS_PARQUET_KINDS(X)
#undef X
	};
	uint64_t rows = x->rows->nkernels + x->rows->nranges;

	for (size_t i = 0; i < ws_trace_reader_block_count(x->r); i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			if (ws_trace_reader_block(x->r, i)->kind == kinds[k])
				rows += ws_trace_reader_block(x->r, i)->rows;
	return rows;
}

static enum ws_status export_tables(struct ws_parquet_export *x, const char *dir,
                                    const struct ws_export_parquet_opts *opts, struct ws_err *err)
{
	WS_FORWARD(ws_parquet_paths_make(&x->paths, x->m, err));
	WS_FORWARD(ws_parquet_folder_open(&x->folder, x->m, dir, opts, count_rows(x), err));
	WS_FORWARD(ws_parquet_export_joined(x, err));
	WS_FORWARD(ws_parquet_export_kinds(x, err));
	return ws_outfolder_commit(&x->folder.out, err);
}

enum ws_status ws_export_parquet(const char *trace_path, const char *dir,
                                 const struct ws_export_parquet_opts *opts, struct ws_err *err)
{
	struct ws_parquet_export *x = calloc(1, sizeof(*x));
	struct ws_trace_reader *r = NULL;
	struct ws_joined_rows rows = {0};
	struct ws_model *m = NULL;
	enum ws_status status;

	WS_FAIL_IF(!x, err, NO_MEMORY, "out of memory");
	status = ws_trace_reader_open(&r, trace_path, err);
	WS_THEN(status, ws_joined_rows_read(&rows, r, trace_path, NULL, &m, err));
	WS_THEN(status, ws_joined_rows_ranges_by_thread(&rows, m, err));
	x->m = m;
	x->r = r;
	x->rows = &rows;
	WS_THEN(status, export_tables(x, dir, opts, err));
	ws_outfolder_abandon(&x->folder.out);
	ws_parquet_paths_free(&x->paths);
	ws_joined_rows_free(&rows);
	ws_trace_reader_free(r);
	ws_model_free(m);
	free(x);
	return status;
}
