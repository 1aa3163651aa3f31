#include "report/analysis/energy.h"

#include "report/analysis/digest.h"
#include "report/analysis/steps.h"
#include "report/base/ui.h"

#define ROWS_OF_DEVICE 200 /* of the relation gpu_clock */

/* --- sums over spans of time ---------------------------------------------------------------- */

static struct ws_energy no_energy(void)
{
	return (struct ws_energy){.sm_min_mhz = -1,
	                          .coolest_c = -1,
	                          .hottest_c = -1,
	                          .last = SIZE_MAX};
}

/* The counter at a time between two samples, linear between these. */
struct counter_at {
	size_t before, after; /* points; the same if the time is that of a point */
	double mj, error_mj;
};

static bool read_counter(const struct ws_device_energy *of, int64_t time_ns, struct counter_at *out)
{
	const struct ws_energy_point *p = of->point;
	size_t n;

	WS_COUNT_FIRST(n, of->npoints, p[n].time_ns <= time_ns);
	if (!n || (n == of->npoints && p[n - 1].time_ns != time_ns))
		return false;
	if (p[n - 1].time_ns == time_ns) {
		*out = (struct counter_at){n - 1, n - 1, p[n - 1].mj, 0};
		return true;
	}
	const double part =
	        (double)(time_ns - p[n - 1].time_ns) / (double)(p[n].time_ns - p[n - 1].time_ns);
	const double between = p[n].mj - p[n - 1].mj;

	*out = (struct counter_at){n - 1, n, p[n - 1].mj + part * between,
	                           between * fmax(part, 1 - part)};
	return true;
}

/* Adds energy. Between two spans lies less than the time between two samples: no error there. */
static void add_energy(const struct ws_device_energy *of, int64_t start_ns, int64_t end_ns,
                       struct ws_energy *e)
{
	struct counter_at from, to;

	if (!read_counter(of, start_ns, &from) || !read_counter(of, end_ns, &to))
		return;
	if (of->point[from.before].resets != of->point[to.after].resets) {
		e->resets++;
		return;
	}
	e->known++;
	e->known_ns += end_ns - start_ns;
	e->mj += to.mj - from.mj;
	if (e->last != SIZE_MAX && from.before <= e->last)
		e->error_mj -= e->last_mj;
	else
		e->error_mj += from.error_mj;
	e->error_mj += to.error_mj;
	e->last = to.after;
	e->last_mj = to.error_mj;
}

static void add_to_mean(struct ws_time_mean *mean, int64_t value, double ns)
{
	mean->sum += value < 0 ? 0 : (double)value * ns;
	mean->ns += value < 0 ? 0 : ns;
}

/* A sample holds from the middle between it and the one before to the middle to the next. */
static void add_span(const struct ws_device_energy *of, int64_t start_ns, int64_t end_ns,
                     struct ws_energy *e)
{
	const struct ws_row_gpu_sample *s = of->sample;
	size_t i;

	add_energy(of, start_ns, end_ns, e);
	WS_COUNT_FIRST(i, of->n, s[i].time_ns <= start_ns);
	for (i -= i > 0; i < of->n; i++) {
		const int64_t begin = i ? s[i - 1].time_ns + (s[i].time_ns - s[i - 1].time_ns) / 2
		                        : s[i].time_ns,
		              end = i + 1 < of->n
		                            ? s[i].time_ns + (s[i + 1].time_ns - s[i].time_ns) / 2
		                            : s[i].time_ns;
		const double ns = (double)((end < end_ns ? end : end_ns) -
		                           (begin > start_ns ? begin : start_ns));

		if (begin > end_ns)
			break;
		e->samples += s[i].time_ns >= start_ns && s[i].time_ns < end_ns;
		if (ns <= 0)
			continue;
		add_to_mean(&e->sm_mhz, s[i].sm_mhz, ns);
		add_to_mean(&e->memory_mhz, s[i].memory_mhz, ns);
		if (s[i].sm_mhz >= 0 && (e->sm_min_mhz < 0 || s[i].sm_mhz < e->sm_min_mhz))
			e->sm_min_mhz = s[i].sm_mhz;
		if (s[i].temperature_c >= 0 &&
		    (e->coolest_c < 0 || s[i].temperature_c < e->coolest_c))
			e->coolest_c = s[i].temperature_c;
		if (s[i].temperature_c > e->hottest_c)
			e->hottest_c = s[i].temperature_c;
		if (s[i].throttle < 0)
			continue;
		add_to_mean(&e->throttled, WS_IS_THROTTLED(s[i].throttle) ? 100 : 0, ns);
		for (size_t r = 0; r <= WS_THROTTLE_REASONS; r++)
			add_to_mean(&e->reason[r],
			            r < WS_THROTTLE_REASONS ? 100 * (s[i].throttle >> r & 1)
			                                    : 100 * (s[i].throttle >> r != 0),
			            ns);
	}
}

