/*
 * The first sheet: one page about the run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "report/advice/advice.h"
#include "report/analysis/digest.h"
#include "report/analysis/idle.h"
#include "report/analysis/steps.h"
#include "report/base/stat.h"
#include "report/base/names.h"
#include "report/model/load.h"
#include "report/model/model.h"
#include "report/names/names.h"
#include "report/tables/summary/rows.h"

#define TOP_KERNELS  10
#define TOP_FINDINGS 3
#define TOP_WAITS    3
#define TOP_DTYPES   3
#define LEAST_SHARE  0.05 /* %: smaller shares would be shown as 0.0 */
#define NAME_COLUMNS                                                                             \
	34 /* characters of a kernel's name, as in a terminal; the whole name is the cell's text \
	    */

/* Count and time of device work that is no kernel. Adds nothing if there is none. */
static void add_work(const struct ws_summary_page *p)
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

		for (size_t w = 0; w < m->nwork; w++) {
			if (!p->tab->sel->work[w] || m->work[w].kind != kinds[i].kind)
				continue;
			count++;
			ns += m->work[w].dur_ns;
		}
		if (!count)
			continue;
		row = ws_page_row(p, ws_bytes_of(kinds[i].item));
		ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)count);
		ws_cell_set_int(&row[WS_TC_summary_time_ns], ns);
	}
}

/* How much of the GPU time has a known class and a range. */
static void add_coverage(const struct ws_summary_page *p)
{
	const struct ws_model *m = p->tab->m;
	const struct ws_digest *d = p->tab->digest;
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
	if (!p->tab->sel->kernels)
		return;
	ws_page_share(p, ws_bytes_of("kernels that lie in a range"), in_range, in_range_ns);
	if (ws_model_on_cpu(m) != 1 && (tensor || !unknown))
		ws_page_share(p,
		              ws_bytes_of(amd ? "kernels on matrix cores, by their names"
		                              : "kernels on Tensor Cores, by their names"),
		              tensor, tensor_ns);
	if (ws_model_on_cpu(m) != 1 && unknown)
		ws_page_share(p,
		              ws_bytes_of(amd ? "kernels that may use matrix cores"
		                              : "kernels that may use Tensor Cores"),
		              unknown, unknown_ns);
}

/* The waits that make up most of the time, longest first. */
static void add_waits(const struct ws_summary_page *p, const struct ws_device_use *use)
{
	enum ws_use order[WS_USES];

	ws_uses_by_time(use, order);
	for (int n = 1; n <= TOP_WAITS && use->ns[order[n]]; n++) {
		const enum ws_use most = order[n];
		struct ws_cell *row = ws_page_row(p, ws_bytes_of(ws_use_defs[most].name));
		char text[80];

		ws_cell_set_real(&row[WS_TC_summary_time_ns], (double)use->ns[most]);
		snprintf(text, sizeof(text), "%.1f %% of the time of the devices",
		         ws_stat_percent((double)use->ns[most], (double)use->window_ns));
		ws_cell_set_str(p->t, &row[WS_TC_summary_text], text);
	}
}

static void add_idle(const struct ws_summary_page *p)
{
	const struct ws_idle *idle;
	uint64_t captured;
	char words[256];

	idle = ws_idle_find_in_scope(p->tab->m, p->tab->sel);
	captured = ws_host_activity_find(p->tab->m, p->tab->sel)->captured;
	if (captured) {
		snprintf(words, sizeof(words),
		         "%" PRIu64 " launch%s captured into a graph and did "
		         "not run",
		         captured, captured == 1 ? " was" : "es were");
		ws_page_words(p, "graph capture", words);
	}
	if (idle->all.kernels) {
		ws_page_words(p, "why the device is idle",
		              ws_idle_words(&idle->verdict, words, sizeof(words)));
		if (idle->verdict.known)
			ws_page_words(p, "what to do about it",
			              ws_use_defs[idle->verdict.busy ? WS_USE_COMPUTE
			                                             : idle->verdict.cause]
			                      .cure);
		if (idle->verdict.known)
			add_waits(p, &idle->all);
	}
}

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

