/*
 * A trace as a folder of Parquet files: facts, record kinds with names instead of ids, kernels and
 * ranges with results of analysis, and sums instead of rows (--rollup).
 */

#include "report/analysis/digest.h"
#include "report/export/parquet/parquet.def"
#include "report/export/parquet/parquet.h"
#include "report/model/load.h"
#include "report/model/payload.h"

/* --- values ----------------------------------------------------------------------------------- */

static void ws_parquet_text_or_null(struct ws_parquet_writer *w, struct ws_bytes text)
{
	if (text.len)
		ws_parquet_text(w, text.ptr, text.len);
	else
		ws_parquet_null(w);
}

/* A path, which may be empty; null for WS_NONE. */
static void ws_parquet_path_or_null(struct ws_parquet_writer *w,
                                    const struct ws_parquet_paths *paths, uint32_t path)
{
	if (path == WS_NONE)
		ws_parquet_null(w);
	else
		ws_parquet_text(w, paths->text[path].ptr, paths->text[path].len);
}

static void ws_parquet_u64_or_null(struct ws_parquet_writer *w, uint64_t value, int known)
{
	if (known)
		ws_parquet_u64(w, value);
	else
		ws_parquet_null(w);
}

static void ws_parquet_i64_or_null(struct ws_parquet_writer *w, int64_t value, int known)
{
	if (known)
		ws_parquet_i64(w, value);
	else
		ws_parquet_null(w);
}

static void ws_parquet_f64_or_null(struct ws_parquet_writer *w, double value, int known)
{
	if (known)
		ws_parquet_f64(w, value);
	else
		ws_parquet_null(w);
}

static void ws_parquet_known(struct ws_parquet_writer *w, uint64_t value)
{
	ws_parquet_u64_or_null(w, value, value != 0);
}

static void ws_parquet_not_negative(struct ws_parquet_writer *w, int64_t value)
{
	ws_parquet_i64_or_null(w, value, value >= 0);
}

static void ws_parquet_step(struct ws_parquet_writer *w, const struct ws_model *m, uint32_t step)
{
	const bool known = step != WS_NONE;

	ws_parquet_i64_or_null(w, known ? m->steps[step].index : 0, known);
}

/* Null outside steps. step: index into m->steps or WS_NONE. */
static void ws_parquet_step_kind(struct ws_parquet_writer *w, const struct ws_model *m,
                                 uint32_t step)
{
	const struct ws_model_step *s = step == WS_NONE ? NULL : &m->steps[step];

	if (!s)
		ws_parquet_null(w);
	else
		ws_parquet_str(w, s->unfinished ? "unfinished"
		                  : s->unsound  ? "unsound"
		                  : s->warm_up  ? "warm-up"
		                                : "measured");
}

static void ws_parquet_paths_make(struct ws_parquet_paths *p, const struct ws_model *m)
{
	p->n = 0;
	p->text = ws_xarray(m->ranges.npaths ? m->ranges.npaths : 1, sizeof(*p->text));
	for (; p->n < m->ranges.npaths; p->n++) {
		char *text;
		size_t len;

		ws_path_text(&m->ranges, (uint32_t)p->n, m->texts, &text, &len);
		p->text[p->n] = (struct ws_bytes){text, len};
	}
}

static void ws_parquet_paths_free(struct ws_parquet_paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free((void *)p->text[i].ptr);
	free(p->text);
	*p = (struct ws_parquet_paths){0};
}

/* --- the folder ------------------------------------------------------------------------------- */

static enum ws_status ws_parquet_folder_open(struct ws_parquet_folder *f, const struct ws_model *m,
                                             const struct ws_export_job *job, uint64_t total,
                                             struct ws_err *err)
{
	char name[32];

	*f = (struct ws_parquet_folder){.m = m, .job = job, .progress = {job->opts, 0, total}};
	f->rank = job->rank >= 0 ? job->rank : ws_model_rank(m);
	if (job->fleet)
		return WS_OK;
	WS_FORWARD(ws_outfolder_open(&f->out, job->to, err));
	if (f->rank < 0)
		return WS_OK;
	snprintf(name, sizeof(name), "rank=%04" PRId64, f->rank);
	return ws_outfolder_enter(&f->out, name, err);
}

/* --- a file ----------------------------------------------------------------------------------- */

static enum ws_status create(struct ws_parquet_table *t, const struct ws_outfolder *out,
                             const char *name, const struct ws_parquet_field *fields,
                             size_t nfields, const struct ws_parquet_folder *alone,
                             struct ws_err *err)
{
	size_t n = nfields;
	char text[128];

