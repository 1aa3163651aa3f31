#include "report/export/rows.h"

#include <stdlib.h>

#include "formats/base/utf8.h"
#include "report/model/range_pairs.h"

#define MAX_COLUMNS 64

/* --- rows --- */

void ws_export_progress_begin(struct ws_export_progress *p, const struct ws_trace_reader *r,
                              const struct ws_export_opts *opts)
{
	*p = (struct ws_export_progress){.opts = opts};
	for (size_t i = 0; i < ws_trace_reader_block_count(r); i++)
		p->total += ws_trace_reader_block(r, i)->rows;
}

void ws_export_progress_tell(struct ws_export_progress *p, uint64_t rows)
{
	p->done += rows;
	if (p->opts->progress)
		p->opts->progress(p->opts->progress_ctx, p->done, p->total);
}

/* Row `i` of columns that lie at place[c] of the row struct; -1: nowhere. */
static void fill(const struct ws_column *columns, size_t ncolumns, const ptrdiff_t *place, size_t i,
                 void *row)
{
	for (size_t c = 0; c < ncolumns; c++) {
		uint8_t *to = (uint8_t *)row + place[c];

		if (place[c] < 0)
			continue;
		if (columns[c].type == WS_TYPE_BLOB)
			memcpy(to, &columns[c].b[i], sizeof(struct ws_bytes));
		else
			memcpy(to, &columns[c].v[i], sizeof(uint64_t));
	}
}

/* Where the columns go. All members of a row struct are 8 bytes or a struct ws_bytes. */
static void find_places(const struct ws_kind_def *def, const struct ws_column *columns,
                        size_t ncolumns, ptrdiff_t *place)
{
	for (size_t c = 0; c < ncolumns; c++) {
		int at = ws_schema_column(def, columns[c].id);

		place[c] = -1;
		if (at >= 0 && columns[c].present && columns[c].type == def->columns[at].type)
			place[c] = (ptrdiff_t)def->columns[at].row_offset;
	}
}

static enum ws_status each_of_block(const struct ws_block *block, const struct ws_kind_def *def,
                                    void *row, ws_export_row_fn fn, void *ctx, struct ws_err *err)
{
	ptrdiff_t *place = calloc(block->ncolumns ? block->ncolumns : 1, sizeof(*place));
	enum ws_status status = WS_OK;

	WS_FAIL_IF(!place, err, NO_MEMORY, "out of memory");
	find_places(def, block->columns, block->ncolumns, place);
	for (size_t i = 0; i < block->info.rows && status == WS_OK; i++) {
		fill(block->columns, block->ncolumns, place, i, row);
		status = fn(ctx, row, err);
	}
	free(place);
	return status;
}

enum ws_status ws_export_each(const struct ws_trace_reader *r, enum ws_kind kind,
                              struct ws_export_progress *p, ws_export_row_fn fn, void *ctx,
                              struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	enum ws_status status = WS_OK;
	void *row = calloc(1, def->row_size);

	WS_FAIL_IF(!row, err, NO_MEMORY, "out of memory");
	for (size_t i = 0; i < ws_trace_reader_block_count(r) && status == WS_OK; i++) {
		struct ws_block block;

		if (ws_trace_reader_block(r, i)->kind != kind)
			continue;
		status = ws_trace_reader_decode(r, i, &block, err);
		if (status != WS_OK)
			break;
		memset(row, 0, def->row_size);
		status = each_of_block(&block, def, row, fn, ctx, err);
		if (p)
			ws_export_progress_tell(p, block.info.rows);
		ws_block_release(&block);
	}
	free(row);
	return status;
}

/* --- rows in memory --- */

enum ws_status ws_export_rows_load(struct ws_export_dict *d, const struct ws_trace_reader *r,
                                   enum ws_kind kind, struct ws_err *err)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);
	ptrdiff_t place[MAX_COLUMNS];

	*d = (struct ws_export_dict){.row_size = def->row_size};
	WS_FAIL_IF(def->ncolumns > MAX_COLUMNS, err, BUG, "kind %s has too many columns",
	           def->name);
	WS_FORWARD(ws_trace_reader_load(r, kind, &d->table, err));
	d->n = (size_t)d->table.rows;
	d->rows = calloc(d->n ? d->n : 1, def->row_size);
	WS_FAIL_IF(!d->rows, err, NO_MEMORY, "out of memory for %zu %s rows", d->n, def->name);
	find_places(def, d->table.columns, def->ncolumns, place);
	for (size_t i = 0; i < d->n; i++)
		fill(d->table.columns, def->ncolumns, place, i,
		     (uint8_t *)d->rows + i * d->row_size);
	return WS_OK;
}

