/*
 * How much memory and processor time this process may take for its inputs: so much for any, and
 * more for what they hold. A sound file stays far below; one that was made to do harm ends the
 * program there, with exit status 5 and a line that names the limit and what raises it.
 * docs/dev/guarantees.md, section 7.
 */
#pragma once

#include <stdint.h>

#include "formats/base/status.h"

/*
 * From now on this process has the limits. For who reads what others made; in a program that does
 * not call it the rest does nothing. USAGE: WARPSHEET_MAX_MEMORY or WARPSHEET_MAX_SECONDS, which
 * take the place of what is worked out here, is none.
 */
enum ws_status ws_allowance_begin(struct ws_err *err);

/* An input of so many bytes is opened. Any thread may call these. */
void ws_allowance_file(uint64_t bytes);
/* … and declares so many rows. */
void ws_allowance_rows(uint64_t rows);

/* Give this process, which becomes another program, the limits that it was started with. */
void ws_allowance_end(void);

/* What the limit of memory is and what raises it, for a message that a library had none. */
const char *ws_allowance_text(void);
