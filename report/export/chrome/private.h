/*
 * What the parts of the timeline's writer share. Internal to export_chrome*.c.
 */
#ifndef WS_REPORT_EXPORT_CHROME_PRIVATE_H
#define WS_REPORT_EXPORT_CHROME_PRIVATE_H

#include "formats/base/strtab.h"
#include "report/export/rows.h"
#include "formats/text/json_writer.h"
#include "report/kernel_info/occupancy.h"
#include "report/model/payload.h"

/* Rows of tracks, from the top: a thread; device work; what else concerns a device. */
enum ws_chrome_track_type {
	WS_CHROME_THREAD, /* a: process, b: thread id */
	WS_CHROME_STREAM, /* a: device, b: process, c: context, d: stream */
	WS_CHROME_WAITS,  /* the same: waits for device work */
	WS_CHROME_RANGES, /* the same: spans of the work of annotations */
};

/* Slices of a track nest; those that would cross others go to further lanes. */
struct ws_chrome_track {
	uint64_t type, a, b, c, d; /* first: the key */
	uint32_t rank;             /* its place in the order of the keys */
	uint32_t lanes;
	uint64_t pid;  /* in the JSON */
	uint64_t *tid; /* of each lane */
};

/* A span of time, or of an NVTX range when kind is WS_KIND_NVTX. */
struct ws_chrome_slice {
	int64_t start_ns, end_ns;
	uint64_t row; /* of the kind's rows, or of ranges */
	uint32_t track, lane;
	uint32_t flow; /* number of the arrow that ends here, 0 = none */
	uint8_t kind;  /* enum ws_kind */
};

/* Device work that an API call launched: the two ends of an arrow. */
struct ws_chrome_launch {
	uint64_t pid, correlation;
	size_t slice;
	int drawn; /* its begin is in the file */
};

struct ws_chrome {
	const struct ws_trace_reader *r;
	const struct ws_export_opts *opts;
	struct ws_export_stats *stats;
	struct ws_json_writer j;
	struct ws_export_dict kind[WS_KIND_END]; /* those that are used */
	struct ws_export_ranges ranges;
	struct ws_ops ops; /* one a payload row */
	struct ws_bytes *texts;
	struct ws_strtab links; /* process and correlation -> place + 1 in external_ids */
	uint64_t *external_ids;

	struct ws_strtab track_keys;
	struct ws_chrome_track *track;
	size_t ntracks, tracks_capacity;
	struct ws_chrome_slice *slice;
	size_t nslices, slices_capacity;
	struct ws_chrome_launch *launch;
	size_t nlaunches;
	int64_t begin_ns, end_ns; /* of everything drawn */

	struct ws_map json_pids;        /* process -> pid in the JSON */
	struct ws_occupancy *occupancy; /* one a launch_config row */
	uint8_t *has_occupancy;
	struct ws_buf *names; /* one a launch_config row: readable */
};

#define WS_CHROME_ROW(ch, KIND, kind_, i) \
	(&((const struct ws_row_##kind_ *)(ch)->kind[WS_KIND_##KIND].rows)[i])

/* The row of a launch_config; a lost one is all zeros. *at: its place, or the number of rows. */
const struct ws_row_launch_config *ws_chrome_config(const struct ws_chrome *ch, uint64_t id,
                                                    size_t *at);
struct ws_bytes ws_chrome_text(const struct ws_chrome *ch, uint64_t string);
/* The process of a thread; 0 when the trace lost it. */
uint64_t ws_chrome_thread_pid(const struct ws_chrome *ch, uint64_t thread);
/* The pid that stands for a process, and the one that stands for a device. */
enum ws_status ws_chrome_process(struct ws_chrome *ch, uint64_t pid, uint64_t *out,
                                 struct ws_err *err);
uint64_t ws_chrome_device(uint64_t device);

/* --- export_chrome_tracks.c --- */

/* Slices of all records on their tracks, sorted; lanes; arrows. */
enum ws_status ws_chrome_collect(struct ws_chrome *ch, struct ws_err *err);

/* --- export_chrome_events.c --- */

/* "ph": phase and where it is; name and category are the caller's. Close with object_end. */
void ws_chrome_begin_event(struct ws_chrome *ch, const char *phase, uint64_t pid, uint64_t tid,
                           int64_t time_ns);
void ws_chrome_put_slices(struct ws_chrome *ch);
void ws_chrome_put_marks(struct ws_chrome *ch);
void ws_chrome_put_forward_backward(struct ws_chrome *ch);

/* --- export_chrome_counters.c --- */

enum ws_status ws_chrome_put_counters(struct ws_chrome *ch, struct ws_err *err);

#endif
