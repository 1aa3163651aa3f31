/*
 * Some steps are not recorded, so that the cost of recording is measured in the program itself:
 * which steps, and what switches around them. docs/dev/recorder.md, 10.
 */

#include "recorder/collect/collector.h"

/* Always recorded: they contain warm-up. */
#define FIRST_STEPS 20
/* The first two steps that are left out find caches full of the recorder's data, and the first two
 * behind them caches without it: they settle that, and are not compared. */
#define SETTLING 2
/* Steps of a pair: those of both kinds, each with those that settle. */
#define PAIR (2 * SETTLING + 2)

void (*_Atomic ws_calibrate_operations)(bool is_left_out);

static __thread char self; /* its address stands for the thread */
static _Atomic(const void *) leader;
static _Atomic int names_steps; /* enum ws_calibrate_source */
static _Atomic int is_stopped, captures;

/* Held where a step begins or ends. So no range takes over from a period that is left out. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of the leader alone. */
static uint64_t nsteps, pair; /* pair: number of the block whose first step was taken, plus 1 */
static struct {
	bool is_open;
	enum ws_calibration kind;
} step;

static void set_obstacle(enum ws_calibrate_obstacle why)
{
	atomic_store(&ws_collector.seg->control.calibrate, why);
}

/* SplitMix64: every bit of the result depends on every bit of n. */
static uint64_t scatter(uint64_t n)
{
	n += UINT64_C(0x9E3779B97F4A7C15);
	n = (n ^ n >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	n = (n ^ n >> 27) * UINT64_C(0x94D049BB133111EB);
	return n ^ n >> 31;
}

/* Of the n-th step behind the first ones. */
static enum ws_calibration kind_of(uint64_t n, bool may_be)
{
	const uint64_t size = 100 * (SETTLING + 1) / ws_collector.seg->capture.calibrate,
	               block = n / size, hash = scatter(block),
	               at = n % size - (hash >> 1) % (size - PAIR + 1);
	/* in either order both kinds are as far apart */
	const uint64_t left_out = hash & 1 ? 0 : 1, compared = hash & 1 ? PAIR - 1 : 0;

	if (at >= PAIR) /* also before the place, as it wraps */
		return WS_CALIBRATION_NONE;
	if (!may_be)
		pair = 0;
	else if (!at)
		pair = block + 1;
	if (pair != block + 1)
		return WS_CALIBRATION_NONE;
	if (at == compared)
		return WS_CALIBRATION_COMPARED;
	if (at == left_out + SETTLING)
		return WS_CALIBRATION_UNRECORDED;
	return at - left_out < SETTLING ? WS_CALIBRATION_SETTLING : WS_CALIBRATION_NONE;
}

static bool kind_leaves_out(enum ws_calibration kind)
{
	return kind == WS_CALIBRATION_UNRECORDED || kind == WS_CALIBRATION_SETTLING;
}

static void leave_out_operations(bool is_left_out)
{
	void (*leave_out)(bool) = atomic_load(&ws_calibrate_operations);

	if (leave_out)
		leave_out(is_left_out);
}

static bool is_mine(void)
{
	return atomic_load_explicit(&leader, memory_order_relaxed) == &self && step.is_open;
}

/* The first thread that has a step leads; ranges are preferred, if they come soon enough. The
 * caller holds the lock. */
static bool leads(enum ws_calibrate_source source)
{
	int before = atomic_load(&names_steps);

	if (before < (int)source && (nsteps <= FIRST_STEPS || before == WS_STEPS_NOBODY) &&
	    atomic_compare_exchange_strong(&names_steps, &before, source)) {
		atomic_store(&leader, &self);
		step.is_open = 0;
		if (before != WS_STEPS_NOBODY)
			nsteps = 0;
	}
	return atomic_load(&names_steps) == (int)source && atomic_load(&leader) == &self;
}

bool ws_calibrate_begin(enum ws_calibrate_source source, bool is_known)
{
	const bool is_standby = ws_collector.seg->capture.standby;
	enum ws_calibration kind = WS_CALIBRATION_NONE;
	uint64_t n = 0;
	sigset_t signals;
	bool begins;

	ws_lock(&lock, &signals);
	begins = !atomic_load(&is_stopped) && leads(source) && !step.is_open;
	if (begins) {
		n = nsteps++;
		step.kind = WS_CALIBRATION_NONE;
		step.is_open = !is_standby;
	}
	if (begins && !is_standby) {
		if (!n || n == FIRST_STEPS)
			set_obstacle(n ? WS_CALIBRATE_UNALIKE : WS_CALIBRATE_FEW_STEPS);
		is_known = !atomic_exchange(&captures, 0) && is_known;
		if (n >= FIRST_STEPS)
			kind = kind_of(n - FIRST_STEPS, is_known);
		if (kind_leaves_out(kind)) /* the program may be killed in it */
			set_obstacle(WS_CALIBRATE_DONE);
		step.kind = kind;
	}
	ws_unlock(&lock, &signals);
	if (begins && is_standby) {
		begins = ws_standby_step_begins(n + 1, !atomic_exchange(&captures, 0));
		ws_lock(&lock, &signals);
		/* ranges of another thread may have taken over meanwhile */
		begins = begins && atomic_load(&leader) == &self &&
		         atomic_load(&names_steps) == (int)source;
		step.is_open |= begins;
		ws_unlock(&lock, &signals);
	} else if (kind != WS_CALIBRATION_NONE) {
		ws_turn_device(kind_leaves_out(kind) ? WS_DEVICE_OFF : WS_DEVICE_WAIT);
	}
	return begins;
}

void ws_calibrate_begun(void)
{
	if (!is_mine() || !kind_leaves_out(step.kind))
		return;
	atomic_store(&ws_recorded_now, WS_RECORDED_NOT);
	if (atomic_load(&names_steps) == WS_STEPS_RANGES)
		leave_out_operations(1);
}

void ws_calibrate_settle(void)
{
	if (is_mine() && (step.kind != WS_CALIBRATION_NONE ||
	                  (ws_standby_ends_with(nsteps) && !atomic_load(&captures))))
		ws_turn_device(WS_DEVICE_WAIT);
}

static void record_again(void)
{
	atomic_store(&ws_recorded_now, WS_RECORDED_ALL);
	ws_turn_device(WS_DEVICE_ON);
}

enum ws_calibration ws_calibrate_end(enum ws_calibrate_source source)
{
	enum ws_calibration kind = WS_CALIBRATION_NONE;
	sigset_t signals;
	bool ends;

	ws_lock(&lock, &signals);
	/* periods are ended under their own lock, also by another thread */
	ends = step.is_open && atomic_load(&names_steps) == (int)source &&
	       (source == WS_STEPS_PERIODS || is_mine());
	if (ends) {
		step.is_open = 0;
		kind = step.kind;
	}
	ws_unlock(&lock, &signals);
	if (kind_leaves_out(kind)) {
		record_again();
		if (source == WS_STEPS_RANGES)
			leave_out_operations(0);
	}
	if (ends && ws_standby_ends_with(nsteps))
		ws_standby_step_ended(!atomic_exchange(&captures, 0));
	return kind;
}

void ws_calibrate_stop(enum ws_calibrate_obstacle why)
{
	if (!atomic_exchange(&is_stopped, 1) &&
	    atomic_load(&ws_collector.seg->control.calibrate) != WS_CALIBRATE_DONE)
		set_obstacle(why);
}

void ws_calibrate_captures(void)
{
	atomic_store_explicit(&captures, 1, memory_order_relaxed);
}

void ws_calibrate_abandoned(void)
{
	/* another thread may make the next steps */
	if (ws_collector.seg->capture.standby && atomic_load(&leader) == &self) {
		(void)ws_calibrate_end((enum ws_calibrate_source)atomic_load(&names_steps));
		atomic_store(&names_steps, WS_STEPS_NOBODY);
	}
	if (!is_mine())
		return;
	if (kind_leaves_out(step.kind)) {
		record_again();
		leave_out_operations(0);
	}
	/* the row of a period is written later, by another thread */
	if (atomic_load(&names_steps) == WS_STEPS_RANGES)
		step.is_open = 0;
	ws_calibrate_stop(WS_CALIBRATE_UNALIKE);
}

void ws_calibrate_forked(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	atomic_store(&ws_recorded_now, WS_RECORDED_ALL);
	atomic_store(&leader, NULL);
	atomic_store(&names_steps, WS_STEPS_NOBODY);
	memset(&step, 0, sizeof(step));
	nsteps = pair = 0;
}
