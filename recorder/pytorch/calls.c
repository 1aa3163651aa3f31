/*
 * PyTorch's callbacks at the begin and end of each operation. A call is recorded at its end; until
 * then its data is in memory of its thread.
 */
#include <sys/mman.h>

#include "recorder/collect/collector.h"
#include "recorder/pytorch/pytorch.h"

/* --- open calls --- */

/* Maximum open calls of a thread: more than any program nests. Unused entries take no memory. */
#define MAX_OPEN (1u << 16)
#define LOG_SIZE (1u << 16)
#define DOMAIN \
	"pytorch" /* domain of annotations by the program and PyTorch, as in imported traces */
#define OPTIMIZER_DOMAIN                                                        \
	"pytorch.optimizer" /* of which instance steps, where there are several \
	                     */

struct open_call {
	const void *fn; /* PyTorch's RecordFunction */
	int64_t start_ns, sequence;
	uint64_t forward_thread;
	uint32_t config;
	uint32_t source, outer_module; /* line that called it; module around this one */
	bool is_range, is_module;
	bool gives_source;               /* operations in it have its line */
	bool is_optimizer, has_instance; /* the call is an optimizer's step; a range in it names the
	                                    instance */
	bool makes_step;                 /* it is in a module, backward or an optimizer */
};

struct thread {
	struct thread *next;            /* of all */
	_Atomic uint64_t ops, step_ops; /* hash of what was called in the period, and of what makes
	                                   it a step */
	_Atomic uint32_t period;
	_Atomic uint32_t nops,
	        nothers; /* calls in the period, and those that do not make it a step */
	uint32_t nopen;
	uint32_t ncalls, expected; /* number of calls; expected position in the log of the next
	                              call's definition */
	uint32_t log[LOG_SIZE];    /* definitions of the last calls */
	uint32_t after[LOG_SIZE];  /* position in the log after which a definition was last used */
	struct ws_source source;
	struct open_call open[MAX_OPEN];
	_Alignas(8) uint8_t body[WS_TORCH_BODY];
};

static __thread struct thread *self;
static pthread_key_t thread_key;
static uint32_t domain = WS_DEF_NONE, optimizer_domain = WS_DEF_NONE;
static bool is_registered;
static struct thread *threads; /* all, under the lock */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

static void forget_thread(void *thread)
{
	const struct thread *t = thread;
	sigset_t before;

	self = NULL;
	ws_lock(&threads_lock, &before);
	for (struct thread **at = &threads; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	ws_unlock(&threads_lock, &before);
	if (ws_collector_on())
		ws_lost(WS_DROPPED_pytorch_unfinished, t->nopen);
	munmap(thread, sizeof(struct thread));
}

static struct thread *new_thread(void)
{
	struct thread *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
	                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	sigset_t before;

	if (t == MAP_FAILED)
		return NULL;
	if (pthread_setspecific(thread_key, t)) {
		munmap(t, sizeof(*t));
		return NULL;
	}
	ws_lock(&threads_lock, &before);
	t->next = threads;
	threads = t;
	ws_unlock(&threads_lock, &before);
	return self = t;
}

/* Only this thread writes it. */
static void add_one(_Atomic uint32_t *n)
{
	const uint32_t before = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, before + 1, memory_order_relaxed);
}

/* Adds a call to the hashes of the period's operations: its definition, and how deep it lies. */
static void count_call(struct thread *t, const struct open_call *call)
{
	const uint32_t period = atomic_load_explicit(&ws_period_number, memory_order_relaxed);
	uint64_t hash = atomic_load_explicit(&t->ops, memory_order_relaxed),
	         step = atomic_load_explicit(&t->step_ops, memory_order_relaxed);
	struct ws_def_op op = {0};
	uint32_t size;
	const void *body = ws_op_body(call->config, &size);

	if (body)
		memcpy(&op, body, sizeof(op));
	if (atomic_load_explicit(&t->period, memory_order_relaxed) != period) {
		atomic_store_explicit(&t->period, period, memory_order_relaxed);
		atomic_store_explicit(&t->nops, 0, memory_order_relaxed);
		atomic_store_explicit(&t->nothers, 0, memory_order_relaxed);
		hash = step = 0;
	}
	const uint64_t what = (uint64_t)t->nopen << 32 | op.alike;

	atomic_store_explicit(&t->ops, ws_hash_word(hash, what), memory_order_relaxed);
	add_one(&t->nops);
	if (call->makes_step)
		step = ws_hash_word(step, what);
	else
		add_one(&t->nothers);
	atomic_store_explicit(&t->step_ops, step, memory_order_relaxed);
}

