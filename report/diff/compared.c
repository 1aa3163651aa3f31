/*
 * The comparison as relations: rows of phases, ranges, classes and work with their times and
 * grades. The queries of diff-phases, diff-ranges, diff-ops, diff-classes, diff-kernels and
 * diff-only are in tables.def.
 */

#include "report/diff/private.h"

/* --- columns of both sides ------------------------------------------------------------------ */

static void put_mean_count(struct ws_put *out, const struct ws_diff *d,
                           const struct ws_diff_row *row, const uint64_t counts[2], int s)
{
	const int64_t n = (int64_t)d->side[s].nsamples, count = (int64_t)counts[s];

	if (!row->instances[s])
		return;
	if (count % n)
		ws_put_real(out, (double)count / (double)n);
	else
		ws_put_int(out, count / n);
}

static void put_deviation(struct ws_put *out, const struct ws_diff_row *row, int s)
{
	const struct ws_diff_sums *sums = &row->sums[s];
	double squares = 0;

	for (size_t i = 0; i < sums->n; i++) {
		const double off = (double)sums->sum[i].ns - row->mean[s];

		squares += off * off;
	}
	ws_put_real(out, sqrt(squares / (double)(sums->n - 1))); /* unknown for one sample */
}

/* Share of the GPU time of all kernels. */
static void put_share(struct ws_put *out, const struct ws_diff *d, const struct ws_diff_row *row,
                      int s)
{
	const struct ws_side *side = &d->side[s];

	if (side->shown < side->nsamples)
		ws_put_real(out, ws_stat_percent(row->shown[s],
		                                 (double)side->samples[side->shown]->gpu_ns));
}

/* Does the displayed sample of the side have this work? Otherwise there is no ratio. */
static bool is_typical(const struct ws_diff_row *row, int s)
{
	return row->c.typical[s] > 1 && (row->like_calls[s] || row->instances[s]);
}

static void put_tensor(struct ws_put *out, uint32_t tensor)
{
	const char *shown = tensor ? ws_tensor_shown((enum ws_tensor)(tensor - 1)) : "";

	if (*shown)
		ws_put_str(out, shown);
}

/* --- other columns -------------------------------------------------------------------------- */

static const char *const measures[] = {
        [WS_MEASURE_STEP] = "step", [WS_MEASURE_GPU] = "GPU", [WS_MEASURE_WALL] = "wall"};
static const char *const matches[] = {"both", "only in A", "only in B"};

static bool has_ratio(const struct ws_diff *d, const struct ws_diff_row *row)
{
	return !ws_diff_is_unlike(d) && row->c.grade != WS_GRADE_UNLIKE && is_typical(row, 0) &&
	       is_typical(row, 1) && row->instances[0] && row->instances[1];
}

static void put_matched_by(struct ws_put *out, const struct ws_diff_row *row)
{
	const struct ws_diff_key *k = &row->key;
	char text[64];

	if (!k->matched_by)
		ws_put_str(out, matches[row->instances[0] ? WS_DIFF_ONLY_A : WS_DIFF_ONLY_B]);
	else if (k->count[0])
		ws_put_copy(out, text,
		            (size_t)snprintf(text, sizeof(text), "matched neighbours: %u became %u",
		                             k->count[0], k->count[1]));
	else
		ws_put_str(out, ws_matched_by_name((enum ws_matched_by)(k->matched_by - 1)));
}

/* --- the relations -------------------------------------------------------------------------- */

