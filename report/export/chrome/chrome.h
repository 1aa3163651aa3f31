/* Private declarations of the timeline's writer. */
#pragma once

#include <limits.h>

#include "formats/text/json_writer.h"
#include "report/export/exporter.h"
#include "report/pass/pass.h"

/* Types of tracks, from the top: threads; device work; other tracks of a device. */
enum ws_chrome_track_type {
	WS_CHROME_THREAD, /* a: process, b: thread id */
	WS_CHROME_STREAM, /* a: device, b: process, c: context, d: stream */
	WS_CHROME_WAITS,  /* the same: waits for device work */
	WS_CHROME_RANGES, /* the same: spans of the work of annotations */
};

/* Slices of a track nest; those that would cross others go to further subtracks. */
struct ws_chrome_track {
	uint64_t type, a, b, c, d; /* first: the key */
	uint32_t rank;             /* its position in the order of the keys */
	uint32_t subtracks;
	uint64_t pid;  /* in the JSON */
	uint64_t *tid; /* of each subtrack */
};

/* A span of time, or of an NVTX range when kind is WS_KIND_NVTX. */
struct ws_chrome_slice {
	int64_t start_ns, end_ns;
	uint64_t row; /* index of the kind's rows, or of ranges */
	uint32_t track, subtrack;
	uint8_t kind; /* enum ws_kind */
};

/* Device work with the id of an API call; gets an arrow from that call, if it was recorded. */
struct ws_chrome_launch {
	uint64_t pid, correlation;
	uint64_t arrow;      /* its id: the correlation id, unless another arrow has it */
	uint32_t work, call; /* slices; WS_NONE */
};

/* First id made by us: never recorded, and exact as a double, as needed for numbers in JSON. */
#define WS_CHROME_FIRST_MADE_ID (UINT64_C(1) << 52)

/* An annotated operation of a thread that is still open. */
struct ws_chrome_open_op {
	int64_t end_ns;
	uint64_t external_id;
};

/* Type of an argument of an event. */
enum ws_chrome_value_type {
	WS_CHROME_U64,
	WS_CHROME_I64,
	WS_CHROME_F64,
	WS_CHROME_YES,
	WS_CHROME_TEXT,
	WS_CHROME_ARRAY, /* text of an array, as PyTorch writes it */
	WS_CHROME_SIZES, /* three numbers */
};

struct ws_chrome_value {
	enum ws_chrome_value_type type;
	union {
		uint64_t u64, sizes[3];
		int64_t i64;
		double f64;
		struct ws_bytes text;
	};
};

/* A value that is no whole number, as the form's counter() takes it. */
#define WS_CHROME_REAL UINT_MAX
static inline int64_t ws_chrome_bits(double real)
{
	int64_t bits;

	memcpy(&bits, &real, sizeof(bits));
	return bits;
}
static inline double ws_chrome_real(int64_t bits)
{
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real;
}

struct ws_chrome;

/* The output form of a timeline: JSON (chrome.c) or Perfetto's protobuf (perfetto.c). */
struct ws_chrome_form {
	enum ws_status (*begin)(struct ws_chrome *ch, FILE *f, struct ws_err *err);
	enum ws_status (*end)(struct ws_chrome *ch, struct ws_err *err);
	/* pid of the JSON; order: from the top */
	void (*process)(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, uint64_t order);
	void (*subtrack)(struct ws_chrome *ch, const struct ws_chrome_track *t, uint32_t subtrack,
	                 struct ws_bytes name);
	/* a slice or a mark: begin, name, arguments, end_args, arrows, end. end functions are NULL
	 * if there is nothing to do: JSON closes its events with their arguments, in Perfetto
	 * arguments are ordinary fields */
	void (*begin_slice)(struct ws_chrome *ch, const struct ws_chrome_slice *s);
	void (*end_slice)(struct ws_chrome *ch, const struct ws_chrome_slice *s);
	/* track: NULL if nothing else is drawn on the thread, which has an id of the trace */
	void (*begin_mark)(struct ws_chrome *ch, int64_t time_ns, uint64_t thread,
	                   const struct ws_chrome_track *track);
	void (*end_mark)(struct ws_chrome *ch);
	void (*name)(struct ws_chrome *ch, struct ws_bytes name, const char *category);
	void (*arg)(struct ws_chrome *ch, const char *key, const struct ws_chrome_value *value);
	void (*end_args)(struct ws_chrome *ch);
	/* the begin or end of a launch's arrow at this slice */
	void (*arrow)(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t id,
	              int begins);
	/* from an operation to its backward pass, at the start of a slice of the track */
	void (*link)(struct ws_chrome *ch, uint64_t id, const struct ws_chrome_track *t,
	             int64_t time_ns, int begins);
	/* value / 10^digits; digits WS_CHROME_REAL: the double with these bits */
	void (*counter)(struct ws_chrome *ch, uint64_t pid, struct ws_bytes name, int64_t time_ns,
	                const char *unit, int64_t value, unsigned digits);
};

