/*
 * The first sheet: one page about the run.
 */

#include "report/advice/advice.h"
#include "report/analysis/calibration.h"
#include "report/model/load.h"
#include "report/names/names.h"
#include "report/tables/tables.h"

struct summary_page {
	const struct ws_table_context *tab;
	struct ws_table *t;
	const char *section; /* of the lines to come */
};

/* --- lines of the first sheet, and the sections about where the trace comes from ------------ */

static struct ws_cell *page_row(const struct summary_page *p, struct ws_bytes item)
{
	struct ws_cell *row = ws_table_row(p->t);

	ws_cell_set_str(p->t, &row[WS_TC_summary_section], p->section);
	ws_cell_set_text(p->t, &row[WS_TC_summary_item], item.ptr, item.len);
	return row;
}

static void page_text(const struct summary_page *p, struct ws_bytes item, struct ws_bytes text)
{
	struct ws_cell *row = page_row(p, item);

	ws_cell_set_text(p->t, &row[WS_TC_summary_text], text.ptr, text.len);
}

static void page_words(const struct summary_page *p, const char *item, const char *text)
{
	page_text(p, ws_bytes_of(item), ws_bytes_of(text));
}

static void page_count(const struct summary_page *p, const char *item, uint64_t count)
{
	ws_cell_set_int(&page_row(p, ws_bytes_of(item))[WS_TC_summary_count], (int64_t)count);
}

static void page_time(const struct summary_page *p, const char *item, double ns)
{
	ws_cell_set_real(&page_row(p, ws_bytes_of(item))[WS_TC_summary_time_ns], ns);
}

static void page_value(const struct summary_page *p, const char *item, double value)
{
	ws_cell_set_real(&page_row(p, ws_bytes_of(item))[WS_TC_summary_value], value);
}

static struct ws_cell *page_share(const struct summary_page *p, struct ws_bytes item,
                                  uint64_t kernels, int64_t gpu_ns)
{
	struct ws_cell *row = page_row(p, item);

	ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)kernels);
	ws_cell_set_int(&row[WS_TC_summary_time_ns], gpu_ns);
	ws_cell_set_share(&row[WS_TC_summary_share], gpu_ns, p->tab->sel->gpu_ns);
	return row;
}

/* --- how much of the devices' arithmetic the steps used ------------------------------------- */

/* A share of a peak: Share (%) is of the GPU time. */
static void add_utilization(const struct summary_page *p, const char *item, double ns,
                            const struct ws_utilization *use)
{
	struct ws_cell *row = page_row(p, ws_bytes_of(item));
	double percent = ws_stat_percent(ns, (double)use->step_sum_ns);
	const char *over = ws_over_peak(percent);
	char text[sizeof(use->obstacle) + sizeof(use->basis)];

	snprintf(text, sizeof(text), "%s%s", use->obstacle[0] ? "not known: " : "of ",
	         use->obstacle[0] ? use->obstacle : use->basis);
	ws_cell_set_str(p->t, &row[WS_TC_summary_text], over ? over : text);
	ws_cell_set_real(&row[WS_TC_summary_value], percent);
}

struct missing {
	const struct summary_page *page;
	unsigned counters, over_0;
};

/* Sources without a loss are only in the table `losses`. */
static void add_missing(void *ctx, const struct ws_missing *missing)
{
	struct missing *all = ctx;

	all->counters++;
	if (!missing->count)
		return;
	all->over_0++;
	struct ws_cell *row = page_row(all->page, missing->cause);
	ws_cell_set_str(all->page->t, &row[WS_TC_summary_text], missing->meaning);
	ws_cell_set_int(&row[WS_TC_summary_count],
	                missing->count > INT64_MAX ? INT64_MAX : (int64_t)missing->count);
}

/*
 * How long a step takes, how steady it is, and how much of the devices' arithmetic it uses.
 */

#define STEADY_PERCENT 5 /* standard deviation of the steps, of their mean */

/* Phases of at least a thousandth of the step. The table `steps` has all phases, and the host's
 * times. */
static void add_phases(const struct summary_page *p, const struct ws_step_times *times,
                       double step_ns, enum ws_measure measure, const char *before)
{
	for (int phase = 0; phase < WS_PHASES; phase++) {
		struct ws_stat stat;
		char item[48];

		if (!ws_step_phase_present(times, phase))
			continue;
		ws_step_stat(p->tab->m, times, phase, measure, &stat);
		snprintf(item, sizeof(item), "%s%s, mean", before,
		         ws_phase_name((enum ws_phase)phase));
		if (stat.n && stat.mean >= step_ns / 1000)
			page_time(p, item, stat.mean);
	}
}

