/* Rows for the writer, and what the numbers in records stand for. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/grow.h"
#include "formats/base/xalloc.h"
#include "recorder/drain/private.h"
#include "recorder/shared/segment_slots.h"

/* --- the writer --- */

/* The writer remembers that it failed, and counts what it is given then. */
void ws_drain_add(struct ws_drain *d, enum ws_kind kind, const void *row)
{
	(void)ws_trace_writer_add(d->writer, kind, row, NULL);
}

void ws_drain_add_meta(struct ws_drain *d, const char *key, const char *fmt, ...)
{
	struct ws_row_meta row = {.key = {key, strlen(key)}};
	char *value;
	va_list ap;

	va_start(ap, fmt);
	value = ws_xvformat(fmt, ap);
	va_end(ap);
	row.value = ws_bytes_of(value);
	ws_drain_add(d, WS_KIND_META, &row);
	free(value);
}

uint64_t ws_drain_intern(struct ws_drain *d, struct ws_bytes text)
{
	uint64_t id = 0;

	(void)ws_trace_writer_intern(d->writer, text.ptr, text.len, &id, NULL);
	return id;
}

uint64_t ws_drain_intern_config(struct ws_drain *d, const struct ws_row_launch_config *config)
{
	uint64_t id = 0;

	(void)ws_trace_writer_intern_config(d->writer, config, &id, NULL);
	return id;
}

bool ws_drain_flag(const struct ws_drain *d, enum ws_commit_flag flag)
{
	return !!(d->flags & flag);
}

void ws_drain_set_flag(struct ws_drain *d, enum ws_commit_flag flag)
{
	d->flags |= flag;
}

/* --- maps --- */

struct ws_drain_thread *ws_drain_thread(const struct ws_drain *d, uint64_t id)
{
	const uint64_t *place = ws_map_get(&d->thread_places, id);

	return place ? &d->threads[*place] : NULL;
}

bool ws_drain_set_thread(struct ws_drain *d, uint64_t id, uint64_t pid, uint64_t tid)
{
	struct ws_drain_thread *thread = ws_drain_thread(d, id);

	if (!id || id >= WS_DRAIN_MAX_THREADS || !pid)
		return 0;
	if (!thread) {
		WS_GROW(d->threads, d->nthreads + 1, d->threads_capacity);
		ws_map_add(&d->thread_places, id, d->nthreads);
		thread = &d->threads[d->nthreads++];
		*thread = (struct ws_drain_thread){.id = id};
	}
	thread->pid = pid;
	thread->tid = tid;
	return 1;
}

uint64_t ws_drain_domain_id(struct ws_drain *d, uint32_t domain, int *known)
{
	struct ws_drain_domain *dom = &d->domains[domain % WS_SEG_MAX_DOMAINS];

	*known = !domain || (domain < WS_SEG_MAX_DOMAINS && dom->known);
	if (!domain || !*known)
		return 0;
	if (!dom->id)
		dom->id = ws_drain_intern(d, dom->name);
	return dom->id;
}

uint64_t ws_drain_string_id(struct ws_drain *d, uint32_t string, int *known)
{
	const uint64_t slots = d->seg->defs_size / 8;
	uint64_t *slot = string && string <= slots ? &d->strings[string - 1] : NULL;

	*known = slot && *slot;
	if (!*known)
		return 0;
	if (*slot == 1) {
		struct ws_def_head head;
		const uint64_t at = (uint64_t)(string - 1) * 8;
		const uint8_t *def = ws_seg_defs(d->seg) + at;

		memcpy(&head, def, sizeof(head));
		/* it fitted when it was defined; the program can have written there since */
		if (head.body_size > d->seg->defs_size - at - sizeof(head))
			head.body_size = 0;
		*slot = 1 +
		        ws_drain_intern(d, (struct ws_bytes){def + sizeof(head), head.body_size});
	}
	return *slot - 1;
}

uint64_t ws_drain_text(struct ws_drain *d, uint64_t text, int *known)
{
	if (text & WS_SLOT_TEXT_ID)
		return ws_drain_string_id(d, (uint32_t)text, known);
	*known = 0;
	return 0;
}

/* --- rows of what was never defined --- */

uint64_t ws_drain_find_thread(const struct ws_drain *d, uint64_t pid, uint64_t tid)
{
	/* the last one: thread ids of the system are used again */
	for (size_t i = d->nthreads; i--;)
		if (d->threads[i].pid == pid && d->threads[i].tid == tid)
			return d->threads[i].id;
	return 0;
}

uint64_t ws_drain_thread_by_tid(struct ws_drain *d, uint64_t pid, uint64_t tid)
{
	struct ws_row_thread row = {.pid = pid, .tid = tid};
	uint64_t known = ws_drain_find_thread(d, pid, tid);

	if (!pid || !tid || known)
		return known;
	row.id = (uint64_t)atomic_fetch_add(&d->seg->next_thread, 1) + 1;
	if (!ws_drain_set_thread(d, row.id, pid, tid))
		return 0;
	ws_drain_add(d, WS_KIND_THREAD, &row);
	return row.id;
}

bool ws_drain_device(struct ws_drain *d, uint32_t device)
{
	struct ws_row_device row = {.id = device, .kind = WS_DEVICE_CUDA};

	if (device >= WS_MAX_GPUS)
		return 0;
	if (!(d->gpus >> device & 1))
		ws_drain_add(d, WS_KIND_DEVICE, &row);
	d->gpus |= UINT64_C(1) << device;
	return 1;
}
