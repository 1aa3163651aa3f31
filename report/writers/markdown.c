/* GitHub's Markdown: pipe tables with the numbers of the text writer. */
#include <ctype.h>
#include "report/base/ui.h"
#include "report/writers/comment.h"

struct markdown {
	FILE *f;
	bool in_table; /* a pipe ends a cell, even in code */
	char *shown;   /* buffer for a displayed text */
	size_t capacity;
};

/*
 * Finds words that Markdown, HTML or GitHub would interpret. For GitHub a backslash does not help:
 * mentions (@), references (#1, GH-1, a commit's hash), links (://, www.), formulas ($) and emojis
 * (:x:). In code nothing is interpreted.
 */

static bool is_mark_plain(const char *word, size_t len, size_t i)
{
	const char before = i ? word[i - 1] : 0, after = i + 1 < len ? word[i + 1] : 0;

	switch (word[i]) {
	case ':':
		return !after;
	case '_':
		return isalnum((unsigned char)before) && isalnum((unsigned char)after);
	case '-':
		return !isalpha((unsigned char)before) || !isdigit((unsigned char)after);
	case '.':
		return i < 3 || strncasecmp(word + i - 3, "www", 3) != 0;
	default:
		return strchr("'\"()%+=,;!?/", word[i]) != NULL;
	}
}

/* Is the word never interpreted? */
static bool is_plain(const char *word, size_t len)
{
	size_t letters = 0,
	       hex = 0; /* before i: letters and digits, and those of numbers in base 16 */

	for (size_t i = 0; i <= len; i++) {
		if (i < len && isalnum((unsigned char)word[i])) {
			letters++;
			hex += isxdigit((unsigned char)word[i]) != 0;
			continue;
		}
		if (letters >= 7 && hex == letters) /* GitHub may take it for a commit */
			return false;
		letters = hex = 0;
		if (i < len && !(word[i] & 0x80) && !is_mark_plain(word, len, i))
			return false;
	}
	return true;
}

/* Writes code between more backticks than the text has in a row. */
static void put_code(const struct markdown *m, const char *text, size_t len)
{
	size_t fence = 1, run = 0;
	const char *pad =
	        *text == '`' || text[len - 1] == '`' || (*text == ' ' && text[len - 1] == ' ') ? " "
	                                                                                       : "";

	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		fence = run >= fence ? run + 1 : fence;
	}
	for (size_t i = 0; i < fence; i++)
		fputc('`', m->f);
	fputs(pad, m->f);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '|' && m->in_table)
			fputc('\\', m->f);
		fputc(text[i], m->f);
	}
	fputs(pad, m->f);
	for (size_t i = 0; i < fence; i++)
		fputc('`', m->f);
}

/* Converts a text for display into m->shown, NUL-terminated; returns its length. */
static size_t show(struct markdown *m, const char *text, size_t len)
{
	struct ws_glyph glyph;
	size_t n = 0;

	for (size_t pos = 0; pos < len; n += glyph.len) {
		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		WS_GROW(m->shown, n + glyph.len + 1, m->capacity);
		memcpy(m->shown + n, glyph.bytes, glyph.len);
	}
	WS_GROW(m->shown, n + 1, m->capacity);
	m->shown[n] = '\0';
	return n;
}

/* State of writing a sentence. */
struct sentence {
	const struct markdown *m;
	size_t written;   /* bytes of m->shown */
	size_t code, end; /* range of words that become code together; empty if equal */
};

/* Writes everything before a byte. */
static void write_to(struct sentence *s, size_t to)
{
	if (s->code < s->end) {
		const char *name = s->m->shown + s->code;
		size_t len = s->end - s->code;

		/* without punctuation of the sentence */
		while (len > 1 && (strchr(".,;", name[len - 1]) ||
		                   (name[len - 1] == ')' && !memchr(name, '(', len))))
			len--;
		s->end = s->code + len;
		fwrite(s->m->shown + s->written, 1, s->code - s->written, s->m->f);
		put_code(s->m, s->m->shown + s->code, s->end - s->code);
		s->written = s->end;
	}
	s->code = s->end = to;
	fwrite(s->m->shown + s->written, 1, to - s->written, s->m->f);
	s->written = to;
}

