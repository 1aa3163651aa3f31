/* What the two parts of loading a model share: ids of the trace to numbers. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "formats/base/bytes.h"
#include "formats/trace/reader.h"
#include "report/kernel_info/classify.h"
#include "report/model/model.h"
#include "report/records/records.h"

/* One cell of a loaded kind; a column that the file lacks reads as 0. */

static inline uint64_t ws_value(const struct ws_column_data *t, int column, uint64_t row)
{
	const struct ws_column *c = &t->columns[column];

	return c->present ? c->v[row] : 0;
}

/* Bytes of a BLOB cell; the pointer is never NULL. */
static inline struct ws_bytes ws_blob(const struct ws_column_data *t, int column, uint64_t row)
{
	const struct ws_column *c = &t->columns[column];

	if (!c->present || !c->b[row].ptr)
		return (struct ws_bytes){"", 0};
	return c->b[row];
}

/* The value of a key of the trace's provenance, empty when there is none; the last row of it holds.
 */
static inline struct ws_bytes ws_meta_value(const struct ws_column_data *meta, const char *key)
{
	for (uint64_t i = meta->rows; i-- > 0;) {
		struct ws_bytes k = ws_blob(meta, WS_COL_meta_key, i);

		if (k.len == strlen(key) && !memcmp(k.ptr, key, k.len))
			return ws_blob(meta, WS_COL_meta_value, i);
	}
	return (struct ws_bytes){"", 0};
}

/*
 * What a server of language models writes into the name of a step: the batch that it ran. vLLM's
 * execute_context_1(888)_generation_7(7), SGLang's step[DECODE bs=16], ATOM's decode[bs=16 tok=16],
 * each with sums over the requests where it was asked for them.
 */

/* Requests that read their prompts, or those that generate. N_Q: the tokens of a request in this
 * step, N_KV: its tokens so far, with these. */
struct ws_batch_part {
	uint64_t requests;
	uint64_t queries; /* sum of N_Q */
	uint64_t keys;    /* sum of N_KV; 0 = not told */
	uint64_t squares; /* sum of N_Q² */
	uint64_t pairs;   /* sum of N_Q · N_KV */
};

struct ws_batch {
	struct ws_batch_part context, generation;
	bool has_sums; /* pairs and squares are told */
	bool is_mixed; /* of both, but not how many of each: all are in `context` */
};

/* False: it is no name of a batch. */
bool ws_batch_of_name(struct ws_bytes name, struct ws_batch *batch);
/* "prefill", "decode", "mixed"; "" where nothing ran. */
const char *ws_batch_kind(const struct ws_batch *batch);
/* Pairs of query and key that causal attention computes for it: a query needs the keys up to its
 * own. */
uint64_t ws_batch_part_causal_pairs(const struct ws_batch_part *part);

struct ws_loader {
	struct ws_model *m;
	const struct ws_trace_reader *r;
	struct ws_idmap thread_of; /* thread id -> number */
	size_t threads_capacity;
	struct ws_idmap process_of; /* pid -> number */
	size_t processes_capacity;
	struct ws_idmap device_of; /* device id -> number */
	size_t devices_capacity;
	struct ws_idmap config_of;    /* launch_config id -> number */
	struct ws_idmap payload_of;   /* payload id -> row */
	struct ws_idmap kernel_of;    /* text of a recorded kernel name -> first config with it */
	struct ws_idmap op_config_of; /* op_config id -> number */
	struct ws_classifier *classifier;
	bool plain_names; /* nobody asks what the names of kernels tell: only their text */
	const struct ws_model_opts *opts;
	struct ws_arena temp; /* for what later steps of loading need */
};

/* Frees what the loader holds; the model stays. */
void ws_loader_release(struct ws_loader *l);

/* An empty model of a trace: only what the file and the user say of it. */
void ws_model_begin(struct ws_model **out, const struct ws_trace_reader *r, const char *name,
                    const struct ws_model_opts *opts);

/* fn, whose context is ctx, for each row of a kind; fails as ws_load_kind. */
enum ws_status ws_load_each(const struct ws_loader *l, enum ws_kind kind, ws_record_fn fn,
                            void *ctx, struct ws_err *err);
/* All rows of a kind; fails when there are more than 32 bits can number. */
enum ws_status ws_load_kind(const struct ws_loader *l, enum ws_kind kind, struct ws_column_data *t,
                            struct ws_err *err);

/*
 * Everything that records refer to, and the small kinds: texts, processes,
 * threads, devices, launch configurations, payloads, provenance, losses.
 */
enum ws_status ws_load_dictionaries(struct ws_loader *l, struct ws_err *err);

/* The text, added when it is new; only for names of classes and the like. */
uint32_t ws_intern_text(struct ws_model *m, struct ws_bytes text);

/* What of a name stays from call to call, as a text. */
uint32_t ws_steady_text(struct ws_model *m, uint32_t name);

/* Times must leave room to add and subtract: ±73 years around the trace's base. */
#define WS_MAX_TIME_NS ((int64_t)1 << 61)
enum ws_status ws_check_time(int64_t start_ns, int64_t dur_ns, const char *what, uint64_t row,
                             struct ws_err *err);
/* Something happened then: widens the model's time. */
void ws_extend_time(struct ws_model *m, int64_t from_ns, int64_t to_ns);

/*
 * A mark of domain "warpsheet" that may be a fact: of "workload.batch=4" the
 * key is what stands between the dot and the first '='. m->facts has room for
 * one a text; keys gives each key a number: its place in facts, plus 1.
 */
void ws_take_fact(struct ws_model *m, struct ws_strtab *keys, struct ws_bytes mark);

/* A call of a module (nn.Module) that PyTorch recorded begins or ends. */
struct ws_module_event {
	int64_t time_ns;
	uint32_t position; /* among those of one time */
	uint32_t thread, name;
	bool begins; /* else it has no name */
};
/* All of them, in order of time. A call ends no later than those around it on its thread. */
enum ws_status ws_load_module_events(struct ws_loader *l, struct ws_arena *arena,
                                     struct ws_module_event **out, size_t *n, struct ws_err *err);

/* Copies, fills, graph launches, memory, overhead. */
enum ws_status ws_load_work(struct ws_loader *l, struct ws_err *err);
enum ws_status ws_load_memory(struct ws_loader *l, struct ws_err *err);
/* Framework operations as a tree, and which are the backward of which; not their ranges and phases.
 */
enum ws_status ws_load_cpu_ops(struct ws_loader *l, struct ws_err *err);
/* Correlation id -> operation, by the links that the file has. A trace has one process here. */
enum ws_status ws_load_op_links(struct ws_loader *l, struct ws_idmap *op_of, struct ws_err *err);
/* Collectives, and which operations and correlation ids are theirs. After the operations. */
enum ws_status ws_load_collectives(struct ws_loader *l, struct ws_idmap *by_correlation,
                                   struct ws_err *err);
/* The number of a thread; one whose row was lost is a thread of process `pid` all the same. */
uint32_t ws_thread_number(struct ws_loader *l, uint64_t id, uint64_t pid);
