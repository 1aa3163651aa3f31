#include "report/kernel_info/demangle.h"

#include <stdbool.h>
#include <string.h>

#ifdef WS_HAVE_LIBIBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>

struct sink {
	struct ws_buf *out;
	size_t len; /* appended so far */
	jmp_buf too_long;
};

/*
 * The library has no way to be told to stop, but it neither allocates nor
 * locks on this path (it is what handlers of fatal errors call), so nothing
 * is lost by jumping out of it.
 */
static void collect(const char *text, size_t len, void *opaque)
{
	struct sink *sink = opaque;

	if (len > WS_DEMANGLED_MAX_BYTES - sink->len)
		longjmp(sink->too_long, 1);
	memcpy(sink->out->data + sink->out->len + sink->len, text, len);
	sink->len += len;
}

/* 1 when sink holds the whole signature. */
static int signature(const char *mangled, struct sink *sink)
{
	if (setjmp(sink->too_long))
		return 0;
	/* without NO_RECURSE_LIMIT names over 1 KiB are refused, CUTLASS's among them */
	return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT,
	                                  collect, sink);
}

static bool is_mangled(const char *name, size_t len)
{
	return len > 2 && len <= WS_DEMANGLE_MAX_BYTES && !memcmp(name, "_Z", 2) &&
	       !memchr(name, '\0', len);
}

void ws_demangle(const char *name, size_t len, struct ws_buf *out)
{
	char mangled[WS_DEMANGLE_MAX_BYTES + 1];
	struct sink sink = {.out = out};

	if (!is_mangled(name, len)) {
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
