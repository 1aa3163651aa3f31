/*
 * Which steps record their operations: those that repeat a step before do not. The time from one
 * end of an optimizer's step, or call of the root module, to the next is a period; what happens in
 * it and is seen in any case are its marks. docs/dev/pytorch.md, 7.
 */
#include <ctype.h>

#include "recorder/collect/collector.h"
#include "recorder/pytorch/pytorch.h"

/* Marks of a period that are compared as they come; further ones count at its end. */
#define MAX_MARKS 256
/* Kinds of periods that are remembered. */
#define KINDS 32
/* Periods of a kind in a row that are left out: so many at first, then twice as many each time. */
#define FIRST_REST 32
#define LAST_REST  64

/* Periods of the same marks. */
struct kind {
	uint64_t marks;
	struct ws_period_ops ops; /* of the last one that was recorded */
	uint32_t alike;           /* recorded ones in a row that had the same */
	uint32_t unrecorded;      /* since then */
	uint32_t rest;            /* that may be left out */
	uint32_t
	        change_after; /* number of these in a row before the last other kind, 0: none yet */
	struct kind *next_kind; /* that other kind; NULL: it was not recorded as a whole */
	uint64_t used;          /* number of the last period of this kind */
	uint32_t nmarks;
	uint64_t mark[MAX_MARKS]; /* hash of all up to each */
};

_Atomic uint32_t ws_period_number = 1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t operations, annotations; /* callbacks */
static void (*add_callbacks)(uint64_t *operations, uint64_t *annotations);
static bool are_registered = 1;
static struct ws_period_ops (*hash_of_ops)(void);
static _Atomic bool is_on;                   /* steps may be left out */
static bool samples;                         /* steps that repeat others are */
static bool is_shared;                       /* a second thread makes steps: all are recorded */
static const void *leader;                   /* the thread whose marks count */
static __thread char self;                   /* its address stands for the thread */
static struct kind kinds[KINDS], *before;    /* kind of the last period, NULL: unknown */
static uint32_t nkinds, surprises, in_a_row; /* number of periods of that kind */
static uint32_t nperiods;                    /* that began */
/* Number of the last one of an unknown kind, of those since the one before, and whether the one
 * that lasts may be the next. */
static uint32_t unknown_at, unknown_every;
static bool is_due;

/* The period that lasts. */
static struct {
	int64_t start_ns, sequence;
	uint64_t hash;
	uint32_t nmarks;
	uint64_t mark[MAX_MARKS];
	bool is_rest;   /* its begin was left out */
	bool is_silent; /* it began while the recording was silent (--standby) */
} period;

static bool by_optimizer; /* periods end with an optimizer's step */
/* Calls of the hook of all optimizers in this period; it is called once in each, and so may end one
 * that is left out. */
static uint32_t hook_calls;
static bool has_hook;

/* --- what is recorded --- */

#define WS_EXPORT __attribute__((visibility("default")))

enum module_hooks {
	HOOKS_OF_NONE,
	HOOKS_OF_ROOTS, /* which are marks */
	HOOKS_OF_ALL,
};
/* Read by our torch_modules.py, after a fork too. */
WS_EXPORT extern int32_t warpsheet_module_hooks;
int32_t warpsheet_module_hooks = HOOKS_OF_ALL;
/* Called by it with its function that sets the hooks wanted, which takes the interpreter's lock. */
WS_EXPORT void warpsheet_on_module_hooks(void (*set)(void));
/* … and at the end of an optimizer's step. */
WS_EXPORT void warpsheet_optimizer_stepped(void);

static void (*_Atomic set_module_hooks)(void);
static bool is_recorded = 1, is_paused;
/* --calibrate leaves the period out: only its end, by an optimizer, is a mark */
static _Atomic bool is_blind;

void warpsheet_on_module_hooks(void (*set)(void))
{
	atomic_store(&set_module_hooks, set);
}

/*
 * Python's hooks are set by unlock(). While any callback is registered, even a disabled one,
 * autograd's engine makes its lists of them anew some hundred times per step: 1 % of its
 * instructions. So a step that --calibrate leaves out has none, if it ends without.
 */
