#include "formats/base/xalloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/outfile.h"

static const char *hint;

void ws_out_of_memory_hint(const char *text)
{
	hint = text;
}

/* write() and _exit(): streams and exit handlers may need memory themselves. */
_Noreturn void ws_out_of_memory(size_t bytes)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%s: out of memory: %zu bytes cannot be had%s%s\n",
	                 program_invocation_short_name, bytes, hint ? "; " : "", hint ? hint : "");

	ws_outfile_remove_unfinished();
	if (n > 0)
		(void)!write(STDERR_FILENO, line,
		             (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	_exit(ws_status_exit_code(WS_NO_MEMORY));
}
