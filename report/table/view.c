#include "report/table/table.h"

#include <ctype.h>

/* Parents come before their children, and the path is the name, or the way to it. */
static bool is_tree(const struct ws_table *t)
{
	return (!strncmp(t->def->name, "ranges", 6) || !strcmp(t->def->name, "diff-ranges") ||
	        !strcmp(t->def->name, "range-kernels")) &&
	       !t->is_chosen && !t->is_sorted && ws_table_column_index(t->def, "path") >= 0;
}

/* --- columns ----------------------------------------------------------------------------- */

/* Does a column that is shown before it say the same? */
static bool is_double(const struct ws_view *v, size_t rows, size_t column)
{
	const struct ws_table_column *def = v->t->def->columns;

	for (size_t i = 0; i < v->n; i++) {
		const size_t other = v->column[i].index;
		bool is_same = def[other].type == def[column].type &&
		               !strcmp(def[other].unit, def[column].unit) &&
		               (*def[column].unit || def[other].display == def[column].display);

		for (size_t row = 0; row < rows && is_same; row++) {
			const struct ws_cell *cells = ws_table_cells(v->t, row);

			is_same = ws_cell_same(&cells[other], &cells[column]);
		}
		if (is_same)
			return true;
	}
	return false;
}

static bool is_class(const struct ws_table_column *def)
{
	static const char *const ids[] = {"class", "op_class", "class_by_name", "class_by_range"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (def->type == WS_CELL_TEXT && !strcmp(def->id, ids[i]))
			return true;
	return false;
}

/* A column with the same value in all of several rows is left out. */
static bool is_redundant(struct ws_arena *arena, struct ws_view *v,
                         const struct ws_column_profile *p, size_t rows, size_t column)
{
	const struct ws_table_column *def = &v->t->def->columns[column];
	const bool is_detail = def->rank >= WS_RANK_DETAIL;
	const bool is_id = def->type == WS_CELL_TEXT || def->display == WS_DISPLAY_PLAIN;

	if (def->rank == WS_RANK_NAME || v->t->is_chosen || !rows ||
	    (!strcmp(def->id, "path") && is_tree(v->t)))
		return false;
	if (p[column].nempty == rows) {
		/* who asked for a column is told that it is empty */
		if (!strcmp(v->t->def->name, "query"))
			v->constants = ws_arena_format(arena, "%s%s%s empty",
			                               v->constants ? v->constants : "",
			                               v->constants ? "; " : "", def->title);
		return !v->t->totals || v->t->totals[column].type == WS_CELL_EMPTY;
	}
	if (rows < 2)
		return false;
	if (p[column].is_constant && (is_id || is_detail)) {
		if (is_id) {
			const struct ws_cell *cell = &ws_table_cells(v->t, 0)[column];
			const char *title = v->t->def->columns[column].title;
			const char *gap = v->constants ? "; " : "";
			struct ws_bytes text = {cell->text.ptr,
			                        cell->type == WS_CELL_TEXT ? cell->text.len : 0};

			if (is_class(def))
				text = ws_display_class(text);
			if (text.len && ((const char *)text.ptr)[text.len - 1] == '.')
				text.len--; /* those who show it end the sentence */
			if (cell->type == WS_CELL_TEXT)
				v->constants = ws_arena_format(arena, "%s%s%s %.*s",
				                               v->constants ? v->constants : "",
				                               gap, title, WS_SHOWN(text));
			else
				v->constants = ws_arena_format(arena, "%s%s%s %lld",
				                               v->constants ? v->constants : "",
				                               gap, title, (long long)cell->i);
		}
		return true;
	}
	return is_detail && is_double(v, rows, column);
}

static void add_column(struct ws_view *v, size_t index, enum ws_column_rank rank, size_t rows)
{
	struct ws_view_column *c = &v->column[v->n++];

	*c = (struct ws_view_column){.index = index, .rank = rank};
	c->is_class = is_class(&v->t->def->columns[index]);
	c->is_size = !strcmp(v->t->def->columns[index].id, "grid") ||
	             !strcmp(v->t->def->columns[index].id, "block");
	ws_display_column_of(v->t, index, rows, &c->shown);
	v->nkeys += rank <= WS_RANK_KEY;
	v->nanswers += rank <= WS_RANK_ANSWER;
}

static size_t depth_of(const struct ws_cell *path)
{
	size_t depth = 0;

	if (path->type != WS_CELL_TEXT)
		return 0;
	for (size_t i = 1; i < path->text.len; i++)
		depth += path->text.ptr[i] == '/' && path->text.ptr[i - 1] != '\\';
	return depth;
}

/* The first time among the details where those among the answers are all empty; else no column. */
static size_t find_time(const struct ws_table_def *def, const struct ws_column_profile *p,
                        size_t rows)
{
	size_t found = def->ncolumns;
	bool has_answers = false;

	for (size_t c = def->ncolumns; c-- > 0;) {
		const enum ws_column_rank rank = def->columns[c].rank;

		if (strcmp(def->columns[c].unit, "ns") != 0 || rank > WS_RANK_DETAIL)
			continue;
		if (rank == WS_RANK_DETAIL)
			found = p[c].nempty < rows ? c : found;
		else if (p[c].nempty < rows)
			return def->ncolumns;
		has_answers |= rank == WS_RANK_ANSWER;
	}
	return has_answers ? found : def->ncolumns;
}

void ws_view_make(struct ws_arena *arena, const struct ws_table *t, size_t rows,
                  struct ws_view *out)
{
	const struct ws_table_def *def = t->def;
	const struct ws_column_profile *p = ws_table_profile(t, rows);
	const size_t time = find_time(def, p, rows);

	*out = (struct ws_view){.t = t};
	WS_NEW(arena, out->column, def->ncolumns + 1);
	for (int rank = WS_RANK_NAME; rank <= WS_RANK_FULL; rank++)
		for (size_t c = 0; c < def->ncolumns; c++) {
			/* the user's order of chosen ones */
			const enum ws_column_rank own =
			        t->is_chosen || c == time ? WS_RANK_ANSWER : def->columns[c].rank;

			if ((int)own == rank && !is_redundant(arena, out, p, rows, c))
				add_column(out, c, own, rows);
		}
	if (is_tree(t)) {
		const size_t path = (size_t)ws_table_column_index(def, "path");
		const bool is_module = !strncmp(def->title, "Module", 6);
		struct ws_view_column *name = &out->column[0];

		if (name->index != path) { /* the name stands inside the last part of its path */
			out->leaf = name->index + 1;
			out->n--;
			out->nkeys--;
			out->nanswers--;
			memmove(name, name + 1, out->n * sizeof(*name));
		}
		out->least_depth = rows ? SIZE_MAX : 0;
		for (size_t row = 0; row < rows; row++) {
			const size_t depth = depth_of(&ws_table_cells(t, row)[path]);

			out->least_depth = depth < out->least_depth ? depth : out->least_depth;
		}
		/* The path at length is the last detail; what stands first is its last part. */
		add_column(out, path, WS_RANK_FULL, rows);
		name->is_tree = true;
		snprintf(name->shown.title, sizeof(name->shown.title),
		         out->leaf   ? "Range, Kernel"
		         : is_module ? "Module"
		                     : "Range");
	}
}

void ws_view_join_spreads(struct ws_view *v)
{
	for (size_t i = 0; i < v->n && !v->t->is_chosen; i++) {
		/* the column of the deviation of a mean: "forward_std_ns_0" of "forward_ns_0" */
		const char *id = v->t->def->columns[v->column[i].index].id,
		           *unit = strstr(id, "_ns");
		char name[128];

		if (!unit || strncmp(v->t->def->name, "sweep", 5) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s_std%s", (int)(unit - id), id, unit);
		const int spread = ws_table_column_index(v->t->def, name);

		for (size_t k = 0; spread >= 0 && k < v->n; k++)
			if (v->column[k].index == (size_t)spread) {
				v->column[i].spread = (size_t)spread + 1;
				v->nanswers -= k < v->nanswers;
				memmove(&v->column[k], &v->column[k + 1],
				        (--v->n - k) * sizeof(*v->column));
				i -= k < i;
				break;
			}
	}
}

const struct ws_cell *ws_view_cell(const struct ws_view_column *c, const struct ws_cell *cells,
                                   struct ws_cell *own, char text[WS_VIEW_SIZE])
{
	const struct ws_cell *cell = &cells[c->index];
	unsigned long long n[3];
	char digits[WS_VIEW_SIZE];

	if (c->spread && cell->type != WS_CELL_EMPTY &&
	    cells[c->spread - 1].type != WS_CELL_EMPTY) {
		char mean[WS_DISPLAY_NUMBER_MAX], spread[WS_DISPLAY_NUMBER_MAX];

		ws_display_number(&c->shown, cell, mean);
		ws_display_number(&c->shown, &cells[c->spread - 1], spread);
		snprintf(text, WS_VIEW_SIZE, "%s ± %s", mean, spread);
		ws_cell_share_str(own, text);
		return own;
	}
	if (c->is_class && cell->type == WS_CELL_TEXT) {
		const struct ws_bytes name =
		        ws_display_class((struct ws_bytes){cell->text.ptr, cell->text.len});

		*own = *cell;
		own->text.ptr = name.ptr;
		own->text.len = name.len;
		return own;
	}
	if (!c->is_size || cell->type != WS_CELL_TEXT || cell->text.len >= sizeof(digits))
		return cell;
	snprintf(digits, sizeof(digits), "%.*s", (int)cell->text.len, cell->text.ptr);
	if (sscanf(digits, "%llu %llu %llu", &n[0], &n[1], &n[2]) != 3)
		return cell;
	snprintf(text, WS_VIEW_SIZE, "%llu×%llu×%llu", n[0], n[1], n[2]);
	ws_cell_share_str(own, text);
	return own;
}

/* --- trees -------------------------------------------------------------------------------- */

/* "EncoderLayer_*" is "EncoderLayer"; that of a module alone, "Encoder_0", "Encoder". */
static size_t stem_of(const char *text, size_t len, bool is_module)
{
	size_t n = len;

	if (n && text[n - 1] == '*')
		n--;
	else if (is_module)
		while (n && isdigit((unsigned char)text[n - 1]))
			n--;
	if (n == len)
		return len;
	while (n && text[n - 1] && strchr(text[len - 1] == '*' ? "_ .#:-" : "_", text[n - 1]))
		n--;
	return n && (n < len - 1 || text[len - 1] == '*') ? n : len;
}

size_t ws_view_label(const struct ws_view *v, const struct ws_cell *cells, char out[WS_VIEW_LABEL],
                     unsigned *depth)
{
	const struct ws_cell *path = &cells[v->column[0].index];
	const int paths = ws_table_column_index(v->t->def, "paths");
	const int64_t folded = paths >= 0 && cells[paths].type == WS_CELL_INT ? cells[paths].i : 1;
	const bool is_module = paths >= 0 && !strncmp(v->t->def->title, "Module", 6);
	const struct ws_cell *leaf = v->leaf ? &cells[v->leaf - 1] : NULL, *last = path;
	size_t begin = 0, len, n = 0;

	*depth = 0;
	out[0] = '\0';
	if (path->type != WS_CELL_TEXT)
		return 0;
	for (size_t i = 1; i < path->text.len; i++)
		if (path->text.ptr[i] == '/' && path->text.ptr[i - 1] != '\\')
			begin = i + 1;
	/* totals, and rows behind those that the view was made of, may lie higher */
	*depth = depth_of(path) > v->least_depth ? (unsigned)(depth_of(path) - v->least_depth) : 0;
	if (leaf && leaf->type == WS_CELL_TEXT) {
		begin = 0;
		last = leaf;
		++*depth;
	}
	len = last->text.len - begin;
	if (paths >= 0)
		len = stem_of(last->text.ptr + begin, len, is_module);
	for (size_t i = 0; i < len && n < WS_VIEW_LABEL - 32; i++)
		if (last->text.ptr[begin + i] != '\\' || i + 1 == len)
			out[n++] = last->text.ptr[begin + i];
	while (n && ((unsigned char)out[n - 1] & 0xc0) == 0x80 && n == WS_VIEW_LABEL - 32)
		n--; /* not within a character */
	out[n] = '\0';
	if (folded > 1)
		n += (size_t)snprintf(out + n, WS_VIEW_LABEL - n, " ×%lld", (long long)folded);
	return n;
}

static size_t width_of(const struct ws_view *v, const struct ws_view_column *c,
                       const struct ws_cell *cells)
{
	char label[WS_VIEW_LABEL];
	struct ws_cell own;
	unsigned depth;

	if (!c->is_tree)
		return ws_display_cell_width(&c->shown, ws_view_cell(c, cells, &own, label));
	size_t len = ws_view_label(v, cells, label, &depth);
	return 2 * (size_t)depth + ws_display_width(label, len);
}

size_t ws_view_widest(const struct ws_view *v, const struct ws_view_column *c, size_t rows)
{
	size_t widest = v->t->totals ? width_of(v, c, v->t->totals) : 0;

	for (size_t row = 0; row < rows; row++) {
		const size_t width = width_of(v, c, ws_table_cells(v->t, row));

		widest = width > widest ? width : widest;
	}
	return widest;
}
