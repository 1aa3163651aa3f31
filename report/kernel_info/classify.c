#include "report/kernel_info/classify.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "formats/base/strtab.h"
#include "formats/base/xalloc.h"
#include "report/base/expression.h"
#include "report/kernel_info/demangle.h"
#include "report/base/signature.h"
#include "report/kernel_info/text_lines.h"

static const char builtin_rules[] = {
#include "class_rules.inc"
};

enum attribute { ATTR_CLASS, ATTR_TENSOR, ATTR_DIRECTION, ATTR_DTYPE, ATTR_COUNT };

static const char *const class_names[] = {
#define X(NAME, name, SUMMARY, meaning) [WS_CLASS_##NAME] = #name,
        WS_OP_CLASS_LIST(X)
#undef X
};
static const char *const tensor_names[] = {
#define X(NAME, name, shown) [WS_TENSOR_##NAME] = #name,
        WS_TENSOR_LIST(X)
#undef X
};
static const char *const direction_names[] = {
#define X(NAME, name) [WS_NAME_DIRECTION_##NAME] = #name,
        WS_NAME_DIRECTION_LIST(X)
#undef X
};
static const char *const dtype_names[] = {
#define X(NAME, name) [WS_NAME_DTYPE_##NAME] = #name,
        WS_NAME_DTYPE_LIST(X)
#undef X
};

/* What a rule may say, and what holds where no rule matches. */
static const struct {
	const char *name;
	const char *const *values;
	int nvalues;
	int otherwise;
} attributes[ATTR_COUNT] = {
        [ATTR_CLASS] = {"class", class_names, WS_CLASS_COUNT, WS_CLASS_OTHER},
        [ATTR_TENSOR] = {"tensor", tensor_names, WS_TENSOR_COUNT, WS_TENSOR_UNKNOWN},
        [ATTR_DIRECTION] = {"direction", direction_names, WS_NAME_DIRECTION_COUNT,
                            WS_NAME_DIRECTION_UNKNOWN},
        [ATTR_DTYPE] = {"dtype", dtype_names, WS_NAME_DTYPE_COUNT, WS_NAME_DTYPE_NONE},
};

struct rule {
	enum attribute attribute;
	int value;
	unsigned line; /* in its file, from 1 */
	bool is_users;
	char *pattern;
	bool is_compiled; /* else at the first name that gets so far: most traces need few of them
	                   */
	regex_t regex;
};

struct ws_classifier {
	struct rule *rules;
	size_t nrules, rules_capacity;
	locale_t locale; /* "C": what a pattern matches must not depend on the user's language */
	struct ws_strtab names;          /* seen so far: id - 1 is the index into traits */
	struct ws_kernel_traits *traits; /* ntraits */
	size_t ntraits, traits_capacity;
	struct ws_buf demangled;
};

/* --- rules ------------------------------------------------------------------- */

static int attribute_of(struct ws_text word)
{
	for (int a = 0; a < ATTR_COUNT; a++)
		if (ws_text_is(word, attributes[a].name))
			return a;
	return -1;
}

static int value_of(enum attribute attribute, struct ws_text word)
{
	for (int v = 0; v < attributes[attribute].nvalues; v++)
		if (ws_text_is(word, attributes[attribute].values[v]))
			return v;
	return -1;
}

static enum ws_status compile(struct rule *r, struct ws_err *err)
{
	int error = ws_expression_compile(&r->regex, r->pattern);
	char why[128];

	r->is_compiled = !error;
	if (!error)
		return WS_OK;
	regerror(error, &r->regex, why, sizeof(why));
	return WS_FAIL(err, USAGE, "class rules, line %u: %s in '%.100s'", r->line, why,
	               r->pattern);
}

static enum ws_status parse_rule(struct rule *r, struct ws_text line, struct ws_err *err)
{
	struct ws_text attribute = ws_text_word(&line), value = ws_text_word(&line);
	int a = attribute_of(attribute), v;

