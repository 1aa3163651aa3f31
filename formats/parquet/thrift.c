#include "formats/parquet/thrift.h"

static void put(struct ws_thrift *t, const void *bytes, size_t len)
{
	ws_buf_put(&t->buf, bytes, len);
}

static void put_varint(struct ws_thrift *t, uint64_t v)
{
	uint8_t bytes[WS_VARINT_MAX];

	put(t, bytes, (size_t)(ws_varint_put(bytes, v) - bytes));
}

static void put_signed(struct ws_thrift *t, int64_t v)
{
	put_varint(t, ws_zigzag((uint64_t)v));
}

static void put_binary(struct ws_thrift *t, const void *bytes, size_t len)
{
	put_varint(t, len);
	put(t, bytes, len);
}

/* Four bits of distance from the field before, four bits of type; a far id follows on its own. */
static void put_field(struct ws_thrift *t, int16_t id, enum ws_thrift_type type)
{
	int distance = id - t->last[t->depth];
	uint8_t head = (uint8_t)type;

	if (distance >= 1 && distance <= 15) {
		head |= (uint8_t)(distance << 4);
		put(t, &head, 1);
	} else {
		put(t, &head, 1);
		put_signed(t, id);
	}
	t->last[t->depth] = id;
}

static void open_struct(struct ws_thrift *t)
{
	t->last[++t->depth] = 0;
}

void ws_thrift_bool(struct ws_thrift *t, int16_t id, int value)
{
	put_field(t, id, value ? WS_THRIFT_TRUE : WS_THRIFT_FALSE);
}

void ws_thrift_i8(struct ws_thrift *t, int16_t id, int8_t value)
{
	put_field(t, id, WS_THRIFT_I8);
	put(t, &value, 1);
}

void ws_thrift_i32(struct ws_thrift *t, int16_t id, int32_t value)
{
	put_field(t, id, WS_THRIFT_I32);
	put_signed(t, value);
}

void ws_thrift_i64(struct ws_thrift *t, int16_t id, int64_t value)
{
	put_field(t, id, WS_THRIFT_I64);
	put_signed(t, value);
}

void ws_thrift_binary(struct ws_thrift *t, int16_t id, const void *bytes, size_t len)
{
	put_field(t, id, WS_THRIFT_BINARY);
	put_binary(t, bytes, len);
}

void ws_thrift_str(struct ws_thrift *t, int16_t id, const char *text)
{
	ws_thrift_binary(t, id, text, strlen(text));
}

void ws_thrift_struct_begin(struct ws_thrift *t, int16_t id)
{
	put_field(t, id, WS_THRIFT_STRUCT);
	open_struct(t);
}

void ws_thrift_struct_end(struct ws_thrift *t)
{
	uint8_t stop = 0;

	put(t, &stop, 1);
	if (t->depth)
		t->depth--;
}

void ws_thrift_list(struct ws_thrift *t, int16_t id, enum ws_thrift_type element, uint32_t n)
{
	uint8_t head = (uint8_t)((n < 15 ? n << 4 : 0xf0) | element);

	put_field(t, id, WS_THRIFT_LIST);
	put(t, &head, 1);
	if (n >= 15)
		put_varint(t, n);
}

void ws_thrift_element_i32(struct ws_thrift *t, int32_t value)
{
	put_signed(t, value);
}

void ws_thrift_element_str(struct ws_thrift *t, const char *text)
{
	put_binary(t, text, strlen(text));
}

void ws_thrift_element_struct(struct ws_thrift *t)
{
	open_struct(t);
}

void ws_thrift_elements(struct ws_thrift *t, const struct ws_thrift *made)
{
	put(t, made->buf.data, made->buf.len);
}
