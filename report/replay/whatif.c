#include "report/replay/replay.h"

#include <strings.h>

#include "formats/base/options.h"
#include "report/base/names.h"
#include "report/base/ui.h"
#include "report/table/table.h"

#define MOST_FACTOR 1e6
#define ROOF_PERCENT                                                                             \
	60              /* an operation that attains less of its roof is bound by something else \
	                 */
#define MOST_UNKNOWN 50 /* percent of the time of kernels whose cost nobody knows */

/* --- a change as text ------------------------------------------------------------------------- */

/* X(NAME, "key", its sign, takes a factor, "an example of its value") */
#define SUBJECTS(X)                                      \
	X(CLASS, "class", '=', true, "gemm")             \
	X(KERNEL, "kernel", '~', true, "flash")          \
	X(RANGE, "range", '~', true, "attention")        \
	X(CAUSE, "cause", '=', true, "waiting for data") \
	X(DTYPE, "dtype", '=', false, "bf16")            \
	X(GPU, "gpu", '=', false, "H200")

enum subject {
#define X(NAME, key, sign, takes_factor, example) NAME,
	SUBJECTS(X)
#undef X
	        NSUBJECTS
};

static const struct {
	const char *key;
	char sign;
	bool takes_factor;
	const char *example;
} subjects[] = {SUBJECTS(WS_LIST_REST)};

struct change {
	enum subject subject;
	char value[256];
	double factor;
};

static const char *subject_at(const void *ctx, size_t i)
{
	(void)ctx;
	return i < NSUBJECTS ? subjects[i].key : NULL;
}

static const char *cause_at(const void *ctx, size_t i)
{
	(void)ctx;
	return i < WS_USES ? ws_use_defs[i].name : NULL;
}

static const char *dtype_at(const void *ctx, size_t i)
{
	(void)ctx;
	return i < WS_PEAK_MEMORY ? ws_peak_name((enum ws_peak)i) : NULL;
}

/* Its place among the names, -1: it is none of them. */
static int find_name(const char *name, const char *(*names)(const void *ctx, size_t i))
{
	const char *at;

	for (size_t i = 0; (at = names(NULL, i)); i++)
		if (!strcasecmp(at, name))
			return (int)i;
	return -1;
}

/* "waiting for data", or "data". */
static int find_cause(const char *name)
{
	char whole[300];
	const int cause = find_name(name, cause_at);

	snprintf(whole, sizeof(whole), "waiting for %s", name);
	return cause < 0 ? find_name(whole, cause_at) : cause;
}

/* "there are gemm, conv, softmax", of names(ctx, i). */
static const char *list_names(char text[1024], const char *begin,
                              const char *(*names)(const void *ctx, size_t i), const void *ctx)
{
	const char *at;

	snprintf(text, 1024, "%s", begin);
	for (size_t i = 0; (at = names(ctx, i)); i++)
		ws_say_add(text, 1024, "%s%s", i ? ", " : "", at);
	return text;
}

/* "x0.5" or "×0.5" at the end, behind a blank: cuts it off. false: there is none. */
static bool take_factor(char *value, double *factor)
{
	char *word = strrchr(value, ' '), *end;

	if (!word)
		return false;
	const char *digits = word[1] == 'x' || word[1] == 'X'       ? word + 2
	                     : !strncmp(word + 1, "×", strlen("×")) ? word + 1 + strlen("×")
	                                                            : NULL;
	if (!digits || !((*digits >= '0' && *digits <= '9') || *digits == '.'))
		return false;
	*factor = strtod(digits, &end);
	if (*end || !(*factor >= 0 && *factor <= MOST_FACTOR))
		return false;
	while (word > value && word[-1] == ' ')
		word--;
	*word = '\0';
	return true;
}

static enum ws_status parse(const char *text, struct change *out, struct ws_err *err)
{
	const size_t key = strcspn(text, "=~");
	char name[64], list[1024];

