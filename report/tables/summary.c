/*
 * The first sheet: one page about the run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/advice/advice.h"
#include "report/model/columns.h"
#include "report/analysis/group.h"
#include "report/base/names.h"
#include "report/analysis/idle.h"
#include "report/analysis/steps.h"
#include "report/tables/tables.h"

#define TOP_KERNELS  10
#define TOP_FINDINGS 6
#define NAME_BYTES   40 /* of a kernel: beside a bar of a chart; the whole name is its text */

struct page {
	const struct ws_tab *tab;
	struct ws_table *t;
	const char *section;
};

static struct ws_cell *new_row(const struct page *p, struct ws_bytes item)
{
	struct ws_cell *row = ws_table_row(p->t);

	ws_cell_set_str(p->t, &row[WS_TC_summary_section], p->section);
	ws_cell_set_text(p->t, &row[WS_TC_summary_item], item.ptr, item.len);
	return row;
}

static struct ws_bytes bytes_of(const char *text)
{
	return (struct ws_bytes){text, strlen(text)};
}

static void add_text(const struct page *p, struct ws_bytes item, struct ws_bytes text)
{
	struct ws_cell *row = new_row(p, item);

	ws_cell_set_text(p->t, &row[WS_TC_summary_text], text.ptr, text.len);
}

static void add_count(const struct page *p, const char *item, uint64_t count)
{
	ws_cell_set_int(&new_row(p, bytes_of(item))[WS_TC_summary_count], (int64_t)count);
}

static void add_time(const struct page *p, const char *item, double ns)
{
	ws_cell_set_real(&new_row(p, bytes_of(item))[WS_TC_summary_time_ns], ns);
}

static void add_value(const struct page *p, const char *item, double value)
{
	ws_cell_set_real(&new_row(p, bytes_of(item))[WS_TC_summary_value], value);
}

/* A part of the GPU time of all kernels in the report. */
static struct ws_cell *add_share(const struct page *p, struct ws_bytes item, uint64_t kernels,
                                 int64_t gpu_ns)
{
	struct ws_cell *row = new_row(p, item);

	ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)kernels);
	ws_cell_set_int(&row[WS_TC_summary_time_ns], gpu_ns);
	ws_cell_set_real(&row[WS_TC_summary_share],
	                 ws_stat_percent((double)gpu_ns, (double)p->tab->sel->gpu_ns));
	return row;
}

/* --- where it comes from ---------------------------------------------------------------- */

/* The last row of each key, in the order of the file. */
static enum ws_status add_meta(const struct page *p, struct ws_err *err)
{
	const struct ws_table_data *t = &p->tab->m->meta;
	struct ws_strtab keys = {0};
	uint64_t *last = calloc(t->rows + 1, sizeof(*last)); /* key -> its last row */
	enum ws_status status = WS_OK;
	uint64_t nkeys = 0;

	if (!last)
		return WS_FAIL(err, NO_MEMORY, "no memory for the provenance");
	for (uint64_t i = 0; i < t->rows && status == WS_OK; i++) {
		struct ws_bytes key = ws_blob(t, WS_COL_meta_key, i);
		uint64_t id = key.len ? ws_strtab_find(&keys, key.ptr, key.len) : 0;

		if (key.len && !id) {
			status = ws_strtab_add(&keys, key.ptr, key.len, &id, err);
			nkeys = id;
		}
		last[id] = i;
	}
	for (uint64_t id = 1; id <= nkeys && status == WS_OK; id++)
		add_text(p, ws_blob(t, WS_COL_meta_key, last[id]),
		         ws_blob(t, WS_COL_meta_value, last[id]));
	ws_strtab_free(&keys);
	free(last);
	return status;
}

static void add_file(const struct page *p)
{
	const struct ws_trace_summary *f = &p->tab->m->file;
	time_t seconds = (time_t)(f->base_ns / 1000000000);
	struct tm tm;
	char text[64];

	add_text(p, bytes_of("trace.file"), bytes_of(p->tab->m->name));
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		add_text(p, bytes_of("trace.recorded"), bytes_of(text));
	snprintf(text, sizeof(text), "%" PRIu64 " bytes, XXH3-64 %016" PRIx64 ", format %u.%u",
	         f->file_size, f->file_hash, f->version_major, f->version_minor);
	add_text(p, bytes_of("trace.contents"), bytes_of(text));
	add_text(p, bytes_of("report.version"), bytes_of(WS_VERSION));
}

