/*
 * The fixed structures of a trace file, section 1 of docs/dev/trace-format.md:
 * file header, block header, directory entry, trailer. Sizes and limits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/schema/schema.h"
#include "formats/base/status.h"

#define WS_FORMAT_MAJOR 2u
#define WS_FORMAT_MINOR 0u

#define WS_KNOWN_FEATURES ((uint64_t)0) /* bits of required_features */

#define WS_FILE_HEADER_BYTES  64u
#define WS_BLOCK_HEADER_BYTES 64u
#define WS_DIR_ENTRY_BYTES    16u
#define WS_TRAILER_BYTES      32u
#define WS_ALIGN_BYTES        8u /* blocks start at multiples of it */

#define WS_MAX_COLUMNS       256u
#define WS_MAX_BODY_BYTES    ((uint64_t)1 << 30)
#define WS_MAX_ENCODED_BYTES ((uint64_t)1 << 28) /* one column after decompression */
#define WS_MAX_DECODED_BYTES ((uint64_t)1 << 30) /* all columns of a block after decompression */

/*
 * A block has no more rows than this for each of its bytes, so that a small
 * file cannot ask for much memory; a writer pads the few that would.
 */
#define WS_MAX_ROWS_PER_BYTE 32u

/* Bytes of a body whose directory and columns take content bytes. */
static inline uint64_t ws_body_size(uint64_t content, uint32_t rows)
{
	uint64_t least = rows / WS_MAX_ROWS_PER_BYTE;

	least = least > WS_BLOCK_HEADER_BYTES ? least - WS_BLOCK_HEADER_BYTES : 0;
	content = content > least ? content : least;
	return (content + WS_ALIGN_BYTES - 1) / WS_ALIGN_BYTES * WS_ALIGN_BYTES;
}

struct ws_file_header {
	uint16_t version_major, version_minor;
	uint64_t required_features, optional_features;
	int64_t base_ns; /* CLOCK_REALTIME ns of time 0 */
};

/* What a writer of this program puts there. */
void ws_file_header_put(uint8_t out[WS_FILE_HEADER_BYTES], int64_t base_ns);
/* CORRUPT: no trace, or a damaged header. TOO_NEW: needs what this program lacks. */
enum ws_status ws_file_header_get(const uint8_t *data, size_t size, struct ws_file_header *out,
                                  struct ws_err *err);

struct ws_block_header {
	uint16_t kind;
	uint16_t ncolumns;
	uint32_t rows;
	uint32_t api_rows; /* thread_event: rows that are api rows; else 0 */
	uint64_t body_size;
	int64_t time_min_ns, time_max_ns;
	uint64_t sequence;
	uint64_t body_checksum;
};

void ws_block_header_put(uint8_t out[WS_BLOCK_HEADER_BYTES], const struct ws_block_header *h);
/*
 * Read and verify the header at data; offset is only for the message. Does
 * not look at the body, nor whether it fits into size.
 */
enum ws_status ws_block_header_get(const uint8_t *data, size_t size, uint64_t offset,
                                   struct ws_block_header *out, struct ws_err *err);

enum ws_compression {
	WS_COMPRESSION_NONE = 0,
	WS_COMPRESSION_ZSTD = 1,
};

struct ws_dir_entry {
	uint16_t column;
	uint8_t type, encoding, compression; /* the last two below 64 and 4 */
	uint32_t encoded_size, stored_size;
	uint32_t parameter; /* meaning by encoding */
};

/* parameter of by_token and residual: column ids, 0 = none */
static inline unsigned ws_parameter_carrier(uint32_t parameter)
{
	return parameter & 0xffff;
}

static inline unsigned ws_parameter_durations(uint32_t parameter)
{
	return parameter >> 16;
}

static inline uint32_t ws_parameter(unsigned carrier, unsigned durations)
{
	return carrier | (uint32_t)durations << 16;
}

void ws_dir_entry_put(uint8_t out[WS_DIR_ENTRY_BYTES], const struct ws_dir_entry *e);
void ws_dir_entry_get(const uint8_t in[WS_DIR_ENTRY_BYTES], struct ws_dir_entry *e);

struct ws_trailer {
	uint64_t index_offset, file_size;
};

void ws_trailer_put(uint8_t out[WS_TRAILER_BYTES], const struct ws_trailer *t);
/* The trailer that ends these size bytes, or CORRUPT. Whether what it says is so is not asked. */
enum ws_status ws_trailer_get(const uint8_t *data, size_t size, struct ws_trailer *out,
                              struct ws_err *err);

/* How messages call a block: "kernel block at offset 4096". Returns buf. */
#define WS_BLOCK_LABEL_BYTES 64
const char *ws_block_label(char buf[WS_BLOCK_LABEL_BYTES], unsigned kind, uint64_t offset);
