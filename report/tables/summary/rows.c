/* Lines of the first sheet, and its sections about the origin of the trace. */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "report/analysis/device_time.h"
#include "report/analysis/digest.h"
#include "report/base/names.h"
#include "report/model/load.h"
#include "report/tables/summary/rows.h"

struct ws_cell *ws_page_row(const struct ws_summary_page *p, struct ws_bytes item)
{
	struct ws_cell *row = ws_table_row(p->t);

	ws_cell_set_str(p->t, &row[WS_TC_summary_section], p->section);
	ws_cell_set_text(p->t, &row[WS_TC_summary_item], item.ptr, item.len);
	return row;
}

void ws_page_text(const struct ws_summary_page *p, struct ws_bytes item, struct ws_bytes text)
{
	struct ws_cell *row = ws_page_row(p, item);

	ws_cell_set_text(p->t, &row[WS_TC_summary_text], text.ptr, text.len);
}

void ws_page_words(const struct ws_summary_page *p, const char *item, const char *text)
{
	ws_page_text(p, ws_bytes_of(item), ws_bytes_of(text));
}

void ws_page_count(const struct ws_summary_page *p, const char *item, uint64_t count)
{
	ws_cell_set_int(&ws_page_row(p, ws_bytes_of(item))[WS_TC_summary_count], (int64_t)count);
}

void ws_page_time(const struct ws_summary_page *p, const char *item, double ns)
{
	ws_cell_set_real(&ws_page_row(p, ws_bytes_of(item))[WS_TC_summary_time_ns], ns);
}

void ws_page_value(const struct ws_summary_page *p, const char *item, double value)
{
	ws_cell_set_real(&ws_page_row(p, ws_bytes_of(item))[WS_TC_summary_value], value);
}

struct ws_cell *ws_page_share(const struct ws_summary_page *p, struct ws_bytes item,
                              uint64_t kernels, int64_t gpu_ns)
{
	struct ws_cell *row = ws_page_row(p, item);

	ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)kernels);
	ws_cell_set_int(&row[WS_TC_summary_time_ns], gpu_ns);
	ws_cell_set_share(&row[WS_TC_summary_share], gpu_ns, p->tab->sel->gpu_ns);
	return row;
}

/* --- origin of the trace ---------------------------------------------------------------- */

static void add_file(const struct ws_summary_page *p)
{
	const struct ws_trace_summary *f = &p->tab->m->file;
	const int64_t first_ns = ws_model_recorded_ns(p->tab->m);
	time_t seconds = (time_t)(first_ns / 1000000000);
	struct tm tm;
	char text[64];

	ws_page_words(p, "trace.file", p->tab->m->name);
	if (first_ns < 0)
		ws_page_words(p, "trace.recorded", "not known");
	else if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		ws_page_words(p, "trace.recorded", text);
	snprintf(text, sizeof(text), "%" PRIu64 " bytes, XXH3-64 %016" PRIx64 ", format %u.%u",
	         f->file_size, f->file_hash, f->version_major, f->version_minor);
	ws_page_words(p, "trace.contents", text);
	ws_page_words(p, "report.version", WS_VERSION);
}

static void add_end(const struct ws_summary_page *p)
{
	const struct ws_model *m = p->tab->m;

	if (!m->nends)
		ws_page_words(p, "program end", "not recorded");
	for (size_t i = 0; i < m->nends; i++) {
		char text[80];

		if (m->ends[i].end == WS_END_EXITED)
			snprintf(text, sizeof(text), "exited with status %" PRId64,
			         m->ends[i].code);
		else if (m->ends[i].end == WS_END_SIGNALED)
			snprintf(text, sizeof(text), "killed by signal %" PRId64, m->ends[i].code);
		else
			snprintf(text, sizeof(text), "unknown");
		ws_page_words(p, "program end", text);
	}
}

struct ws_bytes ws_page_fact(const struct ws_model *m, const char *key)
{
	for (size_t i = 0; i < m->nfacts; i++)
		if (ws_name_is(m->facts[i].key, key))
			return m->facts[i].value;
	return (struct ws_bytes){0};
}

