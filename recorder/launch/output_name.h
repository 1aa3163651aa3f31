/* Names of traces from the pattern of -o. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "recorder/launch/strings.h"

/* What stands for %p, %h and %q{NAME}. */
struct ws_output_vars {
	uint32_t pid;
	const struct ws_strings *env; /* NULL: the environment of this program */
};

/*
 * Expand a pattern: %p the process id, %h the host's name without its domain,
 * %q{NAME} the variable NAME ("unset" when there is none), %% a percent sign.
 * A slash in what is put in becomes _. USAGE for anything else behind a
 * percent sign, for a percent pattern in the folder, and for a name too long.
 */
enum ws_status ws_output_expand(const char *pattern, const struct ws_output_vars *vars, char *out,
                                size_t size, struct ws_err *err);

/* A pattern that stands for this path: percent signs doubled. 0 = done, -1 = too long. */
int ws_output_escape(const char *path, char *out, size_t size);

/* 1 when the path must not be taken. */
typedef bool (*ws_output_taken_fn)(void *ctx, const char *path);

/*
 * A name that is not taken: the path itself, else with .PID before its last
 * extension, else with a number too: x.wtrace, x.77.wtrace, x.77-2.wtrace …
 * With pid 0 only the number: x-2.wtrace. USAGE when it gets too long.
 */
enum ws_status ws_output_choose(char *path, size_t size, uint32_t pid, ws_output_taken_fn taken,
                                void *ctx, struct ws_err *err);
/* 1 when ws_output_choose() can have made `choice` of this path and pid. */
bool ws_output_could_choose(const char *path, uint32_t pid, const char *choice);
