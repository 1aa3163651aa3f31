/* What a trace says about where it comes from; docs/reference/keys.md lists the keys. */
#pragma once

#include "formats/base/options.h"
#include "recorder/drain/drain.h"
#include "recorder/launch/trace_name.h"

#define WS_FACT_KEY_MAX 128 /* with "workload." and the end */

struct ws_provenance {
	const char *program;          /* path; NULL: not known */
	char *const *arguments;       /* of the program, NULL-terminated; NULL: not to be told */
	const char *options;          /* of the recording, quoted; NULL: not known */
	const struct ws_opt_texts *facts; /* of the workload: "KEY=VALUE" */
	bool no_gpu;                  /* GPUs are not to be asked */
	uint32_t cpu_time_quantum_ns; /* 0 = none */
};

/* The rows known before the program starts. Returns how many arguments had secrets, which are
 * masked there. */
unsigned ws_provenance_begin(struct ws_drain *d, const struct ws_provenance *p,
                             const struct ws_seg_header *seg);
/*
 * The rows known of the process that attached, by its environment: ranks, as
 * numbers of at most nine digits; anything else is not taken.
 */
void ws_provenance_process(struct ws_drain *d, struct ws_strings env);
/* The rows known when it has ended. */
void ws_provenance_end(struct ws_drain *d, const struct ws_seg_header *seg, int salvaged);

/* Arguments quoted for a POSIX shell, joined by blanks; for free(). */
char *ws_quote(char *const *arguments);

/*
 * Secrets in a program's arguments, which a trace must not hold. They are known by their shapes
 * alone, which docs/record.md lists.
 */

/* Begin with the program's path, and zeros. */
struct ws_secrets {
	const char *program; /* a few clients have options of their own; NULL: not known */
	const char *before;  /* the argument before this one; NULL: this is the first */
	unsigned masked;     /* arguments so far that had a secret */
};

/* The next argument, with "***" for each secret in it; for free(). */
char *ws_secrets_mask(struct ws_secrets *s, const char *argument);
