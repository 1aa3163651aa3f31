/* Classifies a kernel by its name: demangles it, normalises it, and applies the rules of
 * class_rules.txt. */
#include "report/kernel_info/classify.h"
#include "formats/base/system/libc.h"
#include "report/base/names.h"

/*
 * Traits of a kernel name, mangled or not, any bytes. Each distinct name is classified once. Only
 * the first WS_CLASSIFY_BYTES of the normalised name are used, because matching a pattern can take
 * quadratic time.
 */
#define WS_CLASSIFY_BYTES 4096u

/* --- demangled names ------------------------------------------------------------------------- */

#ifdef WS_HAVE_LIBIBERTY

#include <libiberty/demangle.h>

struct sink {
	struct ws_buf *out;
	size_t len; /* appended so far */
	bool is_full;
	ws_jump_place too_long;
};

/*
 * The library cannot be interrupted by its interface. It neither allocates nor locks here (handlers
 * of fatal errors call it, too), so jumping out of it leaks nothing.
 */
static void collect(const char *text, size_t len, void *opaque)
{
	struct sink *sink = opaque;

	sink->is_full |= len > WS_DEMANGLED_MAX_BYTES - sink->len;
	if (sink->is_full) {
		ws_jump(sink->too_long); /* not in WebAssembly, which continues to the end */
		return;
	}
	memcpy(sink->out->data + sink->out->len + sink->len, text, len);
	sink->len += len;
}

/* 1 if sink has the whole signature. */
static int signature(const char *mangled, struct sink *sink)
{
	if (ws_jump_here(sink->too_long))
		return 0;
	/* without NO_RECURSE_LIMIT names over 1 KiB are refused, CUTLASS's among them */
	return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT,
	                                  collect, sink) &&
	       !sink->is_full;
}

void ws_demangle(const char *name, size_t len, struct ws_buf *out)
{
	char mangled[WS_DEMANGLE_MAX_BYTES + 1];
	struct sink sink = {.out = out};

	if (len <= 2 || len > WS_DEMANGLE_MAX_BYTES || memcmp(name, "_Z", 2) != 0 ||
	    memchr(name, '\0', len)) {
		ws_buf_put(out, name, len);
		return;
	}

	memcpy(mangled, name, len);
	mangled[len] = '\0';
	ws_buf_reserve(out, WS_DEMANGLED_MAX_BYTES);
	if (!signature(mangled, &sink) || !sink.len) {
		ws_buf_put(out, name, len);
		return;
	}
	out->len += sink.len;
}

#else

void ws_demangle(const char *name, size_t len, struct ws_buf *out)
{
	ws_buf_put(out, name, len);
}

#endif

/* --- normalisation ---------------------------------------------- */

/* Recorded text (any letter case) and its replacement. A text that begins with another one comes
 * before it. */
static const struct {
	const char *from, *to;
} replaced[] = {
        {"(anonymous namespace)", "anon"},
        {"<unnamed>", "anon"},
        {"(unsigned long)", ""},
        {"(unsigned int)", ""},
        {"(int)", ""},
        {"(bool)", ""},
        {"(long)", ""},
        {"fbgemm_gpu", "fb_gpu"},
        {"fp8kvcachedatatype", "kvtype"},
        {"nv_fp8_interpretation_t", "kind"},
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool starts_with(const char *p, const char *end, const char *what)
{
	for (; *what; what++, p++)
		if (p == end || lower(*p) != *what)
			return false;
	return true;
}

/*
 * "_GLOBAL__N__5cd812b1_7_Loss_cu_5b0651e1": how nvcc mangles an anonymous
 * namespace. The file's name in it must not decide the class; the function's
 * name follows without a separator.
 */
static size_t anonymous_id(const char *p, const char *end)
{
	static const char prefix[] = "_global__n_", mark[] = "_cu_";
	const char *q = p + strlen(prefix);

	if (!starts_with(p, end, prefix))
		return 0;
	while (q < end && ws_name_is_word(*q) && !starts_with(q, end, mark))
		q++;
	if (q == end || !ws_name_is_word(*q))
		return strlen(prefix);
	q += strlen(mark);
	for (int i = 0; i < 8 && q < end; i++, q++)
		if (!(*q >= '0' && *q <= '9') && !(lower(*q) >= 'a' && lower(*q) <= 'f'))
			break;
	return (size_t)(q - p);
}

size_t ws_name_normalise(const char *name, size_t len, char *out, size_t size)
{
	const char *p = name, *end = name + len;
	size_t n = 0;

	if (starts_with(p, end, "void "))
		p += strlen("void ");
	while (p < end && n + 1 < size) {
		const char *to = NULL;
		size_t taken = 0;

		for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced) && !to; i++)
			if (starts_with(p, end, replaced[i].from)) {
				taken = strlen(replaced[i].from);
				to = replaced[i].to;
			}
		if (!to && (taken = anonymous_id(p, end)))
			to = "anon";
		if (!to) {
			out[n++] = *p ? lower(*p) : ' ';
			p++;
			continue;
		}
		p += taken;
		while (*to && n + 1 < size)
			out[n++] = *to++;
	}
	out[n] = '\0';
	return n;
}