static void add_devices(const struct page *p)
{
	const struct ws_model *m = p->tab->m;

	for (size_t i = 0; i < m->ndevices; i++) {
		const struct ws_device *d = &m->devices[i];
		struct ws_cell *row;
		char item[40];

		snprintf(item, sizeof(item), "device %" PRIu64 ", kernels", d->id);
		row = new_row(p, bytes_of(item));
		ws_cell_set_model_text(p->t, &row[WS_TC_summary_text], m, d->name);
		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)d->kernels);
		if (d->kind == WS_DEVICE_CPU_REFERENCE)
			add_text(p, bytes_of("what the times are"),
			         bytes_of("true times of a reference computation on the CPU, and "
			                  "no GPU's"));
	}
}

static void add_end(const struct page *p)
{
	const struct ws_model *m = p->tab->m;

	if (!m->nends)
		add_text(p, bytes_of("program end"), bytes_of("not recorded"));
	for (size_t i = 0; i < m->nends; i++) {
		char text[80];

		if (m->ends[i].how == WS_END_EXITED)
			snprintf(text, sizeof(text), "exited with status %" PRId64,
			         m->ends[i].code);
		else if (m->ends[i].how == WS_END_SIGNALED)
			snprintf(text, sizeof(text), "killed by signal %" PRId64, m->ends[i].code);
		else
			snprintf(text, sizeof(text), "unknown");
		add_text(p, bytes_of("program end"), bytes_of(text));
	}
}

/* --- headline numbers ---------------------------------------------------------------------- */

/* FLOPs of the operations in the measured steps; -1 = none says. */
static int64_t step_flops(const struct ws_tab *tab)
{
	const struct ws_model *m = tab->m;
	int64_t flops = 0;
	int said = 0;

	for (uint32_t i = 0; i < m->ranges.n; i++) {
		const struct ws_op *op = ws_range_op(m, i);

		if (!(m->range_marks[i] & WS_OP_COUNTED) || op->flops < 0 || !tab->sel->range[i] ||
		    !ws_step_selected(m, tab->sel, m->range_step[i]))
			continue;
		flops += op->flops;
		said = 1;
	}
	return said ? flops : -1;
}

static void add_step_times(const struct page *p, const struct ws_step_times *times)
{
	const struct ws_model *m = p->tab->m;
	int64_t tokens = ws_fact_number(m, "tokens_per_step"), flops = step_flops(p->tab);
	int64_t images = ws_fact_number(m, "images_per_step");
	struct ws_stat total;

	ws_step_stat(m, times, WS_PHASES, WS_MEASURE_WALL, &total);
	add_count(p, "measured steps", times->nmeasured);
	if (!times->nmeasured)
		return;
	add_time(p, "step, mean", total.mean);
	if (total.n > 1)
		add_time(p, "step, sample standard deviation", total.std);
	add_time(p, "step, median", total.median);
	add_time(p, "step, shortest", (double)total.min);
	add_time(p, "step, longest", (double)total.max);
	for (int phase = 0; phase < WS_PHASES; phase++) {
		struct ws_stat stat;
		char item[48];

		if (!ws_step_phase_present(times, phase))
			continue;
		ws_step_stat(m, times, phase, WS_MEASURE_WALL, &stat);
		snprintf(item, sizeof(item), "%s, mean", ws_phase_name((enum ws_phase)phase));
		add_time(p, item, stat.mean);
	}
	if (tokens)
		add_value(p, "tokens/s", ws_stat_ratio((double)tokens * 1e9, total.mean));
	if (images)
		add_value(p, "images/s", ws_stat_ratio((double)images * 1e9, total.mean));
	if (flops >= 0)
		add_value(p, "TFLOP/s over the measured steps",
		          ws_stat_ratio((double)flops, (double)total.sum) / 1e3);
}

/* Device work beside kernels, as count and time; nothing where there is none. */
static void add_works(const struct page *p)
{
	static const struct {
		enum ws_work_kind kind;
		const char *item;
	} kinds[] = {
	        {WS_WORK_MEMCPY, "copies by a device"},
	        {WS_WORK_MEMSET, "fills by a device"},
	        {WS_WORK_GRAPH, "CUDA graphs traced as a whole: their kernels are in no table"},
	};
	const struct ws_model *m = p->tab->m;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint64_t count = 0;
		int64_t ns = 0;
		struct ws_cell *row;

		for (size_t w = 0; w < m->nworks; w++) {
			if (!p->tab->sel->work[w] || m->works[w].kind != kinds[i].kind)
				continue;
			count++;
			ns += m->works[w].dur_ns;
		}
		if (!count)
			continue;
		row = new_row(p, bytes_of(kinds[i].item));
		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)count);
		ws_cell_set_int(&row[WS_TC_summary_time_ns], ns);
	}
}

