/* Any bytes as the rows of payload_schema, _field, _enum and payload: what operations they make. */
#include <stdlib.h>

#include "report/model/model.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/mutate.h"

#define MAX_ROWS    24
#define MAX_COLUMNS 8

static const char *const texts[] = {"",      "flops", "bytes", "bytes_read", "bytes_written",
                                    "layer", "op",    "dtype", "batch",      "none",
                                    "m",     "k",     "gemm",  "direction"};
#define NTEXTS (sizeof(texts) / sizeof(*texts))

struct rows {
	struct ws_column_data table;
	struct ws_column columns[MAX_COLUMNS];
	uint64_t values[MAX_COLUMNS][MAX_ROWS];
	struct ws_bytes blobs[MAX_ROWS];
};

static uint32_t text_of(void *ctx, uint64_t id)
{
	(void)ctx;
	return (uint32_t)(id % NTEXTS);
}

static void fill(struct rows *r, enum ws_kind kind, struct fuzz_input *in)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	memset(r, 0, sizeof(*r));
	r->table = (struct ws_column_data){.def = def,
	                                   .rows = fuzz_take(in) % MAX_ROWS,
	                                   .columns = r->columns};
	for (unsigned c = 0; c < def->ncolumns; c++) {
		r->columns[c].type = def->columns[c].type;
		r->columns[c].present = fuzz_take(in) % 16 != 15;
		if (!r->columns[c].present)
			continue;
		r->columns[c].v = r->values[c];
		r->columns[c].b = r->blobs;
		for (uint64_t i = 0; i < r->table.rows; i++) {
			size_t len = 0;

			if (def->columns[c].type != WS_TYPE_BLOB) {
				r->values[c][i] = fuzz_take_number(in);
				continue;
			}
			r->blobs[i].ptr = fuzz_take_bytes(in, fuzz_take(in) % 72, &len);
			r->blobs[i].len = len;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rows schema, field, enumeration, payload;
	struct fuzz_input in = {data, data + size};
	struct ws_bytes bytes[NTEXTS];
	const struct ws_payload_tables tables = {
	        &schema.table, &field.table, &enumeration.table, &payload.table, text_of,
	        bytes,         NULL};
	struct ws_ops ops;

	for (size_t i = 0; i < NTEXTS; i++)
		bytes[i] = (struct ws_bytes){texts[i], strlen(texts[i])};
	fill(&schema, WS_KIND_PAYLOAD_SCHEMA, &in);
	fill(&field, WS_KIND_PAYLOAD_FIELD, &in);
	fill(&enumeration, WS_KIND_PAYLOAD_ENUM, &in);
	fill(&payload, WS_KIND_PAYLOAD, &in);
	ws_ops_decode(&tables, &ops);
	for (uint64_t i = 0; i < ops.n; i++)
		if (ops.is_op[i] && ops.op[i].kind >= NTEXTS)
			abort();
	ws_ops_release(&ops);
	return 0;
}