/* Writes our own code words, such as "(see `x y`)."; returns their end, or `begin` if there are
 * none. */
static size_t put_own_code(struct sentence *s, size_t begin)
{
	const char *text = s->m->shown, *code = text + begin + strspn(text + begin, "('\""), *end;

	end = *code == '`' ? strchr(code + 1, '`') : NULL;
	if (!end || end == code + 1)
		return begin;
	size_t behind = strspn(end + 1, ".,;:)!?'\"");
	if (end[1 + behind] && end[1 + behind] != ' ')
		return begin;
	write_to(s, (size_t)(code - text));
	put_code(s->m, code + 1, (size_t)(end - code) - 1);
	s->written = (size_t)(end - text) + 1;
	write_to(s, s->written + behind);
	return s->written;
}

/* Writes a text that may contain names: words that are not plain become code, consecutive ones
 * together. */
static void put_text(struct markdown *m, const char *text, size_t text_len)
{
	const size_t n = show(m, text, text_len);
	struct sentence s = {m, 0, 0, 0};
	bool is_first = !m->in_table;

	for (size_t at = strspn(m->shown, " "); at < n; at += strspn(m->shown + at, " ")) {
		const char *word = m->shown + at;
		const size_t end = at + strcspn(word, " "), own = put_own_code(&s, at);
		const size_t len = end - at, digits = strspn(word, "0123456789");
		/* "-" or "1." at the begin of a line would make it a list item */
		const bool is_item =
		        is_first && (strspn(word, "-+=") >= len ||
		                     (digits && digits + 1 == len && strchr(".)", word[digits])));

		if (own > at) {
			at = own;
		} else if (is_plain(word, len) && !is_item) {
			write_to(&s, end);
			at = end;
		} else {
			s.code = s.code < s.end ? s.code : at;
			s.end = at = end;
		}
		is_first = false;
	}
	write_to(&s, n);
}

static void put_str(struct markdown *m, const char *text)
{
	put_text(m, text, strlen(text));
}

/* Writes a name, as code unless each of its words is plain. */
static void put_name(struct markdown *m, const char *text, size_t len)
{
	const size_t n = show(m, text, len);
	bool plain = true;

	for (size_t at = 0, end; at < n && plain; at = end + 1) {
		end = at + strcspn(m->shown + at, " ");
		plain = is_plain(m->shown + at, end - at);
	}
	if (plain)
		fwrite(m->shown, 1, n, m->f);
	else
		put_code(m, m->shown, n);
}

/* "1,200" or "<0.1" */
static void put_number(const struct markdown *m, const char *text, size_t len)
{
	if (*text == '<')
		fputc('\\', m->f);
	fwrite(text, 1, len, m->f);
}

/* The columns of a table, or those used by one section of a page. */
struct pipes {
	const struct ws_table *t;
	const struct ws_page_columns *page; /* NULL: no page */
	size_t begin, end;                  /* rows */
	struct ws_view_column *pipe;
	size_t n;
	struct ws_view view; /* view of a table */
	struct ws_arena arena;
};

static void put_row(struct markdown *m, const struct pipes *s, size_t row,
                    const struct ws_cell *cells)
{
	FILE *f = m->f;
	char number[WS_DISPLAY_NUMBER_MAX], size[WS_VIEW_SIZE];

	fputc('|', f);
	for (size_t i = 0; i < s->n; i++) {
		const struct ws_view_column *p = &s->pipe[i];
		const enum ws_column_rank rank = s->t->def->columns[p->index].rank;
		struct ws_cell own;
		const struct ws_cell *cell = ws_view_cell(p, cells, &own, size);
		const char *strong =
		        cells == s->t->totals && cell->type != WS_CELL_EMPTY ? "**" : "";

		fprintf(f, " %s", strong);
		if (!i && !s->page && cells == s->t->totals && cell->type == WS_CELL_EMPTY)
			fputs("**Total**", f);
		else if (p->is_tree) {
			/* Keeps blanks at the begin of a cell. */
			char label[WS_VIEW_LABEL];
			unsigned depth;
			size_t len = ws_view_label(&s->view, cells, label, &depth);

			for (; depth; depth--)
				fputs("&emsp;", m->f);
			put_name(m, label, len);
		} else if (cell->type == WS_CELL_TEXT && /* other columns have our own texts */
		           (rank == WS_RANK_NAME || rank == WS_RANK_KEY || rank == WS_RANK_FULL))
			put_name(m, cell->text.ptr, cell->text.len);
		else if (cell->type == WS_CELL_TEXT)
			put_text(m, cell->text.ptr, cell->text.len);
		else if (s->page)
			put_number(m, number,
			           ws_display_quantity(s->t, &p->shown, row, p->index, number));
		else
			put_number(m, number, ws_display_number(&p->shown, cell, number));
		fprintf(f, "%s |", strong);
	}
	fputc('\n', f);
}

