/* Turns NVTX events into records in the ring, and counts those left out. */
#include <sys/uio.h>

#include "recorder/collect/collector.h"

/* --- attributes --- */

uint32_t ws_event_domain(wsn_domain handle)
{
	uintptr_t id = (uintptr_t)handle;

	return id < WS_SEG_MAX_DOMAINS ? (uint32_t)id : WS_DEF_NONE;
}

/* Sets only the needed members: this runs for every event, and most of the struct is rarely
 * used. */
void ws_event_init(struct ws_event *ev, uint32_t domain, const void *text, enum ws_text_kind kind)
{
	ev->domain = domain;
	ev->category = 0;
	ev->color = 0;
	ev->string = 0;
	ev->text.ptr = text;
	ev->text.kind = kind;
	ev->text.size = 0;
	ev->payload.schema = 0;
	ev->payload.size = 0;
	ev->payload.total = 0;
	ev->payload.layout = NULL;
}

void ws_event_payloads(struct ws_event *ev, const struct wsn_payload_data *payload, size_t n)
{
	struct ws_payload *p = &ev->payload;
	size_t size;

	if (!n || !payload)
		return;
	if (n > 1)
		ws_lost(WS_DROPPED_payload_truncated, n - 1);
	p->layout = ws_schema_find(ws_schema_id(ev->domain, payload->schema_id));
	size = payload->size;
	if (size == SIZE_MAX)
		size = p->layout ? p->layout->size : ws_entry_size(payload->schema_id);
	if (!size || size > WS_MAX_PAYLOAD || !payload->payload || !payload->schema_id) {
		ws_lost(WS_DROPPED_payload_truncated, 1);
		return;
	}
	p->schema = p->layout ? p->layout->traced : ws_schema_id(ev->domain, payload->schema_id);
	p->bytes = payload->payload;
	p->size = (uint32_t)size;
	p->total = p->size;
	if (!p->layout)
		return;
	if (p->layout->out_of_line)
		ws_lost(WS_DROPPED_payload_truncated, 1);
	if (p->layout->ntexts) {
		const struct ws_schema *s = p->layout;

		p->total = WS_ALIGN8(p->size);
		/* measure texts that the payload points to: they are valid only during the call */
		for (int i = 0; i < s->ntexts; i++) {
			struct ws_event_text *t = &p->text[i];
			uint64_t value = 0;

			memset(t, 0, sizeof(*t));
			if (s->text[i].offset + sizeof(value) <= p->size)
				memcpy(&value, (const char *)p->bytes + s->text[i].offset,
				       sizeof(value));
			t->kind = s->text[i].type == WSN_ENTRY_CSTRING_UTF16   ? WS_TEXT_UTF16
			          : s->text[i].type == WSN_ENTRY_CSTRING_UTF32 ? WS_TEXT_UTF32
			                                                       : WS_TEXT_BYTES;
			if (s->text[i].type == WSN_ENTRY_REGISTERED_STRING) {
				t->ptr = ws_string_text(value, &t->size);
			} else {
				t->ptr = (const void *)(uintptr_t)value;
				if (ws_text_measure(t, WS_MAX_TEXT))
					ws_lost(WS_DROPPED_text_truncated, 1);
			}
			if (t->ptr)
				p->total += WS_ALIGN8(t->size + 1);
		}
	}
}

void ws_event_attributes(struct ws_event *ev, wsn_domain domain, const struct wsn_event *a)
{
	static const struct {
		uint8_t schema, size;
	} numbers[] = {
	        [WSN_PAYLOAD_UINT64] = {WSN_ENTRY_UINT64, 8},
	        [WSN_PAYLOAD_INT64] = {WSN_ENTRY_INT64, 8},
	        [WSN_PAYLOAD_DOUBLE] = {WSN_ENTRY_DOUBLE, 8},
	        [WSN_PAYLOAD_UINT32] = {WSN_ENTRY_UINT32, 4},
	        [WSN_PAYLOAD_INT32] = {WSN_ENTRY_INT32, 4},
	        [WSN_PAYLOAD_FLOAT] = {WSN_ENTRY_FLOAT, 4},
	};
	struct ws_payload *p = &ev->payload;

	ws_event_init(ev, ws_event_domain(domain), NULL, WS_TEXT_BYTES);
	if (!a)
		return;
	if (a->size <
	    sizeof(*a)) { /* not a size of any NVTX version, so the contents are not read */
		ws_lost(WS_DROPPED_text_truncated, 1);
		return;
	}
	ev->category = a->category;
	ev->color = a->color_type == WSN_COLOR_ARGB ? a->color : 0;
	switch (a->message_type) {
	case WSN_MESSAGE_ASCII:
		ev->text.ptr = a->message.ascii;
		break;
	case WSN_MESSAGE_UNICODE:
		ev->text.ptr = a->message.unicode;
		ev->text.kind = WS_TEXT_UTF32;
		break;
	case WSN_MESSAGE_REGISTERED:
		if ((uintptr_t)a->message.registered < WS_DEF_NONE)
			ev->string = (uint32_t)(uintptr_t)a->message.registered;
		else
			ws_lost(WS_DROPPED_text_truncated, 1);
		break;
	default:
		break;
	}
	if (a->payload_type > WSN_PAYLOAD_UNKNOWN && a->payload_type <= WSN_PAYLOAD_FLOAT) {
		p->number = a->payload.ull;
		p->schema = numbers[a->payload_type].schema;
		p->bytes = &p->number;
		p->size = p->total = numbers[a->payload_type].size;
	} else if (a->payload_type == WSN_PAYLOAD_EXT) {
		ws_event_payloads(ev, (const void *)(uintptr_t)a->payload.ull,
		                  a->reserved0 > 0 ? (size_t)a->reserved0 : 0);
	} else if (a->payload_type != WSN_PAYLOAD_UNKNOWN) {
		ws_lost(WS_DROPPED_payload_truncated, 1);
	}
}

