#include "report/diff/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/tables/tables.h"

static enum ws_status no_memory(struct ws_err *err)
{
	return WS_FAIL(err, NO_MEMORY, "no memory to match the traces");
}

static void side_release(struct ws_side *s)
{
	ws_selection_release(&s->sel);
	ws_step_times_release(&s->times);
	free(s->item);
	free(s->sample);
	free(s->ordinal);
	free(s->inclusive_ns);
	free(s->exclusive_ns);
	free(s->dtypes);
	free(s->order);
	free(s->item_first);
}

void ws_diff_release(struct ws_diff *d)
{
	side_release(&d->side[0]);
	side_release(&d->side[1]);
	free(d->items);
	*d = (struct ws_diff){0};
}

static enum ws_status side_open(struct ws_side *s, const struct ws_model *m, const char *letter,
                                struct ws_err *err)
{
	size_t n = m->ranges.n ? m->ranges.n : 1, paths = m->ranges.npaths ? m->ranges.npaths : 1;

	s->m = m;
	s->letter = letter;
	s->item = calloc(paths, sizeof(*s->item));
	s->dtypes = calloc(paths, sizeof(*s->dtypes));
	s->sample = calloc(n, sizeof(*s->sample));
	s->ordinal = calloc(n, sizeof(*s->ordinal));
	s->inclusive_ns = calloc(n, sizeof(*s->inclusive_ns));
	s->exclusive_ns = calloc(n, sizeof(*s->exclusive_ns));
	s->order = calloc(n, sizeof(*s->order));
	if (!s->item || !s->dtypes || !s->sample || !s->ordinal || !s->inclusive_ns ||
	    !s->exclusive_ns || !s->order)
		return no_memory(err);
	WS_FORWARD(ws_select(m, NULL, &s->sel, err));
	return ws_step_times(m, &s->sel, &s->times, err);
}

/* --- what is compared ------------------------------------------------------------------- */

/* range -> sample; steps in the order of their begin. */
static enum ws_status find_samples(struct ws_side *s, int by_steps, struct ws_err *err)
{
	const struct ws_model *m = s->m;
	uint32_t *number = calloc(m->nsteps ? m->nsteps : 1, sizeof(*number));

	if (!number)
		return no_memory(err);
	memset(number, 0xff, m->nsteps * sizeof(*number));
	for (uint32_t i = 0; i < s->times.nmeasured; i++)
		number[s->times.measured[i]] = i;
	s->nsamples = by_steps ? s->times.nmeasured : 1;
	for (uint32_t r = 0; r < m->ranges.n; r++) {
		uint32_t step = m->range_step[r];

		s->sample[r] = by_steps ? step == WS_NONE ? WS_NONE : number[step] : 0;
	}
	free(number);
	return WS_OK;
}

static void add_kernel_times(struct ws_side *s, int by_steps)
{
	const struct ws_model *m = s->m;
	const struct ws_kernels *k = &m->kernels;

	for (size_t i = 0; i < k->n; i++) {
		uint32_t r = k->range[i];

		if (r != WS_NONE)
			s->exclusive_ns[r] += k->dur_ns[i];
		/* a step of PyTorch's also holds kernels that lie in no range */
		if (!by_steps || ws_step_selected(m, &s->sel, k->step[i]))
			s->gpu_ns += k->dur_ns[i];
	}
	memcpy(s->inclusive_ns, s->exclusive_ns, m->ranges.n * sizeof(*s->inclusive_ns));
	for (uint32_t r = (uint32_t)m->ranges.n; r-- > 0;)
		if (m->ranges.parent[r] != WS_NONE)
			s->inclusive_ns[m->ranges.parent[r]] += s->inclusive_ns[r];
	/* after the sums over parents: a crossing range's own parents are listed as well */
	for (size_t i = 0; i < k->n && k->crossing; i++)
		for (uint32_t c = k->crossing[i]; c != WS_NONE;
		     c = m->attribution.crossings[c].next)
			s->inclusive_ns[m->attribution.crossings[c].range] += k->dur_ns[i];
}

