/*
 * The rings of a segment, and the records in the rings and in the definition log. These are plain
 * structs and no file format, as both sides are built from the same source and compare
 * WS_SEG_VERSION. All positions and sizes are multiples of 8 bytes.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- the ring --- */

/*
 * A ring of bytes in shared memory with one producer and one consumer. It holds whole records.
 * Positions only grow; the byte at position p is stored at p mod size. A record may wrap around the
 * end, so both sides copy with the functions below.
 *
 * The producer writes beyond `head` and then moves `head` (release), so the consumer never sees
 * half a record, even if the producer is killed. The consumer moves `tail` to allow overwriting of
 * the bytes before it.
 */

struct ws_ring {
	_Alignas(64) _Atomic uint64_t head; /* written by the producer */
	uint64_t limit; /* position at which the producer must read tail again */
	_Alignas(64) _Atomic uint64_t tail; /* written by the consumer */
};

/*
 * The position for a record of size bytes if size + keep bytes are free; else UINT64_MAX. ring_size
 * is a power of two. Only the first `ready` bytes of the ring may be used yet.
 */
static inline uint64_t ws_ring_claim(struct ws_ring *ring, uint32_t ring_size, uint32_t ready,
                                     uint64_t size, uint64_t keep)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head + size + keep > ring->limit) {
		ring->limit = ready;
		if (ready == ring_size)
			ring->limit += atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (head + size + keep > ring->limit)
			return UINT64_MAX;
	}
	return head;
}

/* Copy len bytes to position pos. Returns the position after them. */
static inline uint64_t ws_ring_put(uint8_t *bytes, uint32_t ring_size, uint64_t pos,
                                   const void *src, uint32_t len)
{
	uint32_t at = (uint32_t)(pos & (ring_size - 1));
	uint32_t first = ring_size - at;

	if (len <= first) {
		memcpy(bytes + at, src, len);
	} else {
		memcpy(bytes + at, src, first);
		memcpy(bytes, (const uint8_t *)src + first, len - first);
	}
	return pos + len;
}

/* All records before pos are complete. */
static inline void ws_ring_publish(struct ws_ring *ring, uint64_t pos)
{
	atomic_store_explicit(&ring->head, pos, memory_order_release);
}

