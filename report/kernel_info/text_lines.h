/* Lines and words of a small text file that is all in memory. Nothing here allocates. */
#pragma once

#include <stdbool.h>

/* Borrowed characters from pos to before end. */
struct ws_text {
	const char *pos, *end;
};

/*
 * Take the next line off the front of text: without its line end and without
 * blanks around it. text is at its end when none is left.
 */
struct ws_text ws_text_line(struct ws_text *text);

/* Take the next word off the front of a line, and the blanks behind it. Empty when none is left. */
struct ws_text ws_text_word(struct ws_text *line);

/* Empty, or a comment that begins with '#'. */
bool ws_text_says_nothing(struct ws_text line);

bool ws_text_is(struct ws_text word, const char *name);

/* The word for printf's "%.*s": as much of it as a message should show. */
#define WS_TEXT_SHOWN(word) ws_text_shown(word), (word).pos
int ws_text_shown(struct ws_text word);