static void put_rows(struct markdown *m, const struct pipes *s)
{
	m->in_table = true;
	FILE *f = m->f;
	const struct ws_table_column *columns = s->t->def->columns;

	fputc('|', f);
	for (size_t i = 0; i < s->n; i++) {
		const char *title =
		        s->page ? columns[s->pipe[i].index].title : s->pipe[i].shown.title;
		/* "Time" of "Time (ns)": the numbers of a page have their units with them */
		const char *unit = s->page ? strstr(title, " (") : NULL;

		fputc(' ', f);
		put_text(m, title, unit ? (size_t)(unit - title) : strlen(title));
		fputs(" |", f);
	}
	fputs("\n|", f);
	for (size_t i = 0; i < s->n; i++)
		fputs(columns[s->pipe[i].index].type == WS_CELL_TEXT ? "---|" : "---:|", f);
	fputc('\n', f);
	for (size_t row = s->begin; row < s->end; row++)
		put_row(m, s, row, ws_table_cells(s->t, row));
	if (!s->page && s->t->totals)
		put_row(m, s, 0, s->t->totals);
	m->in_table = false;
}

static void add_column(struct pipes *s, size_t column)
{
	struct ws_view_column *p = &s->pipe[s->n++];

	p->index = column;
	ws_display_section_column(s->t, column, s->begin, s->end, &p->shown);
}

/* Has the section a text, or a number, in this column? */
static bool column_has(const struct pipes *s, size_t column, bool text)
{
	for (size_t row = s->begin; row < s->end; row++) {
		enum ws_cell_type type = ws_table_cells(s->t, row)[column].type;

		if (type != WS_CELL_EMPTY && (type == WS_CELL_TEXT) == text)
			return true;
	}
	return false;
}

static void put_table(struct markdown *m, const struct ws_table *t)
{
	struct ws_page_columns page;
	struct pipes s = {.t = t, .page = ws_display_page(t->def, &page) ? &page : NULL};

	s.pipe = ws_xarray(t->def->ncolumns + 2, sizeof(*s.pipe));
	if (s.page) {
		/* Each section under its heading: item, numbers, text. */
		const struct ws_table_def *def = s.t->def;

		for (; s.begin < s.t->nrows; s.begin = s.end) {
			const struct ws_cell *section =
			        &ws_table_cells(s.t, s.begin)[s.page->section];

			fputs(s.begin ? "\n### " : "### ", m->f);
			if (section->type == WS_CELL_TEXT)
				put_text(m, section->text.ptr, section->text.len);
			fputs("\n\n", m->f);
			s.end = ws_display_section_end(s.t, s.page, s.begin);
			s.n = 0;
			add_column(&s, s.page->item);
			for (size_t i = 0; i < def->ncolumns; i++)
				if (def->columns[i].type != WS_CELL_TEXT &&
				    column_has(&s, i, false))
					add_column(&s, i);
			if (column_has(&s, s.page->text, true))
				add_column(&s, s.page->text);
			put_rows(m, &s);
		}
	} else {
		s.end = t->nrows;
		/* Names, keys and answers; details only if the user chose them. */
		ws_view_make(&s.arena, s.t, s.t->nrows, &s.view);
		ws_view_join_spreads(&s.view);
		for (size_t i = 0; i < s.view.nanswers; i++)
			s.pipe[s.n++] = s.view.column[i];
		put_rows(m, &s);
		if (s.view.constants) {
			fputs("\nSame in all rows: ", m->f);
			put_str(m, s.view.constants);
			fputs(".\n", m->f);
		}
	}
	ws_arena_free(&s.arena);
	free(s.pipe);
}

/* --- comments ---------------------------------------------------------------------------- */

