/*
 * What a server of language models writes into the name of a step: the batch that it ran. vLLM's
 * execute_context_1(888)_generation_7(7), SGLang's step[DECODE bs=16], ATOM's decode[bs=16 tok=16],
 * each with sums over the requests where it was asked for them.
 */
#pragma once

#include <stdbool.h>

#include "formats/base/bytes.h"

/* Requests that read their prompts, or those that generate. N_Q: the tokens of a request in this
 * step, N_KV: its tokens so far, with these. */
struct ws_batch_part {
	uint64_t requests;
	uint64_t queries; /* sum of N_Q */
	uint64_t keys;    /* sum of N_KV; 0 = not told */
	uint64_t squares; /* sum of N_Q² */
	uint64_t pairs;   /* sum of N_Q · N_KV */
};

struct ws_batch {
	struct ws_batch_part context, generation;
	bool has_sums; /* pairs and squares are told */
	bool is_mixed; /* of both, but not how many of each: all are in `context` */
};

/* False: it is no name of a batch. */
bool ws_batch_of_name(struct ws_bytes name, struct ws_batch *batch);
/* "prefill", "decode", "mixed"; "" where nothing ran. */
const char *ws_batch_kind(const struct ws_batch *batch);
/* Pairs of query and key that causal attention computes for it: a query needs the keys up to its
 * own. */
uint64_t ws_batch_part_causal_pairs(const struct ws_batch_part *part);
