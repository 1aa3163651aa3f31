#include "report/base/names.h"
#include "report/model/model.h"

uint32_t ws_path_intern(struct ws_path_table *t, const struct ws_path *path)
{
	/* WS_NONE + 1 wraps to 0: no parent */
	uint64_t key = (uint64_t)(uint32_t)(path->parent + 1) << 32 | path->name;
	uint32_t first = ws_idmap_get(&t->first, key), at;

	for (at = first; at != WS_NONE; at = t->next[at])
		if (t->paths[at].domain == path->domain && t->paths[at].style == path->style)
			break;
	if (at == WS_NONE) {
		size_t capacity = t->capacity;

		WS_GROW(t->next, t->npaths + 1, capacity);
		WS_GROW(t->paths, t->npaths + 1, t->capacity);
		at = (uint32_t)t->npaths++;
		t->paths[at] = *path;
		t->next[at] = first;
		ws_idmap_put(&t->first, key, at);
	}
	if (path->first_ns < t->paths[at].first_ns)
		t->paths[at].first_ns = path->first_ns;
	return at;
}

void ws_path_table_give(struct ws_path_table *t, struct ws_path **paths, size_t *npaths)
{
	*paths = t->paths;
	*npaths = t->npaths;
	t->paths = NULL;
	ws_path_table_free(t);
}

void ws_path_table_free(struct ws_path_table *t)
{
	free(t->paths);
	free(t->next);
	ws_idmap_free(&t->first);
	*t = (struct ws_path_table){0};
}

/* --- paths in reading order ------------------------------------------------ */

struct path_context {
	const struct ws_path *paths;
	const struct ws_bytes *texts;
};

static int compare_paths(const void *pa, const void *pb, void *arg)
{
	const struct path_context *ctx = arg;
	const struct ws_path *a = &ctx->paths[*(const uint32_t *)pa];
	const struct ws_path *b = &ctx->paths[*(const uint32_t *)pb];

	WS_ORDER_BY(a->first_ns, b->first_ns);
	int c = ws_name_compare(ctx->texts[a->name], ctx->texts[b->name]);
	if (!c)
		c = ws_name_compare(ctx->texts[a->domain], ctx->texts[b->domain]);
	return c ? c : a->style - b->style;
}

void ws_paths_order(const struct ws_ranges *r, const struct ws_bytes *texts, uint32_t *order)
{
	struct path_context ctx = {r->paths, texts};
	size_t n = r->npaths, at = 0, height = 0;
	uint32_t *child, *sibling, *stack;
	uint32_t *all = ws_xarray(4 * n + 1, sizeof(*all));

	child = all; /* of path p at p + 1; of paths without a parent at 0 */
	sibling = child + n + 1;
	stack = sibling + n;
	memset(child, 0xff, (n + 1) * sizeof(*child));

	/* prepends in descending order, so that each list of children becomes sorted */
	ws_order_identity(stack, n);
	if (n)
		ws_sort_by(stack, n, sizeof(*stack), compare_paths, &ctx);
	for (size_t i = n; i-- > 0;) {
		uint32_t p = stack[i];
		uint32_t *head = &child[(uint32_t)(r->paths[p].parent + 1)];

		sibling[p] = *head;
		*head = p;
	}

	if (child[0] != WS_NONE)
		stack[height++] = child[0];
	while (height) {
		uint32_t p = stack[--height];

		order[at++] = p;
		if (sibling[p] != WS_NONE)
			stack[height++] = sibling[p];
		if (child[p + 1] != WS_NONE)
			stack[height++] = child[p + 1];
	}
	free(all);
}

void ws_path_text(const struct ws_ranges *r, uint32_t path, const struct ws_bytes *texts,
                  char **out, size_t *len)
{
	size_t n = 1;

	for (uint32_t p = path; p != WS_NONE; p = r->paths[p].parent) {
		struct ws_bytes name = texts[r->paths[p].name];

		n += name.len + (r->paths[p].parent != WS_NONE);
		for (size_t i = 0; i < name.len; i++)
			n += ((const char *)name.ptr)[i] == '/';
	}
	char *text = ws_xmalloc(n);
	/* from the end backwards, because the innermost name comes first */
	char *to = text + n;
	*--to = '\0';
	for (uint32_t p = path; p != WS_NONE; p = r->paths[p].parent) {
		const char *name = texts[r->paths[p].name].ptr;

		for (size_t i = texts[r->paths[p].name].len; i-- > 0;) {
			*--to = name[i];
			if (name[i] == '/')
				*--to = '\\';
		}
		if (r->paths[p].parent != WS_NONE)
			*--to = '/';
	}
	*out = text;
	*len = n - 1;
}