const char *ws_comment_sign(enum ws_comment_sign sign)
{
	static const char *const signs[] = {"✅", "⚠️", "❌"};

	return signs[sign];
}

#define CHANGE_TIMES_FROM 3 /* shown as factors; smaller ones in percent */

/* "+60 %", "−2.1 %", "12×" */
static void put_change(FILE *f, double ratio, bool has_unit)
{
	const double percent = 100 * (ratio - 1), size = fabs(percent);

	if (ratio >= CHANGE_TIMES_FROM)
		fprintf(f, "%.*f×", ratio < 9.95, ratio);
	else
		fprintf(f, "%s%.*f%s",
		        size < 0.05   ? "±"
		        : percent < 0 ? "−"
		                      : "+",
		        size >= 0.05 && size < 9.95, size, has_unit ? "\u00a0%" : "");
}

/* "470 → 650 µs", which does not break before its unit. */
static void put_times(FILE *f, const char *times)
{
	static const char arrow[] = "→";

	for (const char *p = times, *end; *p; p = end) {
		end = strchr(p, ' ');
		end = end ? end : p + strlen(p);
		fwrite(p, 1, (size_t)(end - p), f);
		if (*end)
			fputs(!strncmp(end + 1, arrow, strlen(arrow)) ||
			                      !strncmp(p, arrow, strlen(arrow))
			              ? " "
			              : "\u00a0",
			      f);
		end += *end == ' ';
	}
}

#define COMMENT_OPERATIONS 5 /* those with the largest changes */

#define COMMENT_NAME 60 /* maximum bytes of a name on a phone */

static void put_cut_name(struct markdown *m, const char *name)
{
	size_t len = strlen(name);
	const bool is_cut = len > COMMENT_NAME;

	for (len = is_cut ? COMMENT_NAME : len; is_cut && len && (name[len] & 0xc0) == 0x80;)
		len--;
	m->in_table = true;
	put_name(m, name, len);
	fputs(is_cut ? "…" : "", m->f);
	m->in_table = false;
}

static void put_details(struct markdown *m, const struct ws_comment_row *row)
{
	const struct ws_page *page = row->details->page;

	if (!page || !page->nchange_bars)
		return;
	fputs("\n<details><summary>What changed", m->f);
	if (row->name) {
		fputs(" in <code>", m->f);
		fputs(row->name, m->f);
		fputs("</code>", m->f);
	}
	fputs("</summary>\n", m->f);
	struct ws_arena texts = {0};
	double at = 0;

	fputs("\n#### What the time is made of\n\n| part | change | running total "
	      "|\n|---|---:|---:|\n",
	      m->f);
	for (size_t i = 0; i < page->nchange_bars; i++) {
		const struct ws_change_bar *b = &page->change_bar[i];

		at = b->to_ns;
		fputs("| ", m->f);
		put_cut_name(m, b->name);
		fputs(" | ", m->f);
		if (!b->is_whole) {
			fputs(b->to_ns < b->from_ns ? "−" : "+", m->f);
			put_times(m->f, ws_say_time(&texts, fabs(b->to_ns - b->from_ns)));
		}
		fputs(" | ", m->f);
		put_times(m->f, ws_say_time(&texts, at));
		fputs(" |\n", m->f);
	}
	ws_arena_free(&texts);
	if (page->nchanges) {
		fputs("\n#### The operations that changed most\n\n| operation | before → after | "
		      "change |\n"
		      "|---|---|---|\n",
		      m->f);
		for (size_t i = 0; i < page->nchanges && i < COMMENT_OPERATIONS; i++) {
			const struct ws_change *c = &page->change[i];

			fputs("| ", m->f);
			put_cut_name(m, c->name);
			if (*c->shape) {
				fputc(' ', m->f);
				put_cut_name(m, c->shape);
			}
			fputs(" | ", m->f);
			put_times(m->f, ws_say_times(&texts, c->ns[0], "→", c->ns[1]));
			fputs(" | ", m->f);
			put_change(m->f, c->ratio, true);
			fputs(" |\n", m->f);
		}
		ws_arena_free(&texts);
	}
	fputs("\n</details>\n", m->f);
}

static void put_short_name(struct markdown *m, const char *name, size_t begin, size_t end)
{
	put_name(m, name + begin, strlen(name) - begin - end);
}