/* --- copying --- */

/* Copy a measured text into the ring, padded with zeros to 8 bytes from `at`. */
static void put_text(uint8_t *bytes, uint64_t at, const struct ws_event_text *text, uint32_t padded)
{
	struct ws_text_cursor cursor = {text->ptr, text->kind, text->size};
	uint32_t ring_size = ws_collector.ring_size, n;
	uint64_t end = at + padded;
	char piece[256];

	if (text->kind == WS_TEXT_BYTES) {
		at = ws_ring_put(bytes, ring_size, at, text->ptr, text->size);
	} else {
		while ((n = ws_text_next(&cursor, piece, sizeof(piece))))
			at = ws_ring_put(bytes, ring_size, at, piece, n);
	}
	if (at < end)
		ws_ring_put(bytes, ring_size, at, (const char[8]){0}, (uint32_t)(end - at));
}

/*
 * Copies the payload, and after it the texts it points to. Each pointer is replaced by the text's
 * offset in the payload; 0 for NULL.
 */
static void put_payload(uint8_t *bytes, uint64_t at, const struct ws_payload *p)
{
	uint32_t ring_size = ws_collector.ring_size;
	uint64_t offset = WS_ALIGN8(p->size);

	ws_ring_put(bytes, ring_size, at, p->bytes, p->size);
	if (p->size & 7)
		ws_ring_put(bytes, ring_size, at + p->size, (const char[8]){0}, 8 - (p->size & 7));
	for (int i = 0; p->layout && i < p->layout->ntexts; i++) {
		const struct ws_event_text *t = &p->text[i];
		uint32_t padded = WS_ALIGN8(t->size + 1);
		uint64_t position = t->ptr ? offset : 0;

		if (p->layout->text[i].offset + sizeof(position) > p->size)
			continue;
		ws_ring_put(bytes, ring_size, at + p->layout->text[i].offset, &position,
		            sizeof(position));
		if (t->ptr) {
			put_text(bytes, at + offset, t, padded);
			offset += padded;
		}
	}
}

/* Minimum bytes that the kernel puts on the stack between a signal handler and the interrupted
 * code. */
#define SIGNAL_FRAME 512

/*
 * Other code on this thread is writing a record; its mark is on its stack at `writer`. Either we
 * are a signal handler that interrupted it, or siglongjmp left it and it never continues. In the
 * second case its stack frame is gone: we are above it on the same stack, or it was overwritten.
 */
static bool is_abandoned(uintptr_t writer, const uint64_t *mark)
{
	uint64_t found = 0;
	struct iovec to = {&found, sizeof(found)}, from = {(void *)writer, sizeof(found)};
	stack_t alternate;

	if (sigaltstack(NULL, &alternate) || alternate.ss_flags & SS_ONSTACK)
		return 0;
	if ((uintptr_t)mark > writer - SIGNAL_FRAME)
		return 1;
	/* the stack may be unmapped, so let the kernel read it */
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(found) && found != *mark;
}

/*
 * The position for a record with `keep` free bytes after it; UINT64_MAX: no room. Returns no room
 * also to a signal handler that interrupted this thread while it was writing a record. So its
 * events are dropped, not mixed in. mark: a variable of the caller, valid until end_record().
 */