const struct ws_device_energy *ws_device_energy(const struct ws_model *m,
                                                const struct ws_selection *sel)
{
	static const char key;
	struct ws_device_energy *all = ws_kept_result(sel, &key);
	struct ws_arena *arena = &sel->kept->arena;

	if (all)
		return all;
	WS_NEW(arena, all, m->ndevices);
	for (size_t i = 0; i < m->ngpu_samples; i++) {
		struct ws_device_energy *of = &all[m->gpu_samples[i].device];

		/* until the first work all GPUs that the program sees are sampled */
		if (!m->devices[of - all].kernels && ws_model_has_kernels(m))
			continue;
		of->sample = of->n++ ? of->sample : &m->gpu_samples[i];
	}

	const struct ws_windows *windows = m->ngpu_samples ? ws_windows_in_scope(m, sel) : NULL;

	for (size_t d = 0; d < m->ndevices; d++) {
		struct ws_device_energy *of = &all[d];
		int64_t before_mj = 0;

		WS_NEW(arena, of->point, of->n);
		for (size_t i = 0; i < of->n; i++) {
			const int64_t mj = of->sample[i].energy_mj;
			const struct ws_energy_point *last =
			        of->npoints ? &of->point[of->npoints - 1] : NULL;

			if (mj < 0)
				continue;
			of->point[of->npoints++] = (struct ws_energy_point){
			        of->sample[i].time_ns,
			        last ? last->mj + (mj > before_mj ? (double)(mj - before_mj) : 0)
			             : 0,
			        last ? last->resets + (mj < before_mj) : 0};
			before_mj = mj;
		}
		of->steps = no_energy();
		for (size_t i = 0; of->n && i < windows->n; i++)
			add_span(of, windows->window[i].start_ns, windows->window[i].end_ns,
			         &of->steps);
	}
	ws_keep_result(sel, &key, all, NULL);
	return all;
}

struct ws_energy ws_energy_of(const struct ws_model *m, const struct ws_selection *sel,
                              const struct ws_time_window *windows, size_t n,
                              const struct ws_time_window *but)
{
	const struct ws_device_energy *all = ws_device_energy(m, sel);
	struct ws_energy e = no_energy();
	uint64_t fewest = UINT64_MAX;

	for (size_t d = 0; d < m->ndevices; d++) {
		if (!all[d].n)
			continue;
		e.samples = 0;
		e.last = SIZE_MAX;
		for (size_t i = 0; i < n; i++)
			if (&windows[i] != but)
				add_span(&all[d], windows[i].start_ns, windows[i].end_ns, &e);
		fewest = e.samples < fewest ? e.samples : fewest;
	}
	e.samples = fewest == UINT64_MAX ? 0 : fewest;
	return e;
}

double ws_energy_clock(const struct ws_model *m, const struct ws_selection *sel)
{
	const struct ws_device_energy *all = ws_device_energy(m, sel);
	double mhz = 0;
	size_t n = 0;

	for (size_t d = 0; d < m->ndevices; d++)
		if (ws_energy_is_known(&all[d].steps) && all[d].steps.sm_mhz.sum > 0) {
			mhz += ws_time_mean(all[d].steps.sm_mhz);
			n++;
		}
	return n ? mhz / (double)n : 0;
}

