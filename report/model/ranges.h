#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/base/strtab.h"
#include "formats/schema/schema.h"
#include "report/base/order.h"

/*
 * Paths of NVTX ranges: the names from the outermost range down, each path
 * once, however many ranges have it.
 */

/* Ranges nested deeper than this share the path of their ancestor at this depth (and are counted):
 * a program that forgets to pop must not cost a path of a million names. */
#define WS_RANGE_MAX_DEPTH 512u

enum { WS_RANGE_START_END = 1u << 0 };

/* A path: the names from the outermost range down. Parents stand before their children. */
struct ws_path {
	uint32_t parent; /* WS_NONE for an outermost range */
	uint32_t name, domain;
	uint32_t depth;   /* 0 for an outermost range */
	uint8_t style;    /* 0, which is push/pop, or WS_RANGE_START_END */
	int64_t first_ns; /* begin of its first instance */
};

/* Starts as all zeros; free with ws_path_table_free. */
struct ws_path_table {
	struct ws_path *paths;
	size_t npaths, capacity;
	uint32_t *next;        /* path -> next with this parent and name, other domain or style */
	struct ws_idmap first; /* parent and name -> first such path */
};
/* The number of the path; a new one is added, first_ns becomes the least one seen. */
uint32_t ws_path_intern(struct ws_path_table *t, const struct ws_path *path);
/* Hand the paths over, to be freed by free(); the table is empty then. */
void ws_path_table_give(struct ws_path_table *t, struct ws_path **paths, size_t *npaths);
void ws_path_table_free(struct ws_path_table *t);

/* The paths of a trace, and what making ranges of its events left over. */
struct ws_ranges {
	struct ws_path *paths;
	size_t npaths;
	uint64_t unmatched_pops, unmatched_ends; /* ends without a begin */
	uint64_t open;                           /* never ended */
	uint64_t cross_thread;                   /* ended on another thread */
	uint64_t folded;                         /* deeper than WS_RANGE_MAX_DEPTH */
};

/*
 * Paths in reading order: a parent before its children, siblings by the begin
 * of their first instance, then by name, domain and style. order has npaths entries.
 */
void ws_paths_order(const struct ws_ranges *r, const struct ws_bytes *texts, uint32_t *order);

/*
 * The path as text: names joined by '/', a '/' inside a name written "\/".
 * Allocated, for the caller to free; *len bytes, and a NUL after them.
 */
void ws_path_text(const struct ws_ranges *r, uint32_t path, const struct ws_bytes *texts,
                  char **out, size_t *len);

/*
 * Which NVTX event ends which range: the one place that knows.
 *
 * - a pop ends the innermost open push of its thread and domain;
 * - an end closes the latest open start of its id in its process, whichever
 *   thread that was on.
 *
 * Ranges are handles that the caller chooses: small numbers, to be used again
 * once a range has ended. Pushes and pops of a thread come in order of time,
 * starts and ends of a process too; the two sorts need not be in step.
 */

/* Starts as all zeros; free with ws_range_pairs_free. */
struct ws_range_pairs {
	uint32_t *below; /* range -> the open range under it in its stack, WS_NONE */
	size_t nbelow;
	uint32_t *top; /* stack -> its innermost open range, WS_NONE */
	size_t nstacks, stacks_capacity;
	struct ws_idmap stack_of; /* thread << 32 | domain -> stack */
	struct ws_strtab started; /* process and id of the range -> number from 1 */
	uint32_t *start_stack;    /* that number - 1 -> stack */
	size_t started_capacity;
	uint64_t last_key; /* events of a thread and domain come in runs */
	uint32_t last_stack;
	uint8_t has_last;
};

void ws_range_push(struct ws_range_pairs *p, uint32_t thread, uint32_t domain, uint32_t range);
/* The range that ends, WS_NONE = none is open. */
uint32_t ws_range_pop(struct ws_range_pairs *p, uint32_t thread, uint32_t domain);
void ws_range_start(struct ws_range_pairs *p, uint64_t process, uint64_t id, uint32_t range);
/* The same for start and end. */
uint32_t ws_range_end(struct ws_range_pairs *p, uint64_t process, uint64_t id);
void ws_range_pairs_free(struct ws_range_pairs *p);