/* --- range pairs --- */

static void open_range(struct ws_range_pairs *p, uint32_t stack, uint32_t range)
{
	WS_GROW(p->below, (size_t)range + 1, p->nbelow);
	p->below[range] = p->top[stack];
	p->top[stack] = range;
}

static uint32_t close_range(struct ws_range_pairs *p, uint32_t stack)
{
	uint32_t range = p->top[stack];

	if (range != WS_NONE)
		p->top[stack] = p->below[range];
	return range;
}

static void new_stack(struct ws_range_pairs *p, uint32_t *stack)
{
	WS_GROW(p->top, p->nstacks + 1, p->stacks_capacity);
	*stack = (uint32_t)p->nstacks++;
	p->top[*stack] = WS_NONE;
}

static uint32_t find_stack(struct ws_range_pairs *p, uint32_t thread, uint32_t domain)
{
	const uint64_t key = (uint64_t)thread << 32 | domain;

	if (!p->has_last || p->last_key != key) {
		p->last_key = key;
		p->last_stack = ws_idmap_get(&p->stack_of, key);
		p->has_last = p->last_stack != WS_NONE;
	}
	return p->last_stack;
}

void ws_range_push(struct ws_range_pairs *p, uint32_t thread, uint32_t domain, uint32_t range)
{
	uint32_t stack = find_stack(p, thread, domain);

	if (stack == WS_NONE) {
		new_stack(p, &stack);
		ws_idmap_put(&p->stack_of, p->last_key, stack);
	}
	open_range(p, stack, range);
}

uint32_t ws_range_pop(struct ws_range_pairs *p, uint32_t thread, uint32_t domain)
{
	uint32_t stack = find_stack(p, thread, domain);

	return stack == WS_NONE ? WS_NONE : close_range(p, stack);
}

void ws_range_start(struct ws_range_pairs *p, uint64_t process, uint64_t id, uint32_t range)
{
	const uint64_t key[2] = {process, id};
	uint64_t number = ws_strtab_find(&p->started, key, sizeof(key));

	if (!number) {
		number = ws_strtab_add(&p->started, key, sizeof(key));
		WS_GROW(p->start_stack, number, p->started_capacity);
		new_stack(p, &p->start_stack[number - 1]);
	}
	open_range(p, p->start_stack[number - 1], range);
}

uint32_t ws_range_end(struct ws_range_pairs *p, uint64_t process, uint64_t id)
{
	const uint64_t key[2] = {process, id};
	uint64_t number = ws_strtab_find(&p->started, key, sizeof(key));

	return number ? close_range(p, p->start_stack[number - 1]) : WS_NONE;
}

void ws_range_pairs_free(struct ws_range_pairs *p)
{
	free(p->below);
	free(p->top);
	free(p->start_stack);
	ws_idmap_free(&p->stack_of);
	ws_strtab_free(&p->started);
	*p = (struct ws_range_pairs){0};
}

/* --- steps --- */

/* Which ranges are steps, and the work in them. */

bool ws_step_is_name(const struct ws_model *m, uint32_t name, const char *pattern)
{
	/* in every program: of PyTorch's profiler and of Lightning's */
	static const char *const patterns[] = {WS_PYTORCH_STEP "*",
	                                       "[pl][profile]run_training_batch"};
	struct ws_bytes wanted = {pattern, pattern ? strlen(pattern) : 0};

	return pattern ? ws_name_matches(wanted, m->texts[name])
	               : name == WS_TEXT_STEP || WS_NAME_IS_ONE_OF(m->texts[name], patterns) ||
	                         ws_name_is_batch(m->texts[name]);
}