	WS_FAIL_IF(a < 0, err, USAGE,
	           "class rules, line %u: '%.*s' is not one of class, tensor, direction, dtype",
	           r->line, WS_TEXT_SHOWN(attribute));
	v = value_of((enum attribute)a, value);
	WS_FAIL_IF(v < 0, err, USAGE, "class rules, line %u: '%.*s' is not a value of %s", r->line,
	           WS_TEXT_SHOWN(value), attributes[a].name);
	WS_FAIL_IF(line.pos == line.end, err, USAGE,
	           "class rules, line %u: no pattern after '%.*s'", r->line, WS_TEXT_SHOWN(value));
	WS_FAIL_IF(memchr(line.pos, '\0', (size_t)(line.end - line.pos)), err, USAGE,
	           "class rules, line %u: a NUL byte in the pattern", r->line);

	r->attribute = (enum attribute)a;
	r->value = v;
	r->pattern = ws_xstrndup(line.pos, (size_t)(line.end - line.pos));
	return WS_OK;
}

/* Append the rules of a text. Runs in the C locale. */
static enum ws_status add_rules(struct ws_classifier *c, const char *bytes, size_t len,
                                int from_user, struct ws_err *err)
{
	struct ws_text text = {bytes, bytes + len};

	for (unsigned n = 1; text.pos < text.end; n++) {
		struct ws_text line = ws_text_line(&text);

		if (ws_text_says_nothing(line))
			continue;
		WS_FAIL_IF(c->nrules == WS_RULES_MAX, err, USAGE,
		           "class rules, line %u: more than %u rules", n, WS_RULES_MAX);
		WS_GROW(c->rules, c->nrules + 1, c->rules_capacity);
		c->rules[c->nrules] = (struct rule){.line = n, .is_users = from_user};
		WS_FORWARD(parse_rule(&c->rules[c->nrules], line, err));
		c->nrules++;
		/* the user is told at once; the others are known to be right */
		if (from_user)
			WS_FORWARD(compile(&c->rules[c->nrules - 1], err));
	}
	return WS_OK;
}

enum ws_status ws_classifier_new(const char *user_rules, size_t len, struct ws_classifier **out,
                                 struct ws_err *err)
{
	struct ws_classifier *c;
	enum ws_status status;
	locale_t before;

	*out = NULL;
	WS_FAIL_IF(user_rules && len > WS_RULES_MAX_BYTES, err, USAGE,
	           "class rules: %zu bytes, more than %u", len, WS_RULES_MAX_BYTES);
	c = ws_xarray(1, sizeof(*c));
	c->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	before = uselocale(c->locale);
	status = user_rules ? add_rules(c, user_rules, len, 1, err) : WS_OK;
	WS_THEN(status, add_rules(c, builtin_rules, sizeof(builtin_rules), 0, err));
	uselocale(before);
	if (status != WS_OK) {
		ws_classifier_free(c);
		return status;
	}
	*out = c;
	return WS_OK;
}

void ws_classifier_free(struct ws_classifier *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nrules; i++) {
		if (c->rules[i].is_compiled)
			regfree(&c->rules[i].regex);
		free(c->rules[i].pattern);
	}
	free(c->rules);
	freelocale(c->locale);
	ws_strtab_free(&c->names);
	free(c->traits);
	ws_buf_free(&c->demangled);
	free(c);
}

/* --- a name ------------------------------------------------------------------ */

/* Class of ws_<class>_…, or -1. The longest class counts: conv_aux before conv. */
static int own_class(const char *name)
{
	size_t best_len = 0;
	int best = -1;

	if (strncmp(name, "ws_", 3))
		return -1;
	for (int i = 0; i < WS_CLASS_COUNT; i++) {
		size_t len = strlen(class_names[i]);

		if (len > best_len && !strncmp(name + 3, class_names[i], len) &&
		    name[3 + len] == '_') {
			best_len = len;
			best = i;
		}
	}
	return best;
}

