/* What a trace says that cannot be true: the table `soundness`. */
#include "report/tables/tables.h"

void ws_tab_soundness(const struct ws_table_context *tab, struct ws_table *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_soundness *s = &m->soundness;

	for (int law = 0; law < WS_LAWS; law++) {
		const struct ws_broken_law *b = &s->broken[law];
		struct ws_cell *row;

		if (!ws_broken_count(b))
			continue;
		row = ws_table_row(t);
		ws_cell_set_str(t, &row[WS_TC_soundness_law], ws_law_defs[law].law);
		ws_cell_set_str(t, &row[WS_TC_soundness_what],
		                ws_broken_what(tab->temp, s, (enum ws_law)law));
		ws_cell_set_int(&row[WS_TC_soundness_count], (int64_t)ws_broken_count(b));
		if (b->judged)
			ws_cell_set_int(&row[WS_TC_soundness_judged], (int64_t)b->judged);
		if (b->most_ns)
			ws_cell_set_int(&row[WS_TC_soundness_most_ns], b->most_ns);
		ws_cell_set_int(&row[WS_TC_soundness_first_ns], b->first_ns - m->begin_ns);
		if (b->first)
			ws_cell_set_text(t, &row[WS_TC_soundness_first_name],
			                 m->texts[b->first].ptr, m->texts[b->first].len);
		ws_cell_set_str(t, &row[WS_TC_soundness_use], ws_law_defs[law].use);
	}
	if (ws_is_sound(s))
		ws_table_note(t, "Nothing in the trace contradicts itself.");
	if (s->captured)
		ws_table_note(t,
		              "%s launches were captured into a graph: that they have no work of "
		              "their own breaks no law.",
		              ws_say_number(tab->temp, (double)s->captured));
	ws_table_note(t, "This is of the whole trace, whatever the filter.");
}
