/*
 * The timeline as Perfetto's protobuf: packets of track events. Numbers of fields:
 * protos/perfetto/trace/{trace,trace_packet,clock_snapshot}.proto,
 * interned_data/interned_data.proto and track_event/{track_event,
 * track_descriptor,process_descriptor,thread_descriptor,counter_descriptor, debug_annotation}.proto
 * of google/perfetto. All packets are of one sequence, which contains each text once. Times are
 * nanoseconds since the begin.
 */
#include "report/export/chrome/chrome.h"

enum { WS_PROTOBUF_VARINT = 0, WS_PROTOBUF_64 = 1, WS_PROTOBUF_BYTES = 2 };

/* fixed64 and double */
static inline void ws_protobuf_64(struct ws_buf *b, unsigned field, uint64_t bits)
{
	ws_buf_reserve(b, WS_VARINT_MAX + sizeof(bits));
	uint8_t *p = ws_varint_put(b->data + b->len, field << 3 | WS_PROTOBUF_64);
	ws_store_u64(p, bits);
	b->len = (size_t)(p - b->data) + sizeof(bits);
}

enum { TRACE_PACKET = 1 };

enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
};

enum { SEQUENCE_BEGINS = 1, SEQUENCE_GOES_ON = 2 };
enum { SNAPSHOT_CLOCKS = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { CLOCK_REALTIME_ = 1, CLOCK_BOOTTIME_ = 6 }; /* builtin ids; packets are in the latter */
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_KEYS = 3 };
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };

enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
};

enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_SIZE_BYTES = 3 };

enum {
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER = 30,
	EVENT_COUNTER_REAL = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};

enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };

enum {
	ANNOTATION_KEY = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_REAL = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_ITEMS = 12,
};

#define ONE_SEQUENCE 1

struct ws_chrome_packets {
	FILE *f;
	struct ws_buf packet, event, interned, part, text;
	struct ws_strtab categories, names, keys; /* ids are their iids */
	struct ws_strtab counters;                /* pid and name */
	int begun;                                /* the sequence has a packet */
	enum ws_status status;                    /* the first failure */
	struct ws_err err;
};

static void u64(struct ws_buf *b, unsigned field, uint64_t value)
{
	ws_buf_reserve(b, 2 * WS_VARINT_MAX);
	uint8_t *p = ws_varint_put(b->data + b->len, field << 3 | WS_PROTOBUF_VARINT);
	b->len = (size_t)(ws_varint_put(p, value) - b->data);
}

static void bytes(struct ws_buf *b, unsigned field, struct ws_bytes value)
{
	/* bytes, strings, messages */

	ws_buf_reserve(b, 2 * WS_VARINT_MAX + value.len);
	uint8_t *p = ws_varint_put(b->data + b->len, field << 3 | WS_PROTOBUF_BYTES);
	p = ws_varint_put(p, value.len);
	if (value.len)
		memcpy(p, value.ptr, value.len);
	b->len = (size_t)(p - b->data) + value.len;
}

static void message(struct ws_buf *b, unsigned field, struct ws_buf *value)
{
	bytes(b, field, (struct ws_bytes){value->data, value->len});
	value->len = 0;
}

static void real(struct ws_buf *b, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	ws_protobuf_64(b, field, bits);
}

/* Strings of protobuf are UTF-8. Borrowed until the next call. */
static struct ws_bytes readable(struct ws_chrome_packets *p, struct ws_bytes text)
{
	return ws_export_readable(&p->text, text);
}

