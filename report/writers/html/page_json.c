/* The first screen as JSON for the script of the page: sentences, pictures, timelines, and the
 * additions of a comparison. */
#include <zlib.h>
#include "report/writers/html/private.h"

/* --- packed bytes: deflated, then base64 ----------------------------------------------------- */

#define LEVEL 6

void ws_html_put_base64(FILE *f, const unsigned char *bytes, size_t len)
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		const unsigned n = (unsigned)bytes[i] << 16 |
		                   (i + 1 < len ? (unsigned)bytes[i + 1] << 8 : 0) |
		                   (i + 2 < len ? bytes[i + 2] : 0);
		const char four[4] = {digits[n >> 18], digits[n >> 12 & 63],
		                      i + 1 < len ? digits[n >> 6 & 63] : '=',
		                      i + 2 < len ? digits[n & 63] : '='};

		fwrite(four, 1, 4, f);
	}
}

void ws_html_put_packed(FILE *f, const void *bytes, size_t len)
{
	uLongf packed_len = compressBound((uLong)len);
	unsigned char *packed = ws_xmalloc(packed_len);

	/* with this buffer, it can fail only without memory */
	if (compress2(packed, &packed_len, bytes, (uLong)len, LEVEL) != Z_OK)
		ws_out_of_memory(packed_len);
	ws_html_put_base64(f, packed, packed_len);
	free(packed);
}

/* --- timelines ------------------------------------------------------------------------------- */

/* X(number): signed numbers are zigzag; the start is relative to the previous box in its lane. */
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

/* Writes its lanes and texts as an object, or null. */
static void put_timeline(struct ws_json_writer *j, const struct ws_timeline *t)
{
	static const char *const kinds[] = {WS_TIMELINE_LANES(WS_LIST_SECOND)};

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
	WS_JSON_EACH_OBJECT(j, "lanes", i, t->nlanes) {
		ws_json_str(ws_json_key(j, "kind"), kinds[t->lane[i].kind]);
		ws_json_str(ws_json_key(j, "name"), t->lane[i].name);
		ws_json_u64(ws_json_key(j, "n"), t->lane[i].n);
		ws_json_u64(ws_json_key(j, "depths"), t->lane[i].depths);
		ws_json_str(ws_json_key(j, "device"), t->lane[i].device);
	}
	WS_JSON_EACH(j, "text", i, t->ntexts)
		ws_json_str(j, t->text[i]);
	ws_json_object_end(j);
}

/* --- the first screen ------------------------------------------------------------------------ */

/* A sentence; the icicle, as the member "tree". */
static void put_line(struct ws_json_writer *j, const struct ws_page_line *line)
{
	WS_JSON_EACH_ARRAY(j, NULL, i, line->nparts) {
		ws_json_str(j, line->part[i].text);
		ws_json_bool(j, line->part[i].bold);
	}
}

static void put_tree(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_object_begin(key(j, "tree"));
	ws_json_str(key(j, "title"), page->tree_title);
	ws_json_str(key(j, "what"), page->tree_what);
	ws_json_i64(key(j, "total"), (int64_t)ws_page_gpu_ns(page));
	ws_json_f64(key(j, "per"), page->samples);
	WS_JSON_EACH_OBJECT(j, "nodes", i, page->nnodes) {
		ws_json_i64(key(j, "parent"), page->node[i].parent == WS_PAGE_ROOT
		                                      ? -1
		                                      : (int64_t)page->node[i].parent);
		ws_json_str(key(j, "label"), page->node[i].label);
		ws_json_str(key(j, "path"), page->node[i].path);
		ws_json_u64(key(j, "folded"), page->node[i].folded);
		ws_json_i64(key(j, "inclusive"), page->node[i].inclusive_ns);
		ws_json_i64(key(j, "exclusive"), page->node[i].exclusive_ns);
		ws_json_u64(key(j, "calls"), page->node[i].calls);
		ws_json_u64(key(j, "kernels"), page->node[i].kernels);
		ws_json_i64(key(j, "flops"), page->node[i].flops);
		ws_json_i64(key(j, "colour"), page->node[i].colour);
		ws_json_bool(key(j, "range"), page->node[i].is_range);
		if (page->node[i].counterpart != WS_PAGE_ROOT)
			ws_json_u64(key(j, "other"), page->node[i].counterpart);
	}
	ws_json_object_end(j);
}

static void put_segments(struct ws_json_writer *j, const struct ws_page_segment *segment, size_t n)
{
	WS_JSON_EACH_OBJECT(j, "segments", i, n) {
		const struct ws_page_segment *s = &segment[i];

		ws_json_str(key(j, "name"), s->name);
		ws_json_i64(key(j, "ns"), s->ns);
		ws_json_i64(key(j, "hidden"), s->hidden_ns);
		ws_json_f64(key(j, "percent"), s->percent);
		ws_json_bool(key(j, "of_class"), s->is_class);
		ws_json_bool(key(j, "idle"), s->is_idle);
		ws_json_i64(key(j, "colour"), s->colour);
	}
}

