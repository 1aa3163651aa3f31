/* Options as tables. From one table come parsing, --help and suggestions for misspelled options;
 * tests compare it with the man page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

enum ws_opt_kind {
	WS_OPT_FLAG,    /* bool: --name sets true, --no-name sets false */
	WS_OPT_TEXT,    /* const char *: borrowed from argv, never empty */
	WS_OPT_TEXTS,   /* struct ws_opt_texts: the same, may be given several times */
	WS_OPT_INT,     /* int64_t, from 0 */
	WS_OPT_REAL,    /* double, finite */
	WS_OPT_CHOICE,  /* int or an enum: the position of the value among those that there are */
	WS_OPT_RANGE,   /* int64_t[2]: A..B, A.., ..B or A; an open end is -1 */
	WS_OPT_SIZE,    /* int64_t: bytes; K, M and G behind a number are powers of 1024 */
	WS_OPT_SECONDS, /* int64_t: ns; seconds with a fraction on the command line */
};

#define WS_OPT_TEXTS_MOST 16
struct ws_opt_texts {
	const char *text[WS_OPT_TEXTS_MOST];
	size_t n;
};

struct ws_opt {
	const char *name; /* long name without the dashes */
	char letter;      /* short name, 0 = none */
	enum ws_opt_kind kind;
	const char *arg;  /* what help calls the argument; NULL for a FLAG */
	void *target;     /* of the kind's type */
	const char *help; /* printed as lines of 60 letters; a newline breaks one */
	/* what most options leave out */
	int64_t min, max;             /* of INT, REAL, SIZE and SECONDS (in ns); max 0 = no bound.
	                                 A CHOICE counts from min. */
	const char *(*choice)(int i); /* the values of a CHOICE, from min on, NULL after the last;
	                                 without it arg lists them: "text|csv|json" */
	bool *given;                  /* set when the option is on the command line */
	const char *bare;             /* the value of --name alone; another one is --name=VALUE */
	unsigned tags;                /* whatever a program wants to know about an option */
};

/*
 * An entry of a table; KIND without WS_OPT_, then the help and what else there is, by name:
 *   WS_OPT("batch", 'b', INT, "N", &o.batch, "samples per step", .min = 1)
 * A target that is not of the kind's type does not compile.
 */
#define WS_OPT(name_, letter_, KIND, arg_, target_, ...)                                    \
	{                                                                                   \
		.name = (name_), .letter = (letter_), .kind = WS_OPT_##KIND, .arg = (arg_), \
		.target = WS_OPT_TARGET_##KIND(target_), .help = __VA_ARGS__                \
	}
#define WS_OPT_TARGET_FLAG(p)    (1 ? (p) : (bool *)NULL)
#define WS_OPT_TARGET_TEXT(p)    (1 ? (p) : (const char **)NULL)
#define WS_OPT_TARGET_TEXTS(p)   (1 ? (p) : (struct ws_opt_texts *)NULL)
#define WS_OPT_TARGET_INT(p)     (1 ? (p) : (int64_t *)NULL)
#define WS_OPT_TARGET_REAL(p)    (1 ? (p) : (double *)NULL)
#define WS_OPT_TARGET_CHOICE(p)  ((p) + 0 * sizeof(char[sizeof(*(p)) == sizeof(int) ? 1 : -1]))
#define WS_OPT_TARGET_RANGE(p)   (1 ? (p) : (int64_t *)NULL)
#define WS_OPT_TARGET_SIZE(p)    (1 ? (p) : (int64_t *)NULL)
#define WS_OPT_TARGET_SECONDS(p) (1 ? (p) : (int64_t *)NULL)

/* The function that names the values of a CHOICE: name of each X(name, id) of LIST in order, NULL
 * after the last. */
#define WS_CHOICE_NAMES(function, LIST)                                              \
	const char *function(int i)                                                  \
	{                                                                            \
		static const char *const names[] = {LIST(WS_CHOICE_NAME)};           \
                                                                                     \
		return (size_t)i < sizeof(names) / sizeof(*names) ? names[i] : NULL; \
	}
#define WS_CHOICE_NAME(name, id) name,

/*
 * Parse argv[0..argc) (without the command's name). Options may stand before
 * or after the other arguments; "--" ends them; "-" is no option. The other
 * arguments move to argv[0..*narguments) in their order. A wrong option or
 * value is USAGE, and says what would be right.
 */
enum ws_status ws_opt_parse(const struct ws_opt *opts, size_t nopts, int argc, char **argv,
                            int *narguments, struct ws_err *err);

/* A command line that is taken a word at a time, by programs that pass words on to others. */
struct ws_opt_parser {
	const struct ws_opt *opts;
	size_t nopts;
	char **argv;
	int argc;
	int pos; /* of the next word */
};
/*
 * Take the option at pos and its value. *taken: which it was, pos is behind
 * it; NULL: argv[pos] is none of the table, pos stays. USAGE: a wrong value.
 */
enum ws_status ws_opt_take(struct ws_opt_parser *p, const struct ws_opt **taken,
                           struct ws_err *err);
/* USAGE: "unknown option --modle (did you mean --model?)"; word as on the command line. */
enum ws_status ws_opt_unknown(const struct ws_opt *opts, size_t nopts, const char *word,
                              struct ws_err *err);

/* Bytes of "4096", "64K", "1M" or "2G", by powers of 1024; false: it is no size. */
bool ws_size_parse(const char *text, int64_t *bytes);

/* --help or -h is among the words before "--": it wins over whatever else is wrong. */
bool ws_opt_asks_help(int argc, char *const *argv);

/* The option list of a help text. */
void ws_opt_print_help(FILE *f, const struct ws_opt *opts, size_t nopts);

/*
 * USAGE: "unknown WHAT WORD (did you mean NEAR?); CURE". NEAR: the most similar
 * name, at most a third of its letters differ; left out when none is near, as
 * is a CURE of NULL. names(ctx, i) gives NULL after the last one. A word that an
 * earlier version had gets a line that names what replaces it.
 */
enum ws_status ws_opt_unknown_name(const char *what, const char *word,
                                   const char *(*names)(const void *ctx, size_t i), const void *ctx,
                                   const char *cure, struct ws_err *err);