static void add_step_times(const struct summary_page *p, const struct ws_step_times *times)
{
	const struct ws_model *m = p->tab->m;
	int64_t tokens = ws_fact_number(m, "tokens_per_step");
	int64_t images = ws_fact_number(m, "images_per_step");
	struct ws_stat total, host;

	if (!times->nmeasured) {
		struct ws_arena *temp = p->tab->temp;

		if (m->nmeasured) {
			page_words(p, "measured steps",
			           "none in this report: a filter leaves them out");
			return;
		}

		/* ranges that may be the steps, and the option to type */
		const struct ws_step_candidates *found = ws_step_candidates(m, p->tab->sel);
		struct ws_steps_hint hint = ws_steps_hint(temp, m, found);
		page_words(p, "measured steps",
		           ws_arena_format(temp, "%s%s%s", hint.words, hint.command, hint.numbers));
		for (size_t i = 0; i < found->n; i++) {
			const struct ws_step_candidate *c = &found->best[i];
			struct ws_cell *row = page_row(p, ws_bytes_of("candidate for steps"));

			ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)c->count);
			ws_cell_set_real(&row[WS_TC_summary_time_ns], c->mean_ns);
			ws_cell_set_str(
			        p->t, &row[WS_TC_summary_text],
			        ws_arena_format(temp, "--step '%s': mean time; %.3g %% of GPU time",
			                        c->pattern, c->percent));
		}
		return;
	}

	/* FLOPs of the operations in the measured steps; -1: no operation has a number. */
	struct ws_joined_rows *rows = p->tab->sel->rows;
	int64_t flops = -1;

	WS_EACH_RANGE(rows, i, r) {
		const struct ws_op_facts *op = ws_joined_range_op(m, r);

		if (!r->is_counted || op->flops < 0 || !ws_range_selected(m, p->tab->sel, r, i) ||
		    !ws_step_selected(m, p->tab->sel, ws_joined_range_step(rows, r)))
			continue;
		flops = op->flops + (flops < 0 ? 0 : flops);
	}
	ws_step_stat(m, times, WS_PHASES, WS_MEASURE_STEP, &total);
	ws_step_stat(m, times, WS_PHASES, WS_MEASURE_WALL, &host);
	page_count(p, "measured steps", total.n);
	page_time(p, total.n == 1 ? "step" : "step, mean", total.mean);

	/* How steady the steps are, in words. */
	double spread = ws_stat_percent(total.std, total.mean);
	char text[160];

	if (total.n < 3)
		snprintf(text, sizeof(text), "cannot tell: %llu measured %s; 3 or more are needed",
		         (unsigned long long)total.n, total.n == 1 ? "step" : "steps");
	else
		snprintf(text, sizeof(text),
		         "%s: the standard deviation is %.1f %% of the mean over %llu steps",
		         spread > STEADY_PERCENT ? "unsteady" : "steady", spread,
		         (unsigned long long)total.n);
	page_words(p, "how steady it is", text);
	if (ws_steps_apart(m))
		page_words(p, "not measured", ws_steps_apart_words(m, p->tab->temp));
	const struct ws_calibration_cost cost = ws_calibration_cost(p->tab->m);

	if (cost.pairs) {
		page_words(p, "what recording costs",
		           ws_calibration_words(p->tab->m, p->tab->temp));
		page_time(p, "step beside an unrecorded one, median", cost.recorded_ns);
		page_time(p, "unrecorded step, median", cost.unrecorded_ns);
	}
	if (total.n > 1) {
		page_time(p, "step, sample standard deviation", total.std);
		page_time(p, "step, median", total.median);
		page_time(p, "step, shortest", (double)total.min);
		page_time(p, "step, longest", (double)total.max);
	}

	/* Processing prompts and generating tokens are different work, so each has its own mean. */
	struct ws_batch_steps batch[WS_BATCH_KINDS];
	const size_t n = ws_step_batches(p->tab->m, times, batch);

	for (size_t i = 0; i < n; i++) {
		struct ws_cell *row =
		        page_row(p, ws_bytes_of(ws_arena_format(p->tab->temp, "%s step, mean",
		                                                batch[i].kind)));

		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)batch[i].steps);
		ws_cell_set_real(&row[WS_TC_summary_time_ns], batch[i].ns);
		ws_cell_set_str(p->t, &row[WS_TC_summary_text],
		                ws_arena_format(p->tab->temp, "of %.4g requests and %.5g tokens",
		                                batch[i].requests, batch[i].tokens));
	}
	add_phases(p, times, total.mean, WS_MEASURE_STEP, "window of ");
	add_phases(p, times, total.mean, WS_MEASURE_GPU, "GPU time of ");
	if (host.sum != total.sum)
		page_time(p, "step on the host, mean", host.mean);
	if (tokens)
		page_value(p, "tokens/s", ws_stat_ratio((double)tokens * 1e9, total.mean));
	if (images)
		page_value(p, "images/s", ws_stat_ratio((double)images * 1e9, total.mean));
	if (flops >= 0)
		page_value(p, "TFLOP/s over the measured steps",
		           ws_stat_ratio((double)flops, (double)total.sum) / 1e3);
}

