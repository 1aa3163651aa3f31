/* The lines of the first sheet: each an item of a section, with a text or numbers. */
#pragma once

#include "report/tables/tables.h"

struct ws_summary_page {
	const struct ws_table_context *tab;
	struct ws_table *t;
	const char *section; /* of the lines to come */
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

/* MFU and HFU of the measured steps, or why they are not known. */
void ws_page_utilization(const struct ws_summary_page *p);

/* The section of the step's time. */
void ws_page_steps(const struct ws_summary_page *p);

/* What the program says of itself under a key; empty = nothing. */
struct ws_bytes ws_page_fact(const struct ws_model *m, const char *key);

/* What was lost, and what was not seen. */
void ws_page_missing(const struct ws_summary_page *p);

/* Sections that say where the trace comes from. */
void ws_page_what_ran(const struct ws_summary_page *p);
void ws_page_provenance(const struct ws_summary_page *p);
