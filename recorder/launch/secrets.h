/*
 * Secrets in a program's arguments, which a trace must not hold. They are known by their shapes alone,
 * which docs/record.md lists.
 */
#pragma once

/* Begin with the program's path, and zeros. */
struct ws_secrets {
	const char *program; /* a few clients have options of their own; NULL: not known */
	const char *before;  /* the argument before this one; NULL: this is the first */
	unsigned masked;     /* arguments so far that had a secret */
};

/* The next argument, with "***" for each secret in it; for free(). */
char *ws_secrets_mask(struct ws_secrets *s, const char *argument);