#define TEXT(text) ws_put_text(out, ws_texts_get(&d->names.texts, text))
#define COMPARED(X)                                                                               \
	X(side, if (k->side) ws_put_str(out, k->side == 1 ? "A" : "B"))                           \
	X(path, TEXT(k->path))                                                                    \
	X(domain, TEXT(k->domain))                                                                \
	X(style, ws_put_str(out, k->style ? "StartEnd" : "PushPop"))                              \
	X(match, ws_put_str(out, matches[k->match]))                                              \
	X(measure, ws_put_str(out, k->measure == WS_MEASURE_GPU && ws_diff_is_of_host_ops(d)      \
	                                   ? "operations"                                         \
	                                   : measures[k->measure]))                               \
	X(phase, ws_put_str(out, k->phase == WS_PHASES ? "total"                                  \
	                                               : ws_phase_name((enum ws_phase)k->phase))) \
	X(op, TEXT(k->op))                                                                        \
	X(shape, TEXT(k->shape))                                                                  \
	X(shape_b, TEXT(k->shape_b))                                                              \
	X(class, TEXT(k->class))                                                                  \
	X(dtype_a, TEXT(k->dtype[0]))                                                             \
	X(dtype_b, TEXT(k->dtype[1]))                                                             \
	X(kernel_a, TEXT(k->kernels[0]))                                                          \
	X(kernel_b, TEXT(k->kernels[1]))                                                          \
	X(tensor_a, put_tensor(out, k->tensor[0]))                                                \
	X(tensor_b, put_tensor(out, k->tensor[1]))                                                \
	X(matched_by, put_matched_by(out, row))                                                   \
	X(samples_a, ws_put_count(out, d->side[0].nsamples))                                      \
	X(samples_b, ws_put_count(out, d->side[1].nsamples))                                      \
	X(instances_a, put_mean_count(out, d, row, row->instances, 0))                            \
	X(instances_b, put_mean_count(out, d, row, row->instances, 1))                            \
	X(kernels_a, put_mean_count(out, d, row, row->kernels, 0))                                \
	X(kernels_b, put_mean_count(out, d, row, row->kernels, 1))                                \
	X(mean_a_ns, ws_put_real(out, row->mean[0]))                                              \
	X(mean_b_ns, ws_put_real(out, row->mean[1]))                                              \
	X(shown_a_ns, ws_put_real(out, row->shown[0]))                                            \
	X(shown_b_ns, ws_put_real(out, row->shown[1]))                                            \
	X(std_a_ns, put_deviation(out, row, 0))                                                   \
	X(std_b_ns, put_deviation(out, row, 1))                                                   \
	X(share_a, put_share(out, d, row, 0))                                                     \
	X(share_b, put_share(out, d, row, 1))                                                     \
	X(call_a_ns,                                                                              \
	  ws_put_real(out, ws_stat_ratio((double)row->call_ns[0], (double)row->instances[0])))    \
	X(call_b_ns,                                                                              \
	  ws_put_real(out, ws_stat_ratio((double)row->call_ns[1], (double)row->instances[1])))    \
	X(typical_a_ns, if (is_typical(row, 0)) ws_put_real(out, row->c.typical[0]))              \
	X(typical_b_ns, if (is_typical(row, 1)) ws_put_real(out, row->c.typical[1]))              \
	X(ratio, if (has_ratio(d, row)) ws_put_real(out, row->c.ratio))                           \
	X(low, if (has_ratio(d, row)) ws_put_real(out, row->c.low))                               \
	X(high, if (has_ratio(d, row)) ws_put_real(out, row->c.high))                             \
	X(grade, if (row->instances[0] && row->instances[1] && row->c.grade != WS_GRADE_NONE)     \
	                 ws_put_str(out, ws_grade_name(row->c.grade)))                            \
	X(diff_ns, if (has_both) ws_put_real(out, row->c.typical[1] - row->c.typical[0]))         \
	X(low_ns, if (has_noise) ws_put_real(out, row->c.typical[0] * (row->c.low - 1)))          \
	X(high_ns, if (has_noise) ws_put_real(out, row->c.typical[0] * (row->c.high - 1)))        \
	X(noise,                                                                                  \
	  if (has_noise) ws_put_str(out, ws_grade_is_different(row->c.grade) || row->by_clocks    \
	                                         ? "beyond noise"                                 \
	                                         : "within noise"))

