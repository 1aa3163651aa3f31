/*
 * Why the time changed. diff-idle shows how the devices spent a step. diff-waterfall shows the
 * changes of the parts that lead from A's step to B's. Both add up exactly:
 * docs/reference/compare.md.
 */

#include "report/diff/private.h"

struct ws_bytes ws_diff_class_name(struct ws_bytes name)
{
	const char *p = name.ptr;

	/* "(unclassified)" */
	if (name.len > 2 && *p == '(' && p[name.len - 1] == ')')
		return (struct ws_bytes){p + 1, name.len - 2};
	return name;
}

/* --- parts of a step ---------------------------------------------------------------------- */

static struct ws_diff_part *part_of(struct ws_diff_parts *p, enum ws_diff_part_kind kind,
                                    struct ws_bytes name)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->part[i].kind == kind && !ws_name_compare(p->part[i].name, name))
			return &p->part[i];
	p->part[p->n] = (struct ws_diff_part){.kind = kind, .name = name};
	return &p->part[p->n++];
}

static int by_change(const void *pa, const void *pb)
{
	const struct ws_diff_part *a = pa, *b = pb;
	const double x = fabs(a->ns[1] - a->ns[0]), y = fabs(b->ns[1] - b->ns[0]);

	WS_ORDER_BY(a->kind, b->kind);
	WS_ORDER_BY(y, x);
	return ws_name_compare(a->name, b->name);
}

void ws_diff_find_parts(struct ws_diff *d, struct ws_diff_parts *out)
{
	/* the largest possible number of parts: each class, each use of a device, and the rest */
	size_t most = WS_USES + 4;

	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < d->side[s].nrecordings; r++)
			most += d->side[s].recordings[r].nclasses;
	*out = (struct ws_diff_parts){.part = ws_xarray(most, sizeof(*out->part))};
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];
		const struct ws_sample *of =
		        side->shown < side->nsamples ? side->samples[side->shown] : NULL;
		const struct ws_class_time *classes =
		        of ? side->recordings[side->shown_recording].classes + of->first_class
		           : NULL;
		double devices = 0; /* in the sums of the sample */

		out->whole_ns[s] = of ? (double)of->step_ns : 0;
		if (of && of->step_ns > 0) {
			int64_t all = 0;

			for (int use = 0; use < WS_USES; use++)
				all += of->use_ns[use];
			devices = (double)(all / of->step_ns);
		}
		if (of && ws_diff_is_of_host_ops(d)) {
			/* a part per class of operations on the host, and one for the rest of the
			 * step */
			for (size_t k = 0; k < of->nclasses; k++)
				part_of(out, WS_PART_OPERATION,
				        ws_texts_get(&d->names.texts, classes[k].class))
				        ->ns[s] = (double)classes[k].gpu_ns;
			if (of->step_ns > of->gpu_ns)
				part_of(out, WS_PART_IDLE, ws_bytes_of("in no operation"))->ns[s] =
				        (double)(of->step_ns - of->gpu_ns);
			else
				part_of(out, WS_PART_OVERLAP, ws_bytes_of("overlap of operations"))
				        ->ns[s] = (double)(of->step_ns - of->gpu_ns);
			continue;
		}
		if (devices < 1) {
			if (out->whole_ns[s] > 0)
				part_of(out, WS_PART_IDLE, ws_bytes_of("no device worked"))->ns[s] =
				        out->whole_ns[s];
			continue;
		}

		/* Classes of kernels but communication, whose share of a step is what nothing
		 * hides. What the classes are longer than the time in which kernels ran is their
		 * overlap. */
		int64_t left = of->use_ns[WS_USE_COMPUTE] - of->graph_ns;

		for (size_t k = 0; k < of->nclasses; k++) {
			const struct ws_bytes name =
			        ws_texts_get(&d->names.texts, classes[k].class);

			if (ws_name_is(name, "comm"))
				continue;
			part_of(out, WS_PART_CLASS, name)->ns[s] +=
			        (double)classes[k].gpu_ns / devices;
			left -= classes[k].gpu_ns;
		}
		if (of->graph_ns)
			part_of(out, WS_PART_GRAPHS, ws_bytes_of("CUDA graphs traced as a whole"))
			        ->ns[s] = (double)of->graph_ns / devices;
		if (left)
			part_of(out, WS_PART_OVERLAP, ws_bytes_of("overlap of kernels"))->ns[s] =
			        (double)left / devices;
		for (int use = WS_USE_COMPUTE + 1; use < WS_USES; use++)
			if (of->use_ns[use])
				part_of(out,
				        use == WS_USE_COPY         ? WS_PART_COPIES
				        : use == WS_USE_COLLECTIVE ? WS_PART_COMMUNICATION
				                                   : WS_PART_IDLE,
				        ws_bytes_of(ws_use_defs[use].name))
				        ->ns[s] += (double)of->use_ns[use] / devices;
	}
	ws_sort(out->part, out->n, sizeof(*out->part), by_change);
}

