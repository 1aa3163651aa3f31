#include <errno.h>
#include <signal.h>
#include <string.h>

#include "formats/base/system/system.h"

int ws_stream_flush(FILE *f)
{
	const int failed = ferror(f);
	int why = fflush(f) ? errno : 0;

	/* ferror remembers a failed write, not why it failed: another one says */
	if (failed && !why)
		why = putc('\n', f) == EOF || fflush(f) ? errno : EIO;
#ifdef _WIN32
	/* nobody reads the pipe any more: elsewhere a signal has ended the program by now */
	if (why == EINVAL && GetFileType((HANDLE)_get_osfhandle(fileno(f))) == FILE_TYPE_PIPE)
		raise(SIGTERM);
#endif
	return why;
}