static uint64_t begin_record(struct ws_thread_buffer *thread_buffer, uint64_t size, uint32_t pops,
                             volatile uint64_t *mark)
{
	uintptr_t writer = atomic_load_explicit(&thread_buffer->writer, memory_order_relaxed);
	const uint64_t keep = (uint64_t)pops * sizeof(struct ws_rec_pop);
	uint64_t pos;

	/* a value that depends on the position in the ring and is unlikely elsewhere */
	*mark = UINT64_C(0x9E3779B97F4A7C15) *
	        (atomic_load_explicit(&thread_buffer->ring.head, memory_order_relaxed) + 1);
	if (WS_UNLIKELY(writer)) {
		if (!is_abandoned(writer, (const uint64_t *)mark))
			return UINT64_MAX;
		ws_lost(WS_DROPPED_event_interrupted, 1);
	}
	atomic_store_explicit(&thread_buffer->writer, (uintptr_t)mark, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	do
		pos = ws_ring_claim(&thread_buffer->ring, ws_collector.ring_size,
		                    thread_buffer->ready, size, keep);
	while (WS_UNLIKELY(pos == UINT64_MAX) && !ws_thread_buffer_grow(thread_buffer));
	if (WS_UNLIKELY(pos == UINT64_MAX))
		atomic_store_explicit(&thread_buffer->writer, 0, memory_order_relaxed);
	return pos;
}

static void end_record(struct ws_thread_buffer *thread_buffer, uint64_t end)
{
	ws_ring_publish(&thread_buffer->ring, end);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&thread_buffer->writer, 0, memory_order_relaxed);
}

/*
 * Writes one record. time_ns 0: reads the clock after copying, so that our own work is outside the
 * range that begins here. False: the ring is full.
 */
static bool put_event(struct ws_thread_buffer *thread_buffer, enum ws_rec_type type,
                      const struct ws_event *ev, uint64_t range, int64_t time_ns, uint32_t pops)
{
	uint8_t *bytes = ws_thread_buffer_bytes(thread_buffer);
	uint32_t ring_size = ws_collector.ring_size;
	uint32_t text_room = WS_ALIGN8(ev->text.size);
	struct ws_rec_event rec;
	uint64_t size = sizeof(rec) + text_room + WS_ALIGN8(ev->payload.total);
	volatile uint64_t mark;
	uint64_t pos = begin_record(thread_buffer, size, pops, &mark);

	if (WS_UNLIKELY(pos == UINT64_MAX))
		return 0;
	if (ev->text.size)
		put_text(bytes, pos + sizeof(rec), &ev->text, text_room);
	if (ev->payload.schema)
		put_payload(bytes, pos + sizeof(rec) + text_room, &ev->payload);

	rec.head.size = (uint32_t)size;
	rec.head.type = (uint16_t)type;
	rec.head.form = 0;
	rec.domain = ev->domain;
	rec.category = ev->category;
	rec.color = ev->color;
	rec.string = ev->string;
	rec.range = range;
	rec.schema = ev->payload.schema;
	rec.text_size = ev->text.size;
	rec.payload_size = ev->payload.total;
	rec.head.time_ns = time_ns ? time_ns : ws_now_ns();
	ws_ring_put(bytes, ring_size, pos, &rec, sizeof(rec));
	end_record(thread_buffer, pos + size);
	return 1;
}

/* --- events --- */

/* The thread buffer for an event; NULL: the event is lost, and counted with its cause. */
static struct ws_thread_buffer *thread_buffer_for(struct ws_event *ev)
{
	if (WS_UNLIKELY(ev->domain == WS_DEF_NONE)) {
		ws_lost(WS_DROPPED_definition_overflow, 1);
		return NULL;
	}
	struct ws_thread_buffer *thread_buffer = ws_thread_buffer_self();
	if (WS_UNLIKELY(!thread_buffer)) {
		ws_lost(WS_DROPPED_thread_without_ring, 1);
		return NULL;
	}
	return thread_buffer;
}

static void count_outside(void)
{
	atomic_fetch_add_explicit(&ws_collector.seg->control.noutside, 1, memory_order_relaxed);
}

/* Whether everything to be recorded is recorded: then the new event is counted as left out. */
static bool is_past_window(void)
{
	if (!WS_UNLIKELY(atomic_load_explicit(&ws_collector.seg->control.has_ended,
	                                      memory_order_relaxed)))
		return 0;
	if (ws_collector.seg->capture.standby)
		ws_standby_look();
	count_outside();
	return 1;
}

/* A pop without its push: recording was silent then, or the program forgot it. */
static int pop_unmatched(void)
{
	if (!ws_collector.seg->capture.standby) {
		ws_lost(WS_DROPPED_unmatched_pop, 1);
		return -1;
	}
	count_outside();
	return WSN_NO_PUSH_POP_TRACKING;
}

static void measure(struct ws_event *ev)
{
	if (ws_text_measure(&ev->text, WS_MAX_TEXT))
		ws_lost(WS_DROPPED_text_truncated, 1);
}

