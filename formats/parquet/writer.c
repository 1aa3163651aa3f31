/*
 * Sources: README.md, Encodings.md and parquet.thrift of apache/parquet-format 2.10, and
 * thrift-compact-protocol.md of Apache Thrift.
 */
#include "formats/parquet/writer.h"

#include "formats/base/memory.h"
#include "formats/codec/columns.h"

/* --- Thrift's compact protocol, as far as Parquet's metadata needs it --- */

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I8 = 3,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

#define THRIFT_MAX_DEPTH 8u

/* Bytes inside the outermost struct. All zero is empty; free buf. Fields come in the order of their
 * ids. */
struct thrift {
	struct ws_buf buf;
	unsigned depth;                 /* structs open inside the outermost one */
	int16_t last[THRIFT_MAX_DEPTH]; /* id of the last field of each open struct */
};

static void put_varint(struct thrift *t, uint64_t v)
{
	uint8_t bytes[WS_VARINT_MAX];

	ws_buf_put(&t->buf, bytes, (size_t)(ws_varint_put(bytes, v) - bytes));
}

static void put_byte(struct thrift *t, uint8_t byte)
{
	ws_buf_put(&t->buf, &byte, 1);
}

/* Begin a field: 4 bits of distance from the id before, 4 bits of type; an id further away follows
 * on its own. */
static void put_field(struct thrift *t, int16_t id, enum thrift_type type)
{
	int distance = id - t->last[t->depth];

	if (distance >= 1 && distance <= 15) {
		put_byte(t, (uint8_t)(type | distance << 4));
	} else {
		put_byte(t, (uint8_t)type);
		put_varint(t, ws_zigzag((uint64_t)id));
	}
	t->last[t->depth] = id;
}

static void put_i32(struct thrift *t, int16_t id, int32_t value)
{
	put_field(t, id, THRIFT_I32);
	put_varint(t, ws_zigzag((uint64_t)value));
}

static void put_i64(struct thrift *t, int16_t id, int64_t value)
{
	put_field(t, id, THRIFT_I64);
	put_varint(t, ws_zigzag((uint64_t)value));
}

static void put_bytes(struct thrift *t, const void *bytes, size_t len)
{
	put_varint(t, len);
	ws_buf_put(&t->buf, bytes, len);
}

static void put_str(struct thrift *t, int16_t id, const char *text)
{
	put_field(t, id, THRIFT_BINARY);
	put_bytes(t, text, strlen(text));
}

