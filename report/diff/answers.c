/* The first screen of a comparison, made from its tables so that numbers agree. */
#include "report/page/page.h"

#include "report/diff/private.h"

struct answering {
	const struct ws_diff *d;
	const struct ws_report *report;
	struct ws_page *out;
	struct ws_arena *texts;
};

static const struct ws_table *table_of(const struct answering *a, const struct ws_table_def *def)
{
	for (size_t i = 0; i < a->report->ntables; i++)
		if (a->report->tables[i]->def == def)
			return a->report->tables[i];
	return NULL;
}

static const char *copy(const struct answering *a, const struct ws_cell *cell)
{
	return cell->type == WS_CELL_TEXT ? ws_arena_copy(a->texts, cell->text.ptr, cell->text.len)
	                                  : "";
}

/* --- the headline ------------------------------------------------------------------------- */

static const struct ws_cell *verdict_of(const struct answering *a, const char *subject)
{
	const struct ws_table *t = table_of(a, &ws_def_diff_verdict);

	for (size_t i = 0; i < t->nrows; i++)
		if (ws_cell_is(&ws_table_cells(t, i)[WS_TC_diff_verdict_subject], subject))
			return ws_table_cells(t, i);
	return NULL;
}

#define UNSEEN 0.0005 /* a change too small to show in percent with one decimal */

/* Why there is no significant change, from the row of the verdict. */
static const char *say_no_change(const struct answering *a, const struct ws_cell *row)
{
	static const char *const of[][2] = {
	        {"No significant difference in common work",
	         ", but one side did more work than the other."},
	        {"No significant difference in cycles", ", but the clocks differed."},
	        {"The clocks can explain", ", which the clocks can explain."},
	        {"Both runs are launch-bound", ", but both runs are launch-bound."},
	};
	const char *verdict = copy(a, &row[WS_TC_diff_verdict_verdict]);

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (strstr(verdict, of[i][0]))
			return of[i][1];
	if (ws_cell_number(&row[WS_TC_diff_verdict_low]) > 1 ||
	    ws_cell_number(&row[WS_TC_diff_verdict_high]) < 1)
		return ", which is too little to count.";
	return isnan(ws_cell_number(&row[WS_TC_diff_verdict_low]))
	               ? ", but how much runs vary is unknown."
	       : fabs(ws_cell_number(&row[WS_TC_diff_verdict_ratio]) - 1) < UNSEEN
	               ? ", but noise may hide a difference."
	       : strstr(verdict, ", assumes ")
	               ? ", which the noise assumed between runs may explain."
	               : ", but the runs vary too much to be sure.";
}

/* "The step is 1.3× faster: 155 → 119 ms." row: row of the verdict. */
static void say_time(const struct answering *a, const struct ws_cell *row, const char *name,
                     const char *what, bool is_many)
{
	const char *are = is_many ? "are" : "is";
	struct ws_arena *t = a->texts;
	const double ns[2] = {1e6 * ws_cell_number(&row[WS_TC_diff_verdict_a]),
	                      1e6 * ws_cell_number(&row[WS_TC_diff_verdict_b])};
	const double ratio = ws_cell_number(&row[WS_TC_diff_verdict_ratio]);
	const char *times = ws_say_times(t, ns[0], "→", ns[1]);
	const char *grade = copy(a, &row[WS_TC_diff_verdict_grade]);
	const bool differs = strstr(grade, "FASTER") || strstr(grade, "SLOWER"),
	           is_same = !strcmp(grade, "SAME");
	const char *change = ws_arena_format(t, "%s %s", ws_say_amount(t, ratio),
	                                     ratio < 1 ? "faster" : "slower");

	a->out->compared[a->out->ncompared++] =
	        (struct ws_compared_time){.name = name,
	                                  .grade = grade,
	                                  .ns = {ns[0], ns[1]},
	                                  .ratio = ratio,
	                                  .low = ws_cell_number(&row[WS_TC_diff_verdict_low]),
	                                  .high = ws_cell_number(&row[WS_TC_diff_verdict_high])};
	if (isnan(ratio))
		ws_page_say(a->out, grade, ws_arena_format(t, "%s %s not compared: ", what, are),
		            times, ".", NULL);
	else if (is_same)
		ws_page_say(a->out, grade,
		            ws_arena_format(t, "%s take%s the same time: ", what,
		                            is_many ? "" : "s"),
		            fabs(ratio - 1) < UNSEEN ? ws_say_time(t, ns[0]) : times, ".", NULL);
	else if (differs)
		ws_page_say(a->out, grade, ws_arena_format(t, "%s %s ", what, are),
		            ws_arena_format(t, "%s: %s", change, times), ".", NULL);
	else
		ws_page_say(a->out, grade,
		            ws_arena_format(t, "%s look%s ", what, is_many ? "" : "s"),
		            fabs(ratio - 1) < UNSEEN ? "as fast" : change,
		            ws_arena_format(t, " (%s)%s", times, say_no_change(a, row)), NULL);
	a->out->headline[a->out->nheadline - 1].is_compared = true;
}

