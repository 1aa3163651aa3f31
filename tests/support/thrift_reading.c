#include "tests/support/thrift_reading.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define NEED(cond) cr_assert((cond), "Parquet: %s", #cond)

uint8_t pq_get_byte(struct pq_input *in)
{
	NEED(in->p < in->end);
	return *in->p++;
}

const uint8_t *pq_get_bytes(struct pq_input *in, size_t n)
{
	const uint8_t *p = in->p;

	NEED((size_t)(in->end - p) >= n);
	in->p += n;
	return p;
}

uint64_t pq_get_varint(struct pq_input *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = pq_get_byte(in);

		NEED(shift < 64);
		v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return v;
	}
}

int64_t pq_get_zigzag(struct pq_input *in)
{
	uint64_t v = pq_get_varint(in);

	return v & 1 ? (int64_t) ~(v >> 1) : (int64_t)(v >> 1);
}

static void parse_value(struct pq_input *in, struct pq_node *out);

static struct pq_node *add_item(struct pq_node *to)
{
	to->items = realloc(to->items, (to->n + 1) * sizeof(*to->items));
	memset(&to->items[to->n], 0, sizeof(*to->items));
	return &to->items[to->n++];
}

void pq_parse_struct(struct pq_input *in, struct pq_node *out)
{
	int id = 0;

	out->type = 12;
	for (;;) {
		uint8_t head = pq_get_byte(in);
		struct pq_node *field;

		if (head == 0)
			return;
		id = head >> 4 ? id + (head >> 4) : (int)pq_get_zigzag(in);
		field = add_item(out);
		field->id = id;
		field->type = head & 15;
		parse_value(in, field);
	}
}

static void parse_list(struct pq_input *in, struct pq_node *out)
{
	uint8_t head = pq_get_byte(in);
	uint64_t n = head >> 4 == 15 ? pq_get_varint(in) : (uint64_t)head >> 4;

	for (uint64_t i = 0; i < n; i++) {
		struct pq_node *item = add_item(out);

		item->type = head & 15;
		parse_value(in, item);
	}
}

static void parse_value(struct pq_input *in, struct pq_node *out)
{
	switch (out->type) {
	case 1:
	case 2:
		out->number = out->type == 1;
		break;
	case 3:
		out->number = (int8_t)pq_get_byte(in);
		break;
	case 4:
	case 5:
	case 6:
		out->number = pq_get_zigzag(in);
		break;
	case 8:
		out->len = pq_get_varint(in);
		out->bytes = pq_get_bytes(in, out->len);
		break;
	case 9:
		parse_list(in, out);
		break;
	case 12:
		pq_parse_struct(in, out);
		break;
	default:
		cr_assert(0, "Parquet: Thrift type %d is not expected", out->type);
	}
}

void pq_free_node(struct pq_node *v)
{
	for (size_t i = 0; i < v->n; i++)
		pq_free_node(&v->items[i]);
	free(v->items);
}

const struct pq_node *pq_find(const struct pq_node *s, int id)
{
	for (size_t i = 0; s && i < s->n; i++)
		if (s->items[i].id == id)
			return &s->items[i];
	return NULL;
}

int64_t pq_number(const struct pq_node *s, int id)
{
	const struct pq_node *f = pq_find(s, id);

	cr_assert(f, "Parquet: field %d is missing", id);
	return f->number;
}

int64_t pq_number_or(const struct pq_node *s, int id, int64_t otherwise)
{
	const struct pq_node *f = pq_find(s, id);

	return f ? f->number : otherwise;
}

char *pq_text_of(const struct pq_node *s, int id)
{
	const struct pq_node *f = pq_find(s, id);

	cr_assert(f, "Parquet: field %d is missing", id);
	return strndup((const char *)f->bytes, f->len);
}
