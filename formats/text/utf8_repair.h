/* Texts of a trace for readers that want UTF-8. */
#pragma once

#include <stdbool.h>

#include "formats/base/bytes.h"
#include "formats/schema/schema.h"

/* Broken sequences, and NUL where that may not be, as U+FFFD. Borrowed from text or room. */
struct ws_bytes ws_utf8_repair(struct ws_buf *room, struct ws_bytes text, bool has_nul);