/* "26.9 ms less softmax" */
static const char *part_words(const struct answering *a, const struct ws_diff_part *p)
{
	char words[192];

	ws_diff_print_part(p, words, sizeof(words));
	return ws_arena_format(a->texts, "%s", words);
}

/* Smaller changes, in percent of the step, are not given as reasons. */
#define REASON_PERCENT 0.1

static void say_headline(const struct answering *a, const struct ws_diff_parts *parts)
{
	const bool by_steps = a->d->by_steps;

	if (a->d->nreasons) {
		const size_t more = a->d->nreasons - 1;

		ws_page_say(a->out, ws_grade_name(WS_GRADE_UNLIKE),
		            "Different work: ", ws_arena_format(a->texts, "%s", a->d->reasons[0]),
		            more == 1 ? ", and 1 more reason."
		            : more    ? ws_arena_format(a->texts, ", and %zu more reasons.", more)
		                      : ".",
		            NULL);
	}
	const struct ws_cell *row = verdict_of(a, "overall");
	if (row && row[WS_TC_diff_verdict_a].type == WS_CELL_EMPTY) {
		ws_page_say(a->out, "", WS_DIFF_NOTHING, NULL);
		return;
	}
	if (row)
		say_time(a, row, by_steps ? "step" : "run", by_steps ? "The step" : "The run",
		         false);
	const struct ws_comparison *mean = &a->d->result->mean;
	if (row && ws_grade_is_different(mean->grade))
		ws_page_say(a->out, "", "But the mean step is ",
		            ws_arena_format(a->texts, "%s %s", ws_say_amount(a->texts, mean->ratio),
		                            mean->ratio < 1 ? "faster" : "slower"),
		            ": some steps are slow.", NULL);
	if (a->out->ncompared)
		a->out->is_unsure = !strcmp(a->out->compared[0].grade, "AMBIGUOUS") ||
		                    !strcmp(a->out->compared[0].grade, "UNLIKE");
	row = verdict_of(a, ws_arena_format(a->texts, "%s of %s", ws_diff_sum_name(a->d),
	                                    by_steps ? "a step" : ws_diff_work_noun(a->d)));
	if (row)
		say_time(a, row, ws_diff_work_noun(a->d),
		         ws_arena_format(a->texts, "The %s", ws_diff_work_noun(a->d)), true);
	const struct ws_cell *clocks = verdict_of(a, "clocks");

	if (clocks)
		ws_page_say(a->out, "", copy(a, &clocks[WS_TC_diff_verdict_verdict]), NULL);
	if (a->out->is_unsure) {
		/* Adds what would settle the comparison: the end of the verdict's sentences. */
		static const char *const begins[] = {"Record about ", "These runs vary",
		                                     "CPU runs need", "Pass --force"};
		const char *verdict =
		        copy(a, &verdict_of(a, "overall")[WS_TC_diff_verdict_verdict]);
		const char *begin = NULL;

		for (size_t i = 0; i < sizeof(begins) / sizeof(*begins) && !begin; i++)
			begin = strstr(verdict, begins[i]);
		if (begin)
			ws_page_say(a->out, "", begin, NULL);
		return;
	}
	/* Adds the largest change, and the largest opposite one. */
	const struct ws_diff_part *most = NULL, *against = NULL;
	const double whole = fmax(parts->whole_ns[0], parts->whole_ns[1]);

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < parts->n; i++) {
			const struct ws_diff_part *p = &parts->part[i];
			const struct ws_diff_part **to = pass ? &against : &most;
			const double change = p->ns[1] - p->ns[0];

			if (pass && (!most || change * (most->ns[1] - most->ns[0]) >= 0))
				continue;
			if (!*to || fabs(change) > fabs((*to)->ns[1] - (*to)->ns[0]))
				*to = p;
		}
	if (most && fabs(most->ns[1] - most->ns[0]) >= whole * REASON_PERCENT / 100) {
		if (against &&
		    fabs(against->ns[1] - against->ns[0]) < 0.1 * fabs(most->ns[1] - most->ns[0]))
			against = NULL;
		/* only classes of kernels are graded, not idle time and copies */
		const struct ws_table *t = table_of(a, &ws_def_diff_classes);
		const char *of_class = "";

		for (size_t i = 0; most->kind == WS_PART_CLASS && i < t->nrows; i++) {
			const struct ws_cell *of = ws_table_cells(t, i);
			const struct ws_cell *class = &of[WS_TC_diff_classes_class];

			if (class->type == WS_CELL_TEXT && class->text.len == most->name.len &&
			    !memcmp(class->text.ptr, most->name.ptr, most->name.len)) {
				of_class = copy(a, &of[WS_TC_diff_classes_grade]);
				break;
			}
		}
		ws_page_say(a->out, of_class, "Why: ", part_words(a, most),
		            against ? "; against it " : ".", against ? part_words(a, against) : "",
		            against ? "." : "", NULL);
	}

	/* Adds the part of the change that kernels explain, if they changed. row: the row of their
	 * time, NULL. */
	const char *grade = row ? copy(a, &row[WS_TC_diff_verdict_grade]) : "";
	const double *ns = a->d->replayed_ns;
	char buffer[WS_DIFF_SHARE];
	/* the page keeps the address */
	const char *share =
	        ws_arena_format(a->texts, "%s",
	                        ws_diff_replayed_share(a->d, &a->d->result->overall, buffer));

	if (!*share || (!strstr(grade, "FASTER") && !strstr(grade, "SLOWER")))
		return;
	if (ws_diff_replay_is_unsure(a->d, &a->d->result->overall))
		ws_page_say(a->out, "", "Kernel times alone: ", share, ".", NULL);
	else
		ws_page_say(a->out, "",
		            "Kernel times alone: ", ws_say_times(a->texts, ns[0], "→", ns[1]), ", ",
		            share, ".", NULL);
}