static void set_recorded(bool recorded)
{
	const bool is_changed = is_recorded != recorded, were_registered = are_registered;

	is_recorded = recorded;
	is_blind = is_blind && !recorded;
	are_registered = !is_paused && !(is_blind && has_hook);
	if (!are_registered && were_registered) {
		ws_torch.remove_callback(operations);
		ws_torch.remove_callback(annotations);
	} else if (are_registered && !were_registered) {
		add_callbacks(&operations, &annotations);
	}
	if (are_registered && (is_changed || !were_registered))
		(recorded ? ws_torch.enable_callback : ws_torch.disable_callback)(operations);
	warpsheet_module_hooks = is_paused || is_blind ? HOOKS_OF_NONE
	                         : recorded            ? HOOKS_OF_ALL
	                                               : HOOKS_OF_ROOTS;
}

/* Another thread may hold the interpreter's lock and wait for ours. */
static void unlock(const sigset_t *signals, int32_t hooks_before)
{
	void (*set)(void) = atomic_load(&set_module_hooks);
	const bool is_changed = warpsheet_module_hooks != hooks_before;
	sigset_t again;

	ws_unlock(&lock, signals);
	if (!is_changed || !set)
		return;
	set();
	ws_lock(&lock, &again);
	if (is_blind && leader == &self) /* setting them is no part of the period */
		period.start_ns = ws_now_ns();
	ws_unlock(&lock, &again);
}

/* --- periods --- */

uint64_t ws_period_text(const char *text)
{
	uint64_t hash = 1;

	for (; *text; text++)
		if (!isdigit((unsigned char)*text))
			hash = ws_hash_word(hash, (unsigned char)*text);
	return hash;
}

static int64_t sequence_number(void)
{
	return ws_torch.peek_sequence ? ws_torch.peek_sequence() : 0;
}

static void begin_period(int64_t now_ns, bool is_rest)
{
	period.start_ns = now_ns;
	period.is_rest = is_rest;
	period.is_silent = ws_is_silent();
	atomic_fetch_add_explicit(&ws_period_number, 1, memory_order_relaxed);
	if (is_rest)
		return;
	period.sequence = sequence_number();
	period.nmarks = 0;
	period.hash = 0;
}

/* Returns its operations; n is 0 if none were recorded. */
static struct ws_period_ops put_period(int64_t now_ns, enum ws_op_period_part part)
{
	struct ws_period_ops ops = is_recorded ? hash_of_ops() : (struct ws_period_ops){0};
	struct ws_rec_op_period rec = {
	        .head.time_ns = period.start_ns,
	        .end_ns = now_ns,
	        .marks = ws_hash_word(period.hash, part),
	        .part = part,
	        .ops = ops.all | is_recorded,
	};

	rec.calibration = ws_calibrate_end(WS_STEPS_PERIODS);
	ws_event_op_period(&rec);
	ops.n += is_recorded;
	return ops;
}

static struct ws_period_ops put_whole_or_rest(int64_t now_ns)
{
	return put_period(now_ns, period.is_rest ? WS_OP_PERIOD_REST : WS_OP_PERIOD_WHOLE);
}

static void put_mark(uint64_t what)
{
	period.hash = ws_hash_word(ws_hash_word(period.hash, what),
	                           (uint64_t)(sequence_number() - period.sequence));
	if (period.nmarks < MAX_MARKS)
		period.mark[period.nmarks] = period.hash;
	period.nmarks++;
}

/* Each surprise doubles how many periods have to be alike. */
static bool is_known(const struct kind *kind)
{
	return kind->alike >> (surprises < 30 ? surprises : 30) >= 2;
}

static struct kind *kind_of_period(void)
{
	struct kind *oldest = kinds;

	for (uint32_t i = 0; i < nkinds; i++) {
		if (kinds[i].marks == period.hash)
			return &kinds[i];
		if (kinds[i].used < oldest->used)
			oldest = &kinds[i];
	}
	if (nkinds < KINDS)
		oldest = &kinds[nkinds++];
	for (uint32_t i = 0; i < nkinds; i++)
		if (kinds[i].next_kind == oldest)
			kinds[i].next_kind = NULL;
	if (before == oldest)
		before = NULL;
	*oldest = (struct kind){.marks = period.hash, .rest = FIRST_REST, .nmarks = period.nmarks};
	memcpy(oldest->mark, period.mark, sizeof(period.mark));
	return oldest;
}

/* A period of this kind was recorded, whole. It is like the last one if what makes the step is, and
 * the number of other operations differs in less than a sixteenth of all. */
