/*
 * diff-ops, diff-kernels, diff-classes, diff-only: which work changed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/diff/private.h"

/* --- cells ------------------------------------------------------------------------------- */

/* Work that most samples of a side lack has no typical time. */
static bool is_typical(const struct ws_diff_row *row, int s)
{
	return row->c.typical[s] > 1 && (row->like_calls[s] || row->instances[s]);
}

void ws_diff_set_typical(const struct ws_diff_row *row, struct ws_cell *cells)
{
	for (int s = 0; s < 2; s++)
		if (is_typical(row, s))
			ws_cell_set_real(&cells[s], row->c.typical[s]);
}

void ws_diff_set_ratio(const struct ws_diff *d, const struct ws_diff_row *row, struct ws_cell *cell)
{
	if (!ws_diff_is_unlike(d) && row->c.grade != WS_GRADE_UNLIKE && is_typical(row, 0) &&
	    is_typical(row, 1) && row->instances[0] && row->instances[1])
		ws_cell_set_real(cell, row->c.ratio);
}

void ws_diff_set_grade(const struct ws_diff_row *row, struct ws_table *t, struct ws_cell *cell)
{
	if (row->instances[0] && row->instances[1] && row->c.grade != WS_GRADE_NONE)
		ws_cell_set_str(t, cell, ws_grade_name(row->c.grade));
}

void ws_diff_set_text(const struct ws_diff *d, struct ws_table *t, struct ws_cell *cell,
                      uint32_t text)
{
	struct ws_bytes bytes = ws_texts_get(&d->names.texts, text);

	if (bytes.len)
		ws_cell_set_text(t, cell, bytes.ptr, bytes.len);
}

void ws_diff_note_samples(const struct ws_diff *d, struct ws_table *t)
{
	ws_table_set_sides(t, d->side[0].name, d->side[1].name);
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		ws_table_note(t, "%s is %s: %zu recording%s, %zu %s%s in all.", s ? "B" : "A",
		              side->name, side->nrecordings, side->nrecordings == 1 ? "" : "s",
		              side->nsamples,
		              side->recordings[0].has_steps ? "measured step" : "whole trace",
		              side->nsamples == 1 ? "" : "s");
		ws_diff_note_copies(side, s ? "B: " : "A: ", t);
	}
}

void ws_diff_note_copies(const struct ws_side *side, const char *before, struct ws_table *t)
{
	const bool is_one = side->ncopies == 1;

	if (side->ncopies)
		ws_table_note(t,
		              "%s%zu trace%s left out: %s has the same bytes as another, and a "
		              "recording counts once.",
		              before, side->ncopies, is_one ? " is" : "s are",
		              is_one ? "it" : "each");
}

static void set_mean_counts(const struct ws_diff *d, const uint64_t counts[2],
                            const struct ws_diff_row *row, struct ws_cell *a, struct ws_cell *b)
{
	struct ws_cell *cells[2] = {a, b};

	for (int s = 0; s < 2; s++)
		if (row->instances[s])
			ws_cell_set_mean(cells[s], (int64_t)counts[s], d->side[s].nsamples);
}

/* Time per Call A, Time per Call B stand beside each other. */
static void set_time_per_call(const struct ws_diff_row *row, struct ws_cell *cells)
{
	for (int s = 0; s < 2; s++)
		ws_cell_set_real(&cells[s],
		                 ws_stat_ratio((double)row->call_ns[s], (double)row->instances[s]));
}

/* GPU Time A, GPU Time B, B - A stand in this order in three tables. */
static void set_times(const struct ws_diff_row *row, struct ws_cell *cells)
{
	for (int s = 0; s < 2; s++)
		ws_cell_set_real(&cells[s], row->mean[s]);
	ws_cell_set_real(&cells[2], (isnan(row->mean[1]) ? 0 : row->mean[1]) -
	                                    (isnan(row->mean[0]) ? 0 : row->mean[0]));
}
#define IN_ORDER(table)                                                                 \
	_Static_assert(WS_TC_##table##_gpu_b_ns == WS_TC_##table##_gpu_a_ns + 1 &&      \
	                       WS_TC_##table##_diff_ns == WS_TC_##table##_gpu_a_ns + 2, \
	               "order of columns")
