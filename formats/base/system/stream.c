#include <errno.h>
#include <string.h>

#include "formats/base/system/system.h"

int ws_stream_flush(FILE *f)
{
	const int failed = ferror(f);
	int why = fflush(f) ? errno : 0;

	/* ferror remembers a failed write, not why it failed: another one says */
	if (failed && !why)
		why = putc('\n', f) == EOF || fflush(f) ? errno : EIO;
	return why;
}