static void learn(struct kind *kind, struct ws_period_ops ops)
{
	const int64_t differ = (int64_t)ops.nothers - kind->ops.nothers;
	const bool is_alike = kind->alike && kind->ops.of_step == ops.of_step &&
	                      16 * (differ < 0 ? -differ : differ) < ops.n;

	if (kind->unrecorded && is_alike && kind->rest < LAST_REST)
		kind->rest *= 2;
	if (kind->unrecorded && !is_alike) {
		surprises++;
		kind->rest = FIRST_REST;
	}
	kind->alike = is_alike ? kind->alike + 1 : 1;
	kind->ops = ops;
	kind->unrecorded = 0;
}

/* Number of periods that are recorded where an unknown kind is expected. */
#define NEAR_UNKNOWN 3

/* The kind that is expected next: the same again, or the other one after as many in a row as last
 * time. A critic steps five times, then its generator once. NULL: unknown. */
static struct kind *next_kind(void)
{
	const struct kind *other = before ? before->next_kind : NULL;

	if (!before || !before->change_after || in_a_row < before->change_after)
		return before;
	if (in_a_row - before->change_after < (other ? 1 : NEAR_UNKNOWN))
		return before->next_kind;
	return before;
}

/* Where kinds take turns, an unknown one is expected again after as many periods as lay between the
 * last two: images that a generator draws every tenth step. */
static bool is_unknown_due(void)
{
	const uint32_t since = nperiods - unknown_at;

	return unknown_every > NEAR_UNKNOWN && since >= unknown_every &&
	       since - unknown_every < NEAR_UNKNOWN;
}

static void found_unknown(void)
{
	unknown_every = nperiods - unknown_at;
	unknown_at = nperiods;
}

static void follow(struct kind *kind)
{
	if (before && kind != before) {
		before->change_after = in_a_row;
		before->next_kind = kind;
	}
	in_a_row = kind && kind == before ? in_a_row + 1 : 1;
	before = kind;
}

static void start_period(void)
{
	struct kind *next = next_kind();

	nperiods++;
	is_due = is_unknown_due();
	const bool may_rest = next && is_known(next) && !is_due && !is_shared;
	bool records = !samples || !may_rest || next->unrecorded >= next->rest;

	is_blind = 0;
	if (!is_shared && ws_steps_wanted() && ws_calibrate_begin(WS_STEPS_PERIODS, may_rest)) {
		ws_calibrate_begun();
		records = records && !ws_step_is_left_out();
		is_blind = ws_step_is_left_out() && by_optimizer;
	}
	set_recorded(records && !ws_is_silent());
	begin_period(ws_now_ns(), 0);
}

static void end_period(void)
{
	const bool is_silent = period.is_silent || ws_is_silent();
	struct kind *kind = NULL;

	ws_calibrate_settle();
	if (is_blind) /* its marks were not seen; only a period of a known kind is left out */
		period.hash = next_kind()->marks;
	struct ws_period_ops ops = {0};
	if (!is_silent)
		ops = put_whole_or_rest(ws_now_ns());
	if (is_silent)
		(void)ws_calibrate_end(WS_STEPS_PERIODS);

	if (!period.is_rest && !is_silent) {
		kind = kind_of_period();
		kind->used = atomic_load_explicit(&ws_period_number, memory_order_relaxed);
		if (!is_known(kind) && (!ops.n || is_due))
			found_unknown();
		if (ops.n)
			learn(kind, ops);
		else if (is_known(kind))
			kind->unrecorded++;
		else
			surprises++;
	}
	follow(kind);
	start_period();
}

/* Has a kind that is known this mark, behind the same ones? */
static bool is_expected(uint32_t mark)
{
	for (uint32_t i = 0; i < nkinds; i++)
		if (kinds[i].nmarks > mark && kinds[i].mark[mark] == period.mark[mark] &&
		    is_known(&kinds[i]))
			return 1;
	return 0;
}

static void mark_period(uint64_t what)
{
	put_mark(what);
	/* switched on or off outside a step */
	if (ws_is_silent() || period.is_silent) {
		set_recorded(!ws_is_silent());
		return;
	}
	if (is_recorded || is_blind || period.nmarks > MAX_MARKS || is_expected(period.nmarks - 1))
		return;
	int64_t now_ns = ws_now_ns();
	(void)put_period(now_ns, WS_OP_PERIOD_BEGIN);
	found_unknown();
	set_recorded(1);
	begin_period(now_ns, 1);
}

/* is_end: of a period. A thread's first ends none. */
static void take(uint64_t what, bool is_end)
{
	if (is_end && !leader) {
		leader = &self;
		if (before) {
			start_period();
		} else {
			begin_period(ws_now_ns(), 0);
			set_recorded(!ws_is_silent());
		}
	} else if (leader == &self && is_end) {
		if (are_registered)
			has_hook = hook_calls == 1;
		hook_calls = 0;
		put_mark(what);
		end_period();
	} else if (leader == &self) {
		mark_period(what);
	}
}