/* --- from A to B ---------------------------------------------------------------------------- */

/* Minimum share of the step for a separate bar. */
#define BAR_LEAST 0.01

static const char *group_name(enum ws_diff_part_kind kind)
{
	static const char *const names[] = {
	        [WS_PART_OPERATION] = "other operations", [WS_PART_CLASS] = "other kernels",
	        [WS_PART_GRAPHS] = "other kernels",       [WS_PART_OVERLAP] = "other kernels",
	        [WS_PART_COPIES] = "other copies",        [WS_PART_COMMUNICATION] = "communication",
	        [WS_PART_IDLE] = "other waiting",
	};

	return names[kind];
}

static const char *part_name(const struct answering *a, const struct ws_diff_part *p)
{
	return ws_arena_copy(a->texts, p->name.ptr, p->name.len);
}

static void add_bar(struct ws_page *out, const char *name, double change_ns)
{
	const double from = out->change_bar[out->nchange_bars - 1].to_ns;

	out->change_bar[out->nchange_bars++] =
	        (struct ws_change_bar){name, from, from + change_ns, false};
}

/* --- operations ------------------------------------------------------------------------------ */

static double change_size(const struct ws_cell *row)
{
	return fabs(ws_cell_number(&row[WS_TC_diff_ops_diff_ns]));
}

/* --- all of it ------------------------------------------------------------------------------- */