void ws_step_is_path(const struct ws_model *m, const struct ws_ranges *r, uint32_t path,
                     const char *pattern, uint8_t *is_step)
{
	struct ws_bytes wanted = {pattern, pattern ? strlen(pattern) : 0}, whole;
	char *text;

	*is_step = (uint8_t)ws_step_is_name(m, r->paths[path].name, pattern);
	if (!pattern || *is_step || !strchr(pattern, '/'))
		return;
	ws_path_text(r, path, m->texts, &text, &whole.len);
	whole.ptr = text;
	*is_step = (uint8_t)ws_name_matches(wanted, whole);
	free(text);
}

static int by_begin(const void *pa, const void *pb)
{
	const struct ws_model_step *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	WS_ORDER_BY(a->thread, b->thread);
	return a->range < b->range ? -1 : a->range > b->range;
}

/* 5 of ProfilerStep#5; a step without a number in its name has its index. */
static uint32_t number_of_step(const struct ws_model *m, uint32_t name, uint32_t index)
{
	struct ws_bytes text = m->texts[name];
	const char *p = text.ptr;
	size_t i = strlen(WS_PYTORCH_STEP);
	uint32_t number = 0;

	if (!ws_bytes_begin(text, WS_PYTORCH_STEP) || text.len == i || text.len > i + 9)
		return index;
	for (; i < text.len; i++) {
		if (p[i] < '0' || p[i] > '9')
			return index;
		number = number * 10 + (uint32_t)(p[i] - '0');
	}
	return number;
}

void ws_steps_count_measured(struct ws_model *m)
{
	m->nmeasured = 0;
	for (uint32_t s = 0; s < m->nsteps; s++)
		m->nmeasured += (size_t)ws_step_is_measured(m, s);
}

void ws_steps_sort(struct ws_model *m)
{
	uint32_t count[2] = {0, 0};
	int64_t reach_ns = INT64_MIN;

	if (m->nsteps)
		ws_sort(m->steps, m->nsteps, sizeof(*m->steps), by_begin);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		struct ws_model_step *step = &m->steps[s];

		step->index = count[step->warm_up]++;
		step->is_pytorch = ws_bytes_begin(m->texts[step->name], WS_PYTORCH_STEP);
		if (step->by_time && step->start_ns + step->total_ns > reach_ns)
			reach_ns = step->start_ns + step->total_ns;
		step->reach_ns = reach_ns;
		step->number = number_of_step(m, step->name, step->index);
		m->threads[step->thread].has_steps |= step->by_marks;
		step->phase_ns[WS_PHASE_OTHER] = step->total_ns;
		for (int p = 0; p < WS_PHASE_OTHER; p++)
			step->phase_ns[WS_PHASE_OTHER] -= step->phase_ns[p];
	}
	ws_steps_count_measured(m);
}

/* A step with less than this share of the work of each other step is truncated. */
#define LEAST_OF_A_STEP 0.8

/* Did the step launch much less work than each other measured step? */
static bool is_part(const struct ws_model *m, const uint64_t *work, uint32_t step)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t s = 0; s < m->nsteps; s++)
		if (s != step && ws_step_is_measured(m, s) && work[s] < least)
			least = work[s];
	return least != UINT64_MAX && (double)work[step] < LEAST_OF_A_STEP * (double)least;
}

void ws_steps_find_unfinished(struct ws_model *m, const uint64_t *work)
{
	uint32_t first = WS_NONE, last = WS_NONE; /* with work */

	for (uint32_t s = 0; s < m->nsteps; s++)
		m->steps[s].unfinished |= m->steps[s].start_ns < m->kept_from_ns;
	ws_steps_count_measured(m);
	for (uint32_t s = 0; s < m->nsteps; s++) {
		if (!ws_step_is_measured(m, s) || !work[s])
			continue;
		first = first == WS_NONE ? s : first;
		last = s;
	}
	if (first == WS_NONE)
		return;
	for (uint32_t s = 0; s < m->nsteps; s++)
		if (s < first || s > last)
			m->steps[s].unfinished |= ws_step_is_measured(m, s);
	if (m->steps[last].is_pytorch && is_part(m, work, last))
		m->steps[last].unfinished = true;
	if (m->steps[first].by_marks && is_part(m, work, first))
		m->steps[first].unfinished = true;
	ws_steps_count_measured(m);
}