void ws_period_take(uint64_t what, enum ws_period_mark mark)
{
	sigset_t signals;

	if (!is_on || (mark == WS_PERIOD_PASSES && is_blind))
		return;
	ws_lock(&lock, &signals);
	int32_t hooks = warpsheet_module_hooks;
	if (mark != WS_PERIOD_PASSES && leader && leader != &self) {
		/* Two threads: which one's operations lie in a step is unknown, so all are
		 * recorded. The periods of the first one go on, as --when judges them. */
		if (!is_shared && !ws_is_silent()) {
			const int64_t now_ns = ws_now_ns();

			if (!is_recorded) {
				(void)put_whole_or_rest(now_ns);
				begin_period(now_ns, 1);
			}
			set_recorded(1);
		}
		is_shared = 1;
	} else if (mark == WS_PERIOD_STEPS) {
		by_optimizer = 1;
		take(what, 1);
	} else if (mark == WS_PERIOD_CALLS && !by_optimizer) {
		take(0, 1);
		take(what, 0);
	} else {
		take(what, 0);
	}
	unlock(&signals, hooks);
}

void warpsheet_optimizer_stepped(void)
{
	sigset_t signals;

	if (!is_on)
		return;
	ws_lock(&lock, &signals);
	const bool ends = is_blind && !are_registered; /* also by another thread: two step then */
	hook_calls += leader == &self;
	ws_unlock(&lock, &signals);
	if (ends)
		ws_period_take(0, WS_PERIOD_STEPS);
}

/* Switches operations, annotations and calls of modules off, or on again. Takes the interpreter's
 * lock: call it without locks that Python code may wait for. */
static void pause_all(bool paused)
{
	sigset_t signals;

	if (!operations)
		return;
	ws_lock(&lock, &signals);
	int32_t hooks = warpsheet_module_hooks;
	/* the marks of the period that lasts are not all seen */
	if (paused && is_on && leader && !is_recorded)
		(void)put_period(ws_now_ns(),
		                 period.is_rest ? WS_OP_PERIOD_REST : WS_OP_PERIOD_BEGIN);
	leader = NULL;
	is_paused = paused;
	set_recorded(!paused);
	unlock(&signals, hooks);
}

/* A range names a step that --calibrate leaves out, or one that was left out is over; also a period
 * whose thread ended. */
static void leave_out(bool is_left_out)
{
	sigset_t signals;

	if (is_left_out || is_paused) {
		pause_all(is_left_out);
		return;
	}
	ws_lock(&lock, &signals);
	int32_t hooks = warpsheet_module_hooks;
	set_recorded(1);
	unlock(&signals, hooks);
}

/* The program ends: as a step would, if it was one. */
static void end_last(void)
{
	sigset_t signals;

	ws_lock(&lock, &signals);
	if (is_on && leader) {
		put_mark(0);
		(void)put_whole_or_rest(ws_now_ns());
		is_on = 0;
	}
	ws_unlock(&lock, &signals);
}

/* A fork while another thread switches PyTorch's callback would leave PyTorch's lock locked in the
 * child. */
static sigset_t signals_at_fork;

static void before_fork(void)
{
	sigset_t signals;

	ws_lock(&lock, &signals);
	signals_at_fork = signals;
}

static void after_fork(void)
{
	const sigset_t signals = signals_at_fork;

	ws_unlock(&lock, &signals);
}

/* The child makes other steps, or none: each operation is recorded. */
static void after_fork_in_child(void)
{
	is_on = 0;
	is_paused = 0;
	set_recorded(1);
	after_fork();
}

void ws_periods_start(void (*add)(uint64_t *operations, uint64_t *annotations),
                      struct ws_period_ops (*hash_ops)(void), bool sample)
{
	const bool may_switch =
	        ws_torch.enable_callback && ws_torch.disable_callback && ws_torch.remove_callback;

	samples = sample;
	hash_of_ops = hash_ops;
	add_callbacks = add;
	add_callbacks(&operations, &annotations);
	if (ws_collector.seg->capture.calibrate && may_switch)
		atomic_store(&ws_calibrate_operations, leave_out);
	is_on = may_switch && !pthread_atfork(before_fork, after_fork, after_fork_in_child) &&
	        !atexit(end_last);
}