static struct ws_period_ops hash_ops(void)
{
	const uint32_t period = atomic_load_explicit(&ws_period_number, memory_order_relaxed);
	struct ws_period_ops sum = {0};
	sigset_t before;

	ws_lock(&threads_lock, &before);
	for (const struct thread *t = threads; t; t = t->next)
		if (atomic_load_explicit(&t->period, memory_order_relaxed) == period) {
			sum.all += atomic_load_explicit(&t->ops, memory_order_relaxed);
			sum.of_step += atomic_load_explicit(&t->step_ops, memory_order_relaxed);
			sum.n += atomic_load_explicit(&t->nops, memory_order_relaxed);
			sum.nothers += atomic_load_explicit(&t->nothers, memory_order_relaxed);
		}
	ws_unlock(&threads_lock, &before);
	return sum;
}

/* --- definitions --- */

/*
 * Hash table to find the definition with an equal body. Names have a separate table: an operation
 * whose shapes had no room is recorded by its name, so names must be found however many shapes
 * there are.
 */
struct body_table {
	_Atomic uint64_t *entries; /* hash in the high half, id in the low one; 0: unused */
	uint32_t size;             /* a power of two; at most three quarters are used */
	_Atomic uint32_t used;
};

/* More entries than the definition log has room for. */
static _Atomic uint64_t shape_entries[1u << 17], name_entries[1u << 16];
static struct body_table shapes = {shape_entries, 1u << 17, 0};
static struct body_table names = {name_entries, 1u << 16, 0};
static pthread_mutex_t define_lock = PTHREAD_MUTEX_INITIALIZER;

void ws_pytorch_forked(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	define_lock = unlocked;
	threads_lock = unlocked;
}

static struct body_table *table_of(const uint8_t *body)
{
	struct ws_def_op op;

	memcpy(&op, body, sizeof(op));
	return op.inputs ? &shapes : &names;
}

static inline uint64_t mixed(uint64_t hash, const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return ws_hash_word(hash, word);
}

/* Hash of a body. Two sums are computed in parallel, which is faster than one. */
static uint32_t hash_of(const uint8_t *body, uint32_t size)
{
	uint64_t h = size, other = 1;
	struct ws_def_op op;
	uint32_t at = sizeof(op);

	memcpy(&op, body, sizeof(op));
	op.alike = 0;
	h = mixed(h, (const uint8_t *)&op);
	for (; at + 16 <= size; at += 16) {
		h = mixed(h, body + at);
		other = mixed(other, body + at + 8);
	}
	if (at < size)
		h = mixed(h, body + at);
	h = mixed(h, (const uint8_t *)&other);
	return (uint32_t)(h >> 32) | 1;
}

static bool is_body(uint32_t id, const uint8_t *body, uint32_t size)
{
	uint32_t found_size;
	const uint8_t *found = ws_op_body(id, &found_size);
	const size_t head = offsetof(struct ws_def_op, alike), rest = sizeof(struct ws_def_op);

	return found && found_size == size && !memcmp(found, body, head) &&
	       !memcmp(found + rest, body + rest, size - rest);
}

static uint32_t find_body(const struct body_table *table, uint32_t hash, const uint8_t *body,
                          uint32_t size)
{
	uint64_t entry;

	for (uint32_t i = hash % table->size;
	     (entry = atomic_load_explicit(&table->entries[i], memory_order_acquire));
	     i = (i + 1) % table->size)
		if (entry >> 32 == hash && is_body((uint32_t)entry, body, size))
			return (uint32_t)entry;
	return WS_DEF_NONE;
}

static bool is_full(const struct body_table *table)
{
	return atomic_load_explicit(&table->used, memory_order_relaxed) >= table->size / 4 * 3;
}

/* Adds an entry. The caller holds the lock, and the table is not full. */
static void remember(struct body_table *table, uint32_t hash, uint32_t id)
{
	uint32_t i = hash % table->size;

	while (atomic_load_explicit(&table->entries[i], memory_order_relaxed))
		i = (i + 1) % table->size;
	atomic_store_explicit(&table->entries[i], (uint64_t)hash << 32 | id, memory_order_release);
	atomic_fetch_add(&table->used, 1);
}

