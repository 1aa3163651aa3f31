/* What the parts of the timeline find by id. */
#include "report/export/chrome/private.h"

/* Numbers of processes that do not fit, and of devices: Linux gives none over 2^22. */
#define FIRST_MADE_PID   (UINT64_C(1) << 23)
#define FIRST_DEVICE_PID (UINT64_C(1) << 24)

const struct ws_row_launch_config *ws_chrome_config(const struct ws_chrome *ch, uint64_t id,
                                                    const struct ws_config **config)
{
	static const struct ws_row_launch_config lost;
	const struct ws_records *configs = &ch->kind[WS_KIND_LAUNCH_CONFIG];
	const uint64_t *place = ws_map_get(&configs->places, id);

	/* the model has a lost one before them */
	if (config)
		*config = &ch->m->configs[place ? *place + 1 : 0];
	return place ? WS_CHROME_ROW(ch, LAUNCH_CONFIG, launch_config, *place) : &lost;
}

struct ws_bytes ws_chrome_text(const struct ws_chrome *ch, uint64_t string)
{
	return ws_records_text(&ch->kind[WS_KIND_STRING], string);
}

uint64_t ws_chrome_thread_pid(const struct ws_chrome *ch, uint64_t thread)
{
	const struct ws_row_thread *row = ws_records_find(&ch->kind[WS_KIND_THREAD], thread);

	return row ? row->pid : 0;
}

void ws_chrome_process(struct ws_chrome *ch, uint64_t pid, uint64_t *out)
{
	const uint64_t *known = ws_map_get(&ch->json_pids, pid);

	*out = known ? *known : pid < FIRST_MADE_PID ? pid : FIRST_MADE_PID + ch->json_pids.n;
	if (!(known))
		ws_map_add(&ch->json_pids, pid, *out);
}

uint64_t ws_chrome_device(uint64_t device)
{
	return FIRST_DEVICE_PID + device % FIRST_DEVICE_PID;
}

int64_t ws_chrome_since_begin(const struct ws_chrome *ch, int64_t time_ns)
{
	int64_t ns;

	return __builtin_sub_overflow(time_ns, ch->begin_ns, &ns) ? INT64_MAX : ns;
}
