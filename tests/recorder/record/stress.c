/*
 * Threads against each other: the ring between its two sides, and many
 * threads in the collector while the drain runs; with the argument "short",
 * thousands of threads that live for one range each. A plain program, so that
 * it also runs under ThreadSanitizer. Ends with 1 when anything is wrong.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/drain_has_all.h"
#include "formats/trace/reader.h"
#include "recorder/drain/drain.h"
#include "recorder/shared/segment_file.h"
#include "tests/support/recorder/check.h"
#include "tests/support/paths.h"
#include "tests/support/recorder/nvtx_module.h"

/* --- the ring --- */

#define RING_SIZE 4096u
#define RECORDS   200000u

static struct ws_ring ring;
static uint8_t bytes[RING_SIZE];

/* Records of 8 to 120 bytes: length, number, then bytes made from the number. */
static uint32_t record_length(uint32_t number)
{
	return 8 + number * 2654435761u % 113;
}

static void *produce(void *arg)
{
	uint8_t rec[128];

	for (uint32_t n = 0; n < RECORDS; n++) {
		uint32_t len = record_length(n);
		uint64_t pos;

		memcpy(rec, &len, 4);
		memcpy(rec + 4, &n, 4);
		memset(rec + 8, (int)(n & 0xFF), len - 8);
		while ((pos = ws_ring_claim(&ring, RING_SIZE, RING_SIZE, len, 0)) == UINT64_MAX)
			sched_yield();
		ws_ring_publish(&ring, ws_ring_put(bytes, RING_SIZE, pos, rec, len));
	}
	return arg;
}

/* The next record, compared with what its number demands. Returns its length. */
static uint32_t consume(uint64_t tail, uint32_t number)
{
	uint32_t len, found, wrong = 0;
	uint8_t rec[128];

	ws_ring_get(bytes, RING_SIZE, tail, &len, 4);
	if (len != record_length(number)) {
		CHECK(len == record_length(number));
		exit(1); /* where the next one begins is unknown */
	}
	ws_ring_get(bytes, RING_SIZE, tail, rec, len);
	memcpy(&found, rec + 4, 4);
	for (uint32_t i = 8; i < len; i++)
		wrong += rec[i] != (number & 0xFF);
	CHECK(found == number);
	CHECK(!wrong);
	return len;
}

static void stress_ring(void)
{
	pthread_t producer;
	uint64_t tail = 0;

	pthread_create(&producer, NULL, produce, NULL);
	for (uint32_t n = 0; n < RECORDS;) {
		uint64_t head = ws_ring_head(&ring);

		if (head == tail)
			sched_yield();
		for (; tail < head; n++)
			tail += consume(tail, n);
		ws_ring_release(&ring, tail);
	}
	pthread_join(producer, NULL);
	CHECK(ws_ring_head(&ring) == tail);
}

/* --- the collector --- */

#define THREADS 8
#define ROUNDS  2000

static uint64_t register_schema(wsn_domain domain)
{
	static const struct wsn_schema_entry entries[] = {
	        {.type = WSN_ENTRY_UINT64, .name = "n"},
	        {.type = WSN_ENTRY_CSTRING, .name = "text"},
	};
	static const struct wsn_schema_attr attr = {
	        .field_mask = WSN_SCHEMA_FIELD_ENTRIES | WSN_SCHEMA_FIELD_NUM_ENTRIES,
	        .entries = entries,
	        .num_entries = 2,
	};

	return nvtx.PayloadSchemaRegister(domain, &attr);
}

/* All threads define the same things again and again, and use them at once. */
static void *hammer(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct {
			uint64_t n;
			const char *text;
		} value = {(uint64_t)(i % 10), "text"};
		char name[32];
		wsn_domain domain;
		struct wsn_payload_data data = {0, sizeof(value), &value};
		struct wsn_event attr = {
		        .version = WSN_VERSION,
		        .size = sizeof(attr),
		        .payload_type = WSN_PAYLOAD_EXT,
		        .reserved0 = 1,
		        .payload.ull = (uint64_t)(uintptr_t)&data,
		        .message_type = WSN_MESSAGE_REGISTERED,
		};

		snprintf(name, sizeof(name), "domain %d", i % 5);
		domain = nvtx.DomainCreateA(name);
		data.schema_id = register_schema(domain);
		snprintf(name, sizeof(name), "name %d", i % 100);
		attr.message.registered = nvtx.DomainRegisterStringA(domain, name);
		nvtx.DomainRangePushEx(domain, &attr);
		nvtx.NameCategoryA((uint32_t)(i % 3), name);
		nvtx.DomainRangePop(domain);
	}
	return arg;
}

static uint64_t rows(const struct ws_trace_reader *reader, enum ws_kind kind)
{
	struct ws_column_data table;
	struct ws_err err;
	uint64_t n;

	if (ws_trace_reader_load(reader, kind, &table, &err) != WS_OK) {
		fprintf(stderr, "%s\n", err.text);
		failures++;
		return 0;
	}
	n = table.rows;
	ws_column_data_release(&table);
	return n;
}

