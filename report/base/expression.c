#include "report/base/names.h"

#ifdef WS_HAVE_TRE
#include <tre/regex.h>
#else
#include <regex.h>
#endif

/* More memory than compiling needs. */
#define COMPILE_BYTES ((size_t)4 << 20)
/* More memory than matching a name needs. */
#define MATCH_BYTES ((size_t)1 << 20)

struct ws_expression {
	regex_t regex;
};

/* In words of ours, as each library has its own. */
static const char *reason(int error)
{
	static const char *const reasons[] = {
	        [REG_ECOLLATE] = "no such character between [. and .]",
	        [REG_ECTYPE] = "no such class between [: and :]",
	        [REG_EESCAPE] = "it ends in a backslash",
	        [REG_ESUBREG] = "a backslash and a number stand for no group before them",
	        [REG_EBRACK] = "a bracket [ is not closed",
	        [REG_EPAREN] = "a parenthesis is not closed, or not opened",
	        [REG_EBRACE] = "a brace { is not closed",
	        [REG_BADBR] = "between { and } are no numbers that can be",
	        [REG_ERANGE] = "a range ends before it begins",
	        [REG_BADRPT] = "nothing stands before *, +, ? or {",
	};
	const size_t n = sizeof(reasons) / sizeof(*reasons);

	return (size_t)error < n && reasons[error] ? reasons[error] : "it cannot be read";
}

enum ws_status ws_expression_new(struct ws_expression **out, const char *pattern,
                                 struct ws_err *err)
{
	/* without memory regcomp of the C library frees what it has freed (glibc 2.36) */
	ws_xroom(COMPILE_BYTES);
	*out = ws_xmalloc(sizeof(**out));
	int error = regcomp(&(*out)->regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (!error)
		return WS_OK;
	free(*out);
	*out = NULL;
	if (error == REG_ESPACE)
		ws_out_of_memory(sizeof(**out));
	return WS_FAIL(err, USAGE, "'%.100s' is not a regular expression: %s", pattern,
	               reason(error));
}

void ws_expression_reserve(void)
{
	ws_xroom(MATCH_BYTES);
}

bool ws_expression_matches(const struct ws_expression *expression, const char *text)
{
	const int error = regexec(&expression->regex, text, 0, NULL, 0);

	if (error == REG_ESPACE)
		ws_out_of_memory(sizeof(*expression));
	return error == 0;
}

void ws_expression_free(struct ws_expression *expression)
{
	if (!expression)
		return;
	regfree(&expression->regex);
	free(expression);
}
