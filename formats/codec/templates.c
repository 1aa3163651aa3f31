#include "formats/codec/templates.h"

#include <stdlib.h>

#include "formats/base/grow.h"

#define MAX_DIGITS 18u /* of a number: it fits into 63 bits */
/* Fewer rows are not worth it, and so many that are all different say that the others are, too. */
#define MIN_ROWS   16u
#define FIRST_ROWS 64u

/* --- splitting --- */

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of the number that begins at p, a digit. 0: printed again it would not be the same. */
static size_t number_at(const uint8_t *p, const uint8_t *end, uint64_t *number)
{
	size_t n = 0;

	for (*number = 0; p + n < end && is_digit(p[n]); n++)
		*number = *number * 10 + (uint64_t)(p[n] - '0');
	return n <= MAX_DIGITS && (p[0] != '0' || n == 1) ? n : 0;
}

/* What tells a template: how long each piece of text is, then the text. */
struct shape {
	uint32_t numbers, lengths[WS_TEMPLATE_NUMBERS + 1];
};

/* Adds the numbers of a name behind those of other rows, and makes t->key of the rest. */
static enum ws_status split(struct ws_templates *t, const uint8_t *p, size_t len,
                            struct shape *shape, struct ws_err *err)
{
	const uint8_t *end = p + len, *piece = p;

	*shape = (struct shape){0};
	WS_FORWARD(WS_GROW(t->number, t->nnumbers + WS_TEMPLATE_NUMBERS, t->numbers_capacity, err));
	t->key.len = 0;
	WS_FORWARD(ws_buf_reserve(&t->key, sizeof(*shape) + len, err));
	t->key.len = sizeof(*shape);
	while (p < end) {
		size_t digits = 0;

		if (is_digit(*p) && shape->numbers < WS_TEMPLATE_NUMBERS)
			digits = number_at(p, end, &t->number[t->nnumbers]);
		if (digits) {
			WS_FORWARD(ws_buf_put(&t->key, piece, (size_t)(p - piece), err));
			shape->lengths[shape->numbers++] = (uint32_t)(p - piece);
			t->nnumbers++;
			piece = p += digits;
			continue;
		}
		/* digits that are text are so to their end */
		do
			p++;
		while (p < end && is_digit(p[-1]) && is_digit(*p));
	}
	shape->lengths[shape->numbers] = (uint32_t)(end - piece);
	WS_FORWARD(ws_buf_put(&t->key, piece, (size_t)(end - piece), err));
	memcpy(t->key.data, shape, sizeof(*shape));
	return WS_OK;
}

static enum ws_status put_number(struct ws_buf *b, uint64_t v, struct ws_err *err)
{
	WS_FORWARD(ws_buf_reserve(b, WS_VARINT_MAX, err));
	b->len = (size_t)(ws_varint_put(b->data + b->len, v) - b->data);
	return WS_OK;
}

/* The template of a row that was split. */
static enum ws_status template_of(struct ws_templates *t, const struct shape *shape, uint32_t *of,
                                  struct ws_err *err)
{
	uint64_t id = ws_strtab_find(&t->known, t->key.data, t->key.len);

	if (!id) {
		WS_FORWARD(ws_strtab_add(&t->known, t->key.data, t->key.len, &id, err));
		t->numbers_of[t->count++] = (uint8_t)shape->numbers;
		WS_FORWARD(put_number(&t->lengths, shape->numbers, err));
		for (unsigned k = 0; k <= shape->numbers; k++)
			WS_FORWARD(put_number(&t->lengths, shape->lengths[k], err));
		WS_FORWARD(ws_buf_put(&t->text, t->key.data + sizeof(*shape),
		                      t->key.len - sizeof(*shape), err));
	}
	*of = (uint32_t)id - 1;
	return WS_OK;
}

enum ws_status ws_templates_find(struct ws_templates *t, const uint64_t *lengths, uint32_t n,
                                 const uint8_t *bytes, bool *worth, struct ws_err *err)
{
	*t = (struct ws_templates){.rows = n};
	*worth = 0;
	if (n < MIN_ROWS)
		return WS_OK;
	t->of_row = malloc(n * sizeof(*t->of_row));
	t->numbers_of = malloc(n);
	WS_FAIL_IF(!t->of_row || !t->numbers_of, err, NO_MEMORY, "out of memory for %u names", n);
	for (uint32_t i = 0; i < n; i++) {
		struct shape shape;

		WS_FORWARD(split(t, bytes, lengths[i], &shape, err));
		WS_FORWARD(template_of(t, &shape, &t->of_row[i], err));
		bytes += lengths[i];
		if (i == FIRST_ROWS && t->count > FIRST_ROWS)
			return WS_OK;
	}
	*worth = t->nnumbers && t->count <= n - n / 4;
	return WS_OK;
}

