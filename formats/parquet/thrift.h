/*
 * Thrift's compact protocol, writing only and only what Parquet's metadata
 * needs. Source: thrift-compact-protocol.md of Apache Thrift.
 *
 * Fields of a struct come in the order of their ids.
 */
#pragma once

#include "formats/base/bytes.h"

#define WS_THRIFT_MAX_DEPTH 8u

/* Types of list elements and fields, as numbers of the protocol. */
enum ws_thrift_type {
	WS_THRIFT_TRUE = 1,
	WS_THRIFT_FALSE = 2,
	WS_THRIFT_I8 = 3,
	WS_THRIFT_I32 = 5,
	WS_THRIFT_I64 = 6,
	WS_THRIFT_BINARY = 8,
	WS_THRIFT_LIST = 9,
	WS_THRIFT_STRUCT = 12,
};

/* All zero is an empty one; it stands inside the outermost struct. Free buf. */
struct ws_thrift {
	struct ws_buf buf;
	unsigned depth;                    /* structs open inside the outermost one */
	int16_t last[WS_THRIFT_MAX_DEPTH]; /* id of the last field of each open struct */
};

/* Fields of the innermost struct. */
void ws_thrift_bool(struct ws_thrift *t, int16_t id, int value);
void ws_thrift_i8(struct ws_thrift *t, int16_t id, int8_t value);
void ws_thrift_i32(struct ws_thrift *t, int16_t id, int32_t value);
void ws_thrift_i64(struct ws_thrift *t, int16_t id, int64_t value);
void ws_thrift_binary(struct ws_thrift *t, int16_t id, const void *bytes, size_t len);
void ws_thrift_str(struct ws_thrift *t, int16_t id, const char *text);
void ws_thrift_struct_begin(struct ws_thrift *t, int16_t id);
/* Ends a struct, be it a field, an element or the outermost one. */
void ws_thrift_struct_end(struct ws_thrift *t);

/* A field that is a list of n elements, which follow. */
void ws_thrift_list(struct ws_thrift *t, int16_t id, enum ws_thrift_type element, uint32_t n);
void ws_thrift_element_i32(struct ws_thrift *t, int32_t value);
void ws_thrift_element_str(struct ws_thrift *t, const char *text);
void ws_thrift_element_struct(struct ws_thrift *t); /* begins one */
/* Elements that another writer made, which has not ended its outermost struct. */
void ws_thrift_elements(struct ws_thrift *t, const struct ws_thrift *made);
