/*
 * Names as bytes: a short form for people, comparison, patterns. What a name
 * says of its kernel is classify.h's matter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "formats/schema/schema.h"

/*
 * Function name without return type, template arguments and parameters:
 * "void at::native::reduce_kernel<512, 1>(T1)" is "at::native::reduce_kernel".
 * Writes at most name.len bytes to out and returns how many. A name that is
 * no C++ signature (mangled, or one identifier) comes back whole.
 */
size_t ws_name_short(struct ws_bytes name, char *out);

/*
 * What stays of a name from call to call: without the numbers that PyTorch's
 * emit_nvtx appends (", op_id = 7", ", seq = 7", ", sizes = [[2, 3]]",
 * ", input_op_ids = [(7, 0)]"), and with
 * the number of "#7" and of an address 0x7f12ab as *. Writes at most name.len
 * bytes to out and returns how many.
 */
size_t ws_name_steady(struct ws_bytes name, char *out);

/*
 * A path of ranges with * for the numbers of its layers: "layer *" for "layer 3". A number counts
 * where it stands alone behind a blank or mark: not that of "conv2d", nor one at the beginning.
 * Writes at most text.len bytes to out and returns how many.
 */
size_t ws_name_roll_up(struct ws_bytes text, char *out);

/*
 * At most `most` bytes of the name, "…" where its middle is left out: the end of a short name tells
 * more than its beginning. Bytes written to out, which has room for most + 3.
 */
size_t ws_name_brief(struct ws_bytes name, size_t most, char *out);

/*
 * Does text match the shell-like pattern? '*' stands for any bytes, '/' too,
 * '?' for one byte; everything else for itself.
 */
bool ws_name_matches(struct ws_bytes pattern, struct ws_bytes text);

/* < 0, 0 or > 0 by bytes, as memcmp; a shorter text comes before its continuations. */
int ws_name_compare(struct ws_bytes a, struct ws_bytes b);

/* Is it part of an identifier of C? */
static inline bool ws_name_is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Equality with a C string. */
bool ws_name_is(struct ws_bytes name, const char *text);
