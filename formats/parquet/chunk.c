#include "formats/parquet/chunk.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "formats/base/xalloc.h"

/* Numbers of parquet.thrift. */
enum { PAGE_DICTIONARY = 2, PAGE_DATA_V2 = 3 };
enum { CODEC_ZSTD = 6, ZSTD_LEVEL = 3 };
enum encoding {
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	ENCODING_DELTA_BINARY_PACKED = 5,
	ENCODING_RLE_DICTIONARY = 8,
};

void ws_parquet_append(struct ws_parquet_file *file, const void *bytes, size_t len)
{
	if (len && fwrite(bytes, 1, len, file->f) != len && !file->error)
		file->error = errno;
	file->size += len;
}

int32_t ws_parquet_physical(enum ws_parquet_type type)
{
	switch (type) {
	case WS_PARQUET_F64:
		return WS_PARQUET_PHYSICAL_DOUBLE;
	case WS_PARQUET_TEXT:
		return WS_PARQUET_PHYSICAL_BYTE_ARRAY;
	default:
		return WS_PARQUET_PHYSICAL_INT64;
	}
}

void ws_parquet_values_clear(struct ws_parquet_values *c)
{
	c->rows = c->n = 0;
	c->ndict = 0;
	c->dict.len = 0;
	ws_strtab_free(&c->places);
}

void ws_parquet_values_free(struct ws_parquet_values *c)
{
	free(c->present);
	free(c->v);
	ws_buf_free(&c->dict);
	ws_strtab_free(&c->places);
}

void ws_parquet_chunker_init(struct ws_parquet_chunker *k, size_t max_rows)
{
	memset(k, 0, sizeof(*k));
	k->max_rows = max_rows;
	k->numbers = ws_xarray(max_rows, sizeof(*k->numbers));
	k->dict = ws_xmalloc(sizeof(*k->dict));
	k->z = ws_zframe_encoder_new(ZSTD_LEVEL);
}

void ws_parquet_chunker_free(struct ws_parquet_chunker *k)
{
	ws_zframe_encoder_free(k->z);
	free(k->numbers);
	free(k->dict);
	ws_buf_free(&k->levels);
	ws_buf_free(&k->plain);
	ws_buf_free(&k->indices);
	ws_buf_free(&k->frame);
}

/* --- statistics ------------------------------------------------------------------------------- */

struct extremes {
	int known;
	struct ws_bytes min, max;
	uint64_t number[2]; /* what min and max of numbers point to */
};