static bool is_cpu_domain(const struct ws_event *ev)
{
	return ev->domain == atomic_load_explicit(&ws_cpu_domain, memory_order_relaxed);
}

/* A CPU kernel begins: stored in the thread buffer until its pop, which writes one record. */
static int push_kernel(struct ws_thread_buffer *thread_buffer, struct ws_event *ev)
{
	struct ws_text_cursor cursor = {ev->text.ptr, ev->text.kind, 0};

	if (thread_buffer->kernels >= WS_SEG_MAX_KERNELS)
		return (int)thread_buffer->kernels++;
	struct ws_thread_buffer_kernel *k = &thread_buffer->kernel[thread_buffer->kernels];
	k->start_ns = 0;
	if (ws_is_unrecorded())
		return (int)thread_buffer->kernels++;
	if (ws_text_measure(&ev->text, WS_SEG_KERNEL_TEXT - 4))
		ws_lost(WS_DROPPED_text_truncated, 1);
	cursor.rest = ev->text.size;
	k->text_size = (uint16_t)ws_text_next(&cursor, k->text, sizeof(k->text));
	k->string = ev->string;
	k->schema = 0;
	k->payload_size = 0;
	if (ev->payload.schema && ev->payload.size <= WS_SEG_KERNEL_BYTES &&
	    !(ev->payload.layout && ev->payload.layout->ntexts)) {
		memcpy(k->payload, ev->payload.bytes, ev->payload.size);
		k->payload_size = (uint16_t)ev->payload.size;
		k->schema = ev->payload.schema;
	} else if (ev->payload.schema) {
		ws_lost(WS_DROPPED_payload_truncated, 1);
	}
	k->start_ns = ws_now_ns();
	return (int)thread_buffer->kernels++;
}

static int pop_kernel(struct ws_thread_buffer *thread_buffer, const struct ws_event *ev,
                      int64_t end_ns)
{
	struct ws_event out;

	if (!thread_buffer->kernels)
		return pop_unmatched();
	thread_buffer->kernels--;
	if (thread_buffer->kernels >= WS_SEG_MAX_KERNELS) {
		ws_lost(WS_DROPPED_ring_overflow, 1);
		return (int)thread_buffer->kernels;
	}
	const struct ws_thread_buffer_kernel *k = &thread_buffer->kernel[thread_buffer->kernels];
	/* it began in a step that is not recorded */
	if (!k->start_ns || is_past_window())
		return (int)thread_buffer->kernels;
	ws_event_init(&out, ev->domain, k->text, WS_TEXT_BYTES);
	out.text.size = k->text_size;
	out.string = k->string;
	out.payload.schema = k->schema;
	out.payload.bytes = k->payload;
	out.payload.size = out.payload.total = k->payload_size;
	if (!put_event(thread_buffer, WS_REC_CPU_KERNEL, &out, (uint64_t)end_ns, k->start_ns,
	               thread_buffer->pops_owed))
		ws_lost(WS_DROPPED_ring_overflow, 1);
	return (int)thread_buffer->kernels;
}

/* Bits of the domains in which ranges are left out because a step is not recorded. */

static uint64_t *unrecorded_word(struct ws_thread_buffer *thread_buffer, uint32_t domain)
{
	return &thread_buffer->unrecorded[domain / 64];
}

static bool is_unrecorded_in(struct ws_thread_buffer *thread_buffer, uint32_t domain)
{
	return *unrecorded_word(thread_buffer, domain) >> domain % 64 & 1;
}

/* The open range that is a step, by its thread, domain and level. */
static struct {
	const struct ws_thread_buffer *thread_buffer;
	uint32_t domain;
	int level;
	int64_t start_ns;
} step_range;

static void end_step(int64_t end_ns)
{
	struct ws_rec_op_period row = {.head.time_ns = step_range.start_ns, .end_ns = end_ns};

	step_range.thread_buffer = NULL;
	row.calibration = ws_calibrate_end(WS_STEPS_RANGES);
	if (row.calibration != WS_CALIBRATION_NONE)
		ws_event_op_period(&row);
}

/* Of programs that report/model/ranges.c knows, too. */
static bool is_step(const struct ws_event *ev)
{
	return ws_event_is_named(ev, "step") || ws_event_is_named(ev, "ProfilerStep#*") ||
	       ws_event_is_named(ev, "[pl][profile]run_training_batch");
}

