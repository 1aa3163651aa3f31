/*
 * Status codes and error texts, used by every layer.
 *
 * A function that can fail returns enum ws_status and fills a struct ws_err
 * given by its caller. Nothing below a command file prints or exits.
 */
#pragma once

/* name, exit code of the program that fails with it, meaning */
#define WS_STATUS_LIST(X)                                \
	X(OK, 0, "done")                                 \
	X(FINDING, 1, "a negative finding")              \
	X(USAGE, 2, "the command line is wrong")         \
	X(IO_READ, 3, "the input cannot be read")        \
	X(CORRUPT, 3, "the input is damaged")            \
	X(TOO_NEW, 3, "the input needs a newer program") \
	X(IO_WRITE, 4, "the output cannot be written")   \
	X(ENVIRONMENT, 5, "the machine lacks something") \
	X(NO_MEMORY, 5, "out of memory")                 \
	X(UNDECIDED, 6, "cannot tell from these runs")   \
	X(BUG, 70, "a bug in Warpsheet")

enum ws_status {
#define X(name, code, meaning) WS_##name,
	WS_STATUS_LIST(X)
#undef X
};

/* What failed, on what, and the cure if it is known: one line, no full stop. */
struct ws_err {
	enum ws_status status;
	const char *file; /* source file of the check that failed */
	int line;
	char text[512];
};

/* Fill err (may be NULL) and return status. Control characters of the text become '?'. */
enum ws_status ws_fail(struct ws_err *err, enum ws_status status, const char *file, int line,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Name in front of a failure what it happened to: its text becomes "FMT: TEXT". Returns status. */
enum ws_status ws_err_prefix(struct ws_err *err, enum ws_status status, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* Replace the control characters of a text for a terminal by '?', also those above 0x7f (C1). */
void ws_defuse(char *text);

/* The exit code that a program ends with for this status (docs: spec "Exit codes"). */
int ws_status_exit_code(enum ws_status status);

#define WS_FAIL(err, code, ...) ws_fail((err), WS_##code, __FILE__, __LINE__, __VA_ARGS__)

#define WS_FAIL_IF(cond, err, code, ...)                        \
	do {                                                    \
		if (cond)                                       \
			return WS_FAIL(err, code, __VA_ARGS__); \
	} while (0)

/* Return the callee's failure; the callee has filled err. */
#define WS_FORWARD(expr)                                    \
	do {                                                \
		enum ws_status ws_forward_status_ = (expr); \
		if (ws_forward_status_ != WS_OK)            \
			return ws_forward_status_;          \
	} while (0)

/* Take the next of several steps, unless one before it failed. For functions that clean up at their
 * end. */
#define WS_THEN(status, ...)                    \
	do {                                    \
		if ((status) == WS_OK)          \
			(status) = __VA_ARGS__; \
	} while (0)