/* --- numbers in a name --------------------------------------------------------- */

/* Reads the decimal number at *p and advances *p; 0 if there is none or it is implausible. */
static unsigned number(const char **p)
{
	unsigned v = 0;

	for (; **p >= '0' && **p <= '9'; ++*p)
		v = v < 100000 ? v * 10 + (unsigned)(**p - '0') : v;
	return v < 100000 ? v : 0;
}

/* "256x128" at p. */
static bool pair_at(const char *p, unsigned *m, unsigned *n)
{
	*m = number(&p);
	if (!*m || *p != 'x')
		return false;
	p++;
	*n = number(&p);
	return *n != 0;
}

/*
 * xmma says tilesizeMxNxK, Tensile _MTMxNxK, MIOpen's igemm _btMxNxK, trtllm-gen's bmm tMxNxK; all
 * others write MxN between underscores, and before any other such pair (_64x4 = K and stages).
 * Pairs that follow a letter are an instruction's or a cluster's shape. A tile has at least 8 rows
 * and columns, unlike filter sizes (_1x1_).
 */
static void parse_tile(const char *name, struct ws_kernel_traits *out)
{
	static const char *const words[] = {"tilesize", "_mt", "_bt"};
	const char *p;
	unsigned m, n;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		p = strstr(name, words[i]);
		if (p && pair_at(p + strlen(words[i]), &m, &n)) {
			out->tile_m = m;
			out->tile_n = n;
			return;
		}
	}
	for (p = strchr(name, '_'); p; p = strchr(p + 1, '_')) {
		const char *q = p + 1 + (p[1] == 't' && !strncmp(name, "bmm_", 4));

		if (pair_at(q, &m, &n) && m >= 8 && n >= 8) {
			out->tile_m = m;
			out->tile_n = n;
			return;
		}
	}
}

static void parse_arch(const char *name, struct ws_kernel_traits *out)
{
	static const struct {
		const char *word;
		unsigned arch; /* 0: the following number */
	} words[] = {
	        {"maxwell_", 50}, {"pascal_", 60}, {"volta_", 70},  {"turing_", 75},
	        {"ampere_", 80},  {"sm", 0},       {"cutlass_", 0},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		for (const char *p = strstr(name, words[i].word); p;
		     p = strstr(p + 1, words[i].word)) {
			const char *q = p + strlen(words[i].word);
			unsigned v = words[i].arch;

			if (p > name && p[-1] >= 'a' && p[-1] <= 'z')
				continue;
			if (!v)
				v = number(&q);
			if (v >= 50 && v < 1000) {
				out->arch = v;
				return;
			}
		}
	}
}

/* --- rules ----------------------------------------------------------------------------------- */

static const char builtin_rules[] = {
#include "class_rules.inc"
};

enum attribute { ATTR_CLASS, ATTR_TENSOR, ATTR_DIRECTION, ATTR_DTYPE, ATTR_CALL, ATTR_COUNT };

static const char *const class_names[] = {WS_OP_CLASS_LIST(WS_LIST_SECOND_NAME)};

