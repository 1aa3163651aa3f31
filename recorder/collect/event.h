/* An NVTX event on its way into the ring of its thread. */
#pragma once

#include "kernels/nvtx/abi.h"
#include "recorder/collect/collector.h"

/* A payload, ready to be copied. */
struct ws_payload {
	uint64_t schema;   /* as in the trace; 0: no payload */
	const void *bytes; /* in the program's memory, or &number */
	uint32_t size;     /* of bytes */
	uint32_t total;    /* with the texts that follow them */
	uint64_t number;
	const struct ws_schema *layout;             /* NULL: nothing to follow */
	struct ws_event_text text[WS_SCHEMA_TEXTS]; /* set as far as the layout has texts */
};

struct ws_event {
	uint32_t domain; /* WS_DEF_NONE: one that found no room; the event is counted only */
	uint32_t category;
	uint32_t color;
	uint32_t string; /* registered message, 0 = text */
	struct ws_event_text text;
	struct ws_payload payload;
};

/* Domain number of a handle, WS_DEF_NONE when it is none of ours. */
uint32_t ws_event_domain(wsn_domain handle);
/* An event without attributes but this message, which may be NULL. */
void ws_event_init(struct ws_event *ev, uint32_t domain, const void *text, enum ws_text_kind kind);
/* An event with these attributes; attr may be NULL. */
void ws_event_attributes(struct ws_event *ev, wsn_domain domain, const struct wsn_event *attr);
/* The first of n payloads; the others are counted as left out. */
void ws_event_payloads(struct ws_event *ev, const struct wsn_payload_data *payload, size_t n);

/* A call of an operation that ended: its times, numbers and config; size and type are ours. */
void ws_event_op(struct ws_rec_op *rec);

/* Each returns what NVTX prescribes: the level, from 0; -1 for a pop without a push. */
int ws_event_push(struct ws_event *ev);
int ws_event_pop(struct ws_event *ev);
void ws_event_mark(struct ws_event *ev);
uint64_t ws_event_start(struct ws_event *ev);
void ws_event_end(struct ws_event *ev, uint64_t range);