void ws_templates_free(struct ws_templates *t)
{
	free(t->of_row);
	free(t->numbers_of);
	free(t->number);
	ws_buf_free(&t->lengths);
	ws_buf_free(&t->text);
	ws_buf_free(&t->key);
	ws_strtab_free(&t->known);
	*t = (struct ws_templates){0};
}

/* --- writing --- */

/* Numbers that others are differences to, by template and place. */
static uint64_t *last_numbers(uint32_t templates, struct ws_err *err)
{
	uint64_t *last = calloc((size_t)templates * WS_TEMPLATE_NUMBERS, sizeof(*last));

	if (!last)
		ws_fail(err, WS_NO_MEMORY, __FILE__, __LINE__, "out of memory for %u templates",
		        templates);
	return last;
}

static uint64_t *last_of(uint64_t *last, enum ws_template_order order, uint32_t template,
                         unsigned place)
{
	return &last[(order == WS_TEMPLATE_BY_TEMPLATE ? template : 0) *
	                     (size_t)WS_TEMPLATE_NUMBERS +
	             place];
}

/* The numbers at one place of the names. */
static uint8_t *put_place(const struct ws_templates *t, enum ws_template_order order,
                          unsigned place, uint64_t *last, uint8_t *p)
{
	const uint64_t *number = t->number;

	for (uint32_t i = 0; i < t->rows; i++) {
		const unsigned n = t->numbers_of[t->of_row[i]];

		if (place < n) {
			uint64_t *before = last_of(last, order, t->of_row[i], place);

			p = ws_varint_put(p, ws_zigzag(number[place] - *before));
			*before = number[place];
		}
		number += n;
	}
	return p;
}

enum ws_status ws_templates_put(const struct ws_templates *t, enum ws_template_order order,
                                struct ws_buf *out, struct ws_residual_parts *parts,
                                struct ws_err *err)
{
	uint64_t *last = last_numbers(t->count, err);
	const size_t begin = out->len;
	enum ws_status status = last ? WS_OK : WS_NO_MEMORY;
	uint8_t *p;

	WS_THEN(status, put_number(out, t->count, err));
	WS_THEN(status, put_number(out, order, err));
	WS_THEN(status, ws_buf_put(out, t->lengths.data, t->lengths.len, err));
	WS_THEN(status, ws_buf_put(out, t->text.data, t->text.len, err));
	WS_THEN(status, ws_buf_reserve(out, (t->rows + t->nnumbers) * WS_VARINT_MAX, err));
	if (status == WS_OK) {
		*parts = (struct ws_residual_parts){.count = 2, .end = {out->len - begin}};
		p = out->data + out->len;
		for (uint32_t i = 0; i < t->rows; i++)
			p = ws_varint_put(p, t->of_row[i]);
		parts->end[1] = (size_t)(p - out->data) - begin;
		for (unsigned place = 0; place < WS_TEMPLATE_NUMBERS; place++)
			p = put_place(t, order, place, last, p);
		out->len = (size_t)(p - out->data);
	}
	free(last);
	return status;
}

/* --- reading --- */

struct template
{
	const uint8_t *text;
	size_t number; /* where its pieces' lengths begin */
	uint32_t numbers;
};

struct reading {
	struct ws_cursor c;
	uint32_t rows, count;
	uint64_t order;
	struct template *template;
	uint32_t *lengths; /* of the pieces of all templates */
	uint32_t *of_row;
	uint64_t *number, *last;
	size_t nlengths, lengths_capacity, nnumbers;
};

static enum ws_status get_lengths(struct reading *r, struct ws_err *err)
{
	for (uint32_t i = 0; i < r->count; i++) {
		struct template *t = &r->template[i];
		uint64_t n;

		WS_FORWARD(ws_cursor_varint(&r->c, &n, err));
		WS_FAIL_IF(n > WS_TEMPLATE_NUMBERS, err, CORRUPT,
		           "template %u has more than %u numbers", i, WS_TEMPLATE_NUMBERS);
		t->numbers = (uint32_t)n;
		t->number = r->nlengths;
		WS_FORWARD(WS_GROW(r->lengths, r->nlengths + n + 1, r->lengths_capacity, err));
		for (uint64_t k = 0; k <= t->numbers; k++) {
			WS_FORWARD(ws_cursor_varint(&r->c, &n, err));
			WS_FAIL_IF(n > WS_MAX_BLOB_BYTES, err, CORRUPT,
			           "a piece of template %u has %llu bytes", i,
			           (unsigned long long)n);
			r->lengths[r->nlengths++] = (uint32_t)n;
		}
	}
	return WS_OK;
}

static enum ws_status get_templates(struct reading *r, struct ws_err *err)
{
	uint64_t count;

