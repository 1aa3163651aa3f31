#include "formats/base/options.h"

#include "formats/base/bytes.h"

#define HELP_COLUMN  28 /* where the explanation of an option begins */
#define HELP_WIDTH   60 /* letters per line of the explanation */
#define MAX_SECONDS  1e9
#define WORD_MAX_LEN 64
#define MAX_CHOICES  400

/* --- values ------------------------------------------------------------------- */

static enum ws_status parse_int(const char *text, const char **end, int64_t *out)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return WS_USAGE;
	errno = 0;
	long long value = strtoll(text, &stop, 10);
	if (errno)
		return WS_USAGE;
	*out = value;
	*end = stop;
	return WS_OK;
}

bool ws_size_parse(const char *text, int64_t *bytes)
{
	static const char units[] = "KMG";
	int64_t number = 0;
	const char *end, *unit;
	int shift = 0;

	if (parse_int(text, &end, &number) != WS_OK)
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = (int)(unit - units + 1) * 10;
		end++;
	}
	if (*end || number > INT64_MAX >> shift)
		return false;
	*bytes = number << shift;
	return true;
}

/* Read a number of any kind into its target. */
static bool take_number(const struct ws_opt *opt, const char *text)
{
	int64_t number = 0;
	const char *stop;
	char *end;

	if (opt->kind == WS_OPT_REAL || opt->kind == WS_OPT_SECONDS) {
		const double real = strtod(text, &end);

		if (opt->kind == WS_OPT_SECONDS && end != text && *end == 's')
			end++; /* 60s is 60 */
		if (end == text || *end || !isfinite(real))
			return false;
		if (opt->kind == WS_OPT_REAL) {
			*(double *)opt->target = real;
			return !opt->max || (real >= (double)opt->min && real <= (double)opt->max);
		}
		if (!(real >= 0 && real <= MAX_SECONDS))
			return false;
		number = llround(real * 1e9);
	} else if (opt->kind == WS_OPT_SIZE) {
		if (!ws_size_parse(text, &number))
			return false;
	} else if (parse_int(text, &stop, &number) != WS_OK || *stop) {
		return false;
	}
	*(int64_t *)opt->target = number;
	return number >= opt->min && (!opt->max || number <= opt->max);
}

/* The i-th value of a CHOICE and its length, NULL after the last. */
static const char *choice_at(const struct ws_opt *opt, int i, size_t *len)
{
	const char *name = opt->choice ? opt->choice((int)opt->min + i) : opt->arg;

	while (!opt->choice && i-- && name) {
		name = strchr(name, '|');
		if (name)
			name++;
	}
	*len = name ? strcspn(name, "|") : 0;
	return name;
}

/* "text, csv or json" */
static const char *list_choices(const struct ws_opt *opt, char text[MAX_CHOICES])
{
	size_t used = 0, len, next_len;
	const char *name, *next;

	*text = '\0';
	for (int i = 0; (name = choice_at(opt, i, &len)) && used < MAX_CHOICES; i++) {
		next = choice_at(opt, i + 1, &next_len);
		used += (size_t)snprintf(text + used, MAX_CHOICES - used, "%s%.*s",
		                         !i     ? ""
		                         : next ? ", "
		                                : " or ",
		                         (int)len, name);
	}
	return text;
}

static enum ws_status set_value(const struct ws_opt *opt, const char *text, struct ws_err *err)
{
	const bool is_size = opt->kind == WS_OPT_SIZE;
	char limits[64] = "", list[MAX_CHOICES];
	int64_t first = -1, last = -1;
	const char *name, *p = text;
	bool is_range;
	size_t len;