static const char *const tensor_names[] = {WS_TENSOR_LIST(WS_LIST_SECOND_NAME)};

static const char *const direction_names[] = {WS_NAME_DIRECTION_LIST(WS_LIST_SECOND_NAME)};

static const char *const dtype_names[] = {WS_NAME_DTYPE_LIST(WS_LIST_SECOND_NAME)};

static const char *const call_names[] = {WS_NAME_CALL_LIST(WS_LIST_SECOND_NAME)};

/* Attributes of rules, with their values and the default. */
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
        [ATTR_CALL] = {"call", call_names, WS_NAME_CALL_COUNT, WS_NAME_CALL_OWN},
};

struct rule {
	enum attribute attribute;
	int value;
	unsigned line; /* in its file, from 1 */
	bool is_users;
	char *pattern;
	/* NULL until first used, because most traces need few rules */
	struct ws_expression *expression;
};

struct ws_classifier {
	struct rule *rules;
	size_t nrules, rules_capacity;
	struct ws_strtab names;          /* known names: id - 1 is the index into traits */
	struct ws_kernel_traits *traits; /* ntraits */
	size_t ntraits, traits_capacity;
	struct ws_buf demangled;
};

/* --- rules ------------------------------------------------------------------- */

static enum ws_status compile(struct rule *r, struct ws_err *err)
{
	struct ws_err cause;

	return ws_expression_new(&r->expression, r->pattern, &cause) == WS_OK
	               ? WS_OK
	               : WS_FAIL(err, USAGE, "class rules, line %u: %s", r->line, cause.text);
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
		struct rule *r = &c->rules[c->nrules];
		struct ws_text attribute = ws_text_word(&line), value = ws_text_word(&line);
		int a = 0, v = 0;

		while (a < ATTR_COUNT && !ws_text_is(attribute, attributes[a].name))
			a++;
		WS_FAIL_IF(a == ATTR_COUNT, err, USAGE,
		           "class rules, line %u: '%.*s' is not one of class, tensor, direction, "
		           "dtype, call",
		           r->line, WS_TEXT_SHOWN(attribute));
		while (v < attributes[a].nvalues && !ws_text_is(value, attributes[a].values[v]))
			v++;
		WS_FAIL_IF(v == attributes[a].nvalues, err, USAGE,
		           "class rules, line %u: '%.*s' is not a value of %s", r->line,
		           WS_TEXT_SHOWN(value), attributes[a].name);
		WS_FAIL_IF(line.pos == line.end, err, USAGE,
		           "class rules, line %u: no pattern after '%.*s'", r->line,
		           WS_TEXT_SHOWN(value));
		WS_FAIL_IF(memchr(line.pos, '\0', (size_t)(line.end - line.pos)), err, USAGE,
		           "class rules, line %u: a NUL byte in the pattern", r->line);

		r->attribute = (enum attribute)a;
		r->value = v;
		r->pattern = ws_xstrndup(line.pos, (size_t)(line.end - line.pos));
		c->nrules++;
		/* rules of the user are checked immediately; the built-in ones are tested */
		if (from_user)
			WS_FORWARD(compile(&c->rules[c->nrules - 1], err));
	}
	return WS_OK;
}

enum ws_status ws_classifier_new(const char *user_rules, size_t len, struct ws_classifier **out,
                                 struct ws_err *err)
{
	*out = NULL;
	WS_FAIL_IF(user_rules && len > WS_RULES_MAX_BYTES, err, USAGE,
	           "class rules: %zu bytes, more than %u", len, WS_RULES_MAX_BYTES);
	struct ws_classifier *c = ws_xarray(1, sizeof(*c));
	enum ws_status status = user_rules ? add_rules(c, user_rules, len, 1, err) : WS_OK;
	WS_THEN(status, add_rules(c, builtin_rules, sizeof(builtin_rules), 0, err));
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
		ws_expression_free(c->rules[i].expression);
		free(c->rules[i].pattern);
	}
	free(c->rules);
	ws_strtab_free(&c->names);
	free(c->traits);
	ws_buf_free(&c->demangled);
	free(c);
}

