#include "report/diff/private.h"

#include <ctype.h>

void ws_side_release(struct ws_side *s)
{
	for (size_t i = 0; i < s->nrecordings; i++)
		ws_recording_release(&s->recordings[i]);
	free(s->recordings);
	free(s->steps);
	free(s->samples);
	free(s->slots);
	*s = (struct ws_side){0};
}

struct ws_recording *ws_side_recording(const struct ws_side *s, size_t sample)
{
	size_t r = 0;

	while (sample >= s->steps[r])
		sample -= s->steps[r++];
	return &s->recordings[r];
}

/* --- slots ------------------------------------------------------------------------------- */

static uint32_t add_slot(struct ws_side *s, const struct ws_work_call *call)
{
	WS_GROW(s->slots, s->nslots + 1, s->slots_capacity);
	s->slots[s->nslots] = (struct ws_work_ref){call->item, call->instance};
	s->slots_ns += call->gpu_ns;
	return (uint32_t)s->nslots++;
}

static int by_step(const void *pa, const void *pb, void *arg)
{
	struct ws_sample *const *samples = arg;
	const size_t a = *(const size_t *)pa, b = *(const size_t *)pb;

	WS_ORDER_BY(samples[a]->step_ns, samples[b]->step_ns);
	return (a > b) - (a < b);
}

static size_t median_sample(const struct ws_side *s, size_t *order, size_t n)
{
	ws_sort_by(order, n, sizeof(*order), by_step, s->samples);
	return order[(n - 1) / 2];
}

void ws_side_merge(struct ws_side *s, const struct ws_names *names)
{
	struct ws_work_ref *calls = NULL; /* calls of a sample */
	size_t capacity = 0;
	struct ws_texts extra = {0}; /* work with slots after those of the first sample, in order */
	size_t n = 0;

	s->steps = ws_xarray(s->nrecordings + 1, sizeof(*s->steps));
	for (size_t r = 0; r < s->nrecordings; r++)
		s->nsamples += s->recordings[r].nsamples;
	s->samples = ws_xarray(s->nsamples + 1, sizeof(*s->samples));
	for (size_t r = 0; r < s->nrecordings; r++) {
		s->steps[r] = s->recordings[r].nsamples;
		for (size_t i = 0; i < s->steps[r]; i++)
			s->samples[n++] = &s->recordings[r].samples[i];
	}
	for (size_t i = 0; i < n; i++)
		s->gpu_ns += s->samples[i]->gpu_ns;
	size_t *order = ws_xarray(s->nsamples + 1, sizeof(*order)), nmedians = 0, at = 0;
	size_t *medians = ws_xarray(s->nrecordings + 1, sizeof(*medians));

	for (size_t r = 0; r < s->nrecordings; at += s->steps[r++]) {
		for (size_t i = 0; i < s->steps[r]; i++)
			order[i] = at + i;
		if (s->steps[r])
			medians[nmedians++] = median_sample(s, order, s->steps[r]);
	}
	s->shown = nmedians ? median_sample(s, medians, nmedians) : s->nsamples;
	for (at = 0; s->shown_recording + 1 < s->nrecordings &&
	             s->shown >= at + s->steps[s->shown_recording];)
		at += s->steps[s->shown_recording++];
	free(order);
	free(medians);
	if (s->nsamples) {
		struct ws_recording *r = ws_side_recording(s, 0);
		struct ws_sample *first = s->samples[0];

		WS_GROW(s->slots, first->ncalls, s->slots_capacity);
		first->calls_are_slots = true;
		for (size_t i = 0; i < first->ncalls; i++)
			add_slot(s, ws_recording_call(r, first->first_call + i));
	}
	for (size_t i = 1; i < s->nsamples; i++) {
		/* Assigns slots to the calls of a further sample. */
		struct ws_recording *r = ws_side_recording(s, i);
		struct ws_sample *of = s->samples[i];
		const struct ws_work_list of_first = {s->slots, s->samples[0]->ncalls,
		                                      s->samples[0]->gpu_ns};
		struct ws_work_list list = {.n = of->ncalls, .gpu_ns = of->gpu_ns};
		struct ws_match match;

		WS_GROW(calls, list.n, capacity);
		list.call = calls;
		for (size_t k = 0; k < list.n; k++) {
			const struct ws_work_call *call = ws_recording_call(r, of->first_call + k);

			calls[k] = (struct ws_work_ref){call->item, call->instance};
		}
		/* is its work that of the first sample, in the same order? */
		of->calls_are_slots = of_first.n == list.n;
		for (size_t k = 0; k < list.n && of->calls_are_slots; k++) {
			const struct ws_work_ref *x = &s->slots[k], *y = &list.call[k];
			const struct ws_work_item *a = ws_names_item(names, x->item),
			                          *b = ws_names_item(names, y->item);

			of->calls_are_slots =
			        x->instance == y->instance &&
			        (a == b || (a->place == b->place && a->kind == b->kind &&
			                    a->shape == b->shape && a->phase == b->phase));
		}
		if (of->calls_are_slots)
			continue;

		/* The slots of the calls; WS_NONE: the first sample has no such work. */
		ws_match_find(&match, names, &of_first, &list, false);
		uint32_t *slot_of_group = ws_xarray(match.ngroups + 1, sizeof(*slot_of_group));
		for (uint32_t k = (uint32_t)of_first.n; k-- > 0;)
			if (match.group[0][k] != WS_NONE)
				slot_of_group[match.group[0][k]] = k;
		for (size_t k = 0; k < list.n; k++) {
			struct ws_work_call *call = ws_recording_call(r, of->first_call + k);
			const uint32_t group = match.group[1][k];

			call->slot = group == WS_NONE ? WS_NONE : slot_of_group[group];
			if (call->slot == WS_NONE) {
				/* Slot for work that the first sample lacks: after all others, and
				 * the same for equal work. */
				const struct ws_work_item *item = ws_names_item(names, call->item);
				const uint32_t what[] = {item->place, item->op,    item->kind,
				                         item->shape, item->class, item->phase};
				const size_t slot =
				        s->samples[0]->ncalls - 1 +
				        ws_texts_add(&extra, (struct ws_bytes){what, sizeof(what)});
				call->slot = slot < s->nslots ? (uint32_t)slot : add_slot(s, call);
			}
		}
		free(slot_of_group);
		ws_match_release(&match);
	}
	free(calls);
	ws_texts_release(&extra);
}