void ws_comment_put(FILE *f, const char *of, const struct ws_comment_row *rows, size_t n)
{
	struct markdown m = {.f = f};
	const char *first_name = rows[0].name;
	size_t begin, end;

	/* The common prefix and suffix of all names, up to a '-'. */
	begin = end = n > 1 ? strlen(first_name) : 0;
	for (size_t i = 1; i < n; i++) {
		const char *name = rows[i].name;
		size_t same = 0;
		const size_t len = strlen(name), first_len = strlen(first_name);

		while (same < begin && name[same] == first_name[same])
			same++;
		begin = same;
		for (same = 0; same < end && same < len &&
		               name[len - 1 - same] == first_name[first_len - 1 - same];)
			same++;
		end = same;
	}
	while (begin && first_name[begin - 1] != '-')
		begin--;
	while (end && first_name[strlen(first_name) - end] != '-')
		end--;
	for (size_t i = 0; i < n; i++) /* no name may become empty */
		if (begin + end >= strlen(rows[i].name))
			begin = end = 0;
	fprintf(f, "\n| %s | before → after | change (95 %% CI) | result |\n|---|---|---|---|\n",
	        of);
	for (size_t i = 0; i < n; i++) {
		const struct ws_comment_row *r = &rows[i];

		fputs("| ", f);
		m.in_table = true;
		put_short_name(&m, r->name, begin, end);
		if (*r->device) {
			fputs("<br>", f);
			put_name(&m, r->device, strlen(r->device));
		}
		fputs(" | ", f);
		if (r->time) {
			const struct ws_compared_time *t = r->time;
			const bool is_bold =
			        r->sign != WS_COMMENT_UNSURE && (t->low > 1 || t->high < 1);
			struct ws_arena texts = {0};

			put_times(m.f, ws_say_times(&texts, t->ns[0], "→", t->ns[1]));
			fputs(" | ", m.f);
			if (isnan(t->ratio)) {
				fputs("not compared", m.f);
			} else if (fmax(fabs(t->low - 1), fabs(t->high - 1)) < 0.0005) {
				put_change(m.f, t->ratio, true);
			} else {
				fputs(is_bold ? "**" : "", m.f);
				put_change(m.f, t->ratio, true);
				fputs(is_bold ? "** (" : " (", m.f);
				if (isnan(t->low)) {
					fputs("noise unknown", m.f);
				} else {
					put_change(m.f, t->low, t->high >= CHANGE_TIMES_FROM);
					fputs(" to ", m.f);
					put_change(m.f, t->high, true);
				}
				fputc(')', m.f);
			}
			ws_arena_free(&texts);
		} else
			fputs(" | ", f);
		m.in_table = false;
		fprintf(f, " | %s %s |\n", ws_comment_sign(r->sign), r->result);
	}
	/* A line per cause, with the workloads that have it. */
	bool is_first_cause = true;

	for (size_t i = 0; i < n; i++) {
		size_t with = 0, before = 0;

		for (size_t k = 0; rows[i].cause && k < n; k++)
			if (rows[k].cause && !strcmp(rows[k].cause, rows[i].cause)) {
				before += k < i;
				with++;
			}
		if (!with || before)
			continue;
		fputs(is_first_cause ? "\n- " : "- ", m.f);
		is_first_cause = false;
		for (size_t k = i, put = 0; k < n && (with < n || n == 1); k++)
			if (rows[k].cause && !strcmp(rows[k].cause, rows[i].cause)) {
				fputs(put++ ? ", " : "", m.f);
				put_short_name(&m, rows[k].name, begin, end);
			}
		fputs(with < n || n == 1 ? ": " : "all: ", m.f);
		put_str(&m, rows[i].cause);
		fputc('\n', m.f);
	}
	if (begin || end) {
		fprintf(f, "\nAll names %s", begin ? "begin with " : "end with ");
		put_name(&m, begin ? rows[0].name : rows[0].name + strlen(rows[0].name) - end,
		         begin ? begin : end);
		if (begin && end) {
			fputs(" and end with ", f);
			put_name(&m, rows[0].name + strlen(rows[0].name) - end, end);
		}
		fputs(".\n", f);
	}
	for (size_t i = 0; i < n; i++)
		if (rows[i].details)
			put_details(&m, &rows[i]);
	free(m.shown);
}

