#include "report/base/elementary.h"
#include "report/diff/recording.h"
#include "report/analysis/calibration.h"
#include "report/analysis/energy.h"
#include "report/model/load.h"
#include "report/names/names.h"
#include "report/page/page.h"
#include "report/tables/tables.h"

/*
 * The ranges of a recording: their instance number in the sample, their launches, and the dtypes
 * that their operations read.
 */

/*
 * Number of ranges of a place that began so far in a sample. Steps follow each other on their
 * thread, so the count for a thread and place restarts with the next sample.
 */
struct count {
	uint32_t sample, n;
};
struct numbering {
	struct ws_texts keys; /* thread and place -> number of its count, from 1 */
	struct count *count;
	size_t ncounts, capacity;
};

static void read_ranges(struct ws_reader *c)
{
	struct ws_recording *r = c->r;
	struct ws_names *names = c->names;
	struct numbering numbering = {.ncounts = 0};

	r->nranges = c->rows->nranges;
	ws_spill_open(&r->ranges, r->nranges * sizeof(struct ws_range_at));
	r->nplaces = c->names->nplaces;
	r->dtypes = ws_xarray(r->nplaces + 1, sizeof(*r->dtypes));
	for (uint32_t i = 0; i < r->nranges; i++) {
		const struct ws_joined_range *range = ws_joined_rows_range(c->rows, i);
		struct ws_range_at at = {ws_reader_sample(c, ws_joined_range_step(c->rows, range)),
		                         c->place_of_path[range->context->path], 0, 0};

		if (at.sample != WS_NONE) {
			const uint32_t dtype =
			        range->is_counted ? ws_joined_range_op(c->m, range)->dtype : 0;

			if (dtype) {
				/* Adds the dtype of an operation to its place. */
				const uint32_t text = ws_reader_text(c, dtype);
				size_t bit = 0;

				while (bit < names->ndtypes && names->dtype[bit] != text)
					bit++;
				if (bit == names->ndtypes && bit < WS_MOST_DTYPES)
					names->dtype[names->ndtypes++] = text;
				if (bit < WS_MOST_DTYPES)
					r->dtypes[at.place] |= UINT64_C(1) << bit;
			}

			const uint32_t key[] = {c->r->has_steps ? range->context->thread : 0,
			                        at.place};
			const uint32_t number =
			        ws_texts_add_often(&numbering.keys,
			                           (struct ws_bytes){key, sizeof(key)},
			                           range->context->number);

			WS_GROW(numbering.count, number, numbering.capacity);
			struct count *count = &numbering.count[number - 1];
			if (number > numbering.ncounts || count->sample != at.sample)
				*count = (struct count){at.sample, 0};
			numbering.ncounts = numbering.keys.n;
			at.instance = count->n++;
		}
		ws_spill_put(&r->ranges, sizeof(at), i, &at);
	}
	/* parents come before their children */
	for (size_t p = r->nplaces; p-- > 0;)
		if (c->names->parents[p] != WS_NONE)
			r->dtypes[c->names->parents[p]] |= r->dtypes[p];
	ws_texts_release(&numbering.keys);
	free(numbering.count);
}

void ws_recording_release(struct ws_recording *r)
{
	free(r->samples);
	free(r->unrecorded_ns);
	ws_spill_close(&r->calls);
	ws_spill_close(&r->ranges);
	free(r->classes);
	for (size_t i = 0; i < r->ndevice_times; i++)
		free(r->devices[i].of_sample);
	free(r->devices);
	free(r->copies);
	free(r->facts);
	free(r->dtypes);
	ws_table_free(r->origin);
	ws_replay_free(r->replay);
	free(r->evidence.places);
	ws_page_free(r->page);
	free(r->call_of_piece);
	*r = (struct ws_recording){0};
}

uint32_t ws_recording_fact(const struct ws_recording *r, const struct ws_names *names,
                           const char *key)
{
	for (size_t i = 0; i < r->nfacts; i++)
		if (ws_name_is(ws_texts_get(&names->texts, r->facts[i].key), key))
			return r->facts[i].value;
	return 0;
}

/* --- facts ------------------------------------------------------------------------------- */

static void add_fact(struct ws_reader *c, const char *prefix, struct ws_bytes key,
                     struct ws_bytes value)
{
	struct ws_recording *r = c->r;
	struct ws_recorded_fact *fact = &r->facts[r->nfacts];
	size_t n = strlen(prefix);
	char *whole = ws_xmalloc(n + key.len + 1);

