/* The ranks of one run, as read, matched and aligned (ranks.c) for their tables (tables.c). */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "report/base/texts.h"
#include "report/ranks/ranks.h"
#include "report/query/query.h"

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
	uint32_t kind_number; /* equal for calls of one name, group, ranks, dtype and size */
	uint32_t meeting;     /* index, WS_NONE: it cannot be matched */
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
	uint32_t calls; /* judged ones */
	bool is_common; /* all ranks recorded it: means are over such steps */
};

struct ws_rank {
	int64_t number; /* as recorded, else the place among the traces */
	bool has_number;
	bool did_nothing; /* its trace has neither device work, nor operations, nor steps */
	uint32_t given;               /* that place */
	uint32_t name, device, dtype; /* texts */
	int64_t base_ns, world_size;  /* world_size 0 = not recorded */
	int64_t recorded_ns, span_ns; /* since 1970 and for so long; -1 = not known */
	bool has_steps;
	struct ws_rank_step *steps;
	size_t nsteps, first_step; /* first_step: of all ranks' steps, one after the other */
	uint64_t comm_kernels;
	uint64_t noutside; /* communication in no measured step */
	/* after the clocks are aligned; NaN = cannot be told */
	double offset_ns, residual_ns;
	uint32_t component; /* ranks of other components share no collective with it */
	uint64_t matched;   /* its calls in meetings of several, */
	uint64_t judged;    /* of those that all members of their group recorded, */
	uint64_t last;      /* of those that at which it surely was the last */
	/* from here on: by ws_ranks_make */
	double mean_ns[WS_RANK_TIMES]; /* over its common steps, where there are none over all of
	                                  them; NaN without any */
	size_t ncommon;
	double slower; /* its computation over the median of ranks of its dtype, less 1; NaN */
	double caused_share; /* percent of all waiting: others' waiting while it was the last */
	size_t peers;        /* ranks that share collectives with it */
};

/* The same collective on several ranks: calls first .. first + n - 1. */
struct ws_meeting {
	size_t first;
	uint32_t n;
	bool is_judged; /* several ranks, and all members of the group, recorded it */
	uint32_t first_rank, last_rank; /* calls; WS_NONE = cannot be told */
	double skew_ns;                 /* between first and last arrival */
	double residual_ns;             /* how far the ends are apart by aligned clocks */
	double transfer_ns;             /* of the rank that waited least */
};

struct ws_ranks {
	struct ws_texts texts;
	struct ws_rank *ranks; /* by number, once they are matched */
	size_t n, capacity;
	size_t nsteps;              /* of all ranks */
	struct ws_rank_call *calls; /* by what faces each other, once they are matched */
	size_t ncalls, calls_capacity;
	struct ws_meeting *meetings;
	size_t nmeetings, meetings_capacity;
	const char **failed; /* why traces could not be read */
	size_t nfailed, failed_capacity;
	struct ws_bytes *launchers; /* names of traces that are none of a rank */
	size_t nlaunchers;
	uint64_t unmatched; /* calls that could face each other, but not surely do */
	double waiting_ns;  /* of all ranks and steps */
	bool no_groups;     /* some collective's group is not recorded */
	/* from here on: by ws_ranks_make */
	double all_ns;               /* time of all calls, */
	double calls_ns, judged_ns;  /* of those in common steps, of judged ones */
	uint64_t judged, asymmetric; /* judged calls; calls that can never show who is late */
	uint64_t lacking;            /* calls whose group has a rank that did not record them … */
	size_t lacking_meetings;     /* … as one of all its ranks */
	size_t nmatched_meetings, njudged_meetings; /* of several ranks */
	size_t ncommon;                             /* most common steps of a rank */
	double mean_ns[WS_RANK_TIMES];    /* over the ranks with steps; NaN: none has any */
	const struct ws_rank *last;       /* caused most waiting; NULL: none did */
	const struct ws_rank *straggler;  /* last, if it caused most of all waiting and most of the
	                                     communication is judged; else NULL */
	const struct ws_rank *least_sure; /* of the largest residual; NULL: no clock is aligned */
	char alarm[512];
	struct ws_arena arena;
};

/* --- tables.c --- */

/* The report with its first screen; also fills r->alarm. */
enum ws_status ws_ranks_report(struct ws_ranks *r, struct ws_report **out, struct ws_err *err);