/* Which dtypes the operations of each path read; at most 64 different ones. */
static void add_dtypes(struct ws_side *s)
{
	const struct ws_model *m = s->m;

	for (uint32_t r = 0; r < m->ranges.n; r++) {
		const struct ws_op *op = ws_range_op(m, r);
		unsigned bit = 0;

		if (!(m->range_marks[r] & WS_OP_COUNTED) || !op->dtype || s->sample[r] == WS_NONE)
			continue;
		while (bit < s->ndtypes && s->dtype_text[bit] != op->dtype)
			bit++;
		if (bit == 64)
			continue;
		if (bit == s->ndtypes)
			s->dtype_text[s->ndtypes++] = op->dtype;
		s->dtypes[m->ranges.path[r]] |= (uint64_t)1 << bit;
	}
	for (uint32_t p = (uint32_t)m->ranges.npaths; p-- > 0;)
		if (m->ranges.paths[p].parent != WS_NONE)
			s->dtypes[m->ranges.paths[p].parent] |= s->dtypes[p];
}

/* --- matching ----------------------------------------------------------------------------- */

/* Which paths have compared ranges. */
static enum ws_status paths_in_use(const struct ws_side *s, uint8_t **out, struct ws_err *err)
{
	const struct ws_ranges *r = &s->m->ranges;

	*out = calloc(r->npaths ? r->npaths : 1, 1);
	if (!*out)
		return no_memory(err);
	for (uint32_t i = 0; i < r->n; i++)
		if (s->sample[i] != WS_NONE)
			(*out)[r->path[i]] = 1;
	return WS_OK;
}

enum ws_status ws_diff_path_text(const struct ws_model *m, uint32_t path, char **text, size_t *len,
                                 struct ws_err *err)
{
	const size_t stem = sizeof(WS_PYTORCH_STEP) - 1;
	char *at, *end;

	WS_FORWARD(ws_path_text(&m->ranges, path, m->texts, text, len, err));
	end = *text + *len;
	for (at = *text; (at = memmem(at, (size_t)(end - at), WS_PYTORCH_STEP, stem)) != NULL;) {
		int is_name = at == *text || (at[-1] == '/' && (at - *text < 2 || at[-2] != '\\'));
		char *number = at + stem, *rest = number;

		while (rest < end && *rest >= '0' && *rest <= '9')
			rest++;
		at = rest;
		if (!is_name || rest == number || (rest < end && *rest != '/'))
			continue;
		*number = '*';
		at = number + 1;
		memmove(at, rest, (size_t)(end - rest) + 1);
		end -= rest - at;
	}
	*len = (size_t)(end - *text);
	return WS_OK;
}

/* The item of a path, known by its text, domain and style; a new one where there is none. */
static enum ws_status intern_item(struct ws_diff *d, struct ws_strtab *known, int side,
                                  uint32_t path, struct ws_err *err)
{
	const struct ws_model *m = d->side[side].m;
	struct ws_bytes domain = m->texts[m->ranges.paths[path].domain];
	enum ws_status status;
	uint64_t id = 0;
	char *text = NULL;
	size_t len = 0, path_len;
	char *key;

	WS_FORWARD(ws_diff_path_text(m, path, &text, &path_len, err));
	/* lengths first: names may hold any byte */
	key = malloc(2 * sizeof(size_t) + path_len + domain.len + 1);
	if (!key) {
		free(text);
		return no_memory(err);
	}
	memcpy(key, &path_len, sizeof(path_len));
	len = sizeof(path_len);
	memcpy(key + len, text, path_len);
	len += path_len;
	memcpy(key + len, domain.ptr, domain.len);
	len += domain.len;
	key[len++] = m->ranges.paths[path].style ? 'S' : 'P';

	id = ws_strtab_find(known, key, len);
	status = id ? WS_OK : ws_strtab_add(known, key, len, &id, err);
	if (status == WS_OK && id > d->nitems) {
		d->items[d->nitems] = (struct ws_item){{WS_NONE, WS_NONE}, {0, 0}};
		d->nitems = (size_t)id;
	}
	if (status == WS_OK) {
		uint32_t *first = &d->items[id - 1].path[side];

		if (*first == WS_NONE)
			*first = path;
		d->side[side].dtypes[*first] |= d->side[side].dtypes[path];
		d->side[side].item[path] = (uint32_t)id - 1;
	}
	free(key);
	free(text);
	return status;
}

