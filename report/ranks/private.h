/* What the parts of a report of ranks share. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "report/base/texts.h"
#include "report/ranks/ranks.h"
#include "report/tables/tables.h"

enum ws_collective_op {
	WS_OP_ALL_REDUCE,
	WS_OP_ALL_GATHER,
	WS_OP_REDUCE_SCATTER,
	WS_OP_ALL_TO_ALL,
	WS_OP_ASYMMETRIC, /* broadcast, send, …: its ranks neither begin nor end together */
};

/* What a call is: the same on all ranks of its group but for the sizes. */
struct ws_call_kind {
	uint32_t name, group, ranks; /* texts; 0 = not recorded */
	uint32_t dtype;
	enum ws_collective_op op;
	uint64_t group_size; /* 0 = not recorded */
	double bytes;        /* of the whole message, as nccl-tests count it; NaN = not recorded */
};

/* A collective on one rank: its kernel. */
struct ws_rank_call {
	uint32_t rank; /* index */
	uint32_t key;  /* text of name, group and ranks: calls of one may face each other */
	int64_t slot;  /* sequence number where it is recorded, else number of the step */
	bool has_sequence;
	uint32_t ordinal;         /* among those of its key and slot, by start */
	uint32_t step;            /* index among the steps of its rank */
	int64_t start_ns, end_ns; /* since 1970 by the rank's clock */
	double waiting_ns;        /* for the last rank, once the clocks are aligned */
	struct ws_call_kind kind;
};

/* Times of a step of a rank. */
enum ws_rank_time {
	WS_RANK_STEP, /* the whole */
	WS_RANK_COMPUTE,
	WS_RANK_COMM,
	WS_RANK_EXPOSED,
	WS_RANK_WAITING, /* in collectives, for the last to arrive */
	WS_RANK_CAUSED,  /* others' waiting while this one was the last */
	WS_RANK_TIMES
};

struct ws_rank_step {
	int64_t number; /* as the program counts, the same on all ranks */
	double ns[WS_RANK_TIMES];
	uint32_t calls; /* matched ones */
};

struct ws_rank {
	int64_t number; /* as recorded, else the place among the traces */
	bool has_number;
	uint32_t given;               /* that place */
	uint32_t name, device, dtype; /* texts */
	int64_t base_ns, world_size;  /* world_size 0 = not recorded */
	bool has_steps;
	struct ws_rank_step *steps;
	size_t nsteps;
	uint64_t comm_kernels;
	uint64_t noutside; /* communication in no measured step */
	/* after the clocks are aligned; NaN = cannot be told */
	double offset_ns, residual_ns;
	uint32_t component;     /* ranks of other components share no collective with it */
	uint64_t matched, last; /* calls; those at which it was the last to arrive, surely */
};

/* The same collective on several ranks: calls first .. first + n - 1. */
struct ws_meeting {
	size_t first;
	uint32_t n;
	uint32_t first_rank, last_rank; /* calls; WS_NONE = cannot be told */
	double skew_ns;                 /* between first and last arrival */
	double residual_ns;             /* how far the ends are apart by aligned clocks */
	double transfer_ns;             /* of the rank that waited least */
};

struct ws_ranks {
	struct ws_texts texts;
	struct ws_rank *ranks; /* by number, once they are matched */
	size_t n, capacity;
	struct ws_rank_call *calls; /* by what faces each other, once they are matched */
	size_t ncalls, calls_capacity;
	struct ws_meeting *meetings;
	size_t nmeetings, meetings_capacity;
	uint64_t unmatched; /* calls that could face each other, but not surely do */
	double waiting_ns;  /* of all ranks and steps */
	bool no_groups;     /* some collective's group is not recorded */
	char alarm[512];
	struct ws_arena arena;
};

/* match.c: ranks by number, calls into meetings. USAGE: two traces of one rank. */
enum ws_status ws_ranks_match(struct ws_ranks *r, struct ws_err *err);
/* clocks.c: offsets and residuals of the ranks, then who waited for whom. */
void ws_ranks_align(struct ws_ranks *r);

/* Bytes a second that the links carry, as nccl-tests define it; NaN = not known. */
double ws_call_bus_bandwidth(const struct ws_call_kind *kind, uint32_t nranks, double ns);
/* Mean over the measured steps of a rank. */
double ws_rank_mean(const struct ws_rank *rank, enum ws_rank_time time);
/* The rank's computation over the median of those that compute in the same dtype, less 1; NaN. */
double ws_rank_slower(const struct ws_ranks *r, size_t rank);
/* Calls by whether they could be matched with those of other ranks, and the time of their kernels.
 */
struct ws_calls_judged {
	uint64_t calls, judged;
	uint64_t asymmetric; /* sends, broadcasts, and what no name tells; the rest have no match */
	double ns, judged_ns;
};
struct ws_calls_judged ws_ranks_judged(const struct ws_ranks *r);
/* Of all waiting, in percent, what others had while this rank was the last. */
double ws_rank_caused_share(const struct ws_ranks *r, const struct ws_rank *rank);
/* The rank that caused most waiting; NULL = none did. */
const struct ws_rank *ws_ranks_last_rank(const struct ws_ranks *r);
/* That rank, where it caused more than half of all waiting and most of communication is judged;
 * NULL = none. */
const struct ws_rank *ws_ranks_straggler(const struct ws_ranks *r);

/* Mean over the ranks with steps; NaN: none has any. */
double ws_ranks_mean(const struct ws_ranks *r, enum ws_rank_time time);
/* What the clocks leave open, and of which rank; NaN: they are not aligned. rank may be NULL. */
double ws_ranks_residual(const struct ws_ranks *r, int64_t *rank);
/* Ranks that share collectives with this one, besides itself. */
size_t ws_ranks_beside(const struct ws_ranks *r, const struct ws_rank *rank);
/* The first screen of the report, which has all its tables. */
void ws_ranks_answer(const struct ws_ranks *r, struct ws_report *report);

/* tables.c and verdict.c */
/* Also fills r->alarm. */
void ws_ranks_fill_verdict(struct ws_ranks *r, struct ws_table *t);
void ws_ranks_fill_ranks(const struct ws_ranks *r, struct ws_table *t);
void ws_ranks_fill_steps(const struct ws_ranks *r, struct ws_table *t);
void ws_ranks_fill_collectives(const struct ws_ranks *r, struct ws_table *t);
void ws_ranks_fill_calls(const struct ws_ranks *r, struct ws_table *t);
void ws_ranks_set_text(const struct ws_ranks *r, struct ws_table *t, struct ws_cell *cell,
                       uint32_t text);
