/*
 * Names that are too long for their place: the middle goes, and of names that would then look
 * alike a part in which they differ stays.
 */
#pragma once

#include <stddef.h>

#include "formats/base/arena.h"

/* A name; then what is shown of it: the name itself, or a text in the arena. */
struct ws_brief {
	const char *text;
	size_t len;
};

/* So much of its beginning says what kind of kernel it is; the end tells more. */
#define WS_BRIEF_HEAD(width) ((width) / 4)

/*
 * Cuts the n names of one column, which may repeat, to at most `width` columns of a terminal:
 * `head` columns of the beginning stay (0 for paths), "…" stands for what goes, and the end stays.
 * Different names stay different: where cuts coincide, the place where the names differ is shown
 * too, and where even that does not tell, they end in "~1", "~2" in the order of their bytes; only
 * where the width has no room for that they may look alike. Out of memory is told by the arena.
 */
void ws_brief_names(struct ws_arena *arena, struct ws_brief *names, size_t n, size_t width,
                    size_t head);
