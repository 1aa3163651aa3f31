#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>

#include "formats/base/system/system.h"

Test(stream, why_a_write_failed_is_told_when_errno_is_long_gone)
{
	FILE *f = fopen("/dev/full", "w");

	setvbuf(f, NULL, _IONBF, 0);
	fputs("lost", f);
	errno = 0;
	cr_assert(eq(int, ws_stream_flush(f), ENOSPC));
	fclose(f);
}

Test(stream, what_was_written_has_no_error)
{
	FILE *f = fopen("/dev/null", "w");

	fputs("written", f);
	cr_assert(eq(int, ws_stream_flush(f), 0));
	fclose(f);
}