void ws_html_put_page(struct ws_json_writer *j, const struct ws_page *page)
{
	if (!page || page->is_comparison) {
		ws_json_null(j);
		return;
	}
	ws_json_object_begin(j);
	ws_json_str(key(j, "work"), ws_page_work(page));
	WS_JSON_EACH(j, "headline", i, page->nheadline)
		put_line(j, &page->headline[i]);
	put_line(key(j, "first"), &page->first);
	ws_json_bool(key(j, "slow_step"), page->has_slow_step);
	WS_JSON_EACH(j, "whatif", i, page->nwhatif)
		put_line(j, &page->whatif[i]);
	WS_JSON_EACH_ARRAY(j, "figures", i, page->nfigures) {
		ws_json_str(j, page->figure[i].value);
		ws_json_str(j, page->figure[i].label);
	}
	ws_json_object_begin(key(j, "bar"));
	ws_json_str(key(j, "title"), page->bar_title);
	ws_json_i64(key(j, "whole"), page->whole_ns);
	ws_json_f64(key(j, "step"), page->step_ns);
	put_segments(j, page->segment, page->nsegments);
	ws_json_object_end(j);
	WS_JSON_EACH_ARRAY(j, "steps", i, page->nsteps) {
		ws_json_u64(j, page->step[i].number);
		ws_json_i64(j, page->step[i].ns);
		ws_json_bool(j, page->step[i].is_outlier);
	}
	WS_JSON_EACH_OBJECT(j, "devices", i, page->ndevices) {
		ws_json_str(key(j, "name"), page->devices[i].name);
		put_segments(j, page->devices[i].segment, page->devices[i].nsegments);
	}
	WS_JSON_EACH_ARRAY(j, "durations", i, page->ndurations) {
		ws_json_f64(j, page->durations[i].from_ns);
		ws_json_f64(j, page->durations[i].to_ns);
		ws_json_u64(j, page->durations[i].kernels);
		ws_json_i64(j, page->durations[i].ns);
	}
	put_tree(j, page);
	ws_json_object_begin(key(j, "roofline"));
	WS_JSON_EACH_OBJECT(j, "points", i, page->npoints) {
		ws_json_str(key(j, "name"), page->point[i].name);
		ws_json_str(key(j, "dtype"), page->point[i].dtype);
		ws_json_f64(key(j, "intensity"), page->point[i].intensity);
		ws_json_f64(key(j, "rate"), page->point[i].flops_per_s);
		ws_json_i64(key(j, "ns"), page->point[i].gpu_ns);
		ws_json_f64(key(j, "percent"), page->point[i].percent);
		ws_json_f64(key(j, "attained"), page->point[i].attained);
		ws_json_bool(key(j, "labelled"), page->point[i].is_labelled);
		ws_json_i64(key(j, "colour"), page->point[i].colour);
	}
	WS_JSON_EACH_OBJECT(j, "roofs", i, page->nroofs) {
		ws_json_str(key(j, "name"), page->roof[i].name);
		ws_json_f64(key(j, "flops"), page->roof[i].flops_per_s);
		ws_json_f64(key(j, "bytes"), page->roof[i].bytes_per_s);
	}
	ws_json_object_end(j);
	ws_json_object_begin(key(j, "findings"));
	ws_json_str(key(j, "no_finding"), page->no_finding);
	ws_json_str(key(j, "caveat"), page->caveat);
	ws_json_str(key(j, "note"), page->findings_note);
	ws_json_str(key(j, "none"), page->no_finding);
	ws_json_str(key(j, "each"), page->has_steps ? "a step" : "the run");
	WS_JSON_EACH_OBJECT(j, "rungs", i, page->nrungs) {
		ws_json_str(key(j, "name"), page->rung[i].name);
		ws_json_f64(key(j, "ns"), page->rung[i].step_ns);
		ws_json_f64(key(j, "percent"), page->rung[i].percent);
	}
	WS_JSON_EACH_OBJECT(j, "list", i, page->nfindings) {
		const struct ws_page_finding *f = &page->finding[i];

		ws_json_str(key(j, "title"), f->title);
		ws_json_str(key(j, "advice"), f->advice);
		ws_json_str(key(j, "evidence"), f->evidence);
		ws_json_f64(key(j, "gain"), f->gain_ns);
		ws_json_str(key(j, "saves"), f->gain);
		ws_json_f64(key(j, "percent"), f->gain_percent);
		ws_json_u64(key(j, "more"), f->nsimilar);
	}
	ws_json_object_end(j);
	ws_json_object_begin(key(j, "kernels"));
	ws_json_str(key(j, "noun"), page->has_operations ? "Operation" : "Kernel");
	ws_json_u64(key(j, "more"), page->more_kernels);
	ws_json_str(key(j, "each"), page->has_steps ? " per step" : "");
	ws_json_f64(key(j, "samples"), page->samples);
	ws_json_f64(key(j, "unit"), page->rate_unit);
	ws_json_str(key(j, "rates"), page->rate_name);
	WS_JSON_EACH_OBJECT(j, "list", i, page->nkernels) {
		ws_json_str(key(j, "name"), page->kernel[i].name);
		ws_json_str(key(j, "full"), page->kernel[i].full_name);
		ws_json_str(key(j, "class"), page->kernel[i].class);
		ws_json_i64(key(j, "colour"), page->kernel[i].colour);
		ws_json_u64(key(j, "calls"), page->kernel[i].calls);
		ws_json_i64(key(j, "ns"), page->kernel[i].ns);
		ws_json_f64(key(j, "percent"), page->kernel[i].percent);
		ws_json_f64(key(j, "mean"), page->kernel[i].mean_ns);
		ws_json_f64(key(j, "rate"), page->kernel[i].flops_per_s);
		ws_json_f64(key(j, "attained"), page->kernel[i].attained);
	}
	ws_json_object_end(j);
	put_timeline(ws_json_key(j, "timeline"), page->timeline);
	ws_json_object_end(j);
}

