/*
 * Checks whether both sides did the same work: docs/reference/compare.md.
 */

#include "report/diff/private.h"

/* Maximum share of a side's GPU time without a counterpart of equal size; above it the work is
 * different. */
#define MOST_UNMATCHED 0.05
/* Maximum share of calls or GPU time of an important class without a counterpart. */
#define MOST_UNMATCHED_OF_CLASS 0.01

bool ws_diff_is_like(const struct ws_diff *d, const struct ws_match_kind *kind, double *ratio)
{
	double size[2] = {kind->flops[0], kind->flops[1]};
	const bool alone = kind->n[0] == 1 && kind->n[1] == 1;

	*ratio = 1;
	if (kind->criterion == WS_NONE)
		return false;
	if (alone && !(size[0] > 0 && size[1] > 0)) {
		for (int s = 0; s < 2; s++)
			size[s] = ws_names_item(&d->names, kind->item[s])->volume;
	}
	if (size[0] > 0 && size[1] > 0)
		*ratio = size[1] / size[0];
	return !ws_work_apart(size[0], size[1]);
}

/* --- facts of the workload ------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add_reason(struct ws_diff *d, const char *fmt,
                                                             ...)
{
	va_list args;

	if (d->nreasons == WS_DIFF_MAX_REASONS)
		return;
	va_start(args, fmt);
	vsnprintf(d->reasons[d->nreasons], sizeof(*d->reasons), fmt, args);
	va_end(args);
	for (char *p = d->reasons[d->nreasons++]; *p; p++)
		if (*p > 0 && *p < ' ')
			*p = '?';
}

/* Facts whose different values mean different work. */
static const struct {
	const char *key, *word;
} work_facts[] = {
        {"workload.model", "model"},
        {"workload.layers", "layers"},
        {"workload.batch", "batch"},
        {"workload.context", "context"},
        {"workload.phase", "phase"},
        {"workload.kernel_width", "kernel width"},
        {"workload.depth_multiplier", "depth multiplier"},
};
#define NWORK_FACTS (sizeof(work_facts) / sizeof(*work_facts))

static bool has_steps(const struct ws_side *s)
{
	return s->recordings[0].has_steps;
}

static uint8_t phases_of(const struct ws_side *s)
{
	return s->nsamples ? s->samples[0]->phases : 0;
}

/* --- calls, sizes and unmatched work -------------------------------------------- */

/* Classes whose number of calls is meaningful to users. */
static const char *const counted_classes[] = {"attention", "gemm", "conv", "comm"};
#define NCOUNTED (sizeof(counted_classes) / sizeof(*counted_classes))
/* All but the last are products. */
#define NPRODUCTS (NCOUNTED - 1)
static const char *const counted_names[NCOUNTED] = {"attention", "matmul", "convolution",
                                                    "communication"};

struct counted {
	double calls[2], unmatched[2]; /* per sample */
	double unmatched_ns[2];
};

/* Prints a number of calls, which may be fractional as a mean over samples. */
static const char *print_calls(double calls, char out[32])
{
	snprintf(out, 32, fabs(calls - round(calls)) < 0.05 ? "%.0f" : "%.1f", calls);
	return out;
}

/* The number of calls of each class of products, per sample. */
static void count_products(const struct ws_diff *d, struct ws_recording *r, double calls[NPRODUCTS])
{
	uint64_t class[NPRODUCTS]; /* texts; 0: nothing has the class */

	for (size_t c = 0; c < NPRODUCTS; c++) {
		class[c] = ws_strtab_find(&d->names.texts.known, counted_classes[c],
		                          strlen(counted_classes[c]));
		calls[c] = 0;
	}
	for (size_t i = 0; i < r->nsamples; i++)
		for (size_t k = 0; k < r->samples[i].ncalls; k++) {
			const struct ws_work_item *item = ws_names_item(
			        &d->names,
			        ws_recording_call(r, r->samples[i].first_call + k)->item);

			for (size_t c = 0; c < NPRODUCTS && !item->contains_its_class; c++)
				calls[c] += item->class == class[c] ? 1 / (double)r->nsamples : 0;
		}
}

