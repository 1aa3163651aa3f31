/* The table `ranges` with the rows together that differ in the number of a layer only. */
#include <string.h>

#include "formats/base/strtab.h"
#include "report/names/names.h"
#include "report/tables/tables.h"

struct rollup {
	const struct ws_table *all; /* `ranges` */
	struct ws_strtab known; /* what a row is, numbers taken out -> place in `first`, from 1 */
	size_t *first, *paths;  /* by row of the result: its first row of `all`, how many it has */
	size_t *row;            /* row of `all` -> row of the result */
	size_t n;
};

static const struct ws_cell *row_of_all(const struct rollup *r, size_t i)
{
	return ws_table_cells(r->all, i);
}

/* Path without numbers, domain and style, a NUL behind each: *len bytes. Returns those of the path.
 */
static size_t make_key(const struct ws_cell *cells, char *key, size_t *len)
{
	struct ws_bytes path = {cells[WS_TC_ranges_path].text.ptr,
	                        cells[WS_TC_ranges_path].text.len};
	size_t path_len = ws_name_roll_up(path, key), n = path_len;

	key[n++] = '\0';
	for (int c = WS_TC_ranges_domain; c <= WS_TC_ranges_style; c++) {
		const struct ws_cell_text text = ws_cell_text(&cells[c]);

		memcpy(key + n, text.ptr, text.len);
		n += text.len;
		key[n++] = '\0';
	}
	*len = n;
	return path_len;
}

static size_t longest_key(const struct ws_table *all)
{
	size_t longest = 0;

	for (size_t i = 0; i < all->nrows; i++) {
		const struct ws_cell *cells = ws_table_cells(all, i);
		size_t len = 0;

		for (int c = WS_TC_ranges_path; c <= WS_TC_ranges_style; c++)
			len += ws_cell_text(&cells[c]).len + 1;
		longest = len > longest ? len : longest;
	}
	return longest;
}

static void find_rows(struct rollup *r, char *key)
{
	for (size_t i = 0; i < r->all->nrows; i++) {
		size_t len;
		uint64_t id;

		make_key(row_of_all(r, i), key, &len);
		id = ws_strtab_add(&r->known, key, len);
		if (id > r->n)
			r->first[r->n++] = i;
		r->row[i] = (size_t)id - 1;
		r->paths[r->row[i]]++;
	}
}

static void name_rows(const struct rollup *r, struct ws_table *t, char *key)
{
	for (size_t g = 0; g < r->n; g++) {
		const struct ws_cell *from = row_of_all(r, r->first[g]);
		struct ws_cell *to = ws_table_row(t);
		size_t len;

		for (int c = WS_TC_ranges_path; c <= WS_TC_ranges_style; c++)
			if (from[c].type == WS_CELL_TEXT)
				ws_cell_set_text(t, &to[c], from[c].text.ptr, from[c].text.len);
		if (r->paths[g] > 1) /* a number that no other path differs in stays */
			ws_cell_set_text(t, &to[WS_TC_ranges_rollup_path], key,
			                 make_key(from, key, &len));
		ws_cell_set_int(&to[WS_TC_ranges_rollup_paths], (int64_t)r->paths[g]);
	}
}
_Static_assert((int)WS_TC_ranges_rollup_path == (int)WS_TC_ranges_path &&
                       (int)WS_TC_ranges_rollup_style == (int)WS_TC_ranges_style,
               "order of columns");

static void add_up(const struct rollup *r, struct ws_table *t, int64_t gpu_ns)
{
	static const int sums[][2] = {
	        {WS_TC_ranges_rollup_instances, WS_TC_ranges_instances},
	        {WS_TC_ranges_rollup_range_ns, WS_TC_ranges_range_ns},
	        {WS_TC_ranges_rollup_inclusive_ns, WS_TC_ranges_inclusive_ns},
	        {WS_TC_ranges_rollup_exclusive_ns, WS_TC_ranges_exclusive_ns},
	        {WS_TC_ranges_rollup_ops_inclusive, WS_TC_ranges_ops_inclusive},
	};

	for (size_t i = 0; i < r->all->nrows; i++) {
		struct ws_cell *to = &t->cells[r->row[i] * t->def->ncolumns];
		const struct ws_cell *cells = row_of_all(r, i);

		for (size_t s = 0; s < sizeof(sums) / sizeof(*sums); s++) {
			const struct ws_cell *from = &cells[sums[s][1]];
			struct ws_cell *sum = &to[sums[s][0]];

			if (from->type == WS_CELL_INT)
				ws_cell_set_int(sum,
				                from->i + (sum->type == WS_CELL_INT ? sum->i : 0));
		}
		if (to[WS_TC_ranges_rollup_inclusive_ns].type == WS_CELL_INT)
			ws_cell_set_share(&to[WS_TC_ranges_rollup_share],
			                  to[WS_TC_ranges_rollup_inclusive_ns].i, gpu_ns);
	}
	if (r->all->totals)
		ws_table_totals(t)[WS_TC_ranges_rollup_exclusive_ns] =
		        r->all->totals[WS_TC_ranges_exclusive_ns];
}

static void roll_up(struct rollup *r, const struct ws_table_context *tab, struct ws_table *t)
{
	size_t n = r->all->nrows;
	char *key = ws_arena_alloc(tab->temp, longest_key(r->all) + 1);

	WS_NEW(tab->temp, r->first, n);
	WS_NEW(tab->temp, r->paths, n);
	WS_NEW(tab->temp, r->row, n);
	find_rows(r, key);
	name_rows(r, t, key);
	add_up(r, t, tab->sel->gpu_ns);
}

void ws_tab_ranges_rollup(const struct ws_table_context *tab, struct ws_table *t)
{
	struct ws_table *all = ws_table_new(&ws_def_ranges);
	struct rollup r = {.all = all};

	ws_tab_ranges(tab, all);
	ws_name_modules(tab->m, t, "Modules", "Modules");
	roll_up(&r, tab, t);
	if (all->not_recorded)
		ws_table_set_not_recorded(t, "%s", all->not_recorded);
	for (size_t i = 0; i < all->nnotes && t->nrows; i++)
		ws_table_note(t, "%s", all->notes[i]);
	ws_strtab_free(&r.known);
	ws_table_free(all);
}