/* --- a name ------------------------------------------------------------------ */

/* The value of the first matching rule about an attribute: user rules search the whole name,
 * built-in rules only its relevant part. */
static int decide(struct ws_classifier *c, enum attribute attribute, const char *name,
                  const char *counts)
{
	ws_expression_reserve();
	for (size_t i = 0; i < c->nrules; i++) {
		struct rule *r = &c->rules[i];

		if (r->attribute != attribute)
			continue;
		/* user rules are compiled already, built-in rules are tested */
		if (!r->expression && compile(r, NULL) != WS_OK)
			ws_out_of_memory(sizeof(*r));
		if (ws_expression_matches(r->expression, r->is_users ? name : counts))
			return r->value;
	}
	return attributes[attribute].otherwise;
}

void ws_classify(struct ws_classifier *c, const char *name, size_t len,
                 struct ws_kernel_traits *out)
{
	uint64_t id = ws_strtab_find(&c->names, name, len);
	char normal[WS_CLASSIFY_BYTES + 1], function[WS_CLASSIFY_BYTES + 1];

	if (id) {
		*out = c->traits[id - 1];
		return;
	}
	WS_GROW(c->traits, c->ntraits + 1, c->traits_capacity);
	c->demangled.len = 0;
	ws_demangle(name, len, &c->demangled);
	struct ws_bytes readable = {c->demangled.data, c->demangled.len};
	ws_name_normalise(readable.ptr, readable.len, normal, sizeof(normal));
	/*
	 * The part for class rules: the function's name and namespace, and for a frame the template
	 * arguments, which name the function that it runs. Never parameters or a return type: a
	 * kernel with a random state as parameter may not draw random numbers.
	 */
	char *room = ws_xmalloc(readable.len + 1);
	struct ws_bytes counts = {room, ws_name_function(readable, room)};

	if (ws_name_frame(counts) != WS_NAME_NO_FRAME)
		counts = ws_name_signature(readable);
	ws_name_normalise(counts.ptr, counts.len, function, sizeof(function));
	free(room);
	/* the class of ws_<class>_…, or -1; the longest class counts: conv_aux before conv */
	size_t own_len = 0;
	int own = -1;

	for (int i = 0; i < WS_CLASS_COUNT && !strncmp(normal, "ws_", 3); i++) {
		const size_t class_len = strlen(class_names[i]);

		if (class_len > own_len && !strncmp(normal + 3, class_names[i], class_len) &&
		    normal[3 + class_len] == '_') {
			own_len = class_len;
			own = i;
		}
	}

	memset(out, 0, sizeof(*out));
	out->op_class = (enum ws_op_class)(own < 0 ? decide(c, ATTR_CLASS, normal, function) : own);
	out->direction = (enum ws_name_direction)decide(c, ATTR_DIRECTION, normal, normal);
	out->dtype = (enum ws_name_dtype)decide(c, ATTR_DTYPE, normal, normal);
	if (out->op_class == WS_CLASS_ATTENTION)
		out->call = (enum ws_name_call)decide(c, ATTR_CALL, normal, function);
	out->tensor = WS_TENSOR_NOT_APPLICABLE;
	if (out->op_class == WS_CLASS_GEMM || out->op_class == WS_CLASS_CONV ||
	    out->op_class == WS_CLASS_ATTENTION)
		out->tensor = (enum ws_tensor)decide(c, ATTR_TENSOR, normal, normal);
	if (out->op_class == WS_CLASS_GEMM || out->op_class == WS_CLASS_CONV) {
		/* Fill tile_m, tile_n, align and arch from the name of a gemm or conv. */
		parse_tile(normal, out);
		/* "_align4" of CUTLASS, "_aligna4_alignc4" of xmma: the least of them. */
		static const char word[] = "_align";

		for (const char *p = strstr(normal, word); p; p = strstr(p, word)) {
			p += strlen(word);
			if (*p >= 'a' && *p <= 'c')
				p++;
			unsigned v = number(&p);
			if (v && (!out->align || v < out->align))
				out->align = v;
		}
		parse_arch(normal, out);
	}
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