	for (size_t i = 0; i < nfields; i++)
		t->columns[i] = (struct ws_parquet_column){fields[i].name, fields[i].type,
		                                           fields[i].optional};
	if (!alone) {
		t->columns[n++] = (struct ws_parquet_column){"trace", WS_PARQUET_TEXT, 0};
		t->columns[n++] = (struct ws_parquet_column){"rank", WS_PARQUET_I64, 1};
	}
	snprintf(text, sizeof(text), "%s.parquet", name);
	WS_FORWARD(ws_outfolder_file(out, text, &t->out, err));
	t->w = ws_parquet_writer_new(t->out.f, t->columns, n, NULL);
	ws_parquet_meta(t->w, "warpsheet.table", name);
	ws_parquet_meta(t->w, "warpsheet.version", WS_VERSION);
	if (alone) {
		const struct ws_parquet_folder *f = t->folder;
		char number[32];

		snprintf(number, sizeof(number), "%016" PRIx64, f->m->file.file_hash);
		ws_parquet_meta(t->w, "trace.hash", number);
		snprintf(number, sizeof(number), "%" PRId64, f->m->file.base_ns);
		ws_parquet_meta(t->w, "trace.base_ns", number);
		if (f->rank >= 0) {
			snprintf(number, sizeof(number), "%" PRId64, f->rank);
			ws_parquet_meta(t->w, "trace.rank", number);
		}
	}
	for (size_t i = 0; i < nfields; i++) {
		if (!*fields[i].unit)
			continue;
		snprintf(text, sizeof(text), "unit.%s", fields[i].name);
		ws_parquet_meta(t->w, text, fields[i].unit);
	}
	return WS_OK;
}

/* With status WS_OK adds a whole file to the folder, else none. */
static enum ws_status finish(struct ws_parquet_table *t, struct ws_outfolder *out,
                             enum ws_status status, struct ws_err *err)
{
	struct ws_err cause;

	/* the writer's error lacks the file's name */
	if (status == WS_OK && ws_parquet_finish(t->w, &cause) != WS_OK)
		status = WS_FAIL(err, IO_WRITE, "'%s': %s", t->out.path, cause.text);
	ws_parquet_writer_free(t->w);
	if (status == WS_OK)
		ws_outfolder_add(out, &t->out);
	else
		ws_outfile_abandon(&t->out);
	return status;
}

/* --- a fleet ---------------------------------------------------------------------------------- */

/* Kernels, ranges, facts and the record kinds; or roll-ups. */
#define MAX_TABLES 16

struct ws_parquet_fleet {
	struct ws_outfolder out;
	struct fleet_table {
		char name[32];
		struct ws_parquet_table table;
	} * tables[MAX_TABLES];
	size_t n;
};

enum ws_status ws_parquet_fleet_open(struct ws_parquet_fleet **out, const char *dir,
                                     struct ws_err *err)
{
	*out = ws_xarray(1, sizeof(**out));
	return ws_outfolder_open(&(*out)->out, dir, err);
}

enum ws_status ws_parquet_fleet_close(struct ws_parquet_fleet *fleet, enum ws_status status,
                                      struct ws_err *err)
{
	if (!fleet)
		return status;
	for (size_t i = 0; i < fleet->n; i++) {
		status = finish(&fleet->tables[i]->table, &fleet->out, status, err);
		free(fleet->tables[i]);
	}
	if (status == WS_OK)
		status = ws_outfolder_commit(&fleet->out, err);
	else
		ws_outfolder_abandon(&fleet->out);
	free(fleet);
	return status;
}

/* The fleet's table of this name, which is added if new. */
static enum ws_status table_of_fleet(struct ws_parquet_fleet *fleet, const char *name,
                                     const struct ws_parquet_field *fields, size_t nfields,
                                     struct ws_parquet_table **out, struct ws_err *err)
{
	for (size_t i = 0; i < fleet->n; i++) {
		*out = &fleet->tables[i]->table;
		if (!strcmp(fleet->tables[i]->name, name))
			return WS_OK;
	}
	struct fleet_table *t = ws_xarray(1, sizeof(*t));
	fleet->tables[fleet->n++] = t;
	snprintf(t->name, sizeof(t->name), "%s", name);
	*out = &t->table;
	return create(*out, &fleet->out, name, fields, nfields, NULL, err);
}

/* --- a table of a folder or fleet ---------------------------------------------------------- */

/* Ends a row and reports progress. */
static void ws_parquet_table_end_row(struct ws_parquet_table *t)
{
	struct ws_parquet_folder *f = t->folder;

	ws_export_progress_tell(&f->progress, 1);
	if (t->of_fleet) {
		ws_parquet_str(t->w, f->job->to);
		ws_parquet_i64_or_null(t->w, f->rank, f->rank >= 0);
	}
	ws_parquet_end_row(t->w);
}