/* How far names and ranges explain the GPU time. */
static void add_coverage(const struct page *p)
{
	const struct ws_model *m = p->tab->m;
	uint64_t in_range = 0, tensor = 0, unknown = 0;
	int amd = 0;
	int64_t in_range_ns = 0, tensor_ns = 0, unknown_ns = 0;

	for (size_t k = 0; k < m->kernels.n; k++) {
		int64_t ns = m->kernels.dur_ns[k];

		if (!p->tab->sel->kernel[k])
			continue;
		in_range += m->kernels.range[k] != WS_NONE;
		in_range_ns += m->kernels.range[k] != WS_NONE ? ns : 0;
		if (ws_config_tensor(&m->configs[m->kernels.config[k]]) == WS_TENSOR_UNKNOWN) {
			unknown++;
			unknown_ns += ns;
		}
		amd |= m->devices[ws_kernel_device(m, k)].is_amd;
		if (m->configs[m->kernels.config[k]].tensor == WS_TENSOR_YES) {
			tensor++;
			tensor_ns += ns;
		}
	}
	if (!p->tab->sel->kernels)
		return;
	add_share(p, bytes_of("kernels that lie in a range"), in_range, in_range_ns);
	if (ws_model_on_cpu(m) != 1 && (tensor || !unknown))
		add_share(p,
		          bytes_of(amd ? "kernels on matrix cores, by their names"
		                       : "kernels on Tensor Cores, by their names"),
		          tensor, tensor_ns);
	if (ws_model_on_cpu(m) != 1 && unknown)
		add_share(p,
		          bytes_of(amd ? "kernels that may use matrix cores"
		                       : "kernels that may use Tensor Cores"),
		          unknown, unknown_ns);
}

static enum ws_status add_idle_verdict(const struct page *p, struct ws_err *err)
{
	struct ws_idle idle;
	enum ws_status status = ws_idle_find(p->tab->m, p->tab->sel, false, &idle, err);
	char words[256];

	if (status == WS_OK && idle.all.kernels) {
		add_text(p, bytes_of("why the device is idle"),
		         bytes_of(ws_idle_words(&idle.verdict, words, sizeof(words))));
		if (idle.verdict.known)
			add_text(p, bytes_of("what to do about it"),
			         bytes_of(ws_use_defs[idle.verdict.busy ? WS_USE_COMPUTE
			                                                : idle.verdict.cause]
			                          .cure));
	}
	ws_idle_release(&idle);
	return status;
}

static enum ws_status add_headline(const struct page *p, struct ws_err *err)
{
	struct ws_step_times times;
	enum ws_status status = ws_step_times(p->tab->m, p->tab->sel, NULL, &times, err);

	if (status == WS_OK) {
		add_count(p, "kernels", p->tab->sel->kernels);
		add_time(p, "GPU time of all kernels", (double)p->tab->sel->gpu_ns);
		add_time(p, "GPU busy", (double)ws_busy_time(p->tab->m, p->tab->sel));
		add_time(p, "recorded time, first to last event",
		         (double)(p->tab->m->end_ns - p->tab->m->begin_ns));
		add_works(p);
		add_coverage(p);
		add_step_times(p, &times);
	}
	if (status == WS_OK)
		status = add_idle_verdict(p, err);
	ws_step_times_release(&times);
	return status;
}

/* --- where the time went --------------------------------------------------------------------- */

/* Where a kernel was launched; the phases of measured steps come first. */
enum place {
	PLACE_WARM_UP = WS_PHASES,
	PLACE_SETUP,
	PLACE_OUTSIDE,
	PLACES,
};

static unsigned place_of(const struct ws_model *m, const struct ws_selection *sel, size_t k)
{
	uint32_t r = m->kernels.range[k];

	if (ws_step_selected(m, sel, ws_kernel_step(m, k)))
		return ws_kernel_phase(m, k);
	if (r == WS_NONE)
		return PLACE_OUTSIDE;
	if (m->range_marks[r] & WS_IN_WARM_UP)
		return PLACE_WARM_UP;
	return m->range_marks[r] & WS_IN_SETUP ? PLACE_SETUP : PLACE_OUTSIDE;
}

