#include "report/diff/side.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/grow.h"
#include "report/base/names.h"

void ws_side_release(struct ws_side *s)
{
	for (size_t i = 0; i < s->nrecordings; i++)
		ws_recording_release(&s->recordings[i]);
	free(s->recordings);
	free(s->steps);
	free(s->samples);
	free(s->slots);
	free(s->slot_ns);
	*s = (struct ws_side){0};
}

const struct ws_recording *ws_side_recording(const struct ws_side *s, size_t sample)
{
	size_t r = 0;

	while (sample >= s->steps[r])
		sample -= s->steps[r++];
	return &s->recordings[r];
}

/* --- slots ------------------------------------------------------------------------------- */

static struct ws_work_list work_of(const struct ws_side *s, size_t sample)
{
	return (struct ws_work_list){ws_side_recording(s, sample)->items +
	                                     s->samples[sample]->first_item,
	                             s->samples[sample]->nitems};
}

static bool same_work(const struct ws_work_list *a, const struct ws_work_list *b)
{
	if (a->n != b->n)
		return 0;
	for (size_t i = 0; i < a->n; i++)
		if (a->item[i].place != b->item[i].place ||
		    a->item[i].instance != b->item[i].instance ||
		    a->item[i].kind != b->item[i].kind || a->item[i].shape != b->item[i].shape ||
		    a->item[i].phase != b->item[i].phase)
			return 0;
	return 1;
}

static enum ws_status add_slot(struct ws_side *s, size_t *capacity, const struct ws_work_item *item,
                               uint32_t *slot, struct ws_err *err)
{
	WS_FORWARD(WS_GROW(s->slots, s->nslots + 1, *capacity, err));
	*slot = (uint32_t)s->nslots;
	s->slots[s->nslots++] = (struct ws_side_item){.item = *item};
	return WS_OK;
}

/* Work that the first sample lacks: a slot behind, the same for the same thing. */
static enum ws_status extra_slot(struct ws_side *s, size_t first_extra, size_t *capacity,
                                 const struct ws_work_item *item, uint32_t *slot,
                                 struct ws_err *err)
{
	for (size_t i = first_extra; i < s->nslots; i++) {
		const struct ws_work_item *known = &s->slots[i].item;

		if (known->place == item->place && known->op == item->op &&
		    known->kind == item->kind && known->shape == item->shape &&
		    known->class == item->class && known->phase == item->phase) {
			*slot = (uint32_t)i;
			return WS_OK;
		}
	}
	return add_slot(s, capacity, item, slot, err);
}

/* slot_of[item] for the items of a sample. */
static enum ws_status place_sample(struct ws_side *s, const struct ws_work_list *first,
                                   const struct ws_work_list *list, size_t *capacity,
                                   uint32_t *slot_of, struct ws_err *err)
{
	struct ws_match match;
	uint32_t *slot_of_group = NULL;
	enum ws_status status;

	if (same_work(first, list)) {
		for (uint32_t i = 0; i < list->n; i++)
			slot_of[i] = i;
		return WS_OK;
	}
	status = ws_match_find(&match, first, list, 0, err);
	if (status == WS_OK && !(slot_of_group = calloc(match.ngroups + 1, sizeof(uint32_t))))
		status = WS_FAIL_MEMORY(err, "comparing the traces");
	for (uint32_t i = (uint32_t)first->n; status == WS_OK && i-- > 0;)
		if (match.group[0][i] != WS_NONE)
			slot_of_group[match.group[0][i]] = i;
	for (size_t i = 0; i < list->n && status == WS_OK; i++) {
		if (match.group[1][i] != WS_NONE)
			slot_of[i] = slot_of_group[match.group[1][i]];
		else
			status =
			        extra_slot(s, first->n, capacity, &list->item[i], &slot_of[i], err);
	}
	free(slot_of_group);
	ws_match_release(&match);
	return status;
}

static enum ws_status list_samples(struct ws_side *s, struct ws_err *err)
{
	size_t n = 0;