/* Defines a body only if it can be added to the table; otherwise it would be defined again in each
 * call. */
static uint32_t define(struct body_table *table, uint32_t hash, uint8_t *body, uint32_t size)
{
	const uint32_t alike = ws_torch_alike(body, size);
	sigset_t before;
	uint32_t id;

	ws_lock(&define_lock, &before);
	id = find_body(table, hash, body, size); /* another thread may have defined it meanwhile */
	if (id == WS_DEF_NONE && !is_full(table)) {
		memcpy(body + offsetof(struct ws_def_op, alike), &alike, sizeof(alike));
		id = ws_define_op(body, size);
		if (id != WS_DEF_NONE)
			remember(table, hash, id);
	}
	ws_unlock(&define_lock, &before);
	return id;
}

/* Adds a definition made by this process before exec. */
static void remember_defined(uint32_t id, const void *body, uint32_t size)
{
	struct body_table *table = table_of(body);

	if (!is_full(table))
		remember(table, hash_of(body, size), id);
}

/* Finds the definition of a body. Steps repeat, so the definition that followed last time is tried
 * first, without a hash. */
static uint32_t config_of_body(struct thread *t, uint32_t size, bool may_define)
{
	uint32_t id = t->log[t->expected % LOG_SIZE];

	if (is_body(id, t->body, size)) {
		t->expected++;
	} else {
		struct body_table *table = table_of(t->body);
		const uint32_t hash = hash_of(t->body, size);

		id = find_body(table, hash, t->body, size);
		if (id == WS_DEF_NONE && may_define)
			id = define(table, hash, t->body, size);
		if (id == WS_DEF_NONE)
			return id;
		t->expected = t->after[id % LOG_SIZE];
		t->after[id % LOG_SIZE] = t->ncalls + 1;
	}
	t->log[t->ncalls++ % LOG_SIZE] = id;
	return id;
}

/* New values of numbers, and new shapes, may use this many sixteenths of the room for
 * definitions. */
#define NUMBERS_ROOM 8
#define SHAPES_ROOM  15

/*
 * Finds or makes the definition of a call. Values that differ in each call, such as an index or a
 * decaying rate, would use all room, and so would new shapes. So above a limit only existing
 * definitions with values or shapes are used, and new ones have only names. The same is true once
 * the table of shapes is full. WS_DEF_NONE: no room even for the name.
 */
static uint32_t config_of(const void *fn, struct thread *t)
{
	const char *name = ws_torch.name(fn);
	bool whole;
	uint32_t size = ws_torch_body(fn, name, 1, t->body, &whole), without_numbers, id;

	id = config_of_body(t, size, !whole || !ws_definitions_fill(NUMBERS_ROOM));
	if (id == WS_DEF_NONE && whole) {
		without_numbers = ws_torch_body(fn, name, 0, t->body, &whole);
		id = config_of_body(t, without_numbers, !ws_definitions_fill(SHAPES_ROOM));
		if (id != WS_DEF_NONE && without_numbers < size)
			ws_lost(WS_DROPPED_pytorch_without_numbers, 1);
	}
	if (id == WS_DEF_NONE && whole) {
		whole = 0;
		id = config_of_body(t, ws_torch_name(name, t->body), 1);
	}
	if (id != WS_DEF_NONE && !whole && ws_collector.seg->capture.pytorch >= WS_PYTORCH_SHAPES)
		ws_lost(WS_DROPPED_pytorch_without_shapes, 1);
	return id;
}

/* --- links from backward to forward --- */

#define LINK_WORDS 20 /* number of words after the inputs that are examined */

/*
 * Bits of the words that may hold the number of the forward thread. It is 0 in forward calls and a
 * small number in backward calls. When only one candidate remains, it is the right one.
 */
static _Atomic uint32_t thread_words = (1u << LINK_WORDS) - 1;
static _Atomic uint32_t
        forward_calls; /* forward calls whose number equals PyTorch's counter, and is above 0 */

static int64_t number_of(const void *fn)
{
	int64_t number;

	memcpy(&number, (const uint8_t *)fn + ws_torch.inputs - 8, sizeof(number));
	return number;
}

#define FORWARD_CALLS 64 /* number of forward calls examined, as each needs some system calls */

