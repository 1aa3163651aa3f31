#include "report/base/names.h"

/* Names of anonymous namespaces by demanglers, in which brackets are part of the name. */
static const char *const anonymous[] = {"(anonymous namespace)", "<unnamed>"};
#define NANONYMOUS (sizeof(anonymous) / sizeof(*anonymous))
#define OPERATOR   "operator"

/* Do the bytes before p end in the keyword, so that '<' or '(' belongs to a name? */
static bool after_operator(const char *begin, const char *p)
{
	size_t k = strlen(OPERATOR);

	while (p > begin && (p[-1] == '<' || p[-1] == '>'))
		p--;
	return (size_t)(p - begin) >= k && !memcmp(p - k, OPERATOR, k);
}

/* Maximum depth of round brackets in template arguments. */
#define ROUND_MAX 32

/* A position in a name: depth of template arguments, and the depths at which open round brackets
 * began. */
struct place {
	const char *begin, *p, *end;
	unsigned depth;
	unsigned round[ROUND_MAX], nround;
};

static struct place at_begin(struct ws_bytes name)
{
	return (struct place){.begin = name.ptr,
	                      .p = name.ptr,
	                      .end = (const char *)name.ptr + name.len};
}

/* Length of the next piece at the position; 0 at the parameters and at the end. */
static size_t next_piece(struct place *at)
{
	const char *p = at->p;

	if (p == at->end)
		return 0;
	for (size_t i = 0; i < NANONYMOUS && !at->depth; i++)
		if (ws_name_begins(p, at->end, anonymous[i]))
			return strlen(anonymous[i]);
	if (*p == '(' && !at->depth)
		return after_operator(at->begin, p) && ws_name_begins(p, at->end, "()") ? 2 : 0;
	if (at->depth) {
		/* Inside template arguments, a '>' in its own round brackets is an operator:
		 * <((8)>(0)), void>. */
		const unsigned began = at->nround ? at->round[at->nround - 1] : 0;

		if (*at->p == '(' && at->nround < ROUND_MAX)
			at->round[at->nround++] = at->depth;
		else if (*at->p == ')' && at->nround)
			at->depth = at->round[--at->nround];
		else if (*at->p == '<')
			at->depth++;
		else if (*at->p == '>' && at->p[-1] != '-' && at->depth > began)
			at->depth--;
	} else if (*p == '<' && !after_operator(at->begin, p))
		at->depth = 1;
	return 1;
}

struct ws_bytes ws_name_signature(struct ws_bytes name)
{
	struct place at = at_begin(name);
	const char *begin = at.begin;
	size_t n;
	bool is_c = false;

	if (ws_name_begins(at.p, at.end, "void "))
		begin = at.begin = at.p += strlen("void ");
	for (; (n = next_piece(&at)); at.p += n) {
		is_c |= at.depth > 0;
		/* a blank ends a return type, but not in "operator new" and in plain texts */
		if (*at.p == ' ' && !at.depth && !after_operator(at.begin, at.p) &&
		    at.p + 1 < at.end && (ws_name_is_word(at.p[1]) || at.p[1] == '('))
			begin = at.p + 1;
	}
	is_c |= at.p < at.end;
	if (!is_c)
		begin = at.begin;
	while (at.p > begin && at.p[-1] == ' ')
		at.p--;
	return at.p > begin ? (struct ws_bytes){begin, (size_t)(at.p - begin)} : name;
}

size_t ws_name_function(struct ws_bytes name, char *out)
{
	struct place at = at_begin(ws_name_signature(name));
	size_t n, written = 0;

	for (;; at.p += n) {
		const unsigned before = at.depth;

		n = next_piece(&at);
		if (!n)
			break;
		if (before || at.depth)
			continue;
		memcpy(out + written, at.p, n);
		written += n;
	}
	while (written && out[written - 1] == ' ')
		written--;
	if (!written && name.len) {
		memcpy(out, name.ptr, name.len);
		written = name.len;
	}
	return written;
}

struct ws_bytes ws_name_last_part(struct ws_bytes name)
{
	const char *p = name.ptr, *end = p + name.len, *at = end;

	while (at > p && at[-1] != ':')
		at--;
	return (struct ws_bytes){at, (size_t)(end - at)};
}

enum ws_name_frame ws_name_frame(struct ws_bytes function)
{
	/* of PyTorch, Apex, cub and rocPRIM */
	static const char *const frames[] = {"elementwise_kernel_manual_unroll",
	                                     "elementwise_kernel_with_index",
	                                     "unrolled_elementwise_kernel_for_multi_outputs",
	                                     "multi_tensor_apply_kernel",
	                                     "distribution_elementwise_grid_stride_kernel",
	                                     "reduce_kernel",
	                                     "trampoline_kernel"};
	static const char *const wrappers[] = {"Kernel", "Kernel2", "device_kernel", "kentry"};
	static const char elementwise[] = "elementwise_kernel";
	struct ws_bytes last = ws_name_last_part(function);
	size_t n = sizeof(elementwise) - 1;

	if (WS_NAME_IS_ONE_OF(last, wrappers))
		return WS_NAME_WRAPPER;
	if (WS_NAME_IS_ONE_OF(last, frames) ||
	    (last.len >= n && !memcmp((const char *)last.ptr + last.len - n, elementwise, n)))
		return WS_NAME_FRAME;
	return WS_NAME_NO_FRAME;
}
