#include "tests/support/parquet_reading.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/codec/columns.h"
#include "tests/support/thrift_reading.h"

#define NEED(cond) cr_assert((cond), "Parquet: %s", #cond)

/* --- pages --- */

struct page {
	struct pq_node header;
	uint8_t *levels, *values; /* allocated */
	size_t levels_len, values_len;
};

static void decompress(const uint8_t *from, size_t stored, uint8_t *to, size_t size)
{
	struct ws_zframe_decoder *z;
	struct ws_err err;

	z = ws_zframe_decoder_new();
	cr_assert(ws_zframe_decode(z, from, stored, to, size, &err) == WS_OK, "%s", err.text);
	ws_zframe_decoder_free(z);
}

/* The page at in; codec 6 is zstd. */
static void read_page(struct pq_input *in, int codec, struct page *out)
{
	const struct pq_node *v2;
	size_t raw, stored;
	int packed = codec == 6;
	const uint8_t *body;

	memset(out, 0, sizeof(*out));
	NEED(codec == 6);
	pq_parse_struct(in, &out->header);
	raw = (size_t)pq_number(&out->header, 2);
	stored = (size_t)pq_number(&out->header, 3);
	body = pq_get_bytes(in, stored);
	v2 = pq_find(&out->header, 8);
	if (v2) {
		out->levels_len = (size_t)pq_number(v2, 5);
		NEED(pq_number(v2, 6) == 0 && out->levels_len <= raw && out->levels_len <= stored);
		packed = (int)pq_number_or(v2, 7, 1);
	}
	out->levels = malloc(out->levels_len + 1);
	memcpy(out->levels, body, out->levels_len);
	body += out->levels_len;
	stored -= out->levels_len;
	out->values_len = raw - out->levels_len;
	out->values = malloc(out->values_len + 1);
	if (packed) {
		decompress(body, stored, out->values, out->values_len);
	} else {
		NEED(stored == out->values_len);
		memcpy(out->values, body, stored);
	}
}

static void free_page(struct page *p)
{
	pq_free_node(&p->header);
	free(p->levels);
	free(p->values);
}

static uint64_t get_bits(const uint8_t *p, size_t bit, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < width; i++, bit++)
		v |= (uint64_t)(p[bit / 8] >> bit % 8 & 1) << i;
	return v;
}

/* n numbers of the RLE / bit-packed hybrid. */
static void read_rle(struct pq_input *in, unsigned width, uint64_t *out, size_t n)
{
	size_t at = 0;

	while (at < n) {
		uint64_t head = pq_get_varint(in), run = head >> 1;

		NEED(run > 0);
		if (head & 1) {
			const uint8_t *p = pq_get_bytes(in, run * width);

			for (size_t i = 0; i < run * 8 && at < n; i++)
				out[at++] = get_bits(p, i * width, width);
		} else {
			const uint8_t *p = pq_get_bytes(in, (width + 7) / 8);
			uint64_t v = get_bits(p, 0, (width + 7) / 8 * 8);

			NEED(run <= n - at);
			while (run--)
				out[at++] = v;
		}
	}
	NEED(in->p == in->end);
}

static void read_delta(struct pq_input *in, uint64_t *out, size_t n)
{
	uint64_t block = pq_get_varint(in), minis = pq_get_varint(in), total = pq_get_varint(in);
	uint64_t v = (uint64_t)pq_get_zigzag(in);
	size_t at = 0, per_mini = block / minis;

	NEED(total == n && block % 128 == 0 && per_mini % 32 == 0);
	if (n)
		out[at++] = v;
	while (at < n) {
		uint64_t least = (uint64_t)pq_get_zigzag(in);
		const uint8_t *widths = pq_get_bytes(in, minis);

		for (uint64_t m = 0; m < minis && at < n; m++) {
			const uint8_t *p = pq_get_bytes(in, per_mini * widths[m] / 8);

			for (size_t i = 0; i < per_mini && at < n; i++) {
				v += least + get_bits(p, i * widths[m], widths[m]);
				out[at++] = v;
			}
		}
	}
	NEED(in->p == in->end);
}