static void extremes_of_integers(const struct ws_parquet_values *c, struct extremes *e)
{
	/* unsigned order is signed order with the sign turned */
	const uint64_t turn = c->type == WS_PARQUET_U64 ? 1ull << 63 : 0;
	int64_t min = INT64_MAX, max = INT64_MIN;

	for (size_t i = 0; i < c->n; i++) {
		int64_t v = (int64_t)(c->v[i] ^ turn);

		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	e->known = c->n > 0;
	e->number[0] = (uint64_t)min ^ turn;
	e->number[1] = (uint64_t)max ^ turn;
}

/* Any NaN, and there are none; a zero is -0 as the least and +0 as the greatest: the format's rules
 * for readers that compare in other ways. */
static void extremes_of_reals(const struct ws_parquet_values *c, struct extremes *e)
{
	double min = INFINITY, max = -INFINITY;

	for (size_t i = 0; i < c->n; i++) {
		double v;

		memcpy(&v, &c->v[i], sizeof(v));
		if (isnan(v))
			return;
		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	min = min == 0 ? -0.0 : min;
	max = max == 0 ? 0.0 : max;
	e->known = c->n > 0;
	memcpy(&e->number[0], &min, sizeof(min));
	memcpy(&e->number[1], &max, sizeof(max));
}

static bool sorts_before(struct ws_bytes a, struct ws_bytes b)
{
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order < 0 : a.len < b.len;
}

static void extremes_of_texts(const struct ws_parquet_values *c, struct extremes *e)
{
	const uint8_t *p = c->dict.data;

	for (uint32_t i = 0; i < c->ndict; i++) {
		struct ws_bytes text = {p + sizeof(uint32_t), ws_load_u32(p)};

		if (!i || sorts_before(text, e->min))
			e->min = text;
		if (!i || sorts_before(e->max, text))
			e->max = text;
		p += sizeof(uint32_t) + text.len;
	}
	e->known = c->ndict && e->min.len <= WS_PARQUET_MAX_STAT_BYTES &&
	           e->max.len <= WS_PARQUET_MAX_STAT_BYTES;
}

static void put_statistics(struct ws_thrift *t, int16_t id, const struct ws_parquet_values *c)
{
	struct extremes e = {.min = {NULL, sizeof(uint64_t)}, .max = {NULL, sizeof(uint64_t)}};

	e.min.ptr = &e.number[0];
	e.max.ptr = &e.number[1];
	if (c->type == WS_PARQUET_TEXT)
		extremes_of_texts(c, &e);
	else if (c->type == WS_PARQUET_F64)
		extremes_of_reals(c, &e);
	else
		extremes_of_integers(c, &e);
	ws_thrift_struct_begin(t, id);
	ws_thrift_i64(t, 3, (int64_t)(c->rows - c->n)); /* null_count */
	if (e.known) {
		ws_thrift_binary(t, 5, e.max.ptr, e.max.len);
		ws_thrift_binary(t, 6, e.min.ptr, e.min.len);
	}
	ws_thrift_struct_end(t);
}

/* --- encoding --------------------------------------------------------------------------------- */

/* The values of a chunk as bytes, not yet compressed. */
struct encoded {
	enum encoding encoding;
	const struct ws_buf *values;
	const void *dict; /* NULL = none */
	size_t dict_bytes;
	uint32_t ndict;
};

static void encode_indices(struct ws_parquet_chunker *k, size_t n, uint32_t ndict)
{
	uint8_t width = (uint8_t)ws_bit_width(ndict - 1u);

	k->indices.len = 0;
	ws_buf_put(&k->indices, &width, 1);
	ws_parquet_rle(&k->indices, k->numbers, n, width);
}

static void encode_integers(struct ws_parquet_chunker *k, const struct ws_parquet_values *c,
                            struct encoded *e)
{
	/* a dictionary of half the values wins nothing */
	uint32_t limit =
	        c->n / 2 < WS_PARQUET_MAX_DICT ? (uint32_t)(c->n / 2) : WS_PARQUET_MAX_DICT;

	k->plain.len = 0;
	ws_parquet_delta(&k->plain, c->v, c->n);
	*e = (struct encoded){.encoding = ENCODING_DELTA_BINARY_PACKED, .values = &k->plain};
	if (!ws_parquet_dict_make(k->dict, c->v, c->n, limit, k->numbers))
		return;
	encode_indices(k, c->n, k->dict->n);
	if (k->indices.len + k->dict->n * sizeof(uint64_t) >= k->plain.len)
		return;
	*e = (struct encoded){ENCODING_RLE_DICTIONARY, &k->indices, k->dict->values,
	                      k->dict->n * sizeof(uint64_t), k->dict->n};
}

static void encode(struct ws_parquet_chunker *k, const struct ws_parquet_values *c,
                   struct encoded *e)
{
	if (c->n && (c->type == WS_PARQUET_I64 || c->type == WS_PARQUET_U64)) {
		encode_integers(k, c, e);
		return;
	}
	if (c->n && c->type == WS_PARQUET_TEXT) {
		for (size_t i = 0; i < c->n; i++)
			k->numbers[i] = (uint32_t)c->v[i];
		*e = (struct encoded){ENCODING_RLE_DICTIONARY, &k->indices, c->dict.data,
		                      c->dict.len, c->ndict};
		encode_indices(k, c->n, c->ndict);
		return;
	}
	k->plain.len = 0;
	*e = (struct encoded){.encoding = ENCODING_PLAIN, .values = &k->plain};
	ws_buf_put(&k->plain, c->v, c->n * sizeof(*c->v));
}

/* --- pages ------------------------------------------------------------------------------------ */

struct page {
	int32_t type;
	enum encoding encoding;
	const struct ws_buf *levels; /* NULL = none; never compressed */
	const void *raw;
	size_t raw_bytes;
	uint32_t values, nulls; /* values: nulls included */
};

static void put_page_header(struct ws_thrift *t, const struct page *p, size_t stored,
                            int is_compressed)
{
	size_t levels = p->levels ? p->levels->len : 0;

	ws_thrift_i32(t, 1, p->type);
	ws_thrift_i32(t, 2, (int32_t)(levels + p->raw_bytes));
	ws_thrift_i32(t, 3, (int32_t)(levels + stored));
	if (p->type == PAGE_DICTIONARY) {
		ws_thrift_struct_begin(t, 7);
		ws_thrift_i32(t, 1, (int32_t)p->values);
		ws_thrift_i32(t, 2, p->encoding);
	} else {
		ws_thrift_struct_begin(t, 8);
		ws_thrift_i32(t, 1, (int32_t)p->values);
		ws_thrift_i32(t, 2, (int32_t)p->nulls);
		ws_thrift_i32(t, 3, (int32_t)p->values); /* rows: nothing repeats */
		ws_thrift_i32(t, 4, p->encoding);
		ws_thrift_i32(t, 5, (int32_t)levels);
		ws_thrift_i32(t, 6, 0);
		ws_thrift_bool(t, 7, is_compressed);
	}
	ws_thrift_struct_end(t);
	ws_thrift_struct_end(t);
}

/* k->frame = the compressed values: their bytes; 0 = they stay as they are. */
static size_t compress(struct ws_parquet_chunker *k, const struct page *p)
{
	/* A data page may say that it is not compressed, a dictionary may not. What zstd cannot
	 * compress grows by 3 bytes in 128 KiB, and a frame's header and checksum. */
	size_t limit =
	        p->type == PAGE_DICTIONARY ? p->raw_bytes + p->raw_bytes / 1024 + 64 : p->raw_bytes;

	k->frame.len = 0;
	if (!p->raw_bytes && p->type != PAGE_DICTIONARY)
		return 0;
	ws_buf_reserve(&k->frame, limit);
	return ws_zframe_encode(k->z, p->raw, p->raw_bytes, k->frame.data, limit);
}

static void put_page(struct ws_parquet_chunker *k, const struct page *p,
                     struct ws_parquet_file *file, struct ws_parquet_chunk_size *size)
{
	struct ws_thrift header = {0};
	const size_t levels = p->levels ? p->levels->len : 0, stored = compress(k, p);

	put_page_header(&header, p, stored ? stored : p->raw_bytes, stored != 0);
	ws_parquet_append(file, header.buf.data, header.buf.len);
	if (levels)
		ws_parquet_append(file, p->levels->data, levels);
	if (stored)
		ws_parquet_append(file, k->frame.data, stored);
	else
		ws_parquet_append(file, p->raw, p->raw_bytes);
	size->raw += header.buf.len + levels + p->raw_bytes;
	size->stored += header.buf.len + levels + (stored ? stored : p->raw_bytes);
	ws_buf_free(&header.buf);
}

static void encode_levels(struct ws_parquet_chunker *k, const struct ws_parquet_values *c)
{
	k->levels.len = 0;
	if (!c->optional)
		return;
	for (size_t i = 0; i < c->rows; i++)
		k->numbers[i] = c->present[i];
	ws_parquet_rle(&k->levels, k->numbers, c->rows, 1);
}

static void put_chunk_meta(struct ws_thrift *t, const struct ws_parquet_values *c,
                           const struct encoded *e, const struct ws_parquet_chunk_size *size,
                           uint64_t dict_offset, uint64_t data_offset)
{
	ws_thrift_element_struct(t);
	ws_thrift_i64(t, 2, 0); /* file_offset: deprecated */
	ws_thrift_struct_begin(t, 3);
	ws_thrift_i32(t, 1, ws_parquet_physical(c->type));
	ws_thrift_list(t, 2, WS_THRIFT_I32, e->dict ? 3 : 2);
	if (e->dict)
		ws_thrift_element_i32(t, ENCODING_PLAIN); /* of the dictionary */
	ws_thrift_element_i32(t, ENCODING_RLE);           /* of the levels */
	ws_thrift_element_i32(t, (int32_t)e->encoding);
	ws_thrift_list(t, 3, WS_THRIFT_BINARY, 1);
	ws_thrift_element_str(t, c->name);
	ws_thrift_i32(t, 4, CODEC_ZSTD);
	ws_thrift_i64(t, 5, (int64_t)c->rows);
	ws_thrift_i64(t, 6, (int64_t)size->raw);
	ws_thrift_i64(t, 7, (int64_t)size->stored);
	ws_thrift_i64(t, 9, (int64_t)data_offset);
	if (e->dict)
		ws_thrift_i64(t, 11, (int64_t)dict_offset);
	put_statistics(t, 12, c);
	ws_thrift_struct_end(t);
	ws_thrift_struct_end(t);
}

void ws_parquet_chunk_write(struct ws_parquet_chunker *k, const struct ws_parquet_values *c,
                            struct ws_parquet_file *file, struct ws_thrift *meta,
                            struct ws_parquet_chunk_size *size)
{
	struct encoded e;
	struct page page = {.type = PAGE_DICTIONARY, .encoding = ENCODING_PLAIN};
	uint64_t dict_offset = file->size, data_offset;

	*size = (struct ws_parquet_chunk_size){0};
	encode_levels(k, c);
	encode(k, c, &e);
	if (e.dict) {
		page.raw = e.dict;
		page.raw_bytes = e.dict_bytes;
		page.values = e.ndict;
		put_page(k, &page, file, size);
	}
	data_offset = file->size;
	page = (struct page){
	        PAGE_DATA_V2,  e.encoding,        c->optional ? &k->levels : NULL, e.values->data,
	        e.values->len, (uint32_t)c->rows, (uint32_t)(c->rows - c->n)};
	put_page(k, &page, file, size);
	put_chunk_meta(meta, c, &e, size, dict_offset, data_offset);
}
