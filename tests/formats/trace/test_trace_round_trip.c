/* Random rows of every kind come back from a trace as they were written. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "formats/codec/block.h"
#include "tests/environment/random.h"
#include "tests/support/trace_sample.h"

static const struct ws_trace_writer_opts opts = {.base_ns = WS_SAMPLE_BASE_NS};

static uint64_t random_state = 0x2545f4914f6cdd1du;

/* Values as columns have them: small, large, few different, rising, negative. */
static uint64_t random_value(unsigned style, uint64_t row)
{
	switch (style % 6) {
	case 0:
		return random_u64(&random_state) >> (random_u64(&random_state) % 64);
	case 1:
		return random_u64(&random_state) % 3;
	case 2:
		return row * 1000 + random_u64(&random_state) % 100;
	case 3:
		return 0 - random_u64(&random_state) % 100000;
	case 4:
		return 42;
	default:
		return random_u64(&random_state);
	}
}

static void random_row(const struct ws_kind_def *def, uint8_t *row, uint8_t *blobs, uint64_t i,
                       unsigned style)
{
	for (unsigned c = 0; c < def->ncolumns; c++) {
		uint8_t *field = row + def->columns[c].row_offset;
		uint64_t value = random_value(style + c, i);
		struct ws_bytes blob = {blobs, random_u64(&random_state) % 40};

		/* no type of an event is that of a call */
		if (def->id == WS_KIND_NVTX && c == WS_COL_nvtx_type)
			value %= WS_THREAD_EVENT_API;
		if (def->columns[c].type != WS_TYPE_BLOB) {
			memcpy(field, &value, sizeof(value));
			continue;
		}
		for (size_t k = 0; k < blob.len; k++)
			*blobs++ = (uint8_t)random_u64(&random_state);
		memcpy(field, &blob, sizeof(blob));
	}
}

static void compare_row(const struct ws_column_data *t, const uint8_t *row, uint64_t i)
{
	for (unsigned c = 0; c < t->def->ncolumns; c++) {
		const uint8_t *field = row + t->def->columns[c].row_offset;
		struct ws_bytes blob;

		cr_assert(eq(u8, t->columns[c].present, 1));
		if (t->def->columns[c].type != WS_TYPE_BLOB) {
			cr_assert(eq(u64, t->columns[c].v[i], ws_load_u64(field)), "%s.%s row %llu",
			          t->def->name, t->def->columns[c].name, (unsigned long long)i);
			continue;
		}
		memcpy(&blob, field, sizeof(blob));
		cr_assert(eq(sz, t->columns[c].b[i].len, blob.len));
		cr_assert(memcmp(t->columns[c].b[i].ptr, blob.ptr, blob.len) == 0);
	}
}

/* n random rows of a kind, flushed now and then; write, read, compare. */
static void round_trip(const struct ws_kind_def *def, uint64_t n, unsigned style)
{
	struct ws_trace_writer *w;
	uint8_t *rows = malloc(n * def->row_size);
	uint8_t *blobs = malloc(n * def->ncolumns * 40);
	struct ws_trace_reader *r;
	struct ws_column_data t;
	struct ws_bytes bytes;
	struct ws_err err;

	cr_assert(eq(int, ws_trace_writer_create_mem(&w, &opts, &err), WS_OK));
	for (uint64_t i = 0; i < n; i++) {
		uint8_t *row = rows + i * def->row_size;

		random_row(def, row, blobs + i * def->ncolumns * 40, i, style);
		cr_assert(eq(int, ws_trace_writer_add(w, def->id, row, &err), WS_OK));
		if (random_u64(&random_state) % (n / 2 + 1) == 0)
			cr_assert(eq(int, ws_trace_writer_flush(w, &err), WS_OK));
	}
	cr_assert(eq(int, ws_trace_writer_close(w, &err), WS_OK));
	bytes = ws_trace_writer_mem(w);
	cr_assert(eq(int, ws_trace_reader_open_mem(&r, bytes.ptr, bytes.len, &err), WS_OK), "%s",
	          err.text);
	cr_assert(eq(int, ws_trace_reader_summary(r)->closed, 1));
	cr_assert(eq(int, ws_trace_reader_load(r, def->id, &t, &err), WS_OK), "%s", err.text);
	cr_assert(eq(u64, t.rows, n));
	for (uint64_t i = 0; i < n; i++)
		compare_row(&t, rows + i * def->row_size, i);
	ws_column_data_release(&t);
	ws_trace_reader_free(r);
	ws_trace_writer_free(w);
	free(rows);
	free(blobs);
}

Test(trace_round_trip, random_rows_of_every_kind_come_back)
{
	for (unsigned id = 0; id < WS_KIND_END; id++) {
		const struct ws_kind_def *def = ws_schema_kind(id);

		if (!def || ws_kind_is_made(id))
			continue;
		for (unsigned style = 0; style < 6; style++) {
			round_trip(def, 1, style);
			round_trip(def, 1 + random_u64(&random_state) % 700, style);
		}
	}
}

Test(trace_round_trip, rows_beyond_a_block_come_back)
{
	round_trip(ws_schema_kind(WS_KIND_COUNTER), WS_MAX_BLOCK_ROWS + 1, 2);
	round_trip(ws_schema_kind(WS_KIND_META), WS_MAX_BLOCK_ROWS * 2, 0);
}
