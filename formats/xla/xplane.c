/*
 * Protobuf files of XLA's profiler, *.xplane.pb. libprotobuf-c reads the text of the file into
 * messages (xplane.proto); the rest is what an event is, by the tables of its plane.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/text/json_reader.h"
#include "formats/xla/xla.h"

#ifdef WS_HAVE_PROTOBUF_C /* else the importer is not registered */
#include "xplane.pb-c.h"

static struct ws_bytes text_of(const char *text)
{
	return ws_bytes_of(text ? text : "");
}

/* The tables of a plane. */
struct plane {
	const WsXla__Plane *plane;
	struct ws_map events, stats; /* place in the plane's list, by id */
	enum ws_xla_stat *stat;      /* of each entry of stat_metadata */
};

static struct ws_bytes stat_name(const struct plane *p, uint64_t id)
{
	const uint64_t *at = ws_map_get(&p->stats, id);

	return at ? text_of(p->plane->stat_metadata[*at]->value->name) : ws_bytes_of("");
}

/* The value as text, in room where it is a number. */
static struct ws_bytes value_of(const struct plane *p, const WsXla__Stat *stat, char room[32])
{
	switch (stat->value_case) {
	case WS_XLA__STAT__VALUE_UINT64_VALUE:
		snprintf(room, 32, "%" PRIu64, stat->uint64_value);
		return ws_bytes_of(room);
	case WS_XLA__STAT__VALUE_INT64_VALUE:
		snprintf(room, 32, "%" PRId64, stat->int64_value);
		return ws_bytes_of(room);
	case WS_XLA__STAT__VALUE_STR_VALUE:
		return text_of(stat->str_value);
	case WS_XLA__STAT__VALUE_REF_VALUE:
		return stat_name(p, stat->ref_value);
	default:
		return ws_bytes_of("");
	}
}

static void open_plane(struct plane *p, const WsXla__Plane *plane)
{
	*p = (struct plane){.plane = plane};
	p->stat = ws_xarray(plane->n_stat_metadata, sizeof(*p->stat));
	for (size_t i = 0; i < plane->n_event_metadata; i++)
		if (plane->event_metadata[i]->value)
			ws_map_put(&p->events, (uint64_t)plane->event_metadata[i]->key, i);
	for (size_t i = 0; i < plane->n_stat_metadata; i++) {
		if (!plane->stat_metadata[i]->value)
			continue;
		ws_map_put(&p->stats, (uint64_t)plane->stat_metadata[i]->key, i);
		p->stat[i] = ws_xla_stat_of(text_of(plane->stat_metadata[i]->value->name));
	}
}

static void close_plane(struct plane *p)
{
	ws_map_free(&p->events);
	ws_map_free(&p->stats);
	free(p->stat);
}

static void take_stats(const struct plane *p, size_t n, WsXla__Stat *const *stats,
                       struct ws_xla_event *e, char room[WS_XLA_NSTATS][32])
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *at = ws_map_get(&p->stats, (uint64_t)stats[i]->metadata_id);
		const enum ws_xla_stat stat = at ? p->stat[*at] : WS_XLA_NSTATS;

		if (stat < WS_XLA_NSTATS)
			e->stat[stat] = value_of(p, stats[i], room[stat]);
	}
}

static int64_t ns_of(int64_t ps)
{
	return ps / 1000 + (ps % 1000 >= 500);
}

/* A statistic of a plane as a number, 0 if it has none. */
static int64_t plane_number(const struct plane *p, const char *name)
{
	char room[32];
	int64_t number = 0;

	for (size_t i = 0; i < p->plane->n_stats; i++) {
		const WsXla__Stat *stat = p->plane->stats[i];
		const struct ws_bytes known = stat_name(p, (uint64_t)stat->metadata_id),
		                      text = value_of(p, stat, room);

		if (ws_bytes_is(known, name))
			ws_decimal(text.ptr, text.len, 0, &number);
	}
	return number;
}

static void *allocate(void *unused, size_t bytes)
{
	(void)unused;
	return ws_xmalloc(bytes);
}
static void release(void *unused, void *memory)
{
	(void)unused;
	free(memory);
}

enum ws_status ws_import_xplane(struct ws_import_out *o, struct ws_bytes bytes,
                                struct ws_import_clock *clock, struct ws_err *err)
{
	ProtobufCAllocator allocator = {.alloc = allocate, .free = release};
	struct ws_xla x = {.out = o};
	WsXla__Space *space = ws_xla__space__unpack(&allocator, bytes.len, bytes.ptr);
	int64_t origin_ns = 0;

	WS_FAIL_IF(!space, err, CORRUPT, "its protobuf is damaged or cut off: copy the file again");
	/*
	 * Times of lines are relative to the begin of the profile, which the last plane says, or
	 * absolute: then the second of the first line is time 0.
	 */
	const int64_t year_2001_ns = 1000000000000000000;
	int64_t first_ns = INT64_MAX, start_ns = 0, pid = 0;

