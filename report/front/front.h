/*
 * The parts of a first screen as tables, for writers that show them in cells: as many rows as fit.
 * Times are per step. Free each table with ws_table_free.
 */
#pragma once

#include "report/page/page.h"
#include "report/table/table.h"

/*
 * The longest parts of the model, in the order of the tree. Each name is indented by two blanks per
 * level. A part that consists of one other part is left out.
 */
struct ws_table *ws_front_tree(const struct ws_page *page, size_t rows);
/* Blanks before a name of the tree: its depth. */
unsigned ws_front_depth(const struct ws_cell *name);
struct ws_table *ws_front_kernels(const struct ws_page *page, size_t rows);
/* "H100 · PyTorch profiler · 3 steps · nothing lost", in the arena. */
const char *ws_front_source(struct ws_arena *arena, const struct ws_page *page);
/* The operations with the largest changes. */
struct ws_table *ws_front_changes(const struct ws_page *page);
/* Parts of the page's rows, each name once, in the order in which they come; returns how many. */
#define WS_FRONT_PARTS 16
size_t ws_front_parts(const struct ws_page *page,
                      const struct ws_page_row_part *out[WS_FRONT_PARTS]);
/* The part of this name among them; n: none. */
size_t ws_front_part(const struct ws_page_row_part *const *parts, size_t n, const char *name);
/* A column of times of which this is the longest. */
void ws_front_times(double longest_ns, struct ws_shown_column *out);
