/*
 * Values gathered in groups, with the statistics of each group.
 */
#pragma once

#include "report/model/model.h"
#include "report/base/stat.h"
#include "report/pass/digest.h"

/*
 * group[i] is the group of values[i], WS_NONE = in none; out has ngroups
 * entries. O(n + ngroups).
 */
enum ws_status ws_group_values(const int64_t *values, const uint32_t *group, size_t n,
                               size_t ngroups, struct ws_stat *out, struct ws_err *err);

/*
 * The order of the kernel summaries: total time descending, instances
 * ascending, name. < 0 when a comes first. A group without any known time comes last.
 */
int ws_group_compare(const struct ws_group *a, struct ws_bytes name_a, const struct ws_group *b,
                     struct ws_bytes name_b);
