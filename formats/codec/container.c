#include "formats/codec/container.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/bytes.h"
#include "formats/base/checksum.h"

static const uint8_t file_magic[8] = {0x89, 'W', 'S', 'T', '\r', '\n', 0x1a, '\n'};
static const uint8_t block_magic[4] = {'W', 'S', 'B', 'K'};
static const uint8_t trailer_magic[8] = {'W', 'S', 'T', 'E', 'N', 'D', '\r', '\n'};

void ws_file_header_put(uint8_t out[WS_FILE_HEADER_BYTES], int64_t base_ns)
{
	memset(out, 0, WS_FILE_HEADER_BYTES);
	memcpy(out, file_magic, sizeof(file_magic));
	ws_store_u16(out + 8, WS_FORMAT_MAJOR);
	ws_store_u16(out + 10, WS_FORMAT_MINOR);
	ws_store_u32(out + 12, WS_FILE_HEADER_BYTES);
	ws_store_u64(out + 32, (uint64_t)base_ns);
	ws_store_u64(out + 56, ws_checksum(out, 56));
}

static enum ws_status check_magic(const uint8_t *data, size_t size, struct ws_err *err)
{
	WS_FAIL_IF(size == 0, err, CORRUPT, "the file is empty");
	if (size >= sizeof(file_magic) && memcmp(data, file_magic, sizeof(file_magic)) != 0) {
		WS_FAIL_IF(memcmp(data + 1, file_magic + 1, 3) == 0, err, CORRUPT,
		           "the file was changed by a transfer as text; copy it again as binary");
		return WS_FAIL(err, CORRUPT, "not a Warpsheet trace: unrecognised file header");
	}
	WS_FAIL_IF(size < WS_FILE_HEADER_BYTES, err, CORRUPT,
	           "the file has %zu bytes, fewer than the %u of its header", size,
	           WS_FILE_HEADER_BYTES);
	return WS_OK;
}

enum ws_status ws_file_header_get(const uint8_t *data, size_t size, struct ws_file_header *out,
                                  struct ws_err *err)
{
	WS_FORWARD(check_magic(data, size, err));
	WS_FAIL_IF(ws_load_u64(data + 56) != ws_checksum(data, 56), err, CORRUPT,
	           "the file header is damaged: its checksum is wrong");

	out->version_major = ws_load_u16(data + 8);
	out->version_minor = ws_load_u16(data + 10);
	out->required_features = ws_load_u64(data + 16);
	out->optional_features = ws_load_u64(data + 24);
	out->base_ns = (int64_t)ws_load_u64(data + 32);
	WS_FAIL_IF(out->version_major < WS_FORMAT_MAJOR, err, TOO_NEW,
	           "the file has format %u.%u of before the first release, this program reads "
	           "%u.x; record or import it again",
	           out->version_major, out->version_minor, WS_FORMAT_MAJOR);
	WS_FAIL_IF(out->version_major != WS_FORMAT_MAJOR, err, TOO_NEW,
	           "the file has format %u.%u, this program reads %u.x", out->version_major,
	           out->version_minor, WS_FORMAT_MAJOR);
	WS_FAIL_IF(out->required_features & ~WS_KNOWN_FEATURES, err, TOO_NEW,
	           "the file needs features 0x%" PRIx64 " that this program lacks",
	           out->required_features & ~WS_KNOWN_FEATURES);
	WS_FAIL_IF(ws_load_u32(data + 12) != WS_FILE_HEADER_BYTES, err, TOO_NEW,
	           "the file header has %u bytes, this program knows one of %u",
	           ws_load_u32(data + 12), WS_FILE_HEADER_BYTES);
	WS_FAIL_IF(ws_load_u64(data + 40) || ws_load_u64(data + 48), err, TOO_NEW,
	           "the file header uses reserved bytes that this program does not know");
	return WS_OK;
}

void ws_block_header_put(uint8_t out[WS_BLOCK_HEADER_BYTES], const struct ws_block_header *h)
{
	memcpy(out, block_magic, sizeof(block_magic));
	ws_store_u16(out + 4, h->kind);
	ws_store_u16(out + 6, h->ncolumns);
	ws_store_u32(out + 8, h->rows);
	ws_store_u32(out + 12, h->api_rows);
	ws_store_u64(out + 16, h->body_size);
	ws_store_u64(out + 24, (uint64_t)h->time_min_ns);
	ws_store_u64(out + 32, (uint64_t)h->time_max_ns);
	ws_store_u64(out + 40, h->sequence);
	ws_store_u64(out + 48, h->body_checksum);
	ws_store_u64(out + 56, ws_checksum(out, 56));
}

/* The values of a header whose checksum is right. */
static enum ws_status check_block_header(const struct ws_block_header *h, uint64_t offset,
                                         struct ws_err *err)
{
	char label[WS_BLOCK_LABEL_BYTES];