	memcpy(whole, prefix, n);
	memcpy(whole + n, key.ptr, key.len);
	fact->key = ws_texts_add(&c->names->texts, (struct ws_bytes){whole, n + key.len});
	free(whole);
	fact->value = ws_texts_add(&c->names->texts, value);
	/* the last one of a key counts */
	for (size_t i = 0; i < r->nfacts; i++) {
		if (r->facts[i].key == fact->key) {
			r->facts[i].value = fact->value;
			return;
		}
	}
	r->nfacts++;
}

/* Kind and number of requests, if equal for all batches of a server, are facts of the workload.
 * Kernels may not show them, because graphs hide the sizes. */
static void add_batch(struct ws_reader *c)
{
	const struct ws_model *m = c->m;
	uint64_t requests = 0;
	const char *kind = NULL;
	bool same = true;
	char text[24];

	WS_EACH_RANGE(c->rows, i, r) {
		struct ws_batch b;

		if (!ws_name_is_batch(m->texts[m->ranges.paths[r->context->path].name]) ||
		    !ws_batch_of_name(m->texts[r->recorded], &b) || !*ws_batch_kind(&b))
			continue;
		if (kind && strcmp(kind, ws_batch_kind(&b)) != 0)
			return;
		uint64_t n = b.context.requests + b.generation.requests;
		same &= !kind || n == requests;
		requests = n;
		kind = ws_batch_kind(&b);
	}
	if (!kind)
		return;
	if (!ws_model_fact(m, "phase").len)
		add_fact(c, "workload.", ws_bytes_of("phase"), ws_bytes_of(kind));
	if (!same || ws_model_fact(m, "batch").len)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, requests);
	add_fact(c, "workload.", ws_bytes_of("batch"), ws_bytes_of(text));
}

/* --- the rest ---------------------------------------------------------------------------- */

int64_t ws_memory_peak(const struct ws_model *m)
{
	int64_t sum = 0, peak = -1;

	for (size_t i = 0; i < m->nmemory; i++) {
		const struct ws_memory_event *e = &m->memory[i];

		if (e->device == WS_NONE || e->op > WS_MEMORY_OP_FREE)
			continue;
		sum += e->op == WS_MEMORY_OP_ALLOC ? (int64_t)e->bytes : -(int64_t)e->bytes;
		if (e->allocated_bytes)
			sum = (int64_t)e->allocated_bytes;
		peak = sum > peak ? sum : peak;
	}
	return peak;
}

static void count_lost(void *lost, const struct ws_missing *missing)
{
	if (ws_missing_is_of_records(missing))
		*(uint64_t *)lost += missing->count;
}

static void read_state(struct ws_reader *c)
{
	const struct ws_model *m = c->m;
	const struct ws_idle *idle = ws_idle_find(m, &c->sel);
	const struct ws_utilization *u = ws_utilization_find(m, &c->sel);
	struct ws_recording *r = c->r;

	r->file_hash = m->file.file_hash;
	r->file_size = m->file.file_size;
	r->base_ns = m->file.base_ns;
	r->name = ws_texts_add_str(&c->names->texts, m->name);
	r->on_cpu = ws_model_on_cpu(m);
	r->damaged = m->file.damaged_blocks || m->file.skipped_bytes;
	ws_missing_each(m, count_lost, &r->lost);
	r->origin = ws_table_new(&ws_def_diff_verdict);
	ws_note_origin(m, r->origin);
	r->idle = ws_idle_verdict(m, &c->sel);
	r->peak_bytes = ws_memory_peak(m);
	r->mfu_percent = 100 * u->model_sum_ns / (double)u->step_sum_ns;
	r->hfu_percent = 100 * u->ran_sum_ns / (double)u->step_sum_ns;
	memcpy(r->peak, u->basis, sizeof(r->peak));

	/* What the devices did with the time of each sample. */
	for (size_t i = 0; i < r->nsamples; i++)
		memcpy(r->samples[i].use_ns, idle->of_window[i].ns, sizeof(r->samples[i].use_ns));
	r->devices = ws_xarray(idle->ndevices + 1, sizeof(*r->devices));
	for (size_t d = 0; d < idle->ndevices; d++) {
		struct ws_device_time *to = &r->devices[r->ndevice_times];

		if (!idle->device[d].window_ns)
			continue;
		to->id = m->devices[d].id;
		to->of_sample = ws_xarray(r->nsamples + 1, sizeof(*to->of_sample));
		memcpy(to->of_sample, idle->of_device[d], r->nsamples * sizeof(*to->of_sample));
		r->ndevice_times++;
	}
	if (!r->has_steps && r->nsamples && !r->ndevice_times) /* no device worked */
		r->samples[0].step_ns = r->samples[0].host_ns = 0;
}

