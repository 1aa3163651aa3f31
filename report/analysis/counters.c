#include "report/analysis/counters.h"

#include "report/analysis/digest.h"

#define ROWS_OF_COUNTER 200 /* of the relation counter_time */

/* --- counter: a counter of the program -------------------------------------------------------- */

struct ws_counter_sums {
	uint64_t known, out_of_limits; /* samples with a value, and those beyond a limit */
	uint64_t in_steps;             /* samples in measured steps */
	double sum, smallest, greatest, last;
	double step; /* change per measured step; NaN: unknown */
};

static void put_name(struct ws_put *out, const struct ws_model *m, uint32_t text)
{
	if (text)
		ws_put_text(out, m->texts[text]);
}

/* The value at a time: that of the last sample until then; NaN: there is none. */
static double value_at(const struct ws_counter *c, int64_t time_ns)
{
	size_t n;

	WS_COUNT_FIRST(n, c->n, c->samples[n].time_ns <= time_ns);
	while (n && isnan(c->samples[n - 1].value))
		n--;
	return n ? c->samples[n - 1].value : c->change == WS_CHANGE_SINCE_START ? 0 : NAN;
}

/* Samples in measured steps of its process, each once, and how the counter changes per step: a
 * value between the begin of the first and the end of the last one, or the sum of the differences
 * in them. */
static void add_steps(const struct ws_table_context *tab, const struct ws_counter *c,
                      struct ws_counter_sums *sums)
{
	const struct ws_model *m = tab->m;
	const uint32_t thread = c->n ? c->samples->thread : WS_NONE;
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
	uint64_t steps = 0;
	double deltas = 0;
	size_t next = 0;

	for (uint32_t s = 0; s < m->nsteps; s++) {
		const struct ws_model_step *step = &m->steps[s];
		size_t i;

		if (!ws_step_selected(m, tab->sel, s) ||
		    (thread != WS_NONE &&
		     m->threads[thread].process != m->threads[step->thread].process))
			continue;
		steps++;
		begin_ns = step->start_ns < begin_ns ? step->start_ns : begin_ns;
		end_ns = step->start_ns + step->total_ns > end_ns ? step->start_ns + step->total_ns
		                                                  : end_ns;
		WS_COUNT_FIRST(i, c->n, c->samples[i].time_ns < step->start_ns);
		for (next = i > next ? i : next;
		     next < c->n && c->samples[next].time_ns <= step->start_ns + step->total_ns;
		     next++) {
			sums->in_steps++;
			deltas += isnan(c->samples[next].value) ? 0 : c->samples[next].value;
		}
	}
	if (!steps)
		return;
	if (c->change != WS_CHANGE_DELTA)
		deltas = value_at(c, end_ns) - value_at(c, begin_ns - 1);
	sums->step = deltas / (double)steps;
}

static size_t count_counters(void *ctx)
{
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;

	if (r->counters)
		return m->ncounters;
	WS_NEW(&r->arena, r->counters, m->ncounters + 1);
	for (size_t i = 0; i < m->ncounters; i++) {
		const struct ws_counter *c = &m->counters[i];
		struct ws_counter_sums *sums = &r->counters[i];

		*sums = (struct ws_counter_sums){.smallest = INFINITY,
		                                 .greatest = -INFINITY,
		                                 .last = NAN,
		                                 .step = NAN};
		for (size_t k = 0; k < c->n; k++) {
			const double value = c->samples[k].value;

			if (isnan(value))
				continue;
			sums->known++;
			sums->sum += value;
			sums->smallest = fmin(sums->smallest, value);
			sums->greatest = fmax(sums->greatest, value);
			sums->last = value;
			sums->out_of_limits += value < c->lower_limit || value > c->upper_limit;
		}
		add_steps(r->tab, c, sums);
	}
	return m->ncounters;
}

#define COUNTER(X)                                                                   \
	X(name, put_name(out, m, c->name))                                           \
	X(of_group, put_name(out, m, c->group))                                      \
	X(domain, put_name(out, m, c->domain))                                       \
	X(unit, put_name(out, m, c->unit))                                           \
	X(change, if (c->change) ws_put_text(out, ws_enum_name(changes, c->change))) \
	X(samples, ws_put_count(out, c->n))                                          \
	X(unavailable, ws_put_count(out, c->n - sums->known))                        \
	X(minimum, ws_put_real(out, sums->smallest))                                 \
	X(mean, if (sums->known) ws_put_real(out, sums->sum / (double)sums->known))  \
	X(maximum, ws_put_real(out, sums->greatest))                                 \
	X(last, ws_put_real(out, sums->last))                                        \
	X(step_change, ws_put_real(out, sums->step))                                 \
	X(in_steps, if (r->tab->sel->measured) ws_put_count(out, sums->in_steps))    \
	X(least, ws_put_real(out, c->lower_limit))                                   \
	X(most, ws_put_real(out, c->upper_limit))                                    \
	X(outside, if (!isnan(c->lower_limit) || !isnan(c->upper_limit))             \
	                   ws_put_count(out, sums->out_of_limits))                   \
	X(scope, put_name(out, m, c->scope))                                         \
	X(description, put_name(out, m, c->description))