/* Writes the packet in p->packet. */
static void end_packet(struct ws_chrome_packets *p)
{
	uint8_t head[2 * WS_VARINT_MAX], *end;

	u64(&p->packet, PACKET_SEQUENCE, ONE_SEQUENCE);
	u64(&p->packet, PACKET_SEQUENCE_FLAGS, p->begun ? SEQUENCE_GOES_ON : SEQUENCE_BEGINS);
	p->begun = 1;
	end = ws_varint_put(head, TRACE_PACKET << 3 | WS_PROTOBUF_BYTES);
	end = ws_varint_put(end, p->packet.len);
	if (p->status == WS_OK &&
	    (fwrite(head, 1, (size_t)(end - head), p->f) != (size_t)(end - head) ||
	     fwrite(p->packet.data, 1, p->packet.len, p->f) != p->packet.len))
		p->status = WS_FAIL(&p->err, IO_WRITE, "%s", strerror(errno));
	p->packet.len = 0;
}

/* The number of a text in its table; a new text is added to the current packet. */
static uint64_t intern(struct ws_chrome_packets *p, struct ws_strtab *table, unsigned field,
                       struct ws_bytes text)
{
	uint64_t id = ws_strtab_find(table, text.ptr, text.len);

	if (id)
		return id;
	id = ws_strtab_add(table, text.ptr, text.len);
	u64(&p->part, INTERNED_IID, id);
	bytes(&p->part, INTERNED_TEXT, readable(p, text));
	message(&p->interned, field, &p->part);
	return id;
}

/* --- tracks --- */

/* Ids of tracks: processes below 2^32, where pids end; then subtracks of tracks; counters. */
static uint64_t process_uuid(uint64_t pid)
{
	return pid + 1;
}

static uint64_t subtrack_uuid(const struct ws_chrome *ch, const struct ws_chrome_track *t,
                              uint32_t subtrack)
{
	return (uint64_t)(t - ch->track + 1) << 32 | subtrack;
}

static uint64_t counter_uuid(uint64_t number)
{
	return UINT64_C(1) << 63 | number;
}

static void end_track(struct ws_chrome_packets *p)
{
	message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
	end_packet(p);
}

static void process(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, uint64_t order)
{
	struct ws_chrome_packets *p = ch->packets;

	(void)order; /* in the order of packets */
	u64(&p->event, TRACK_UUID, process_uuid(pid));
	if (pid >= ws_chrome_device(0)) {
		bytes(&p->event, TRACK_NAME, readable(p, name));
	} else {
		u64(&p->part, PROCESS_PID, pid);
		bytes(&p->part, PROCESS_NAME, readable(p, name));
		message(&p->event, TRACK_PROCESS, &p->part);
	}
	end_track(p);
}

static void subtrack(struct ws_chrome *ch, const struct ws_chrome_track *t, uint32_t number,
                     struct ws_bytes name)
{
	struct ws_chrome_packets *p = ch->packets;

	u64(&p->event, TRACK_UUID, subtrack_uuid(ch, t, number));
	u64(&p->event, TRACK_PARENT, process_uuid(t->pid));
	bytes(&p->event, TRACK_NAME, readable(p, name));
	if (t->type == WS_CHROME_THREAD && !number) {
		u64(&p->part, THREAD_PID, t->pid);
		u64(&p->part, THREAD_TID, t->tid[number]);
		bytes(&p->part, THREAD_NAME, readable(p, name));
		message(&p->event, TRACK_THREAD, &p->part);
	}
	end_track(p);
}

/* --- events --- */

static void begin_event(struct ws_chrome *ch, unsigned type, uint64_t track, int64_t time_ns)
{
	struct ws_chrome_packets *p = ch->packets;

	u64(&p->packet, PACKET_TIMESTAMP, (uint64_t)ws_chrome_since_begin(ch, time_ns));
	u64(&p->event, EVENT_TYPE, type);
	u64(&p->event, EVENT_TRACK, track);
}

static void end_event(struct ws_chrome *ch)
{
	struct ws_chrome_packets *p = ch->packets;

	if (p->interned.len)
		message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
	message(&p->packet, PACKET_TRACK_EVENT, &p->event);
	end_packet(p);
}

static void begin_slice(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	begin_event(ch, TYPE_BEGIN, subtrack_uuid(ch, &ch->track[s->track], s->subtrack),
	            s->start_ns);
}

