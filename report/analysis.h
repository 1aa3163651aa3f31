/*
 * From a trace to typed tables. The commands see only this header.
 */
#ifndef WS_REPORT_ANALYSIS_H
#define WS_REPORT_ANALYSIS_H

#include "formats/status.h"
#include "formats/trace_reader.h"
#include "report/table.h"

/* A loaded trace: columns, ranges as a tree, kernels joined to launches, ranges and steps. */
struct ws_model;

/* Open and join a trace file. Free with ws_model_free. */
enum ws_status ws_model_open(struct ws_model **out, const char *path, struct ws_err *err);

/* Data of the user's; all zeros is none. Only read while the model is opened. */
struct ws_model_opts {
	const char *rules; /* rows in the form of class_rules.txt, they stand before those */
	size_t rules_len;
	const char *peaks; /* the same for device_peaks.txt */
	size_t peaks_len;
	double softmax_flops; /* of an element, in softmax-matmul; 0 = WS_SOFTMAX_FLOPS */
};
/* How Warpsheet counts a softmax: max, subtract, exp, sum, divide. */
#define WS_SOFTMAX_FLOPS 5.0
/* The same with opts, which may be NULL. USAGE names the wrong line of rules or peaks. */
enum ws_status ws_model_open_with(struct ws_model **out, const char *path,
				  const struct ws_model_opts *opts, struct ws_err *err);
/* The same from memory; data must outlive the model, name is what reports call it. */
enum ws_status ws_model_open_mem(struct ws_model **out, const void *data, size_t size,
				 const char *name, struct ws_err *err);
enum ws_status ws_model_open_mem_with(struct ws_model **out, const void *data, size_t size,
				      const char *name, const struct ws_model_opts *opts,
				      struct ws_err *err);
void ws_model_free(struct ws_model *m); /* NULL is legal */

struct ws_filter {
	/* keep what was launched in a range whose path matches; NULL = all.
	 * [domain:]path[#n|#a..b]: * and ? as in shell patterns, e.g. "step/forward*"; #n keeps
	 * the n-th such range by begin, from 0 */
	const char *nvtx;
	/* measured steps first..last, counted from 0; warm-up is not a step; -1 = open end */
	int64_t step_first, step_last;
	int64_t device; /* -1 = all */
	/* what follows filters only where its has_ is set, or the pointer is not NULL */
	int has_stream, has_process, has_time;
	uint64_t stream, process; /* process: pid */
	const char *kernel;       /* POSIX extended regular expression, in the demangled name */
	/* what overlaps [first, end), ns from the first record of the trace */
	int64_t time_first_ns, time_end_ns;
	/* nvtx: what overlaps the ranges in time, wherever it was launched, not what was launched
	 * in them */
	int by_gpu_time;
};
#define WS_FILTER_ALL { .nvtx = NULL, .step_first = -1, .step_last = -1, .device = -1 }

/* *nothing = 1 when no kernel, copy, call or allocation of the trace passes the filter. */
enum ws_status ws_filter_check(const struct ws_model *m, const struct ws_filter *filter,
			       int *nothing, struct ws_err *err);

/* Every table of a report of all tables, in workbook order. */
const struct ws_table_def *const *ws_table_defs(size_t *count);
/* The same of a diff. */
const struct ws_table_def *const *ws_diff_defs(size_t *count);
/* Also those made only on request; NULL when no table has this name. */
const struct ws_table_def *ws_table_def_by_name(const char *name);

/* One table. The filter may be NULL. Free with ws_table_free. */
enum ws_status ws_table_make(const struct ws_model *m, const struct ws_table_def *def,
			     const struct ws_filter *filter, struct ws_table **out,
			     struct ws_err *err);

/* These tables, in this order. Free with ws_report_free. */
enum ws_status ws_report_make_tables(const struct ws_model *m, const struct ws_filter *filter,
				     const struct ws_table_def *const *defs, size_t ndefs,
				     struct ws_report **out, struct ws_err *err);
/* All tables. */
enum ws_status ws_report_make(const struct ws_model *m, const struct ws_filter *filter,
			      struct ws_report **out, struct ws_err *err);
void ws_report_free(struct ws_report *report); /* frees the tables too; NULL is legal */

struct ws_diff_opts {
	double threshold_percent; /* slower than this, beyond noise, is a finding; < 0 = never */
};
struct ws_diff_result {
	int finding;	    /* over the threshold */
	char verdict[512];  /* the answer in a sentence */
};
/* A against B: tables diff-verdict, diff-phases, diff-ranges (and later ones). */
enum ws_status ws_diff_make(const struct ws_model *a, const struct ws_model *b,
			    const struct ws_diff_opts *opts, struct ws_report **out,
			    struct ws_diff_result *result, struct ws_err *err);

#endif