static void put_counter(void *ctx, size_t row, int column, struct ws_put *out)
{
	static const char *const changes = "1=absolute,2=difference,3=since start";
	const struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_counter *c = &m->counters[row];
	const struct ws_counter_sums *sums = &r->counters[row];

	WS_PUT_COLUMN(column, COUNTER);
}

const struct ws_relation ws_relation_counter = {"counter", COUNTER(WS_COLUMN_NAME), count_counters,
                                                put_counter};

/* --- counter_sample --------------------------------------------------------------------------- */

static size_t count_samples(void *ctx)
{
	return ((const struct ws_relations *)ctx)->tab->m->ncounter_samples;
}

#define COUNTER_SAMPLE(X)                                     \
	X(counter, ws_put_count(out, s->counter + 1))         \
	X(name, put_name(out, m, c->name))                    \
	X(of_group, put_name(out, m, c->group))               \
	X(domain, put_name(out, m, c->domain))                \
	X(unit, put_name(out, m, c->unit))                    \
	X(time_ns, ws_put_int(out, s->time_ns - m->begin_ns)) \
	X(value, ws_put_real(out, s->value))                  \
	X(thread, if (s->thread != WS_NONE) ws_put_count(out, m->threads[s->thread].tid))

static void put_sample(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_model *m = ((const struct ws_relations *)ctx)->tab->m;
	const struct ws_counter_sample *s = &m->counter_samples[row];
	const struct ws_counter *c = &m->counters[s->counter];

	WS_PUT_COLUMN(column, COUNTER_SAMPLE);
}

const struct ws_relation ws_relation_counter_sample = {"counter_sample",
                                                       COUNTER_SAMPLE(WS_COLUMN_NAME),
                                                       count_samples, put_sample};

/* --- counter_time: a sample, or some in a row --------------------------------------------------
 */

struct ws_counter_times {
	const struct ws_counter *counter;
	size_t first, n;
};

static size_t count_times(void *ctx)
{
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;

	if (r->counter_times)
		return r->ncounter_times;
	WS_NEW(&r->arena, r->counter_times, m->ncounters * ROWS_OF_COUNTER + 1);
	for (size_t k = 0; k < m->ncounters; k++) {
		const struct ws_counter *c = &m->counters[k];
		const size_t each = (c->n + ROWS_OF_COUNTER - 1) / ROWS_OF_COUNTER;

		for (size_t i = 0; i < c->n; i += each)
			r->counter_times[r->ncounter_times++] =
			        (struct ws_counter_times){c, i, c->n - i < each ? c->n - i : each};
	}
	return r->ncounter_times;
}

/* The mean of those with a value. */
static void put_mean(struct ws_put *out, const struct ws_counter_times *t)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = t->first; i < t->first + t->n; i++) {
		const double value = t->counter->samples[i].value;

		sum += isnan(value) ? 0 : value;
		n += !isnan(value);
	}
	if (n)
		ws_put_real(out, sum / (double)n);
}

#define COUNTER_TIME(X)                                                         \
	X(time_ns, ws_put_int(out, c->samples[t->first].time_ns - m->begin_ns)) \
	X(counter, ws_put_count(out, (size_t)(c - m->counters) + 1))            \
	X(name, put_name(out, m, c->name))                                      \
	X(of_group, put_name(out, m, c->group))                                 \
	X(domain, put_name(out, m, c->domain))                                  \
	X(unit, put_name(out, m, c->unit))                                      \
	X(value, put_mean(out, t))                                              \
	X(samples, ws_put_count(out, t->n))

static void put_time(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_counter_times *t = &r->counter_times[row];
	const struct ws_counter *c = t->counter;

	WS_PUT_COLUMN(column, COUNTER_TIME);
}

const struct ws_relation ws_relation_counter_time = {"counter_time", COUNTER_TIME(WS_COLUMN_NAME),
                                                     count_times, put_time};
