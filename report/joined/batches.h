/* FLOPs of attention in the steps of a server, whose names tell how many pairs of query and key a
 * batch has: an operation's inputs do not. */
#pragma once

#include "report/joined/rows.h"

/* Once ranges are rows and operations know theirs. */
void ws_batches_find_flops(struct ws_joined_rows *rows, struct ws_model *m);
