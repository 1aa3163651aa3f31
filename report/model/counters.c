/* Counters of a program: what it said of them, and their samples. */

#include "report/model/load.h"

struct counters {
	struct ws_loader *l;
	struct ws_strtab unnamed; /* name and device of rows without a series */
	struct ws_idmap place_of; /* series id, or 2^63 and the id in `unnamed` -> its place */
	size_t capacity;
};

static struct ws_counter *add_counter(struct counters *c)
{
	struct ws_model *m = c->l->m;

	WS_GROW(m->counters, m->ncounters + 1, c->capacity);
	m->counters[m->ncounters] =
	        (struct ws_counter){.scale = 1, .lower_limit = NAN, .upper_limit = NAN};
	return &m->counters[m->ncounters++];
}

static void on_series(void *ctx, const void *row)
{
	const struct ws_row_counter_series *r = row;
	struct counters *c = ctx;
	struct ws_model *m = c->l->m;
	struct ws_counter *counter = add_counter(c);

	ws_idmap_put(&c->place_of, r->id, (uint32_t)(counter - m->counters));
	counter->domain = ws_model_text(m, r->domain);
	counter->group = ws_model_text(m, r->group);
	counter->name = ws_model_text(m, r->name);
	counter->description = ws_model_text(m, r->description);
	counter->scope = ws_model_text(m, r->scope);
	counter->unit = ws_model_text(m, r->unit);
	counter->change = (uint8_t)(r->change <= WS_CHANGE_SINCE_START ? r->change : 0);
	if (r->unit_numerator && r->unit_denominator)
		counter->scale = (double)r->unit_numerator / (double)r->unit_denominator;
	if (r->limits & 1)
		counter->lower_limit = r->minimum * counter->scale;
	if (r->limits & 2)
		counter->upper_limit = r->maximum * counter->scale;
}

/* The counter of a row that names no series, by its name and device. */
static uint32_t unnamed(struct counters *c, const struct ws_row_counter *r)
{
	const uint64_t key[2] = {r->name, r->device};
	const uint64_t id = ws_strtab_add(&c->unnamed, key, sizeof(key)) | UINT64_C(1) << 63;
	struct ws_model *m = c->l->m;
	char device[40];

	if (ws_idmap_get(&c->place_of, id) == WS_NONE) {
		struct ws_counter *counter = add_counter(c);

		snprintf(device, sizeof(device), "device %llu", (unsigned long long)r->device);
		counter->name = ws_model_text(m, r->name);
		counter->group = ws_intern_text(m, ws_bytes_of(device));
		ws_idmap_put(&c->place_of, id, (uint32_t)(counter - m->counters));
	}
	return ws_idmap_get(&c->place_of, id);
}

static void on_sample(void *ctx, const void *row)
{
	const struct ws_row_counter *r = row;
	struct counters *c = ctx;
	struct ws_model *m = c->l->m;
	const uint32_t of = r->series ? ws_idmap_get(&c->place_of, r->series) : unnamed(c, r);
	struct ws_counter_sample *s = &m->counter_samples[m->ncounter_samples];

	if (of == WS_NONE)
		return;
	*s = (struct ws_counter_sample){
	        .time_ns = r->time_ns,
	        .value = r->form == WS_COUNTER_WHOLE  ? (double)r->value
	                 : r->form == WS_COUNTER_REAL ? r->real
	                                              : NAN,
	        .counter = of,
	        .thread = r->thread ? ws_thread_number(c->l, r->thread, 0) : WS_NONE,
	        .form = (uint32_t)r->form,
	};
	s->value *= m->counters[of].scale;
	m->ncounter_samples++;
}

static int by_counter_and_time(const void *pa, const void *pb)
{
	const struct ws_counter_sample *a = pa, *b = pb;

	WS_ORDER_BY(a->counter, b->counter);
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

enum ws_status ws_load_counters(struct ws_loader *l, struct ws_err *err)
{
	struct ws_model *m = l->m;
	struct counters c = {.l = l};

	WS_NEW(&m->arena, m->counter_samples, ws_trace_reader_count(l->r, WS_KIND_COUNTER));
	enum ws_status status = ws_load_each(l, WS_KIND_COUNTER_SERIES, on_series, &c, err);
	WS_THEN(status, ws_load_each(l, WS_KIND_COUNTER, on_sample, &c, err));
	ws_strtab_free(&c.unnamed);
	ws_idmap_free(&c.place_of);
	ws_sort(m->counter_samples, m->ncounter_samples, sizeof(*m->counter_samples),
	        by_counter_and_time);
	for (size_t i = 0; i < m->ncounter_samples && status == WS_OK; i++) {
		struct ws_counter_sample *s = &m->counter_samples[i];
		struct ws_counter *of = &m->counters[s->counter];

		if (s->form == WS_COUNTER_UNCHANGED && of->n)
			s->value = s[-1].value;
		of->samples = of->n++ ? of->samples : s;
		status = ws_check_time(s->time_ns, 0, "sample of a counter", i, err);
		ws_extend_time(m, s->time_ns, s->time_ns);
	}
	return status;
}
