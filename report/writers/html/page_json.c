/* The first screen as the script of the page reads it. */
#include "report/writers/html/private.h"

void ws_html_put_line(struct ws_json_writer *j, const struct ws_page_line *line)
{
	ws_json_array_begin(j);
	for (size_t i = 0; i < line->nparts; i++) {
		ws_json_array_begin(j);
		ws_json_str(j, line->part[i].text);
		ws_json_bool(j, line->part[i].bold);
		ws_json_array_end(j);
	}
	ws_json_array_end(j);
}

static void put_headline(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_array_begin(key(j, "headline"));
	for (size_t i = 0; i < page->nheadline; i++)
		ws_html_put_line(j, &page->headline[i]);
	ws_json_array_end(j);
	ws_html_put_line(key(j, "first"), &page->first);
	ws_json_array_begin(key(j, "figures"));
	for (size_t i = 0; i < page->nfigures; i++) {
		ws_json_array_begin(j);
		ws_json_str(j, page->figure[i].value);
		ws_json_str(j, page->figure[i].label);
		ws_json_array_end(j);
	}
	ws_json_array_end(j);
}

static void put_bar(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_object_begin(key(j, "bar"));
	ws_json_str(key(j, "title"), page->bar_title);
	ws_json_i64(key(j, "whole"), page->whole_ns);
	ws_json_f64(key(j, "step"), page->step_ns);
	ws_json_array_begin(key(j, "segments"));
	for (size_t i = 0; i < page->nsegments; i++) {
		const struct ws_page_segment *s = &page->segment[i];

		ws_json_object_begin(j);
		ws_json_str(key(j, "name"), s->name);
		ws_json_i64(key(j, "ns"), s->ns);
		ws_json_f64(key(j, "percent"), s->percent);
		ws_json_bool(key(j, "idle"), s->is_idle);
		ws_json_i64(key(j, "colour"), s->colour);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	ws_json_object_end(j);
}

static void put_node(struct ws_json_writer *j, const struct ws_page_node *n)
{
	ws_json_object_begin(j);
	ws_json_i64(key(j, "parent"), n->parent == WS_PAGE_ROOT ? -1 : (int64_t)n->parent);
	ws_json_str(key(j, "label"), n->label);
	ws_json_str(key(j, "path"), n->path);
	ws_json_u64(key(j, "folded"), n->folded);
	ws_json_i64(key(j, "inclusive"), n->inclusive_ns);
	ws_json_i64(key(j, "exclusive"), n->exclusive_ns);
	ws_json_u64(key(j, "calls"), n->calls);
	ws_json_u64(key(j, "kernels"), n->kernels);
	ws_json_i64(key(j, "flops"), n->flops);
	ws_json_i64(key(j, "colour"), n->colour);
	ws_json_bool(key(j, "range"), n->is_range);
	if (n->counterpart != WS_PAGE_ROOT)
		ws_json_u64(key(j, "other"), n->counterpart);
	ws_json_object_end(j);
}

void ws_html_put_tree(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_object_begin(key(j, "tree"));
	ws_json_str(key(j, "title"), page->tree_title);
	ws_json_str(key(j, "what"), page->tree_what);
	ws_json_i64(key(j, "total"), page->gpu_ns);
	ws_json_f64(key(j, "per"), page->samples);
	ws_json_array_begin(key(j, "nodes"));
	for (size_t i = 0; i < page->nnodes; i++)
		put_node(j, &page->node[i]);
	ws_json_array_end(j);
	ws_json_object_end(j);
}

static void put_point(struct ws_json_writer *j, const struct ws_page_point *p)
{
	ws_json_object_begin(j);
	ws_json_str(key(j, "name"), p->name);
	ws_json_str(key(j, "dtype"), p->dtype);
	ws_json_f64(key(j, "intensity"), p->intensity);
	ws_json_f64(key(j, "rate"), p->flops_per_s);
	ws_json_i64(key(j, "ns"), p->gpu_ns);
	ws_json_f64(key(j, "percent"), p->percent);
	ws_json_f64(key(j, "attained"), p->attained);
	ws_json_bool(key(j, "labelled"), p->is_labelled);
	ws_json_i64(key(j, "colour"), p->colour);
	ws_json_object_end(j);
}

static void put_roofline(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_object_begin(key(j, "roofline"));
	ws_json_array_begin(key(j, "points"));
	for (size_t i = 0; i < page->npoints; i++)
		put_point(j, &page->point[i]);
	ws_json_array_end(j);
	ws_json_array_begin(key(j, "roofs"));
	for (size_t i = 0; i < page->nroofs; i++) {
		ws_json_object_begin(j);
		ws_json_str(key(j, "name"), page->roof[i].name);
		ws_json_f64(key(j, "flops"), page->roof[i].flops_per_s);
		ws_json_f64(key(j, "bytes"), page->roof[i].bytes_per_s);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	ws_json_object_end(j);
}

static void put_findings(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_object_begin(key(j, "findings"));
	ws_json_str(key(j, "note"), page->findings_note);
	ws_json_str(key(j, "each"), page->has_steps ? "a step" : "the run");
	ws_json_array_begin(key(j, "list"));
	for (size_t i = 0; i < page->nfindings; i++) {
		const struct ws_page_finding *f = &page->finding[i];

		ws_json_object_begin(j);
		ws_json_str(key(j, "title"), f->title);
		ws_json_str(key(j, "advice"), f->advice);
		ws_json_str(key(j, "evidence"), f->evidence);
		ws_json_f64(key(j, "gain"), f->gain_ns);
		ws_json_str(key(j, "saves"), f->gain);
		ws_json_f64(key(j, "percent"), f->gain_percent);
		ws_json_u64(key(j, "more"), f->nsimilar);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	ws_json_object_end(j);
}

static void put_kernel(struct ws_json_writer *j, const struct ws_page_kernel *k)
{
	ws_json_object_begin(j);
	ws_json_str(key(j, "name"), k->name);
	ws_json_str(key(j, "full"), k->full_name);
	ws_json_str(key(j, "class"), k->class);
	ws_json_i64(key(j, "colour"), k->colour);
	ws_json_u64(key(j, "calls"), k->calls);
	ws_json_i64(key(j, "ns"), k->ns);
	ws_json_f64(key(j, "percent"), k->percent);
	ws_json_f64(key(j, "mean"), k->mean_ns);
	ws_json_f64(key(j, "rate"), k->flops_per_s);
	ws_json_f64(key(j, "attained"), k->attained);
	ws_json_object_end(j);
}

static void put_kernels(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_object_begin(key(j, "kernels"));
	ws_json_str(key(j, "noun"), page->has_operations ? "Operation" : "Kernel");
	ws_json_u64(key(j, "more"), page->more_kernels);
	ws_json_str(key(j, "each"), page->has_steps ? " per step" : "");
	ws_json_f64(key(j, "samples"), page->samples);
	ws_json_f64(key(j, "unit"), page->rate_unit);
	ws_json_str(key(j, "rates"), page->rate_name);
	ws_json_array_begin(key(j, "list"));
	for (size_t i = 0; i < page->nkernels; i++)
		put_kernel(j, &page->kernel[i]);
	ws_json_array_end(j);
	ws_json_object_end(j);
}

void ws_html_put_page(struct ws_json_writer *j, const struct ws_page *page)
{
	if (!page || page->is_comparison) {
		ws_json_null(j);
		return;
	}
	ws_json_object_begin(j);
	ws_json_str(key(j, "work"), ws_page_work(page));
	put_headline(j, page);
	put_bar(j, page);
	ws_html_put_tree(j, page);
	put_roofline(j, page);
	put_findings(j, page);
	put_kernels(j, page);
	ws_html_put_timeline(ws_json_key(j, "timeline"), page->timeline);
	ws_json_object_end(j);
}