	s->steps = calloc(s->nrecordings + 1, sizeof(*s->steps));
	for (size_t r = 0; r < s->nrecordings; r++)
		s->nsamples += s->recordings[r].nsamples;
	s->samples = calloc(s->nsamples + 1, sizeof(*s->samples));
	if (!s->steps || !s->samples)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	for (size_t r = 0; r < s->nrecordings; r++) {
		s->steps[r] = s->recordings[r].nsamples;
		for (size_t i = 0; i < s->steps[r]; i++)
			s->samples[n++] = &s->recordings[r].samples[i];
	}
	for (size_t i = 0; i < n; i++)
		s->gpu_ns += s->samples[i]->gpu_ns;
	return WS_OK;
}

static enum ws_status add_times(struct ws_side *s, uint32_t *const *slot_of, struct ws_err *err)
{
	s->slot_ns = calloc(s->nslots * s->nsamples + 1, sizeof(*s->slot_ns));
	if (!s->slot_ns)
		return WS_FAIL_MEMORY(err, "comparing the traces");
	for (size_t sample = 0; sample < s->nsamples; sample++) {
		struct ws_work_list list = work_of(s, sample);

		for (size_t i = 0; i < list.n; i++) {
			struct ws_side_item *slot = &s->slots[slot_of[sample][i]];

			slot->instances++;
			slot->kernels += list.item[i].nkernels;
			s->slot_ns[slot_of[sample][i] * s->nsamples + sample] +=
			        list.item[i].gpu_ns;
		}
	}
	return WS_OK;
}

enum ws_status ws_side_merge(struct ws_side *s, struct ws_err *err)
{
	uint32_t **slot_of = NULL, slot;
	size_t capacity = 0;
	struct ws_work_list first;
	enum ws_status status = list_samples(s, err);

	if (status == WS_OK && !(slot_of = calloc(s->nsamples + 1, sizeof(*slot_of))))
		status = WS_FAIL_MEMORY(err, "comparing the traces");
	if (status == WS_OK && s->nsamples)
		first = work_of(s, 0);
	for (size_t i = 0; status == WS_OK && s->nsamples && i < first.n; i++)
		status = add_slot(s, &capacity, &first.item[i], &slot, err);
	for (size_t i = 0; i < s->nsamples && status == WS_OK; i++) {
		struct ws_work_list list = work_of(s, i);

		slot_of[i] = calloc(list.n + 1, sizeof(**slot_of));
		status = slot_of[i] ? place_sample(s, &first, &list, &capacity, slot_of[i], err)
		                    : WS_FAIL_MEMORY(err, "comparing the traces");
	}
	WS_THEN(status, add_times(s, slot_of, err));
	for (size_t i = 0; slot_of && i < s->nsamples; i++)
		free(slot_of[i]);
	free(slot_of);
	return status;
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

/* What people choose, in the order in which a name tells of it. */
static const struct {
	const char *key, *word; /* word: said before the value, which alone says little */
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
#define NAME_OF_MOST 3 /* facts; of more the files' names say it better */

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

static struct ws_bytes file_name(struct ws_bytes path)
{
	const char *p = path.ptr, *slash = memrchr(p, '/', path.len);
	static const char *const endings[] = {".gz", ".json", ".pt.trace", ".sqlite", ".wtrace"};
	size_t len;

	p = slash ? slash + 1 : p;
	len = path.len - (size_t)(p - (const char *)path.ptr);
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && !memcmp(p + len - n, endings[i], n))
			len -= n;
	}
	return (struct ws_bytes){p, len};
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
		       file_name(ws_texts_get(&names->texts, side[s].recordings[0].name)));
		if (side[s].nrecordings > 1)
			append_str(side[s].name, " and others");
	}
	if (!strcmp(side[0].name, side[1].name))
		for (int s = 0; s < 2; s++)
			append_str(side[s].name, s ? " (B)" : " (A)");
}
