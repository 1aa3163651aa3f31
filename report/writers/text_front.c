/* The first screen of a report in a terminal: what matters most, the step as a bar, where and what.
 */
#include <string.h>

#include "report/front/front.h"
#include "report/base/say.h"
#include "report/writers/text.h"

#define TREE_ROWS    8
#define KERNEL_ROWS  6
#define FINDING_ROWS 5
#define BAR_WIDTH    100 /* where lines have no limit */
#define LEGEND_SHARE 1.0 /* percent: less has no name below the bar */

static void put_text(FILE *f, const char *text)
{
	ws__text_cut(f, text, strlen(text), SIZE_MAX);
}

static void put_styled(FILE *f, const struct ws_text_opts *opts, const char *sgr, const char *text)
{
	ws__text_style(f, opts, sgr);
	put_text(f, text);
	ws__text_style(f, opts, WS_TEXT_PLAIN);
}

/* What counts is bold, where a sentence takes one line. */
static void put_sentence(FILE *f, const struct ws_text_opts *opts, const struct ws_page_line *of)
{
	struct ws_page_line with_grade = *of, *line = &with_grade;
	struct ws_arena arena = {0};
	const char *whole = "";

	if (of->nparts && *of->grade && of->nparts < WS_PAGE_PARTS)
		line->part[line->nparts++] =
		        (struct ws_page_part){ws_arena_format(&arena, " %s", of->grade), false};
	for (size_t i = 0; i < line->nparts; i++)
		whole = ws_arena_format(&arena, "%s%s", whole, line->part[i].text);
	if (opts->width > 0 && ws_display_width(whole, strlen(whole)) > (size_t)opts->width) {
		ws__text_paragraph(f, opts, WS_TEXT_BOLD, 0, whole);
	} else if (line->nparts) {
		for (size_t i = 0; i < line->nparts; i++)
			put_styled(f, opts, line->part[i].bold ? WS_TEXT_BOLD : "",
			           line->part[i].text);
		fputc('\n', f);
	}
	ws_arena_free(&arena);
}

static void put_figures(FILE *f, const struct ws_text_opts *opts, const struct ws_page *page)
{
	struct ws_arena arena = {0};
	const char *all = "";

	for (size_t i = 0; i < page->nfigures; i++)
		all = ws_arena_format(&arena, "%s%s%s %s", all, i ? " · " : "",
		                      page->figure[i].value, page->figure[i].label);
	if (page->nfigures) {
		fputc('\n', f);
		ws__text_paragraph(f, opts, NULL, 0, all);
	}
	ws_arena_free(&arena);
}

/* --- the bar ------------------------------------------------------------------------------ */

/* Neighbours differ; work is dark and idle time pale, also without colours. */
static const char *glyph_of(const struct ws_page_segment *s, size_t nth)
{
	static const char *const busy[] = {"█", "▓", "▒"};
	static const char *const idle[] = {"░", "·"};

	return s->is_idle ? idle[nth % 2] : busy[nth % 3];
}

static void put_glyph(FILE *f, const struct ws_text_opts *opts, const struct ws_page_segment *s,
                      size_t nth)
{
	const uint32_t rgb = ws_page_colour_def(s->colour).dark;

	if (opts->colour && !s->is_idle)
		fprintf(f, "\033[38;2;%u;%u;%um", rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff);
	fputs(glyph_of(s, nth), f);
}

static void put_bar(FILE *f, const struct ws_text_opts *opts, const struct ws_page *page)
{
	const size_t width = opts->width > 0 ? (size_t)opts->width : BAR_WIDTH;
	double sum = 0;
	size_t at = 0;

	for (size_t i = 0; i < page->nsegments; i++) {
		sum += page->segment[i].percent;
		for (; at < width && ((double)at + 0.5) * 100 < sum * (double)width; at++)
			put_glyph(f, opts, &page->segment[i], i);
	}
	ws__text_style(f, opts, WS_TEXT_PLAIN);
	fputc('\n', f);
}