static enum ws_status match_side_paths(struct ws_diff *d, struct ws_strtab *known, int side,
                                       struct ws_err *err)
{
	const struct ws_side *s = &d->side[side];
	size_t npaths = s->m->ranges.npaths;
	uint32_t *order = calloc(npaths ? npaths : 1, sizeof(*order));
	uint8_t *used = NULL;
	enum ws_status status = order ? paths_in_use(s, &used, err) : no_memory(err);

	if (status == WS_OK)
		status = ws_paths_order(&s->m->ranges, s->m->texts, order, err);
	for (size_t i = 0; i < npaths && status == WS_OK; i++)
		if (used[order[i]])
			status = intern_item(d, known, side, order[i], err);
	free(order);
	free(used);
	return status;
}

static enum ws_status match_paths(struct ws_diff *d, struct ws_err *err)
{
	struct ws_strtab known = {0};
	size_t most = d->side[0].m->ranges.npaths + d->side[1].m->ranges.npaths;
	enum ws_status status = WS_OK;

	d->items = calloc(most ? most : 1, sizeof(*d->items));
	if (!d->items)
		status = no_memory(err);
	if (status == WS_OK)
		status = match_side_paths(d, &known, 0, err);
	if (status == WS_OK)
		status = match_side_paths(d, &known, 1, err);
	ws_strtab_free(&known);
	return status;
}

/* Compared ranges by item, then sample, then begin. */
static enum ws_status sort_instances(struct ws_side *s, struct ws_err *err)
{
	const struct ws_ranges *r = &s->m->ranges;
	int64_t *key = calloc(r->n ? r->n : 1, sizeof(*key));
	enum ws_status status;

	if (!key)
		return no_memory(err);
	for (uint32_t i = 0; i < r->n; i++)
		if (s->sample[i] != WS_NONE)
			s->order[s->ncompared++] = i;
	status = ws_order_by(s->order, r->start_ns, s->ncompared, err);
	for (uint32_t i = 0; i < r->n; i++)
		key[i] = s->sample[i];
	if (status == WS_OK)
		status = ws_order_by(s->order, key, s->ncompared, err);
	for (uint32_t i = 0; i < r->n; i++)
		key[i] = s->item[r->path[i]];
	if (status == WS_OK)
		status = ws_order_by(s->order, key, s->ncompared, err);
	free(key);
	return status;
}

static enum ws_status number_instances(struct ws_diff *d, int side, struct ws_err *err)
{
	struct ws_side *s = &d->side[side];
	const uint32_t *path = s->m->ranges.path;
	size_t next = 0;

	WS_FORWARD(sort_instances(s, err));
	s->item_first = calloc(d->nitems + 1, sizeof(*s->item_first));
	if (!s->item_first)
		return no_memory(err);
	for (size_t i = 0; i < s->ncompared; i++) {
		uint32_t r = s->order[i], item = s->item[path[r]];
		uint32_t before = i ? s->order[i - 1] : WS_NONE;
		int same = i && s->item[path[before]] == item && s->sample[before] == s->sample[r];

		s->ordinal[r] = same ? s->ordinal[before] + 1 : 0;
		if (s->ordinal[r] + 1 > d->items[item].per_step[side])
			d->items[item].per_step[side] = s->ordinal[r] + 1;
		while (next <= item)
			s->item_first[next++] = (uint32_t)i;
	}
	while (next <= d->nitems)
		s->item_first[next++] = (uint32_t)s->ncompared;
	return WS_OK;
}

