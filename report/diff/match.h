/*
 * Matches work of one sample with the same work of another. Neither kernel names nor dtypes are
 * keys. In this order (docs/reference/compare.md):
 * 1. the same instance of the same range place; inside it the same kind and order
 * 2. kind and shape of the operation in launch order within the phase, then kind alone
 * 3. class in launch order within the phase, if a side has no operations
 * 4. work between matched neighbours: m kernels became n, of one class or with equal FLOPs
 * 5. work added by one side's precision, each in a group of its own: casts beside matched work,
 * loss scaling
 */
#pragma once

#include "report/diff/recording.h"

/*
 * Alignment of two sequences of symbols: matches as many equal symbols as possible, in order.
 */

/*
 * partner[i] = position in b of the match of a[i], WS_NONE = none; ascending. Myers' greedy
 * algorithm in linear space (Algorithmica 1 (1986) 251). Sequences with thousands of differences
 * are split at the farthest point of both searches, so the time is bounded by about (na + nb) ×
 * max(256, sqrt(na + nb)) and the result may miss some pairs.
 */
void ws_align(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *partner);

/* X(NAME, text in the column `Matched By`) */
#define WS_MATCHED_BY_LIST(X)               \
	X(RANGE, "range path and order")    \
	X(OPERATION, "operation and order") \
	X(CLASS, "class and order")         \
	X(NEIGHBOURS, "matched neighbours") \
	X(CAST, "cast beside matched work") \
	X(SCALING, "loss scaling")
enum ws_matched_by {
#define X(NAME, name) WS_MATCHED_BY_##NAME,
	WS_MATCHED_BY_LIST(X)
#undef X
};
const char *ws_matched_by_name(enum ws_matched_by by);

/* The identity of a call for matching. */
struct ws_work_ref {
	uint32_t item;     /* number (ws_names_item) */
	uint32_t instance; /* instance of the range that launched it */
};
struct ws_work_list {
	const struct ws_work_ref *call; /* in launch order */
	size_t n;
	int64_t gpu_ns; /* GPU time of all calls */
};

/* Attributes of a group of matched calls. Most groups share a kind with many others. Compared by
 * bytes, so without padding. */
struct ws_match_kind {
	uint32_t item[2];   /* item of the first call of each side; 0 = no call */
	uint32_t n[2];      /* calls of each side */
	uint32_t criterion; /* enum ws_matched_by; of CAST and SCALING only one side has calls */
	float flops[2];     /* recorded FLOPs of a group's calls on each side; 0 = unknown */
};
struct ws_match {
	uint32_t *group[2]; /* call -> group, WS_NONE = the other side has no such work */
	uint32_t *kind;     /* group -> number of its kind, from 1 */
	size_t ngroups;
	struct ws_texts kinds;
};
/* Does the group exist only because of one side's precision? */
static inline bool ws_match_is_added(const struct ws_match_kind *kind)
{
	return kind->criterion == WS_MATCHED_BY_CAST || kind->criterion == WS_MATCHED_BY_SCALING;
}
/* The number of a kind, which is added even if no group has it. */
static inline uint32_t ws_match_add_kind(struct ws_match *m, const struct ws_match_kind *kind)
{
	return ws_texts_add_often(&m->kinds, (struct ws_bytes){kind, sizeof(*kind)},
	                          kind->item[0] * 31 + kind->item[1] + kind->criterion);
}
static inline const struct ws_match_kind *ws_match_kind(const struct ws_match *m, uint32_t number)
{
	return m->kinds.text[number].ptr;
}
/* of_two_sides: apply rule 5, which is not needed within a side, as its samples have the same
 * precision. Time and memory as for ws_align. Free with ws_match_release, also after a failure. */
void ws_match_find(struct ws_match *out, const struct ws_names *names, const struct ws_work_list *a,
                   const struct ws_work_list *b, bool of_two_sides);
void ws_match_release(struct ws_match *m);