/* A step is not recorded from behind the push of its range to its pop. */
static bool begins_step(struct ws_thread_buffer *thread_buffer, const struct ws_event *ev,
                        int level)
{
	if (!ws_steps_wanted() || thread_buffer->domains[ev->domain].dropped || !is_step(ev))
		return 0;
	if (step_range.thread_buffer == thread_buffer) {
		if (ws_collector.seg->capture.standby)
			return 0;
		end_step(ws_now_ns());
		ws_calibrate_stop(WS_CALIBRATE_NESTED);
	}
	if (!ws_calibrate_begin(WS_STEPS_RANGES, 1))
		return 0;
	step_range.domain = ev->domain;
	step_range.level = level;
	step_range.thread_buffer = thread_buffer;
	return 1;
}

static int push(struct ws_event *ev, bool is_mark)
{
	struct ws_thread_buffer *thread_buffer = thread_buffer_for(ev);

	if (WS_UNLIKELY(!thread_buffer)) {
		if (ev->domain != WS_DEF_NONE)
			ws_self.depth++;
		return WSN_NO_PUSH_POP_TRACKING;
	}
	if (is_cpu_domain(ev))
		return push_kernel(thread_buffer, ev);
	int level = (int)thread_buffer->domains[ev->domain].open++;
	if (ws_step_is_left_out() && !is_mark && !thread_buffer->domains[ev->domain].dropped)
		*unrecorded_word(thread_buffer, ev->domain) |= UINT64_C(1) << ev->domain % 64;
	if (WS_UNLIKELY(is_unrecorded_in(thread_buffer, ev->domain))) { /* as fast as it can */
		thread_buffer->domains[ev->domain].dropped++;
		return level;
	}
	measure(ev);
	if (ws_range_wanted())
		ws_range_pushed(thread_buffer, ev, (uint32_t)level);
	bool begins = begins_step(thread_buffer, ev, level);
	if (ws_is_silent()) {
		thread_buffer->domains[ev->domain].open--;
		return WSN_NO_PUSH_POP_TRACKING;
	}
	if (is_past_window()) {
		thread_buffer->domains[ev->domain].dropped++;
		return level;
	}
	if (thread_buffer->domains[ev->domain].dropped) {
		thread_buffer->domains[ev->domain].dropped++;
		ws_lost(WS_DROPPED_ring_overflow, 1);
		return level;
	}
	/* reserve room for its own pop first, so that a signal handler cannot take it */
	thread_buffer->pops_owed++;
	if (!put_event(thread_buffer, WS_REC_PUSH, ev, 0, 0, thread_buffer->pops_owed)) {
		thread_buffer->pops_owed--;
		thread_buffer->domains[ev->domain].dropped++;
		ws_lost(WS_DROPPED_ring_overflow, 1);
	}
	if (WS_UNLIKELY(begins)) {
		ws_calibrate_begun();
		step_range.start_ns = ws_now_ns();
	}
	return level;
}

int ws_event_push(struct ws_event *ev)
{
	return push(ev, 0);
}

int ws_event_push_mark(struct ws_event *ev)
{
	return push(ev, 1);
}

/* Writes a record that is whole already, before the room for so many pops. */
static inline void put_whole(struct ws_thread_buffer *thread_buffer, const void *rec, uint32_t size,
                             uint32_t pops)
{
	volatile uint64_t mark;
	uint64_t pos = begin_record(thread_buffer, size, pops, &mark);

	if (WS_UNLIKELY(pos == UINT64_MAX)) {
		ws_lost(WS_DROPPED_ring_overflow, 1);
		return;
	}
	ws_ring_put(ws_thread_buffer_bytes(thread_buffer), ws_collector.ring_size, pos, rec, size);
	end_record(thread_buffer, pos + size);
}

/* Writes the record for which room was reserved. */
static void put_pop(struct ws_thread_buffer *thread_buffer, uint32_t domain, int64_t time_ns)
{
	struct ws_rec_pop rec = {{sizeof(rec), WS_REC_POP, 0, time_ns}, domain, 0};

	put_whole(thread_buffer, &rec, sizeof(rec), thread_buffer->pops_owed - 1);
}

/* Is the innermost range of this domain the step that is open? */
static bool ends_step(const struct ws_thread_buffer *thread_buffer, uint32_t domain)
{
	return WS_UNLIKELY(step_range.thread_buffer == thread_buffer) &&
	       step_range.domain == domain &&
	       step_range.level + 1 == (int)thread_buffer->domains[domain].open;
}

