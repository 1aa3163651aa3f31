/* What the two parts of loading a model share: ids of the trace to numbers. */
#pragma once

#include "report/base/names.h"
#include "report/model/model.h"

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

/* The value of a key of the trace's provenance; empty if the key is absent. If a key has several
 * rows, the last one counts.
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

/* A value of the provenance that is a whole number. */
int64_t ws_meta_number(const struct ws_column_data *meta, const char *key, int64_t absent);

/*
 * The batch that a step of a language-model server ran, as encoded in the name of the step: vLLM's
 * execute_context_1(888)_generation_7(7), SGLang's step[DECODE bs=16], ATOM's decode[bs=16 tok=16],
 * each optionally with sums over the requests.
 */

/* Requests that read their prompts, or those that generate. N_Q: the tokens of a request in this
 * step, N_KV: its tokens so far, with these. */
struct ws_batch_part {
	uint64_t requests;
	uint64_t queries; /* sum of N_Q */
	uint64_t keys;    /* sum of N_KV; 0 = unknown */
	uint64_t squares; /* sum of N_Q² */
	uint64_t pairs;   /* sum of N_Q · N_KV */
};

struct ws_batch {
	struct ws_batch_part context, generation;
	bool has_sums; /* pairs and squares are known */
	bool is_mixed; /* prompts and generation, shares unknown: all requests are in `context` */
};

/* False: the name is not that of a batch. */
bool ws_batch_of_name(struct ws_bytes name, struct ws_batch *batch);
/* "prefill", "decode", "mixed"; "" if nothing ran. */
const char *ws_batch_kind(const struct ws_batch *batch);
/* Number of (query, key) pairs that causal attention computes for the requests: a query needs the
 * keys up to its own position. */
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
	bool plain_names; /* of kernel names only the text is needed, no class, dtype and so on */
	const struct ws_model_opts *opts;
	struct ws_op_points *op_points; /* for each of the model's op_periods */
	struct ws_op_times {
		struct ws_op_time {
			int64_t time_ns;
			uint32_t thread;
		} * time; /* by thread, then time */
		size_t n, capacity;
	} op_times;           /* of recorded operations and modules, if there are periods without */
	struct ws_arena temp; /* temporary data of later steps of loading */
};

/* Frees what the loader holds; the model stays. */
void ws_loader_release(struct ws_loader *l);

/* A new model with the properties of the file and the user's options, but no records. */
void ws_model_begin(struct ws_model **out, const struct ws_trace_reader *r, const char *name,
                    const struct ws_model_opts *opts);

/* Calls fn(ctx, …) for each row of a kind. Fails like ws_load_kind. */
enum ws_status ws_load_each(const struct ws_loader *l, enum ws_kind kind, ws_record_fn fn,
                            void *ctx, struct ws_err *err);
/* All rows of a kind. Fails if there are 2^32 rows or more. */
enum ws_status ws_load_kind(const struct ws_loader *l, enum ws_kind kind, struct ws_column_data *t,
                            struct ws_err *err);

/*
 * Loads all records that others refer to, and the small kinds: texts, processes, threads, devices,
 * launch configurations, payloads, provenance, losses.
 */
enum ws_status ws_load_dictionaries(struct ws_loader *l, struct ws_err *err);

/* The number of the text, which is added if it is new. For names of classes and the like. */
uint32_t ws_intern_text(struct ws_model *m, struct ws_bytes text);

/* The name without numbers that vary between calls, as a text. */
uint32_t ws_steady_text(struct ws_model *m, uint32_t name);

/* Times must leave room to add and subtract: ±73 years around the trace's base. */
#define WS_MAX_TIME_NS ((int64_t)1 << 61)
enum ws_status ws_check_time(int64_t start_ns, int64_t dur_ns, const char *what, uint64_t row,
                             struct ws_err *err);
/* Extends the model's time so that it contains this interval. */
void ws_extend_time(struct ws_model *m, int64_t from_ns, int64_t to_ns);

/*
 * Stores a mark of domain "warpsheet" if it is a fact. The key of "workload.batch=4" is the text
 * between the dot and the first '='. m->facts has room for one fact per text; keys maps each key to
 * its index in facts, plus 1.
 */
void ws_take_fact(struct ws_model *m, struct ws_strtab *keys, struct ws_bytes mark);

