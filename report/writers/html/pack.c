/* Bytes in a page: deflated, then as base64. */
#include <stdlib.h>
#include <zlib.h>

#include "formats/base/xalloc.h"
#include "report/writers/html/private.h"

#define LEVEL 6

void ws_html_put_base64(FILE *f, const unsigned char *bytes, size_t len)
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		const unsigned n = (unsigned)bytes[i] << 16 |
		                   (i + 1 < len ? (unsigned)bytes[i + 1] << 8 : 0) |
		                   (i + 2 < len ? bytes[i + 2] : 0);
		const char four[4] = {digits[n >> 18], digits[n >> 12 & 63],
		                      i + 1 < len ? digits[n >> 6 & 63] : '=',
		                      i + 2 < len ? digits[n & 63] : '='};

		fwrite(four, 1, 4, f);
	}
}

void ws_html_put_packed(FILE *f, const void *bytes, size_t len)
{
	uLongf packed_len = compressBound((uLong)len);
	unsigned char *packed = ws_xmalloc(packed_len);

	/* with this much room it can only lack memory */
	if (compress2(packed, &packed_len, bytes, (uLong)len, LEVEL) != Z_OK)
		ws_out_of_memory(packed_len);
	ws_html_put_base64(f, packed, packed_len);
	free(packed);
}
