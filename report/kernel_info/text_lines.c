#include "report/kernel_info/classify.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct ws_text ws_text_line(struct ws_text *text)
{
	const char *nl = memchr(text->pos, '\n', (size_t)(text->end - text->pos));
	struct ws_text line = {text->pos, nl ? nl : text->end};

	text->pos = nl ? nl + 1 : text->end;
	while (line.pos < line.end && is_blank(*line.pos))
		line.pos++;
	while (line.pos < line.end && is_blank(line.end[-1]))
		line.end--;
	return line;
}

struct ws_text ws_text_word(struct ws_text *line)
{
	struct ws_text word = {line->pos, line->pos};

	while (word.end < line->end && !is_blank(*word.end))
		word.end++;
	line->pos = word.end;
	while (line->pos < line->end && is_blank(*line->pos))
		line->pos++;
	return word;
}

bool ws_text_says_nothing(struct ws_text line)
{
	return line.pos == line.end || *line.pos == '#';
}

bool ws_text_is(struct ws_text word, const char *name)
{
	size_t len = (size_t)(word.end - word.pos);

	return len == strlen(name) && !memcmp(word.pos, name, len);
}

int ws_text_shown(struct ws_text word)
{
	return word.end - word.pos > 60 ? 60 : (int)(word.end - word.pos);
}
