#include "recorder/launch/output_name.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NUMBER 100000 /* of a name: beyond it something else is wrong */

/* --- expansion --- */

struct name_text {
	char *text;
	size_t size, len;
	bool is_full;
};

static void put(struct name_text *o, char c)
{
	if (o->len + 1 < o->size)
		o->text[o->len++] = c;
	else
		o->is_full = 1;
}

/* A value becomes part of a name, never of a folder. */
static void put_value(struct name_text *o, const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put(o, value[i] == '/' ? '_' : value[i]);
}

static void put_host(struct name_text *o)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof(host)) || !*host)
		snprintf(host, sizeof(host), "unknown");
	host[sizeof(host) - 1] = 0;
	put_value(o, host, strcspn(host, "."));
}

/* {NAME} at p. Returns what follows, NULL when it is no such thing. */
static const char *put_variable(struct name_text *o, const char *p, const struct ws_strings *env)
{
	const char *end = *p == '{' ? strchr(p, '}') : NULL;
	char name[256];
	const char *value;

	if (!end || end == p + 1 || end - p > (ptrdiff_t)sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(end - p - 1), p + 1);
	value = env ? ws_strings_value(*env, name, strlen(name)) : getenv(name);
	if (!value || !*value)
		value = "unset";
	put_value(o, value, strlen(value));
	return end + 1;
}

enum ws_status ws_output_expand(const char *pattern, const struct ws_output_vars *vars, char *out,
                                size_t size, struct ws_err *err)
{
	struct name_text o = {out, size, 0, 0};
	const char *name = strrchr(pattern, '/');
	const char *p = pattern;
	char number[16];

	name = name ? name + 1 : pattern;
	while (*p) {
		const char *at = p;

		if (*p != '%' || p[1] == '%') {
			p += *p == '%' ? 2 : 1;
			put(&o, *at);
			continue;
		}
		WS_FAIL_IF(p < name, err, USAGE,
		           "%s: %%p, %%h and %%q{NAME} may stand in the file's name only", pattern);
		p += 2;
		switch (at[1]) {
		case 'p':
			snprintf(number, sizeof(number), "%u", (unsigned)vars->pid);
			put_value(&o, number, strlen(number));
			break;
		case 'h':
			put_host(&o);
			break;
		case 'q':
			p = put_variable(&o, p, vars->env);
			break;
		default:
			p = NULL;
		}
		WS_FAIL_IF(!p, err, USAGE,
		           "%s: a percent sign stands before p, h, q{NAME} or another percent sign",
		           pattern);
	}
	out[o.len] = 0;
	WS_FAIL_IF(o.is_full, err, USAGE, "the path %s is too long", pattern);
	return WS_OK;
}

int ws_output_escape(const char *path, char *out, size_t size)
{
	struct name_text o = {out, size, 0, 0};

	for (; *path; path++) {
		put(&o, *path);
		if (*path == '%')
			put(&o, '%');
	}
	out[o.len] = 0;
	return o.is_full ? -1 : 0;
}

/* --- a name of its own --- */

/* Where what tells names apart goes: before the last extension, if there is one. */
static size_t stem_length(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dot;

	name = name ? name + 1 : path;
	dot = strrchr(name, '.');
	return dot && dot != name ? (size_t)(dot - path) : strlen(path);
}

enum ws_status ws_output_choose(char *path, size_t size, uint32_t pid, ws_output_taken_fn taken,
                                void *ctx, struct ws_err *err)
{
	size_t stem = stem_length(path);
	char first[PATH_MAX], suffix[16] = "";

	if (!taken(ctx, path))
		return WS_OK;
	snprintf(first, sizeof(first), "%s", path);
	if (pid)
		snprintf(suffix, sizeof(suffix), ".%u", (unsigned)pid);
	for (int i = pid ? 1 : 2; i < MAX_NUMBER; i++) {
		char number[16] = "";
		int n;

		if (i > 1)
			snprintf(number, sizeof(number), "-%d", i);
		n = snprintf(path, size, "%.*s%s%s%s", (int)stem, first, suffix, number,
		             first + stem);
		WS_FAIL_IF(n < 0 || (size_t)n >= size, err, USAGE, "the path %s is too long",
		           first);
		if (!taken(ctx, path))
			return WS_OK;
	}
	return WS_FAIL(err, USAGE, "no name is left for %s; give one with -o", first);
}

bool ws_output_could_choose(const char *path, uint32_t pid, const char *choice)
{
	size_t stem = stem_length(path);
	char suffix[16];

	if (strncmp(choice, path, stem) != 0)
		return 0;
	choice += stem;
	snprintf(suffix, sizeof(suffix), ".%u", (unsigned)pid);
	if (!strncmp(choice, suffix, strlen(suffix)))
		choice += strlen(suffix);
	if (*choice == '-')
		choice += 1 + strspn(choice + 1, "0123456789");
	return !strcmp(choice, path + stem);
}