double ws_energy_per_step(const struct ws_model *m, const struct ws_selection *sel)
{
	const struct ws_device_energy *all = ws_device_energy(m, sel);
	double mj = 0;

	for (size_t d = 0; d < m->ndevices; d++) {
		const struct ws_energy *e = &all[d].steps;

		if (m->devices[d].kernels || all[d].n)
			mj += ws_energy_is_known(e) ? ws_stat_ratio(e->mj, (double)e->known) : NAN;
	}
	return mj > 0 ? mj : NAN;
}

const char *ws_throttle_shares(const struct ws_energy *e, struct ws_arena *texts)
{
	const char *out = "";
	char name[256];

	for (size_t r = 0; r <= WS_THROTTLE_REASONS; r++)
		if (WS_IS_THROTTLED(INT64_C(1) << r) && e->reason[r].sum > 0)
			out = ws_arena_format(texts, "%s%s%s %s", out, *out ? ", " : "",
			                      ws_throttle_words(UINT64_C(1) << r, name),
			                      ws_say_percent(texts, ws_time_mean(e->reason[r])));
	return *out ? out : "none";
}

/* --- gpu_energy: a device with samples ------------------------------------------------------- */

/* The n-th device with samples; their number if there are fewer. */
static size_t device_with_samples(const struct ws_relations *r, size_t n)
{
	const struct ws_model *m = r->tab->m;
	const struct ws_device_energy *all = ws_device_energy(m, r->tab->sel);
	size_t d = 0;

	for (; d < m->ndevices; d++)
		if (all[d].n && !n--)
			break;
	return d;
}

static size_t count_devices(void *ctx)
{
	const struct ws_relations *r = ctx;
	size_t n = 0;

	while (device_with_samples(r, n) < r->tab->m->ndevices)
		n++;
	return n;
}

static void put_rate(const struct ws_table_context *tab, const char *fact, struct ws_put *out)
{
	const double items = (double)ws_fact_number(tab->m, fact);

	if (items > 0)
		ws_put_real(out, 1e3 * items / ws_energy_per_step(tab->m, tab->sel));
}

static void put_known(struct ws_put *out, int64_t value)
{
	if (value >= 0)
		ws_put_int(out, value);
}

#define GPU_ENERGY(X)                                                                             \
	X(device, ws_put_count(out, m->devices[d].id))                                            \
	X(name, ws_put_text(out, m->texts[m->devices[d].name]))                                   \
	X(samples, ws_put_count(out, e->samples))                                                 \
	X(steps, if (of_steps) ws_put_count(out, e->known))                                       \
	X(energy_j, if (has_energy) ws_put_real(out, e->mj / 1e3))                                \
	X(error_j, if (has_energy) ws_put_real(out, e->error_mj / 1e3))                           \
	X(step_j, if (of_steps && has_energy) ws_put_real(out, e->mj / 1e3 / (double)e->known))   \
	X(tokens_per_j, if (of_steps && has_energy) put_rate(r->tab, "tokens_per_step", out))     \
	X(images_per_j, if (of_steps && has_energy) put_rate(r->tab, "images_per_step", out))     \
	X(power_w, if (has_energy) ws_put_real(out, 1e6 * e->mj / (double)e->known_ns))           \
	X(sm_mhz, if (is_known) ws_put_real(out, ws_time_mean(e->sm_mhz)))                        \
	X(sm_min_mhz, if (is_known) put_known(out, e->sm_min_mhz))                                \
	X(memory_mhz, if (is_known) ws_put_real(out, ws_time_mean(e->memory_mhz)))                \
	X(coolest_c, if (is_known) put_known(out, e->coolest_c))                                  \
	X(hottest_c, if (is_known) put_known(out, e->hottest_c))                                  \
	X(throttled, if (is_known) ws_put_real(out, ws_time_mean(e->throttled)))                  \
	X(reasons,                                                                                \
	  if (is_known && e->throttled.ns > 0) ws_put_str(out, ws_throttle_shares(e, &r->arena))) \
	X(known_ns, if (has_energy) ws_put_int(out, e->known_ns))                                 \
	X(resets, ws_put_count(out, e->resets))