static unsigned place_of(const struct ws_table_context *tab, const struct ws_joined_kernel *k)
{
	switch (ws_scope_of(tab->m, k->step, k->kind->marks)) {
	case WS_SCOPE_STEPS:
		return k->kind->phase;
	case WS_SCOPE_WARM_UP:
		return PLACE_WARM_UP;
	case WS_SCOPE_SETUP:
		return PLACE_SETUP;
	default:
		return PLACE_OUTSIDE;
	}
}

static void find_device_time(const struct ws_table_context *tab, struct device_time *t)
{
	const struct ws_model *m = tab->m;
	const struct ws_selection *sel = tab->sel;
	uint32_t device = WS_NONE;

	for (size_t i = 0; i < sel->rows->nkernels; i++) {
		const struct ws_joined_kernel *k = ws_joined_rows_kernel(sel->rows, i);
		const bool selected = ws_kernel_selected(m, sel, k, i);
		const unsigned place = place_of(tab, k);

		if (device != m->configs[k->kind->config].device)
			ws_union_next_device(&t->busy);
		device = m->configs[k->kind->config].device;
		if (sel->any_scope && !sel->any_scope[i])
			continue;
		t->kernels[!selected][place]++;
		if (!k->kind->timed)
			continue;
		t->gpu_ns[!selected][place] += k->dur_ns;
		if (selected)
			ws_union_add(&t->busy, k->start_ns, k->start_ns + k->dur_ns);
	}
}

/* Start-up and end of the program, if the scope leaves them out. */
static void add_outside(const struct ws_summary_page *p)
{
	const struct ws_model *m = p->tab->m;
	int64_t first, last;
	char text[80];
	struct ws_cell *row;

	if (!p->tab->sel->to_device_work || !ws_model_has_kernels(m))
		return;
	ws_device_work_span(m, p->tab->sel, &first, &last);
	row = ws_page_row(p, ws_bytes_of("before and after device work"));
	ws_cell_set_real(&row[WS_TC_summary_time_ns],
	                 (double)(first - m->begin_ns) + (double)(m->end_ns - last));
	snprintf(text, sizeof(text), "%.3f ms before, %.3f ms after",
	         (double)(first - m->begin_ns) / 1e6, (double)(m->end_ns - last) / 1e6);
	ws_cell_set_str(p->t, &row[WS_TC_summary_text], text);
}

static void add_device_time(const struct ws_summary_page *p, const struct device_time *t)
{
	ws_page_count(p, "kernels", p->tab->sel->kernels);
	if (ws_model_has_work(p->tab->m)) { /* without device records the time is unknown, not 0 */
		ws_page_time(p, "GPU time of all kernels", (double)p->tab->sel->gpu_ns);
		ws_page_time(p, "GPU busy", (double)t->busy.busy_ns);
	}
	ws_page_time(p, "recorded time, first to last event",
	             (double)(p->tab->m->end_ns - p->tab->m->begin_ns));
	add_outside(p);
	add_work(p);
	add_coverage(p);
}

/* Work that the scope leaves out. No other table has it. */
static void add_left_out(struct ws_summary_page *p, const char *item, uint64_t kernels,
                         int64_t gpu_ns)
{
	struct ws_cell *row;

	p->section = "Outside the scope";
	row = ws_page_row(p, ws_bytes_of(item));
	ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)kernels);
	ws_cell_set_int(&row[WS_TC_summary_time_ns], gpu_ns);
}