void ws_recording_read(struct ws_recording *out, struct ws_names *names, const struct ws_model *m,
                       struct ws_joined_rows *rows, bool is_replayed, bool has_evidence)
{
	struct ws_reader c = {.m = m, .r = out, .names = names};
	struct ws_filter steps = WS_FILTER_ALL;

	*out = (struct ws_recording){0};
	/* for a trace without steps: from the first device work to the last */
	steps.scope = WS_SCOPE_STEPS;
	ws_select_rows(m, rows, &steps, &c.sel);
	c.rows = c.sel.rows;

	/* the samples */
	const struct ws_step_times *times = ws_step_times(m, &c.sel);

	c.windows = ws_windows(m, &c.sel);
	out->nsamples = c.windows->n;
	for (size_t s = 0; s < m->nsteps; s++) {
		out->unfinished += m->steps[s].unfinished;
		out->incomplete_steps +=
		        (m->steps[s].unfinished || m->steps[s].unsound) && !m->steps[s].warm_up;
	}
	out->has_steps = out->nsamples && c.windows->window[0].step != WS_NONE;
	out->samples = ws_xarray(out->nsamples + 1, sizeof(*out->samples));
	out->unrecorded_ns = ws_xarray(m->ncalibration + 1, sizeof(*out->unrecorded_ns));
	out->nunrecorded = ws_calibration_unrecorded(m, out->unrecorded_ns);
	WS_NEW(&c.arena, c.sample_of_step, m->nsteps);
	memset(c.sample_of_step, 0xff, m->nsteps * sizeof(*c.sample_of_step));
	for (uint32_t i = 0; i < out->nsamples; i++) {
		const struct ws_time_window *w = &c.windows->window[i];
		struct ws_sample *sample = &out->samples[i];

		sample->step_ns = sample->host_ns = w->end_ns - w->start_ns;
		if (w->step == WS_NONE)
			continue;
		c.sample_of_step[w->step] = i;
		sample->host_ns = m->steps[w->step].total_ns;
		memcpy(sample->phase_ns, m->steps[w->step].phase_ns, sizeof(sample->phase_ns));
		sample->phases = m->steps[w->step].phases;
		memcpy(sample->window_ns, times->window_ns[w->step], sizeof(sample->window_ns));
	}

	/* path of the model -> place; parents come before their children */
	const struct ws_ranges *r = &c.m->ranges;

	WS_NEW(&c.arena, c.place_of_path, r->npaths);
	for (uint32_t i = 0; i < r->npaths; i++) {
		const struct ws_path *path = &r->paths[i];
		uint32_t parent = path->parent == WS_NONE ? WS_NONE : c.place_of_path[path->parent];
		struct ws_place place;

		memset(&place, 0, sizeof(place)); /* its bytes are the key */
		place.style = path->style;

		/* The text of a place: its parent's text, a '/' and its name without varying
		 * numbers, with '/' as "\/". */
		const struct ws_bytes name = c.m->texts[path->name];
		struct ws_bytes above = {"", 0};

		if (parent != WS_NONE)
			above = ws_texts_get(&c.names->texts, c.names->places[parent].text);
		char *steady = ws_xmalloc(name.len + 1),
		     *full = ws_xmalloc(above.len + 1 + 2 * name.len + 1);
		const size_t n = ws_name_steady(name, steady);
		size_t len = above.len;

		if (above.len)
			memcpy(full, above.ptr, above.len);
		if (parent != WS_NONE)
			full[len++] = '/';
		for (size_t k = 0; k < n; k++) {
			if (steady[k] == '/')
				full[len++] = '\\';
			full[len++] = steady[k];
		}
		place.text = ws_texts_add(&c.names->texts, (struct ws_bytes){full, len});
		free(steady);
		free(full);
		place.domain = ws_texts_add(&c.names->texts, c.m->texts[path->domain]);
		c.place_of_path[i] = ws_names_add_place(c.names, &place, parent);
	}

	/* what the program and the recorder say of the workload and the machine */
	static const char end[] = ".sm_clock_mhz";
	double clocks = 0; /* of the multiprocessors */
	unsigned readings = 0;