	for (size_t i = 0; i < space->n_planes; i++) {
		struct plane p;

		open_plane(&p, space->planes[i]);
		start_ns = start_ns ? start_ns : plane_number(&p, "profile_start_time");
		pid = pid > 0 ? pid : plane_number(&p, "process_id");
		for (size_t j = 0; j < p.plane->n_lines; j++)
			if (p.plane->lines[j]->timestamp_ns < first_ns)
				first_ns = p.plane->lines[j]->timestamp_ns;
		close_plane(&p);
	}
	x.pid = pid > 0 ? (uint64_t)pid : 1;
	if (first_ns != INT64_MAX && first_ns >= year_2001_ns)
		origin_ns = first_ns - first_ns % 1000000000;
	clock->base_ns = origin_ns ? origin_ns : start_ns;
	for (size_t i = 0; i < space->n_planes; i++) {
		struct plane p;
		char room[32];

		open_plane(&p, space->planes[i]);
		ws_xla_name_plane(&x, i, text_of(p.plane->name));
		for (size_t j = 0; p.plane->n_lines && j < p.plane->n_stats; j++) {
			const WsXla__Stat *stat = p.plane->stats[j];
			const struct ws_bytes text = value_of(&p, stat, room);

			int64_t number = 0;
			ws_decimal(text.ptr, text.len, 0, &number);
			ws_xla_plane_stat(&x, i, stat_name(&p, (uint64_t)stat->metadata_id), text,
			                  number);
		}
		for (size_t j = 0; j < p.plane->n_lines; j++) {
			const WsXla__Line *line = p.plane->lines[j];

			ws_xla_name_line(&x, i, (uint64_t)line->id, text_of(line->name));
			for (size_t k = 0; k < line->n_events; k++) {
				const WsXla__Event *event = line->events[k];
				const uint64_t *at =
				        ws_map_get(&p.events, (uint64_t)event->metadata_id);
				const WsXla__EventMetadata *meta =
				        at ? p.plane->event_metadata[*at]->value : NULL;
				struct ws_xla_event e = {.plane = i, .line = (uint64_t)line->id};
				char rooms[WS_XLA_NSTATS][32];
				int64_t begin_ns, end_ps;

				x.out->stats->events++;
				if (event->num_occurrences) {
					ws_import_skip(x.out, "sums of events without times", 1);
					continue;
				}
				if (!meta) {
					x.out->lost[WS_LOST_import_missing_field]++;
					continue;
				}
				if (__builtin_sub_overflow(line->timestamp_ns, origin_ns,
				                           &begin_ns) ||
				    __builtin_add_overflow(event->offset_ps, event->duration_ps,
				                           &end_ps) ||
				    __builtin_add_overflow(begin_ns, ns_of(event->offset_ps),
				                           &e.start_ns)) {
					x.out->lost[WS_LOST_import_bad_time]++;
					continue;
				}
				e.dur_ns = ns_of(end_ps) - ns_of(event->offset_ps);
				e.name = text_of(meta->display_name && *meta->display_name
				                         ? meta->display_name
				                         : meta->name);
				take_stats(&p, meta->n_stats, meta->stats, &e, rooms);
				take_stats(&p, event->n_stats, event->stats, &e, rooms);
				ws_xla_add(&x, &e);
			}
			ws_import_tell(x.out, i + 1, space->n_planes);
		}
		close_plane(&p);
	}
	ws_xla_finish(&x);
	ws_xla__space__free_unpacked(space, &allocator);
	ws_xla_free(&x);
	return WS_OK;
}

static enum ws_status run(struct ws_import_out *o, const char *path, struct ws_import_clock *clock,
                          struct ws_err *err)
{
	struct ws_buf bytes = {0};
	enum ws_status status = WS_OK;
	struct ws_text_file f;
	size_t got = 1;

	WS_FORWARD(ws_text_file_open(&f, path, err));
	f.out = o;
	while (status == WS_OK && got) {
		ws_buf_reserve(&bytes, 1 << 20);
		status = ws_text_file_read(&f, bytes.data + bytes.len, 1 << 20, &got, err);
		bytes.len += got;
	}
	if (status == WS_OK && f.damaged)
		status = WS_FAIL(err, CORRUPT, "the compressed data are damaged or end early");
	ws_text_file_close(&f);
	WS_THEN(status, ws_import_xplane(o, (struct ws_bytes){bytes.data, bytes.len}, clock, err));
	ws_buf_free(&bytes);
	return status;
}

/* A plane stands first: its field, its length, its number if it has one, its name. */
static bool recognises(const char *first, size_t len)
{
	const size_t look = len < 32 ? len : 32;

	return len && first[0] == '\x0a' &&
	       (memmem(first, look, "/host:", 6) || memmem(first, look, "/device:", 8) ||
	        memmem(first, look, "Task Environment", 16));
}

static void empty(const struct ws_import_stats *s, char *text, size_t size)
{
	(void)s;
	snprintf(text, size,
	         "it seems to be a profile of XLA without work. Run at least one step inside "
	         "jax.profiler.trace");
}

const struct ws_importer ws_importer_xla = {
        .name = "XLA profile (xplane.pb)",
        .recognises = recognises,
        .reads_gzip = true,
        .run = run,
        .empty = empty,
};
#endif
