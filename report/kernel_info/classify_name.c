#include "report/kernel_info/classify.h"

#include <stdbool.h>
#include <string.h>

#include "report/base/names.h"

/* --- the form that patterns see ---------------------------------------------- */

/* Text as recorded (any letter case) and what patterns see of it. Longest first where one starts
 * another. */
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

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'f');
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
	for (int i = 0; i < 8 && q < end && is_hex(*q); i++)
		q++;
	return (size_t)(q - p);
}

/* What of p is replaced, and by what; NULL when nothing is. */
static const char *replacement(const char *p, const char *end, size_t *len)
{
	for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced); i++) {
		if (starts_with(p, end, replaced[i].from)) {
			*len = strlen(replaced[i].from);
			return replaced[i].to;
		}
	}
	*len = anonymous_id(p, end);
	return *len ? "anon" : NULL;
}

size_t ws_name_normalise(const char *name, size_t len, char *out, size_t size)
{
	const char *p = name, *end = name + len;
	size_t n = 0;

	if (starts_with(p, end, "void "))
		p += strlen("void ");
	while (p < end && n + 1 < size) {
		size_t taken;
		const char *to = replacement(p, end, &taken);

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

/* The decimal number at *p, which moves behind it; 0 when there is none or it is absurd. */
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
 * xmma says tilesizeMxNxK, Tensile _MTMxNxK, MIOpen's igemm _btMxNxK, trtllm-gen's
 * bmm tMxNxK; all others write MxN between
 * underscores, and before any other such pair (_64x4 = K and stages). Pairs
 * that follow a letter are an instruction's or a cluster's shape. A tile has
 * at least 8 rows and columns, which tells it from filter sizes (_1x1_).
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

/* "_align4" of CUTLASS, "_aligna4_alignc4" of xmma: the least of them. */
static void parse_align(const char *name, struct ws_kernel_traits *out)
{
	static const char word[] = "_align";

	for (const char *p = strstr(name, word); p; p = strstr(p, word)) {
		unsigned v;

		p += strlen(word);
		if (*p >= 'a' && *p <= 'c')
			p++;
		v = number(&p);
		if (v && (!out->align || v < out->align))
			out->align = v;
	}
}

static bool is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

static void parse_arch(const char *name, struct ws_kernel_traits *out)
{
	static const struct {
		const char *word;
		unsigned arch; /* 0: the number that follows */
	} words[] = {
	        {"maxwell_", 50}, {"pascal_", 60}, {"volta_", 70},  {"turing_", 75},
	        {"ampere_", 80},  {"sm", 0},       {"cutlass_", 0},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		for (const char *p = strstr(name, words[i].word); p;
		     p = strstr(p + 1, words[i].word)) {
			const char *q = p + strlen(words[i].word);
			unsigned v = words[i].arch;

			if (p > name && is_letter(p[-1]))
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

void ws_name_parse(const char *name, struct ws_kernel_traits *out)
{
	parse_tile(name, out);
	parse_align(name, out);
	parse_arch(name, out);
}