	snprintf(name, sizeof(name), "%.*s", (int)key, text);
	int subject = find_name(name, subject_at);
	if (subject < 0 || !text[key])
		return ws_opt_unknown_name(
		        "change", text[key] ? name : text, subject_at, NULL,
		        "a change is class=NAME x0.5, kernel~REGEX x0.5, range~REGEX x0.5, "
		        "cause=NAME x0, dtype=TYPE or gpu=NAME",
		        err);
	*out = (struct change){.subject = (enum subject)subject, .factor = 1};
	WS_FAIL_IF(text[key] != subjects[subject].sign, err, USAGE, "--whatif '%s': write %s%c%s",
	           text, subjects[subject].key, subjects[subject].sign, text + key + 1);
	WS_FAIL_IF(strlen(text + key + 1) >= sizeof(out->value), err, USAGE,
	           "--whatif '%.32s…' is over %zu letters long", text, sizeof(out->value));
	snprintf(out->value, sizeof(out->value), "%s", text + key + 1);
	if (subjects[subject].takes_factor)
		WS_FAIL_IF(!take_factor(out->value, &out->factor), err, USAGE,
		           "--whatif '%s' needs a factor of its time at the end, from 0 to %.0f, "
		           "as in '%s%c%s x0.5'",
		           text, MOST_FACTOR, subjects[subject].key, subjects[subject].sign,
		           subjects[subject].example);
	else
		WS_FAIL_IF(take_factor(out->value, &out->factor), err, USAGE,
		           "--whatif '%s': %s takes no factor, its peak rates tell the times", text,
		           subjects[subject].key);
	WS_FAIL_IF(!*out->value, err, USAGE,
	           "--whatif '%s' names nothing, write for example %s%c%s", text,
	           subjects[subject].key, subjects[subject].sign, subjects[subject].example);
	if (subject == CAUSE && find_cause(out->value) < 0)
		return ws_opt_unknown_name("cause", out->value, cause_at, NULL,
		                           list_names(list, "there are ", cause_at, NULL), err);
	if (subject == DTYPE && find_name(out->value, dtype_at) < 0)
		return ws_opt_unknown_name("dtype", out->value, dtype_at, NULL,
		                           list_names(list, "there are ", dtype_at, NULL), err);
	if (subject == KERNEL || subject == RANGE) {
		struct ws_expression *expression;

		WS_FORWARD(ws_expression_new(&expression, out->value, err));
		ws_expression_free(expression);
	}
	return WS_OK;
}

enum ws_status ws_whatif_check(const char *text, struct ws_err *err)
{
	struct change change;

	return parse(text, &change, err);
}

/* --- what it is about ------------------------------------------------------------------------- */

/* Factors of the times of a piece: at best, as expected, at worst. */
enum { LEAST, THEN, MOST, NTIMES };

/* Changes put together. */
struct asked {
	const struct ws_model *m;
	const struct ws_selection *sel;
	struct ws_replay *replay;
	const struct ws_replay_facts *facts;
	struct ws_arena *arena;
	double *dur_ns[NTIMES]; /* of each piece */
	double removed[WS_USES];
	bool is_interval;
	const struct ws_device_peaks *peaks; /* of another GPU; NULL: none is asked for */
	const char *dtype;                   /* another one; NULL */
	const char *reason;                  /* there is no answer; NULL */
	const char *note;
};

static const struct ws_joined_kernel *kernel_of(const struct asked *a, size_t piece)
{
	const struct ws_replay_piece *p = &a->facts->pieces[piece];

	return p->is_kernel ? ws_joined_rows_kernel(a->sel->rows, p->row) : NULL;
}

static void scale(struct asked *a, size_t piece, double factor)
{
	for (int t = 0; t < NTIMES; t++)
		a->dur_ns[t][piece] *= factor;
}

/* Names of the step's classes. */
struct names {
	const char **name;
	size_t n;
};

static const char *name_at(const void *ctx, size_t i)
{
	const struct names *names = ctx;

	return i < names->n ? names->name[i] : NULL;
}

static const char *class_name(const struct asked *a, uint32_t class)
{
	return class ? ws_arena_copy(a->arena, a->m->texts[class].ptr, a->m->texts[class].len)
	             : "(unclassified)";
}

static enum ws_status change_class(struct asked *a, const struct change *c, struct ws_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < a->facts->npieces; i++) {
		const struct ws_joined_kernel *k = kernel_of(a, i);