/*
 * Writes name.parquet with the origin as key-value metadata, and the rows from fill; no file after
 * a failure.
 */
static enum ws_status ws_parquet_table_write(struct ws_parquet_folder *f, const char *name,
                                             const struct ws_parquet_field *fields, size_t nfields,
                                             ws_parquet_fill_fn fill, void *ctx, struct ws_err *err)
{
	struct ws_parquet_table *t = ws_xarray(1, sizeof(*t));
	enum ws_status status;

	t->folder = f;
	if (f->job->fleet) {
		status = table_of_fleet(f->job->fleet, name, fields, nfields, &t->of_fleet, err);
		t->w = status == WS_OK ? t->of_fleet->w : NULL;
	} else {
		status = create(t, &f->out, name, fields, nfields, f, err);
	}
	WS_THEN(status, fill(ctx, t, err));
	if (!t->of_fleet)
		status = finish(t, &f->out, status, err);
	free(t);
	return status;
}

/* Record kinds with a table of their name. */
static const enum ws_kind kinds[] = {WS_KIND_API,      WS_KIND_MEMCPY,       WS_KIND_MEMSET,
                                     WS_KIND_SYNC,     WS_KIND_GRAPH_LAUNCH, WS_KIND_MEMORY,
                                     WS_KIND_CPU_OP,   WS_KIND_PYTHON_CALL,  WS_KIND_GPU_RANGE,
                                     WS_KIND_OVERHEAD, WS_KIND_COUNTER,      WS_KIND_GPU_SAMPLE};

struct ws_parquet_export {
	const struct ws_trace_reader *r;
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	struct ws_parquet_folder folder;
	struct ws_parquet_paths paths;
	/* while payload_value is written */
	struct ws_payloads *payloads;
	struct ws_records threads;
	struct ws_parquet_table *to;
};

/* The same for a table whose columns are in parquet.def. */
#define WS_PARQUET_TABLE_WRITE(f, name, FIELDS, fill, ctx, err)                                \
	ws_parquet_table_write((f), (name),                                                    \
	                       (const struct ws_parquet_field[]){FIELDS(WS_PARQUET_FIELD)},    \
	                       sizeof((struct ws_parquet_field[]){FIELDS(WS_PARQUET_FIELD)}) / \
	                               sizeof(struct ws_parquet_field),                        \
	                       (fill), (ctx), (err))

/* --- facts ----------------------------------------------------------------------------------- */

/* device: NULL = none */
static void put_fact(struct ws_parquet_table *t, const char *source, const uint64_t *device,
                     struct ws_bytes key, struct ws_bytes value)
{
	struct ws_parquet_writer *w = t->w;
	char text[24] = "", *end;
	int64_t number = 0;
	bool is_number = value.len && value.len < sizeof(text) &&
	                 memchr("-0123456789", *(const char *)value.ptr, 11);

	if (is_number) { /* is all of the value a decimal integer? */
		memcpy(text, value.ptr, value.len);
		errno = 0;
		number = strtoll(text, &end, 10);
		is_number = !errno && end == text + value.len;
	}

	WS_PARQUET_FACT_FIELDS(WS_PARQUET_PUT)
	ws_parquet_table_end_row(t);
}

static void put_number(struct ws_parquet_table *t, const char *source, const uint64_t *device,
                       struct ws_bytes key, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_fact(t, source, device, key, ws_bytes_of(text));
}

static void put_attr(void *table, const void *row)
{
	struct ws_parquet_table *t = table;
	const struct ws_model *m = t->folder->m;
	const struct ws_row_device_attr *r = row;

	put_number(t, "device", &r->device, m->texts[ws_model_text(m, r->attr)], r->value);
}

