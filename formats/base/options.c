#include "formats/base/options.h"

#include <errno.h>
#include <math.h>

#define HELP_COLUMN  28 /* where the explanation of an option begins */
#define WORD_MAX_LEN 64

/* --- values ------------------------------------------------------------------- */

static enum ws_status parse_int(const char *text, const char **end, int64_t *out)
{
	char *stop;
	long long value;

	if (*text < '0' || *text > '9')
		return WS_USAGE;
	errno = 0;
	value = strtoll(text, &stop, 10);
	if (errno)
		return WS_USAGE;
	*out = value;
	*end = stop;
	return WS_OK;
}

static enum ws_status set_int(const struct ws_opt *opt, const char *text, struct ws_err *err)
{
	const char *end;

	WS_FAIL_IF(parse_int(text, &end, opt->target) != WS_OK || *end, err, USAGE,
	           "--%s needs a whole number from 0, not '%s'", opt->name, text);
	return WS_OK;
}

static enum ws_status set_real(const struct ws_opt *opt, const char *text, struct ws_err *err)
{
	char *end;
	double value = strtod(text, &end);

	WS_FAIL_IF(end == text || *end || !isfinite(value), err, USAGE,
	           "--%s needs a number, not '%s'", opt->name, text);
	*(double *)opt->target = value;
	return WS_OK;
}

static enum ws_status set_choice(const struct ws_opt *opt, const char *text, struct ws_err *err)
{
	size_t len = strlen(text);
	const char *p = opt->arg;

	for (int i = 0;; i++) {
		size_t n = strcspn(p, "|");

		if (n == len && !strncmp(p, text, n)) {
			*(int *)opt->target = i;
			return WS_OK;
		}
		if (!p[n])
			break;
		p += n + 1;
	}
	return WS_FAIL(err, USAGE, "--%s needs one of %s, not '%s'", opt->name, opt->arg, text);
}

static enum ws_status set_range(const struct ws_opt *opt, const char *text, struct ws_err *err)
{
	int64_t first = -1, last = -1;
	const char *p = text;

	if (*p != '.' && parse_int(p, &p, &first) != WS_OK)
		goto wrong;
	if (!*p && first >= 0) {
		last = first;
	} else {
		if (strncmp(p, "..", 2) != 0)
			goto wrong;
		p += 2;
		if (*p && (parse_int(p, &p, &last) != WS_OK || *p))
			goto wrong;
		if ((first < 0 && last < 0) || (last >= 0 && first > last))
			goto wrong;
	}
	((int64_t *)opt->target)[0] = first;
	((int64_t *)opt->target)[1] = last;
	return WS_OK;
wrong:
	return WS_FAIL(err, USAGE, "--%s needs a range like 2..5, 2.., ..5 or 2, not '%s'",
	               opt->name, text);
}

static enum ws_status set_value(const struct ws_opt *opt, const char *text, struct ws_err *err)
{
	switch (opt->kind) {
	case WS_OPT_FLAG:
		return WS_FAIL(err, USAGE, "--%s takes no value", opt->name);
	case WS_OPT_TEXT:
		WS_FAIL_IF(!*text, err, USAGE, "--%s needs %s, not an empty word", opt->name,
		           opt->arg);
		*(const char **)opt->target = text;
		return WS_OK;
	case WS_OPT_INT:
		return set_int(opt, text, err);
	case WS_OPT_REAL:
		return set_real(opt, text, err);
	case WS_OPT_CHOICE:
		return set_choice(opt, text, err);
	case WS_OPT_RANGE:
		return set_range(opt, text, err);
	}
	return WS_FAIL(err, BUG, "option --%s has no kind", opt->name);
}

/* --- suggestions -------------------------------------------------------------- */

/* Edit distance where swapping neighbours costs one; both at most WORD_MAX_LEN letters. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX_LEN + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *swap = before;

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t d = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < d)
				d = last[j] + 1;
			if (now[j - 1] + 1 < d)
				d = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < d)
				d = before[j - 2] + 1;
			now[j] = d;
		}
		before = last;
		last = now;
		now = swap;
	}
	return last[nb];
}

const char *ws_opt_nearest(const char *word, const char *(*names)(const void *ctx, size_t i),
                           const void *ctx)
{
	size_t len = strlen(word), best_distance = SIZE_MAX;
	const char *best = NULL, *name;

	if (!len || len > WORD_MAX_LEN)
		return NULL;
	for (size_t i = 0; (name = names(ctx, i)); i++) {
		size_t n = strlen(name), d;

		if (n > WORD_MAX_LEN)
			continue;
		d = distance(word, len, name, n);
		if (d < best_distance && d * 3 <= (n > len ? n : len)) {
			best_distance = d;
			best = name;
		}
	}
	return best;
}

struct opt_list {
	const struct ws_opt *opts;
	size_t n;
};

static const char *opt_name(const void *ctx, size_t i)
{
	const struct opt_list *list = ctx;

	return i < list->n ? list->opts[i].name : NULL;
}

static enum ws_status fail_unknown(const struct ws_opt *opts, size_t nopts, const char *name,
                                   size_t len, struct ws_err *err)
{
	struct opt_list list = {opts, nopts};
	char word[WORD_MAX_LEN + 1];
	const char *near = NULL;

	if (len < sizeof(word)) {
		memcpy(word, name, len);
		word[len] = '\0';
		near = ws_opt_nearest(word, opt_name, &list);
	}
	if (near)
		return WS_FAIL(err, USAGE, "unknown option '--%.*s', did you mean '--%s'?",
		               (int)len, name, near);
	return WS_FAIL(err, USAGE, "unknown option '--%.*s'", (int)len, name);
}

/* --- parsing ------------------------------------------------------------------ */