enum ws_status ws_export_dict_load(struct ws_export_dict *d, const struct ws_trace_reader *r,
                                   enum ws_kind kind, struct ws_err *err)
{
	size_t id_offset = ws_schema_kind(kind)->columns[0].row_offset;

	WS_FORWARD(ws_export_rows_load(d, r, kind, err));
	for (size_t i = 0; i < d->n; i++) {
		const uint8_t *row = (const uint8_t *)d->rows + i * d->row_size;

		WS_FORWARD(ws_map_put(&d->places, ws_load_u64(row + id_offset), i, err));
	}
	return WS_OK;
}

void ws_export_dict_free(struct ws_export_dict *d)
{
	ws_table_data_release(&d->table);
	ws_map_free(&d->places);
	free(d->rows);
	*d = (struct ws_export_dict){0};
}

const void *ws_export_dict_find(const struct ws_export_dict *d, uint64_t id)
{
	const uint64_t *place = ws_map_get(&d->places, id);

	return place ? (const uint8_t *)d->rows + *place * d->row_size : NULL;
}

struct ws_bytes ws_export_text(const struct ws_export_dict *strings, uint64_t id)
{
	const struct ws_row_string *row = id ? ws_export_dict_find(strings, id) : NULL;

	return row && row->text.ptr ? row->text : (struct ws_bytes){"", 0};
}

/* --- texts --- */

static int is_readable(const char *p, size_t len)
{
	uint32_t code;

	for (size_t pos = 0; pos < len;) {
		unsigned n = 1;

		if ((unsigned char)p[pos] >= 0x80) {
			n = ws_utf8_get(p + pos, len - pos, &code);
			if (code == WS_UTF8_REPLACEMENT)
				return 0;
		} else if (!p[pos]) {
			return 0;
		}
		pos += n;
	}
	return 1;
}

enum ws_status ws_export_readable(struct ws_buf *room, struct ws_bytes text, struct ws_bytes *out,
                                  struct ws_err *err)
{
	const char *p = text.ptr;

	*out = text;
	if (!text.len || is_readable(p, text.len))
		return WS_OK;
	room->len = 0;
	for (size_t pos = 0; pos < text.len;) {
		char utf8[WS_UTF8_MAX_BYTES];
		uint32_t code;

		pos += ws_utf8_get(p + pos, text.len - pos, &code);
		WS_FORWARD(ws_buf_put(room, utf8,
		                      ws_utf8_put(code ? code : WS_UTF8_REPLACEMENT, utf8), err));
	}
	*out = (struct ws_bytes){room->data, room->len};
	return WS_OK;
}

/* --- ranges --- */

/* What happened at one time stays in the order recorded. */
static int compare_time(const void *a, const void *b, void *rows)
{
	const struct ws_row_nvtx *row = rows;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (row[i].time_ns != row[j].time_ns)
		return row[i].time_ns < row[j].time_ns ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int compare_thread(const void *a, const void *b, void *rows)
{
	const struct ws_row_nvtx *row = rows;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (row[i].thread != row[j].thread)
		return row[i].thread < row[j].thread ? -1 : 1;
	return compare_time(a, b, rows);
}

struct pairing {
	struct ws_export_ranges *out;
	const struct ws_export_dict *threads;
	const struct ws_row_nvtx *rows;
	size_t *order;    /* of rows */
	size_t *of_event; /* start: its range */
	struct ws_range_pairs pairs;
	struct ws_idmap numbers; /* ids of threads and domains -> numbers */
};

static struct ws_export_range *begin_range(struct pairing *p, const struct ws_row_nvtx *e,
                                           uint8_t flags)
{
	struct ws_export_range *range = &p->out->range[p->out->n++];

	*range = (struct ws_export_range){
	        .start_ns = e->time_ns,
	        .end_ns = e->time_ns,
	        .thread = e->thread,
	        .end_thread = e->thread,
	        .domain = e->domain,
	        .name = e->name,
	        .range = e->range,
	        .category = e->category,
	        .color = e->color,
	        .payload = e->payload,
	        .flags = flags | WS_EXPORT_RANGE_OPEN,
	};
	return range;
}

static void end_range(struct ws_export_range *range, const struct ws_row_nvtx *e)
{
	range->end_ns = e->time_ns < range->start_ns ? range->start_ns : e->time_ns;
	range->end_thread = e->thread;
	range->flags &= (uint8_t)~WS_EXPORT_RANGE_OPEN;
}

/* A small number for an id; the same ids of threads and domains may share one. */
static enum ws_status number_of(struct pairing *p, uint64_t id, uint32_t *number,
                                struct ws_err *err)
{
	*number = ws_idmap_get(&p->numbers, id);
	if (*number != WS_NONE)
		return WS_OK;
	*number = (uint32_t)p->numbers.map.n;
	return ws_idmap_put(&p->numbers, id, *number, err);
}

static enum ws_status on_push_pop(struct pairing *p, const struct ws_row_nvtx *e,
                                  struct ws_err *err)
{
	uint32_t thread, domain, range = (uint32_t)p->out->n;

	WS_FORWARD(number_of(p, e->thread, &thread, err));
	WS_FORWARD(number_of(p, e->domain, &domain, err));
	if (e->type == WS_NVTX_PUSH) {
		begin_range(p, e, 0);
		return ws_range_push(&p->pairs, thread, domain, range, err);
	}
	range = ws_range_pop(&p->pairs, thread, domain);
	if (range == WS_NONE)
		p->out->dangling++;
	else
		end_range(&p->out->range[range], e);
	return WS_OK;
}

/* Make the ranges in their final order; pair push with pop. */
static enum ws_status pair_pushes(struct pairing *p, size_t n, struct ws_err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct ws_row_nvtx *e = &p->rows[p->order[i]];

		switch (e->type) {
		case WS_NVTX_PUSH:
		case WS_NVTX_POP:
			WS_FORWARD(on_push_pop(p, e, err));
			break;
		case WS_NVTX_START:
			p->of_event[p->order[i]] = p->out->n;
			begin_range(p, e, WS_EXPORT_RANGE_START_END);
			break;
		case WS_NVTX_MARK:
			p->out->mark[p->out->nmarks++] = *e;
			break;
		}
	}
	return WS_OK;
}