int ws_event_pop(struct ws_event *ev)
{
	/* in a step that is left out the clock is not read for what is left out */
	int64_t now = ws_is_unrecorded() ? 0 : ws_now_ns();
	struct ws_thread_buffer *thread_buffer = thread_buffer_for(ev);

	if (WS_UNLIKELY(!thread_buffer)) {
		if (ev->domain != WS_DEF_NONE && ws_self.depth)
			ws_self.depth--;
		return WSN_NO_PUSH_POP_TRACKING;
	}
	if (is_cpu_domain(ev))
		return pop_kernel(thread_buffer, ev, now ?: ws_now_ns());
	if (!thread_buffer->domains[ev->domain].open)
		return pop_unmatched();
	bool ends = ends_step(thread_buffer, ev->domain);
	if (ends) {
		ws_calibrate_settle();
		now = ws_now_ns();
	}
	int level = (int)--thread_buffer->domains[ev->domain].open;
	if (ws_range_wanted())
		ws_range_popped(thread_buffer, ev->domain, (uint32_t)level, now);
	if (WS_UNLIKELY(thread_buffer->domains[ev->domain].dropped)) {
		if (!is_unrecorded_in(thread_buffer, ev->domain) && !is_past_window())
			ws_lost(WS_DROPPED_ring_overflow, 1);
		if (!--thread_buffer->domains[ev->domain].dropped)
			*unrecorded_word(thread_buffer, ev->domain) &=
			        ~(UINT64_C(1) << ev->domain % 64);
		if (ends)
			end_step(now);
		return level;
	}
	now = now ?: ws_now_ns();
	if (!ev->payload.schema) {
		put_pop(thread_buffer, ev->domain, now);
	} else if (!put_event(thread_buffer, WS_REC_POP, ev, 0, now,
	                      thread_buffer->pops_owed - 1)) {
		ws_lost(WS_DROPPED_payload_truncated, 1);
		put_pop(thread_buffer, ev->domain, now);
	}
	thread_buffer->pops_owed--;
	if (ends)
		end_step(now);
	return level;
}

/* The ranges of this thread that are open in the trace end with the window. */
static void end_open_ranges(struct ws_thread_buffer *thread_buffer)
{
	const int64_t end_ns = atomic_load(&ws_standby_ended_ns);

	for (uint32_t i = 0; i < WS_SEG_MAX_DOMAINS; i++) {
		while (thread_buffer->domains[i].open > thread_buffer->domains[i].dropped) {
			put_pop(thread_buffer, i, end_ns);
			thread_buffer->pops_owed--;
			thread_buffer->domains[i].open--;
		}
		thread_buffer->domains[i].open = thread_buffer->domains[i].dropped = 0;
	}
	memset(thread_buffer->unrecorded, 0, sizeof(thread_buffer->unrecorded));
	thread_buffer->kernels = 0;
	if (step_range.thread_buffer == thread_buffer) {
		step_range.thread_buffer = NULL;
		(void)ws_calibrate_end(WS_STEPS_RANGES);
	}
}

bool ws_event_skips(void)
{
	const uint32_t ended = atomic_load_explicit(&ws_standby_ended, memory_order_relaxed);

	ws_standby_look();
	if (!ws_is_silent())
		return 0;
	if (WS_UNLIKELY(ws_self.closed != ended)) {
		if (ws_self.thread_buffer)
			end_open_ranges(ws_self.thread_buffer);
		ws_self.depth = 0;
		ws_self.closed = ended;
	}
	return 1;
}

bool ws_event_skips_push(int32_t message_type, union wsn_message message)
{
	const char *text = message.ascii;
	struct ws_event ev;
	uint32_t size;

	if (!ws_event_skips())
		return 0;
	if (message_type == WSN_MESSAGE_REGISTERED)
		text = ws_string_text((uintptr_t)message.registered, &size);
	else if (message_type != WSN_MESSAGE_ASCII && message_type != WSN_MESSAGE_UNICODE)
		return 1;
	/* what is_step() looks for begins so */
	if (!text || (*text != 's' && *text != 'P' && *text != '['))
		return 1;
	ws_event_init(&ev, 0, text,
	              message_type == WSN_MESSAGE_UNICODE ? WS_TEXT_UTF32 : WS_TEXT_BYTES);
	measure(&ev);
	return !is_step(&ev);
}

/* Writes a record whose times its caller read. */
static void put_timed(struct ws_rec_head *rec, enum ws_rec_type type, uint16_t size)
{
	struct ws_thread_buffer *thread_buffer = ws_thread_buffer_self();

	if (WS_UNLIKELY(!thread_buffer)) {
		ws_lost(WS_DROPPED_thread_without_ring, 1);
		return;
	}
	if (is_past_window())
		return;
	rec->size = size;
	rec->type = (uint16_t)type;
	put_whole(thread_buffer, rec, size, thread_buffer->pops_owed);
}

void ws_event_op(struct ws_rec_op *rec)
{
	put_timed(&rec->head, WS_REC_OP, sizeof(*rec));
}

void ws_event_node(struct ws_rec_node *rec)
{
	rec->head.time_ns = ws_now_ns();
	put_timed(&rec->head, WS_REC_NODE, sizeof(*rec));
}

void ws_event_op_period(struct ws_rec_op_period *rec)
{
	put_timed(&rec->head, WS_REC_OP_PERIOD, sizeof(*rec));
}

