/* What the files of merging share. */
#pragma once

#include "formats/base/map.h"
#include "formats/trace/reader.h"
#include "formats/trace/writer.h"

/* Ids that are distinct in a trace become distinct in all: a number goes on top. */
#define WS_MERGE_SHIFT   48
#define WS_MERGE_NUMBERS (UINT64_C(1) << 16)

struct ws_merge_source {
	struct ws_trace_reader *reader;
	uint64_t index;                  /* of the trace */
	uint64_t number;                 /* that is added to its own ids, above WS_MERGE_SHIFT */
	uint64_t highest_number;         /* of its ids then: it can be a merged trace itself */
	int64_t base_ns;                 /* real time of its time 0 */
	struct ws_bytes boot;            /* whose clock its times are; empty: unknown */
	int64_t boot_ns;                 /* that clock at its time 0 */
	int64_t shift_ns;                /* of its time 0 */
	uint64_t pid;                    /* of its first process, 0 = none */
	struct ws_map maps[WS_KIND_END]; /* new ids of string, payload, launch_config, device */
	uint64_t thread_offset, op_config_offset;
};

struct ws_merge_device {
	uint64_t id; /* in the merged trace */
	char *facts; /* what makes it the same as another trace's; NULL: nothing does */
};

struct ws_merge_loss {
	int64_t time_ns;
	uint64_t source, cause, count;
};

/* As large as the kind with the most columns. */
union ws_merge_treatments {
#define K(NAME, name, id, class, meaning) uint8_t name[WS_NCOLS_##name];
	WS_KIND_LIST(K)
#undef K
};

struct ws_merge {
	struct ws_trace_writer *writer;
	struct ws_merge_source *sources;
	size_t nsources;
	struct ws_merge_device *devices;
	size_t ndevices, devices_capacity;
	uint64_t threads, op_configs; /* highest ids so far */
	uint64_t next_number;
	struct ws_merge_loss *losses;
	size_t nlosses, losses_capacity;
	/* of a kind's columns; rows.c looks once */
	uint8_t treatments[WS_KIND_END][sizeof(union ws_merge_treatments)];
};

static inline uint64_t ws_merge_cell(const struct ws_column_data *t, unsigned column, uint64_t row)
{
	return t->columns[column].present ? t->columns[column].v[row] : 0;
}

static inline struct ws_bytes ws_merge_blob(const struct ws_column_data *t, unsigned column,
                                            uint64_t row)
{
	if (!t->columns[column].present)
		return (struct ws_bytes){NULL, 0};
	return t->columns[column].b[row];
}

/* The new id, 0: there is no such row. */
static inline uint64_t ws_merge_mapped(const struct ws_map *map, uint64_t id)
{
	const uint64_t *new_id = ws_map_get(map, id);

	return new_id ? *new_id : 0;
}

/* --- merge_rows.c --- */

/* Any row's struct, from the table, with new ids and times. */
void ws_merge_make_row(struct ws_merge *m, struct ws_merge_source *s,
                       const struct ws_column_data *t, uint64_t i, void *row);

/* Rows of a kind that the writer numbers itself (string, payload, launch_config): adds them, and
 * notes the new ids by the old ones, which are their first column. */
void ws_merge_interned(struct ws_merge *m, struct ws_merge_source *s,
                       const struct ws_column_data *t);
/*
 * Rows with ids 1, 2, 3 …, of which a later row may say more: they go on where
 * the others ended, offset higher; *highest becomes the highest id.
 */
void ws_merge_counted(struct ws_merge *m, struct ws_merge_source *s, const struct ws_column_data *t,
                      unsigned id_column, uint64_t offset, uint64_t *highest);

/* --- merge_whole.c: kinds in which the traces have to do with each other --- */

enum ws_status ws_merge_devices(struct ws_merge *m, struct ws_merge_source *s,
                                const struct ws_column_data *devices,
                                const struct ws_column_data *attrs, struct ws_err *err);
/* Loss rows are noted trace by trace and added when all are known. */
void ws_merge_note_losses(struct ws_merge *m, struct ws_merge_source *s,
                          const struct ws_column_data *t);
void ws_merge_losses(struct ws_merge *m);
/* tables: the meta rows of each source. */
/* One clock for all traces: base_ns of each. */
void ws_merge_clocks(struct ws_merge *m, const struct ws_column_data *tables);
void ws_merge_meta(struct ws_merge *m, const struct ws_column_data *tables);