/* By time over all threads: any may end a range, and ids may be used again. */
static enum ws_status pair_starts(struct pairing *p, size_t n, struct ws_err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct ws_row_nvtx *e = &p->rows[p->order[i]];
		const struct ws_row_thread *t;
		uint32_t range;

		if (e->type != WS_NVTX_START && e->type != WS_NVTX_END)
			continue;
		t = ws_export_dict_find(p->threads, e->thread);
		if (e->type == WS_NVTX_START) {
			range = (uint32_t)p->of_event[p->order[i]];
			WS_FORWARD(ws_range_start(&p->pairs, t ? t->pid : 0, e->range, range, err));
			continue;
		}
		range = ws_range_end(&p->pairs, t ? t->pid : 0, e->range);
		if (range == WS_NONE)
			p->out->dangling++;
		else
			end_range(&p->out->range[range], e);
	}
	return WS_OK;
}

static enum ws_status pair(struct pairing *p, struct ws_export_dict *events, struct ws_err *err)
{
	size_t n = events->n ? events->n : 1;

	WS_FAIL_IF(n >= WS_NONE, err, NO_MEMORY, "%zu NVTX events are more than an export handles",
	           n);
	p->rows = events->rows;
	p->order = calloc(n, sizeof(*p->order));
	p->of_event = calloc(n, sizeof(*p->of_event));
	p->out->range = calloc(n, sizeof(*p->out->range));
	p->out->mark = calloc(n, sizeof(*p->out->mark));
	if (!p->order || !p->of_event || !p->out->range || !p->out->mark)
		return WS_FAIL(err, NO_MEMORY, "no memory for %zu NVTX events", n);
	for (size_t i = 0; i < events->n; i++)
		p->order[i] = i;
	qsort_r(p->order, events->n, sizeof(*p->order), compare_thread, events->rows);
	WS_FORWARD(pair_pushes(p, events->n, err));
	qsort_r(p->order, events->n, sizeof(*p->order), compare_time, events->rows);
	return pair_starts(p, events->n, err);
}

enum ws_status ws_export_ranges_load(struct ws_export_ranges *out, const struct ws_trace_reader *r,
                                     const struct ws_export_dict *threads, struct ws_err *err)
{
	struct pairing p = {.out = out, .threads = threads};
	struct ws_export_dict events;
	enum ws_status status;

	*out = (struct ws_export_ranges){0};
	status = ws_export_rows_load(&events, r, WS_KIND_NVTX, err);
	if (status == WS_OK)
		status = pair(&p, &events, err);
	ws_export_dict_free(&events);
	ws_range_pairs_free(&p.pairs);
	ws_idmap_free(&p.numbers);
	free(p.order);
	free(p.of_event);
	return status;
}

void ws_export_ranges_free(struct ws_export_ranges *ranges)
{
	free(ranges->range);
	free(ranges->mark);
	*ranges = (struct ws_export_ranges){0};
}