	WS_FORWARD(ws_cursor_varint(&r->c, &count, err));
	WS_FORWARD(ws_cursor_varint(&r->c, &r->order, err));
	WS_FAIL_IF(!count || count > r->rows || r->order >= WS_TEMPLATE_ORDERS, err, CORRUPT,
	           "%llu templates of order %llu cannot be those of %u rows",
	           (unsigned long long)count, (unsigned long long)r->order, r->rows);
	r->count = (uint32_t)count;
	r->template = calloc(count, sizeof(*r->template));
	WS_FAIL_IF(!r->template, err, NO_MEMORY, "out of memory for %u templates", r->count);
	WS_FORWARD(get_lengths(r, err));
	for (uint32_t i = 0; i < r->count; i++) {
		size_t bytes = 0;

		for (uint32_t k = 0; k <= r->template[i].numbers; k++)
			bytes += r->lengths[r->template[i].number + k];
		WS_FORWARD(ws_cursor_bytes(&r->c, bytes, &r->template[i].text, err));
	}
	return WS_OK;
}

/* A number takes a byte at least, which bounds what is allocated. */
static enum ws_status get_rows(struct reading *r, struct ws_err *err)
{
	r->of_row = malloc(r->rows * sizeof(*r->of_row));
	WS_FAIL_IF(!r->of_row, err, NO_MEMORY, "out of memory for %u names", r->rows);
	for (uint32_t i = 0; i < r->rows; i++) {
		uint64_t of;

		WS_FORWARD(ws_cursor_varint(&r->c, &of, err));
		WS_FAIL_IF(of >= r->count, err, CORRUPT, "row %u has template %llu of %u", i,
		           (unsigned long long)of, r->count);
		r->of_row[i] = (uint32_t)of;
		r->nnumbers += r->template[of].numbers;
	}
	WS_FAIL_IF(r->nnumbers > ws_cursor_left(&r->c), err, CORRUPT,
	           "its names have %zu numbers, but only %zu bytes are left", r->nnumbers,
	           ws_cursor_left(&r->c));
	return WS_OK;
}

static enum ws_status get_numbers(struct reading *r, struct ws_err *err)
{
	r->last = last_numbers(r->count, err);
	r->number = malloc((r->nnumbers + 1) * sizeof(*r->number));
	WS_FAIL_IF(!r->last || !r->number, err, NO_MEMORY,
	           "out of memory for the numbers of names");
	for (unsigned place = 0; place < WS_TEMPLATE_NUMBERS; place++) {
		uint64_t *number = r->number;

		for (uint32_t i = 0; i < r->rows; i++) {
			const uint32_t n = r->template[r->of_row[i]].numbers;

			if (place < n) {
				uint64_t *last = last_of(r->last, r->order, r->of_row[i], place);
				uint64_t v;

				WS_FORWARD(ws_cursor_varint(&r->c, &v, err));
				*last += ws_unzigzag(v);
				number[place] = *last;
			}
			number += n;
		}
	}
	WS_FAIL_IF(r->c.pos != r->c.end, err, CORRUPT, "%zu bytes are left after the last number",
	           ws_cursor_left(&r->c));
	return WS_OK;
}

/* Appends to *to; 0: no room. */
static bool append(uint8_t **to, const uint8_t *end, const void *bytes, size_t n)
{
	if ((size_t)(end - *to) < n)
		return 0;
	if (n)
		memcpy(*to, bytes, n);
	*to += n;
	return 1;
}

static bool append_number(uint8_t **to, const uint8_t *end, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	return append(to, end, digits + at, sizeof(digits) - at);
}

static enum ws_status make_names(const struct reading *r, uint8_t *out, size_t size_out,
                                 struct ws_bytes *b, struct ws_err *err)
{
	const uint8_t *end = out + size_out;
	const uint64_t *number = r->number;

	for (uint32_t i = 0; i < r->rows; i++) {
		const struct template *t = &r->template[r->of_row[i]];
		const uint32_t *length = &r->lengths[t->number];
		const uint8_t *text = t->text;
		uint8_t *const begin = out;
		bool fits = 1;

		for (uint32_t k = 0; k <= t->numbers && fits; k++) {
			fits = append(&out, end, text, length[k]) &&
			       (k == t->numbers || append_number(&out, end, *number++));
			text += length[k];
		}
		WS_FAIL_IF(!fits || (size_t)(out - begin) > WS_MAX_BLOB_BYTES, err, CORRUPT,
		           "row %u does not fit into the %zu bytes of all", i, size_out);
		b[i] = (struct ws_bytes){begin, (size_t)(out - begin)};
	}
	WS_FAIL_IF(out != end, err, CORRUPT, "its names have %zu bytes less than it says",
	           (size_t)(end - out));
	return WS_OK;
}

enum ws_status ws_templates_get(const uint8_t *data, size_t size, uint32_t n, uint8_t *out,
                                size_t size_out, struct ws_bytes *b, struct ws_err *err)
{
	struct reading r = {.c = {data, data + size}, .rows = n};
	enum ws_status status = get_templates(&r, err);

	WS_THEN(status, get_rows(&r, err));
	WS_THEN(status, get_numbers(&r, err));
	WS_THEN(status, make_names(&r, out, size_out, b, err));
	free(r.template);
	free(r.lengths);
	free(r.of_row);
	free(r.number);
	free(r.last);
	return status;
}
