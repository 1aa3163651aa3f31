#include "formats/text/csv_writer.h"

#include "formats/base/system/system.h"
#include "formats/base/bytes.h"
#include "formats/text/json_writer.h"

void ws_csv_begin(struct ws_csv *c, FILE *f)
{
	c->f = f;
	c->row_has_fields = 0;
	c->to_terminal = ws_is_terminal(f);
}

static void separate(struct ws_csv *c)
{
	if (c->row_has_fields)
		fputc(',', c->f);
	c->row_has_fields = 1;
}

/* Programs pass over blanks before a formula, and take full-width and small signs for others. */
static bool is_formula(const char *p, size_t len)
{
	/* the first four also full-width and small */
	static const uint32_t signs[] = {'=',    '+',    '-',    '@',    '\t',
	                                 '\r',   '\n',   0xff1d, 0xff0b, 0xff0d,
	                                 0xff20, 0xfe66, 0xfe62, 0xfe63, 0xfe6b};
	uint32_t c = ' ';

	while (len && (c == ' ' || c == 0xa0 || (c >= 0x2000 && c <= 0x200b) || c == 0x202f ||
	               c == 0x205f || c == 0x3000 || c == 0xfeff)) {
		unsigned took = ws_utf8_get(p, len, &c);

		p += took;
		len -= took;
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (c == signs[i])
			return true;
	return false;
}

void ws_csv_text(struct ws_csv *c, const void *bytes, size_t len)
{
	const char *p = bytes;
	bool quotes = !len || p[0] == ' ' || p[len - 1] == ' ';

	for (size_t i = 0; i < len && !quotes; i++)
		quotes = memchr(",\"\r\n", p[i], 4) != NULL;
	separate(c);
	if (quotes)
		fputc('"', c->f);
	if (is_formula(p, len))
		fputc('\'', c->f);
	while (len) {
		/* Bytes from the front that stand for themselves: most of nearly all names. */
		size_t took = 0;

		while (took < len && p[took] >= 0x20 && p[took] < 0x7f && p[took] != '"')
			took++;
		if (took) {
			fwrite(p, 1, took, c->f);
		} else {
			char utf8[WS_UTF8_MAX_BYTES];
			uint32_t code;

			took = ws_utf8_get(p, len, &code);
			bool is_control =
			        (code < 0x20 && code != '\n') || (code >= 0x7f && code < 0xa0);
			if (!code || (is_control && c->to_terminal))
				code = WS_UTF8_REPLACEMENT;
			if (code == '"')
				fputc('"', c->f);
			fwrite(utf8, 1, ws_utf8_put(code, utf8), c->f);
		}
		p += took;
		len -= took;
	}
	if (quotes)
		fputc('"', c->f);
}

void ws_csv_str(struct ws_csv *c, const char *text)
{
	if (text)
		ws_csv_text(c, text, strlen(text));
	else
		ws_csv_empty(c);
}

void ws_csv_i64(struct ws_csv *c, int64_t value)
{
	separate(c);
	fprintf(c->f, "%" PRId64, value);
}

void ws_csv_f64(struct ws_csv *c, double value)
{
	char buf[WS_NUMBER_BYTES];

	separate(c);
	if (isfinite(value))
		fputs(ws_number_real(buf, value), c->f);
}

void ws_csv_empty(struct ws_csv *c)
{
	separate(c);
}

void ws_csv_end_row(struct ws_csv *c)
{
	fputs("\r\n", c->f);
	c->row_has_fields = 0;
}