static void put_compared(void *ctx, size_t number, int column, struct ws_put *out)
{
	const struct ws_compared *from = ctx;
	const struct ws_diff *d = from->d;
	const struct ws_diff_row *row = &from->rows.row[number];
	const struct ws_diff_key *k = &row->key;
	const bool has_both = !isnan(row->mean[0]) && !isnan(row->mean[1]),
	           has_noise = has_both && d->by_steps && !ws_diff_is_unlike(d);

	WS_PUT_COLUMN(column, COMPARED);
}

void ws_diff_gather_classes(struct ws_diff *d, struct ws_diff_rows *rows)
{
	rows->noise = WS_DIFF_NOISE_GPU;
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		for (size_t i = 0; i < side->nsamples; i++) {
			const struct ws_class_time *classes =
			        ws_side_recording(side, i)->classes + side->samples[i]->first_class;

			for (size_t k = 0; k < side->samples[i]->nclasses; k++) {
				const struct ws_diff_key key = {.class = classes[k].class};
				struct ws_diff_row *row = ws_diff_row_of(rows, &key);

				row->instances[s] += classes[k].kernels;
				ws_diff_sum_of(row, s, (uint32_t)i)->ns += classes[k].gpu_ns;
				row->tensor_ns[s] += classes[k].tensor_ns;
				row->unknown_ns[s] += classes[k].unknown_ns;
			}
		}
	}
	ws_diff_rows_grade(d, rows);
}

#define BY(name, ...)                                                             \
	static void gather_##name(struct ws_diff *d, struct ws_diff_rows *rows)   \
	{                                                                         \
		ws_diff_gather_work(d, &(struct ws_diff_key){__VA_ARGS__}, rows); \
	}
#define ALL UINT32_MAX
#define BOTH             \
	{                \
		ALL, ALL \
	}
BY(ops, .op = ALL, .phase = ALL, .shape = ALL, .class = ALL, .dtype = BOTH, .matched_by = ALL,
   .count = BOTH, .shape_b = ALL)
BY(calls, .class = ALL)
BY(kernels, .op = ALL, .phase = ALL, .kernels = BOTH, .tensor = BOTH)
BY(only, .side = ALL, .path = ALL, .class = ALL)

/* A name, and the function that gathers its rows. */
#define RELATIONS(X)                                \
	X(compared_phases, ws_diff_gather_phases)   \
	X(compared_ranges, ws_diff_gather_ranges)   \
	X(compared_classes, ws_diff_gather_classes) \
	X(compared_ops, gather_ops)                 \
	X(compared_calls, gather_calls)             \
	X(compared_kernels, gather_kernels)         \
	X(unmatched, gather_only)

static size_t count_compared(void *ctx)
{
	struct ws_compared *c = ctx;

	if (!c->is_made)
		c->gather(c->d, &c->rows);
	c->is_made = true;
	return c->rows.n;
}

void ws_diff_relations(struct ws_query *q, struct ws_diff *d)
{
	static const struct ws_relation relations[] = {
#define X(name, gather) {#name, COMPARED(WS_COLUMN_NAME), count_compared, put_compared},
	        RELATIONS(X)
#undef X
	};
	static void (*const gather[])(struct ws_diff *,
	                              struct ws_diff_rows *) = {RELATIONS(WS_LIST_SECOND)};

	for (size_t i = 0; i < WS_DIFF_RELATIONS; i++) {
		if (d)
			d->compared[i] = (struct ws_compared){.d = d, .gather = gather[i]};
		ws_query_add(q, &relations[i], d ? &d->compared[i] : NULL);
	}
	ws_query_add(q, &ws_diff_relation_fact, d);
	_Static_assert(sizeof(relations) / sizeof(*relations) == WS_DIFF_RELATIONS,
	               "each has a place");
}

void ws_diff_relations_release(struct ws_diff *d)
{
	for (size_t i = 0; i < WS_DIFF_RELATIONS; i++) {
		ws_diff_rows_release(&d->compared[i].rows);
		d->compared[i].is_made = false;
	}
}