static void add_places(struct ws_summary_page *p, const struct device_time *t)
{
	static const char *const names[PLACES] = {
	        [PLACE_WARM_UP] = "warm-up",
	        [PLACE_SETUP] = "setup",
	        [PLACE_OUTSIDE] = "outside steps, warm-up and set-up",
	};

	bool has_phases = false;

	for (unsigned i = 0; i < WS_PHASE_OTHER; i++)
		has_phases |= t->kernels[0][i] > 0;
	for (unsigned i = 0; i < PLACES; i++) {
		char item[48];

		/* without phases the row `remainder` has no meaning */
		if (i < WS_PHASES)
			snprintf(item, sizeof(item), "measured steps%s%s", has_phases ? ", " : "",
			         has_phases ? ws_phase_name((enum ws_phase)i) : "");
		if (t->kernels[0][i])
			ws_page_share(p, ws_bytes_of(i < WS_PHASES ? item : names[i]),
			              t->kernels[0][i], t->gpu_ns[0][i]);
	}
	for (unsigned i = WS_PHASES; i < PLACES; i++)
		if (t->kernels[1][i])
			add_left_out(p, names[i], t->kernels[1][i], t->gpu_ns[1][i]);
}

static uint32_t dtype_of(const struct ws_model *m, const struct ws_digest_cell *cell)
{
	(void)m;
	return cell->place.dtype;
}

static uint64_t group_kernels(const struct ws_group *g)
{
	return g->time.n + g->without_time;
}

static void add_classes(const struct ws_summary_page *p)
{
	struct ws_ranking r;

	ws_digest_rank(p->tab, ws_digest_class, &r);
	for (size_t i = 0; i < r.n; i++) {
		uint32_t class = r.order[i].row;

		ws_page_share(p,
		              class ? ws_display_class(p->tab->m->texts[class])
		                    : ws_bytes_of("(unclassified)"),
		              group_kernels(&r.groups[class]), r.groups[class].time.sum);
	}
}

/* The dtypes found in the names of kernels, for a program that does not state its dtype. */
static void add_dtypes(const struct ws_summary_page *p)
{
	struct ws_ranking r;
	char text[160] = "";
	size_t len = 0, n = 0;

	ws_digest_rank(p->tab, dtype_of, &r);
	for (size_t i = 0; i < r.n && n < TOP_DTYPES; i++) {
		struct ws_bytes dtype = p->tab->m->texts[r.order[i].row];
		double share = ws_stat_percent((double)r.groups[r.order[i].row].time.sum,
		                               (double)p->tab->sel->gpu_ns);

		if (!r.order[i].row || dtype.len > 24 || (n && share < LEAST_SHARE))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s %.1f %%",
		                        n++ ? ", " : "", (int)dtype.len, (const char *)dtype.ptr,
		                        share);
	}
	if (len)
		ws_page_words(p, "dtype of kernels, by GPU time", text);
}

static void add_top_kernels(const struct ws_summary_page *p)
{
	struct ws_ranking r;
	struct ws_group rest = {0};
	struct ws_bytes shown[TOP_KERNELS] = {0};

	ws_digest_rank(p->tab, ws_digest_name, &r);
	for (size_t i = 0; i < r.n && i < TOP_KERNELS; i++)
		shown[i] = ws_model_short_name(p->tab->m, r.order[i].row);
	ws_names_elide(p->tab->temp, shown, TOP_KERNELS, NAME_COLUMNS, WS_ELIDE_HEAD(NAME_COLUMNS));
	for (size_t i = 0; i < r.n; i++) {
		const struct ws_group *g = &r.groups[r.order[i].row];
		struct ws_bytes name = p->tab->m->texts[r.order[i].row];
		struct ws_cell *row;

		if (i >= TOP_KERNELS) {
			rest.time.n += group_kernels(g);
			rest.time.sum += g->time.sum;
			continue;
		}
		row = ws_page_share(p, shown[i], group_kernels(g), g->time.sum);
		ws_cell_set_text(p->t, &row[WS_TC_summary_text], name.ptr, name.len);
	}
	if (rest.time.n)
		ws_page_share(p, ws_bytes_of("(all other kernels)"), rest.time.n, rest.time.sum);
}

/* --- what to do ------------------------------------------------------------------------------- */

