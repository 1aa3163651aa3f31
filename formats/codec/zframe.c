#include "formats/codec/zframe.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "formats/base/xalloc.h"

struct ws_zframe_encoder {
	ZSTD_CCtx *ctx;
	int level;
};

struct ws_zframe_decoder {
	ZSTD_DCtx *ctx;
};

struct ws_zframe_encoder *ws_zframe_encoder_new(int level)
{
	struct ws_zframe_encoder *z = ws_xarray(1, sizeof(*z));

	z->ctx = ZSTD_createCCtx();
	if (!z->ctx)
		ws_out_of_memory(sizeof(*z));
	z->level = level;
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_contentSizeFlag, 1);
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_checksumFlag, 1);
	return z;
}

void ws_zframe_encoder_free(struct ws_zframe_encoder *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->ctx);
	free(z);
}

/* Compress up to size and end the block there, the frame too when it is the last. 0: no room. */
static bool encode_part(struct ws_zframe_encoder *z, ZSTD_inBuffer *in, ZSTD_outBuffer *out,
                        int is_last, size_t *result)
{
	*result = ZSTD_compressStream2(z->ctx, out, in, is_last ? ZSTD_e_end : ZSTD_e_flush);
	return *result == 0 && in->pos == in->size;
}

static size_t encode(struct ws_zframe_encoder *z, int level, const void *src, size_t size,
                     const size_t *ends, unsigned nends, void *dst, size_t limit)
{
	ZSTD_outBuffer out = {dst, limit, 0};
	ZSTD_inBuffer in = {src, 0, 0};
	size_t result = 0;
	bool fits = true;

	ZSTD_CCtx_reset(z->ctx, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(z->ctx, size);
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_compressionLevel, level);
	/* noise repeats by chance: such matches take more bits than they save */
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_minMatch, nends ? 7 : 0);
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_hashLog, nends ? 6 : 0);
	for (unsigned i = 0; fits && i < nends && ends[i] < size; i++) {
		in.size = ends[i];
		fits = encode_part(z, &in, &out, 0, &result);
	}
	in.size = size;
	fits = fits && encode_part(z, &in, &out, 1, &result);
	if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
		ws_out_of_memory(size);
	return fits ? out.pos : 0;
}

size_t ws_zframe_encode_parts(struct ws_zframe_encoder *z, const void *src, size_t size,
                              const size_t *ends, unsigned nends, void *dst, size_t limit)
{
	return encode(z, z->level, src, size, ends, nends, dst, limit);
}

size_t ws_zframe_encode(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                        size_t limit)
{
	return encode(z, z->level, src, size, NULL, 0, dst, limit);
}

#define MAX_HARD_BYTES ((size_t)64 << 10) /* more would take a recorder hundredths of a second */
#define HARD_LEVEL     19

size_t ws_zframe_encode_hard(struct ws_zframe_encoder *z, const void *src, size_t size, void *dst,
                             size_t limit)
{
	return encode(z, size <= MAX_HARD_BYTES ? HARD_LEVEL : z->level, src, size, NULL, 0, dst,
	              limit);
}

struct ws_zframe_decoder *ws_zframe_decoder_new(void)
{
	struct ws_zframe_decoder *z = ws_xarray(1, sizeof(*z));

	z->ctx = ZSTD_createDCtx();
	if (!z->ctx)
		ws_out_of_memory(sizeof(*z));
	return z;
}

void ws_zframe_decoder_free(struct ws_zframe_decoder *z)
{
	if (!z)
		return;
	ZSTD_freeDCtx(z->ctx);
	free(z);
}

enum ws_status ws_zframe_decode(struct ws_zframe_decoder *z, const void *src, size_t stored,
                                void *dst, size_t size, struct ws_err *err)
{
	unsigned long long content = ZSTD_getFrameContentSize(src, stored);
	size_t frame, result;

	WS_FAIL_IF(content == ZSTD_CONTENTSIZE_ERROR, err, CORRUPT, "not a zstd frame");
	WS_FAIL_IF(content == ZSTD_CONTENTSIZE_UNKNOWN, err, CORRUPT,
	           "the zstd frame does not say its content size");
	WS_FAIL_IF(content != size, err, CORRUPT, "the zstd frame holds %llu bytes instead of %zu",
	           content, size);

	/* zstd would go on with a second frame */
	frame = ZSTD_findFrameCompressedSize(src, stored);
	WS_FAIL_IF(ZSTD_isError(frame), err, CORRUPT, "the zstd frame is damaged: %s",
	           ZSTD_getErrorName(frame));
	WS_FAIL_IF(frame != stored, err, CORRUPT, "%zu bytes follow the zstd frame",
	           stored - frame);

	result = ZSTD_decompressDCtx(z->ctx, dst, size, src, stored);
	WS_FAIL_IF(ZSTD_isError(result), err, CORRUPT, "the zstd frame is damaged: %s",
	           ZSTD_getErrorName(result));
	WS_FAIL_IF(result != size, err, CORRUPT, "the zstd frame gave %zu bytes instead of %zu",
	           result, size);
	return WS_OK;
}