static void add_places(const struct page *p)
{
	static const char *const names[PLACES] = {
	        [PLACE_WARM_UP] = "warm-up",
	        [PLACE_SETUP] = "setup",
	        [PLACE_OUTSIDE] = "outside steps, warm-up and setup",
	};
	const struct ws_model *m = p->tab->m;
	uint64_t kernels[PLACES] = {0};
	int64_t gpu_ns[PLACES] = {0};

	for (size_t k = 0; k < m->kernels.n; k++) {
		unsigned place;

		if (!p->tab->sel->kernel[k])
			continue;
		place = place_of(m, p->tab->sel, k);
		kernels[place]++;
		gpu_ns[place] += m->kernels.dur_ns[k];
	}
	for (unsigned i = 0; i < PLACES; i++) {
		char item[48];

		if (i < WS_PHASES)
			snprintf(item, sizeof(item), "measured steps, %s",
			         ws_phase_name((enum ws_phase)i));
		if (kernels[i])
			add_share(p, bytes_of(i < WS_PHASES ? item : names[i]), kernels[i],
			          gpu_ns[i]);
	}
}

struct ranking {
	const struct ws_model *m;
	struct ws_group *groups;
	uint32_t *order;
	size_t n;
};

static int by_rank(const void *pa, const void *pb, void *arg)
{
	const struct ranking *r = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return ws_group_compare(&r->groups[a], r->m->texts[a], &r->groups[b], r->m->texts[b]);
}

static void ranking_release(struct ranking *r)
{
	free(r->groups);
	free(r->order);
}

/* Selected kernels by a text of theirs, in the order of the kernel summary. */
static enum ws_status rank(const struct ws_tab *tab,
                           uint32_t (*text_of)(const struct ws_model *m, size_t k),
                           struct ranking *out, struct ws_err *err)
{
	const struct ws_model *m = tab->m;
	uint32_t *group = calloc(m->kernels.n ? m->kernels.n : 1, sizeof(*group));
	enum ws_status status = WS_OK;

	*out = (struct ranking){.m = m};
	out->groups = calloc(m->ntexts, sizeof(*out->groups));
	out->order = calloc(m->ntexts, sizeof(*out->order));
	if (!group || !out->groups || !out->order)
		status = WS_FAIL(err, NO_MEMORY, "no memory for the summary");
	for (size_t k = 0; k < m->kernels.n && status == WS_OK; k++)
		group[k] = tab->sel->kernel[k] ? text_of(m, k) : WS_NONE;
	if (status == WS_OK)
		status = ws_group_kernels(m, group, m->ntexts, out->groups, err);
	for (uint32_t i = 0; i < m->ntexts && status == WS_OK; i++)
		if (out->groups[i].time.n || out->groups[i].without_time)
			out->order[out->n++] = i;
	if (status == WS_OK)
		qsort_r(out->order, out->n, sizeof(*out->order), by_rank, out);
	free(group);
	return status;
}

static uint64_t group_kernels(const struct ws_group *g)
{
	return g->time.n + g->without_time;
}

static enum ws_status add_classes(const struct page *p, struct ws_err *err)
{
	struct ranking r;
	enum ws_status status = rank(p->tab, ws_kernel_class, &r, err);

	for (size_t i = 0; i < r.n && status == WS_OK; i++) {
		uint32_t class = r.order[i];

		add_share(p, class ? r.m->texts[class] : bytes_of("(unclassified)"),
		          group_kernels(&r.groups[class]), r.groups[class].time.sum);
	}
	ranking_release(&r);
	return status;
}

static enum ws_status add_top_kernels(const struct page *p, struct ws_err *err)
{
	struct ranking r;
	struct ws_group rest = {0};
	enum ws_status status = rank(p->tab, ws_kernel_name, &r, err);

	for (size_t i = 0; i < r.n && status == WS_OK; i++) {
		const struct ws_group *g = &r.groups[r.order[i]];
		struct ws_bytes name = r.m->texts[r.order[i]];
		char brief[NAME_BYTES + 3];
		size_t len = ws_name_brief(ws_model_short_name(r.m, r.order[i]), NAME_BYTES, brief);
		struct ws_cell *row;

		if (i >= TOP_KERNELS) {
			rest.time.n += group_kernels(g);
			rest.time.sum += g->time.sum;
			continue;
		}
		row = add_share(p, (struct ws_bytes){brief, len}, group_kernels(g), g->time.sum);
		ws_cell_set_text(p->t, &row[WS_TC_summary_text], name.ptr, name.len);
	}
	if (rest.time.n && status == WS_OK)
		add_share(p, bytes_of("(all other kernels)"), rest.time.n, rest.time.sum);
	ranking_release(&r);
	return status;
}

/* --- what is odd ------------------------------------------------------------------------------ */