/* n values in PLAIN. */
static void read_plain(struct pq_input *in, int physical, struct pq_cell *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (physical == 6) {
			uint32_t len;

			memcpy(&len, pq_get_bytes(in, 4), 4);
			out[i].len = len;
			out[i].text = strndup("", 0);
			out[i].text = realloc(out[i].text, (size_t)len + 1);
			memcpy(out[i].text, pq_get_bytes(in, len), len);
			out[i].text[len] = 0;
		} else {
			memcpy(&out[i].v, pq_get_bytes(in, 8), 8);
		}
	}
	NEED(in->p == in->end);
}

/* --- column chunks --- */

static void read_statistics(const struct pq_node *meta, int physical, struct pq_chunk *out)
{
	const struct pq_node *s = pq_find(meta, 12), *max = pq_find(s, 5), *min = pq_find(s, 6);

	NEED(s && !max == !min);
	out->null_count = pq_number(s, 3);
	out->has_extremes = max != NULL;
	if (!max)
		return;
	for (int i = 0; i < 2; i++) {
		struct pq_cell *to = i ? &out->max : &out->min;
		const struct pq_node *from = i ? max : min;

		if (physical == 6) {
			to->len = from->len;
			to->text = strndup((const char *)from->bytes, from->len);
		} else {
			NEED(from->len == 8);
			memcpy(&to->v, from->bytes, 8);
		}
	}
}

/* n values by their encoding; those of the dictionary are copied. */
static void read_values(struct pq_input *in, int encoding, int physical, const struct pq_cell *dict,
                        size_t ndict, struct pq_cell *out, size_t n)
{
	uint64_t *numbers = calloc(n + 1, sizeof(*numbers));

	if (encoding == 0) {
		read_plain(in, physical, out, n);
	} else if (encoding == 5) {
		NEED(physical == 2);
		read_delta(in, numbers, n);
		for (size_t i = 0; i < n; i++)
			out[i].v = numbers[i];
	} else {
		NEED(encoding == 8 && dict);
		read_rle(in, pq_get_byte(in), numbers, n);
		for (size_t i = 0; i < n; i++) {
			NEED(numbers[i] < ndict);
			out[i] = dict[numbers[i]];
			if (out[i].text) {
				out[i].text = malloc(out[i].len + 1);
				memcpy(out[i].text, dict[numbers[i]].text, out[i].len + 1);
			}
		}
	}
	free(numbers);
}

static struct pq_cell *read_dict(const uint8_t *data, size_t size, const struct pq_node *meta,
                                 int physical, size_t *n)
{
	const struct pq_node *at = pq_find(meta, 11);
	struct pq_input in = {data, data + size};
	struct pq_cell *dict;
	struct page page;

	*n = 0;
	if (!at)
		return NULL;
	NEED((size_t)at->number < size);
	in.p += at->number;
	read_page(&in, (int)pq_number(meta, 4), &page);
	NEED(pq_number(&page.header, 1) == 2);
	NEED(pq_number(pq_find(&page.header, 7), 2) == 0);
	/* the data page follows at once */
	NEED(in.p == data + pq_number(meta, 9));
	*n = (size_t)pq_number(pq_find(&page.header, 7), 1);
	dict = calloc(*n + 1, sizeof(*dict));
	in = (struct pq_input){page.values, page.values + page.values_len};
	read_plain(&in, physical, dict, *n);
	free_page(&page);
	return dict;
}

