/* The first screen of a comparison, or of ranks, as the script of the page reads it. */
#include "report/writers/html/private.h"

static void put_pair(struct ws_json_writer *j, const char *name, const double pair[2])
{
	ws_json_array_begin(key(j, name));
	ws_json_f64(j, pair[0]);
	ws_json_f64(j, pair[1]);
	ws_json_array_end(j);
}

static void put_sentences(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_array_begin(key(j, "answers"));
	for (size_t i = 0; i < page->nheadline; i++) {
		ws_json_object_begin(j);
		ws_html_put_line(key(j, "line"), &page->headline[i]);
		ws_json_str(key(j, "grade"), page->headline[i].grade);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
	ws_json_str(key(j, "note"), page->note);
}

static void put_bars(struct ws_json_writer *j, const struct ws_page *page)
{
	ws_json_array_begin(key(j, "bars"));
	for (size_t i = 0; i < page->nchange_bars; i++) {
		const struct ws_change_bar *bar = &page->change_bar[i];

		ws_json_object_begin(j);
		ws_json_str(key(j, "name"), bar->name);
		ws_json_f64(key(j, "from"), bar->from_ns);
		ws_json_f64(key(j, "to"), bar->to_ns);
		ws_json_bool(key(j, "total"), bar->is_whole);
		ws_json_object_end(j);
	}
	ws_json_array_end(j);
}

static void put_change(struct ws_json_writer *j, const struct ws_change *c)
{
	ws_json_object_begin(j);
	ws_json_str(key(j, "name"), c->name);
	ws_json_str(key(j, "shape"), c->shape);
	ws_json_str(key(j, "class"), c->class);
	ws_json_i64(key(j, "colour"), c->colour);
	ws_json_str(key(j, "grade"), c->grade);
	put_pair(j, "calls", c->calls);
	put_pair(j, "ns", c->ns);
	ws_json_f64(key(j, "ratio"), c->ratio);
	ws_json_f64(key(j, "low"), c->low);
	ws_json_f64(key(j, "high"), c->high);
	ws_json_object_end(j);
}

static void put_side(struct ws_json_writer *j, const struct ws_page *page, const char *name)
{
	ws_json_object_begin(j);
	ws_json_str(key(j, "name"), name);
	ws_json_str(key(j, "work"), ws_page_work(page));
	ws_html_put_tree(j, page);
	ws_html_put_timeline(key(j, "timeline"), page->timeline);
	ws_json_object_end(j);
}

void ws_html_put_answers(struct ws_json_writer *j, const struct ws_page *page)
{
	if (!page || !page->is_comparison) {
		ws_json_null(j);
		return;
	}
	ws_json_object_begin(j);
	put_sentences(j, page);
	put_bars(j, page);
	ws_json_array_begin(key(j, "changes"));
	for (size_t i = 0; i < page->nchanges; i++)
		put_change(j, &page->change[i]);
	ws_json_array_end(j);
	ws_json_array_begin(key(j, "sides"));
	for (int s = 0; s < 2 && page->side[0] && page->side[1]; s++)
		put_side(j, page->side[s], page->side_name[s]);
	ws_json_array_end(j);
	ws_json_object_end(j);
}