/* --- the answers of a comparison, or of ranks ------------------------------------------------ */

static void put_pair(struct ws_json_writer *j, const char *name, const double pair[2])
{
	ws_json_array_begin(key(j, name));
	ws_json_f64(j, pair[0]);
	ws_json_f64(j, pair[1]);
	ws_json_array_end(j);
}

void ws_html_put_answers(struct ws_json_writer *j, const struct ws_page *page)
{
	if (!page || !page->is_comparison) {
		ws_json_null(j);
		return;
	}
	ws_json_object_begin(j);
	WS_JSON_EACH_OBJECT(j, "answers", i, page->nheadline) {
		put_line(key(j, "line"), &page->headline[i]);
		ws_json_str(key(j, "grade"), page->headline[i].grade);
	}
	ws_json_str(key(j, "note"), page->note);
	ws_json_bool(key(j, "unsure"), page->is_unsure);
	ws_json_object_begin(key(j, "rows"));
	ws_json_str(key(j, "title"), page->rows_title);
	ws_json_str(key(j, "what"), page->rows_what);
	ws_json_u64(key(j, "more"), page->more_rows);
	WS_JSON_EACH_OBJECT(j, "list", i, page->nrows) {
		const struct ws_page_row *row = &page->row[i];

		ws_json_str(key(j, "group"), row->group);
		ws_json_str(key(j, "name"), row->name);
		ws_json_str(key(j, "words"), row->words);
		ws_json_f64(key(j, "ns"), row->ns);
		ws_json_f64(key(j, "low"), row->low_ns);
		ws_json_f64(key(j, "high"), row->high_ns);
		WS_JSON_EACH_OBJECT(j, "parts", p, row->nparts) {
			ws_json_str(key(j, "name"), row->part[p].name);
			ws_json_f64(key(j, "ns"), row->part[p].ns);
			ws_json_bool(key(j, "idle"), row->part[p].is_idle);
			ws_json_i64(key(j, "light"), row->part[p].paint.light);
			ws_json_i64(key(j, "dark"), row->part[p].paint.dark);
		}
	}
	ws_json_object_end(j);
	put_timeline(ws_json_key(j, "timeline"), page->timeline);
	WS_JSON_EACH_OBJECT(j, "bars", i, page->nchange_bars) {
		const struct ws_change_bar *bar = &page->change_bar[i];

		ws_json_str(key(j, "name"), bar->name);
		ws_json_f64(key(j, "from"), bar->from_ns);
		ws_json_f64(key(j, "to"), bar->to_ns);
		ws_json_bool(key(j, "total"), bar->is_whole);
	}
	WS_JSON_EACH_OBJECT(j, "changes", i, page->nchanges) {
		ws_json_str(key(j, "name"), page->change[i].name);
		ws_json_str(key(j, "shape"), page->change[i].shape);
		ws_json_str(key(j, "class"), page->change[i].class);
		ws_json_i64(key(j, "colour"), page->change[i].colour);
		ws_json_str(key(j, "grade"), page->change[i].grade);
		put_pair(j, "calls", page->change[i].calls);
		put_pair(j, "ns", page->change[i].ns);
		ws_json_f64(key(j, "ratio"), page->change[i].ratio);
		ws_json_f64(key(j, "low"), page->change[i].low);
		ws_json_f64(key(j, "high"), page->change[i].high);
	}
	WS_JSON_EACH_OBJECT(j, "sides", s, page->side[0] && page->side[1] ? 2 : 0) {
		ws_json_str(key(j, "name"), page->side_name[s]);
		ws_json_str(key(j, "work"), ws_page_work(page->side[s]));
		put_tree(j, page->side[s]);
		put_timeline(key(j, "timeline"), page->side[s]->timeline);
	}
	ws_json_object_end(j);
}
