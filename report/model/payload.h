/*
 * All values in the NVTX payloads of a trace, by the schemas that the program registered:
 * docs/dev/payloads.md.
 */
#pragma once

#include "report/model/model.h"

/* Of one payload. Later values are left out, and a value says so. */
#define WS_PAYLOAD_MOST_VALUES 4096u

/* A value of a payload, or why there is none. */
struct ws_payload_value {
	struct ws_bytes schema; /* its name; len 0: it has none, or the payload is a plain number */
	struct ws_bytes field;  /* a.b[2] of nested schemas and arrays; len 0: of a plain number */
	struct ws_bytes text;   /* a number in decimal, the entry of an enumeration; len 0: none */
	enum { WS_PAYLOAD_NO_NUMBER, WS_PAYLOAD_INT, WS_PAYLOAD_REAL } number;
	int64_t i;
	double r;
	const char *problem; /* NULL: none */
};

/* An event with a payload. Ids are those of the trace. */
struct ws_payload_event {
	int64_t time_ns;
	uint64_t row; /* of its record nvtx, from 0 */
	uint64_t thread, type, domain, payload;
	uint64_t name; /* of a pop or end: that of the range which it ends, 0 = not found */
};

struct ws_payloads;

/* Free with ws_payloads_free, also after a failure. */
enum ws_status ws_payloads_new(struct ws_payloads **out, const struct ws_trace_reader *r,
                               struct ws_err *err);
void ws_payloads_free(struct ws_payloads *p);
/* In the order of the file. */
enum ws_status ws_payloads_each_event(const struct ws_trace_reader *r,
                                      void (*fn)(void *ctx, const struct ws_payload_event *e),
                                      void *ctx, struct ws_err *err);
/* The values of a payload, valid until the next call; at least one. */
const struct ws_payload_value *ws_payloads_values(struct ws_payloads *p, uint64_t payload,
                                                  size_t *n);
/* Text of a string row; len 0 if there is none. */
struct ws_bytes ws_payloads_text(const struct ws_payloads *p, uint64_t string_id);
