/* Reading a trace in a test: all rows of all kinds at hand, by name. */
#pragma once

#include "formats/trace/reader.h"

struct probe {
	struct ws_trace_reader *reader;
	struct ws_column_data table[WS_KIND_END];
};

/* Each ends the test when the trace cannot be read in full. */
void probe_open(struct probe *p, const char *path);
void probe_open_mem(struct probe *p, struct ws_bytes trace);
void probe_close(struct probe *p);

/* probe_kind_nvtx = WS_KIND_NVTX … */
enum probe_kind {
#define K(NAME, name, id, class, meaning) probe_kind_##name = (id),
	WS_KIND_LIST(K)
#undef K
};

/* ROWS(&p, nvtx), CELL(&p, nvtx, time_ns, i), BYTES(&p, payload, bytes, i) */
#define ROWS(p, kind)          ((p)->table[probe_kind_##kind].rows)
#define CELL(p, kind, col, i)  probe_cell(&(p)->table[probe_kind_##kind], WS_COL_##kind##_##col, (i))
#define BYTES(p, kind, col, i) ((p)->table[probe_kind_##kind].columns[WS_COL_##kind##_##col].b[(i)])
/* Text of a STR column, NUL-terminated; "" for 0. Valid until the next 16 calls. */
#define TEXT(p, kind, col, i) probe_text((p), CELL(p, kind, col, i))

uint64_t probe_cell(const struct ws_column_data *t, unsigned column, uint64_t i);
const char *probe_text(const struct probe *p, uint64_t id);
/* Value of a meta key, NULL when there is none. Valid as probe_text. */
const char *probe_meta(const struct probe *p, const char *key);
/* The last value of a loss counter; UINT64_MAX when there is no row of it. */
uint64_t probe_loss(const struct probe *p, const char *cause);
uint64_t probe_losses(const struct probe *p); /* of all causes */
void probe_expect_no_loss(const struct probe *p);
/* nvtx rows of this type (enum ws_nvtx_type) and name. */
uint64_t probe_count(const struct probe *p, unsigned type, const char *name);
