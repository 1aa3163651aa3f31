/*
 * Options as tables: one table gives parsing, --help and the suggestion
 * after a typing error; tests compare it with the man page.
 */
#ifndef WS_FORMATS_BASE_OPTIONS_H
#define WS_FORMATS_BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

enum ws_opt_kind {
	WS_OPT_FLAG,   /* int: --name sets 1, --no-name sets 0 */
	WS_OPT_TEXT,   /* const char *: borrowed from argv */
	WS_OPT_INT,    /* int64_t, from 0 */
	WS_OPT_REAL,   /* double, finite */
	WS_OPT_CHOICE, /* int: position in arg, "text|csv|json" */
	WS_OPT_RANGE,  /* int64_t[2]: A..B, A.., ..B or A; an open end is -1 */
};

struct ws_opt {
	const char *name; /* long name without the dashes */
	char letter;      /* short name, 0 = none */
	enum ws_opt_kind kind;
	const char
	        *arg; /* what help calls the argument; for a CHOICE its values; NULL for a FLAG */
	void *target; /* of the kind's type */
	const char *help; /* one or more lines, without a final newline */
};

/*
 * Parse argv[0..argc) (without the command's name). Options may stand before
 * or after the other arguments; "--" ends them; "-" is no option. The other
 * arguments move to argv[0..*narguments) in their order. A wrong option or
 * value is USAGE, and says what would be right.
 */
enum ws_status ws_opt_parse(const struct ws_opt *opts, size_t nopts, int argc, char **argv,
                            int *narguments, struct ws_err *err);

/* The option list of a help text. */
void ws_opt_print_help(FILE *f, const struct ws_opt *opts, size_t nopts);

/*
 * The name most like `word` for "did you mean": at most a third of its
 * letters differ. names(ctx, i) gives NULL after the last one. NULL when none is near.
 */
const char *ws_opt_nearest(const char *word, const char *(*names)(const void *ctx, size_t i),
                           const void *ctx);

#endif