static uint32_t common(const struct ws_item *item)
{
	return item->per_step[0] < item->per_step[1] ? item->per_step[0] : item->per_step[1];
}

static void add_matched(struct ws_diff *d, int side)
{
	struct ws_side *s = &d->side[side];

	for (size_t i = 0; i < s->ncompared; i++) {
		uint32_t r = s->order[i];
		const struct ws_item *item = &d->items[s->item[s->m->ranges.path[r]]];

		if (s->ordinal[r] < common(item))
			s->matched_ns += s->exclusive_ns[r];
	}
}

enum ws_status ws_diff_match(struct ws_diff *d, const struct ws_model *a, const struct ws_model *b,
                             struct ws_err *err)
{
	*d = (struct ws_diff){0};
	WS_FORWARD(side_open(&d->side[0], a, "A", err));
	WS_FORWARD(side_open(&d->side[1], b, "B", err));
	d->by_steps = d->side[0].times.nmeasured && d->side[1].times.nmeasured;
	for (int side = 0; side < 2; side++) {
		WS_FORWARD(find_samples(&d->side[side], d->by_steps, err));
		add_kernel_times(&d->side[side], d->by_steps);
		add_dtypes(&d->side[side]);
	}
	WS_FORWARD(match_paths(d, err));
	for (int side = 0; side < 2; side++)
		WS_FORWARD(number_instances(d, side, err));
	add_matched(d, 0);
	add_matched(d, 1);
	return WS_OK;
}

enum ws_status ws_diff_item_stat(const struct ws_diff *d, int side, size_t item,
                                 enum ws_diff_part part, struct ws_stat *out, uint64_t *instances,
                                 struct ws_err *err)
{
	const struct ws_side *s = &d->side[side];
	int64_t *samples = calloc(s->nsamples ? s->nsamples : 1, sizeof(*samples));

	if (!samples)
		return no_memory(err);
	*instances = 0;
	for (uint32_t i = s->item_first[item]; i < s->item_first[item + 1]; i++) {
		uint32_t r = s->order[i];
		int in_both = s->ordinal[r] < common(&d->items[item]);

		if (in_both != (part == WS_DIFF_BOTH))
			continue;
		samples[s->sample[r]] += s->inclusive_ns[r];
		++*instances;
	}
	ws_stat_of(samples, s->nsamples, out);
	free(samples);
	return WS_OK;
}

enum ws_status ws_diff_make(const struct ws_model *a, const struct ws_model *b,
                            const struct ws_diff_opts *opts, struct ws_report **out,
                            struct ws_diff_result *result, struct ws_err *err)
{
	struct ws_report *report = calloc(1, sizeof(*report));
	struct ws_diff d = {0};
	enum ws_status status;
	char *trace = NULL;
	size_t count;

	*out = NULL;
	*result = (struct ws_diff_result){0};
	if (!report)
		return no_memory(err);
	ws_diff_defs(&count);
	report->title = "Warpsheet diff";
	report->created_ns = b->file.base_ns;
	report->filter = strdup("");
	report->tables = calloc(count, sizeof(struct ws_table *));
	status = ws_diff_match(&d, a, b, err);
	if (asprintf(&trace, "%s against %s", a->name, b->name) >= 0)
		report->trace = trace;
	if (status == WS_OK && (!report->filter || !report->tables || !report->trace))
		status = no_memory(err);
	if (status == WS_OK)
		status = ws_diff_fill(&d, opts, report, result, err);
	ws_diff_release(&d);
	if (status == WS_OK)
		*out = report;
	else
		ws_report_free(report);
	return status;
}
