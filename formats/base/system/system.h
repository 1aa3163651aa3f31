/*
 * Access to the system, except files (files.h): memory, the terminal, limits, other programs. One
 * of three back ends is compiled in, -DWARPSHEET_SYSTEM=linux|posix|plain; docs/dev/portability.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/system/files.h"

/* --- files as memory --- */

/* A file as memory that is only read; NULL: errno. size is not 0. */
const void *ws_file_map(int fd, size_t size);
void ws_file_unmap(const void *data, size_t size);
/* Pages of a map stop counting as this program's memory until they are read again. */
void ws_file_map_let_go(const void *data, size_t size);
/* Set what to call when a mapped file was cut while it was read. It ends the program. */
void ws_file_map_when_cut(void (*end_program)(void));
/* The names in an open folder, in order of their bytes, without "." and ".."; free() each, and the
 * array. Their number; -1: errno. */
int ws_folder_names(int folder, char ***names);

/* --- memory --- */

/*
 * Memory that grows up to most_bytes and can lie in a file without a name. Its address changes only
 * when it grows, and never where the system reserves addresses.
 */
struct ws_region {
	void *data;
	size_t most_bytes, bytes; /* bytes: can be used; the new ones are 0 */
	int fd;                   /* -1: none */
	size_t taken_bytes;       /* of a system that cannot map: addresses that are its own */
	bool is_zero;             /* and those behind `bytes` are 0 */
};
/* -1: errno; ENOMEM: no memory, else no file. */
int ws_region_open(struct ws_region *r, size_t most_bytes, bool is_file);
int ws_region_grow(struct ws_region *r, size_t bytes); /* 0, or the number of the error */
/* Write to it, without bringing its pages to memory. */
void ws_region_write(struct ws_region *r, size_t at, const void *bytes, size_t n);
/* Memory in a file is released until it is used again. */
void ws_region_let_go(struct ws_region *r);
void ws_region_close(struct ws_region *r); /* all zero is legal */

/* Could so many bytes be had now? */
bool ws_memory_has(size_t bytes);
/* Freed memory goes back to the system early. */
void ws_memory_give_back(void);

/* --- limits of memory and processor time, where the system has them --- */

/* Keep what this process was started with, and call this, as a signal's handler, at the limit. */
void ws_limits_begin(void (*on_time)(void));
/* So high, but not higher than the process was started with. */
void ws_limits_set(uint64_t memory, uint64_t seconds);
/* Could so many bytes more be had without the limit of memory that is set? */
bool ws_limits_refuse(uint64_t memory, size_t bytes);
void ws_limits_end(void);
/* Raises the number of open files to the system's limit. */
void ws_limits_open_files(void);

/* --- streams, the terminal, other programs --- */

/* A stream that gives its bytes away; write returns less than n after a failure, with errno. A
 * stream of the back end `plain` does so only in ws_stream_close. NULL: errno. */
struct ws_stream_functions {
	size_t (*write)(void *ctx, const char *bytes, size_t n);
	int (*close)(void *ctx); /* 0, or -1 with errno */
};
FILE *ws_stream_open(const struct ws_stream_functions *functions, void *ctx);
int ws_stream_close(FILE *f);
/* 0 if all that was written to f has left this program, else the number of the error. */
int ws_stream_flush(FILE *f);

/* How many can work at once. */
int ws_processors(void);
/* The name that messages begin with. */
const char *ws_program_name(void);
/* The path of this program; -1: errno. */
int ws_program_path(char *path, size_t size);
bool ws_is_terminal(FILE *f);
int ws_terminal_width(void); /* of stdout; 0: not known */
/* Send stdout to a shell's command. ws_pager_end is for when stdout is closed: false: the command
 * could not be run. */
bool ws_pager_begin(const char *command);
bool ws_pager_end(void);
/* Does `warpsheet record` exist for this system? */
bool ws_system_records(void);
/* Become another program; returns only if that fails, with errno. */
void ws_program_become(const char *path, char *const *args);
/* NULL: ws_library_error says why. */
void *ws_library_open(const char *path);
void *ws_library_function(void *library, const char *name);
const char *ws_library_error(void);