/* Readers sort packets by time, stably, so ends may follow immediately. */
static void end_slice(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	end_event(ch);
	begin_event(ch, TYPE_END, subtrack_uuid(ch, &ch->track[s->track], s->subtrack), s->end_ns);
	end_event(ch);
}

static void begin_mark(struct ws_chrome *ch, int64_t time_ns, uint64_t thread,
                       const struct ws_chrome_track *t)
{
	(void)thread;
	begin_event(ch, TYPE_INSTANT, t ? subtrack_uuid(ch, t, 0) : 0, time_ns);
}

static void put_name(struct ws_chrome *ch, struct ws_bytes name, const char *category)
{
	struct ws_chrome_packets *p = ch->packets;

	u64(&p->event, EVENT_CATEGORY,
	    intern(p, &p->categories, INTERNED_CATEGORIES, ws_bytes_of(category)));
	u64(&p->event, EVENT_NAME, intern(p, &p->names, INTERNED_NAMES, name));
}

static void put_arg(struct ws_chrome *ch, const char *key, const struct ws_chrome_value *value)
{
	struct ws_chrome_packets *p = ch->packets;
	uint64_t iid = intern(p, &p->keys, INTERNED_KEYS, ws_bytes_of(key));
	struct ws_buf item = {0};

	u64(&p->part, ANNOTATION_KEY, iid);
	switch (value->type) {
	case WS_CHROME_U64:
		u64(&p->part, ANNOTATION_UINT, value->u64);
		break;
	case WS_CHROME_I64:
		u64(&p->part, ANNOTATION_INT, (uint64_t)value->i64);
		break;
	case WS_CHROME_F64:
		real(&p->part, ANNOTATION_REAL, value->f64);
		break;
	case WS_CHROME_YES:
		u64(&p->part, ANNOTATION_BOOL, 1);
		break;
	case WS_CHROME_TEXT:
	case WS_CHROME_ARRAY:
		bytes(&p->part, ANNOTATION_TEXT, readable(p, value->text));
		break;
	case WS_CHROME_SIZES:
		for (size_t i = 0; i < 3; i++) {
			u64(&item, ANNOTATION_UINT, value->sizes[i]);
			message(&p->part, ANNOTATION_ITEMS, &item);
		}
		break;
	}
	ws_buf_free(&item);
	message(&p->event, EVENT_ANNOTATION, &p->part);
}

static void arrow(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t id, int begins)
{
	(void)s; /* it is the current event */
	ws_protobuf_64(&ch->packets->event, begins ? EVENT_FLOW : EVENT_FLOW_END, id);
}

/* The slice is written already, so an event without duration inside it has the link. */
static void link_slices(struct ws_chrome *ch, uint64_t id, const struct ws_chrome_track *t,
                        int64_t time_ns, int begins)
{
	begin_event(ch, TYPE_INSTANT, subtrack_uuid(ch, t, 0), time_ns);
	put_name(ch, ws_bytes_of("fwdbwd"), "fwdbwd");
	ws_protobuf_64(&ch->packets->event, begins ? EVENT_FLOW : EVENT_FLOW_END, id);
	end_event(ch);
}

/* --- counters --- */

static void counter(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, int64_t time_ns,
                    const char *unit, int64_t value, unsigned digits)
{
	struct ws_chrome_packets *p = ch->packets;
	double scale = 1;

	p->text.len = 0;
	ws_buf_put(&p->text, &pid, sizeof(pid));
	ws_buf_put(&p->text, name.ptr, name.len);
	uint64_t id = ws_strtab_find(&p->counters, p->text.data, p->text.len);
	if (!id) {
		id = ws_strtab_add(&p->counters, p->text.data, p->text.len);
		u64(&p->event, TRACK_UUID, counter_uuid(id));
		u64(&p->event, TRACK_PARENT, process_uuid(pid));
		bytes(&p->event, TRACK_NAME, readable(p, name));
		if (!strcmp(unit, "bytes"))
			u64(&p->part, COUNTER_UNIT, UNIT_SIZE_BYTES);
		else
			bytes(&p->part, COUNTER_UNIT_NAME, ws_bytes_of(unit));
		message(&p->event, TRACK_COUNTER, &p->part);
		end_track(p);
	}
	begin_event(ch, TYPE_COUNTER, counter_uuid(id), time_ns);
	for (unsigned i = 0; i < digits && digits != WS_CHROME_REAL; i++)
		scale *= 10;
	if (digits == WS_CHROME_REAL)
		real(&p->event, EVENT_COUNTER_REAL, ws_chrome_real(value));
	else if (digits)
		real(&p->event, EVENT_COUNTER_REAL, (double)value / scale);
	else
		u64(&p->event, EVENT_COUNTER, (uint64_t)value);
	end_event(ch);
}