/* --- names ------------------------------------------------------------------------------- */

uint32_t ws_side_fact(const struct ws_side *s, const struct ws_names *names, const char *key)
{
	uint32_t value = ws_recording_fact(&s->recordings[0], names, key);

	for (size_t r = 1; r < s->nrecordings; r++)
		if (ws_recording_fact(&s->recordings[r], names, key) != value)
			return 0;
	return value;
}

/* Facts that users choose, in their order in names. */
static const struct {
	const char *key, *word; /* word: precedes the value if the value alone is ambiguous */
} naming[] = {
        {"workload.model", ""},
        {"workload.dtype", ""},
        {"workload.context", "context "},
        {"workload.batch", "batch "},
        {"workload.phase", ""},
        {"workload.layers", "layers "},
        {"workload.fusion", "fusion "},
        {"workload.optimizer", ""},
        {"workload.layout", ""},
        {"workload.activation", ""},
        {"workload.kernel_width", "kernel width "},
        {"workload.depth_multiplier", "depth "},
        {"workload.loss_scale", "loss scale "},
        {"device", ""},
        {"gpu.driver_version", "driver "},
        {"torch.version", "PyTorch "},
};
#define NNAMING      (sizeof(naming) / sizeof(*naming))
#define NAME_OF_MOST 3 /* maximum number of facts; with more, file names are used */

static void append(char name[96], struct ws_bytes text)
{
	const unsigned char *p = text.ptr;
	size_t n = strlen(name);

	for (size_t i = 0; i < text.len && n + 1 < 96; i++)
		name[n++] = isprint(p[i]) ? (char)p[i] : '?';
	name[n] = '\0';
}

static void append_str(char name[96], const char *text)
{
	append(name, (struct ws_bytes){text, strlen(text)});
}

void ws_sides_name(struct ws_side side[2], const struct ws_names *names)
{
	size_t differ = 0;

	for (size_t i = 0; i < NNAMING; i++) {
		uint32_t value[2];

		for (int s = 0; s < 2; s++)
			value[s] = ws_side_fact(&side[s], names, naming[i].key);
		if (value[0] == value[1] || !value[0] || !value[1])
			continue;
		differ++;
		for (int s = 0; s < 2; s++) {
			append_str(side[s].name, *side[s].name ? ", " : "");
			append_str(side[s].name, naming[i].word);
			append(side[s].name, ws_texts_get(&names->texts, value[s]));
		}
	}
	if (differ && differ <= NAME_OF_MOST && strcmp(side[0].name, side[1].name) != 0)
		return;
	for (int s = 0; s < 2; s++) {
		*side[s].name = '\0';
		append(side[s].name,
		       ws_name_of_file(ws_texts_get(&names->texts, side[s].recordings[0].name)));
		if (side[s].nrecordings > 1)
			append_str(side[s].name, " and others");
	}
	if (!strcmp(side[0].name, side[1].name))
		for (int s = 0; s < 2; s++)
			append_str(side[s].name, s ? " (B)" : " (A)");
}