void ws_diff_parts_release(struct ws_diff_parts *p)
{
	free(p->part);
	*p = (struct ws_diff_parts){0};
}

/* --- in words ----------------------------------------------------------------------------- */

static double change_of(const struct ws_diff_part *p)
{
	return p->ns[1] - p->ns[0];
}

void ws_diff_print_part(const struct ws_diff_part *p, char *out, size_t size)
{
	const double change = p->kind == WS_PART_OVERLAP ? -change_of(p) : change_of(p);
	const struct ws_bytes name = ws_diff_class_name(p->name);
	const bool is_time = p->kind == WS_PART_IDLE && !ws_bytes_begin(p->name, "waiting ");

	snprintf(out, size, "%s %s %s%.*s%s", WS_SHOWN_TIME(fabs(change)),
	         change < 0 ? "less" : "more", is_time ? "time " : "", WS_SHOWN_MOST(name, 60),
	         p->kind == WS_PART_CLASS       ? " kernels"
	         : p->kind == WS_PART_OPERATION ? " operations"
	                                        : "");
}

/* The sentence names a second part only if it is at least this share of the whole change. */
#define NAMED_SHARE 0.25

void ws_diff_print_cause(const struct ws_diff *d, const struct ws_diff_parts *p, char *out,
                         size_t size)
{
	const double whole = p->whole_ns[1] - p->whole_ns[0];
	const struct ws_diff_part *first = NULL, *second = NULL;
	char name[2][128];

	*out = '\0';
	for (size_t i = 0; i < p->n; i++) {
		const struct ws_diff_part *part = &p->part[i];
		const double change = change_of(part);

		if (change * whole <= 0)
			continue;
		if (!first || fabs(change) > fabs(change_of(first))) {
			second = first;
			first = part;
		} else if (!second || fabs(change) > fabs(change_of(second))) {
			second = part;
		}
	}
	if (!first)
		return;
	ws_diff_print_part(first, name[0], sizeof(name[0]));
	if (second && fabs(change_of(second)) >= NAMED_SHARE * fabs(whole))
		ws_diff_print_part(second, name[1], sizeof(name[1]));
	else
		second = NULL;
	snprintf(out, size, "%s %s%s: %s%s%s.", WS_SHOWN_TIME(fabs(whole)),
	         whole < 0 ? "less" : "more", d->by_steps ? " per step" : "", name[0],
	         second ? ", " : "", second ? name[1] : "");
}

/* --- diff-waterfall ----------------------------------------------------------------------- */

static const char *const groups[] = {
        [WS_PART_OPERATION] = "operations",
        [WS_PART_CLASS] = "kernels",
        [WS_PART_GRAPHS] = "kernels",
        [WS_PART_OVERLAP] = "kernels",
        [WS_PART_COPIES] = "copies",
        [WS_PART_COMMUNICATION] = "communication",
        [WS_PART_IDLE] = "idle",
};

static struct ws_cell *add_part(struct ws_table *t, const char *group, struct ws_bytes name,
                                double a, double b)
{
	struct ws_cell *row = ws_table_row(t);

	ws_cell_set_str(t, &row[WS_TC_diff_waterfall_group], group);
	ws_cell_set_text(t, &row[WS_TC_diff_waterfall_part], name.ptr, name.len);
	ws_cell_set_real(&row[WS_TC_diff_waterfall_a_ns], a);
	ws_cell_set_real(&row[WS_TC_diff_waterfall_b_ns], b);
	ws_cell_set_real(&row[WS_TC_diff_waterfall_diff_ns], b - a);
	return row;
}