/* The gravest finding of a rule, with how many more it has. */
static enum ws_status add_finding(const struct page *p, const struct ws_advice *a,
                                  const struct ws_finding *f, uint64_t more, struct ws_err *err)
{
	const struct ws_rule_def *rule = &ws_rule_defs[f->rule];
	char *item = NULL, *text = NULL, gain[64] = "", others[64] = "";

	if (f->gain_ns > 0 && a->step_ns > 0)
		snprintf(gain, sizeof(gain), " (%s at most %.1f %% shorter without)",
		         a->times.nmeasured ? "a step" : "the run", 100 * f->gain_ns / a->step_ns);
	if (more)
		snprintf(others, sizeof(others), "; %llu more such", (unsigned long long)more);
	if (asprintf(&item, "%s %s: %s", rule->id, rule->title, f->scope) < 0)
		return WS_FAIL(err, NO_MEMORY, "no memory for the summary");
	if (asprintf(&text, "%s%s%s", f->evidence, gain, others) < 0) {
		free(item);
		return WS_FAIL(err, NO_MEMORY, "no memory for the summary");
	}
	add_text(p, bytes_of(item), bytes_of(text));
	free(item);
	free(text);
	return WS_OK;
}

static enum ws_status add_findings(const struct page *p, struct ws_err *err)
{
	struct ws_advice a;
	enum ws_status status = ws_advice_find(p->tab, &a, err);
	uint64_t of_rule[WS_RULES] = {0}, judged = 0;
	size_t shown = 0;

	for (int i = 0; i < WS_RULES; i++) {
		judged += !a.not_judged[i];
		of_rule[i] = a.left_out[i];
	}
	for (size_t i = 0; i < a.n; i++)
		of_rule[a.findings[i].rule]++;
	for (size_t i = 0; i < a.n && shown < TOP_FINDINGS && status == WS_OK; i++) {
		enum ws_rule rule = a.findings[i].rule;

		if (!of_rule[rule])
			continue;
		status = add_finding(p, &a, &a.findings[i], of_rule[rule] - 1, err);
		of_rule[rule] = 0;
		shown++;
	}
	if (status == WS_OK) {
		struct ws_cell *row = new_row(p, bytes_of("findings in all"));

		ws_cell_set_str(p->t, &row[WS_TC_summary_text],
		                "Table `advice` has all of them, with what could be done.");
		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)a.n);
		row = new_row(p, bytes_of("rules that could be judged"));
		ws_cell_set_str(p->t, &row[WS_TC_summary_text],
		                "Of A1 to A21; the notes of `advice` say what the others lack.");
		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)judged);
	}
	ws_advice_release(&a);
	return status;
}

/* --- the page ----------------------------------------------------------------------------------
 */

static void add_missing(void *page, const struct ws_missing *missing)
{
	const struct page *p = page;
	struct ws_cell *row = new_row(p, missing->cause);

	ws_cell_set_str(p->t, &row[WS_TC_summary_text], missing->meaning);
	ws_cell_set_int(&row[WS_TC_summary_count],
	                missing->count > INT64_MAX ? INT64_MAX : (int64_t)missing->count);
}

enum ws_status ws_tab_summary(const struct ws_tab *tab, struct ws_table *t, struct ws_err *err)
{
	struct page p = {tab, t, "Headline"};

	/* what a reviewer asks, in that order: what ran, how long, where, what is odd, whence */
	add_devices(&p);
	add_end(&p);
	WS_FORWARD(add_headline(&p, err));
	p.section = "GPU time by phase";
	add_places(&p);
	p.section = "GPU time by class";
	WS_FORWARD(add_classes(&p, err));
	p.section = "Top kernels";
	WS_FORWARD(add_top_kernels(&p, err));
	if (tab->m->kernels.n) {
		p.section = "What is odd";
		WS_FORWARD(add_findings(&p, err));
	}
	p.section = "What is missing";
	WS_FORWARD(ws_missing_each(tab->m, add_missing, &p, err));
	p.section = "Workload";
	for (size_t i = 0; i < tab->m->nfacts; i++)
		add_text(&p, tab->m->facts[i].key, tab->m->facts[i].value);
	p.section = "Provenance";
	WS_FORWARD(add_meta(&p, err));
	add_file(&p);

	ws_note_origin(tab->m, "", t);
	if (tab->sel->gpu_ns)
		ws_table_note(t,
		              "Shares are of %.3f ms, the GPU time of all kernels in the report; "
		              "each of the three breakdowns adds up to it.",
		              (double)tab->sel->gpu_ns / 1e6);
	if (!tab->m->kernels.n)
		ws_table_set_not_recorded(t, "The trace holds no kernel: nothing that launches "
		                             "kernels was recorded.");
	return WS_OK;
}