IN_ORDER(diff_ops);
IN_ORDER(diff_kernels);
IN_ORDER(diff_classes);
_Static_assert(WS_TC_diff_ops_call_b_ns == WS_TC_diff_ops_call_a_ns + 1 &&
                       WS_TC_diff_classes_call_b_ns == WS_TC_diff_classes_call_a_ns + 1,
               "order of columns");
_Static_assert(WS_TC_diff_ops_typical_b_ns == WS_TC_diff_ops_typical_a_ns + 1, "order of columns");
_Static_assert(WS_TC_diff_phases_typical_b_ns == WS_TC_diff_phases_typical_a_ns + 1,
               "order of columns");

/* --- diff-ops ---------------------------------------------------------------------------- */

enum { OP, PHASE, SHAPE, CLASS, DTYPE_A, DTYPE_B, BY, COUNT_A, COUNT_B, SHAPE_B };

/* The item of the side that has one, A's first. */
static const struct ws_work_item *named_by(const struct ws_work_item *const item[2])
{
	return item[0] ? item[0] : item[1];
}

static void key_of_op(const struct ws_diff *d, const struct ws_work_item *const item[2],
                      const uint32_t n[2], int by, uint32_t key[WS_DIFF_FIELDS])
{
	const struct ws_work_item *name = named_by(item);

	(void)d;
	key[OP] = name->op ? name->op : name->class;
	key[PHASE] = name->phase;
	key[SHAPE] = name->shape;
	key[CLASS] = name->class;
	key[DTYPE_A] = item[0] ? item[0]->dtype : 0;
	key[DTYPE_B] = item[1] ? item[1]->dtype : 0;
	if (item[1] && item[1]->shape != name->shape)
		key[SHAPE_B] = item[1]->shape;
	key[BY] = (uint32_t)(by + 1);
	if (by == WS_MATCHED_BY_NEIGHBOURS || by < 0) {
		key[COUNT_A] = n[0];
		key[COUNT_B] = n[1];
	}
}

static void set_matched_by(const struct ws_diff_row *row, struct ws_table *t, struct ws_cell *cell)
{
	char text[64];

	if (!row->field[BY]) {
		ws_cell_set_str(t, cell, row->instances[0] ? "only in A" : "only in B");
		return;
	}
	snprintf(text, sizeof(text), "%s",
	         ws_matched_by_name((enum ws_matched_by)(row->field[BY] - 1)));
	if (row->field[COUNT_A])
		snprintf(text, sizeof(text), "matched neighbours: %u became %u",
		         row->field[COUNT_A], row->field[COUNT_B]);
	ws_cell_set_str(t, cell, text);
}