/* The most severe finding of a rule: the advice, the evidence, and the possible gain. */
static void add_finding(const struct ws_summary_page *p, const struct ws_findings *a,
                        const struct ws_finding *f, uint64_t more)
{
	const struct ws_rule_def *rule = &ws_rule_defs[f->rule];
	const char *advice = f->advice && *f->advice ? f->advice : rule->advice;
	char *item, *text, gain[80] = "", others[64] = "";

	if (f->gain_ns > 0 && a->step_ns > 0)
		snprintf(gain, sizeof(gain), " Gain: %s.", ws_finding_gain(p->tab->temp, a, f));
	if (more)
		snprintf(others, sizeof(others), "; %llu more like this", (unsigned long long)more);
	item = ws_xformat("%s: %s", rule->title, f->scope);
	/* some texts end in a full stop, some do not */
	text = ws_xformat("%.*s.%s Evidence: %s%s.",
	                  (int)(strlen(advice) - (advice[strlen(advice) - 1] == '.')), advice, gain,
	                  f->evidence, others);
	ws_page_text(p, ws_bytes_of(item), ws_bytes_of(text));
	free(item);
	free(text);
}

/* The first finding of each of the first rules. */
static void add_some_findings(const struct ws_summary_page *p, const struct ws_findings *a)
{
	uint64_t of_rule[WS_RULES];
	size_t shown = 0;

	memcpy(of_rule, a->skipped, sizeof(of_rule));
	for (size_t i = 0; i < a->n; i++)
		of_rule[a->finding[i].rule]++;
	for (size_t i = 0; i < a->n && shown < TOP_FINDINGS; i++) {
		enum ws_rule rule = a->finding[i].rule;

		if (!of_rule[rule] || ws_finding_is_small(a, &a->finding[i]))
			continue;
		add_finding(p, a, &a->finding[i], of_rule[rule] - 1);
		of_rule[rule] = 0;
		shown++;
	}
}

static void add_findings(const struct ws_summary_page *p)
{
	const struct ws_findings *a;
	struct ws_cell *row;
	int judged = 0;
	char text[120];

	a = ws_advice_find(p->tab);
	for (int i = 0; i < WS_RULES; i++)
		judged += !a->not_judged[i];
	add_some_findings(p, a);
	row = ws_page_row(p, ws_bytes_of("findings in all"));
	snprintf(text, sizeof(text),
	         "%d of %d rules could be evaluated; `advice` has all findings and says "
	         "what the other rules lack",
	         judged, WS_RULES);
	ws_cell_set_str(p->t, &row[WS_TC_summary_text], text);
	ws_cell_set_int(&row[WS_TC_summary_count], (int64_t)a->n);
}

/* --- the page --------------------------------------------------------------------------------- */

void ws_tab_summary(const struct ws_table_context *tab, struct ws_table *t)
{
	struct ws_summary_page p = {tab, t, "What ran"};
	const bool has_kernels = ws_model_has_kernels(tab->m);
	struct device_time time = {0};

	/* in the order of a reviewer's questions */
	ws_page_what_ran(&p);
	if (!ws_page_fact(tab->m, "dtype").len)
		add_dtypes(&p);
	p.section = "How long a step takes";
	ws_page_steps(&p);
	p.section = "Where the time goes";
	find_device_time(tab, &time);
	add_device_time(&p, &time);
	p.section = "GPU time by phase";
	add_places(&p, &time);
	p.section = "GPU time by class";
	add_classes(&p);
	p.section = "Top kernels";
	add_top_kernels(&p);
	if (has_kernels) {
		p.section = "Why the device is idle";
		add_idle(&p);
		p.section = "What to do";
		add_findings(&p);
	}
	p.section = "What is missing";
	ws_page_missing(&p);
	p.section = "Workload";
	for (size_t i = 0; i < tab->m->nfacts; i++)
		ws_page_text(&p, tab->m->facts[i].key, tab->m->facts[i].value);
	p.section = "Provenance";
	ws_page_provenance(&p);

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