/* Reduces the candidates by one call. Returns those that remain. */
static uint32_t link_first(const void *fn, int64_t number)
{
	const bool is_forward = ws_torch.peek_sequence() == number;

	if (is_forward && number > 0)
		atomic_fetch_add(&forward_calls, 1);
	if (is_forward ? atomic_load(&forward_calls) < FORWARD_CALLS
	               : atomic_load(&forward_calls) > 0) {
		/* Keeps the words that are 0, or for backward calls a small number. Returns those
		 * that remain. */
		bool is_backward = !is_forward;
		uint32_t words = atomic_load_explicit(&thread_words, memory_order_relaxed);
		uint64_t word[LINK_WORDS];

		if (!(words & (words - 1)))
			return words;
		for (uint32_t i = 0; i < LINK_WORDS; i++)
			word[i] = 1; /* of memory that is unmapped */
		(void)ws_torch_peek((const uint8_t *)fn + ws_torch.inputs + 16, word, sizeof(word));
		for (uint32_t i = 0; i < LINK_WORDS; i++)
			if (is_backward ? !word[i] || word[i] >> 20 : word[i])
				words &= ~(1u << i);
		return atomic_fetch_and(&thread_words, words) & words;
	}
	return atomic_load(&thread_words);
}

/* Is it the engine's call around a backward operation? */
static bool is_engine(const char *name)
{
	static const char begin[] = "autograd::engine::evaluate_function: ";

	return !strncmp(name, begin, sizeof(begin) - 1);
}

/* Sets sequence number and forward thread of a call. In a forward call the number equals PyTorch's
 * own counter. */
static void link_call(const void *fn, struct open_call *call)
{
	uint32_t words = atomic_load_explicit(&thread_words, memory_order_relaxed);
	const int64_t number = number_of(fn);

	if (number < 0)
		return;
	if (WS_UNLIKELY(words & (words - 1)))
		words = link_first(fn, number);
	if (words && !(words & (words - 1)))
		memcpy(&call->forward_thread,
		       (const uint8_t *)fn + ws_torch.inputs + 16 +
		               8 * (uint32_t)__builtin_ctz(words),
		       sizeof(call->forward_thread));
	if (call->forward_thread || ws_torch.peek_sequence() == number)
		call->sequence = number;
	if (call->forward_thread && self->nopen > 1) {
		/* The engine's call has no number of its own. It gets the operation's, as in a
		 * profile. */
		struct open_call *engine = call - 1;

		if (!engine->is_range && !engine->is_module && engine->sequence < 0 &&
		    is_engine(ws_torch.name(engine->fn))) {
			engine->sequence = call->sequence;
			engine->forward_thread = call->forward_thread;
		}
	}
}

/* --- the calls --- */

static void pop_range(const struct open_call *call)
{
	struct ws_event ev;

	if (ws_is_silent() && ws_event_skips())
		return;
	if (call->has_instance) {
		ws_event_init(&ev, optimizer_domain, NULL, WS_TEXT_BYTES);
		ws_event_pop(&ev);
	}
	ws_event_init(&ev, domain, NULL, WS_TEXT_BYTES);
	ws_event_pop(&ev);
}

static struct open_call *open_one(const void *fn)
{
	struct thread *t = self ? self : new_thread();

	if (WS_UNLIKELY(!t)) {
		ws_lost(WS_DROPPED_thread_without_ring, 1);
		return NULL;
	}
	if (WS_UNLIKELY(t->nopen == MAX_OPEN)) {
		/* This many open calls must have ended on other threads. Their ranges end now, as
		 * otherwise everything later on this thread would be inside them. */
		ws_lost(WS_DROPPED_pytorch_unfinished, t->nopen);
		while (t->nopen)
			if (t->open[--t->nopen].is_range)
				pop_range(&t->open[t->nopen]);
	}
	struct open_call *call = &t->open[t->nopen++];
	call->fn = fn;
	call->sequence = -1;
	call->forward_thread = 0;
	call->is_range = call->is_module = call->is_optimizer = call->has_instance = 0;
	call->source = 0;
	call->gives_source = 0;
	call->makes_step = t->nopen > 1 && call[-1].makes_step;
	return call;
}

/*
 * Sets the line of an operation. PyTorch's own operations call no Python, so operations in them
 * have the same line. What autograd's engine runs has none here: reports give it that of the
 * forward operation, found by the sequence number.
 */