struct parser {
	const struct ws_opt *opts;
	size_t nopts;
	char **argv;
	int argc, pos;
};

static const struct ws_opt *find_long(const struct parser *p, const char *name, size_t len)
{
	for (size_t i = 0; i < p->nopts; i++)
		if (strlen(p->opts[i].name) == len && !strncmp(p->opts[i].name, name, len))
			return &p->opts[i];
	return NULL;
}

static enum ws_status take_value(struct parser *p, const struct ws_opt *opt, const char *attached,
                                 struct ws_err *err)
{
	if (!attached) {
		WS_FAIL_IF(p->pos >= p->argc, err, USAGE, "--%s needs %s%s", opt->name,
		           opt->kind == WS_OPT_CHOICE ? "one of " : "", opt->arg);
		attached = p->argv[p->pos++];
	}
	return set_value(opt, attached, err);
}

static enum ws_status parse_long(struct parser *p, const char *name, struct ws_err *err)
{
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	const struct ws_opt *opt = find_long(p, name, len);
	int on = 1;

	if (!opt && len > 3 && !strncmp(name, "no-", 3)) {
		opt = find_long(p, name + 3, len - 3);
		if (opt && opt->kind != WS_OPT_FLAG)
			opt = NULL;
		on = 0;
	}
	if (!opt)
		return fail_unknown(p->opts, p->nopts, name, len, err);
	if (opt->kind != WS_OPT_FLAG)
		return take_value(p, opt, value, err);
	if (value)
		return set_value(opt, value, err);
	*(int *)opt->target = on;
	return WS_OK;
}

/* -o FILE, -oFILE; flags may be joined: -hv */
static enum ws_status parse_short(struct parser *p, const char *letters, struct ws_err *err)
{
	for (; *letters; letters++) {
		const struct ws_opt *opt = NULL;

		for (size_t i = 0; i < p->nopts && !opt; i++)
			if (p->opts[i].letter == *letters)
				opt = &p->opts[i];
		WS_FAIL_IF(!opt, err, USAGE, "unknown option '-%c'", *letters);
		if (opt->kind != WS_OPT_FLAG)
			return take_value(p, opt, letters[1] ? letters + 1 : NULL, err);
		*(int *)opt->target = 1;
	}
	return WS_OK;
}

enum ws_status ws_opt_parse(const struct ws_opt *opts, size_t nopts, int argc, char **argv,
                            int *narguments, struct ws_err *err)
{
	struct parser p = {opts, nopts, argv, argc, 0};
	int n = 0;

	while (p.pos < argc) {
		char *word = argv[p.pos++];

		if (!strcmp(word, "--")) {
			while (p.pos < argc)
				argv[n++] = argv[p.pos++];
		} else if (!strncmp(word, "--", 2)) {
			WS_FORWARD(parse_long(&p, word + 2, err));
		} else if (word[0] == '-' && word[1]) {
			WS_FORWARD(parse_short(&p, word + 1, err));
		} else {
			argv[n++] = word;
		}
	}
	*narguments = n;
	return WS_OK;
}

/* --- help --------------------------------------------------------------------- */

void ws_opt_print_help(FILE *f, const struct ws_opt *opts, size_t nopts)
{
	for (size_t i = 0; i < nopts; i++) {
		const struct ws_opt *opt = &opts[i];
		const char *line = opt->help;
		int n = opt->letter ? fprintf(f, "  -%c, ", opt->letter) : fprintf(f, "      ");

		n += fprintf(f, "--%s%s%s", opt->name, opt->arg ? " " : "",
		             opt->arg ? opt->arg : "");
		if (n + 2 > HELP_COLUMN) {
			fputc('\n', f);
			n = 0;
		}
		for (;;) {
			size_t len = strcspn(line, "\n");

			fprintf(f, "%*s%.*s\n", HELP_COLUMN - n, "", (int)len, line);
			if (!line[len])
				break;
			line += len + 1;
			n = 0;
		}
	}
}