void ws_event_mark(struct ws_event *ev)
{
	struct ws_thread_buffer *thread_buffer = thread_buffer_for(ev);

	if (WS_UNLIKELY(!thread_buffer) || ws_is_unrecorded() || is_past_window())
		return;
	measure(ev);
	if (!put_event(thread_buffer, WS_REC_MARK, ev, 0, 0, thread_buffer->pops_owed))
		ws_lost(WS_DROPPED_ring_overflow, 1);
}

/* --- samples of counters --- */

/* The thread buffer for n samples; NULL: they are not recorded. */
static struct ws_thread_buffer *thread_buffer_for_samples(uint64_t n)
{
	struct ws_thread_buffer *thread_buffer = ws_thread_buffer_self();

	if (WS_UNLIKELY(!thread_buffer))
		ws_lost(WS_DROPPED_thread_without_ring, n);
	return ws_is_unrecorded() || !thread_buffer || is_past_window() ? NULL : thread_buffer;
}

static void put_sample(struct ws_thread_buffer *thread_buffer, uint32_t counter,
                       enum ws_sample_form form, const void *bytes, uint32_t size, int64_t time_ns)
{
	const struct ws_rec_sample rec = {{(uint32_t)sizeof(rec) + WS_ALIGN8(size), WS_REC_SAMPLE,
	                                   (uint16_t)form, time_ns},
	                                  counter,
	                                  size};
	uint8_t *ring = ws_thread_buffer_bytes(thread_buffer);
	volatile uint64_t mark;
	uint64_t pos = begin_record(thread_buffer, rec.head.size, thread_buffer->pops_owed, &mark);

	if (WS_UNLIKELY(pos == UINT64_MAX)) {
		ws_lost(WS_DROPPED_ring_overflow, 1);
		return;
	}
	ws_ring_put(ring, ws_collector.ring_size, pos, &rec, sizeof(rec));
	ws_ring_put(ring, ws_collector.ring_size, pos + sizeof(rec), bytes, size);
	end_record(thread_buffer, pos + rec.head.size);
}

void ws_event_sample(uint32_t domain, uint64_t counter, enum ws_sample_form form, const void *bytes,
                     size_t size)
{
	const int64_t now = ws_now_ns();
	struct ws_thread_buffer *thread_buffer;
	uint32_t def;

	if (!ws_counter_find(domain, counter, &def) || !bytes || !size || size > WS_MAX_PAYLOAD)
		ws_lost(WS_DROPPED_nvtx_not_kept_counter_samples, 1);
	else if ((thread_buffer = thread_buffer_for_samples(1)))
		put_sample(thread_buffer, def, form, bytes, (uint32_t)size, now);
}

/* What to add to a time of this type to get one of CLOCK_MONOTONIC. False: another clock. */
static bool clock_apart(uint64_t type, int64_t *apart_ns)
{
	clockid_t clock;

	switch (type) {
	case WSN_TIMESTAMP_NONE:
	case WSN_TIMESTAMP_TOOL:
	case WSN_TIMESTAMP_MONOTONIC:
	case WSN_TIMESTAMP_MONOTONIC_COARSE:
		*apart_ns = 0;
		return 1;
	case WSN_TIMESTAMP_MONOTONIC_RAW:
		clock = CLOCK_MONOTONIC_RAW;
		break;
	case WSN_TIMESTAMP_REALTIME:
	case WSN_TIMESTAMP_REALTIME_COARSE:
		clock = CLOCK_REALTIME;
		break;
	case WSN_TIMESTAMP_BOOTTIME:
		clock = CLOCK_BOOTTIME;
		break;
	default:
		return 0;
	}
	*apart_ns = ws_now_ns() - ws_clock_ns(clock);
	return 1;
}

/* When sample i of n was taken, as the program says. False: it does not say. */
static bool sample_time(const struct wsn_counter_batch *batch, const struct ws_def_counter *counter,
                        size_t i, size_t n, int64_t *time_ns)
{
	const int64_t *times = batch->timestamps;
	const size_t ntimes = batch->timestamps_size / sizeof(*times);
	const uint64_t interval = batch->flags >> 32;
	uint64_t intervals = i;

	if (!times && counter->time_at &&
	    counter->time_at - 1 + sizeof(*time_ns) <= counter->size) {
		memcpy(time_ns,
		       (const char *)batch->counters + i * counter->size + counter->time_at - 1,
		       sizeof(*time_ns));
		return 1;
	}
	/* a time and an interval, also where the flag did not survive the compiler */
	if (times && ntimes >= 2 && (interval || (ntimes == 2 && n > 2))) {
		if (interval == WSN_COUNTER_BATCH_END_INTERVAL)
			intervals = i - (n - 1);
		*time_ns = (int64_t)((uint64_t)times[0] + (uint64_t)times[1] * intervals);
		return 1;
	}
	if (!times || i >= ntimes)
		return 0;
	*time_ns = times[i];
	return 1;
}