/* Writes a diff, whose times are the rows. */
static void put_comparison(struct markdown *m, const struct ws_report *report)
{
	const struct ws_page *page = report->page;
	struct ws_comment_row rows[WS_COMPARED_TIMES];

	for (size_t i = 0; i < page->ncompared; i++) {
		const struct ws_compared_time *t = &page->compared[i];
		const bool faster = strstr(t->grade, "FASTER"), slower = strstr(t->grade, "SLOWER");
		const bool likely = strstr(t->grade, "LIKELY ");

		rows[i] = (struct ws_comment_row){
		        .name = t->name,
		        .device = "",
		        .time = t,
		        .sign = slower                                ? WS_COMMENT_BAD
		                : faster || !strcmp(t->grade, "SAME") ? WS_COMMENT_GOOD
		                                                      : WS_COMMENT_UNSURE,
		        .result = slower                      ? likely ? "likely slower" : "slower"
		                  : faster                    ? likely ? "likely faster" : "faster"
		                  : !strcmp(t->grade, "SAME") ? "the same"
		                  : !strcmp(t->grade, "UNLIKE") ? "different work"
		                                                : "cannot tell",
		};
	}
	fprintf(m->f, "%s ", ws_comment_sign(rows[0].sign));
	put_name(m, page->side_name[1], strlen(page->side_name[1]));
	fprintf(m->f, "%s%s\n",
	        rows[0].sign == WS_COMMENT_UNSURE     ? ": "
	        : !strcmp(rows[0].result, "the same") ? " takes "
	                                              : " is ",
	        !strcmp(rows[0].result, "the same") ? "the same time" : rows[0].result);
	ws_comment_put(m->f, "time", rows, page->ncompared);
	for (size_t i = 0; i < page->nheadline; i++) {
		const struct ws_page_line *line = &page->headline[i];

		if (line->is_compared)
			continue;
		fputs("\n", m->f);
		for (size_t k = 0; k < line->nparts; k++) {
			const bool bold = line->part[k].bold;

			fputs(bold ? "**" : "", m->f);
			put_str(m, line->part[k].text);
			fputs(bold ? "**" : "", m->f);
		}
		fputs("\n", m->f);
	}
	put_details(m, &(struct ws_comment_row){.details = report});
	fputs("\n", m->f);
	put_str(m, report->trace);
	fputs("\n", m->f);
}

void ws_out_markdown(FILE *f, const struct ws_report *report)
{
	struct markdown m = {.f = f};

	/* a whole diff is for a pull request */
	if (report->page && report->page->ncompared && report->ntables > 1) {
		put_comparison(&m, report);
		free(m.shown);
		return;
	}
	fputs("# ", f);
	put_str(&m, report->title);
	fputs("\n\nTrace: ", f);
	put_str(&m, report->trace);
	if (report->scope) {
		fputs(" · Scope: ", f);
		put_str(&m, report->scope);
	}
	if (*report->filter) {
		fputs(" · Filter: ", f);
		put_str(&m, report->filter);
	}
	fputc('\n', f);
	for (size_t i = 0; i < report->ntables; i++) {
		const struct ws_table *t = report->tables[i];
		char title[WS_DISPLAY_TITLE];

		fputs("\n## ", f);
		put_str(&m, ws_display_title(t, title));
		fputs("\n\n", f);
		for (size_t k = 0; k < t->nheadline_notes; k++) {
			put_str(&m, t->notes[k]);
			fputs("\n\n", f);
		}
		put_str(&m, t->def->meaning);
		fputs("\n\n", f);
		if (t->not_recorded) {
			fputs("Not recorded: ", f);
			put_str(&m, t->not_recorded);
			fputs(t->nrows ? "\n\n" : "\n", f);
		} else if (!t->nrows) {
			fputs("No rows.\n", f);
		}
		if (t->nrows)
			put_table(&m, t);
		for (size_t k = t->nheadline_notes; k < t->nnotes; k++) {
			fputs(k > t->nheadline_notes ? "- " : "\n- ", f);
			put_str(&m, t->notes[k]);
			fputc('\n', f);
		}
	}
	free(m.shown);
}
