/* The lines of the first sheet: each an item of a section, with a text or numbers. */
#pragma once

#include "report/tables/tables.h"

struct ws_summary_page {
	const struct ws_table_context *tab;
	struct ws_table *t;
	const char *section; /* of the next lines */
};

struct ws_cell *ws_page_row(const struct ws_summary_page *p, struct ws_bytes item);
void ws_page_text(const struct ws_summary_page *p, struct ws_bytes item, struct ws_bytes text);
void ws_page_words(const struct ws_summary_page *p, const char *item, const char *text);
void ws_page_count(const struct ws_summary_page *p, const char *item, uint64_t count);
void ws_page_time(const struct ws_summary_page *p, const char *item, double ns);
void ws_page_value(const struct ws_summary_page *p, const char *item, double value);
/* A part of the GPU time of all kernels in the report. */
struct ws_cell *ws_page_share(const struct ws_summary_page *p, struct ws_bytes item,
                              uint64_t kernels, int64_t gpu_ns);

/* Adds MFU and HFU of the measured steps, or why they are unknown. */
void ws_page_utilization(const struct ws_summary_page *p);

/* The section of the step's time. */
void ws_page_steps(const struct ws_summary_page *p);

/* The program's fact with this key; empty if there is none. */
struct ws_bytes ws_page_fact(const struct ws_model *m, const char *key);

/* Adds losses and missing data. */
void ws_page_missing(const struct ws_summary_page *p);

/* Adds the sections about the origin of the trace. */
void ws_page_what_ran(const struct ws_summary_page *p);
void ws_page_provenance(const struct ws_summary_page *p);
