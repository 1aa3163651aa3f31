/*
 * NVTX payloads, decoded through the schema that the trace carries: fields
 * are found by name, so any program's payload serves that has them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "formats/schema/schema.h"
#include "formats/base/status.h"
#include "formats/trace/reader.h"

/*
 * What an annotated operation says of itself. A payload is an operation when
 * its schema has a number field `flops` or an enumeration field `op`. Texts
 * are indexes of the pool that ws_ops_decode was given; 0 = not said (also
 * where the enumeration's entry is called "none"). Numbers: -1 = not said.
 */
struct ws_op_facts {
	int64_t flops;
	int64_t flops_needed; /* of these, by the result; 0 is -1, too, where there are FLOPs */
	int64_t bytes;        /* fields bytes_read + bytes_written, or bytes */
	uint32_t kind;        /* field op: "gemm", "softmax" … */
	uint32_t direction;   /* "forward", "backward" */
	uint32_t phase;
	uint32_t dtype;
	int64_t layer;
	int64_t batch, m, n, k; /* of a matrix product */
};

/* Rows of the kinds payload_schema, payload_field, payload_enum and payload. */
struct ws_payload_tables {
	const struct ws_column_data *schema, *field, *enumeration, *payload;
	/* id of a string row -> index of the text */
	uint32_t (*text_of)(void *ctx, uint64_t string_id);
	const struct ws_bytes *texts; /* by that index */
	void *ctx;
};

struct ws_ops {
	struct ws_op_facts *op; /* one for each payload row */
	uint8_t *is_op;         /* … if it is an operation */
	uint64_t n;
	uint64_t undecodable; /* payloads whose schema or bytes do not fit together */
};
/* Free with ws_ops_release, also after a failure. */
void ws_ops_decode(const struct ws_payload_tables *tables, struct ws_ops *out);
void ws_ops_release(struct ws_ops *ops);

/* A number of a predefined NVTX entry type (little-endian); 0 when p[0..len) cannot hold it or the
 * type is no number that fits into an int64_t. */
bool ws_payload_number(uint64_t type, const uint8_t *p, size_t len, int64_t *out);