static enum ws_status put_facts(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	const struct ws_parquet_export *x = ctx;
	const struct ws_model *m = x->m;
	const struct ws_trace_summary *s = &m->file;

	const struct {
		const char *key;
		int64_t value;
	} numbers[] = {
	        {"base_ns", s->base_ns},
	        {"file_bytes", (int64_t)s->file_size},
	        {"closed", s->closed},
	        {"damaged_blocks", (int64_t)s->damaged_blocks},
	        {"skipped_bytes", (int64_t)s->skipped_bytes},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put_number(t, "trace", NULL, ws_bytes_of(numbers[i].key), numbers[i].value);
	for (uint64_t i = 0; i < m->meta.rows; i++)
		put_fact(t, "meta", NULL, ws_blob(&m->meta, WS_COL_meta_key, i),
		         ws_blob(&m->meta, WS_COL_meta_value, i));
	for (size_t i = 0; i < m->nfacts; i++)
		put_fact(t, "workload", NULL, m->facts[i].key, m->facts[i].value);
	for (size_t i = 0; i < m->ndevices; i++)
		put_fact(t, "device", &m->devices[i].id, ws_bytes_of("name"),
		         m->texts[m->devices[i].name]);
	WS_FORWARD(ws_records_each(x->r, WS_KIND_DEVICE_ATTR, put_attr, t, err));
	/* Counters only grow: the last reading of each cause counts. */
	uint64_t *last = ws_xarray(m->ntexts, sizeof(*last)); /* row + 1 by k */

	for (uint64_t i = 0; i < m->loss.rows; i++)
		last[ws_model_text(m, ws_value(&m->loss, WS_COL_loss_cause, i))] = i + 1;
	for (size_t k = 0; k < m->ntexts; k++) {
		char number[32];

		if (!last[k])
			continue;
		snprintf(number, sizeof(number), "%llu",
		         (unsigned long long)ws_value(&m->loss, WS_COL_loss_count, last[k] - 1));
		put_fact(t, "loss", NULL, m->texts[k], ws_bytes_of(number));
	}
	free(last);
	return WS_OK;
}

/* --- record kinds ---------------------------------------------------------------------------- */

/* Source of the values of a column. */
struct source {
	const struct ws_column_def *def;
	const struct ws_records
	        *named; /* if not NULL: the value is in the row of these to which a column refers */
	size_t name_offset; /* offset of that column in the row */
	bool is_time;       /* the time may be unrecorded */
	int zero_is_none;
};

struct kind_export {
	const struct ws_parquet_export *x;
	struct ws_records threads, op_configs, series;
	const struct ws_kind_def *def;
	struct ws_parquet_table *out;
	struct ws_parquet_field fields[WS_PARQUET_MAX_FIELDS];
	struct source sources[WS_PARQUET_MAX_FIELDS];
	size_t n;
};

static void add_column(struct kind_export *k, struct source source)
{
	const struct ws_column_def *def = source.def;
	bool is_copy =
	        !source.named && (k->def->id == WS_KIND_MEMCPY || k->def->id == WS_KIND_MEMSET);

	source.is_time = is_copy && (def->type == WS_TYPE_TIME || def->type == WS_TYPE_DUR);
	/* 0 means none; as a number it would join with all others, or be added */
	source.zero_is_none = strcmp(def->name, "correlation") == 0 ||
	                      (is_copy && strcmp(def->name, "bytes") == 0);
	const bool is_text = def->type == WS_TYPE_STR || def->type == WS_TYPE_ENUM;
	const enum ws_parquet_type type = is_text                    ? WS_PARQUET_TEXT
	                                  : def->type == WS_TYPE_U64 ? WS_PARQUET_U64
	                                  : def->type == WS_TYPE_F64 ? WS_PARQUET_F64
	                                                             : WS_PARQUET_I64;
	k->fields[k->n] = (struct ws_parquet_field){def->name, type,
	                                            def->type == WS_TYPE_STR || source.named ||
	                                                    source.is_time || source.zero_is_none,
	                                            def->type == WS_TYPE_ENUM ? "" : def->unit};
	k->sources[k->n++] = source;
}

/* Replaces a reference by the columns of its row, except those that the kind itself has. */
static void add_columns_of(struct kind_export *k, const struct ws_records *named, enum ws_kind kind,
                           const struct ws_column_def *name)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	for (int i = 1; i < def->ncolumns; i++) {
		/* the name of a thread is left out, too */
		bool is_left_out = kind == WS_KIND_THREAD && i == WS_COL_thread_name;

		for (int own = 0; own < k->def->ncolumns; own++)
			is_left_out |= !strcmp(k->def->columns[own].name, def->columns[i].name);
		if (!is_left_out)
			add_column(k, (struct source){.def = &def->columns[i],
			                              .named = named,
			                              .name_offset = name->row_offset});
	}
}

static void put_row(void *ctx, const void *row)
{
	struct kind_export *k = ctx;
	const bool has_time = ws_export_has_time(k->def->id, row);
	struct ws_parquet_writer *w = k->out->w;

	for (size_t i = 0; i < k->n; i++) {
		const struct source *s = &k->sources[i];
		const uint8_t *from = row;
		struct ws_bytes name;
		char number[24];
		double real;

		if (s->is_time && !has_time)
			from = NULL;
		else if (s->named)
			from = ws_records_find(s->named, ws_load_u64(from + s->name_offset));
		if (!from) {
			ws_parquet_null(w);
			continue;
		}
		uint64_t value = ws_load_u64(from + s->def->row_offset);
		switch (s->def->type) {
		case WS_TYPE_STR:
			ws_parquet_text_or_null(w, k->x->m->texts[ws_model_text(k->x->m, value)]);
			break;
		case WS_TYPE_ENUM:
			name = ws_enum_name(s->def->unit, value);
			if (!name.len) {
				snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
				name = ws_bytes_of(number);
			}
			ws_parquet_text(w, name.ptr, name.len);
			break;
		case WS_TYPE_F64:
			memcpy(&real, &value, sizeof(real));
			ws_parquet_f64(w, real);
			break;
		case WS_TYPE_U64:
			ws_parquet_u64_or_null(w, value, value || !s->zero_is_none);
			break;
		default:
			ws_parquet_i64(w, (int64_t)value);
		}
	}
	ws_parquet_table_end_row(k->out);
}

