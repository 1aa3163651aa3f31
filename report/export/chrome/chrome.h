/*
 * A trace as a timeline: as JSON that ui.perfetto.dev and
 * chrome://tracing open, the "Trace Event Format" in the dialect of PyTorch's
 * profiler where that has words for the same things; or as the protobuf of
 * Perfetto, which is smaller and opens faster. docs/reference/export.md says what becomes of every
 * record.
 *
 * Here and not in formats/, for it shows what only analysis knows: readable
 * names, estimated occupancy, the operations of annotated ranges.
 */
#pragma once

#include "report/export/source.h"

struct ws_chrome_form;
extern const struct ws_chrome_form ws_chrome_json, ws_chrome_perfetto;
/* The same trace gives the same bytes. IO_WRITE when f has an error. */
enum ws_status ws_export_timeline(const struct ws_chrome_form *form,
                                  const struct ws_trace_reader *r, FILE *f,
                                  const struct ws_export_opts *opts, struct ws_export_stats *stats,
                                  struct ws_err *err);
