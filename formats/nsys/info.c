/*
 * What an Nsight Systems export says about itself, its machine and its
 * processes. Only what is listed in nsys.def is read: these tables hold
 * whole environments, too.
 */
#include <ctype.h>

#include "formats/nsys/nsys.h"

/* --- facts --- */

/* The value of a row of a table of names and values; empty when there is none. Free with free. */
static void fact(struct ws_nsys *n, const char *table, const char *name, struct ws_buf *value)
{
	sqlite3_stmt *stmt;
	char *sql;

	value->len = 0;
	if (!ws_nsys_has_table(n, table) || !ws_nsys_has_column(n, table, "name") ||
	    !ws_nsys_has_column(n, table, "value"))
		return;
	sql = sqlite3_mprintf("SELECT value FROM main.\"%w\" WHERE name = ?1 LIMIT 1", table);
	if (sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
			ws_buf_put(value, sqlite3_column_text(stmt, 0),
			           (size_t)sqlite3_column_bytes(stmt, 0));
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

static void import_facts(struct ws_nsys *n, struct ws_buf *value)
{
	static const struct {
		const char *table, *name, *key;
	} facts[] = {
#define FACT(table, name, key) {table, name, key},
#include "formats/nsys/nsys.def"
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		fact(n, facts[i].table, facts[i].name, value);
		if (value->len)
			ws_import_meta(n->out, facts[i].key,
			               (struct ws_bytes){value->data, value->len});
	}
}

/* The version of the schema, from either name of its table. */
static void import_version(struct ws_nsys *n, struct ws_buf *value)
{
	struct ws_import_stats *stats = n->out->stats;
	int len;

	fact(n, "META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", value);
	if (!value->len)
		fact(n, "EXPORT_META_DATA", "EXPORT_SCHEMA_VERSION", value);
	len = value->len > 32 ? 32 : (int)value->len;
	if (!len)
		snprintf(stats->format, sizeof(stats->format), "schema of unknown version");
	else
		snprintf(stats->format, sizeof(stats->format), "schema %.*s", len, value->data);
	for (char *c = stats->format; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

static void import_session(struct ws_nsys *n)
{
	struct ws_nsys_rows rows;

	ws_nsys_open_rows(n, WS_NSYS_SESSION, "LIMIT 1", &rows);
	if (ws_nsys_next(&rows)) {
		ws_import_keep(n->out, 1);
		n->clock->base_ns = ws_nsys_i64(&rows, WS_NSYS_SESSION_utcEpochNs);
	}
	ws_nsys_close(&rows);
}

/* --- devices --- */

/* Records name devices by CUDA's number; the table of GPUs has its own where they differ. */
static void read_cuda_devices(struct ws_nsys *n, struct ws_map *cuda_of_gpu)
{
	struct ws_map gpu_of_cuda = {0};
	struct ws_nsys_rows rows;
	int differ = 0;

	ws_nsys_open_rows(n, WS_NSYS_CUDA_DEVICE, "", &rows);
	while (ws_nsys_next(&rows)) {
		uint64_t gpu = ws_nsys_u64(&rows, WS_NSYS_CUDA_DEVICE_gpuId);
		uint64_t cuda = ws_nsys_u64(&rows, WS_NSYS_CUDA_DEVICE_cudaId);
		const uint64_t *known = ws_map_get(&gpu_of_cuda, cuda);

		differ |= known && *known != gpu;
		if (known) {
			ws_import_skip(n->out, "devices that were told before", 1);
			continue;
		}
		ws_import_keep(n->out, 1);
		ws_map_add(&gpu_of_cuda, cuda, gpu);
		ws_map_add(cuda_of_gpu, gpu, cuda);
	}
	ws_nsys_close(&rows);
	ws_map_free(&gpu_of_cuda);
	if (differ)
		ws_import_warn(n->out,
		               "processes number the devices differently: names and sizes of "
		               "a device number are those of the first process");
}

static void import_device(const struct ws_nsys_rows *r, uint64_t id)
{
	static const struct {
		enum ws_nsys_column column;
		const char *attr;
	} attrs[] = {
#define GPU(column, attr) {WS_NSYS_GPU_##column, attr},
#include "formats/nsys/nsys.def"
	};

	ws_import_device(r->n->out, id, ws_nsys_bytes(r, WS_NSYS_GPU_name));
	for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		if (!ws_nsys_is_null(r, attrs[i].column))
			ws_import_device_attr(r->n->out, id, attrs[i].attr,
			                      ws_nsys_i64(r, attrs[i].column));
}

static void import_devices(struct ws_nsys *n)
{
	struct ws_map cuda_of_gpu = {0};
	struct ws_nsys_rows rows;

	read_cuda_devices(n, &cuda_of_gpu);
	ws_nsys_open_rows(n, WS_NSYS_GPU, "ORDER BY 2", &rows);
	while (ws_nsys_next(&rows)) {
		uint64_t id = ws_nsys_u64(&rows, WS_NSYS_GPU_id);
		const uint64_t *cuda = ws_map_get(&cuda_of_gpu, id);

		/* adapters of other makers are listed, too */
		if (cuda_of_gpu.n ? !cuda
		                  : !ws_nsys_is_null(&rows, WS_NSYS_GPU_computeMajor) &&
		                            !ws_nsys_i64(&rows, WS_NSYS_GPU_computeMajor)) {
			ws_import_skip(n->out, "adapters that are no CUDA devices", 1);
			continue;
		}
		ws_import_keep(n->out, 1);
		import_device(&rows, cuda ? *cuda : id);
	}
	ws_nsys_close(&rows);
	ws_map_free(&cuda_of_gpu);
}

void ws_nsys_import_info(struct ws_nsys *n)
{
	struct ws_buf value = {0};

	import_version(n, &value);
	import_facts(n, &value);
	ws_buf_free(&value);
	import_session(n);
	import_devices(n);
}

#define WITHOUT_RECORDS "names of threads and processes without records"

/* --- names ----------------------------------------------------------------------------------- */

static void on_thread(const struct ws_nsys_rows *r)
{
	struct ws_row_thread row = {
	        .pid = ws_nsys_pid(r, WS_NSYS_THREAD_globalTid),
	        .tid = ws_nsys_u64(r, WS_NSYS_THREAD_globalTid) & 0xffffff,
	};

	row.id = ws_import_thread_known(r->n->out, row.pid, row.tid);
	if (row.id)
		ws_nsys_string(r, WS_NSYS_THREAD_nameId, &row.name);
	if (row.name) {
		ws_import_record(r->n->out, WS_KIND_THREAD, &row);
		return;
	}
	ws_import_skip(r->n->out, WITHOUT_RECORDS, 1);
}

static void on_process(const struct ws_nsys_rows *r)
{
	uint64_t pid = ws_nsys_pid(r, WS_NSYS_PROCESS_globalPid);
	struct ws_import_process *process;

	if (!ws_import_process_known(r->n->out, pid)) {
		ws_import_skip(r->n->out, WITHOUT_RECORDS, 1);
		return;
	}
	ws_import_keep(r->n->out, 1);
	process = ws_import_process(r->n->out, pid);
	ws_import_text(r->n->out, ws_nsys_bytes(r, WS_NSYS_PROCESS_name), &process->name);
}

/* --- what is left out --- */

static bool is_imported(const char *name)
{
	static const char *const names[] = {
#define TABLE(ID, name, first, KIND) name,
#include "formats/nsys/nsys.def"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return 1;
	return strncmp(name, WS_NSYS_OWN_PREFIX, strlen(WS_NSYS_OWN_PREFIX)) == 0;
}

void ws_nsys_leave_out(struct ws_nsys *n, const char *table)
{
	char reason[WS_IMPORT_TEXT_BYTES];
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf("SELECT count(*) FROM main.\"%w\"", table);

	if (sql && sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		snprintf(reason, sizeof(reason), "table %.100s", table);
		for (char *c = reason; *c; c++)
			if (!isprint((unsigned char)*c))
				*c = '?';
		n->out->stats->events += (uint64_t)sqlite3_column_int64(stmt, 0);
		ws_import_skip(n->out, reason, (uint64_t)sqlite3_column_int64(stmt, 0));
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

/* What the program printed, and how its payloads are to be read: the trace has no place for them.
 */
static bool is_skipped_table(const char *name)
{
	static const char *const names[] = {"ProcessStreams", "NVTX_PAYLOAD_SCHEMAS",
	                                    "NVTX_PAYLOAD_SCHEMA_ENTRIES", "NVTX_PAYLOAD_ENUMS",
	                                    "NVTX_PAYLOAD_ENUM_ENTRIES"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Tables of events that the trace has no place for. */
static void count_the_rest(struct ws_nsys *n)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(n->db,
	                       "SELECT name FROM main.sqlite_master WHERE type = 'table' AND "
	                       "rootpage > 0 ORDER BY name",
	                       -1, &stmt, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		if (name && !is_imported(name) &&
		    (is_skipped_table(name) || ws_nsys_has_column(n, name, "start") ||
		     ws_nsys_has_column(n, name, "timestamp")))
			ws_nsys_leave_out(n, name);
	}
	sqlite3_finalize(stmt);
}

void ws_nsys_import_names(struct ws_nsys *n)
{
	ws_nsys_each(n, WS_NSYS_THREAD, on_thread);
	ws_nsys_each(n, WS_NSYS_PROCESS, on_process);
	count_the_rest(n);
}