void ws_diff_answer(struct ws_diff *d, struct ws_report *report)
{
	struct ws_page *out = report->page = ws_xarray(1, sizeof(*out));
	const struct answering a = {d, report, out, &out->arena};
	struct ws_diff_parts parts;

	out->is_comparison = true;
	ws_diff_find_parts(d, &parts);
	/* sides with equal names contain the letter */
	bool by_letter = strstr(d->side[0].name, " (A)") && strstr(d->side[1].name, " (B)");
	for (int s = 0; s < 2; s++) {
		out->side_name[s] = ws_arena_format(a.texts, "%s", d->side[s].name);
		out->side_title[s] = ws_arena_format(a.texts, "%s%s", d->side[s].name,
		                                     by_letter ? ""
		                                     : s       ? " (B)"
		                                               : " (A)");
	}
	out->title = ws_arena_format(a.texts, "%s → %s", out->side_title[0], out->side_title[1]);
	out->source = report->trace;
	const struct ws_cell *matched = verdict_of(&a, "matched work");
	out->note = matched ? copy(&a, &matched[WS_TC_diff_verdict_verdict]) : NULL;
	bool no_gpu_ran = true;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < d->side[s].nrecordings; i++)
			no_gpu_ran &= d->side[s].recordings[i].on_cpu == 1;
	if (no_gpu_ran)
		out->note =
		        ws_arena_format(a.texts, "Both ran on the CPU reference; no GPU ran.%s%s",
		                        out->note ? " " : "", out->note ? out->note : "");
	say_headline(&a, &parts);
	/* Adds bars for changes of 1 % of the step or more, largest first in each group; then the
	 * group's rest. */
	const double *typical = parts.whole_ns;
	const double least = BAR_LEAST * fmax(typical[0], typical[1]);

	if (typical[0] > 0 && typical[1] > 0) {
		WS_NEW(a.texts, out->change_bar, 2 * parts.n + 2);
		out->change_bar[out->nchange_bars++] =
		        (struct ws_change_bar){out->side_name[0], 0, typical[0], true};
		for (size_t i = 0; i < parts.n;) {
			const char *group = group_name(parts.part[i].kind);
			const struct ws_diff_part *little = NULL;
			double rest = 0;
			size_t n = 0;

			for (; i < parts.n && !strcmp(group_name(parts.part[i].kind), group); i++) {
				const struct ws_diff_part *p = &parts.part[i];
				const double change = p->ns[1] - p->ns[0];

				if (fabs(change) >= least) {
					add_bar(out, part_name(&a, p), change);
				} else if (change != 0) {
					rest += change;
					little = p;
					n++;
				}
			}
			if (rest != 0)
				add_bar(out, n == 1 ? part_name(&a, little) : group, rest);
		}
		out->change_bar[out->nchange_bars++] =
		        (struct ws_change_bar){out->side_name[1], 0, typical[1], true};
	}

	/* Adds the rows of both sides with the largest changes. */
	const struct ws_table *t = table_of(&a, &ws_def_diff_ops);
	const struct ws_cell *best[WS_CHANGES];
	size_t n = 0;

	for (size_t i = 0; i < t->nrows; i++) {
		const struct ws_cell *row = ws_table_cells(t, i);
		size_t at = n;

		if (!(ws_cell_number(&row[WS_TC_diff_ops_ratio]) > 0) || !change_size(row))
			continue;
		while (at && change_size(row) > change_size(best[at - 1]))
			at--;
		if (at == WS_CHANGES)
			continue;
		n += n < WS_CHANGES;
		memmove(&best[at + 1], &best[at], (n - 1 - at) * sizeof(*best));
		best[at] = row;
	}
	for (size_t i = 0; i < n; i++) {
		const struct ws_cell *row = best[i];
		struct ws_change *c = &a.out->change[a.out->nchanges++];

		c->name = copy(&a, &row[WS_TC_diff_ops_op]);
		/* the phase, "forward", if another row has the same name */
		const char *phase = "";
		for (size_t k = 0; k < n && !*phase; k++)
			if (ws_cell_same(&best[k][WS_TC_diff_ops_op], &row[WS_TC_diff_ops_op]) &&
			    !ws_cell_same(&best[k][WS_TC_diff_ops_phase],
			                  &row[WS_TC_diff_ops_phase]))
				phase = copy(&a, &row[WS_TC_diff_ops_phase]);
		c->shape = copy(&a, &row[WS_TC_diff_ops_shape]);
		c->shape = ws_arena_format(a.texts, "%s%s%s", phase, *phase ? " " : "", c->shape);
		c->class = copy(&a, &row[WS_TC_diff_ops_class]);
		c->grade = copy(&a, &row[WS_TC_diff_ops_grade]);
		c->colour = ws_page_class_colour(c->class, strlen(c->class));
		c->class = ws_display_class(ws_bytes_of(c->class)).ptr;
		c->calls[0] = ws_cell_number(&row[WS_TC_diff_ops_instances_a]);
		c->calls[1] = ws_cell_number(&row[WS_TC_diff_ops_instances_b]);
		c->ns[0] = ws_cell_number(&row[WS_TC_diff_ops_gpu_a_ns]);
		c->ns[1] = ws_cell_number(&row[WS_TC_diff_ops_gpu_b_ns]);
		c->ratio = ws_cell_number(&row[WS_TC_diff_ops_ratio]);
		c->low = ws_cell_number(&row[WS_TC_diff_ops_low]);
		c->high = ws_cell_number(&row[WS_TC_diff_ops_high]);
	}
	for (int s = 0; s < 2; s++) {
		struct ws_recording *of = &d->side[s].recordings[d->side[s].shown_recording];

		out->side[s] = of->page;
		of->page = NULL;
	}
	if (out->side[0] && out->side[1])
		ws_pages_match(out->side[0], out->side[1]);
	ws_diff_parts_release(&parts);
}