/* --- the file --- */

static void put_meta(struct ws_chrome *ch, const char *key, struct ws_bytes value)
{
	put_arg(ch, key, &(struct ws_chrome_value){.type = WS_CHROME_TEXT, .text = value});
}

static enum ws_status begin(struct ws_chrome *ch, FILE *f, struct ws_err *err)
{
	(void)err;
	ch->packets = ws_xarray(1, sizeof(*ch->packets));
	ch->packets->f = f;
	/* Relates the begin to wall-clock time. */
	struct ws_chrome_packets *p = ch->packets;
	const struct {
		uint64_t clock, time_ns;
	} clocks[] = {
	        {CLOCK_BOOTTIME_, 0},
	        /* times of a file are arbitrary: the sum may wrap */
	        {CLOCK_REALTIME_,
	         (uint64_t)ws_trace_reader_summary(ch->r)->base_ns + (uint64_t)ch->begin_ns},
	};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		u64(&p->part, CLOCK_ID, clocks[i].clock);
		u64(&p->part, CLOCK_TIMESTAMP, clocks[i].time_ns);
		message(&p->event, SNAPSHOT_CLOCKS, &p->part);
	}
	message(&p->packet, PACKET_CLOCK_SNAPSHOT, &p->event);
	end_packet(p);
	/* facts about the recording: an event on the global track */
	begin_event(ch, TYPE_INSTANT, 0, ch->begin_ns);
	put_name(ch, ws_bytes_of("trace"), "meta");
	ws_chrome_each_meta(ch, put_meta);
	end_event(ch);
	return WS_OK;
}

static enum ws_status end(struct ws_chrome *ch, struct ws_err *err)
{
	struct ws_chrome_packets *p = ch->packets;
	struct ws_buf *buffers[] = {&p->packet, &p->event, &p->interned, &p->part, &p->text};

	if (!p)
		return WS_OK;
	if (p->status == WS_OK && fflush(p->f) != 0)
		p->status = WS_FAIL(&p->err, IO_WRITE, "%s", strerror(errno));
	enum ws_status status = p->status;
	if (status != WS_OK && err)
		*err = p->err;
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		ws_buf_free(buffers[i]);
	ws_strtab_free(&p->categories);
	ws_strtab_free(&p->names);
	ws_strtab_free(&p->keys);
	ws_strtab_free(&p->counters);
	free(p);
	return status;
}

const struct ws_chrome_form ws_chrome_perfetto = {
        .begin = begin,
        .end = end,
        .process = process,
        .subtrack = subtrack,
        .begin_slice = begin_slice,
        .end_slice = end_slice,
        .begin_mark = begin_mark,
        .end_mark = end_event,
        .name = put_name,
        .arg = put_arg,
        .arrow = arrow,
        .link = link_slices,
        .counter = counter,
};

static enum ws_status write_file(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                 struct ws_export_stats *stats, struct ws_err *err)
{
	return ws_chrome_write(&ws_chrome_perfetto, r, job, stats, err);
}

const struct ws_exporter ws_exporter_perfetto = {
        .name = "perfetto",
        .extensions = {".perfetto-trace", ".pftrace"},
        .write = write_file,
};
