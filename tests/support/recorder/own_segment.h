/* What a traced program can do to its own segment: it may write any byte of the file. */
#pragma once

/*
 * Write `text` over each string in the segment's header that has `part` in it, as far as it goes.
 * Returns how many there were, -1 without a segment.
 */
int own_segment_replace(const char *part, const char *text);
