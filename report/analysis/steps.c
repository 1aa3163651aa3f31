#include "report/analysis/steps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/xalloc.h"
#include "report/analysis/device_time.h"

void ws_step_times(const struct ws_model *m, const struct ws_selection *sel,
                   const struct ws_digest *digest, struct ws_step_times *out)
{
	size_t n = m->nsteps ? m->nsteps : 1;

	*out = (struct ws_step_times){0};
	out->gpu = ws_xarray(n, sizeof(*out->gpu));
	out->measured = ws_xarray(n, sizeof(*out->measured));
	out->scratch = ws_xarray(n, sizeof(*out->scratch));
	out->step_ns = ws_xarray(n, sizeof(*out->step_ns));
	ws_step_windows(m, sel, out->step_ns);
	for (size_t s = 0; s < digest->nsteps; s++)
		out->gpu[s] = digest->steps[s];
	for (uint32_t s = 0; s < m->nsteps; s++) {
		if (!ws_step_selected(m, sel, s))
			continue;
		out->measured[out->nmeasured++] = s;
		out->phases |= m->steps[s].phases;
	}
}

void ws_step_times_release(struct ws_step_times *t)
{
	free(t->gpu);
	free(t->measured);
	free(t->scratch);
	free(t->step_ns);
	*t = (struct ws_step_times){0};
}

const char *ws_measure_name(enum ws_measure measure)
{
	static const char *const names[] = {[WS_MEASURE_WALL] = "host",
	                                    [WS_MEASURE_GPU] = "GPU",
	                                    [WS_MEASURE_STEP] = "wall"};

	return names[measure];
}

int64_t ws_step_time(const struct ws_model *m, const struct ws_step_times *t, uint32_t step,
                     int phase, enum ws_measure measure)
{
	if (measure == WS_MEASURE_STEP)
		return t->step_ns[step];
	if (measure == WS_MEASURE_WALL)
		return phase == WS_PHASES ? m->steps[step].total_ns
		                          : m->steps[step].phase_ns[phase];
	return phase == WS_PHASES ? t->gpu[step].total_ns : t->gpu[step].phase_ns[phase];
}

void ws_step_stat(const struct ws_model *m, const struct ws_step_times *t, int phase,
                  enum ws_measure measure, struct ws_stat *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nmeasured; i++) {
		int64_t ns = ws_step_time(m, t, t->measured[i], phase, measure);

		if (ns >= 0)
			t->scratch[n++] = ns;
	}
	ws_stat_of(t->scratch, n, out);
}

bool ws_step_phase_present(const struct ws_step_times *t, int phase)
{
	if (phase == WS_PHASE_OTHER)
		return t->phases & ((1u << WS_PHASE_OTHER) - 1);
	return phase > WS_PHASE_OTHER || (t->phases >> phase & 1);
}

int64_t ws_fact_number(const struct ws_model *m, const char *key)
{
	struct ws_bytes value = ws_model_fact(m, key);
	char text[24], *end;
	long long number;

	if (!value.len || value.len >= sizeof(text))
		return 0;
	memcpy(text, value.ptr, value.len);
	text[value.len] = '\0';
	errno = 0;
	number = strtoll(text, &end, 10);
	return errno || *end || number < 0 ? 0 : number;
}
