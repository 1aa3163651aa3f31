/* Thrift's compact protocol, in which Parquet writes about itself: any value as a tree. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pq_input {
	const uint8_t *p, *end;
};

struct pq_node {
	int type, id;
	int64_t number;
	const uint8_t *bytes;
	size_t len;
	struct pq_node *items; /* fields or elements */
	size_t n;
};

/* Each fails the test where the bytes are wrong or end. */
uint8_t pq_get_byte(struct pq_input *in);
const uint8_t *pq_get_bytes(struct pq_input *in, size_t n);
uint64_t pq_get_varint(struct pq_input *in);
int64_t pq_get_zigzag(struct pq_input *in);
void pq_parse_struct(struct pq_input *in, struct pq_node *out);
void pq_free_node(struct pq_node *v);
const struct pq_node *pq_find(const struct pq_node *s, int id);
int64_t pq_number(const struct pq_node *s, int id);
int64_t pq_number_or(const struct pq_node *s, int id, int64_t otherwise);
char *pq_text_of(const struct pq_node *s, int id);
