#include "report/base/names.h"

#include "formats/base/memory.h"

/* More memory than compiling needs. */
#define COMPILE_BYTES ((size_t)4 << 20)
/* More memory than matching a name needs. */
#define MATCH_BYTES ((size_t)1 << 20)

int ws_expression_compile(regex_t *out, const char *pattern)
{
	int error;

	/* without memory the C library's regcomp frees twice (glibc 2.36) */
	ws_xroom(COMPILE_BYTES);
	error = regcomp(out, pattern, REG_EXTENDED | REG_NOSUB);
	if (error == REG_ESPACE)
		ws_out_of_memory(sizeof(*out));
	return error;
}

void ws_expression_reserve(void)
{
	ws_xroom(MATCH_BYTES);
}

bool ws_expression_matches(const regex_t *expression, const char *text)
{
	const int error = regexec(expression, text, 0, NULL, 0);

	if (error == REG_ESPACE)
		ws_out_of_memory(sizeof(*expression));
	return error == 0;
}
