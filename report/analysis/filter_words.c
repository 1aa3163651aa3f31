/* Scope and filters of a report, in words. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "report/analysis/filter.h"
#include "report/model/model.h"

static void print(FILE *out, const struct ws_selection *s, const struct ws_filter *f)
{
	const char *comma = "";

	if (s->has_nvtx) {
		fprintf(out, "kernels %s ranges that match \"%s\"",
		        f->by_gpu_time ? "running during" : "launched in", f->nvtx);
		comma = ", ";
	}
	if (s->has_steps) {
		fprintf(out, "%smeasured steps %" PRId64, comma, s->step_first);
		if (f->step_last < 0)
			fputs(" and later", out);
		else
			fprintf(out, " to %" PRId64, s->step_last);
		comma = ", ";
	}
	if (s->has_device) {
		fprintf(out, "%sdevice %" PRId64, comma, f->device);
		comma = ", ";
	}
	if (f && f->has_stream) {
		fprintf(out, "%sstream %" PRIu64, comma, f->stream);
		comma = ", ";
	}
	if (f && f->has_process) {
		fprintf(out, "%sprocess %" PRIu64, comma, f->process);
		comma = ", ";
	}
	if (f && f->kernel) {
		fprintf(out, "%skernels whose name matches \"%s\"", comma, f->kernel);
		comma = ", ";
	}
	if (f && f->has_time) {
		fputs(comma, out);
		fprintf(out, "what overlaps %.6f ms to ", (double)f->time_first_ns / 1e6);
		if (f->time_end_ns == INT64_MAX)
			fputs("the end", out);
		else
			fprintf(out, "%.6f ms", (double)f->time_end_ns / 1e6);
		fputs(" of the trace", out);
	}
}

void ws_filter_words(struct ws_selection *s, const struct ws_filter *f)
{
	char *words = NULL;
	size_t len;
	FILE *out = ws_xmemstream(&words, &len);

	print(out, s, f);
	ws_xfclose(out);
	s->words = ws_arena_copy(&s->arena, words, len);
	free(words);
}

char *ws_scope_words(const struct ws_model *m, enum ws_scope asked, struct ws_selection *s)
{
	struct ws_arena *arena = &s->arena;

	switch (s->scope) {
	case WS_SCOPE_STEPS:
		if (m->step_mark || m->step_module) {
			const struct ws_bytes name =
			        m->texts[m->step_mark ? m->step_mark : m->step_module];

			return ws_arena_format(arena, "the %zu measured steps, each %s '%.*s'",
			                       m->nmeasured,
			                       m->step_module                    ? "a call of"
			                       : ws_name_is_optimizer_step(name) ? "to the end of"
			                                                         : "from a call of",
			                       (int)name.len, (const char *)name.ptr);
		}
		return m->nmeasured == 1 ? ws_arena_format(arena, "the only measured step")
		                         : ws_arena_format(arena,
		                                           "the %zu measured steps%s%s%s, without "
		                                           "warm-up, set-up and "
		                                           "what ran outside steps",
		                                           m->nmeasured, m->step_found ? " '" : "",
		                                           m->step_found ? m->step_found : "",
		                                           m->step_found ? "' (--step auto)" : "");
	case WS_SCOPE_WARM_UP:
		return ws_arena_format(arena, "the warm-up");
	case WS_SCOPE_SETUP:
		return ws_arena_format(arena, "the set-up");
	case WS_SCOPE_OUTSIDE:
		return ws_arena_format(arena, "what ran outside steps, warm-up and set-up");
	default:
		if (asked != WS_SCOPE_STEPS)
			return ws_arena_format(arena,
			                       "all of the trace, warm-up and set-up included");
		return ws_arena_format(arena, "%s: %s",
		                       ws_model_has_work(m)
		                               ? "from the first device work to the last"
		                               : "all of the trace",
		                       m->nmeasured
		                               ? "no device work is known to belong to its steps"
		                               : "the trace has no finished measured step");
	}
}
