#include "report/model/soundness.h"

#include "report/base/say.h"

const struct ws_law_def ws_law_defs[WS_LAWS] = {
#define X(ID, law, use) {law, use},
        WS_LAW_LIST(X)
#undef X
};

bool ws_is_sound(const struct ws_soundness *s)
{
	for (int law = 0; law < WS_LAWS; law++)
		if (ws_broken_count(&s->broken[law]))
			return false;
	return true;
}

const char *ws_broken_what(struct ws_arena *texts, const struct ws_soundness *s, enum ws_law law)
{
	const struct ws_broken_law *b = &s->broken[law];
	const bool is_launch = law == WS_LAW_LAUNCH_HAS_WORK;
	const struct {
		uint64_t n, judged;
		const char *singular, *plural;
	} parts[] = {{b->kernels, b->judged, "kernel", "kernels"},
	             {b->calls, b->judged, is_launch ? "launch" : "record of the host",
	              is_launch ? "launches" : "records of the host"},
	             {b->copies, 0, "copy", "copies"}};
	const char *out = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const uint64_t n = parts[i].n, all = parts[i].judged;

		if (n)
			out = ws_arena_format(texts, "%s%s%s%s%s %s", out, *out ? ", " : "",
			                      ws_say_number(texts, (double)n), all ? " of " : "",
			                      all ? ws_say_number(texts, (double)all) : "",
			                      (all ? all : n) == 1 ? parts[i].singular
			                                           : parts[i].plural);
	}
	return out;
}