static void put_gpu_energy(void *ctx, size_t row, int column, struct ws_put *out)
{
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const size_t d = device_with_samples(r, row);
	const struct ws_energy *e = &ws_device_energy(m, r->tab->sel)[d].steps;
	const bool is_known = ws_energy_is_known(e), has_energy = is_known && e->known,
	           of_steps = r->tab->sel->measured && !ws_is_of_all(r->tab->sel);

	WS_PUT_COLUMN(column, GPU_ENERGY);
}

const struct ws_relation ws_relation_gpu_energy = {"gpu_energy", GPU_ENERGY(WS_COLUMN_NAME),
                                                   count_devices, put_gpu_energy};

/* --- range_energy: ranges of one path -------------------------------------------------------- */

struct ws_range_energy {
	uint32_t path;
	uint64_t instances, counted; /* counted: with enough samples */
	double counted_ns, mj, error_mj;
	struct ws_time_mean sm_mhz, throttled;
};

/* The range on every device with samples. */
static void add_range(const struct ws_relations *r, const struct ws_joined_range *range,
                      struct ws_range_energy *sum)
{
	const struct ws_model *m = r->tab->m;
	const struct ws_device_energy *all = ws_device_energy(m, r->tab->sel);
	struct ws_energy e = no_energy();

	sum->instances++;
	for (size_t d = 0; d < m->ndevices; d++) {
		const struct ws_energy before = e;

		if (!all[d].n)
			continue;
		e.last = SIZE_MAX;
		add_span(&all[d], range->start_ns, range->end_ns, &e);
		if (e.samples - before.samples < WS_ENERGY_LEAST_SAMPLES || e.known == before.known)
			return;
	}
	if (!e.known)
		return;
	sum->counted++;
	sum->counted_ns += (double)(range->end_ns - range->start_ns);
	sum->mj += e.mj;
	sum->error_mj += e.error_mj;
	sum->sm_mhz.sum += e.sm_mhz.sum;
	sum->sm_mhz.ns += e.sm_mhz.ns;
	sum->throttled.sum += e.throttled.sum;
	sum->throttled.ns += e.throttled.ns;
}

static size_t count_ranges(void *ctx)
{
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	struct ws_joined_rows *rows = r->tab->sel->rows;
	uint32_t *order, *place_of;

	if (r->range_energy || !m->ngpu_samples)
		return r->nrange_energy;
	WS_NEW(&r->arena, r->range_energy, m->ranges.npaths + 1);
	WS_NEW(&r->arena, order, m->ranges.npaths);
	WS_NEW(&r->arena, place_of, m->ranges.npaths);
	ws_paths_order(&m->ranges, m->texts, order);
	for (size_t i = 0; i < m->ranges.npaths; i++) {
		place_of[order[i]] = (uint32_t)r->nrange_energy;
		r->range_energy[r->nrange_energy].path = order[i];
		r->nrange_energy += m->ranges.paths[order[i]].depth <= 1;
	}
	WS_EACH_RANGE(rows, i, range) {
		const uint32_t path = range->context->path;

		if (m->ranges.paths[path].depth <= 1 && !range->is_open &&
		    ws_range_selected(m, r->tab->sel, range, i))
			add_range(r, range, &r->range_energy[place_of[path]]);
	}
	return r->nrange_energy;
}

#define RANGE_ENERGY(X)                                                           \
	X(path_id, ws_put_int(out, e->path))                                      \
	X(instances, ws_put_count(out, e->instances))                             \
	X(counted, ws_put_count(out, e->counted))                                 \
	X(energy_j, if (e->counted) ws_put_real(out, e->mj / 1e3))                \
	X(error_j, if (e->counted) ws_put_real(out, e->error_mj / 1e3))           \
	X(power_w, if (e->counted) ws_put_real(out, 1e6 * e->mj / e->counted_ns)) \
	X(sm_mhz, ws_put_real(out, ws_time_mean(e->sm_mhz)))                      \
	X(throttled, ws_put_real(out, ws_time_mean(e->throttled)))