	ws_block_label(label, h->kind, offset);
	WS_FAIL_IF(h->kind == WS_KIND_API || h->kind == WS_KIND_NVTX, err, CORRUPT,
	           "%s: its rows belong into blocks of kind thread_event", label);
	WS_FAIL_IF(h->api_rows && h->kind != WS_KIND_THREAD_EVENT, err, CORRUPT,
	           "%s: reserved bytes of its header are not 0", label);
	WS_FAIL_IF(h->api_rows > h->rows, err, CORRUPT, "%s: %u of its %u rows are api rows", label,
	           h->api_rows, h->rows);
	WS_FAIL_IF(h->ncolumns == 0 || h->ncolumns > WS_MAX_COLUMNS, err, CORRUPT,
	           "%s: it has %u columns, not 1 to %u", label, h->ncolumns, WS_MAX_COLUMNS);
	WS_FAIL_IF(h->rows == 0 || h->rows > WS_MAX_BLOCK_ROWS, err, CORRUPT,
	           "%s: it has %u rows, not 1 to %u", label, h->rows, WS_MAX_BLOCK_ROWS);
	WS_FAIL_IF(h->body_size % WS_ALIGN_BYTES, err, CORRUPT,
	           "%s: its body size %" PRIu64 " is not a multiple of %u", label, h->body_size,
	           WS_ALIGN_BYTES);
	WS_FAIL_IF(h->body_size > WS_MAX_BODY_BYTES, err, CORRUPT,
	           "%s: its body size %" PRIu64 " is over the limit of %" PRIu64, label,
	           h->body_size, WS_MAX_BODY_BYTES);
	WS_FAIL_IF(h->rows / WS_MAX_ROWS_PER_BYTE > h->body_size + WS_BLOCK_HEADER_BYTES, err,
	           CORRUPT, "%s: it has %u rows in %" PRIu64 " bytes, more than %u in each", label,
	           h->rows, h->body_size + WS_BLOCK_HEADER_BYTES, WS_MAX_ROWS_PER_BYTE);
	WS_FAIL_IF(h->body_size < (uint64_t)h->ncolumns * WS_DIR_ENTRY_BYTES, err, CORRUPT,
	           "%s: its body of %" PRIu64 " bytes cannot hold the directory of %u columns",
	           label, h->body_size, h->ncolumns);
	WS_FAIL_IF(h->time_min_ns > h->time_max_ns, err, CORRUPT,
	           "%s: its time range ends before it begins", label);
	return WS_OK;
}

enum ws_status ws_block_header_get(const uint8_t *data, size_t size, uint64_t offset,
                                   struct ws_block_header *out, struct ws_err *err)
{
	WS_FAIL_IF(size < WS_BLOCK_HEADER_BYTES, err, CORRUPT,
	           "offset %" PRIu64 ": %zu bytes are too few for a block header", offset, size);
	WS_FAIL_IF(memcmp(data, block_magic, sizeof(block_magic)) != 0, err, CORRUPT,
	           "offset %" PRIu64 ": no block begins here", offset);
	WS_FAIL_IF(ws_load_u64(data + 56) != ws_checksum(data, 56), err, CORRUPT,
	           "offset %" PRIu64 ": the checksum of a block header is wrong", offset);

	out->kind = ws_load_u16(data + 4);
	out->ncolumns = ws_load_u16(data + 6);
	out->rows = ws_load_u32(data + 8);
	out->api_rows = ws_load_u32(data + 12);
	out->body_size = ws_load_u64(data + 16);
	out->time_min_ns = (int64_t)ws_load_u64(data + 24);
	out->time_max_ns = (int64_t)ws_load_u64(data + 32);
	out->sequence = ws_load_u64(data + 40);
	out->body_checksum = ws_load_u64(data + 48);
	return check_block_header(out, offset, err);
}

void ws_dir_entry_put(uint8_t out[WS_DIR_ENTRY_BYTES], const struct ws_dir_entry *e)
{
	ws_store_u16(out, e->column);
	out[2] = e->type;
	out[3] = (uint8_t)(e->compression << 6 | e->encoding);
	ws_store_u32(out + 4, e->encoded_size);
	ws_store_u32(out + 8, e->stored_size);
	ws_store_u32(out + 12, e->parameter);
}

void ws_dir_entry_get(const uint8_t in[WS_DIR_ENTRY_BYTES], struct ws_dir_entry *e)
{
	e->column = ws_load_u16(in);
	e->type = in[2];
	e->encoding = in[3] & 63;
	e->compression = in[3] >> 6;
	e->encoded_size = ws_load_u32(in + 4);
	e->stored_size = ws_load_u32(in + 8);
	e->parameter = ws_load_u32(in + 12);
}

void ws_trailer_put(uint8_t out[WS_TRAILER_BYTES], const struct ws_trailer *t)
{
	ws_store_u64(out, t->index_offset);
	ws_store_u64(out + 8, t->file_size);
	ws_store_u64(out + 16, ws_checksum(out, 16));
	memcpy(out + 24, trailer_magic, sizeof(trailer_magic));
}

enum ws_status ws_trailer_get(const uint8_t *data, size_t size, struct ws_trailer *out,
                              struct ws_err *err)
{
	const uint8_t *p;

	WS_FAIL_IF(size < WS_FILE_HEADER_BYTES + WS_TRAILER_BYTES, err, CORRUPT,
	           "the file is too short for a trailer");
	p = data + size - WS_TRAILER_BYTES;
	WS_FAIL_IF(memcmp(p + 24, trailer_magic, sizeof(trailer_magic)) != 0, err, CORRUPT,
	           "the file has no trailer");
	WS_FAIL_IF(ws_load_u64(p + 16) != ws_checksum(p, 16), err, CORRUPT,
	           "the checksum of the trailer is wrong");
	out->index_offset = ws_load_u64(p);
	out->file_size = ws_load_u64(p + 8);
	return WS_OK;
}

const char *ws_block_label(char buf[WS_BLOCK_LABEL_BYTES], unsigned kind, uint64_t offset)
{
	const struct ws_kind_def *def = ws_schema_kind(kind);

	if (def)
		snprintf(buf, WS_BLOCK_LABEL_BYTES, "%s block at offset %" PRIu64, def->name,
		         offset);
	else
		snprintf(buf, WS_BLOCK_LABEL_BYTES, "block of unknown kind %u at offset %" PRIu64,
		         kind, offset);
	return buf;
}