static void set_source(struct thread *t, struct open_call *call, const char *name)
{
	const struct open_call *around = t->nopen > 1 ? call - 1 : NULL;

	call->gives_source = !strncmp(name, "aten::", 6);
	if (around && around->gives_source) {
		call->source = around->source;
		call->gives_source = 1;
	} else if (is_engine(name)) {
		call->gives_source = 1;
	} else {
		call->source = ws_source_of(&t->source, ws_source_hash(name));
	}
}

/* Nothing is recorded. What is in a call that was, or may be a step, is followed all the same. */
static bool skips_call(void)
{
	return ws_is_silent() && (!self || !self->nopen) && ws_event_skips();
}

static void begin_op(const void *fn)
{
	if (!ws_collector_on() || skips_call())
		return;
	struct open_call *call = open_one(fn);
	if (!call)
		return;
	if (ws_torch.has_inputs && ws_torch.peek_sequence)
		link_call(fn, call);
	const char *name = ws_torch.name(fn);
	call->config = config_of(fn, self);
	call->makes_step = call->makes_step || is_engine(name);
	count_call(self, call);
	set_source(self, call, name);
	call->start_ns = ws_now_ns();
}

static void begin_range(const void *fn)
{
	const char *name;
	struct ws_event ev;

	if (!ws_collector_on())
		return;
	struct open_call *call = open_one(fn);
	if (!call)
		return;
	name = ws_torch.name(fn);
	call->is_range = 1;
	call->is_optimizer = !strncmp(name, "Optimizer.step#", 15);
	call->makes_step |= call->is_optimizer;
	ws_source_pass(&self->source, ws_source_hash(name));
	ws_period_take(ws_period_text(name), WS_PERIOD_PASSES);
	if (ws_is_silent() && ws_event_skips())
		return;
	ws_event_init(&ev, domain, name, WS_TEXT_BYTES);
	ws_event_push_mark(&ev);
}

/* Optimizers that wrap others step in each other. */
static bool is_in_optimizer(const struct thread *t)
{
	for (uint32_t i = 0; i < t->nopen; i++)
		if (t->open[i].is_optimizer)
			return 1;
	return 0;
}

static void end(const void *fn)
{
	const int64_t now_ns = ws_now_ns();
	struct thread *t = self;
	uint32_t i;

	if (!t || !ws_collector_on())
		return;
	for (i = t->nopen; i && t->open[i - 1].fn != fn; i--)
		;
	/* begun before the recording, or on another thread, which counts it */
	if (WS_UNLIKELY(!i))
		return;
	struct open_call call = t->open[i - 1];
	if (WS_UNLIKELY(i != t->nopen))
		memmove(&t->open[i - 1], &t->open[i], (t->nopen - i) * sizeof(call));
	t->nopen--;
	if (call.is_module) {
		t->source.module = call.outer_module;
		ws_source_pass(&t->source, ~(uint64_t)call.config);
	}
	if (!call.is_range) {
		struct ws_rec_op rec = {
		        .head.time_ns = call.start_ns,
		        .config = call.config,
		        .source = call.source,
		        .forward_thread = call.forward_thread,
		        .end_ns = now_ns,
		        .sequence = call.sequence,
		};

		if (WS_UNLIKELY(call.config == WS_DEF_NONE))
			ws_lost(WS_DROPPED_definition_overflow, 1);
		else
			ws_event_op(&rec);
		return;
	}
	pop_range(&call);
	if (call.is_optimizer && !is_in_optimizer(t))
		ws_period_take(0, WS_PERIOD_STEPS);
}

/* --- modules --- */

/*
 * Called by our torch_modules.py at the begin and end of a torch.nn module's call. Through ctypes
 * this is cheaper than through any PyTorch function.
 */
#define WS_EXPORT __attribute__((visibility("default")))
WS_EXPORT void warpsheet_module_begin(const char *name);
WS_EXPORT void warpsheet_module_end(void);
/* Called before and after a root module, with a hash of its inputs. */
WS_EXPORT void warpsheet_root_begin(const char *name, uint64_t inputs);
WS_EXPORT void warpsheet_root_end(void);
/* Called in an optimizer's step with the name of the instance. */
WS_EXPORT void warpsheet_optimizer(const char *name);

static const char module_call; /* used in place of PyTorch's RecordFunction */