#define TOP_KERNELS  10
#define TOP_FINDINGS 3
#define TOP_WAITS    3
#define TOP_DTYPES   3
#define LEAST_SHARE  0.05 /* %: smaller shares would be shown as 0.0 */
/* characters of a kernel's name, as in a terminal; the whole name is the cell's text */
#define NAME_COLUMNS 34

/* --- where the time went --------------------------------------------------------------------- */

/* Where a kernel was launched; the phases of measured steps come first. */
enum place {
	PLACE_WARM_UP = WS_PHASES,
	PLACE_SETUP,
	PLACE_OUTSIDE,
	PLACES,
};

struct device_time {
	struct ws_union busy;
	/* [0]: in the scope; [1]: left out by it */
	uint64_t kernels[2][PLACES];
	int64_t gpu_ns[2][PLACES];
};

static uint32_t dtype_of(const struct ws_model *m, const struct ws_digest_cell *cell)
{
	(void)m;
	return cell->place.dtype;
}

static uint64_t group_kernels(const struct ws_group *g)
{
	return g->time.n + g->without_time;
}

/* --- the page --------------------------------------------------------------------------------- */

void ws_tab_summary(const struct ws_table_context *tab, struct ws_table *t)
{
	struct summary_page p = {tab, t, "What ran"};
	const struct ws_model *m = tab->m;
	const bool has_kernels = ws_model_has_kernels(m);
	struct device_time time = {0};

	/* in the order of a reviewer's questions */
	static const struct {
		const char *item, *key;
	} lines[] = {{"program", "program.path"}, {"recorded by", "import.source"}};

	/* Facts that the program stated about itself. The section Workload has all of them. */
	static const char *const own[] = {"model", "dtype"};
	static const char *const settings[] = {"phase", "batch", "context", "optimizer"};
	char line[256] = "";

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		struct ws_bytes value = ws_model_fact(m, own[i]);

		if (value.len)
			page_text(&p, ws_bytes_of(own[i]), value);
	}
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		struct ws_bytes value = ws_model_fact(m, settings[i]);

		if (value.len && value.len < 48)
			ws_say_add(line, sizeof(line), "%s%s %.*s", *line ? ", " : "", settings[i],
			           WS_SHOWN(value));
	}
	if (*line)
		page_words(&p, "configuration", line);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct ws_bytes value = ws_meta_value(&m->meta, lines[i].key);

		/* a model says more than the program that all models share */
		if (value.len && !(i == 0 && ws_model_fact(m, "model").len))
			page_text(&p, ws_bytes_of(lines[i].item), value);
	}

	/* Devices that did nothing only where all did nothing: `gpu` has them. */
	for (size_t i = 0; i < m->ndevices; i++) {
		const struct ws_device *d = &m->devices[i];
		char item[40];

		if (!d->kernels && (ws_model_has_kernels(m) || d->name == WS_TEXT_EMPTY))
			continue;
		snprintf(item, sizeof(item),
		         d->kernels ? "device %" PRIu64 ", kernels" : "device %" PRIu64, d->id);
		struct ws_cell *row = page_row(&p, ws_bytes_of(item));
		ws_cell_set_model_text(p.t, &row[WS_TC_summary_text], m, d->name);
		if (d->kernels)
			ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)d->kernels);
		if (d->kind == WS_DEVICE_CPU_REFERENCE)
			page_words(&p, "what the times are",
			           "real CPU timings; not GPU performance");
	}

	if (!m->nends)
		page_words(&p, "program end", "not recorded");
	for (size_t i = 0; i < m->nends; i++) {
		if (m->ends[i].end == WS_END_EXITED)
			snprintf(line, sizeof(line), "exited with status %" PRId64,
			         m->ends[i].code);
		else if (m->ends[i].end == WS_END_SIGNALED)
			snprintf(line, sizeof(line), "killed by signal %" PRId64, m->ends[i].code);
		else
			snprintf(line, sizeof(line), "unknown");
		page_words(&p, "program end", line);
	}
	if (!ws_model_fact(tab->m, "dtype").len) {
		/* The dtypes found in the names of kernels, for a program that does not state its
		 * dtype. */
		struct ws_ranking ranking;
		char text[160] = "";
		size_t n = 0;

		ws_digest_rank(p.tab, dtype_of, &ranking);
		for (size_t i = 0; i < ranking.n && n < TOP_DTYPES; i++) {
			struct ws_bytes dtype = p.tab->m->texts[ranking.order[i].row];
			double share = ws_stat_percent(
			        (double)ranking.groups[ranking.order[i].row].time.sum,
			        (double)p.tab->sel->gpu_ns);

			if (!ranking.order[i].row || dtype.len > 24 || (n && share < LEAST_SHARE))
				continue;
			ws_say_add(text, sizeof(text), "%s%.*s %.1f %%", n++ ? ", " : "",
			           WS_SHOWN(dtype), share);
		}
		if (n)
			page_words(&p, "dtype of kernels, by GPU time", text);
	}
	p.section = "How long a step takes";

	const struct ws_step_times *times = ws_step_times(p.tab->m, p.tab->sel);

	add_step_times(&p, times);
	if (times->nmeasured) {
		const struct ws_utilization *use = ws_utilization_find(p.tab->m, p.tab->sel);

		add_utilization(&p, "MFU (%)", use->model_sum_ns, use);
		if (!use->obstacle[0]) /* one reason for both */
			add_utilization(&p, "HFU (%)", use->ran_sum_ns, use);
	}
	p.section = "Where the time goes";

	const struct ws_selection *sel = tab->sel;
	uint32_t device = WS_NONE;

	WS_EACH_KERNEL(sel->rows, i, k) {
		const bool selected = ws_kernel_selected(m, sel, k, i);
		const enum ws_scope scope = ws_scope_of(m, k->step, k->kind->marks);
		const unsigned place = scope == WS_SCOPE_STEPS     ? k->kind->phase
		                       : scope == WS_SCOPE_WARM_UP ? PLACE_WARM_UP
		                       : scope == WS_SCOPE_SETUP   ? PLACE_SETUP
		                                                   : PLACE_OUTSIDE;

		if (device != m->configs[k->kind->config].device)
			ws_union_next_device(&time.busy);
		device = m->configs[k->kind->config].device;
		if (sel->any_scope && !sel->any_scope[i])
			continue;
		time.kernels[!selected][place]++;
		if (!k->kind->timed)
			continue;
		time.gpu_ns[!selected][place] += k->dur_ns;
		if (selected)
			ws_union_add(&time.busy, k->start_ns, k->start_ns + k->dur_ns);
	}
	page_count(&p, "kernels", p.tab->sel->kernels);
	if (ws_model_has_work(p.tab->m)) { /* without device records the time is unknown, not 0 */
		page_time(&p, "GPU time of all kernels", (double)p.tab->sel->gpu_ns);
		page_time(&p, "GPU busy", (double)time.busy.busy_ns);
	}
	page_time(&p, "recorded time, first to last event",
	          (double)(p.tab->m->end_ns - p.tab->m->begin_ns));

	/* Start-up and end of the program, if the scope leaves them out. */
	int64_t first, last;
	char text[80];

	if (p.tab->sel->to_device_work && has_kernels) {
		ws_device_work_span(m, p.tab->sel, &first, &last);
		struct ws_cell *row = page_row(&p, ws_bytes_of("before and after device work"));
		ws_cell_set_real(&row[WS_TC_summary_time_ns],
		                 (double)(first - m->begin_ns) + (double)(m->end_ns - last));
		snprintf(text, sizeof(text), "%.3f ms before, %.3f ms after",
		         (double)(first - m->begin_ns) / 1e6, (double)(m->end_ns - last) / 1e6);
		ws_cell_set_str(p.t, &row[WS_TC_summary_text], text);
	}

	/* Device work that is no kernel, if there is any. */
	static const struct {
		enum ws_work_kind kind;
		const char *item;
	} kinds[] = {
	        {WS_WORK_MEMCPY, "copies by a device"},
	        {WS_WORK_MEMSET, "fills by a device"},
	        {WS_WORK_GRAPH, "CUDA graphs traced as a whole: their kernels are in no table"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint64_t count = 0;
		int64_t ns = 0;

		for (size_t w = 0; w < m->nwork; w++) {
			if (!p.tab->sel->work[w] || m->work[w].kind != kinds[i].kind)
				continue;
			count++;
			ns += m->work[w].dur_ns;
		}
		if (!count)
			continue;
		struct ws_cell *row = page_row(&p, ws_bytes_of(kinds[i].item));
		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)count);
		ws_cell_set_int(&row[WS_TC_summary_time_ns], ns);
	}

	/* How much of the GPU time has a known class and a range. */
	const struct ws_digest *d = p.tab->digest;
	uint64_t in_range = 0, tensor = 0, unknown = 0;
	int amd = 0;
	int64_t in_range_ns = 0, tensor_ns = 0, unknown_ns = 0;

	for (size_t i = 0; i < d->ncells; i++) {
		const struct ws_digest_cell *cell = &d->cells[i];
		const struct ws_config *config = &m->configs[cell->config];
		uint64_t kernels = ws_digest_cell_count(cell);

		if (cell->place.path < WS_PATH_NO_RANGE) {
			in_range += kernels;
			in_range_ns += cell->total_ns;
		}
		if (ws_config_tensor(config) == WS_TENSOR_UNKNOWN) {
			unknown += kernels;
			unknown_ns += cell->total_ns;
		}
		amd |= m->devices[config->device].is_amd;
		if (config->tensor == WS_TENSOR_YES) {
			tensor += kernels;
			tensor_ns += cell->total_ns;
		}
	}
	if (p.tab->sel->kernels) {
		page_share(&p, ws_bytes_of("kernels that lie in a range"), in_range, in_range_ns);
		if (ws_model_on_cpu(m) != 1 && (tensor || !unknown))
			page_share(&p,
			           ws_bytes_of(amd ? "kernels on matrix cores, by their names"
			                           : "kernels on Tensor Cores, by their names"),
			           tensor, tensor_ns);
		if (ws_model_on_cpu(m) != 1 && unknown)
			page_share(&p,
			           ws_bytes_of(amd ? "kernels that may use matrix cores"
			                           : "kernels that may use Tensor Cores"),
			           unknown, unknown_ns);
	}
	p.section = "GPU time by phase";

	/* Kernels by phase of the steps, and outside of them. */
	static const char *const names[PLACES] = {
	        [PLACE_WARM_UP] = "warm-up",
	        [PLACE_SETUP] = "setup",
	        [PLACE_OUTSIDE] = "outside steps, warm-up and set-up",
	};

	bool has_phases = false;

	for (unsigned i = 0; i < WS_PHASE_OTHER; i++)
		has_phases |= time.kernels[0][i] > 0;
	for (unsigned i = 0; i < PLACES; i++) {
		char item[48];

		/* without phases the row `remainder` has no meaning */
		if (i < WS_PHASES)
			snprintf(item, sizeof(item), "measured steps%s%s", has_phases ? ", " : "",
			         has_phases ? ws_phase_name((enum ws_phase)i) : "");
		if (time.kernels[0][i])
			page_share(&p, ws_bytes_of(i < WS_PHASES ? item : names[i]),
			           time.kernels[0][i], time.gpu_ns[0][i]);
	}
	for (unsigned i = WS_PHASES; i < PLACES; i++)
		if (time.kernels[1][i]) {
			/* Work that the scope leaves out. No other table has it. */

			p.section = "Outside the scope";
			struct ws_cell *row = page_row(&p, ws_bytes_of(names[i]));
			ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)time.kernels[1][i]);
			ws_cell_set_int(&row[WS_TC_summary_time_ns], time.gpu_ns[1][i]);
		}
	p.section = "GPU time by class";

	struct ws_ranking r;

	ws_digest_rank(p.tab, ws_digest_class, &r);
	for (size_t i = 0; i < r.n; i++) {
		uint32_t class = r.order[i].row;

		page_share(&p,
		           class ? ws_display_class(p.tab->m->texts[class])
		                 : ws_bytes_of("(unclassified)"),
		           group_kernels(&r.groups[class]), r.groups[class].time.sum);
	}
	p.section = "Top kernels";

	struct ws_group rest = {0};
	struct ws_bytes shown[TOP_KERNELS] = {0};

	ws_digest_rank(p.tab, ws_digest_name, &r);
	for (size_t i = 0; i < r.n && i < TOP_KERNELS; i++)
		shown[i] = ws_model_short_name(p.tab->m, r.order[i].row);
	ws_names_elide(p.tab->temp, shown, TOP_KERNELS, NAME_COLUMNS, WS_ELIDE_HEAD(NAME_COLUMNS));
	for (size_t i = 0; i < r.n; i++) {
		const struct ws_group *g = &r.groups[r.order[i].row];
		struct ws_bytes name = p.tab->m->texts[r.order[i].row];

		if (i >= TOP_KERNELS) {
			rest.time.n += group_kernels(g);
			rest.time.sum += g->time.sum;
			continue;
		}
		struct ws_cell *row = page_share(&p, shown[i], group_kernels(g), g->time.sum);
		ws_cell_set_text(p.t, &row[WS_TC_summary_text], name.ptr, name.len);
	}
	if (rest.time.n)
		page_share(&p, ws_bytes_of("(all other kernels)"), rest.time.n, rest.time.sum);
	if (has_kernels) {
		p.section = "Why the device is idle";

		char words[256];
		const struct ws_idle *idle = ws_idle_find_in_scope(p.tab->m, p.tab->sel);
		uint64_t captured = ws_host_activity_find(p.tab->m, p.tab->sel)->captured;

		if (captured) {
			snprintf(words, sizeof(words),
			         "%" PRIu64 " launch%s captured into a graph and did not run",
			         captured, captured == 1 ? " was" : "es were");
			page_words(&p, "graph capture", words);
		}
		if (idle->all.kernels) {
			page_words(&p, "why the device is idle",
			           ws_idle_words(&idle->verdict, words, sizeof(words)));
			if (idle->verdict.known)
				page_words(&p, "what to do about it",
				           idle->verdict.may_be_bound
				                   ? "Record more steps with --calibrate, which "
				                     "measures what recording takes."
				                   : ws_use_defs[idle->verdict.busy
				                                         ? WS_USE_COMPUTE
				                                         : idle->verdict.cause]
				                             .cure);
			if (idle->verdict.known) {
				/* The waits that make up most of the time, longest first. */
				enum ws_use order[WS_USES];

				ws_uses_by_time(&idle->all, order);
				for (int n = 1; n <= TOP_WAITS && idle->all.ns[order[n]]; n++) {
					const enum ws_use most = order[n];
					struct ws_cell *row =
					        page_row(&p, ws_bytes_of(ws_use_defs[most].name));

					ws_cell_set_real(&row[WS_TC_summary_time_ns],
					                 (double)idle->all.ns[most]);
					snprintf(text, sizeof(text),
					         "%.1f %% of the time of the devices",
					         ws_stat_percent((double)idle->all.ns[most],
					                         (double)idle->all.window_ns));
					ws_cell_set_str(p.t, &row[WS_TC_summary_text], text);
				}
			}
		}
		p.section = "What to do";

		int judged = 0;
		char total[120];
		const struct ws_findings *a = ws_advice_find(p.tab);

		for (int i = 0; i < WS_RULES; i++)
			judged += !a->not_judged[i];

		/* The most severe finding of each of the first rules: advice, evidence, possible
		 * gain. */
		uint64_t of_rule[WS_RULES];
		size_t nshown = 0;

		memcpy(of_rule, a->skipped, sizeof(of_rule));
		for (size_t i = 0; i < a->n; i++)
			of_rule[a->finding[i].rule]++;
		for (size_t i = 0; i < a->n && nshown < TOP_FINDINGS; i++) {
			const struct ws_finding *f = &a->finding[i];
			const struct ws_rule_def *rule = &ws_rule_defs[f->rule];
			const char *advice = f->advice && *f->advice ? f->advice : rule->advice;
			char *item, *sentence, gain[80] = "", others[64] = "";

			if (!of_rule[f->rule] || ws_finding_is_small(a, f))
				continue;

			if (f->gain_ns > 0 && a->step_ns > 0)
				snprintf(gain, sizeof(gain), " Gain: %s.",
				         ws_finding_gain(p.tab->temp, a, f));
			if (of_rule[f->rule] > 1)
				snprintf(others, sizeof(others), "; %llu more like this",
				         (unsigned long long)of_rule[f->rule] - 1);
			item = ws_xformat("%s: %s", rule->title, f->scope);
			/* some texts end in a full stop, some do not */
			sentence = ws_xformat("%.*s.%s Evidence: %s%s.",
			                      (int)(strlen(advice) -
			                            (advice[strlen(advice) - 1] == '.')),
			                      advice, gain, f->evidence, others);
			page_text(&p, ws_bytes_of(item), ws_bytes_of(sentence));
			free(item);
			free(sentence);
			of_rule[f->rule] = 0;
			nshown++;
		}
		struct ws_cell *row = page_row(&p, ws_bytes_of("findings in all"));
		snprintf(total, sizeof(total),
		         "%d of %d rules could be evaluated; `advice` has all findings and says "
		         "what the other rules lack",
		         judged, WS_RULES);
		ws_cell_set_str(p.t, &row[WS_TC_summary_text], total);
		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)a->n);
	}
	p.section = "What is missing";

	/* What the recording lacks. */
	struct missing all = {.page = &p};

	if (ws_model_lacks_comm(p.tab->m))
		page_words(&p, "ALARM: communication", WS_LACKS_COMM);
	ws_missing_each(p.tab->m, add_missing, &all);
	if (!all.over_0) {
		snprintf(text, sizeof(text), "nothing: all %u counters of `losses` are 0",
		         all.counters);
		page_words(&p, "missing", text);
	}
	p.section = "Workload";
	for (size_t i = 0; i < tab->m->nfacts; i++)
		page_text(&p, tab->m->facts[i].key, tab->m->facts[i].value);
	p.section = "Provenance";

	/* The last row of each key, in the order of the file. */
	const struct ws_column_data *meta = &m->meta;
	struct ws_strtab keys = {0};
	uint64_t *last_row =
	        ws_xarray(meta->rows + 1, sizeof(*last_row)); /* by key: its last row */
	uint64_t nkeys = 0;

	for (uint64_t i = 0; i < meta->rows; i++) {
		struct ws_bytes key = ws_blob(meta, WS_COL_meta_key, i);
		uint64_t id = 0;

		if (key.len)
			id = ws_strtab_add(&keys, key.ptr, key.len);
		nkeys = id > nkeys ? id : nkeys;
		last_row[id] = i;
	}
	for (uint64_t id = 1; id <= nkeys; id++)
		page_text(&p, ws_blob(meta, WS_COL_meta_key, last_row[id]),
		          ws_blob(meta, WS_COL_meta_value, last_row[id]));
	ws_strtab_free(&keys);
	free(last_row);

	const struct ws_trace_summary *f = &m->file;
	const int64_t first_ns = ws_model_recorded_ns(m);
	time_t seconds = (time_t)(first_ns / 1000000000);
	struct tm tm;
	char when[64];

	page_words(&p, "trace.file", m->name);
	if (first_ns < 0)
		page_words(&p, "trace.recorded", "not known");
	else if (gmtime_r(&seconds, &tm) && strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm))
		page_words(&p, "trace.recorded", when);
	snprintf(when, sizeof(when), "%" PRIu64 " bytes, XXH3-64 %016" PRIx64 ", format %u.%u",
	         f->file_size, f->file_hash, f->version_major, f->version_minor);
	page_words(&p, "trace.contents", when);
	page_words(&p, "report.version", WS_VERSION);

	ws_note_origin(tab->m, t);
	ws_note_clocks(tab->m, t);
	if (tab->sel->gpu_ns)
		ws_table_note(t,
		              "Shares are of %.3f ms, the GPU time of all kernels in the report; "
		              "each breakdown adds up to it.",
		              (double)tab->sel->gpu_ns / 1e6);
	if (!has_kernels)
		ws_table_set_not_recorded(t, "%s",
		                          ws_no_kernels_words(tab->m, tab->sel, tab->temp));
}
