/* What writing and reading of residuals share. Included by residual*.c only. */
#pragma once

#include "formats/codec/residual.h"

#define WS_RESIDUAL_ESCAPE    255u /* symbol of a value that is told in full */
#define WS_RESIDUAL_MAX_SHIFT 48u
#define WS_RESIDUAL_HEAD      4u /* bytes before the numbers */
#define WS_RESIDUAL_MAX_PAIRS 8192u
#define WS_RESIDUAL_SLOTS     (4 * WS_RESIDUAL_MAX_PAIRS)

/* The measure of a context: residual = (base + (symbol << shift | low bits)) * quantum + rest */
struct ws_residual_context {
	uint64_t base; /* two's complement */
	uint32_t rows;
	uint32_t start; /* of its rows among the clustered ones */
	uint8_t shift;
	uint32_t zero_from; /* reading: residuals from here on are 0; as many as rows: none */
};

/* Numbers of pairs of tokens. */
struct ws_pair_slot {
	uint32_t key;   /* previous token << 16 | token */
	uint32_t value; /* + 1; 0 = free */
};

/* Places by token pair: of tables that are not too big for the nearest cache. */
#define WS_RESIDUAL_TABLE_TOKENS 256u

struct ws_residual {
	/* reading: residuals; writing: the distance of quanta from their contexts' bases */
	uint64_t clustered[WS_MAX_BLOCK_ROWS];
	uint16_t context_of_row[WS_MAX_BLOCK_ROWS]; /* reading */
	uint16_t context_of_token[WS_MAX_BLOCK_ROWS];
	uint16_t lane_of_token[WS_MAX_BLOCK_ROWS];
	uint64_t lane_clock[WS_MAX_BLOCK_ROWS];
	uint16_t lane_token[WS_MAX_BLOCK_ROWS];
	uint8_t lane_begun[WS_MAX_BLOCK_ROWS];
	uint32_t cursor[WS_MAX_BLOCK_ROWS];
	uint8_t is_busy[WS_MAX_BLOCK_ROWS];   /* reading: a token whose rows are not all 0 */
	uint16_t busy_row[WS_MAX_BLOCK_ROWS]; /* … and its rows */
	struct ws_residual_context contexts[WS_MAX_BLOCK_ROWS];
	struct ws_pair_slot slots[WS_RESIDUAL_SLOTS];
	/* by token before and token; writing: the pair's number + 1 */
	uint16_t context_of_pair[WS_RESIDUAL_TABLE_TOKENS * WS_RESIDUAL_TABLE_TOKENS];
	uint32_t slot_mask; /* slots in use: a power of two - 1 */
	uint32_t npairs, ncontexts, nlanes;
	uint64_t quantum;
	struct ws_residual_writing *writing; /* NULL when only read */
};

static inline uint32_t ws_pair_key(unsigned before, unsigned token)
{
	return (uint32_t)before << 16 | token;
}

/* The slot of a pair, or the free one where it belongs. */
static inline struct ws_pair_slot *ws_pair_find(struct ws_residual *r, uint32_t key)
{
	uint32_t i = (key * UINT32_C(0x9e3779b1)) >> 12;

	while (r->slots[i & r->slot_mask].value && r->slots[i & r->slot_mask].key != key)
		i++;
	return &r->slots[i & r->slot_mask];
}

/* Forget all pairs; room for n of them. */
static inline void ws_pairs_clear(struct ws_residual *r, uint32_t n)
{
	r->slot_mask = 63;
	while (r->slot_mask < 4 * n - 1 && r->slot_mask < WS_RESIDUAL_SLOTS - 1)
		r->slot_mask = r->slot_mask * 2 + 1;
	memset(r->slots, 0, (r->slot_mask + 1) * sizeof(*r->slots));
	r->npairs = 0;
}

/* No lane has a row yet. */
static inline void ws_lanes_clear(struct ws_residual *r)
{
	memset(r->lane_begun, 0, r->nlanes);
}

/* --- encoding: residual_encode.c, residual_contexts.c --- */

/* Rows that may share a context: how many, where they lie, how far from there. */
struct ws_residual_group {
	uint32_t rows;
	uint32_t step, start; /* every so manieth is a sample; where the samples begin */
	uint32_t context;
	int64_t mean;
	double variance;
};

#define WS_RESIDUAL_MAX_GROUPS (WS_RESIDUAL_MAX_PAIRS + WS_MAX_BLOCK_ROWS / WS_TOKENS_ROWS_EACH + 1)

/* What a row's group and context follow from: its token, or behind all tokens its pair. */
#define WS_RESIDUAL_MAX_KEYS (WS_MAX_BLOCK_ROWS / WS_TOKENS_ROWS_EACH + WS_RESIDUAL_MAX_PAIRS)

struct ws_residual_writing {
	uint64_t by_row[WS_MAX_BLOCK_ROWS];          /* residuals */
	uint64_t quanta[WS_MAX_BLOCK_ROWS];          /* of them, where the quantum is not 1 */
	uint64_t in_full[WS_MAX_BLOCK_ROWS];         /* residuals without a symbol, clustered */
	uint8_t remainders[WS_MAX_BLOCK_ROWS];       /* clustered, where a quantum has them */
	uint16_t keys[WS_MAX_BLOCK_ROWS];            /* of rows, where pairs are contexts */
	const uint16_t *key_of_row;                  /* these, or the tokens */
	uint32_t ntokens;                            /* 1 where the block has none */
	uint32_t rows_of_key[WS_RESIDUAL_MAX_KEYS];  /* pair p has key ntokens + p - 1 */
	uint16_t of_key[WS_RESIDUAL_MAX_KEYS];       /* the group, then the context */
	uint32_t others_of_token[WS_MAX_BLOCK_ROWS]; /* rows that no pair's context takes */
	uint16_t group_of_token[WS_MAX_BLOCK_ROWS];
	uint32_t pair_keys[WS_RESIDUAL_MAX_PAIRS + 1];
	uint16_t group_of_pair[WS_RESIDUAL_MAX_GROUPS];
	uint16_t context_of_pair[WS_RESIDUAL_MAX_PAIRS + 1];
	struct ws_residual_group groups[WS_RESIDUAL_MAX_GROUPS];
	struct ws_residual_group merged[WS_RESIDUAL_MAX_GROUPS];
	uint32_t wait[WS_RESIDUAL_MAX_GROUPS]; /* rows until the next sample */
	uint8_t shape[WS_RESIDUAL_MAX_GROUPS]; /* of a context's symbols */
	uint32_t ngroups;
};

static inline uint64_t ws_magnitude(uint64_t v)
{
	return v >> 63 ? 0 - v : v;
}

/*
 * Contexts of tokens and pairs, in the order in which they are told, with
 * their measures. quanta: of the n rows. Pairs and tokens have their rows counted.
 */
void ws_residual_find_contexts(struct ws_residual *r, const struct ws_residual_how *how,
                               const uint64_t *quanta, uint32_t n);
