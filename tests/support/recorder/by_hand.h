/* A segment in memory that a test fills by hand, and the drain over it. */
#pragma once

#include "recorder/drain/drain.h"
#include "recorder/shared/record.h"
#include "tests/support/recorder/probe.h"

#define RING      8192u
#define SLOTS     4u
#define SLOT_SIZE 65536u
#define BASE      INT64_C(1700000000000000000) /* of all clocks: no real CLOCK_MONOTONIC's */

extern struct ws_seg_header
        *seg; /* two thread buffers; thread 1 (pid 100, tid 1001) has both; 4 slots */
extern struct ws_trace_writer *writer;
extern struct ws_drain *drain;

/* Make the segment, and a writer into memory (path NULL) or into a file. */
void by_hand_start(const char *path);
void by_hand_stop(void);
/* Pass, commit, close, and read what came out of a writer into memory. */
struct probe by_hand_finish(void);

/* Append a definition. Returns its id: the one given, for strings the log's. */
uint64_t put_def(enum ws_def_type type, uint64_t id, const void *body, uint32_t size);
void put_thread(enum ws_def_type type, uint64_t id, uint64_t tid, const char *name);
/* A schema named "warpsheet.launch" as the collector writes it. */
uint64_t put_launch_schema(void);

/* Append to the ring of a thread buffer: bytes as they are, or a record with its text and payload.
 */
void put_bytes(uint32_t thread_buffer, const void *rec, uint32_t size);
void put_event(uint32_t thread_buffer, struct ws_rec_event rec, const char *text,
               const void *payload);
void put_pop(uint32_t thread_buffer, int64_t at);

/* EVENT(WS_REC_MARK, ns after BASE, further members…) */
#define EVENT(kind, at, ...) \
	((struct ws_rec_event){.head = {0, (kind), 0, BASE + (at)}, __VA_ARGS__})
