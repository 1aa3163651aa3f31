#include <stdio.h>

#include "report/analysis/idle.h"
#include "report/base/stat.h"

const struct ws_use_def ws_use_defs[WS_USES] = {
#define X(NAME, name, what, cure) {name, what, cure},
        WS_USE_LIST(X)
#undef X
};

struct ws_idle_verdict ws_idle_judge(const struct ws_model *m, const struct ws_device_use *use)
{
	struct ws_idle_verdict v = {.cause = WS_USE_COLLECTIVE};

	if (ws_model_on_cpu(m))
		v.obstacle = "the CPU reference is not a device that waits";
	else if (m->soundness.obstacle)
		v.obstacle = m->soundness.obstacle;
	else if (!use->window_ns || !use->kernels)
		v.obstacle = "no kernel with a time";
	if (v.obstacle)
		return v;
	for (int cause = WS_USE_COLLECTIVE; cause < WS_USES; cause++)
		if (use->ns[cause] > use->ns[v.cause])
			v.cause = (enum ws_use)cause;
	v.busy_percent = ws_stat_percent((double)use->ns[WS_USE_COMPUTE], (double)use->window_ns);
	v.percent = ws_stat_percent((double)use->ns[v.cause], (double)use->window_ns);
	v.busy = v.busy_percent > WS_IDLE_BUSY_PERCENT;
	v.known = true;
	v.launch_bound = !v.busy && v.cause == WS_USE_LAUNCH && v.percent >= WS_IDLE_LAUNCH_PERCENT;
	return v;
}

const char *ws_idle_words(const struct ws_idle_verdict *v, char *out, size_t size)
{
	if (!v->known)
		snprintf(out, size, "cannot tell: %s", v->obstacle);
	else if (v->busy)
		snprintf(out, size, "the GPU computes %.1f %% of the time", v->busy_percent);
	else
		snprintf(out, size,
		         "the GPU computes %.1f %% of the time; the largest other part is %s (%.1f "
		         "%%)",
		         v->busy_percent, ws_use_defs[v->cause].name, v->percent);
	return out;
}
