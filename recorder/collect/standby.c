/*
 * Recording is off until it is switched on from outside, and may be switched off again: what
 * requests mean, and when they take effect. docs/dev/recorder.md, 11.
 */
#include "recorder/collect/collector.h"

_Atomic int ws_recorded_now;
void (*_Atomic ws_calibrate_device)(enum ws_calibrate_device what);

void ws_turn_device(enum ws_calibrate_device what)
{
	void (*turn)(enum ws_calibrate_device) = atomic_load(&ws_calibrate_device);

	if (turn)
		turn(what);
}

/* Not held by a thread that waits for it in a callback of CUDA: ws_standby_look() only tries. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Atomic uint32_t ws_standby_ended;
_Atomic int64_t ws_standby_ended_ns;

static struct ws_seg_standby *shared(void)
{
	return &ws_collector.seg->control.standby;
}

/* Everything recorded is within a window: its begin is written before anything is recorded, its end
 * after recording is off. */
static void set_recording(bool on, bool may_wait)
{
	struct ws_seg_standby *s = shared();

	if (atomic_load(&s->is_recording) == on)
		return;
	if (on && may_wait)
		ws_turn_device(WS_DEVICE_WAIT);
	if (on)
		ws_turn_device(WS_DEVICE_ON);
	else
		ws_turn_device(may_wait ? WS_DEVICE_OFF : WS_DEVICE_END);
	if (!on)
		atomic_store(&ws_recorded_now, WS_RECORDED_SILENT);
	int64_t now_ns = ws_now_ns();
	ws_define_window(now_ns, on);
	if (!on) {
		atomic_store(&ws_standby_ended_ns, now_ns);
		atomic_fetch_add(&ws_standby_ended, 1);
	}
	atomic_fetch_add(&s->windows, on);
	atomic_store(&s->since_ns, now_ns);
	atomic_store(&s->is_recording, on);
	if (on)
		atomic_store(&ws_recorded_now, WS_RECORDED_ALL);
}

static bool is_wanted(uint64_t number)
{
	return number >= atomic_load(&shared()->first) && number < atomic_load(&shared()->last);
}

/* Reads a request. next: number of the step that begins now or next; 0: only a request that does
 * not wait for a step is read. Returns whether there was one. */
static bool take(uint64_t next)
{
	struct ws_seg_standby *s = shared();
	const union ws_seg_request r = {.word = atomic_load(&s->request)};
	uint64_t first;

	if (r.number == atomic_load(&s->taken) || (!next && !r.is_now))
		return 0;
	if (!r.is_start) {
		atomic_store(&s->last, r.first > next ? r.first : next);
	} else if (r.first && r.first < next) {
		atomic_store(&s->missed, r.number);
	} else {
		first = r.is_now ? atomic_load(&s->steps) : r.first ? r.first : next;
		atomic_store(&s->last, !r.steps ? UINT64_MAX : first + r.is_now + r.steps);
		atomic_store(&s->first, first);
	}
	/* set by a stop at once, which this request may have replaced; --max-size keeps it */
	atomic_store(&ws_collector.seg->control.has_ended,
	             atomic_load(&ws_collector.seg->control.stop_ns) != 0);
	atomic_store(&s->taken, r.number);
	return 1;
}

void ws_standby_start(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	struct ws_seg_standby *s = shared();

	if (!ws_collector.seg->capture.standby)
		return;
	lock = unlocked; /* of the parent, after a fork */
	atomic_store(&ws_recorded_now, WS_RECORDED_SILENT);
	/* the image before was recorded: this one has steps of its own */
	if (atomic_exchange(&s->is_recording, 0))
		ws_define_window(ws_now_ns(), 0);
	atomic_store(&s->last, 0);
	atomic_store(&s->steps, 0);
}

bool ws_standby_step_begins(uint64_t number, bool may_wait)
{
	sigset_t before;

	ws_lock(&lock, &before);
	atomic_store(&shared()->steps, number);
	(void)take(number);
	bool recorded = is_wanted(number);
	set_recording(recorded, may_wait);
	ws_unlock(&lock, &before);
	return recorded;
}

bool ws_standby_ends_with(uint64_t number)
{
	sigset_t before;

	if (!ws_collector.seg->capture.standby || ws_is_silent())
		return 0;
	ws_lock(&lock, &before);
	(void)take(number + 1);
	bool ends = !is_wanted(number + 1);
	ws_unlock(&lock, &before);
	return ends;
}

void ws_standby_step_ended(bool may_wait)
{
	sigset_t before;

	ws_lock(&lock, &before);
	set_recording(0, may_wait);
	ws_unlock(&lock, &before);
}

void ws_standby_look(void)
{
	const union ws_seg_request r = {
	        .word = atomic_load_explicit(&shared()->request, memory_order_relaxed)};
	sigset_t all, before;

	if (WS_LIKELY(!r.is_now ||
	              r.number == atomic_load_explicit(&shared()->taken, memory_order_relaxed)))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_mutex_trylock(&lock)) {
		if (take(0))
			set_recording(is_wanted(atomic_load(&shared()->steps)), 0);
		pthread_mutex_unlock(&lock);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