/* Recordings of one side must be of one thing, too. */
void ws_diff_compare_recordings(struct ws_diff *d, int s)
{
	struct ws_side *side = &d->side[s];
	double calls[2][NPRODUCTS];
	char number[2][32];

	if (side->nrecordings > 1)
		count_products(d, &side->recordings[0], calls[0]);
	for (size_t r = 1; r < side->nrecordings; r++) {
		struct ws_recording *first = &side->recordings[0], *other = &side->recordings[r];

		for (size_t i = 0; i < NWORK_FACTS; i++) {
			if (ws_recording_fact(first, &d->names, work_facts[i].key) ==
			    ws_recording_fact(other, &d->names, work_facts[i].key))
				continue;
			add_reason(d, "the recordings of %s differ in their %s", side->name,
			           work_facts[i].word);
			return;
		}
		if (first->has_steps != other->has_steps) {
			add_reason(d, "only some recordings of %s have steps", side->name);
			return;
		}
		count_products(d, other, calls[1]);
		for (size_t c = 0; c < NPRODUCTS && !d->opts.paired; c++)
			if (ws_work_apart(calls[0][c], calls[1][c])) {
				add_reason(d, "recordings of %s with %s and %s %s calls%s",
				           side->name, print_calls(calls[0][c], number[0]),
				           print_calls(calls[1][c], number[1]), counted_names[c],
				           first->has_steps ? " per step" : "");
				return;
			}
	}
}

/* GPU time of kernels per sample, by their names as one text. */
struct of_kernels {
	double calls[2], ns; /* without a counterpart; ns: of A */
	bool runs_in_a;
};

/*
 * A's GPU time per sample for which B has neither a counterpart nor, outside of matched work, the
 * same kernels. *may_be_fused: B has kernels that A lacks, which may do that work.
 */
static double left_out_ns(const struct ws_diff *d, bool *may_be_fused)
{
	struct of_kernels *of = ws_xarray(d->names.texts.n + 1, sizeof(*of));
	double left_ns = 0;

	*may_be_fused = false;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->work[s].n; i++) {
			const struct ws_work_sum *sum =
			        ws_spill_row((struct ws_spill *)&d->work[s].rows, sizeof(*sum), i);
			const struct ws_match_kind *kind = ws_match_kind(&d->match, sum->kind);
			struct of_kernels *k =
			        &of[ws_names_item(&d->names, kind->item[s])->kernels];

			if (s && !k->runs_in_a)
				*may_be_fused = true;
			k->runs_in_a |= !s;
			if (kind->criterion != WS_NONE)
				continue;
			k->calls[s] += (double)sum->instances / (double)d->side[s].nsamples;
			k->ns += s ? 0 : (double)sum->gpu_ns / (double)d->side[s].nsamples;
		}
	for (uint32_t i = 0; i <= d->names.texts.n; i++)
		if (of[i].calls[0] > of[i].calls[1])
			left_ns += of[i].ns * (1 - of[i].calls[1] / of[i].calls[0]);
	free(of);
	return left_ns;
}