void ws_page_what_ran(const struct ws_summary_page *p)
{
	static const struct {
		const char *item, *key;
	} lines[] = {{"program", "program.path"}, {"recorded by", "import.source"}};

	/* Facts that the program stated about itself. The section Workload has all of them. */
	static const char *const own[] = {"model", "dtype"};
	static const char *const rest[] = {"phase", "batch", "context", "optimizer"};
	char text[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		struct ws_bytes value = ws_page_fact(p->tab->m, own[i]);

		if (value.len)
			ws_page_text(p, ws_bytes_of(own[i]), value);
	}
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
		struct ws_bytes value = ws_page_fact(p->tab->m, rest[i]);

		if (value.len && value.len < 48)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %.*s",
			                        len ? ", " : "", rest[i], (int)value.len,
			                        (const char *)value.ptr);
	}
	if (len)
		ws_page_words(p, "configuration", text);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct ws_bytes value = ws_meta_value(&p->tab->m->meta, lines[i].key);

		/* the name of the model is more useful than the name of the program, which all
		 * models share */
		if (value.len && !(i == 0 && ws_page_fact(p->tab->m, "model").len))
			ws_page_text(p, ws_bytes_of(lines[i].item), value);
	}

	/* Idle devices are shown only if all devices were idle. The table `gpu` always has them. */
	const struct ws_model *m = p->tab->m;

	for (size_t i = 0; i < m->ndevices; i++) {
		const struct ws_device *d = &m->devices[i];
		struct ws_cell *row;
		char item[40];

		if (!d->kernels && (ws_model_has_kernels(m) || d->name == WS_TEXT_EMPTY))
			continue;
		snprintf(item, sizeof(item),
		         d->kernels ? "device %" PRIu64 ", kernels" : "device %" PRIu64, d->id);
		row = ws_page_row(p, ws_bytes_of(item));
		ws_cell_set_model_text(p->t, &row[WS_TC_summary_text], m, d->name);
		if (d->kernels)
			ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)d->kernels);
		if (d->kind == WS_DEVICE_CPU_REFERENCE)
			ws_page_words(p, "what the times are",
			              "real CPU timings; not GPU performance");
	}
	add_end(p);
}

void ws_page_provenance(const struct ws_summary_page *p)
{
	/* The last row of each key, in the order of the file. */
	const struct ws_column_data *t = &p->tab->m->meta;
	struct ws_strtab keys = {0};
	uint64_t *last = ws_xarray(t->rows + 1, sizeof(*last)); /* by key: its last row */
	uint64_t nkeys = 0;

	for (uint64_t i = 0; i < t->rows; i++) {
		struct ws_bytes key = ws_blob(t, WS_COL_meta_key, i);
		uint64_t id = 0;

		if (key.len)
			id = ws_strtab_add(&keys, key.ptr, key.len);
		nkeys = id > nkeys ? id : nkeys;
		last[id] = i;
	}
	for (uint64_t id = 1; id <= nkeys; id++)
		ws_page_text(p, ws_blob(t, WS_COL_meta_key, last[id]),
		             ws_blob(t, WS_COL_meta_value, last[id]));
	ws_strtab_free(&keys);
	free(last);
	add_file(p);
}

/* --- how much of the devices' arithmetic the steps used ------------------------------------- */

/* A share of a peak: Share (%) is of the GPU time. */
static void add_utilization(const struct ws_summary_page *p, const char *item, double ns,
                            const struct ws_utilization *use)
{
	struct ws_cell *row = ws_page_row(p, ws_bytes_of(item));
	double percent = ws_stat_percent(ns, (double)use->step_sum_ns);
	const char *over = ws_over_peak(percent);
	char text[sizeof(use->obstacle) + sizeof(use->basis)];

	snprintf(text, sizeof(text), "%s%s", use->obstacle[0] ? "not known: " : "of ",
	         use->obstacle[0] ? use->obstacle : use->basis);
	ws_cell_set_str(p->t, &row[WS_TC_summary_text], over ? over : text);
	ws_cell_set_real(&row[WS_TC_summary_value], percent);
}

void ws_page_utilization(const struct ws_summary_page *p)
{
	const struct ws_utilization *use;

	use = ws_utilization_find(p->tab->m, p->tab->sel);
	add_utilization(p, "MFU (%)", use->model_sum_ns, use);
	if (!use->obstacle[0]) /* one reason for both */
		add_utilization(p, "HFU (%)", use->ran_sum_ns, use);
}

struct missing {
	const struct ws_summary_page *page;
	unsigned counters, over_0;
};

/* Sources without a loss are only in the table `losses`. */
static void add_missing(void *ctx, const struct ws_missing *missing)
{
	struct missing *all = ctx;
	struct ws_cell *row;

	all->counters++;
	if (!missing->count)
		return;
	all->over_0++;
	row = ws_page_row(all->page, missing->cause);
	ws_cell_set_str(all->page->t, &row[WS_TC_summary_text], missing->meaning);
	ws_cell_set_int(&row[WS_TC_summary_count],
	                missing->count > INT64_MAX ? INT64_MAX : (int64_t)missing->count);
}

void ws_page_missing(const struct ws_summary_page *p)
{
	struct missing all = {.page = p};
	char text[80];

	if (ws_model_lacks_comm(p->tab->m))
		ws_page_words(p, "ALARM: communication", WS_LACKS_COMM);
	ws_missing_each(p->tab->m, add_missing, &all);
	if (!all.over_0) {
		snprintf(text, sizeof(text), "nothing: all %u counters of `losses` are 0",
		         all.counters);
		ws_page_words(p, "missing", text);
	}
}