static void put_legend(FILE *f, const struct ws_text_opts *opts, const struct ws_page *page)
{
	struct ws_arena arena = {0};
	size_t used = 0;

	for (size_t i = 0; i < page->nsegments; i++) {
		const struct ws_page_segment *s = &page->segment[i];
		const char *text;
		size_t width;

		if (s->percent < LEGEND_SHARE)
			continue;
		text = ws_arena_format(&arena, " %s %s", s->name,
		                       ws_say_part_of(&arena, ws_page_segment_ns(page, s),
		                                      s->percent));
		width = 1 + ws_display_width(text, strlen(text));
		if (used && opts->width > 0 && used + 3 + width > (size_t)opts->width) {
			fputc('\n', f);
			used = 0;
		}
		fputs(used ? "   " : "", f);
		put_glyph(f, opts, s, i);
		ws__text_style(f, opts, WS_TEXT_PLAIN);
		put_text(f, text);
		used += (used ? 3 : 0) + width;
	}
	fputc('\n', f);
	ws_arena_free(&arena);
}

/* --- parts -------------------------------------------------------------------------------- */

static void put_part(FILE *f, const struct ws_text_opts *opts, struct ws_table *t)
{
	if (t->nrows) {
		fputc('\n', f);
		put_styled(f, opts, WS_TEXT_BOLD, t->def->title);
		fputc('\n', f);
		ws__text_table(f, t, opts);
	}
	ws_table_free(t);
}

static void put_findings(FILE *f, const struct ws_text_opts *opts, const struct ws_page *page)
{
	struct ws_arena arena = {0};

	if (!page->nfindings)
		return;
	fputc('\n', f);
	put_styled(f, opts, WS_TEXT_BOLD, "What to do");
	fputc('\n', f);
	for (size_t i = 0; i < page->nfindings && i < FINDING_ROWS; i++) {
		const struct ws_page_finding *finding = &page->finding[i];
		const char *text =
		        ws_arena_format(&arena, "%zu. %s%s", i + 1, finding->advice,
		                        strchr(".!?", finding->advice[strlen(finding->advice) - 1])
		                                ? ""
		                                : ".");

		if (*finding->gain)
			text = ws_arena_format(&arena, "%s Gain: %s.", text, finding->gain);
		ws__text_paragraph(f, opts, NULL, 0, text);
		if (finding->evidence)
			ws__text_paragraph(f, opts, WS_TEXT_DIM, 3, finding->evidence);
	}
	if (page->findings_note)
		ws__text_paragraph(f, opts, WS_TEXT_DIM, 0, page->findings_note);
	ws_arena_free(&arena);
}

void ws__text_headline(FILE *f, const struct ws_page *page, const struct ws_text_opts *opts)
{
	for (size_t i = 0; i < page->nheadline; i++)
		put_sentence(f, opts, &page->headline[i]);
	if (page->note)
		ws__text_paragraph(f, opts, WS_TEXT_DIM, 0, page->note);
}

void ws__text_front(FILE *f, const struct ws_page *page, const struct ws_text_opts *opts)
{
	const struct ws_text_opts whole = {.width = opts->width, .colour = opts->colour};
	struct ws_arena arena = {0};

	put_styled(f, opts, WS_TEXT_BOLD, page->title);
	fputc('\n', f);
	ws__text_paragraph(f, opts, WS_TEXT_DIM, 0, ws_front_source(&arena, page));
	ws_arena_free(&arena);
	fputc('\n', f);
	ws__text_headline(f, page, opts);
	put_sentence(f, opts, &page->first);
	put_figures(f, opts, page);
	if (page->nsegments) {
		fputc('\n', f);
		put_styled(f, opts, WS_TEXT_BOLD, page->bar_title);
		fputc('\n', f);
		put_bar(f, opts, page);
		put_legend(f, opts, page);
	}
	put_part(f, &whole, ws_front_tree(page, TREE_ROWS));
	put_part(f, &whole, ws_front_kernels(page, KERNEL_ROWS));
	put_findings(f, opts, page);
}