/* What the first rule about an attribute says that matches: the user's are searched in the name,
 * ours in what counts of it. */
static int decide(struct ws_classifier *c, enum attribute attribute, const char *name,
                  const char *counts)
{
	ws_expression_reserve();
	for (size_t i = 0; i < c->nrules; i++) {
		struct rule *r = &c->rules[i];

		if (r->attribute != attribute)
			continue;
		/* the rules of the user are compiled, ours are known to be right */
		if (!r->is_compiled && compile(r, NULL) != WS_OK)
			ws_out_of_memory(sizeof(r->regex));
		if (ws_expression_matches(&r->regex, r->is_users ? name : counts))
			return r->value;
	}
	return attributes[attribute].otherwise;
}

/* name, function: normalised. Runs in the C locale. */
static void apply_rules(struct ws_classifier *c, const char *name, const char *function,
                        struct ws_kernel_traits *out)
{
	int own = own_class(name);

	memset(out, 0, sizeof(*out));
	out->op_class = (enum ws_op_class)(own < 0 ? decide(c, ATTR_CLASS, name, function) : own);
	out->direction = (enum ws_name_direction)decide(c, ATTR_DIRECTION, name, name);
	out->dtype = (enum ws_name_dtype)decide(c, ATTR_DTYPE, name, name);
	out->tensor = WS_TENSOR_NOT_APPLICABLE;
	if (out->op_class == WS_CLASS_GEMM || out->op_class == WS_CLASS_CONV ||
	    out->op_class == WS_CLASS_ATTENTION)
		out->tensor = (enum ws_tensor)decide(c, ATTR_TENSOR, name, name);
	if (out->op_class == WS_CLASS_GEMM || out->op_class == WS_CLASS_CONV)
		ws_name_parse(name, out);
}

/*
 * What of a demangled name tells the class: the function's name and namespace, and of a frame the
 * template arguments, which name the function that it runs. Never parameters or a return type: a
 * kernel that is handed a random state draws no numbers by that.
 */
static void normalise_function(struct ws_bytes name, char *out, size_t size)
{
	char *function = ws_xmalloc(name.len + 1);
	struct ws_bytes counts = {function, ws_name_function(name, function)};

	if (ws_name_frame(counts) != WS_NAME_NO_FRAME)
		counts = ws_name_signature(name);
	ws_name_normalise(counts.ptr, counts.len, out, size);
	free(function);
}

void ws_classify(struct ws_classifier *c, const char *name, size_t len,
                 struct ws_kernel_traits *out)
{
	uint64_t id = ws_strtab_find(&c->names, name, len);
	char normal[WS_CLASSIFY_BYTES + 1], function[WS_CLASSIFY_BYTES + 1];
	struct ws_bytes readable;
	locale_t before;

	if (id) {
		*out = c->traits[id - 1];
		return;
	}
	WS_GROW(c->traits, c->ntraits + 1, c->traits_capacity);
	c->demangled.len = 0;
	ws_demangle(name, len, &c->demangled);
	readable = (struct ws_bytes){c->demangled.data, c->demangled.len};
	ws_name_normalise(readable.ptr, readable.len, normal, sizeof(normal));
	normalise_function(readable, function, sizeof(function));

	before = uselocale(c->locale);
	apply_rules(c, normal, function, out);
	uselocale(before);
	ws_strtab_add(&c->names, name, len);
	c->traits[c->ntraits++] = *out;
}

/* --- names of values --------------------------------------------------------- */

const char *ws_op_class_name(enum ws_op_class op_class)
{
	return class_names[op_class];
}

const char *ws_tensor_shown(enum ws_tensor tensor)
{
	static const char *const texts[] = {
#define X(NAME, name, shown_as) [WS_TENSOR_##NAME] = shown_as,
	        WS_TENSOR_LIST(X)
#undef X
	};

	return texts[tensor];
}

const char *ws_name_dtype_name(enum ws_name_dtype dtype)
{
	return dtype_names[dtype];
}