static enum ws_status put_rows(void *ctx, struct ws_parquet_table *out, struct ws_err *err)
{
	struct kind_export *k = ctx;

	k->out = out;
	return ws_records_each(k->x->r, k->def->id, put_row, k, err);
}

/* Writes one table for each of these record kinds. */
static enum ws_status export_kinds(struct ws_parquet_export *x, struct ws_err *err)
{
	struct kind_export *k = ws_xarray(1, sizeof(*k));

	k->x = x;
	enum ws_status status =
	        ws_records_load_by(&k->threads, x->r, WS_KIND_THREAD, WS_COL_thread_id, err);
	WS_THEN(status, ws_records_load_by(&k->op_configs, x->r, WS_KIND_OP_CONFIG,
	                                   WS_COL_op_config_id, err));
	WS_THEN(status, ws_records_load_by(&k->series, x->r, WS_KIND_COUNTER_SERIES,
	                                   WS_COL_counter_series_id, err));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && status == WS_OK; i++) {
		const struct ws_kind_def *def = k->def = ws_schema_kind(kinds[i]);

		k->n = 0;
		for (int j = 0; j < def->ncolumns; j++) {
			struct ws_ref_column ref = {0};

			ws_ref_column_at(def, (unsigned)j, &ref);
			if (ref.target == WS_KIND_THREAD)
				add_columns_of(k, &k->threads, ref.target, &def->columns[j]);
			else if (ref.target == WS_KIND_OP_CONFIG)
				add_columns_of(k, &k->op_configs, ref.target, &def->columns[j]);
			else if (ref.target == WS_KIND_COUNTER_SERIES)
				add_columns_of(k, &k->series, ref.target, &def->columns[j]);
			else
				add_column(k, (struct source){.def = &def->columns[j]});
		}
		WS_THEN(status, ws_parquet_table_write(&x->folder, def->name, k->fields, k->n,
		                                       put_rows, k, err));
	}
	ws_records_free(&k->threads);
	ws_records_free(&k->op_configs);
	ws_records_free(&k->series);
	free(k);
	return status;
}

/* --- kernels ---------------------------------------------------------------------------------- */

struct kernels_export {
	const struct ws_parquet_export *x;
	struct ws_column_data configs; /* launch configurations as recorded */
	char *short_name;              /* room for the longest name */
};

/* A recorded column of the configuration; 0 if the configuration was lost. */
static uint64_t config_value(const struct kernels_export *k, uint32_t config, int column)
{
	return config ? ws_value(&k->configs, column, config - 1u) : 0;
}

/* The name of the launch type; empty if the trace lacks that column. */
static struct ws_bytes launch_type(const struct kernels_export *k, uint32_t config)
{
	const int column = WS_COL_launch_config_launch_type;

	if (!config || !k->configs.columns[column].present)
		return (struct ws_bytes){"", 0};
	return ws_enum_name(k->configs.def->columns[column].unit, config_value(k, config, column));
}

static enum ws_status put_kernels(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	struct ws_parquet_export *x = ctx;
	struct kernels_export own = {.x = x}, *k = &own;
	enum ws_status status = ws_trace_reader_load(x->r, WS_KIND_LAUNCH_CONFIG, &k->configs, err);
	const struct ws_parquet_paths *paths = &x->paths;
	const struct ws_model *m = x->m;
	struct ws_parquet_writer *w = t->w;
	size_t longest = 0;

	/* the model numbers them in the order of the file, from 1 */
	for (size_t i = 0; i < m->nconfigs; i++)
		if (m->texts[m->configs[i].name].len > longest)
			longest = m->texts[m->configs[i].name].len;
	k->short_name = ws_xmalloc(longest + 1);
#define CONFIG(column) config_value(k, kind->config, WS_COL_launch_config_##column)
#define CALL(field)    (call ? call->field : 0)
	for (size_t i = 0; i < x->rows->nkernels && status == WS_OK; i++) {
		const struct ws_joined_kernel *row = ws_joined_rows_kernel(x->rows, i);
		const struct ws_kernel_kind *kind = row->kind;
		const struct ws_config *config = &m->configs[kind->config];
		const struct ws_device *device = &m->devices[config->device];
		const bool has_config = kind->config > 0;
		const struct ws_bytes name = m->texts[config->name];
		const struct ws_joined_call *call = ws_joined_rows_call(x->rows, row->call);
		const struct ws_op_config *op = ws_cpu_op_config(m, row->cpu_op);
		const uint32_t step = row->step;

		WS_PARQUET_KERNEL_FIELDS(WS_PARQUET_PUT)
		ws_parquet_table_end_row(t);
	}
#undef CONFIG
#undef CALL
	ws_column_data_release(&k->configs);
	free(k->short_name);
	return status;
}