	switch (opt->kind) {
	case WS_OPT_FLAG:
		return WS_FAIL(err, USAGE, "--%s takes no value", opt->name);
	case WS_OPT_TEXT:
	case WS_OPT_TEXTS:
		WS_FAIL_IF(!*text, err, USAGE, "--%s needs %s, not an empty word", opt->name,
		           opt->arg);
		if (opt->kind == WS_OPT_TEXTS) {
			struct ws_opt_texts *texts = opt->target;

			WS_FAIL_IF(texts->n == WS_OPT_TEXTS_MOST, err, USAGE,
			           "--%s is given over %d times", opt->name, WS_OPT_TEXTS_MOST);
			texts->text[texts->n++] = text;
			return WS_OK;
		}
		*(const char **)opt->target = text;
		return WS_OK;
	case WS_OPT_INT:
	case WS_OPT_REAL:
	case WS_OPT_SIZE:
	case WS_OPT_SECONDS:
		if (take_number(opt, text))
			return WS_OK;
		WS_FAIL_IF(opt->kind == WS_OPT_SECONDS, err, USAGE,
		           "--%s needs seconds %s 0, at most %g, not '%s'", opt->name,
		           opt->min ? "above" : "from", MAX_SECONDS, text);
		if (opt->max)
			snprintf(limits, sizeof(limits), " from %" PRId64 " to %" PRId64, opt->min,
			         opt->max);
		else if (opt->kind != WS_OPT_REAL)
			snprintf(limits, sizeof(limits), " from %" PRId64, opt->min);
		return WS_FAIL(err, USAGE, "--%s needs a %s%s%s, not '%s'", opt->name,
		               is_size                   ? "size in bytes"
		               : opt->kind == WS_OPT_INT ? "whole number"
		                                         : "number",
		               limits, is_size ? ", such as 4096, 64K or 1M" : "", text);
	case WS_OPT_CHOICE:
		for (int i = 0; (name = choice_at(opt, i, &len)); i++) {
			if (strlen(text) != len || memcmp(name, text, len) != 0)
				continue;
			*(int *)opt->target = (int)opt->min + i;
			return WS_OK;
		}
		return WS_FAIL(err, USAGE, "--%s needs %s, not '%s'", opt->name,
		               list_choices(opt, list), text);
	case WS_OPT_RANGE:
		is_range = *p == '.' || parse_int(p, &p, &first) == WS_OK;
		if (is_range && !*p && first >= 0) {
			last = first;
		} else {
			is_range = is_range && !strncmp(p, "..", 2);
			p += is_range ? 2 : 0;
			is_range = is_range && (!*p || (parse_int(p, &p, &last) == WS_OK && !*p)) &&
			           (first >= 0 || last >= 0) && (last < 0 || first <= last);
		}
		WS_FAIL_IF(!is_range, err, USAGE,
		           "--%s needs a range like 2..5, 2.., ..5 or 2, not '%s'", opt->name,
		           text);
		((int64_t *)opt->target)[0] = first;
		((int64_t *)opt->target)[1] = last;
		return WS_OK;
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

struct opt_list {
	const struct ws_opt *opts;
	size_t n;
};

static const char *opt_name(const void *ctx, size_t i)
{
	const struct opt_list *list = ctx;

	return i < list->n ? list->opts[i].name : NULL;
}

/* Options, commands and tables of earlier versions, and their replacements. */
static const char *const replaced[][2] = {
        {"merge", "a report reads the traces of all processes at once: warpsheet report A B"},
        {"repair", "reports read the intact data of a damaged trace as it is"},
        {"data", "steps train on synthetic data"},
        {"sweep-over-size", "use --table sweep-pivot --rows KEY --columns KEY --value COLUMN"},
        {"sweep-over-dtype", "use --table sweep-pivot --columns dtype --value COLUMN"},
        {"sweep-scaling", "use --table sweep-pivot --columns KEY --value COLUMN"},
};

enum ws_status ws_opt_unknown_name(const char *what, const char *word,
                                   const char *(*names)(const void *ctx, size_t i), const void *ctx,
                                   const char *cure, struct ws_err *err)
{
	const char *near = NULL, *name; /* near: the name most like word, NULL if none is */
	const char *dashes = strcmp(what, "option") ? "" : "--";
	size_t len = strlen(word), best_distance = SIZE_MAX;

	for (size_t i = 0; len && len <= WORD_MAX_LEN && (name = names(ctx, i)); i++) {
		size_t n = strlen(name), d;

		if (n > WORD_MAX_LEN)
			continue;
		d = distance(word, len, name, n);
		if (d < best_distance && d * 3 <= (n > len ? n : len)) {
			best_distance = d;
			near = name;
		}
	}
	for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced); i++)
		if (!strcmp(word, replaced[i][0]))
			near = NULL, cure = replaced[i][1];
	return WS_FAIL(err, USAGE, "unknown %s %s%s%s%s%s%s%s%s", what, dashes, word,
	               near ? " (did you mean " : "", near ? dashes : "", near ? near : "",
	               near ? "?)" : "", cure ? "; " : "", cure ? cure : "");
}

enum ws_status ws_opt_unknown(const struct ws_opt *opts, size_t nopts, const char *word,
                              struct ws_err *err)
{
	const struct opt_list list = {opts, nopts};
	char name[256];

	WS_FAIL_IF(strncmp(word, "--", 2) != 0, err, USAGE, "unknown option %s", word);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	return ws_opt_unknown_name("option", name, opt_name, &list, NULL, err);
}

/* --- parsing ------------------------------------------------------------------ */