void ws_diff_fill_ops(struct ws_diff *d, struct ws_table *t)
{
	struct ws_diff_rows rows;

	ws_diff_rows_of_work(d, key_of_op, &rows);
	for (size_t i = 0; i < rows.n; i++) {
		const struct ws_diff_row *row = &rows.row[i];
		struct ws_cell *cells = ws_table_row(t);

		ws_diff_set_text(d, t, &cells[WS_TC_diff_ops_op], row->field[OP]);
		ws_cell_set_str(t, &cells[WS_TC_diff_ops_phase],
		                ws_phase_name((enum ws_phase)row->field[PHASE]));
		ws_diff_set_text(d, t, &cells[WS_TC_diff_ops_shape], row->field[SHAPE]);
		ws_diff_set_text(d, t, &cells[WS_TC_diff_ops_class], row->field[CLASS]);
		set_mean_counts(d, row->instances, row, &cells[WS_TC_diff_ops_instances_a],
		                &cells[WS_TC_diff_ops_instances_b]);
		set_times(row, &cells[WS_TC_diff_ops_gpu_a_ns]);
		ws_diff_set_ratio(d, row, &cells[WS_TC_diff_ops_ratio]);
		ws_diff_set_typical(row, &cells[WS_TC_diff_ops_typical_a_ns]);
		ws_diff_set_grade(row, t, &cells[WS_TC_diff_ops_grade]);
		ws_diff_set_text(d, t, &cells[WS_TC_diff_ops_dtype_a], row->field[DTYPE_A]);
		ws_diff_set_text(d, t, &cells[WS_TC_diff_ops_dtype_b], row->field[DTYPE_B]);
		set_matched_by(row, t, &cells[WS_TC_diff_ops_matched_by]);
		set_time_per_call(row, &cells[WS_TC_diff_ops_call_a_ns]);
		ws_diff_set_text(d, t, &cells[WS_TC_diff_ops_shape_b], row->field[SHAPE_B]);
		if (cells[WS_TC_diff_ops_ratio].type != WS_CELL_EMPTY) {
			ws_cell_set_real(&cells[WS_TC_diff_ops_low], row->c.low);
			ws_cell_set_real(&cells[WS_TC_diff_ops_high], row->c.high);
		}
	}
	if (!rows.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	ws_diff_note_samples(d, t);
	ws_diff_rows_release(&rows);
}

/* --- diff-kernels ------------------------------------------------------------------------ */

enum { KERNEL_A = 2, KERNEL_B, TENSOR_A, TENSOR_B };

static uint32_t tensor_of(const struct ws_work_item *item)
{
	return item ? item->tensor + 1u : 0;
}

static void key_of_kernels(const struct ws_diff *d, const struct ws_work_item *const item[2],
                           const uint32_t n[2], int by, uint32_t key[WS_DIFF_FIELDS])
{
	const struct ws_work_item *name = named_by(item);

	(void)d;
	(void)n;
	(void)by;
	key[OP] = name->op ? name->op : name->class;
	key[PHASE] = name->phase;
	key[KERNEL_A] = item[0] ? item[0]->kernels : 0;
	key[KERNEL_B] = item[1] ? item[1]->kernels : 0;
	key[TENSOR_A] = tensor_of(item[0]);
	key[TENSOR_B] = tensor_of(item[1]);
}

static void set_tensor(struct ws_table *t, struct ws_cell *cell, uint32_t tensor)
{
	const char *shown = tensor ? ws_tensor_shown((enum ws_tensor)(tensor - 1)) : "";

	if (*shown)
		ws_cell_set_str(t, cell, shown);
}

void ws_diff_fill_kernels(struct ws_diff *d, struct ws_table *t)
{
	struct ws_diff_rows rows;

	ws_diff_rows_of_work(d, key_of_kernels, &rows);
	for (size_t i = 0; i < rows.n; i++) {
		const struct ws_diff_row *row = &rows.row[i];
		struct ws_cell *cells = ws_table_row(t);

		ws_diff_set_text(d, t, &cells[WS_TC_diff_kernels_op], row->field[OP]);
		ws_cell_set_str(t, &cells[WS_TC_diff_kernels_phase],
		                ws_phase_name((enum ws_phase)row->field[PHASE]));
		ws_diff_set_text(d, t, &cells[WS_TC_diff_kernels_kernel_a], row->field[KERNEL_A]);
		ws_diff_set_text(d, t, &cells[WS_TC_diff_kernels_kernel_b], row->field[KERNEL_B]);
		set_mean_counts(d, row->instances, row, &cells[WS_TC_diff_kernels_instances_a],
		                &cells[WS_TC_diff_kernels_instances_b]);
		set_times(row, &cells[WS_TC_diff_kernels_gpu_a_ns]);
		set_tensor(t, &cells[WS_TC_diff_kernels_tensor_a], row->field[TENSOR_A]);
		set_tensor(t, &cells[WS_TC_diff_kernels_tensor_b], row->field[TENSOR_B]);
	}
	if (!rows.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	ws_diff_note_samples(d, t);
	ws_diff_rows_release(&rows);
}

/* --- diff-classes ------------------------------------------------------------------------ */

void ws_diff_gather_classes(const struct ws_diff *d, struct ws_diff_rows *rows)
{
	*rows = (struct ws_diff_rows){.nsamples = {d->side[0].nsamples, d->side[1].nsamples},
	                              .noise = WS_DIFF_NOISE_GPU};
	for (int s = 0; s < 2; s++) {
		const struct ws_side *side = &d->side[s];

		for (size_t i = 0; i < side->nsamples; i++) {
			const struct ws_class_time *classes =
			        ws_side_recording(side, i)->classes + side->samples[i]->first_class;

			for (size_t k = 0; k < side->samples[i]->nclasses; k++) {
				const uint32_t key[WS_DIFF_FIELDS] = {classes[k].class};
				struct ws_diff_row *row = ws_diff_row_of(rows, key);

				row->instances[s] += classes[k].kernels;
				ws_diff_sum_of(row, s, (uint32_t)i)->ns += classes[k].gpu_ns;
				row->tensor_ns[s] += classes[k].tensor_ns;
				row->unknown_ns[s] += classes[k].unknown_ns;
			}
		}
	}
	ws_diff_rows_grade(d, rows);
}

/* Calls by the class of the operation. */
static void key_of_class(const struct ws_diff *d, const struct ws_work_item *const item[2],
                         const uint32_t n[2], int by, uint32_t key[WS_DIFF_FIELDS])
{
	(void)d;
	(void)n;
	(void)by;
	key[0] = named_by(item)->class;
}

static void set_calls(const struct ws_diff *d, const struct ws_diff_row *row, struct ws_table *t,
                      struct ws_cell *cells)
{
	ws_diff_set_ratio(d, row, &cells[WS_TC_diff_classes_ratio]);
	ws_diff_set_grade(row, t, &cells[WS_TC_diff_classes_grade]);
	set_mean_counts(d, row->instances, row, &cells[WS_TC_diff_classes_calls_a],
	                &cells[WS_TC_diff_classes_calls_b]);
	set_time_per_call(row, &cells[WS_TC_diff_classes_call_a_ns]);
}

void ws_diff_fill_classes(struct ws_diff *d, struct ws_table *t)
{
	struct ws_diff_rows rows, work;

	ws_diff_gather_classes(d, &rows);
	ws_diff_rows_of_work(d, key_of_class, &work);
	for (size_t i = 0; i < rows.n; i++) {
		const struct ws_diff_row *row = &rows.row[i];
		struct ws_cell *cells = ws_table_row(t);

		ws_diff_set_text(d, t, &cells[WS_TC_diff_classes_class], row->field[0]);
		set_mean_counts(d, row->instances, row, &cells[WS_TC_diff_classes_kernels_a],
		                &cells[WS_TC_diff_classes_kernels_b]);
		set_times(row, &cells[WS_TC_diff_classes_gpu_a_ns]);
		for (size_t k = 0; k < work.n; k++)
			if (work.row[k].field[0] == row->field[0])
				set_calls(d, &work.row[k], t, cells);
	}
	if (!rows.n)
		ws_table_set_not_recorded(t, WS_NO_KERNELS);
	ws_diff_note_samples(d, t);
	ws_diff_rows_release(&rows);
	ws_diff_rows_release(&work);
}

/* --- diff-only --------------------------------------------------------------------------- */

static void key_of_only(const struct ws_diff *d, const struct ws_work_item *const item[2],
                        const uint32_t n[2], int by, uint32_t key[WS_DIFF_FIELDS])
{
	const struct ws_work_item *name = named_by(item);

	(void)n;
	key[0] = by >= 0 ? 0 : item[0] ? 1 : 2;
	if (!key[0])
		return;
	key[1] = name->place == WS_NONE ? 0 : d->names.places[name->place].text;
	key[2] = name->class;
}

void ws_diff_fill_only(struct ws_diff *d, struct ws_table *t)
{
	struct ws_diff_rows rows;

	ws_diff_rows_of_work(d, key_of_only, &rows);
	for (size_t i = 0; i < rows.n; i++) {
		const struct ws_diff_row *row = &rows.row[i];
		int s = row->field[0] == 2;
		struct ws_cell *cells;

		if (!row->field[0])
			continue;
		cells = ws_table_row(t);
		ws_cell_set_str(t, &cells[WS_TC_diff_only_side], s ? "B" : "A");
		if (row->field[1])
			ws_diff_set_text(d, t, &cells[WS_TC_diff_only_path], row->field[1]);
		else
			ws_cell_set_str(t, &cells[WS_TC_diff_only_path], "(in no range)");
		ws_diff_set_text(d, t, &cells[WS_TC_diff_only_class], row->field[2]);
		ws_cell_set_mean(&cells[WS_TC_diff_only_kernels], (int64_t)row->kernels[s],
		                 d->side[s].nsamples);
		ws_cell_set_real(&cells[WS_TC_diff_only_gpu_ns], row->mean[s]);
	}
	if (!t->nrows)
		ws_table_note(t, "All GPU work of both sides is matched.");
	ws_diff_note_samples(d, t);
	ws_diff_rows_release(&rows);
}