void ws_diff_note_waterfall(struct ws_diff *d, struct ws_table *t)
{
	struct ws_diff_parts parts;

	ws_diff_find_parts(d, &parts);
	/* Whether anything ran: true for every valid step or whole trace. */
	if (parts.whole_ns[0] > 0 && parts.whole_ns[1] > 0) {
		double at = parts.whole_ns[0];
		for (size_t i = 0; i < parts.n; i++) {
			const struct ws_diff_part *p = &parts.part[i];
			struct ws_cell *row =
			        add_part(t, groups[p->kind], p->name, p->ns[0], p->ns[1]);

			ws_cell_set_real(&row[WS_TC_diff_waterfall_from_ns], at);
			at += change_of(p);
			ws_cell_set_real(&row[WS_TC_diff_waterfall_to_ns], at);
		}
		add_part(t, "total", ws_bytes_of(d->by_steps ? "step" : "elapsed time"),
		         parts.whole_ns[0], parts.whole_ns[1]);
		ws_table_note(t, "%s",
		              d->by_steps ? "The parts are of one step per side, to which they add "
		                            "up: the median step of the median recording."
		                          : "The parts add up to the elapsed time, from the first "
		                            "device work to the last.");
		if (!ws_diff_is_of_host_ops(d))
			ws_table_note(t, "Kernels that ran at the same time count once: their "
			                 "overlap is taken off. With several devices all times are "
			                 "means of a device.");
		ws_diff_note_samples(d, t);
	} else {
		ws_table_set_not_recorded(t, "%s", WS_DIFF_NOTHING);
	}
	ws_diff_parts_release(&parts);
}

/* --- diff-idle ---------------------------------------------------------------------------- */

/* device: its index; SIZE_MAX: all devices. */
static void add_device(const struct ws_diff *d, struct ws_table *t, const char *name, size_t device)
{
	double ns[2][WS_USES] = {{0}, {0}}, all[2] = {0, 0};
	bool has[2];

	for (int s = 0; s < 2; s++) {
		/* the uses of the device in the shown recording's sample */
		const struct ws_side *side = &d->side[s];
		const struct ws_recording *rec = &side->recordings[side->shown_recording];
		const size_t sample = (size_t)(side->samples[side->shown] - rec->samples);

		for (size_t k = 0; k < rec->ndevice_times; k++)
			for (int use = 0; use < WS_USES && (device == SIZE_MAX || device == k);
			     use++)
				ns[s][use] += (double)rec->devices[k].of_sample[sample].ns[use];
		has[s] = device == SIZE_MAX || device < rec->ndevice_times;
		for (int use = 0; use < WS_USES; use++)
			all[s] += ns[s][use];
		has[s] &= all[s] > 0;
	}
	for (int use = 0; use < WS_USES; use++) {
		if (!ns[0][use] && !ns[1][use] && use != WS_USE_COMPUTE)
			continue;
		struct ws_cell *row = ws_table_row(t);
		ws_cell_set_str(t, &row[WS_TC_diff_idle_device], name);
		ws_cell_set_str(t, &row[WS_TC_diff_idle_use], ws_use_defs[use].name);
		if (has[0]) {
			ws_cell_set_real(&row[WS_TC_diff_idle_a_ns], ns[0][use]);
			ws_cell_set_real(&row[WS_TC_diff_idle_share_a],
			                 ws_stat_percent(ns[0][use], all[0]));
		}
		if (has[1]) {
			ws_cell_set_real(&row[WS_TC_diff_idle_b_ns], ns[1][use]);
			ws_cell_set_real(&row[WS_TC_diff_idle_share_b],
			                 ws_stat_percent(ns[1][use], all[1]));
		}
		if (has[0] && has[1])
			ws_cell_set_real(&row[WS_TC_diff_idle_diff_ns], ns[1][use] - ns[0][use]);
	}
}

void ws_diff_note_idle(struct ws_diff *d, struct ws_table *t)
{
	const struct ws_recording *a = &d->side[0].recordings[d->side[0].shown_recording],
	                          *b = &d->side[1].recordings[d->side[1].shown_recording];
	const size_t n = a->ndevice_times > b->ndevice_times ? a->ndevice_times : b->ndevice_times;

	if (!n) {
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
		return;
	}
	for (size_t device = 0; device < n; device++) {
		const struct ws_recording *of = device < a->ndevice_times ? a : b;
		char name[24];

		snprintf(name, sizeof(name), "%llu", (unsigned long long)of->devices[device].id);
		add_device(d, t, name, device);
	}
	if (n > 1)
		add_device(d, t, "all", SIZE_MAX);
	ws_table_note(t, "The rows of a device add up to %s.",
	              d->by_steps ? "the median step of the median recording"
	                          : "the time from the first device work to the last");
	ws_diff_note_samples(d, t);
}
