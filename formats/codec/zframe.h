/*
 * One zstd frame at a time, with content size and content checksum. zstd is
 * known to zframe.c only.
 */
#pragma once

#include <stddef.h>

#include "formats/base/status.h"

struct ws_zframe_encoder;
struct ws_zframe_decoder;

/* A frame is never smaller than this: header, one block, checksum. */
#define WS_ZFRAME_MIN_BYTES 12u

struct ws_zframe_encoder *ws_zframe_encoder_new(int level);
void ws_zframe_encoder_free(struct ws_zframe_encoder *z); /* NULL is legal */
/*
 * Compress size bytes to dst, which has limit bytes. The size of the frame, or 0 when it does not
 * fit: how a caller asks "smaller than …?".
 */
size_t ws_zframe_encode(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                        size_t limit);
/* The same with much more work, for what is small and read often: texts. */
size_t ws_zframe_encode_hard(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                             size_t limit);
/*
 * The same, and a zstd block begins at each of the nends ascending offsets, so
 * that bytes of another nature get tables of their own.
 */
size_t ws_zframe_encode_parts(struct ws_zframe_encoder *z, const void *src, size_t size,
                              const size_t *ends, unsigned nends, void *dst, size_t limit);

struct ws_zframe_decoder *ws_zframe_decoder_new(void);
void ws_zframe_decoder_free(struct ws_zframe_decoder *z); /* NULL is legal */
/*
 * Decompress the one frame that fills src into exactly size bytes of dst.
 * CORRUPT when it is no frame, has bytes behind it, says another size, or
 * fails its checksum.
 */
enum ws_status ws_zframe_decode(struct ws_zframe_decoder *z, const void *src, size_t stored,
                                void *dst, size_t size, struct ws_err *err);