static void read_chunk(const uint8_t *data, size_t size, const struct pq_node *meta, int64_t rows,
                       const struct pq_column *column, struct pq_chunk *chunk, struct pq_cell *out)
{
	struct pq_input in = {data, data + size};
	size_t ndict, n = 0;
	struct pq_cell *dict = read_dict(data, size, meta, column->physical, &ndict), *values;
	uint64_t *levels = calloc((size_t)rows + 1, sizeof(*levels));
	const struct pq_node *head;
	int64_t from = pq_number_or(meta, 11, pq_number(meta, 9));
	struct page page;

	NEED(pq_number(meta, 1) == column->physical && pq_number(meta, 5) == rows);
	NEED((size_t)pq_number(meta, 9) < size);
	in.p += pq_number(meta, 9);
	read_page(&in, (int)pq_number(meta, 4), &page);
	NEED(in.p == data + from + pq_number(meta, 7));
	head = pq_find(&page.header, 8);
	NEED(pq_number(&page.header, 1) == 3 && head);
	NEED(pq_number(head, 1) == rows && pq_number(head, 3) == rows);
	chunk->rows = rows;
	chunk->encoding = (int)pq_number(head, 4);
	read_statistics(meta, column->physical, chunk);
	NEED(chunk->null_count == pq_number(head, 2));

	in = (struct pq_input){page.levels, page.levels + page.levels_len};
	if (column->optional)
		read_rle(&in, 1, levels, (size_t)rows);
	else
		NEED(page.levels_len == 0);
	for (int64_t i = 0; i < rows; i++) {
		levels[i] = column->optional ? levels[i] : 1;
		n += levels[i];
	}
	NEED((int64_t)n == rows - chunk->null_count);
	values = calloc(n + 1, sizeof(*values));
	in = (struct pq_input){page.values, page.values + page.values_len};
	read_values(&in, chunk->encoding, column->physical, dict, ndict, values, n);
	n = 0;
	for (int64_t i = 0; i < rows; i++) {
		if (levels[i])
			out[i] = values[n++];
		else
			out[i].is_null = 1;
	}
	for (size_t i = 0; i < ndict; i++)
		free(dict[i].text);
	free(dict);
	free(values);
	free(levels);
	free_page(&page);
}

/* --- files --- */

static void read_schema(const struct pq_node *footer, struct pq_file *f)
{
	const struct pq_node *list = pq_find(footer, 2);

	NEED(list && list->n > 0);
	f->ncolumns = (size_t)pq_number(&list->items[0], 5);
	NEED(list->n == f->ncolumns + 1);
	f->columns = calloc(f->ncolumns, sizeof(*f->columns));
	for (size_t i = 0; i < f->ncolumns; i++) {
		const struct pq_node *e = &list->items[i + 1], *logical = pq_find(e, 10);
		struct pq_column *c = &f->columns[i];

		c->name = pq_text_of(e, 4);
		c->physical = (int)pq_number(e, 1);
		c->optional = (int)pq_number(e, 3);
		c->is_text = pq_find(logical, 1) != NULL;
		if (pq_find(logical, 10)) {
			NEED(pq_number(pq_find(logical, 10), 1) == 64);
			c->is_unsigned = !pq_number(pq_find(logical, 10), 2);
		}
		NEED(c->is_text == (pq_number_or(e, 6, -1) == 0));
		NEED(c->is_unsigned == (pq_number_or(e, 6, -1) == 14));
		c->cells = calloc(f->rows + 1, sizeof(*c->cells));
		c->chunks = calloc(f->ngroups + 1, sizeof(*c->chunks));
	}
	/* column orders: one for each */
	NEED(pq_find(footer, 7) && pq_find(footer, 7)->n == f->ncolumns);
}

static void read_groups(const uint8_t *data, size_t size, const struct pq_node *footer,
                        struct pq_file *f)
{
	const struct pq_node *groups = pq_find(footer, 4);
	size_t at = 0;

	for (size_t g = 0; g < f->ngroups; g++) {
		const struct pq_node *group = &groups->items[g], *chunks = pq_find(group, 1);
		int64_t rows = pq_number(group, 3), stored = 0;

		NEED(chunks->n == f->ncolumns && rows > 0 && (size_t)rows <= f->rows - at);
		for (size_t i = 0; i < f->ncolumns; i++) {
			const struct pq_node *meta = pq_find(&chunks->items[i], 3);
			struct pq_column *c = &f->columns[i];
			const struct pq_node *path = pq_find(meta, 3);

			NEED(path && path->n == 1 && path->items[0].len == strlen(c->name));
			NEED(memcmp(path->items[0].bytes, c->name, strlen(c->name)) == 0);
			read_chunk(data, size, meta, rows, c, &c->chunks[g], c->cells + at);
			stored += pq_number(meta, 7);
		}
		NEED(stored == pq_number(group, 6));
		at += (size_t)rows;
	}
	NEED(at == f->rows);
}

