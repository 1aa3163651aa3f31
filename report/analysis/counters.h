/* Counters of a program over time: docs/dev/payloads.md. */
#pragma once

#include "report/query/query.h"

/* Rows: counters; their samples; at most 200 times per counter. */
extern const struct ws_relation ws_relation_counter, ws_relation_counter_sample,
        ws_relation_counter_time;
