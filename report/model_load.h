/*
 * What the two parts of loading a model share: ids of the trace to numbers.
 */
#ifndef WS_REPORT_MODEL_LOAD_H
#define WS_REPORT_MODEL_LOAD_H

#include "report/classify.h"
#include "report/model.h"

struct ws_loader {
	struct ws_model *m;
	const struct ws_trace_reader *r;
	struct ws_idmap thread_of; /* thread id -> number */
	uint32_t *thread_process;  /* process of each */
	size_t threads_allocated;
	uint32_t nthreads;
	struct ws_idmap process_of; /* pid -> number */
	uint32_t nprocesses;
	struct ws_idmap device_of; /* device id -> number */
	size_t devices_allocated;
	struct ws_idmap config_of;  /* launch_config id -> number */
	struct ws_idmap payload_of; /* payload id -> row */
	struct ws_idmap kernel_of;  /* text of a recorded kernel name -> first config with it */
	struct ws_classifier *classifier;
};

/* All rows of a kind; fails when there are more than 32 bits can number. */
enum ws_status ws_load_kind(const struct ws_loader *l, enum ws_kind kind, struct ws_table_data *t,
                            struct ws_err *err);

/*
 * Everything that records refer to, and the small kinds: texts, processes,
 * threads, devices, launch configurations, payloads, provenance, losses.
 */
enum ws_status ws_load_dictionaries(struct ws_loader *l, struct ws_err *err);

/* The number of a thread; one whose row was lost is a thread of process `pid` all the same. */
enum ws_status ws_thread_number(struct ws_loader *l, uint64_t id, uint64_t pid, uint32_t *out,
                                struct ws_err *err);

#endif
