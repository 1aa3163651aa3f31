/*
 * Profiles of XLA, the compiler of JAX, TensorFlow and PyTorch/XLA: what their events become,
 * however the file holds them. Protobuf (`*.xplane.pb`) is read here; Chrome's JSON
 * (`*.trace.json.gz`, `perfetto_trace.json.gz`) by the reader of that format, formats/pytorch.
 * docs/reference/import.md documents what becomes of every field.
 *
 * A profile has planes (the host, each device), planes have lines (a thread, a stream), lines have
 * events. An event has statistics: names with values.
 */
#pragma once

#include "formats/foreign/importer.h"

/* X(ID, name): statistics of events that are used; all others are ignored. */
#define WS_XLA_STATS(X)                                                                             \
	X(CORRELATION, "correlation_id")                                                            \
	X(CONTEXT, "context_id")                                                                    \
	X(KERNEL, "kernel_details") /* "regs:32 static_shared:0 dynamic_shared:0 grid:1,1,1 …" */ \
	X(COPY, "memcpy_details")   /* "kind_src:pinned kind_dst:device size:1024 dest:0 …" */    \
	X(FILL, "memset_details")   /* "kind:device num_bytes:4 value:0 async:0" */                 \
	X(HLO_OP, "hlo_op")         /* the instruction of XLA: "loop_add_fusion.2" */               \
	X(HLO_MODULE, "hlo_module") /* the compiled function: "jit_train_step" */                   \
	X(PATH, "name")             /* the program's operation: "jit(f)/jvp(Net)/dot_general" */    \
	X(TF_OP, "tf_op")           /* the same, in other generations, with ":Type" behind it */    \
	X(STEP, "step_num")

enum ws_xla_stat {
#define X(id, name) WS_XLA_##id,
	WS_XLA_STATS(X)
#undef X
	        WS_XLA_NSTATS
};
/* Which statistic has the name; WS_XLA_NSTATS: one that is ignored. */
enum ws_xla_stat ws_xla_stat_of(struct ws_bytes name);

struct ws_xla_event {
	uint64_t plane, line; /* numbers of the file */
	struct ws_bytes name;
	int64_t start_ns, dur_ns;
	struct ws_bytes stat[WS_XLA_NSTATS]; /* as text; empty = absent */
};

/* All zero but for `out` and `pid`. Free with ws_xla_free. */
struct ws_xla {
	struct ws_import_out *out;
	uint64_t pid;
	struct ws_strtab planes, lines; /* key: the number of a plane; of a plane and a line */
	struct ws_xla_plane *plane;     /* by id - 1 of `planes` */
	struct ws_xla_place *place;     /* by id - 1 of `lines` */
	size_t planes_capacity, places_capacity;
	struct ws_strtab names;         /* of lines, scopes, operations of devices */
	struct ws_xla_host_event *host; /* what happened on threads, until the end of the file */
	size_t nhost, host_capacity;
	struct ws_xla_device_op *op; /* on a device without streams, likewise */
	size_t nops, ops_capacity;
	struct ws_buf scratch;
};

/* Is it the name of a plane? "/host:CPU", "/device:GPU:0" */
bool ws_xla_names_plane(struct ws_bytes name);
void ws_xla_name_plane(struct ws_xla *x, uint64_t plane, struct ws_bytes name);
void ws_xla_name_line(struct ws_xla *x, uint64_t plane, uint64_t line, struct ws_bytes name);
/* A statistic of a plane: "clock_rate", "device_vendor". It has a text or a value. */
void ws_xla_plane_stat(struct ws_xla *x, uint64_t plane, struct ws_bytes name, struct ws_bytes text,
                       int64_t value);
/* Add an event. Names of its plane and line come before it. */
void ws_xla_add(struct ws_xla *x, const struct ws_xla_event *e);
/* Add what needs all events of a thread: operations, ranges, calls of Python functions. */
void ws_xla_finish(struct ws_xla *x);
void ws_xla_free(struct ws_xla *x);

/* Import the bytes of a protobuf file, in a build with libprotobuf-c. CORRUPT: they are none. */
enum ws_status ws_import_xplane(struct ws_import_out *o, struct ws_bytes bytes,
                                struct ws_import_clock *clock, struct ws_err *err);
