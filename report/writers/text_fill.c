/* Texts of a given width. */
#include "report/table/display.h"
#include "report/writers/text.h"

void ws__text_style(FILE *f, const struct ws_text_opts *opts, const char *sgr)
{
	if (opts->colour)
		fputs(sgr, f);
}

void ws__text_pad(FILE *f, size_t n)
{
	fprintf(f, "%*s", (int)n, "");
}

size_t ws__text_cut(FILE *f, const char *text, size_t len, size_t width)
{
	size_t whole = ws_display_width(text, len), used = 0;
	struct ws_glyph glyph;

	for (size_t pos = 0; pos < len;) {
		pos += ws_display_glyph(text + pos, len - pos, &glyph);
		if (whole > width && used + glyph.width + 1 > width) {
			fputs("…", f);
			return used + 1;
		}
		fwrite(glyph.bytes, 1, glyph.len, f);
		used += glyph.width;
	}
	return used;
}

/* Bytes of a word that fit into `width` columns, one character at least. */
static size_t broken_word(const char *word, size_t len, size_t width)
{
	size_t pos = 0, used = 0;
	struct ws_glyph glyph;

	while (pos < len) {
		size_t n = ws_display_glyph(word + pos, len - pos, &glyph);

		used += glyph.width;
		if (used > width && pos)
			break;
		pos += n;
	}
	return pos;
}

size_t ws__text_line(const char *text, size_t len, size_t width, size_t *pos, size_t *begin)
{
	size_t used = 0, end;

	while (*pos < len && text[*pos] == ' ')
		++*pos;
	*begin = end = *pos;
	while (*pos < len) {
		const char *blank = memchr(text + *pos, ' ', len - *pos);
		size_t n = blank ? (size_t)(blank - text) - *pos : len - *pos;
		size_t w = ws_display_width(text + *pos, n), gap = used ? *pos - end : 0;

		if (width && used + gap + w > width) {
			if (used)
				break;
			n = broken_word(text + *pos, n, width);
			*pos += n;
			end = *pos;
			break;
		}
		used += gap + w;
		*pos += n;
		end = *pos;
		while (*pos < len && text[*pos] == ' ')
			++*pos;
	}
	return end - *begin;
}

/* Columns left on a line behind `indent`; 0 = no limit. */
static size_t room(const struct ws_text_opts *opts, size_t indent)
{
	if (opts->width <= 0)
		return 0;
	return (size_t)opts->width > indent + 20 ? (size_t)opts->width - indent : 20;
}

void ws__text_wrap(FILE *f, const struct ws_text_opts *opts, const char *sgr, const char *text,
                   size_t len, size_t indent)
{
	size_t pos = 0, begin, width = room(opts, indent);

	if (!len)
		fputc('\n', f);
	while (pos < len) {
		size_t n = ws__text_line(text, len, width, &pos, &begin);

		/* line by line: a pager forgets the style at the end of each */
		if (sgr)
			ws__text_style(f, opts, sgr);
		ws__text_cut(f, text + begin, n, SIZE_MAX);
		if (sgr)
			ws__text_style(f, opts, WS_TEXT_PLAIN);
		fputc('\n', f);
		if (pos < len)
			ws__text_pad(f, indent);
	}
}

void ws__text_paragraph(FILE *f, const struct ws_text_opts *opts, const char *sgr, size_t indent,
                        const char *text)
{
	ws__text_pad(f, indent);
	ws__text_wrap(f, opts, sgr, text, strlen(text), indent);
}