struct ws_chrome {
	const struct ws_chrome_form *form;
	const struct ws_trace_reader *r;
	const struct ws_export_opts *opts;
	struct ws_export_stats *stats;
	struct ws_json_writer j;             /* of the form JSON */
	struct ws_chrome_packets *packets;   /* of the form Perfetto */
	struct ws_records kind[WS_KIND_END]; /* only the used ones */
	struct ws_recorded_ranges ranges;
	struct ws_model *m;
	struct ws_strtab links; /* process and correlation -> index + 1 in external_ids */
	uint64_t *external_ids;
	size_t nexternal_ids, external_ids_capacity;
	struct ws_strtab collectives; /* subject of each -> index + 1 in collective_rows */
	size_t *collective_rows;
	struct ws_map collectives_told;     /* by place + 1 */
	struct ws_chrome_open_op *open_ops; /* of op_track */
	size_t nopen_ops, open_ops_capacity;
	uint32_t op_track;
	uint64_t next_step;     /* next number for a step without one */
	const char *rank_keys;  /* prefix of the rank's keys; NULL: the rank is unknown */
	bool names_as_recorded; /* kernel names stay as PyTorch wrote them, for its tools */

	struct ws_strtab track_keys;
	struct ws_chrome_track *track;
	size_t ntracks, tracks_capacity;
	struct ws_arena arena;            /* for arrays of known length */
	struct ws_spill slices, launches; /* of the structs above */
	size_t nslices, nlaunches;
	size_t next_launch;       /* index after the last result */
	int64_t begin_ns, end_ns; /* of everything drawn */

	struct ws_map json_pids; /* process -> pid in the JSON */
};

#define WS_CHROME_ROW(ch, KIND, kind_, i) \
	((const struct ws_row_##kind_ *)ws_records_row(&(ch)->kind[WS_KIND_##KIND], i))

/* r: each row of a kind; no break. */
#define WS_CHROME_EACH(ch, KIND, kind_, r)                                                      \
	for (size_t i_##r = 0; i_##r < (ch)->kind[WS_KIND_##KIND].n; i_##r++)                   \
		for (const struct ws_row_##kind_ *r = WS_CHROME_ROW(ch, KIND, kind_, i_##r); r; \
		     r = NULL)

/* Valid until the next call. */
static inline struct ws_chrome_slice *ws_chrome_slice(struct ws_chrome *ch, size_t i)
{
	return ws_spill_row(&ch->slices, sizeof(struct ws_chrome_slice), i);
}

static inline struct ws_chrome_launch *ws_chrome_launch(struct ws_chrome *ch, size_t i)
{
	return ws_spill_row(&ch->launches, sizeof(struct ws_chrome_launch), i);
}

/* --- look-ups by id --- */

/* The row of a launch_config; all zeros if it was lost. *config: its configuration in the model, if
 * not NULL.
 */
int64_t ws_chrome_since_begin(const struct ws_chrome *ch, int64_t time_ns);

/* The pids in the output of a process and of a device. */
uint64_t ws_chrome_device(uint64_t device);

/* --- facts about the trace itself --- */

/* Calls fn for each meta row, the last one of each key. */
void ws_chrome_each_meta(struct ws_chrome *ch,
                         void (*fn)(struct ws_chrome *ch, const char *key, struct ws_bytes value));

/* --- the timeline as a file --- */

/*
 * This is in report/ and not in formats/, because it uses results of analysis: readable names,
 * estimated occupancy, the operations of annotated ranges.
 */

extern const struct ws_chrome_form ws_chrome_json, ws_chrome_perfetto;
/* Exports in a form. */
enum ws_status ws_chrome_write(const struct ws_chrome_form *form, const struct ws_trace_reader *r,
                               const struct ws_export_job *job, struct ws_export_stats *stats,
                               struct ws_err *err);
/* The same trace gives the same bytes. IO_WRITE if f has an error. */
enum ws_status ws_export_timeline(const struct ws_chrome_form *form,
                                  const struct ws_trace_reader *r, FILE *f,
                                  const struct ws_export_opts *opts, struct ws_export_stats *stats,
                                  struct ws_err *err);