	c.r->facts = ws_xarray(m->nfacts + m->meta.rows + 4, sizeof(*c.r->facts));
	for (size_t i = 0; i < m->nfacts; i++)
		add_fact(&c, "workload.", m->facts[i].key, m->facts[i].value);
	add_batch(&c);
	for (size_t i = 0; i < m->ndevices; i++)
		c.r->ndevices += m->devices[i].kernels > 0;
	add_fact(&c, "", ws_bytes_of("device"), ws_model_device_name(m));
	for (uint64_t i = 0; i < m->meta.rows; i++) {
		struct ws_bytes key = ws_blob(&m->meta, WS_COL_meta_key, i);
		struct ws_bytes value = ws_blob(&m->meta, WS_COL_meta_value, i);
		char number[16] = "";

		/* keys such as gpu.0.begin.sm_clock_mhz */
		if (key.len > sizeof(end) - 1 && value.len && value.len < sizeof(number) &&
		    !memcmp((const char *)key.ptr + key.len - (sizeof(end) - 1), end,
		            sizeof(end) - 1)) {
			memcpy(number, value.ptr, value.len);
			clocks += strtod(number, NULL);
			readings++;
		}
		add_fact(&c, "", key, value);
	}
	c.r->sampled_mhz = ws_energy_clock(m, &c.sel);
	if (readings && ws_model_has_work(m) && ws_model_on_cpu(m) != 1)
		c.r->read_mhz = clocks / readings;
	c.r->step_j = ws_energy_per_step(m, &c.sel) / 1e3;
	read_state(&c);
	if (is_replayed)
		out->replay = ws_replay_new(m, &c.sel);

	const size_t ntexts = c.m->ntexts;

	WS_NEW(&c.arena, c.text_of, ntexts);
	memset(c.text_of, 0xff, ntexts * sizeof(*c.text_of));
	c.unclassified = ws_texts_add_str(&c.names->texts, "(unclassified)");
	read_ranges(&c);
	ws_reader_read_work(&c);
	if (has_evidence)
		ws_reader_find_evidence(&c);

	/* the time of a range has that of the ranges inside it */
	const struct ws_crossing *crossings = c.m->attribution.crossings;

	for (size_t i = c.r->nranges; i-- > 0;) {
		const int64_t gpu_ns = ws_recording_range(c.r, i)->gpu_ns;

		if (!gpu_ns)
			continue;
		uint32_t parent = ws_joined_rows_range(c.rows, (uint32_t)i)->parent;
		if (parent != WS_NONE)
			ws_recording_range(c.r, parent)->gpu_ns += gpu_ns;
	}
	/* after the sums over parents, because the parents of a crossing range are listed, too */
	for (size_t i = 0; i < c.rows->nkernels && crossings; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(c.rows, i);

		for (uint32_t at = ws_joined_crossing(c.m, k); at != WS_NONE;
		     at = crossings[at].next)
			ws_recording_range(c.r, crossings[at].range)->gpu_ns += k->dur_ns;
	}
	ws_selection_release(&c.sel);
	ws_arena_free(&c.arena);
}

double ws_recording_median_ns(const struct ws_recording *r)
{
	double *v = ws_xarray(r->nsamples + 1, sizeof(*v)), median;

	/* logarithms need a positive value, so 0 becomes less than the resolution */
	for (size_t i = 0; i < r->nsamples; i++)
		v[i] = fmax((double)r->samples[i].step_ns, 0.5);
	median = ws_stat_median(v, r->nsamples);
	free(v);
	return median;
}

bool ws_clocks_differ(double mhz_a, double mhz_b)
{
	return mhz_a > 0 && mhz_b > 0 && fabs(ws_log(mhz_b / mhz_a)) > ws_log1p(WS_CLOCKS_APART);
}

enum ws_by_clocks ws_clocks_explain(double ratio, const double mhz[2], bool are_sampled,
                                    double min_effect)
{
	if (!(mhz[0] > 0) || !(mhz[1] > 0))
		return WS_CLOCKS_NO_REASON;
	const double of_times = ws_log(ratio), of_clocks = ws_log(mhz[0] / mhz[1]),
	             least = ws_log1p(min_effect);

	if (fabs(of_times - of_clocks) < least)
		return WS_CLOCKS_SAME_CYCLES;
	/* work that waits for memory becomes slower by less than the clock of the multiprocessors;
	 * readings at begin and end are too few to say how far apart clocks were */
	return are_sampled && ws_clocks_differ(mhz[0], mhz[1]) && of_times * of_clocks > 0 &&
	                       fabs(of_times) < fabs(of_clocks) + least
	               ? WS_CLOCKS_ENOUGH
	               : WS_CLOCKS_NO_REASON;
}

bool ws_recordings_are_apart(const struct ws_recording *a, const struct ws_recording *b)
{
	return a->sampled_mhz > 0 && b->sampled_mhz > 0
	               ? ws_clocks_differ(a->sampled_mhz, b->sampled_mhz)
	               : ws_clocks_differ(a->read_mhz, b->read_mhz);
}