/* --- NVTX ranges ------------------------------------------------------------------------------ */

static enum ws_status put_ranges(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	const struct ws_parquet_export *x = ctx;

	(void)err;
	WS_EACH_RANGE(x->rows, i, row) {
		static const struct ws_op_facts none = {.layer = -1, .flops = -1, .bytes = -1};
		const struct ws_model *m = x->m;
		const struct ws_range_context *context = row->context;
		const struct ws_thread *thread = &m->threads[context->thread];
		const struct ws_bytes name = m->texts[context->name];
		const uint32_t step = ws_joined_range_step(x->rows, row);
		const uint32_t payload = context->payload;
		const struct ws_op_facts *op =
		        payload != WS_NONE && m->ops.is_op[payload] ? &m->ops.op[payload] : &none;
		struct ws_parquet_writer *w = t->w;

		WS_PARQUET_NVTX_FIELDS(WS_PARQUET_PUT)
		ws_parquet_table_end_row(t);
	}
	return WS_OK;
}

/* --- sums of --rollup: buckets ---------------------------------------------------------------- */

#define SUB_BITS 7u /* an octave has 2^7 buckets */
#define SUB      (1u << SUB_BITS)

uint32_t ws_rollup_bucket(uint64_t dur_ns)
{
	if (dur_ns < SUB)
		return (uint32_t)dur_ns;
	unsigned octave = 63u - (unsigned)__builtin_clzll(dur_ns) - SUB_BITS;
	return octave * SUB + (uint32_t)(dur_ns >> octave);
}