uint32_t ws_step_holding(const struct ws_model *m, uint32_t process, uint32_t thread,
                         int64_t start_ns, int64_t end_ns, bool but_own_ranges)
{
	const bool has_own = thread < m->nthreads && m->threads[thread].has_steps;
	size_t at;

	WS_COUNT_FIRST(at, m->nsteps, m->steps[at].start_ns <= start_ns);
	while (at-- > 0 && m->steps[at].reach_ns >= end_ns) {
		const struct ws_model_step *s = &m->steps[at];

		if (!s->by_time || s->start_ns + s->total_ns < end_ns ||
		    m->threads[s->thread].process != process ||
		    (s->thread == thread && but_own_ranges && !s->by_marks))
			continue;
		if (s->thread == thread || !has_own)
			return (uint32_t)at;
	}
	return WS_NONE;
}

enum ws_scope ws_scope_of(const struct ws_model *m, uint32_t step, uint8_t marks)
{
	const struct ws_model_step *s = step == WS_NONE ? NULL : &m->steps[step];

	if (s && !s->warm_up)
		return ws_step_is_left_out(s) ? WS_SCOPE_OUTSIDE : WS_SCOPE_STEPS;
	if (s || marks & WS_IN_WARM_UP)
		return WS_SCOPE_WARM_UP;
	return marks & WS_IN_SETUP ? WS_SCOPE_SETUP : WS_SCOPE_OUTSIDE;
}

/* --- label --- */

/* PyTorch calls its optimizers' steps Optimizer.step#Adam.step. */
#define PYTORCH_OPTIMIZER "Optimizer.step#"

bool ws_name_loads_data(struct ws_bytes name)
{
	static const char *const patterns[] = {"enumerate(DataLoader)#*",
	                                       "enumerate(DataPipe)#*", /* PyTorch */
	                                       "*dataloader_next",
	                                       "*dataloader_iter_next", /* Lightning */
	                                       "IteratorGetNext*",      /* TensorFlow */
	                                       "*DALI*Iterator*"};      /* NVIDIA's loader */

	return WS_NAME_IS_ONE_OF(name, patterns);
}

bool ws_name_is_optimizer_step(struct ws_bytes name)
{
	return ws_bytes_begin(name, PYTORCH_OPTIMIZER);
}

bool ws_name_marks_iteration(struct ws_bytes name)
{
	return ws_name_is_optimizer_step(name) || ws_name_loads_data(name) ||
	       ws_bytes_begin(name, "Optimizer.zero_grad#");
}

bool ws_op_is_backward(const struct ws_model *m, uint32_t op)
{
	return m->cpu_ops.forward[op] != WS_NONE ||
	       ws_bytes_begin(m->texts[m->cpu_ops.tree.name[op]],
	                      "autograd::engine::evaluate_function: ");
}

enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name)
{
	switch (name) {
	case WS_TEXT_FORWARD:
		return WS_PHASE_FORWARD;
	case WS_TEXT_LOSS:
		return WS_PHASE_LOSS;
	case WS_TEXT_BACKWARD:
		return WS_PHASE_BACKWARD;
	case WS_TEXT_OPTIMIZER:
		return WS_PHASE_OPTIMIZER;
	default:
		break;
	}
	if (ws_name_is_optimizer_step(m->texts[name]))
		return WS_PHASE_OPTIMIZER;
	/* Lightning's profiler: [pl][profile][Strategy]SingleDeviceStrategy.training_step */
	if (ws_name_matches(ws_bytes_of("[pl][profile]*training_step"), m->texts[name]))
		return WS_PHASE_FORWARD;
	if (ws_name_matches(ws_bytes_of("[pl][profile]*.backward"), m->texts[name]))
		return WS_PHASE_BACKWARD;
	return WS_PHASE_OTHER;
}

enum ws_phase ws_label_phase_in(const struct ws_model *m, enum ws_phase around, uint32_t name)
{
	const enum ws_phase own = around == WS_PHASE_OTHER || around == WS_PHASE_OPTIMIZER
	                                  ? ws_label_phase(m, name)
	                                  : WS_PHASE_OTHER;