static void put_range_energy(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_range_energy *e = &((const struct ws_relations *)ctx)->range_energy[row];

	WS_PUT_COLUMN(column, RANGE_ENERGY);
}

const struct ws_relation ws_relation_range_energy = {"range_energy", RANGE_ENERGY(WS_COLUMN_NAME),
                                                     count_ranges, put_range_energy};

/* --- gpu_clock: a sample, or some in a row ---------------------------------------------------- */

struct ws_clock_row {
	const struct ws_device_energy *energy;
	size_t device, first, n; /* samples of it */
};

static size_t count_clocks(void *ctx)
{
	struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_device_energy *all = ws_device_energy(m, r->tab->sel);

	if (r->clocks)
		return r->nclocks;
	WS_NEW(&r->arena, r->clocks, m->ndevices * ROWS_OF_DEVICE + 1);
	for (size_t d = 0; d < m->ndevices; d++) {
		const size_t each = (all[d].n + ROWS_OF_DEVICE - 1) / ROWS_OF_DEVICE;

		for (size_t i = 0; i < all[d].n; i += each)
			r->clocks[r->nclocks++] =
			        (struct ws_clock_row){&all[d], d, i,
			                              all[d].n - i < each ? all[d].n - i : each};
	}
	return r->nclocks;
}

/* The mean of the values of a column that were given. */
static void put_mean(struct ws_put *out, const struct ws_clock_row *c, size_t offset, double unit)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = c->first; i < c->first + c->n; i++) {
		const int64_t value =
		        *(const int64_t *)((const char *)&c->energy->sample[i] + offset);

		sum += value >= 0 ? (double)value : 0;
		n += value >= 0;
	}
	if (n)
		ws_put_real(out, sum / (double)n / unit);
}

static void put_reasons(struct ws_put *out, const struct ws_clock_row *c)
{
	int64_t bits = 0;
	bool is_known = false;
	char words[256];

	for (size_t i = c->first; i < c->first + c->n; i++) {
		is_known |= c->energy->sample[i].throttle >= 0;
		bits |= c->energy->sample[i].throttle >= 0 ? c->energy->sample[i].throttle : 0;
	}
	if (is_known) {
		const char *text = ws_throttle_words((uint64_t)bits, words);

		ws_put_copy(out, text, strlen(text));
	}
}

#define OF_SAMPLE(column) offsetof(struct ws_row_gpu_sample, column)
#define GPU_CLOCK(X)                                                                   \
	X(time_ns, ws_put_int(out, c->energy->sample[c->first].time_ns - m->begin_ns)) \
	X(device, ws_put_count(out, m->devices[c->device].id))                         \
	X(samples, ws_put_count(out, c->n))                                            \
	X(power_w, put_mean(out, c, OF_SAMPLE(power_mw), 1e3))                         \
	X(sm_mhz, put_mean(out, c, OF_SAMPLE(sm_mhz), 1))                              \
	X(memory_mhz, put_mean(out, c, OF_SAMPLE(memory_mhz), 1))                      \
	X(temperature_c, put_mean(out, c, OF_SAMPLE(temperature_c), 1))                \
	X(reasons, put_reasons(out, c))

static void put_gpu_clock(void *ctx, size_t row, int column, struct ws_put *out)
{
	const struct ws_relations *r = ctx;
	const struct ws_model *m = r->tab->m;
	const struct ws_clock_row *c = &r->clocks[row];

	WS_PUT_COLUMN(column, GPU_CLOCK);
}

const struct ws_relation ws_relation_gpu_clock = {"gpu_clock", GPU_CLOCK(WS_COLUMN_NAME),
                                                  count_clocks, put_gpu_clock};