struct pq_file *pq_read(const void *bytes, size_t size)
{
	const uint8_t *data = bytes;
	struct pq_file *f = calloc(1, sizeof(*f));
	struct pq_node footer = {0};
	const struct pq_node *meta;
	struct pq_input in;
	uint32_t footer_size;

	NEED(size >= 12 && memcmp(data, "PAR1", 4) == 0);
	NEED(memcmp(data + size - 4, "PAR1", 4) == 0);
	memcpy(&footer_size, data + size - 8, 4);
	NEED(footer_size <= size - 12);
	in = (struct pq_input){data + size - 8 - footer_size, data + size - 8};
	pq_parse_struct(&in, &footer);
	NEED(in.p == in.end);
	NEED(pq_number(&footer, 1) == 2);
	f->rows = (size_t)pq_number(&footer, 3);
	f->ngroups = pq_find(&footer, 4)->n;
	f->created_by = pq_text_of(&footer, 6);
	read_schema(&footer, f);
	read_groups(data, size, &footer, f);
	meta = pq_find(&footer, 5);
	f->nmeta = meta ? meta->n : 0;
	f->keys = calloc(f->nmeta + 1, sizeof(*f->keys));
	f->values = calloc(f->nmeta + 1, sizeof(*f->values));
	for (size_t i = 0; i < f->nmeta; i++) {
		f->keys[i] = pq_text_of(&meta->items[i], 1);
		f->values[i] = pq_text_of(&meta->items[i], 2);
	}
	pq_free_node(&footer);
	return f;
}

struct pq_file *pq_read_file(const char *path)
{
	FILE *in = fopen(path, "rb");
	struct pq_file *f;
	uint8_t *data;
	long size;

	cr_assert(in, "cannot open %s", path);
	fseek(in, 0, SEEK_END);
	size = ftell(in);
	rewind(in);
	data = malloc((size_t)size + 1);
	NEED(fread(data, 1, (size_t)size, in) == (size_t)size);
	fclose(in);
	f = pq_read(data, (size_t)size);
	free(data);
	return f;
}

void pq_free(struct pq_file *f)
{
	for (size_t i = 0; i < f->ncolumns; i++) {
		struct pq_column *c = &f->columns[i];

		for (size_t r = 0; r < f->rows; r++)
			free(c->cells[r].text);
		for (size_t g = 0; g < f->ngroups; g++) {
			free(c->chunks[g].min.text);
			free(c->chunks[g].max.text);
		}
		free(c->cells);
		free(c->chunks);
		free(c->name);
	}
	for (size_t i = 0; i < f->nmeta; i++) {
		free(f->keys[i]);
		free(f->values[i]);
	}
	free(f->keys);
	free(f->values);
	free(f->columns);
	free(f->created_by);
	free(f);
}

const struct pq_column *pq_column(const struct pq_file *f, const char *name)
{
	for (size_t i = 0; i < f->ncolumns; i++)
		if (strcmp(f->columns[i].name, name) == 0)
			return &f->columns[i];
	cr_assert(0, "the Parquet file has no column %s", name);
	return NULL;
}

const struct pq_cell *pq_cell(const struct pq_file *f, size_t row, const char *column)
{
	cr_assert(row < f->rows, "the Parquet file has no row %zu", row);
	return &pq_column(f, column)->cells[row];
}

int64_t pq_int(const struct pq_file *f, size_t row, const char *column)
{
	const struct pq_cell *c = pq_cell(f, row, column);

	cr_assert(!c->is_null && !c->text, "row %zu of %s holds no number", row, column);
	return (int64_t)c->v;
}

const char *pq_str(const struct pq_file *f, size_t row, const char *column)
{
	const struct pq_cell *c = pq_cell(f, row, column);

	cr_assert(c->text, "row %zu of %s holds no text", row, column);
	return c->text;
}

const char *pq_meta(const struct pq_file *f, const char *key)
{
	for (size_t i = 0; i < f->nmeta; i++)
		if (strcmp(f->keys[i], key) == 0)
			return f->values[i];
	cr_assert(0, "the Parquet file has no key %s", key);
	return NULL;
}