	return own == WS_PHASE_OTHER ? around : own;
}

/* --- words of attention ------------------------------------------------------------------ */

/* Relevant words; each stands for several spellings. */
enum word {
	COMPUTING,
	SCALED,
	DOT,
	PRODUCT,
	ATTENTION,
	SCORES,
	QK,
	SOFTMAX,
	FINAL,
	MATMUL,
	NWORDS,
};

static const char *const spellings[NWORDS] = {
        [COMPUTING] = " computing compute computes calculate calculating ",
        [SCALED] = " scaled ",
        [DOT] = " dot ",
        [PRODUCT] = " product ",
        [ATTENTION] = " attention attn selfattention ",
        [SCORES] = " score scores ",
        [QK] = " qk qkt ",
        [SOFTMAX] = " softmax ",
        [FINAL] = " final value values pv av ",
        [MATMUL] = " matmul matmuls mm bmm gemm multiply multiplication ",
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads the next word of a name at *p, in lower case, between blanks, and advances *p. A capital
 * after a small letter begins a word. False at the end. */
static bool next_word(const char **p, const char *end, char out[32])
{
	size_t n = 0;

	while (*p < end && !is_letter(**p))
		++*p;
	if (*p == end)
		return false;
	out[n++] = ' ';
	for (const char *first = *p; *p < end && is_letter(**p); ++*p) {
		if (*p > first && (*p)[-1] >= 'a' && **p <= 'Z')
			break;
		if (n < 30)
			out[n++] = (char)(**p | 0x20);
	}
	out[n++] = ' ';
	out[n] = '\0';
	return true;
}

enum ws_attention_word ws_label_attention(struct ws_bytes name)
{
	const char *p = name.ptr, *end = p + name.len;
	bool has[NWORDS] = {false};
	unsigned words = 0;
	char word[32];

	/* a long text does not name a part */
	if (name.len > 64 || ws_name_has(name, "::"))
		return WS_WORD_NONE;
	for (; next_word(&p, end, word); words++)
		for (int i = 0; i < NWORDS; i++)
			has[i] |= strstr(spellings[i], word) != NULL;
	if (has[SOFTMAX] && (has[COMPUTING] || has[ATTENTION] || has[SCORES]))
		return WS_WORD_SOFTMAX;
	if (has[SOFTMAX])
		return words == 1 ? WS_WORD_MAYBE_SOFTMAX : WS_WORD_NONE;
	if (has[FINAL] && has[MATMUL])
		return WS_WORD_FINAL;
	if (has[QK] || (has[SCORES] && has[ATTENTION]))
		return WS_WORD_SCORES;
	if (has[SCORES] && (words == 1 || has[COMPUTING]))
		return WS_WORD_MAYBE_SCORES;
	if (has[SCALED] && has[DOT] && has[PRODUCT] && has[ATTENTION])
		return WS_WORD_ATTENTION;
	return WS_WORD_NONE;
}

uint8_t ws_label_marks(const struct ws_model *m, uint32_t name)
{
	if (name == WS_TEXT_SETUP)
		return WS_IN_SETUP;
	if (ws_name_is_warm_up(m->texts[name]))
		return WS_IN_WARM_UP;
	switch (ws_label_attention(m->texts[name])) {
	case WS_WORD_ATTENTION:
	case WS_WORD_SCORES:
	case WS_WORD_FINAL:
		return WS_IN_ATTENTION;
	case WS_WORD_SOFTMAX:
		return WS_IN_ATTENTION | WS_IN_SOFTMAX;
	default:
		return 0;
	}
}

/* The class of a range has precedence over operations in it: an elementwise operation in `computing
 * softmax` is softmax. Scale and mask keep their class everywhere. */
uint32_t ws_label_class(const struct ws_op_facts *op, uint8_t marks)
{
	if (op && (op->kind == WS_TEXT_SCALE || op->kind == WS_TEXT_MASK))
		return op->kind;
	if (marks & WS_IN_SOFTMAX)
		return WS_TEXT_SOFTMAX;
	return op ? op->kind : WS_TEXT_EMPTY;
}