void ws_diff_find_reasons(struct ws_diff *d)
{
	const struct ws_recording *a = &d->side[0].recordings[0], *b = &d->side[1].recordings[0];

	for (size_t i = 0; i < NWORK_FACTS; i++) {
		struct ws_bytes value[2];

		for (int s = 0; s < 2; s++)
			value[s] =
			        ws_texts_get(&d->names.texts, ws_side_fact(&d->side[s], &d->names,
			                                                   work_facts[i].key));
		if (value[0].len && value[1].len && ws_name_compare(value[0], value[1]))
			add_reason(d, "%s %.*s and %.*s", work_facts[i].word,
			           WS_SHOWN_MOST(value[0], 40), WS_SHOWN_MOST(value[1], 40));
	}
	ws_diff_compare_recordings(d, 0);
	ws_diff_compare_recordings(d, 1);
	if (has_steps(&d->side[0]) != has_steps(&d->side[1])) {
		const int with = !has_steps(&d->side[0]);

		add_reason(d,
		           d->side[!with].recordings[0].incomplete_steps
		                   ? "%s has measured steps, but steps of %s lack records"
		                   : "%s has steps, %s has none (--step PATTERN names them)",
		           d->side[with].name, d->side[!with].name);
	} else if (phases_of(&d->side[0]) && phases_of(&d->side[1]) &&
	           phases_of(&d->side[0]) != phases_of(&d->side[1])) {
		char list[2][64] = {"", ""};

		for (int s = 0; s < 2; s++)
			for (int p = 0; p < WS_PHASE_OTHER; p++)
				if (phases_of(&d->side[s]) >> p & 1)
					ws_say_add(list[s], sizeof(*list), "%s%s",
					           *list[s] ? ", " : "",
					           ws_phase_name((enum ws_phase)p));
		add_reason(d, "phases %s and %s", list[0], list[1]);
	}
	if (a->ndevices && b->ndevices && a->ndevices != b->ndevices)
		add_reason(d, "%u and %u devices", a->ndevices, b->ndevices);
	struct counted of[NCOUNTED] = {{{0}, {0}, {0}}};
	const size_t nfacts = d->nreasons;
	double flops[2] = {0, 0}; /* of all products, per sample */
	bool are_known = true;    /* … of each of them; and there is as much communication */
	bool has_products[2] = {false, false}, differ_in_calls = false;
	const char *per = d->by_steps ? " per step" : "";

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->work[s].n; i++) {
			const struct ws_work_sum *sum =
			        ws_spill_row(&d->work[s].rows, sizeof(*sum), i);
			const struct ws_match_kind *kind = ws_match_kind(&d->match, sum->kind);
			const uint32_t class = ws_names_item(&d->names, kind->item[s])->class;
			const struct ws_bytes name = ws_texts_get(&d->names.texts, class);
			const double calls = (double)sum->instances / (double)d->side[s].nsamples;
			size_t c = 0;

			while (c < NCOUNTED && !ws_name_is(name, counted_classes[c]))
				c++;
			if (c == NCOUNTED ||
			    ws_names_item(&d->names, kind->item[s])->contains_its_class)
				continue;
			of[c].calls[s] += calls;
			if (c < NPRODUCTS) {
				const float of_item =
				        ws_names_item(&d->names, kind->item[s])->flops;

				has_products[s] = true;
				flops[s] += of_item * calls;
				are_known &= of_item > 0;
			}
			if (kind->criterion != WS_NONE)
				continue;
			of[c].unmatched[s] += calls;
			of[c].unmatched_ns[s] += (double)sum->gpu_ns;
		}
	for (size_t c = 0; c < NCOUNTED; c++) {
		const double most = fmax(of[c].calls[0], of[c].calls[1]);
		const int s = !d->opts.paired && of[c].unmatched[1] > of[c].unmatched[0];
		char number[2][32];
		bool differ = false;

		for (int k = 0; k < (d->opts.paired ? 1 : 2); k++)
			differ |= of[c].unmatched[k] > MOST_UNMATCHED_OF_CLASS * most ||
			          of[c].unmatched_ns[k] >
			                  MOST_UNMATCHED_OF_CLASS * (double)d->side[k].gpu_ns;
		differ_in_calls |= differ && c < NPRODUCTS;
		are_known &= !differ || c < NPRODUCTS;
		if (!differ)
			continue;
		if (fabs(of[c].calls[0] - of[c].calls[1]) < 0.05)
			add_reason(d, "%s of %s %s calls%s of %s have no counterpart",
			           print_calls(of[c].unmatched[s], number[0]),
			           print_calls(of[c].calls[s], number[1]), counted_names[c], per,
			           d->side[s].name);
		else
			add_reason(d, "%s and %s %s calls%s",
			           print_calls(of[c].calls[0], number[0]),
			           print_calls(of[c].calls[1], number[1]), counted_names[c], per);
	}

	static const char prefix[] = "MGTPE";
	double by = 1e6;
	size_t p = 0;

	while (prefix[p + 1] && fmax(d->flops[0], d->flops[1]) / by >= 999.5)
		by *= 1000, p++;
	/* what B does beside A's work makes no false speed-up */
	if (ws_work_apart(d->flops[0], d->flops[1]) &&
	    !(d->opts.paired && d->flops[1] > d->flops[0]))
		add_reason(d, "%.3g and %.3g %cFLOP%s in the matched operations", d->flops[0] / by,
		           d->flops[1] / by, prefix[p], d->by_steps ? " per step" : "");
	for (int s = 0; s < (d->opts.paired ? 1 : 2); s++) {
		const struct ws_side *side = &d->side[s];
		const double all = (double)side->gpu_ns, matched = (double)d->matched_ns[s],
		             like = all - (double)d->unlike_ns[s];

		if (!d->side[!s].gpu_ns || like >= (1 - MOST_UNMATCHED) * all)
			continue;
		if (d->opts.paired && matched - like <= MOST_UNMATCHED * all) {
			bool may_be_fused;
			const double left_out =
			        left_out_ns(d, &may_be_fused) * (double)side->nsamples;

			if (may_be_fused)
				d->fused_share = left_out / all;
			if (may_be_fused || left_out <= MOST_UNMATCHED * all)
				continue;
		}
		if (matched < (1 - MOST_UNMATCHED) * all)
			add_reason(d, "only %.3g %% of the %s of %s has a counterpart",
			           100 * matched / all, ws_diff_work_time(d), side->name);
		else if (!ws_work_apart(d->flops[0], d->flops[1]))
			add_reason(d, "%.3g %% of the %s of %s has a counterpart of another size",
			           100 * (matched - like) / all, ws_diff_work_time(d), side->name);
	}
	d->lacks_products = has_products[0] && !has_products[1];
	d->is_arranged_otherwise = d->opts.paired && !nfacts && are_known && flops[0] > 0 &&
	                           flops[1] >= (1 - WS_WORK_APART) * flops[0] &&
	                           (differ_in_calls || ws_work_apart(d->flops[0], d->flops[1]));
}