/* Begin a struct that is an element of a list. */
static void begin_element(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

/* Begin a struct that is a field. */
static void begin_struct(struct thrift *t, int16_t id)
{
	put_field(t, id, THRIFT_STRUCT);
	begin_element(t);
}

/* End a struct: a field, an element or the outermost one. */
static void end_struct(struct thrift *t)
{
	put_byte(t, 0);
	if (t->depth)
		t->depth--;
}

/* Begin a field that is a list of n elements, which follow. */
static void begin_list(struct thrift *t, int16_t id, enum thrift_type element, uint32_t n)
{
	put_field(t, id, THRIFT_LIST);
	put_byte(t, (uint8_t)((n < 15 ? n << 4 : 0xf0) | element));
	if (n >= 15)
		put_varint(t, n);
}

/* --- encodings of a column's values --- */

/* The bits that hold every number up to v, 0..64. */
static unsigned bit_width(uint64_t v)
{
	return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

/* Write numbers of `width` bits, the lowest bit first, to p; n * width is a multiple of 8. Returns
 * the end. */
#define PACK(name, type, twice_as_wide)                                           \
	static uint8_t *name(uint8_t *p, const type *v, size_t n, unsigned width) \
	{                                                                         \
		twice_as_wide bits = 0;                                           \
		unsigned have = 0;                                                \
                                                                                  \
		for (size_t i = 0; i < n; i++) {                                  \
			bits |= (twice_as_wide)v[i] << have;                      \
			for (have += width; have >= 8; have -= 8, bits >>= 8)     \
				*p++ = (uint8_t)bits;                             \
		}                                                                 \
		return p;                                                         \
	}
PACK(pack_u32, uint32_t, uint64_t)
PACK(pack_u64, uint64_t, unsigned __int128)

#define GROUP 8u /* numbers that are packed together */

/* A run of groups of packed numbers; the last group is filled up with zeros. */
static void put_packed(struct ws_buf *out, const uint32_t *v, size_t n, unsigned width)
{
	size_t groups = (n + GROUP - 1) / GROUP, whole = n / GROUP * GROUP;
	uint32_t rest[GROUP] = {0};

	if (!n)
		return;
	ws_buf_reserve(out, WS_VARINT_MAX + groups * width);
	uint8_t *p = ws_varint_put(out->data + out->len, groups << 1 | 1);
	p = pack_u32(p, v, whole, width);
	if (whole < n) {
		memcpy(rest, v + whole, (n - whole) * sizeof(*v));
		p = pack_u32(p, rest, GROUP, width);
	}
	out->len = (size_t)(p - out->data);
}

/*
 * RLE / bit-packed hybrid of n numbers below 2^width, width 0..32, without a length in front: for
 * dictionary indices and definition levels.
 */
static void put_rle(struct ws_buf *out, const uint32_t *v, size_t n, unsigned width)
{
	size_t packed = 0; /* those before it are written */

	for (size_t i = 0, run; i < n; i += run) {
		size_t fill = (GROUP - (i - packed) % GROUP) % GROUP;
		uint8_t bytes[WS_VARINT_MAX + sizeof(v[i])];

		for (run = 1; i + run < n && v[i + run] == v[i];)
			run++;
		/* only the last packed group may end in zeros: the run fills up this one */
		if (run < fill + GROUP)
			continue;
		put_packed(out, v + packed, i + fill - packed, width);
		/* the run, once */
		uint8_t *p = ws_varint_put(bytes, (uint64_t)(run - fill) << 1);
		memcpy(p, &v[i], sizeof(v[i]));
		p += (width + 7) / 8;
		ws_buf_put(out, bytes, (size_t)(p - bytes));
		packed = i + run;
	}
	put_packed(out, v + packed, n - packed, width);
}

#define MINI       32u /* differences of a miniblock, which share a width */
#define MINIBLOCKS 4u
#define BLOCK      (MINI * MINIBLOCKS) /* differences of a block, which share a least one */

/* DELTA_BINARY_PACKED of n 64-bit integers; differences wrap around, so any values will do. */
static void put_deltas(struct ws_buf *out, const uint64_t *v, size_t n)
{
	uint64_t delta[BLOCK];

	ws_buf_reserve(out, 4 * WS_VARINT_MAX);
	uint8_t *p = ws_varint_put(out->data + out->len, BLOCK);
	p = ws_varint_put(p, MINIBLOCKS);
	p = ws_varint_put(p, n);
	p = ws_varint_put(p, ws_zigzag(n ? v[0] : 0));
	out->len = (size_t)(p - out->data);
	for (size_t from = 1; from < n; from += BLOCK) {
		size_t count = n - from < BLOCK ? n - from : BLOCK;
		uint64_t least, over[BLOCK] = {0};

		for (size_t i = 0; i < count; i++)
			delta[i] = v[from + i] - v[from + i - 1];
		ws_buf_reserve(out, WS_VARINT_MAX + MINIBLOCKS + sizeof(delta));
		p = out->data + out->len;
		least = delta[0];
		for (size_t i = 1; i < count; i++)
			if ((int64_t)delta[i] < (int64_t)least)
				least = delta[i];
		for (size_t i = 0; i < count; i++)
			over[i] = delta[i] - least;
		p = ws_varint_put(p, ws_zigzag(least));
		uint8_t *widths = p;
		p += MINIBLOCKS;
		for (size_t m = 0; m < MINIBLOCKS; m++) {
			uint64_t all = 0;

			for (size_t i = m * MINI; i < (m + 1) * MINI; i++)
				all |= over[i];
			/* a miniblock after the last value has width 0 and no bytes */
			widths[m] = (uint8_t)bit_width(all);
			p = pack_u64(p, over + m * MINI, MINI, widths[m]);
		}
		out->len = (size_t)(p - out->data);
	}
}

/* The distinct values of a column in order of first use. */
struct dict {
	uint32_t n;
	uint64_t values[WS_PARQUET_MAX_DICT];
	uint16_t slots[4 * WS_PARQUET_MAX_DICT]; /* by hash: place + 1; 0 = free */
};

/* Fill *d, and index[0..n) with the place of each value in it. false when there are more than limit
 * distinct values (limit <= WS_PARQUET_MAX_DICT). */
static bool make_dict(struct dict *d, const uint64_t *v, size_t n, uint32_t limit, uint32_t *index)
{
	const size_t mask = sizeof(d->slots) / sizeof(d->slots[0]) - 1;

	d->n = 0;
	memset(d->slots, 0, sizeof(d->slots));
	for (size_t i = 0; i < n; i++) {
		/* Fibonacci hashing: the high bits of the product depend on all bits */
		size_t slot = (v[i] * 0x9e3779b97f4a7c15u >> 40) & mask;

		while (d->slots[slot] && d->values[d->slots[slot] - 1] != v[i])
			slot = (slot + 1) & mask;
		if (!d->slots[slot]) {
			if (d->n == limit)
				return 0;
			d->values[d->n++] = v[i];
			d->slots[slot] = (uint16_t)d->n;
		}
		index[i] = d->slots[slot] - 1u;
	}
	return 1;
}

/* --- columns --- */

/* Numbers of parquet.thrift. */
enum { PHYSICAL_INT64 = 2, PHYSICAL_DOUBLE = 5, PHYSICAL_BYTE_ARRAY = 6 };
enum { PAGE_DICTIONARY = 2, PAGE_DATA_V2 = 3 };
enum { CODEC_ZSTD = 6, ZSTD_LEVEL = 3 };
enum encoding {
	ENCODING_PLAIN = 0,
	ENCODING_RLE = 3,
	ENCODING_DELTA_BINARY_PACKED = 5,
	ENCODING_RLE_DICTIONARY = 8,
};

static const int32_t physical_types[] = {
        [WS_PARQUET_I64] = PHYSICAL_INT64,
        [WS_PARQUET_U64] = PHYSICAL_INT64,
        [WS_PARQUET_F64] = PHYSICAL_DOUBLE,
        [WS_PARQUET_TEXT] = PHYSICAL_BYTE_ARRAY,
};

/* The values of a column in the row group that is being gathered. */
struct values {
	const struct ws_parquet_column *column;
	size_t rows;
	uint8_t *present; /* optional columns: one per row; else NULL */
	size_t n;         /* rows that have a value */
	uint64_t *v;      /* n of them; F64 as bits, TEXT as place in dict */
	/* TEXT: the distinct ones, each as length in 4 bytes and bytes */
	struct ws_buf dict;
	uint32_t ndict;
	struct ws_strtab places; /* text to place + 1 */
};

struct ws_parquet_writer {
	FILE *f;       /* borrowed */
	uint64_t size; /* bytes written to it */
	int error;     /* errno of the first bytes that could not be written; 0: all were */

	size_t ncolumns;
	struct values *values;
	size_t column; /* column of the next value */
	uint32_t rows, group_rows;
	size_t text_bytes;
	uint64_t all_rows;
	struct ws_buf repaired; /* a text whose invalid bytes were replaced */

	/* working memory for pages */
	struct ws_zframe_encoder *z;
	uint32_t *numbers; /* group_rows of them: indices, levels */
	struct dict *dict;
	struct ws_buf levels, plain, indices, frame;

	struct thrift groups, meta; /* elements of the footer's lists */
	uint32_t ngroups, nmeta;
};

static void append(struct ws_parquet_writer *w, const void *bytes, size_t len)
{
	if (len && fwrite(bytes, 1, len, w->f) != len && !w->error)
		w->error = errno;
	w->size += len;
}

static const char magic[4] = {'P', 'A', 'R', '1'};

struct ws_parquet_writer *ws_parquet_writer_new(FILE *f, const struct ws_parquet_column *columns,
                                                size_t ncolumns, const struct ws_parquet_opts *opts)
{
	struct ws_parquet_writer *w = ws_xarray(1, sizeof(*w));

	w->f = f;
	w->group_rows = opts && opts->group_rows ? opts->group_rows : WS_PARQUET_GROUP_ROWS;
	w->ncolumns = ncolumns;
	w->values = ws_xarray(ncolumns, sizeof(*w->values));
	w->numbers = ws_xarray(w->group_rows, sizeof(*w->numbers));
	w->dict = ws_xmalloc(sizeof(*w->dict));
	w->z = ws_zframe_encoder_new(ZSTD_LEVEL);
	for (size_t i = 0; i < ncolumns; i++) {
		struct values *c = &w->values[i];

		c->column = &columns[i];
		c->v = ws_xarray(w->group_rows, sizeof(*c->v));
		if (c->column->optional)
			c->present = ws_xarray(w->group_rows, sizeof(*c->present));
	}
	append(w, magic, sizeof(magic));
	return w;
}

void ws_parquet_writer_free(struct ws_parquet_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->ncolumns; i++) {
		free(w->values[i].present);
		free(w->values[i].v);
		ws_buf_free(&w->values[i].dict);
		ws_strtab_free(&w->values[i].places);
	}
	free(w->values);
	ws_zframe_encoder_free(w->z);
	free(w->numbers);
	free(w->dict);
	ws_buf_free(&w->repaired);
	ws_buf_free(&w->levels);
	ws_buf_free(&w->plain);
	ws_buf_free(&w->indices);
	ws_buf_free(&w->frame);
	ws_buf_free(&w->groups.buf);
	ws_buf_free(&w->meta.buf);
	free(w);
}

void ws_parquet_meta(struct ws_parquet_writer *w, const char *key, const char *value)
{
	begin_element(&w->meta);
	put_str(&w->meta, 1, key);
	put_str(&w->meta, 2, value);
	end_struct(&w->meta);
	w->nmeta++;
}

static void put_value(struct values *c, uint64_t value)
{
	if (c->present)
		c->present[c->rows] = 1;
	c->rows++;
	c->v[c->n++] = value;
}

void ws_parquet_i64(struct ws_parquet_writer *w, int64_t value)
{
	put_value(&w->values[w->column++], (uint64_t)value);
}

void ws_parquet_u64(struct ws_parquet_writer *w, uint64_t value)
{
	put_value(&w->values[w->column++], value);
}

void ws_parquet_f64(struct ws_parquet_writer *w, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_value(&w->values[w->column++], bits);
}

void ws_parquet_null(struct ws_parquet_writer *w)
{
	struct values *c = &w->values[w->column++];

	c->present[c->rows++] = 0;
}

void ws_parquet_text(struct ws_parquet_writer *w, const void *bytes, size_t len)
{
	const size_t most = WS_PARQUET_MAX_TEXT_BYTES;
	struct values *c = &w->values[w->column++];
	struct ws_bytes text =
	        ws_utf8_repair(&w->repaired, (struct ws_bytes){bytes, len < most ? len : most},
	                       true);
	const uint32_t stored_len = (uint32_t)text.len;
	uint64_t place = ws_strtab_find(&c->places, text.ptr, text.len);

	if (!place) {
		place = ws_strtab_add(&c->places, text.ptr, text.len);
		ws_buf_put(&c->dict, &stored_len, sizeof(stored_len));
		ws_buf_put(&c->dict, text.ptr, text.len);
		w->text_bytes += sizeof(stored_len) + stored_len;
		c->ndict++;
	}
	put_value(c, place - 1);
}

void ws_parquet_str(struct ws_parquet_writer *w, const char *text)
{
	ws_parquet_text(w, text, strlen(text));
}

/* --- statistics --- */

struct extremes {
	int known;
	struct ws_bytes min, max;
	uint64_t number[2]; /* memory for min and max of numbers */
};

static bool sorts_before(struct ws_bytes a, struct ws_bytes b)
{
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order < 0 : a.len < b.len;
}

static void put_statistics(struct thrift *t, int16_t id, const struct values *c)
{
	struct extremes e = {.min = {NULL, sizeof(uint64_t)}, .max = {NULL, sizeof(uint64_t)}};

	e.min.ptr = &e.number[0];
	e.max.ptr = &e.number[1];
	if (c->column->type == WS_PARQUET_TEXT) {
		const uint8_t *p = c->dict.data;

		for (uint32_t i = 0; i < c->ndict; i++) {
			struct ws_bytes text = {p + sizeof(uint32_t), ws_load_u32(p)};

			if (!i || sorts_before(text, e.min))
				e.min = text;
			if (!i || sorts_before(e.max, text))
				e.max = text;
			p += sizeof(uint32_t) + text.len;
		}
		e.known = c->ndict && e.min.len <= WS_PARQUET_MAX_STAT_BYTES &&
		          e.max.len <= WS_PARQUET_MAX_STAT_BYTES;
	} else if (c->column->type == WS_PARQUET_F64) {
		/* The format's rules for readers that compare in other ways: a column with a NaN
		 * has no extremes; a least zero is -0, a greatest one +0. */
		double min = INFINITY, max = -INFINITY;

		e.known = c->n > 0;
		for (size_t i = 0; i < c->n; i++) {
			double v;

			memcpy(&v, &c->v[i], sizeof(v));
			e.known &= !isnan(v);
			min = v < min ? v : min;
			max = v > max ? v : max;
		}
		min = min == 0 ? -0.0 : min;
		max = max == 0 ? 0.0 : max;
		memcpy(&e.number[0], &min, sizeof(min));
		memcpy(&e.number[1], &max, sizeof(max));
	} else {
		/* with the sign bit turned, unsigned order is signed order */
		const uint64_t turn = c->column->type == WS_PARQUET_U64 ? 1ull << 63 : 0;
		int64_t min = INT64_MAX, max = INT64_MIN;

		for (size_t i = 0; i < c->n; i++) {
			int64_t v = (int64_t)(c->v[i] ^ turn);

			min = v < min ? v : min;
			max = v > max ? v : max;
		}
		e.known = c->n > 0;
		e.number[0] = (uint64_t)min ^ turn;
		e.number[1] = (uint64_t)max ^ turn;
	}
	begin_struct(t, id);
	put_i64(t, 3, (int64_t)(c->rows - c->n)); /* null_count */
	if (e.known) {
		put_field(t, 5, THRIFT_BINARY);
		put_bytes(t, e.max.ptr, e.max.len);
		put_field(t, 6, THRIFT_BINARY);
		put_bytes(t, e.min.ptr, e.min.len);
	}
	end_struct(t);
}

/* --- chunks: one column of one row group --- */

/* The values of a chunk as bytes, before compression. */
struct encoded {
	enum encoding encoding;
	const struct ws_buf *values;
	const void *dict; /* NULL = none */
	size_t dict_bytes;
	uint32_t ndict;
};

static void encode_indices(struct ws_parquet_writer *w, size_t n, uint32_t ndict)
{
	uint8_t width = (uint8_t)bit_width(ndict - 1u);

	w->indices.len = 0;
	ws_buf_put(&w->indices, &width, 1);
	put_rle(&w->indices, w->numbers, n, width);
}

static void encode(struct ws_parquet_writer *w, const struct values *c, struct encoded *e)
{
	/* a dictionary with half as many entries as values saves nothing */
	const uint32_t limit =
	        c->n / 2 < WS_PARQUET_MAX_DICT ? (uint32_t)(c->n / 2) : WS_PARQUET_MAX_DICT;

	w->plain.len = 0;
	if (!c->n || c->column->type == WS_PARQUET_F64) {
		*e = (struct encoded){.encoding = ENCODING_PLAIN, .values = &w->plain};
		ws_buf_put(&w->plain, c->v, c->n * sizeof(*c->v));
		return;
	}
	if (c->column->type == WS_PARQUET_TEXT) {
		for (size_t i = 0; i < c->n; i++)
			w->numbers[i] = (uint32_t)c->v[i];
		*e = (struct encoded){ENCODING_RLE_DICTIONARY, &w->indices, c->dict.data,
		                      c->dict.len, c->ndict};
		encode_indices(w, c->n, c->ndict);
		return;
	}
	put_deltas(&w->plain, c->v, c->n);
	*e = (struct encoded){.encoding = ENCODING_DELTA_BINARY_PACKED, .values = &w->plain};
	if (!make_dict(w->dict, c->v, c->n, limit, w->numbers))
		return;
	encode_indices(w, c->n, w->dict->n);
	if (w->indices.len + w->dict->n * sizeof(uint64_t) < w->plain.len)
		*e = (struct encoded){ENCODING_RLE_DICTIONARY, &w->indices, w->dict->values,
		                      w->dict->n * sizeof(uint64_t), w->dict->n};
}

struct page {
	int32_t type;
	enum encoding encoding;
	const struct ws_buf *levels; /* NULL = none; never compressed */
	const void *raw;
	size_t raw_bytes;
	uint32_t values, nulls; /* values: nulls included */
};

/* Bytes with page headers, before and after compression. */
struct chunk_size {
	uint64_t raw, stored;
};

static void put_page(struct ws_parquet_writer *w, const struct page *p, struct chunk_size *size)
{
	const bool is_dict = p->type == PAGE_DICTIONARY;
	/* A data page may say that it is not compressed, a dictionary may not. Data that zstd
	 * cannot compress grow by 3 bytes per 128 KiB, and by a frame's header and checksum. */
	const size_t limit = is_dict ? p->raw_bytes + p->raw_bytes / 1024 + 64 : p->raw_bytes;
	const size_t levels = p->levels ? p->levels->len : 0;
	struct thrift t = {0};
	size_t frame = 0, stored;

	w->frame.len = 0;
	ws_buf_reserve(&w->frame, limit);
	if (p->raw_bytes || is_dict)
		frame = ws_zframe_encode(w->z, p->raw, p->raw_bytes, w->frame.data, limit);
	stored = frame ? frame : p->raw_bytes;

	put_i32(&t, 1, p->type);
	put_i32(&t, 2, (int32_t)(levels + p->raw_bytes));
	put_i32(&t, 3, (int32_t)(levels + stored));
	begin_struct(&t, is_dict ? 7 : 8);
	put_i32(&t, 1, (int32_t)p->values);
	if (is_dict) {
		put_i32(&t, 2, p->encoding);
	} else {
		put_i32(&t, 2, (int32_t)p->nulls);
		put_i32(&t, 3, (int32_t)p->values); /* rows: nothing repeats */
		put_i32(&t, 4, p->encoding);
		put_i32(&t, 5, (int32_t)levels);
		put_i32(&t, 6, 0);
		put_field(&t, 7, frame ? THRIFT_TRUE : THRIFT_FALSE); /* is_compressed */
	}
	end_struct(&t);
	end_struct(&t);

	append(w, t.buf.data, t.buf.len);
	if (levels)
		append(w, p->levels->data, levels);
	append(w, frame ? w->frame.data : p->raw, stored);
	size->raw += t.buf.len + levels + p->raw_bytes;
	size->stored += t.buf.len + levels + stored;
	ws_buf_free(&t.buf);
}

static void put_group(struct ws_parquet_writer *w)
{
	const uint64_t offset = w->size;
	struct thrift *t = &w->groups;
	struct chunk_size all = {0};

	if (!w->rows)
		return;
	begin_element(t);
	begin_list(t, 1, THRIFT_STRUCT, (uint32_t)w->ncolumns);
	for (size_t i = 0; i < w->ncolumns; i++) {
		struct values *c = &w->values[i];
		uint64_t dict_offset = w->size, data_offset;
		struct chunk_size size = {0};
		struct encoded e;

		/* the pages: at most a dictionary page and one V2 data page */
		w->levels.len = 0;
		for (size_t row = 0; c->present && row < c->rows; row++)
			w->numbers[row] = c->present[row];
		if (c->present)
			put_rle(&w->levels, w->numbers, c->rows, 1);
		encode(w, c, &e);
		if (e.dict)
			put_page(w,
			         &(struct page){.type = PAGE_DICTIONARY,
			                        .encoding = ENCODING_PLAIN,
			                        .raw = e.dict,
			                        .raw_bytes = e.dict_bytes,
			                        .values = e.ndict},
			         &size);
		data_offset = w->size;
		put_page(w,
		         &(struct page){PAGE_DATA_V2, e.encoding, c->present ? &w->levels : NULL,
		                        e.values->data, e.values->len, (uint32_t)c->rows,
		                        (uint32_t)(c->rows - c->n)},
		         &size);
		all.raw += size.raw;
		all.stored += size.stored;

		/* an element ColumnChunk of the list */
		begin_element(t);
		put_i64(t, 2, 0); /* file_offset: deprecated */
		begin_struct(t, 3);
		put_i32(t, 1, physical_types[c->column->type]);
		begin_list(t, 2, THRIFT_I32, e.dict ? 3 : 2);
		if (e.dict)
			put_varint(t, ws_zigzag(ENCODING_PLAIN)); /* of the dictionary */
		put_varint(t, ws_zigzag(ENCODING_RLE));           /* of the levels */
		put_varint(t, ws_zigzag(e.encoding));
		begin_list(t, 3, THRIFT_BINARY, 1);
		put_bytes(t, c->column->name, strlen(c->column->name));
		put_i32(t, 4, CODEC_ZSTD);
		put_i64(t, 5, (int64_t)c->rows);
		put_i64(t, 6, (int64_t)size.raw);
		put_i64(t, 7, (int64_t)size.stored);
		put_i64(t, 9, (int64_t)data_offset);
		if (e.dict)
			put_i64(t, 11, (int64_t)dict_offset);
		put_statistics(t, 12, c);
		end_struct(t);
		end_struct(t);
		c->rows = c->n = 0;
		c->ndict = 0;
		c->dict.len = 0;
		ws_strtab_free(&c->places);
	}
	put_i64(t, 2, (int64_t)all.raw);
	put_i64(t, 3, w->rows);
	put_i64(t, 5, (int64_t)offset);
	put_i64(t, 6, (int64_t)all.stored);
	end_struct(t);
	w->ngroups++;
	w->all_rows += w->rows;
	w->rows = 0;
	w->text_bytes = 0;
}

void ws_parquet_end_row(struct ws_parquet_writer *w)
{
	w->column = 0;
	w->rows++;
	if (w->rows == w->group_rows || w->text_bytes >= WS_PARQUET_GROUP_TEXT_BYTES)
		put_group(w);
}

/* --- the footer --- */

/* Names in parquet.thrift: SchemaElement, its ConvertedType for old readers and its LogicalType. */
enum { REQUIRED = 0, OPTIONAL = 1 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_INTEGER = 10 };

enum ws_status ws_parquet_finish(struct ws_parquet_writer *w, struct ws_err *err)
{
	struct thrift t = {0};
	uint8_t size[4];

	put_group(w);
	/* the footer */
	put_i32(&t, 1, 2); /* version: V2 pages */
	begin_list(&t, 2, THRIFT_STRUCT, (uint32_t)w->ncolumns + 1);
	begin_element(&t);
	put_str(&t, 4, "schema");
	put_i32(&t, 5, (int32_t)w->ncolumns);
	end_struct(&t);
	for (size_t i = 0; i < w->ncolumns; i++) {
		const struct ws_parquet_column *c = w->values[i].column;
		const bool is_text = c->type == WS_PARQUET_TEXT;

		begin_element(&t);
		put_i32(&t, 1, physical_types[c->type]);
		put_i32(&t, 3, c->optional ? OPTIONAL : REQUIRED);
		put_str(&t, 4, c->name);
		if (is_text || c->type == WS_PARQUET_U64) {
			put_i32(&t, 6, is_text ? CONVERTED_UTF8 : CONVERTED_UINT_64);
			begin_struct(&t, 10);
			begin_struct(&t, is_text ? LOGICAL_STRING : LOGICAL_INTEGER);
			if (!is_text) {
				put_field(&t, 1, THRIFT_I8); /* bits */
				put_byte(&t, 64);
				put_field(&t, 2, THRIFT_FALSE); /* signed */
			}
			end_struct(&t);
			end_struct(&t);
		}
		end_struct(&t);
	}
	put_i64(&t, 3, (int64_t)w->all_rows);
	begin_list(&t, 4, THRIFT_STRUCT, w->ngroups);
	ws_buf_put(&t.buf, w->groups.buf.data, w->groups.buf.len);
	if (w->nmeta) {
		begin_list(&t, 5, THRIFT_STRUCT, w->nmeta);
		ws_buf_put(&t.buf, w->meta.buf.data, w->meta.buf.len);
	}
	put_str(&t, 6, "warpsheet version " WS_VERSION);
	/* column orders: without them readers must not trust the statistics */
	begin_list(&t, 7, THRIFT_STRUCT, (uint32_t)w->ncolumns);
	for (size_t i = 0; i < w->ncolumns; i++) {
		begin_element(&t);
		begin_struct(&t, 1);
		end_struct(&t);
		end_struct(&t);
	}
	end_struct(&t);
	ws_store_u32(size, (uint32_t)t.buf.len);
	append(w, t.buf.data, t.buf.len);
	append(w, size, sizeof(size));
	append(w, magic, sizeof(magic));
	ws_buf_free(&t.buf);
	if (fflush(w->f) != 0 && !w->error)
		w->error = errno;
	WS_FAIL_IF(w->error, err, IO_WRITE, "cannot write Parquet: %s", strerror(w->error));
	return WS_OK;
}