static const struct ws_opt *find_long(const struct ws_opt_parser *p, const char *name, size_t len)
{
	for (size_t i = 0; i < p->nopts; i++)
		if (strlen(p->opts[i].name) == len && !strncmp(p->opts[i].name, name, len))
			return &p->opts[i];
	return NULL;
}

static enum ws_status take_value(struct ws_opt_parser *p, const struct ws_opt *opt,
                                 const char *attached, struct ws_err *err)
{
	char list[MAX_CHOICES];

	if (!attached) {
		WS_FAIL_IF(p->pos >= p->argc, err, USAGE, "--%s needs a value: %s", opt->name,
		           opt->kind == WS_OPT_CHOICE ? list_choices(opt, list) : opt->arg);
		attached = p->argv[p->pos++];
	}
	return set_value(opt, attached, err);
}

enum ws_status ws_opt_take(struct ws_opt_parser *p, const struct ws_opt **taken, struct ws_err *err)
{
	const char *word = p->argv[p->pos];

	*taken = NULL;
	if (word[0] != '-' || !word[1])
		return WS_OK;
	/* -o FILE, -oFILE; flags may be joined: -hv. *taken: the last one. */
	if (word[1] != '-') {
		for (const char *letter = word + 1; *letter; letter++) {
			const struct ws_opt *one = NULL;

			for (size_t i = 0; i < p->nopts && !one; i++)
				if (p->opts[i].letter == *letter)
					one = &p->opts[i];
			if (!one && letter == word + 1)
				return WS_OK;
			WS_FAIL_IF(!one, err, USAGE, "unknown option -%c", *letter);
			if (letter == word + 1)
				p->pos++;
			*taken = one;
			if (one->given)
				*one->given = true;
			if (one->kind != WS_OPT_FLAG)
				return take_value(p, one, letter[1] ? letter + 1 : NULL, err);
			*(bool *)one->target = true;
		}
		return WS_OK;
	}
	const char *name = word + 2;
	const size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	const struct ws_opt *opt = find_long(p, name, len);
	bool on = true;

	if (!opt && len > 3 && !strncmp(name, "no-", 3)) {
		opt = find_long(p, name + 3, len - 3);
		if (opt && opt->kind != WS_OPT_FLAG)
			opt = NULL;
		on = false;
	}
	*taken = opt;
	if (!opt)
		return WS_OK;
	p->pos++;
	if (opt->kind != WS_OPT_FLAG)
		WS_FORWARD(take_value(p, opt, value ? value : opt->bare, err));
	else if (value)
		WS_FORWARD(set_value(opt, value, err));
	else
		*(bool *)opt->target = on;
	if (opt->given)
		*opt->given = true;
	return WS_OK;
}

enum ws_status ws_opt_parse(const struct ws_opt *opts, size_t nopts, int argc, char **argv,
                            int *narguments, struct ws_err *err)
{
	struct ws_opt_parser p = {opts, nopts, argv, argc, 0};
	const struct ws_opt *taken;
	int n = 0;

	while (p.pos < argc) {
		char *word = argv[p.pos];

		if (!strcmp(word, "--")) {
			while (++p.pos < argc)
				argv[n++] = argv[p.pos];
			break;
		}
		WS_FORWARD(ws_opt_take(&p, &taken, err));
		if (taken)
			continue;
		if (word[0] == '-' && word[1])
			return ws_opt_unknown(opts, nopts, word, err);
		argv[n++] = argv[p.pos++];
	}
	*narguments = n;
	return WS_OK;
}

bool ws_opt_asks_help(int argc, char *const *argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

/* --- help --------------------------------------------------------------------- */

void ws_opt_print_help(FILE *f, const struct ws_opt *opts, size_t nopts)
{
	for (size_t i = 0; i < nopts; i++) {
		const struct ws_opt *opt = &opts[i];
		const char *line = opt->help;
		int n = opt->letter ? fprintf(f, "  -%c, ", opt->letter) : fprintf(f, "      ");

		n += fprintf(f, "--%s%s%s%s", opt->name,
		             opt->bare  ? "[="
		             : opt->arg ? " "
		                        : "",
		             opt->arg ? opt->arg : "", opt->bare ? "]" : "");
		if (n + 2 > HELP_COLUMN) {
			fputc('\n', f);
			n = 0;
		}
		for (;;) {
			/* the next line: up to a newline, or as many words as fit */
			size_t len = strcspn(line, "\n");
			const char *space =
			        len > HELP_WIDTH ? ws_last_byte(line, ' ', HELP_WIDTH + 1) : NULL;

			len = space ? (size_t)(space - line) : len;
			fprintf(f, "%*s%.*s\n", HELP_COLUMN - n, "", (int)len, line);
			if (!line[len])
				break;
			line += len + 1;
			n = 0;
		}
	}
}