static inline uint64_t ws_ring_head(const struct ws_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/* Copy len bytes from position pos. */
static inline void ws_ring_get(const uint8_t *bytes, uint32_t ring_size, uint64_t pos, void *dst,
                               uint32_t len)
{
	uint32_t at = (uint32_t)(pos & (ring_size - 1));
	uint32_t first = ring_size - at;

	if (len <= first) {
		memcpy(dst, bytes + at, len);
	} else {
		memcpy(dst, bytes + at, first);
		memcpy((uint8_t *)dst + first, bytes, len - first);
	}
}

/* The producer may overwrite everything before pos. */
static inline void ws_ring_release(struct ws_ring *ring, uint64_t pos)
{
	atomic_store_explicit(&ring->tail, pos, memory_order_release);
}

/* --- limits --- */

/* Texts longer than this are cut and counted (text_truncated). */
#define WS_MAX_TEXT 16384u
/* Payloads longer than this are left out and counted (payload_truncated). */
#define WS_MAX_PAYLOAD 65536u
/* Maximum bytes of a definition. */
#define WS_MAX_DEF (UINT32_C(1) << 18)
/* The log has memory for this many bytes after its head (or up to its end): enough for any
 * definition. */
#define WS_DEFS_AHEAD (WS_MAX_DEF + 64u * 1024)

#define WS_ALIGN8(n) (((n) + 7u) & ~7u)

/* --- records in the rings --- */

enum ws_rec_type {
	WS_REC_PUSH = 1,
	WS_REC_POP,
	WS_REC_START,
	WS_REC_END,
	WS_REC_MARK,
	WS_REC_CPU_KERNEL,
	WS_REC_OP,
	WS_REC_NODE,
	WS_REC_OP_PERIOD,
	WS_REC_SAMPLE,
};

/* Starts every record. */
struct ws_rec_head {
	uint32_t size;   /* bytes of the whole record */
	uint16_t type;   /* enum ws_rec_type */
	uint16_t form;   /* enum ws_sample_form of a sample; else 0 */
	int64_t time_ns; /* CLOCK_MONOTONIC */
};

/* A pop without a payload. Room for it is reserved while its push is open. */
struct ws_rec_pop {
	struct ws_rec_head head;
	uint32_t domain;
	uint32_t reserved;
};

/* All other records. Followed by text_size and payload_size bytes, each padded to 8. */
struct ws_rec_event {
	struct ws_rec_head head;
	uint32_t domain;
	uint32_t category;
	uint32_t color;  /* ARGB, 0 = none */
	uint32_t string; /* registered message; 0: none, or the text that follows */
	uint64_t range;  /* for start and end of a range: its id. For a CPU kernel or operation: end
	                    time in ns */
	uint64_t schema; /* of the payload, 0 = none */
	uint32_t text_size;
	uint32_t payload_size;
};

/* A call of a framework's operation, written at its end. It has the size of an event, so that its
 * times can be read as those of an event.
 */
struct ws_rec_op {
	struct ws_rec_head head; /* its time is the start of the call */
	uint32_t config;         /* id of its WS_DEF_OP */
	uint32_t source;         /* id of a WS_DEF_STRING: the line that called it; 0: unknown */
	uint64_t forward_thread; /* of backward operations: the forward thread's number; else 0 */
	int64_t end_ns;
	int64_t sequence; /* autograd's sequence number; -1: none */
	uint64_t reserved1;
};
_Static_assert(sizeof(struct ws_rec_op) == sizeof(struct ws_rec_event) &&
                       offsetof(struct ws_rec_op, end_ns) == offsetof(struct ws_rec_event, range),
               "filters read the end of both");

/* A node of a CUDA graph was made or updated. It has the size of an event. */
struct ws_rec_node {
	struct ws_rec_head head;
	uint32_t graph; /* ids are CUPTI's */
	uint32_t reserved;
	uint64_t node;
	uint64_t original; /* the node that it is a copy of; 0: none */
	uint64_t reserved1[2];
};
_Static_assert(sizeof(struct ws_rec_node) == sizeof(struct ws_rec_event), "filters read its head");

/* The time between two steps of a framework's program, at its end. Likewise as long. */
struct ws_rec_op_period {
	struct ws_rec_head head; /* the start */
	uint64_t marks;          /* hash of what marks it: calls of modules, annotations */
	uint64_t ops;            /* hash of its operations; 0: they were not recorded */
	int64_t end_ns;
	uint64_t part;        /* enum ws_op_period_part */
	uint64_t calibration; /* enum ws_calibration */
};
_Static_assert(sizeof(struct ws_rec_op_period) == sizeof(struct ws_rec_event) &&
                       offsetof(struct ws_rec_op_period, end_ns) ==
                               offsetof(struct ws_rec_event, range),
               "filters read the end of both");

enum ws_sample_form {
	WS_SAMPLE_BYTES, /* in the layout of the counter */
	WS_SAMPLE_INT64,
	WS_SAMPLE_FLOAT64,
	WS_SAMPLE_NO_VALUE, /* its one byte is an enum wsn_counter_sample */
};

/* A sample of an NVTX counter. Followed by the bytes, padded to 8. */
struct ws_rec_sample {
	struct ws_rec_head head;
	uint32_t counter; /* id of its WS_DEF_COUNTER */
	uint32_t bytes;
};

/* --- definition log --- */

enum ws_def_type {
	WS_DEF_PROCESS = 1, /* struct ws_def_process, path */
	WS_DEF_THREAD,      /* struct ws_def_thread, name */
	WS_DEF_THREAD_NAME, /* struct ws_def_thread, name */
	WS_DEF_DOMAIN,      /* name */
	WS_DEF_STRING,      /* text */
	WS_DEF_CATEGORY,    /* struct ws_def_category, name */
	WS_DEF_SCHEMA,      /* struct ws_def_schema, fields, names */
	WS_DEF_ENUM,        /* struct ws_def_enum, entries, names */
	WS_DEF_CALL,        /* struct ws_def_call, name of the CUDA function */
	WS_DEF_KERNEL,      /* struct ws_def_kernel: where a kernel's name lies */
	WS_DEF_FACT,        /* key, NUL, value: a meta row */
	WS_DEF_DEVICE_ATTR, /* struct ws_def_device_attr, name */
	WS_DEF_WINDOW,      /* struct ws_def_window */
	WS_DEF_RESOURCE,    /* struct ws_def_resource, name */
	WS_DEF_OP,          /* struct ws_def_op, name, its inputs */
	WS_DEF_DEVICE,      /* struct ws_def_device, name */
	WS_DEF_COUNTER,     /* struct ws_def_counter, names */
	WS_DEF_OF_PARENT,   /* copied from the parent process: a definition of the parent only */
};

/* Starts every definition; body_size bytes follow, padded to 8. */
struct ws_def_head {
	uint32_t size; /* bytes of the whole definition */
	uint16_t type; /* enum ws_def_type */
	uint16_t reserved;
	uint32_t body_size;
	uint32_t reserved1;
	uint64_t id; /* the id used in records */
};

struct ws_def_process {
	uint64_t pid, image;
	int64_t start_ns; /* CLOCK_MONOTONIC */
};

/* id: id of the thread. WS_DEF_THREAD_NAME: 0; pid and tid identify the thread. */
struct ws_def_thread {
	uint64_t pid, tid;
};

/* A range of --capture-range begins or ends. Never merged with an equal definition. */
struct ws_def_window {
	int64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t is_open;
};

struct ws_def_category {
	uint32_t domain, category;
};

/* CUPTI's numbers of domain and function. */
struct ws_def_call {
	uint32_t domain, cbid;
};

struct ws_def_kernel {
	uint64_t address; /* address of the text in the traced program */
	uint64_t string;  /* id of the same text */
};

struct ws_def_resource {
	uint64_t handle; /* the program's handle */
	int64_t number;  /* CUPTI's number of a context or stream; -1: none */
	uint32_t type;   /* enum ws_resource_type, as in the trace */
	uint32_t domain;
};

struct ws_def_device {
	uint64_t device;
};

struct ws_def_device_attr {
	uint64_t device;
	int64_t value;
};

/* A name inside the definition's body; size 0 = none. */
struct ws_def_name {
	uint32_t offset, size;
};

/* Scopes and counters that the tool numbers have ids of 2^32 and above. */
#define WS_SCOPE_PATH (UINT64_C(1) << 32)

/* What the program says of the values of a counter or field. */
struct ws_def_semantics {
	uint64_t flags; /* enum wsn_counter_flag */
	uint64_t unit_numerator, unit_denominator;
	int64_t limit_type; /* enum wsn_counter_limit */
	uint64_t minimum, maximum;
	uint64_t time_type; /* enum wsn_timestamp_type; of a field: it is a time */
	uint64_t scope; /* of NVTX, or WS_SCOPE_PATH + id of a WS_DEF_STRING with its path; 0: none
	                 */
	struct ws_def_name unit;
};

struct ws_def_schema {
	uint64_t program_id; /* the program's id; 0: the id is ours */
	uint64_t type;       /* enum wsn_schema_type */
	uint64_t size_bytes; /* static size, 0 = unknown */
	uint32_t domain;
	uint32_t nfields;
	struct ws_def_name name;
	/* nfields struct ws_def_field, then the names */
};

struct ws_def_field {
	uint64_t flags; /* enum wsn_entry_flag */
	uint64_t type;  /* entry type, or the id of a schema or enum in this trace */
	uint64_t offset;
	uint64_t array_length;
	struct ws_def_name name, description;
	struct ws_def_semantics semantics;
};

struct ws_def_enum {
	uint64_t program_id;
	uint64_t size_bytes;
	uint32_t domain;
	uint32_t nentries;
	struct ws_def_name name;
	/* nentries struct ws_def_enum_entry, then the names */
};

struct ws_def_enum_entry {
	int64_t value;
	struct ws_def_name name;
};

/* A counter, or a group of them. */
struct ws_def_counter {
	uint64_t program_id; /* as in struct ws_def_schema */
	uint64_t schema;     /* as in the trace, or NVTX entry type */
	uint32_t size;       /* bytes of a sample; 0: unknown */
	uint32_t time_at;    /* offset of the time in a sample, plus 1; 0: it has none */
	uint64_t time_type;  /* enum wsn_timestamp_type of that time, or of the times beside a batch
	                      */
	uint32_t domain;
	uint32_t reserved;
	struct ws_def_name name, description;
	struct ws_def_semantics semantics; /* of all its fields, unless they have their own */
};

/*
 * An operation with its inputs. Followed by the name, padded to 8 bytes, and for each input a
 * struct ws_def_input with its numbers.
 */
struct ws_def_op {
	uint16_t name_size;
	uint16_t inputs; /* number of inputs */
	uint32_t alike;  /* hash of the definition without values of numbers */
};

enum ws_input_kind {
	WS_INPUT_OTHER,       /* not recorded: absent, a text, or a device */
	WS_INPUT_TENSOR,      /* n sizes; has_strides: n strides */
	WS_INPUT_TENSOR_LIST, /* n inputs follow */
	WS_INPUT_INT,         /* one 64-bit number each */
	WS_INPUT_DOUBLE,
	WS_INPUT_BOOL,
	WS_INPUT_COMPLEX,  /* no value */
	WS_INPUT_INT_LIST, /* n integers */
	WS_INPUT_DOUBLE_LIST,
	WS_INPUT_BOOL_LIST,
};

struct ws_def_input {
	uint8_t kind; /* enum ws_input_kind */
	uint8_t has_strides;
	uint16_t type; /* dtype of a tensor: PyTorch's c10::ScalarType */
	uint32_t n;
};

/*
 * The trace's id of a schema or enum with the program's `id` in a domain. Ids that programs choose
 * (2^24 … 2^32) are unique only in their domain, so the domain's number is added above their bits.
 * NVTX's own types, and ids that we gave out, are not changed.
 */
static inline uint64_t ws_schema_id(uint32_t domain, uint64_t id)
{
	if (id < (UINT64_C(1) << 24) || id >= (UINT64_C(1) << 32))
		return id;
	return id + ((uint64_t)domain << 40);
}