void ws_event_samples(uint32_t domain, const struct wsn_counter_batch *batch)
{
	const int64_t now = ws_now_ns();
	const struct ws_def_counter *counter = NULL;
	int64_t apart_ns, time_ns;
	uint32_t def;

	if (batch)
		counter = ws_counter_find(domain, batch->counter_id, &def);
	if (!counter || !counter->size || counter->size > WS_MAX_PAYLOAD || !batch->counters ||
	    !clock_apart(batch->timestamps && counter->semantics.time_type
	                         ? counter->semantics.time_type
	                         : counter->time_type,
	                 &apart_ns)) {
		ws_lost(WS_DROPPED_nvtx_not_kept_counter_batches, 1);
		return;
	}
	size_t n = batch->counters_size / counter->size;
	if (batch->counters_size % counter->size) /* the last one is cut */
		ws_lost(WS_DROPPED_nvtx_not_kept_counter_samples, 1);
	struct ws_thread_buffer *thread_buffer = thread_buffer_for_samples(n);
	for (size_t i = 0; thread_buffer && i < n; i++) {
		/* a time outside of the recording is one of another clock */
		if (!sample_time(batch, counter, i, n, &time_ns) ||
		    __builtin_add_overflow(time_ns, apart_ns, &time_ns) || time_ns > now ||
		    time_ns < ws_collector.seg->base_ns)
			ws_lost(WS_DROPPED_nvtx_not_kept_counter_samples, 1);
		else
			put_sample(thread_buffer, def, WS_SAMPLE_BYTES,
			           (const char *)batch->counters + i * counter->size, counter->size,
			           time_ns);
	}
}

/* --- ranges that any thread may end --- */

/*
 * Bits in the ids of ranges. If the start was lost the id contains the cause, so that the end is
 * not recorded alone, and is counted with the same cause. Ranges of --capture-range have a bit,
 * too.
 */
#define RANGE_LOST     (UINT64_C(1) << 63)
#define RANGE_CAPTURE  (UINT64_C(1) << 62)
#define RANGE_CAUSE(c) (RANGE_LOST | (uint64_t)(c) << 56)
#define CAUSE_OF(id)   ((id) >> 56 & 0x3F)
#define CAUSE_OVER     0x3Fu /* not lost: outside the window */

uint64_t ws_event_start(struct ws_event *ev)
{
	uint64_t capture, range;

	if (ws_is_unrecorded()) /* as fast as it can */
		return WS_EVENT_SILENT_RANGE;
	range = atomic_fetch_add(&ws_collector.seg->next_range, 1) + 1;
	struct ws_thread_buffer *thread_buffer = thread_buffer_for(ev);
	if (WS_UNLIKELY(!thread_buffer))
		return range |
		       (ev->domain == WS_DEF_NONE ? RANGE_CAUSE(WS_DROPPED_definition_overflow)
		                                  : RANGE_CAUSE(WS_DROPPED_thread_without_ring));
	if (is_past_window())
		return range | RANGE_CAUSE(CAUSE_OVER);
	measure(ev);
	capture = ws_range_wanted() && ws_range_started(ev) ? RANGE_CAPTURE : 0;
	if (put_event(thread_buffer, WS_REC_START, ev, range, 0, thread_buffer->pops_owed))
		return range | capture;
	ws_lost(WS_DROPPED_ring_overflow, 1);
	return range | capture | RANGE_CAUSE(WS_DROPPED_ring_overflow);
}

void ws_event_end(struct ws_event *ev, uint64_t range)
{
	if (WS_UNLIKELY(range == WS_EVENT_SILENT_RANGE))
		return;
	int64_t now = ws_now_ns();
	if (WS_UNLIKELY(range & RANGE_CAPTURE))
		ws_range_ended(now);
	if (WS_UNLIKELY(range & RANGE_LOST)) {
		uint64_t cause = CAUSE_OF(range);

		if (cause == CAUSE_OVER)
			count_outside();
		else
			ws_lost(cause < WS_DROPPED_COUNT ? (enum ws_dropped)cause
			                                 : WS_DROPPED_ring_overflow,
			        1);
		return;
	}
	struct ws_thread_buffer *thread_buffer = thread_buffer_for(ev);
	if (thread_buffer && !put_event(thread_buffer, WS_REC_END, ev, range & ~RANGE_CAPTURE, now,
	                                thread_buffer->pops_owed))
		ws_lost(WS_DROPPED_ring_overflow, 1);
}