		if (!k || (strcmp(class_name(a, k->kind->class), c->value) != 0 &&
		           !ws_name_is(ws_display_class(a->m->texts[k->kind->class]), c->value)))
			continue;
		scale(a, i, c->factor);
		n++;
	}
	if (n)
		return WS_OK;
	struct names names = {0};
	char list[1024];

	uint8_t *has = ws_arena_array(a->arena, a->m->ntexts, sizeof(*has));
	WS_NEW(a->arena, names.name, a->m->ntexts);
	for (size_t i = 0; i < a->facts->npieces; i++) {
		const struct ws_joined_kernel *k = kernel_of(a, i);

		if (!k || has[k->kind->class])
			continue;
		has[k->kind->class] = 1;
		names.name[names.n++] = class_name(a, k->kind->class);
	}
	return ws_opt_unknown_name("class", c->value, name_at, &names,
	                           list_names(list, "the replayed step has ", name_at, &names),
	                           err);
}

/* Kernels whose name matches, or the path of whose range does: with those around it, so what is in
 * a range that matches does, too. */
static enum ws_status change_matching(struct asked *a, const struct change *c, struct ws_err *err)
{
	const bool by_range = c->subject == RANGE;
	struct ws_expression *expression;
	uint8_t *matches; /* by text or path: 1 yes, 2 no, 0 not looked at */
	size_t n = 0;

	WS_FORWARD(ws_expression_new(&expression, c->value, err));
	WS_NEW(a->arena, matches, by_range ? a->m->ranges.npaths : a->m->ntexts);
	for (size_t i = 0; i < a->facts->npieces; i++) {
		const struct ws_joined_kernel *k = kernel_of(a, i);
		const uint32_t at = !k         ? WS_NONE
		                    : by_range ? k->kind->path
		                               : a->m->configs[k->kind->config].name;
		const char *text;

		if (at == WS_NONE)
			continue;
		if (!matches[at]) {
			if (by_range) {
				char *path;
				size_t len;

				ws_path_text(&a->m->ranges, at, a->m->texts, &path, &len);
				text = ws_arena_copy(a->arena, path, len);
				free(path);
			} else {
				text = ws_arena_copy(a->arena, a->m->texts[at].ptr,
				                     a->m->texts[at].len);
			}
			ws_expression_reserve();
			matches[at] = ws_expression_matches(expression, text) ? 1 : 2;
		}
		if (matches[at] == 1) {
			scale(a, i, c->factor);
			n++;
		}
	}
	ws_expression_free(expression);
	WS_FAIL_IF(!n, err, USAGE,
	           "no kernel of the replayed step %s '%s'; warpsheet report TRACE --table %s "
	           "lists the %s",
	           by_range ? "lies in a range whose path matches" : "has a name that matches",
	           c->value, by_range ? "ranges" : "kernel-summary",
	           by_range ? "ranges" : "kernels");
	return WS_OK;
}

/* --- another GPU, another dtype --------------------------------------------------------------- */

/* Names of GPUs as people say them. */
static const char *gpu_at(const void *ctx, size_t i)
{
	static const char *const makers[] = {"*", "NVIDIA ", "AMD Instinct ", "GeForce ", "Tesla "};
	const struct ws_model *m = ctx;
	struct ws_device_peaks row;

	if (!ws_peaks_row(m->peaks, i, &row))
		return NULL;
	const char *name = row.pattern;
	for (size_t k = 0; k < sizeof(makers) / sizeof(*makers); k++)
		if (!strncmp(name, makers[k], strlen(makers[k])))
			name += strlen(makers[k]);
	return name;
}

