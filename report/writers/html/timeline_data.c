/*
 * The boxes of a timeline, column by column, as LEB128 numbers: deflate packs a column of like
 * numbers best. Layout: docs/dev/pages.md. Read by timeline.js and by tests/e2e/page_data.py.
 */

#include "formats/base/bytes.h"
#include "report/page/timeline.h"
#include "report/writers/html/private.h"

/* X(number): signed numbers are zigzag; the start is less that of the box before in its lane. */
#define COLUMNS(X)                                                                            \
	X(ws_zigzag((uint64_t)(box->start_ns - before_ns)))                                   \
	X((uint64_t)box->dur_ns)                                                              \
	X(ws_zigzag((uint64_t)(box->dur_ns - box->busy_ns)))                                  \
	X(box->count)                                                                         \
	X(box->name)                                                                          \
	X(box->class)                                                                         \
	X(box->path)                                                                          \
	X(box->operation)                                                                     \
	X(box->shapes)                                                                        \
	X(box->launch)                                                                        \
	X(box->call)                                                                          \
	X(box->call_dur_ns < 0 ? 0 : ws_zigzag((uint64_t)(box->start_ns - box->call_ns)) + 1) \
	X((uint64_t)(box->call_dur_ns + 1))                                                   \
	X(box->depth)                                                                         \
	X(box->colour)

static void put_number(struct ws_buf *bytes, uint64_t number)
{
	ws_buf_reserve(bytes, WS_VARINT_MAX);
	bytes->len = (size_t)(ws_varint_put(bytes->data + bytes->len, number) - bytes->data);
}

void ws_html_put_boxes(FILE *f, const struct ws_timeline *timeline, const char *id)
{
	struct ws_buf bytes = {0};

#define X(number)                                                                      \
	for (size_t i = 0; i < timeline->nlanes; i++) {                                \
		int64_t before_ns = timeline->start_ns;                                \
                                                                                       \
		for (size_t k = 0; k < timeline->lane[i].n; k++) {                     \
			const struct ws_timeline_box *box = &timeline->lane[i].box[k]; \
                                                                                       \
			put_number(&bytes, number);                                    \
			before_ns = box->start_ns;                                     \
		}                                                                      \
		(void)before_ns;                                                       \
	}
	COLUMNS(X)
#undef X
	fprintf(f, "<script type=\"text/plain\" id=\"%s\">", id);
	ws_html_put_packed(f, bytes.data, bytes.len);
	fputs("</script>\n", f);
	ws_buf_free(&bytes);
}

static const char *kind_name(enum ws_timeline_kind kind)
{
	static const char *const names[] = {
#define X(NAME, name) name,
	        WS_TIMELINE_LANES(X)
#undef X
	};

	return names[kind];
}

void ws_html_put_timeline(struct ws_json_writer *j, const struct ws_timeline *t)
{
	if (!t) {
		ws_json_null(j);
		return;
	}
	ws_json_object_begin(j);
	ws_json_str(ws_json_key(j, "what"), t->title);
	ws_json_i64(ws_json_key(j, "begin"), t->start_ns - t->shift_ns);
	ws_json_i64(ws_json_key(j, "length"), t->end_ns - t->start_ns);
	ws_json_i64(ws_json_key(j, "shortest"), t->shortest_ns);
	ws_json_u64(ws_json_key(j, "kernels"), t->kernels);
	ws_json_u64(ws_json_key(j, "ranges"), t->ranges);
	ws_json_u64(ws_json_key(j, "copies"), t->copies);
	ws_json_u64(ws_json_key(j, "ops"), t->ops);
	ws_json_array_begin(ws_json_key(j, "lanes"));
	for (size_t i = 0; i < t->nlanes; i++) {
		ws_json_object_begin(j);
		ws_json_str(ws_json_key(j, "kind"), kind_name(t->lane[i].kind));
		ws_json_str(ws_json_key(j, "name"), t->lane[i].name);
		ws_json_u64(ws_json_key(j, "n"), t->lane[i].n);
		ws_json_u64(ws_json_key(j, "depths"), t->lane[i].depths);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	ws_json_array_begin(ws_json_key(j, "text"));
	for (size_t i = 0; i < t->ntexts; i++)
		ws_json_str(j, t->text[i]);
	ws_json_array_end(j);
	ws_json_object_end(j);
}
