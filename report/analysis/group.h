/*
 * Values gathered in groups, with the statistics of each group.
 */
#pragma once

#include "report/base/order.h"
#include "report/base/stat.h"
#include "report/model/model.h"
#include "report/pass/digest.h"

/*
 * group[i] is the group of values[i], WS_NONE = in none; out has ngroups
 * entries. O(n + ngroups).
 */
void ws_group_values(const int64_t *values, const uint32_t *group, size_t n, size_t ngroups,
                     struct ws_stat *out);

/*
 * The order of the kernel summaries: total time descending, instances ascending, name. A group
 * without any known time comes last. number[0] is left for what comes before that.
 */
struct ws_row_key ws_group_key(const struct ws_group *g, struct ws_bytes name, uint32_t row);