/* A segment, the drain over it into a trace in memory, and the collector in this process. */
static struct ws_segment_file file;
static struct ws_trace_writer *writer;
static struct ws_drain *drain;

static void begin(const struct ws_seg_opts *opts)
{
	if (ws_segment_file_create_beside(&file, "/tmp/", opts, NULL) != WS_OK ||
	    ws_segment_file_seal(&file, NULL) != WS_OK ||
	    ws_trace_writer_create_mem(&writer, &(struct ws_trace_writer_opts){0}, NULL) != WS_OK) {
		CHECK(!"a segment and a trace can be made");
		exit(1);
	}
	drain = ws_drain_new(file.seg, writer);
	setenv(WSN_ENV_INJECTION, WS_TEST_COLLECTOR, 1);
	setenv(WS_SEG_ENV, file.path, 1);
	CHECK(nvtx_attach());
}

/* Nothing is lost. The trace; NULL when it cannot be read. */
static struct ws_trace_reader *end(void)
{
	struct ws_trace_reader *reader = NULL;
	struct ws_bytes trace;

	ws_drain_pass(drain);
	CHECK(drain_has_all(drain));
	ws_drain_commit(drain);
	CHECK(ws_trace_writer_close(writer, NULL) == WS_OK);
	for (int i = 0; i < WS_DROPPED_COUNT; i++) {
		uint64_t lost = ws_drain_lost(drain, (enum ws_dropped)i);

		if (lost)
			fprintf(stderr, "lost: %s %llu\n", ws_dropped_name((enum ws_dropped)i),
			        (unsigned long long)lost);
		CHECK(!lost);
	}
	trace = ws_trace_writer_mem(writer);
	CHECK(ws_trace_reader_open_mem(&reader, trace.ptr, trace.len, NULL) == WS_OK);
	return reader;
}

static void release(struct ws_trace_reader *reader)
{
	ws_trace_reader_free(reader);
	ws_drain_free(drain);
	ws_trace_writer_free(writer);
	ws_segment_file_remove(&file);
}

static void stress_collector(void)
{
	const struct ws_seg_opts opts = {.thread_buffers = THREADS,
	                                 .ring_size = 1 << 20,
	                                 .defs_size = 1 << 20};
	struct ws_trace_reader *reader;
	pthread_t threads[THREADS];

	begin(&opts);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, NULL);
	for (int i = 0; i < 50; i++) {
		usleep(500);
		ws_drain_pass(drain);
		ws_drain_commit(drain);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	reader = end();
	if (reader) {
		CHECK(rows(reader, WS_KIND_NVTX) == 2 * THREADS * ROUNDS);
		CHECK(rows(reader, WS_KIND_THREAD) == THREADS);
		CHECK(rows(reader, WS_KIND_PAYLOAD_SCHEMA) == 5);
		CHECK(rows(reader, WS_KIND_PAYLOAD_FIELD) == 2 * 5);
		CHECK(rows(reader, WS_KIND_PAYLOAD) == 5 * 2); /* i mod 10 fixes i mod 5 */
		CHECK(rows(reader, WS_KIND_CATEGORY) == 3 * 100);
	}
	release(reader);
}

/* --- short threads --- */

#define SPAWNERS 2
#define SHORT    2000 /* threads of each, one after the other */

static atomic_int spawners_done;

static void *one_range(void *arg)
{
	nvtx.RangePushA("short");
	nvtx.RangePop();
	return arg;
}

static void *spawn(void *arg)
{
	for (int i = 0; i < SHORT; i++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, one_range, NULL));
		pthread_join(thread, NULL);
	}
	atomic_fetch_add(&spawners_done, 1);
	return arg;
}

/*
 * Thread buffers go from hand to hand while the launcher's side looks at them all the time. There
 * are more buffers than threads, so none can be missing, however slow the drain is.
 */
static void stress_short_threads(void)
{
	const struct ws_seg_opts opts = {.thread_buffers = WS_SEG_MAX_THREAD_BUFFERS,
	                                 .ring_size = WS_SEG_MIN_RING,
	                                 .defs_size = 4 << 20};
	struct ws_trace_reader *reader;
	pthread_t threads[SPAWNERS];

	begin(&opts);
	for (int i = 0; i < SPAWNERS; i++)
		pthread_create(&threads[i], NULL, spawn, NULL);
	while (atomic_load(&spawners_done) < SPAWNERS) {
		ws_drain_pass(drain);
		ws_drain_commit(drain);
		sched_yield();
	}
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(threads[i], NULL);
	reader = end();
	if (reader) {
		CHECK(rows(reader, WS_KIND_NVTX) == 2 * SPAWNERS * SHORT);
		CHECK(rows(reader, WS_KIND_THREAD) == SPAWNERS * SHORT);
	}
	release(reader);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "short")) {
		stress_short_threads();
	} else {
		stress_ring();
		stress_collector();
	}
	return failures != 0;
}
