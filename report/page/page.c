#include "report/page/page.h"

#include "report/page/timeline.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum ws_page_colour ws_page_class_colour(const char *name, size_t len)
{
	static const struct {
		const char *class;
		enum ws_page_colour colour;
	} of[] = {
	        {"gemm", WS_PAGE_BLUE},          {"gemm_aux", WS_PAGE_BLUE},
	        {"conv", WS_PAGE_INDIGO},        {"conv_aux", WS_PAGE_INDIGO},
	        {"layout", WS_PAGE_OLIVE},       {"attention", WS_PAGE_CYAN},
	        {"softmax", WS_PAGE_RED},        {"norm", WS_PAGE_GREEN},
	        {"recurrence", WS_PAGE_TEAL},    {"activation", WS_PAGE_PURPLE},
	        {"reduce", WS_PAGE_TEAL},        {"copy", WS_PAGE_OCHRE},
	        {"cast", WS_PAGE_OCHRE},         {"fill", WS_PAGE_OCHRE},
	        {"embedding", WS_PAGE_OLIVE},    {"gather", WS_PAGE_OLIVE},
	        {"loss", WS_PAGE_PINK},          {"optimizer", WS_PAGE_BROWN},
	        {"sort", WS_PAGE_OLIVE},         {"comm", WS_PAGE_PINK},
	        {"communication", WS_PAGE_PINK}, {"copies", WS_PAGE_OCHRE},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (strlen(of[i].class) == len && !memcmp(of[i].class, name, len))
			return of[i].colour;
	return WS_PAGE_GREY;
}

static void set_line(struct ws_page_line *line, const char *grade, va_list ap)
{
	const char *text;

	*line = (struct ws_page_line){.grade = grade};
	for (bool bold = false; (text = va_arg(ap, const char *)) && line->nparts < WS_PAGE_PARTS;
	     bold = !bold)
		if (*text)
			line->part[line->nparts++] = (struct ws_page_part){text, bold};
}

void ws_page_say(struct ws_page *page, const char *grade, ...)
{
	va_list ap;

	page->nheadline += page->nheadline < WS_PAGE_LINES;
	va_start(ap, grade);
	set_line(&page->headline[page->nheadline - 1], grade, ap);
	va_end(ap);
}

void ws_say_line(struct ws_page_line *line, ...)
{
	va_list ap;

	va_start(ap, line);
	set_line(line, "", ap);
	va_end(ap);
}

void ws_page_free(struct ws_page *page)
{
	if (!page)
		return;
	ws_timeline_free(page->timeline);
	ws_page_free(page->side[0]);
	ws_page_free(page->side[1]);
	ws_arena_free(&page->arena);
	free(page);
}