uint64_t ws_rollup_bucket_from(uint32_t bucket)
{
	if (bucket < 2 * SUB)
		return bucket;
	unsigned octave = bucket / SUB - 1;
	return (uint64_t)(bucket % SUB + SUB) << octave;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* The key of a group: indexes of the model. It is hashed as bytes, so it has no padding. */
struct group_key {
	uint32_t step, path; /* WS_NONE: in none */
	uint32_t launch;     /* number of the launch configuration by its values */
	uint32_t op_class, dtype;
};

struct group {
	struct group_key key;
	uint32_t config; /* one configuration with those values */
	int64_t kernels, without_time;
	int64_t sum_ns, min_ns, max_ns;
	/* Sums of the squares' parts above and below bit 32: each adds up exactly in 64 bits, which
	 * every query engine has */
	int64_t sum_sq_hi, sum_sq_lo;
};

struct rollup {
	const struct ws_model *m;
	struct ws_joined_rows *rows;
	uint32_t *launch_of; /* number of each config of the model */
	struct ws_strtab launches, keys;
	struct group *groups;
	size_t n, capacity;
	uint32_t *group_of; /* by kernel with a time: its group or WS_NONE */
	uint16_t *bucket;   /* bucket of the kernel's time */
	struct ws_arena arena;
};

static enum ws_status roll_up(struct rollup *r, struct ws_err *err)
{
	const size_t n = r->rows->nkernels;

	WS_NEW(&r->arena, r->launch_of, r->m->nconfigs);
	WS_NEW(&r->arena, r->group_of, n);
	WS_NEW(&r->arena, r->bucket, n);
	/* Without stream, context and process: the same launch in two processes is the same. */
	const struct ws_model *m = r->m;

	for (size_t i = 0; i < m->nconfigs; i++) {
		const struct ws_config *c = &m->configs[i];
		const uint64_t key[] = {c->name,
		                        c->device,
		                        c->shape.grid_x,
		                        c->shape.grid_y,
		                        c->shape.grid_z,
		                        c->shape.block_x,
		                        c->shape.block_y,
		                        c->shape.block_z,
		                        c->shape.registers,
		                        c->shape.shared_bytes};
		uint64_t id = ws_strtab_add(&r->launches, key, sizeof(key));

		r->launch_of[i] = (uint32_t)id;
	}
	for (size_t i = 0; i < n; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(r->rows, i);
		const struct group_key key = {
		        .step = k->step,
		        .path = k->kind->path,
		        .launch = r->launch_of[k->kind->config],
		        .op_class = k->kind->class,
		        .dtype = k->kind->dtype,
		};
		const uint64_t id = ws_strtab_add(&r->keys, &key, sizeof(key));

		if (id > r->n) {
			WS_GROW(r->groups, r->n + 1, r->capacity);
			r->groups[r->n++] = (struct group){.key = key, .config = k->kind->config};
		}
		r->group_of[i] = (uint32_t)(id - 1);

		struct group *g = &r->groups[r->group_of[i]];

		if (!k->kind->timed) {
			g->without_time++;
			r->group_of[i] = WS_NONE;
			continue;
		}
		unsigned __int128 square =
		        (unsigned __int128)k->dur_ns * (unsigned __int128)k->dur_ns;

		if (!g->kernels++ || k->dur_ns < g->min_ns)
			g->min_ns = k->dur_ns;
		if (k->dur_ns > g->max_ns)
			g->max_ns = k->dur_ns;
		g->sum_ns += k->dur_ns; /* cannot overflow: checked when the model was read */
		WS_FAIL_IF(square >> 95 ||
		                   __builtin_add_overflow(g->sum_sq_hi, (int64_t)(square >> 32),
		                                          &g->sum_sq_hi) ||
		                   __builtin_add_overflow(g->sum_sq_lo, (int64_t)(uint32_t)square,
		                                          &g->sum_sq_lo),
		           err, CORRUPT,
		           "the squares of the kernels' times do not fit a roll-up: %lld ns",
		           (long long)k->dur_ns);
		r->bucket[i] = (uint16_t)ws_rollup_bucket((uint64_t)k->dur_ns);
	}
	return WS_OK;
}

_Static_assert(WS_ROLLUP_BUCKETS <= UINT16_MAX, "a bucket's type");

/* --- tables ----------------------------------------------------------------------------------- */

static enum ws_status put_groups(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	const struct rollup *r = ctx;
	const struct ws_model *m = r->m;
	struct ws_parquet_paths own = {0}, *paths = &own;
	struct ws_parquet_writer *w = t->w;

	(void)err;
	ws_parquet_paths_make(paths, m);
	for (size_t i = 0; i < r->n; i++) {
		const struct group *g = &r->groups[i];
		const struct ws_config *config = &m->configs[g->config];
		const struct ws_device *device = &m->devices[config->device];
		const struct ws_launch_shape *shape = &config->shape;
		const struct ws_bytes name = m->texts[config->name];

		WS_PARQUET_ROLLUP_FIELDS(WS_PARQUET_PUT)
		ws_parquet_table_end_row(t);
	}
	ws_parquet_paths_free(paths);
	return WS_OK;
}

static int by_bucket(const void *pa, const void *pb)
{
	const uint16_t *a = pa, *b = pb;

	return *a - *b;
}

static enum ws_status put_buckets(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	struct rollup *r = ctx;
	const size_t n = r->rows->nkernels;
	struct ws_parquet_writer *w = t->w;
	struct ws_rows_by_key of;
	uint16_t *sorted; /* buckets of the kernels of a group */

	(void)err;
	ws_order_by_key(&of, &r->arena, r->group_of, n, r->n);
	WS_NEW(&r->arena, sorted, n);
	for (size_t group = 0; group < r->n; group++) {
		const size_t of_group = of.first[group + 1] - of.first[group];

		for (size_t i = 0; i < of_group; i++)
			sorted[i] = r->bucket[of.order[of.first[group] + i]];
		ws_sort(sorted, of_group, sizeof(*sorted), by_bucket);
		for (size_t i = 0, kernels; i < of_group; i += kernels) {
			const uint32_t bucket = sorted[i];
			const uint64_t from = ws_rollup_bucket_from(bucket);

			for (kernels = 1; i + kernels < of_group && sorted[i + kernels] == bucket;)
				kernels++;
			WS_PARQUET_ROLLUP_HISTOGRAM_FIELDS(WS_PARQUET_PUT)
			ws_parquet_table_end_row(t);
		}
	}
	return WS_OK;
}

/*
 * Write rollup.parquet and rollup_histogram.parquet into the folder. CORRUPT when a sum of squares
 * leaves its 64 bits: a kernel of over 2.3 days.
 */
static enum ws_status ws_rollup_export(const struct ws_model *m, struct ws_joined_rows *rows,
                                       const struct ws_export_job *job, struct ws_err *err)
{
	struct ws_parquet_folder f = {0};
	struct rollup r = {.m = m, .rows = rows};
	enum ws_status status = roll_up(&r, err);

	WS_THEN(status, ws_parquet_folder_open(&f, m, job, r.n, err));
	WS_THEN(status, WS_PARQUET_TABLE_WRITE(&f, "rollup", WS_PARQUET_ROLLUP_FIELDS, put_groups,
	                                       &r, err));
	WS_THEN(status,
	        WS_PARQUET_TABLE_WRITE(&f, "rollup_histogram", WS_PARQUET_ROLLUP_HISTOGRAM_FIELDS,
	                               put_buckets, &r, err));
	WS_THEN(status, ws_outfolder_commit(&f.out, err));
	ws_outfolder_abandon(&f.out);
	ws_arena_free(&r.arena);
	ws_strtab_free(&r.launches);
	ws_strtab_free(&r.keys);
	free(r.groups);
	return status;
}

/* --- values of payloads ----------------------------------------------------------------------- */

static void put_payload(void *ctx, const struct ws_payload_event *e)
{
	const struct ws_parquet_export *x = ctx;
	const struct ws_row_thread *thread = ws_records_find(&x->threads, e->thread);
	const struct ws_bytes type =
	        ws_enum_name(ws_schema_kind(WS_KIND_NVTX)->columns[WS_COL_nvtx_type].unit, e->type);
	struct ws_parquet_writer *w = x->to->w;
	size_t n;
	const struct ws_payload_value *values = ws_payloads_values(x->payloads, e->payload, &n);

	for (const struct ws_payload_value *v = values; v < values + n; v++) {
		WS_PARQUET_PAYLOAD_FIELDS(WS_PARQUET_PUT)
		ws_parquet_table_end_row(x->to);
	}
}

static enum ws_status put_payloads(void *ctx, struct ws_parquet_table *t, struct ws_err *err)
{
	struct ws_parquet_export *x = ctx;
	enum ws_status status = ws_payloads_new(&x->payloads, x->r, err);

	x->to = t;
	WS_THEN(status,
	        ws_records_load_by(&x->threads, x->r, WS_KIND_THREAD, WS_COL_thread_id, err));
	WS_THEN(status, ws_payloads_each_event(x->r, put_payload, x, err));
	ws_records_free(&x->threads);
	ws_payloads_free(x->payloads);
	return status;
}

/* --- the export ------------------------------------------------------------------------------ */

static enum ws_status export_rows(const struct ws_trace_reader *r, struct ws_model *m,
                                  struct ws_joined_rows *rows, const struct ws_export_job *job,
                                  struct ws_err *err)
{
	struct ws_parquet_export x = {.r = r, .m = m, .rows = rows};

	/* for progress; facts, which are few, are not counted */
	uint64_t nrows = rows->nkernels + rows->nranges;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		nrows += ws_trace_reader_count(r, kinds[k]);
	ws_joined_rows_ranges_by_thread(rows, m);
	ws_parquet_paths_make(&x.paths, m);
	enum ws_status status = ws_parquet_folder_open(&x.folder, m, job, nrows, err);
	WS_THEN(status, WS_PARQUET_TABLE_WRITE(&x.folder, "kernels", WS_PARQUET_KERNEL_FIELDS,
	                                       put_kernels, &x, err));
	WS_THEN(status, WS_PARQUET_TABLE_WRITE(&x.folder, "nvtx", WS_PARQUET_NVTX_FIELDS,
	                                       put_ranges, &x, err));
	WS_THEN(status, WS_PARQUET_TABLE_WRITE(&x.folder, "facts", WS_PARQUET_FACT_FIELDS,
	                                       put_facts, &x, err));
	WS_THEN(status, WS_PARQUET_TABLE_WRITE(&x.folder, "payload_value",
	                                       WS_PARQUET_PAYLOAD_FIELDS, put_payloads, &x, err));
	WS_THEN(status, export_kinds(&x, err));
	WS_THEN(status, ws_outfolder_commit(&x.folder.out, err));
	ws_outfolder_abandon(&x.folder.out);
	ws_parquet_paths_free(&x.paths);
	return status;
}

static enum ws_status write_export(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                   struct ws_export_stats *stats, struct ws_err *err)
{
	struct ws_joined_rows rows = {0};
	struct ws_model *m = NULL;
	enum ws_status status = ws_joined_rows_read(&rows, r, job->trace, NULL, &m, err);

	(void)stats; /* unused: every kind has a table */
	if (job->rollup)
		WS_THEN(status, ws_rollup_export(m, &rows, job, err));
	else
		WS_THEN(status, export_rows(r, m, &rows, job, err));
	ws_joined_rows_free(&rows);
	ws_model_free(m);
	return status;
}

const struct ws_exporter ws_exporter_parquet = {
        .name = "parquet",
        .extensions = {".parquet"},
        .has_ranks = true,
        .write = write_export,
};