static double bytes_of_dtype(struct ws_bytes dtype)
{
	static const struct {
		const char *name;
		double bytes;
	} all[] = {{"fp64", 8}, {"fp32", 4}, {"tf32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 1}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (ws_name_is(dtype, all[i].name))
			return all[i].bytes;
	return NAN;
}

/* Times of an operation at these rates, ns; NaN: not known. */
struct bound {
	double least_ns; /* computing and memory side by side */
	double both_ns;  /* one after the other: what is near neither is slowed by both */
};

static struct bound bound_of(const struct ws_roof *roof, const struct ws_cost_op *op,
                             double bytes_factor)
{
	const double compute_ns = op->flops > 0 && roof->flops_per_s > 0
	                                  ? 1e9 * (double)op->flops / roof->flops_per_s
	                                  : NAN;
	const double memory_ns =
	        op->bytes > 0 && roof->bytes_per_s > 0
	                ? 1e9 * bytes_factor * (double)op->bytes / roof->bytes_per_s
	                : NAN;

	if (isnan(compute_ns) && (isnan(memory_ns) || ws_class_is_product(op->class)))
		return (struct bound){NAN, NAN};
	return (struct bound){fmax(compute_ns, memory_ns),
	                      (isnan(compute_ns) ? 0 : compute_ns) +
	                              (isnan(memory_ns) ? 0 : memory_ns)};
}

/* Classes that mixed precision leaves in fp32, or that do not compute. */
static bool keeps_dtype(const struct ws_model *m, uint32_t class)
{
	static const char *const kept[] = {"optimizer", "softmax", "norm", "loss",
	                                   "comm",      "cast",    "rng"};

	return WS_NAME_IS_ONE_OF(m->texts[class], kept);
}

/* Factors of a piece's time. */
struct factors {
	double factor[NTIMES];
};

/* A kernel whose cost is not known goes by the rates of memory, at best and at worst by any rate.
 * Is that enough for an answer? */
static bool guess(const struct asked *a, const struct ws_device_peaks *own,
                  const struct ws_device_peaks *other, const struct ws_joined_kernel *k,
                  double width, struct factors *f)
{
	const bool is_product = ws_class_is_product(k->kind->class);

	*f = (struct factors){{1, 1, 1}};
	if (a->dtype && isnan(width)) /* of an unknown dtype: it may become half as wide */
		width = 0.5;
	if (a->dtype) {
		f->factor[LEAST] = fmin(width, 1);
		f->factor[MOST] = fmax(width, 1);
	}
	if (a->peaks) {
		double least = INFINITY, most = 0;

		for (int i = 0; i < WS_PEAK_COUNT; i++) {
			const double ratio = own->value[i] / other->value[i];

			if (!(own->value[i] > 0) || !(other->value[i] > 0))
				continue;
			least = fmin(least, ratio);
			most = fmax(most, ratio);
		}
		if (isinf(least))
			return false;
		f->factor[LEAST] *= least;
		f->factor[MOST] *= fmax(most, 1);
		f->factor[THEN] *=
		        own->value[WS_PEAK_MEMORY] > 0 && other->value[WS_PEAK_MEMORY] > 0
		                ? own->value[WS_PEAK_MEMORY] / other->value[WS_PEAK_MEMORY]
		                : 1;
	}
	/* in another dtype, what is no product takes between half its time and all of it */
	return !a->peaks && !is_product;
}

static bool factors_of(const struct asked *a, const struct ws_joined_kernel *k,
                       const struct ws_cost_op *op, struct factors *f)
{
	const uint32_t device = a->m->configs[k->kind->config].device;
	const struct ws_device_peaks *own = &a->m->devices[device].peaks;
	const struct ws_device_peaks *other = a->peaks ? a->peaks : own;
	const uint32_t text = op && op->dtype ? op->dtype : k->kind->dtype;
	const struct ws_bytes dtype = a->m->texts[text];
	const bool is_product = ws_class_is_product(k->kind->class);
	const bool changes = a->dtype && (is_product || !keeps_dtype(a->m, k->kind->class));
	const struct ws_bytes new_dtype = changes ? ws_bytes_of(a->dtype) : dtype;
	const double width = changes ? bytes_of_dtype(new_dtype) / bytes_of_dtype(dtype) : 1;
	struct ws_roof from, to;

	if (!op)
		return guess(a, own, other, k, width, f);
	ws_roof_of(own, op->class, dtype, op->tensor, &from);
	ws_roof_of(other, op->class, new_dtype, changes ? WS_TENSOR_YES : op->tensor, &to);
	struct bound now = bound_of(&from, op, 1);
	struct bound then = bound_of(&to, op, width);
	if (isnan(now.least_ns) || isnan(then.least_ns))
		return guess(a, own, other, k, width, f);
	double compute = from.flops_per_s > 0 && to.flops_per_s > 0
	                         ? from.flops_per_s / to.flops_per_s
	                         : NAN;
	double memory = from.bytes_per_s > 0 && to.bytes_per_s > 0
	                        ? width * from.bytes_per_s / to.bytes_per_s
	                        : NAN;
	f->factor[THEN] = then.both_ns / now.both_ns;
	f->factor[LEAST] = op->gpu_ns > 0
	                           ? fmin(f->factor[THEN], then.least_ns / (double)op->gpu_ns)
	                           : f->factor[THEN];
	f->factor[MOST] = fmax(f->factor[THEN], fmax(compute, memory));
	/* what is not bound by its roof may gain nothing by another one */
	if (100 * now.least_ns < ROOF_PERCENT * (double)op->gpu_ns)
		f->factor[MOST] = fmax(f->factor[MOST], 1);
	return true;
}

/* Kernels on another GPU, in another dtype, or both. */
static void change_roofs(struct asked *a)
{
	struct ws_cost_ops *costs = ws_cost_ops_find(a->m, a->sel);
	double known_ns = 0, unknown_ns = 0;

	a->is_interval = true;
	for (size_t i = 0; i < a->facts->npieces; i++) {
		const struct ws_joined_kernel *k = kernel_of(a, i);
		struct ws_cost_op found;
		struct factors f;

		if (!k || a->facts->pieces[i].use != WS_USE_COMPUTE)
			continue;
		if (!a->m->devices[a->facts->pieces[i].device].has_peaks) {
			a->reason =
			        "the peak rates of the GPU that ran it are not known: --peaks FILE "
			        "adds them";
			return;
		}
		/* Does another dtype leave it as it is? */
		if (!a->peaks && a->dtype &&
		    (ws_name_is(a->m->texts[k->kind->dtype], a->dtype) ||
		     (!ws_class_is_product(k->kind->class) && keeps_dtype(a->m, k->kind->class)))) {
			known_ns += (double)k->dur_ns;
			continue;
		}
		uint32_t op = ws_cost_ops_of_kernel(costs, k);
		if (op != WS_NONE)
			found = ws_cost_ops_at(costs, op);
		if (factors_of(a, k, op == WS_NONE ? NULL : &found, &f))
			known_ns += (double)k->dur_ns;
		else
			unknown_ns += (double)k->dur_ns;
		for (int t = 0; t < NTIMES; t++)
			a->dur_ns[t][i] *= f.factor[t];
	}
	if (!(known_ns + unknown_ns > 0))
		a->reason = "no kernel that computes ran in the step";
	else if (100 * unknown_ns > MOST_UNKNOWN * (known_ns + unknown_ns))
		a->reason =
		        ws_arena_format(a->arena,
		                        "the cost of the kernels that take %s of the time is "
		                        "not known: record shapes, or annotate operations",
		                        ws_say_percent(a->arena,
		                                       100 * unknown_ns / (known_ns + unknown_ns)));
	else if (unknown_ns > 0)
		a->note =
		        ws_arena_format(a->arena,
		                        "kernels of unknown cost take %s of the time, and go by "
		                        "memory bandwidth",
		                        ws_say_percent(a->arena,
		                                       100 * unknown_ns / (known_ns + unknown_ns)));
}

/* --- answers ---------------------------------------------------------------------------------- */

static enum ws_status apply(struct asked *a, const struct change *c, struct ws_err *err)
{
	const enum ws_use use =
	        c->subject == CAUSE ? (enum ws_use)find_cause(c->value) : WS_USE_UNKNOWN;
	struct ws_device_peaks *peaks;
	bool found;

	switch (c->subject) {
	case CLASS:
		return change_class(a, c, err);
	case KERNEL:
	case RANGE:
		return change_matching(a, c, err);
	case CAUSE:
		if (use == WS_USE_UNKNOWN)
			a->reason = "nothing recorded says what the device waited for";
		else if (use == WS_USE_PAGING)
			a->reason = "the trace does not have which kernels waited for pages";
		else if (use == WS_USE_SHARED)
			a->reason = "no change of this program keeps another from the GPU";
		else if (use == WS_USE_RECORDING)
			a->reason = "how the program runs without the recorder is measured by "
			            "record --calibrate, not replayed";
		else if (use > WS_USE_COPY)
			a->removed[use] = 1 - c->factor * (1 - a->removed[use]);
		else
			for (size_t i = 0; i < a->facts->npieces; i++)
				if (a->facts->pieces[i].use == use)
					scale(a, i, c->factor);
		return WS_OK;
	case GPU:
		/* The row of a GPU that people call so: by its whole name, else the first whose
		 * name has the word. */
		WS_NEW(a->arena, peaks, 1);
		found = ws_peaks_find(a->m->peaks, c->value, strlen(c->value), peaks);
		for (size_t i = 0; !found && ws_peaks_row(a->m->peaks, i, peaks); i++)
			found = strcasestr(peaks->pattern, c->value);
		if (!found)
			return ws_opt_unknown_name("GPU", c->value, gpu_at, a->m,
			                           "docs/reference/devices.md lists those whose "
			                           "peak rates are known; --peaks FILE adds others",
			                           err);
		if (a->peaks)
			a->reason = "a step runs on one GPU at a time";
		a->peaks = peaks;
		return WS_OK;
	case DTYPE:
		if (a->dtype)
			a->reason = "a product has one dtype at a time";
		a->dtype = dtype_at(NULL, (size_t)find_name(c->value, dtype_at));
		return WS_OK;
	case NSUBJECTS:
		break;
	}
	return WS_OK;
}

static double play(const struct asked *a, int times)
{
	struct ws_whatif change = {.dur_ns = a->dur_ns[times]};

	memcpy(change.removed, a->removed, sizeof(change.removed));
	return ws_replay_step_ns(a->replay, &change);
}

/* Of n changes at once. */
static enum ws_status answer(struct asked all, const char *const *text, size_t n,
                             struct ws_whatif_answer *out, struct ws_err *err)
{
	struct asked *a = &all;
	struct change change;

	*out = (struct ws_whatif_answer){"", a->facts->recorded_ns, NAN, NAN, NAN, ""};
	for (int t = 0; t < NTIMES; t++) {
		WS_NEW(a->arena, a->dur_ns[t], a->facts->npieces);
		for (size_t i = 0; i < a->facts->npieces; i++)
			a->dur_ns[t][i] = (double)a->facts->pieces[i].dur_ns;
	}
	if (a->facts->obstacle)
		a->reason = ws_arena_format(a->arena, "the step cannot be replayed: %s",
		                            a->facts->obstacle);
	for (size_t i = 0; i < n; i++) {
		WS_FORWARD(parse(text[i], &change, err));
		if (!a->facts->obstacle)
			WS_FORWARD(apply(a, &change, err));
		out->change =
		        ws_arena_format(a->arena, "%s%s%s", out->change, i ? " and " : "", text[i]);
		/* "gpu=H200 (NVIDIA H200)" */
		if (change.subject == GPU && a->peaks)
			out->change =
			        ws_arena_format(a->arena, "%s (%s)", out->change,
			                        a->peaks->pattern + (*a->peaks->pattern == '*'));
	}
	if (!a->reason && (a->peaks || a->dtype))
		change_roofs(a);
	if (a->reason) {
		out->reason = ws_arena_format(a->arena, "cannot tell: %s", a->reason);
		return WS_OK;
	}
	out->then_ns = play(a, THEN);
	if (a->is_interval) {
		out->least_ns = play(a, LEAST);
		out->most_ns = play(a, MOST);
	}
	out->reason = a->note ? a->note : "";
	return WS_OK;
}

static const char key;

enum ws_status ws_whatif_answer(const struct ws_model *m, const struct ws_selection *sel,
                                struct ws_err *err)
{
	struct asked a = {.m = m, .sel = sel, .arena = &sel->kept->arena};
	const size_t n = sel->nwhatif;

	if (!n)
		return WS_OK;
	a.replay = ws_replay_of(m, sel);
	a.facts = ws_replay_facts(a.replay);
	struct ws_whatif_answers *out = ws_arena_array(a.arena, 1, sizeof(*out));
	*out = (struct ws_whatif_answers){.checked = a.facts->checked,
	                                  .passed = a.facts->passed,
	                                  .has_steps = a.facts->step != WS_NONE};
	WS_NEW(a.arena, out->answer, n + 1);
	if (n > 1)
		WS_FORWARD(answer(a, sel->whatif, n, &out->answer[out->n++], err));
	for (size_t i = 0; i < n; i++)
		WS_FORWARD(answer(a, &sel->whatif[i], 1, &out->answer[out->n++], err));
	ws_keep_result(sel, &key, out, NULL);
	return WS_OK;
}

const struct ws_whatif_answers *ws_whatif_answers(const struct ws_selection *sel)
{
	return ws_kept_result(sel, &key);
}
