/* The names that a program gave by NVTX to devices, contexts and streams. */
#pragma once

#include "formats/base/strtab.h"
#include "report/records/records.h"

struct ws_resources {
	struct ws_records rows; /* of everything that has a name */
	struct ws_strtab keys;  /* type, process and number -> place in names, from 1 */
	uint64_t *names;        /* ids of string rows; of several names the last */
	size_t n, capacity;
};
/* Free with ws_resources_free, also after a failure. */
enum ws_status ws_resources_load(struct ws_resources *s, const struct ws_trace_reader *r,
                                 struct ws_err *err);
void ws_resources_free(struct ws_resources *s);

/* The string row of the name of a device, a context or a stream; 0: it has none. */
uint64_t ws_resources_device(const struct ws_resources *s, uint64_t device);
uint64_t ws_resources_context(const struct ws_resources *s, uint64_t pid, uint64_t context);
uint64_t ws_resources_stream(const struct ws_resources *s, uint64_t pid, uint64_t stream);