void warpsheet_module_begin(const char *name)
{
	if (!is_registered || !ws_collector_on() || skips_call())
		return;
	struct open_call *call = open_one(&module_call);
	if (!call)
		return;
	call->is_module = call->makes_step = 1;
	call->config = config_of_body(self, ws_torch_name(name, self->body), 1);
	count_call(self, call);
	call->outer_module = self->source.module;
	call->source = ws_source_of(&self->source, call->config);
	self->source.module = call->config;
	call->start_ns = ws_now_ns();
}

void warpsheet_root_begin(const char *name, uint64_t inputs)
{
	ws_period_take(ws_period_text(name) + inputs, WS_PERIOD_CALLS);
}

void warpsheet_root_end(void)
{
	ws_period_take(0, WS_PERIOD_PASSES);
}

void warpsheet_module_end(void)
{
	end(&module_call);
}

void warpsheet_optimizer(const char *name)
{
	struct ws_event ev;

	if (!self || !self->nopen || !ws_collector_on())
		return;
	struct open_call *call = &self->open[self->nopen - 1];
	if (!call->is_optimizer || call->has_instance)
		return;
	call->has_instance = 1;
	ws_period_take(ws_period_text(name), WS_PERIOD_PASSES);
	if (ws_is_silent() && ws_event_skips())
		return;
	ws_event_init(&ev, optimizer_domain, name, WS_TEXT_BYTES);
	ws_event_push_mark(&ev);
}

/* --- callbacks for PyTorch --- */

WS_TORCH_START(ws_torch_start_op, begin_op(fn))
WS_TORCH_START(ws_torch_start_range, begin_range(fn))

static void on_end(const void *fn, void *context)
{
	(void)context;
	end(fn);
}

static void add_callbacks(uint64_t *operations, uint64_t *annotations)
{
	struct ws_torch_callback callback = {
	        .start = (void *)ws_torch_start_op,
	        .end = (void *)on_end,
	        .sampling = 1,
	        .needs_inputs = ws_torch.has_inputs,
	};

	memset(callback.scopes, 1, sizeof(callback.scopes));
	callback.scopes[WS_SCOPE_USER] = 0;
	*operations = ws_torch.add_callback(callback);
	memset(callback.scopes, 0, sizeof(callback.scopes));
	callback.scopes[WS_SCOPE_USER] = 1;
	callback.start = (void *)ws_torch_start_range;
	callback.needs_inputs = 0;
	*annotations = ws_torch.add_callback(callback);
}

static bool register_callbacks(void)
{
	const struct ws_seg_capture *capture = &ws_collector.seg->capture;
	uint64_t operations, annotations;

	domain = ws_define_domain((struct ws_event_text){.ptr = DOMAIN});
	optimizer_domain = ws_define_domain((struct ws_event_text){.ptr = OPTIMIZER_DOMAIN});
	ws_ops_defined(remember_defined);
	if (pthread_key_create(&thread_key, forget_thread))
		return 0;
	/* a flight recorder judges periods */
	if (capture->pytorch == WS_PYTORCH_SAMPLED || ws_steps_wanted() || capture->keeps)
		ws_periods_start(add_callbacks, hash_ops, capture->pytorch == WS_PYTORCH_SAMPLED);
	else
		add_callbacks(&operations, &annotations);
	is_registered = 1;
	return 1;
}

/* --- attaching --- */

static bool has_shim(void)
{
	const struct ws_torch *t = &ws_torch;

	return t->num_inputs && t->remove_callback && t->key_name && t->is_tensor_list &&
	       t->shim.empty_strided && t->shim.copy && t->shim.sizes && t->shim.strides &&
	       t->shim.delete;
}

void ws_pytorch_attach(void *handle)
{
	static atomic_int tried;
	const uint32_t wanted = ws_collector.seg->capture.pytorch;

	if (wanted == WS_PYTORCH_OFF || atomic_exchange(&tried, 1))
		return;
	if (!ws_torch_find(handle)) {
		ws_define_fact("pytorch.operations", "none; functions not found");
		return;
	}
	if (wanted >= WS_PYTORCH_SHAPES && has_shim())
		ws_torch_prove();
	ws_source_find();
	if (register_callbacks())
		ws_define_fact("pytorch.operations", wanted == WS_PYTORCH_NAMES ? "names"
		                                     : ws_torch.has_inputs
		                                             ? "shapes"
		                                             : "names; inputs not proved");
}