/* A call of a module (nn.Module) that PyTorch recorded begins or ends. */
struct ws_module_event {
	int64_t time_ns;
	uint32_t position; /* order among events of the same time */
	uint32_t thread, name;
	uint32_t source; /* text: the line that calls it; 0 = not recorded */
	bool begins;     /* if false, it has no name */
};
/* All of them, in order of time. A call ends no later than those around it on its thread. */
enum ws_status ws_load_module_events(struct ws_loader *l, struct ws_arena *arena,
                                     struct ws_module_event **out, size_t *n, struct ws_err *err);

/* Copies, fills, graph launches, memory, overhead. */
enum ws_status ws_load_work(struct ws_loader *l, struct ws_err *err);
enum ws_status ws_load_memory(struct ws_loader *l, struct ws_err *err);
enum ws_status ws_load_counters(struct ws_loader *l, struct ws_err *err);
/* Nodes of CUDA graphs, without ranges and operations. */
enum ws_status ws_load_graph_nodes(struct ws_loader *l, struct ws_err *err);
/* The node with this id at a launch: the last that was made or updated until then, else the first;
 * WS_NONE. Rows without a thread come from records of work, and so have the times of work. *next:
 * the last result plus 1, as kernels mostly come in the order of nodes. */
uint32_t ws_graph_node_at(const struct ws_model *m, uint32_t process, uint64_t id,
                          int64_t launched_ns, int64_t start_ns, uint32_t *next);
/* Loads framework operations as a tree, and the links from backward to forward operations; not
 * their ranges and phases.
 */
enum ws_status ws_load_cpu_ops(struct ws_loader *l, struct ws_err *err);
/* Maps correlation ids to operations, by the links of the file. Assumes a trace of one process. */
enum ws_status ws_load_op_links(struct ws_loader *l, struct ws_idmap *op_of, struct ws_err *err);
/* Loads collectives, and the operations and correlation ids that belong to them. Call after
 * ws_load_cpu_ops. */
enum ws_status ws_load_collectives(struct ws_loader *l, struct ws_idmap *by_correlation,
                                   struct ws_err *err);
/* Is it the domain of this name, or one whose name an import did not find? */
static inline bool ws_is_domain(struct ws_bytes domain, const char *name)
{
	return ws_name_is(domain, name) || ws_bytes_begin(domain, "domain ");
}
/* A range with this payload begins: the collective that the payload describes, which gets the name
 * of its first range; WS_NONE. */
uint32_t ws_collective_begun(struct ws_model *m, uint32_t payload, uint32_t name);
/* Both run in one launch: a collective of their name and group, but without a size; WS_NONE if they
 * differ in these. */
uint32_t ws_collective_merged(struct ws_model *m, uint32_t one, uint32_t other);
/* Of what a period has, without what varies between periods that are alike. */
static inline uint64_t ws_op_period_hash(uint64_t hash, uint64_t more)
{
	return (hash ^ more) * UINT64_C(0x9E3779B97F4A7C15);
}
/*
 * Times between two steps, and which of them that recorded no operations are like which that did.
 * ops: all recorded ones.
 */
enum ws_status ws_load_op_periods(struct ws_loader *l, const struct ws_column_data *ops,
                                  struct ws_err *err);
/* Steps that measure what recording costs. */
enum ws_status ws_load_calibration(struct ws_loader *l, struct ws_err *err);
/* In both of two periods that are alike something is recorded at these times. */
struct ws_op_point {
	int64_t from_ns, to_ns;
	uint32_t thread;
	bool is_module;
};
struct ws_op_points {
	struct ws_op_point *point; /* by thread, then time */
	size_t n;
};
/* A row of the trace, or a copy of it. */
struct ws_op_copy {
	uint32_t row;
	uint32_t period; /* that has it: its number, WS_NONE */
	uint32_t place;  /* among the rows of that, the same in those that are alike */
	bool is_copy;
};
/* Copies are held in memory, as the operations of a whole recording would be. */
#define WS_MOST_OP_COPIES (UINT64_C(1) << 24)
/* All rows in their order, which is by start_ns, then the copies, those of a period in this order,
 * too. A period that would have too many is like none from now on. */
size_t ws_op_copies(const struct ws_loader *l, const uint32_t *order, const int64_t *start_ns,
                    size_t n, struct ws_arena *arena, struct ws_op_copy **out);
/* The time in the period of what happened at this time of the one that it is like. *is_module (may
 * be NULL): a call of a module is recorded at it in both. */
int64_t ws_op_copy_time(const struct ws_loader *l, uint32_t period, uint32_t thread,
                        int64_t time_ns, bool *is_module);
/* The number of a thread. A thread whose row was lost is added as a thread of process `pid`. */
uint32_t ws_thread_number(struct ws_loader *l, uint64_t id, uint64_t pid);
