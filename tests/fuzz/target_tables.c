/* Any bytes as a trace of which every table is made, of sums and of rows. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "report/tables/report.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/joined.h"
#include "tests/support/one_table.h"

/*
 * --- the class rules -----------------------------------------------------------------------------
 * Compiling them and asking them for the same names took two thirds of each run: what the C library
 * said once is kept for all runs.
 */

#define MAX_RULES 512     /* a power of two, far more than there are */
#define ANSWERS   1048576 /* a power of two */

int __real_regcomp(regex_t *regex, const char *pattern, int flags);
int __real_regexec(const regex_t *regex, const char *text, size_t n, regmatch_t found[], int flags);
int __wrap_regcomp(regex_t *regex, const char *pattern, int flags);
int __wrap_regexec(const regex_t *regex, const char *text, size_t n, regmatch_t found[], int flags);
void __wrap_regfree(regex_t *regex);

/* Never 0. Not strcmp: libFuzzer listens to that. */
static uint64_t hash(const char *text, uint64_t seed)
{
	const size_t len = strlen(text);
	uint64_t h = seed ^ len, word;

	for (size_t at = 0; at < len; at += sizeof(word)) {
		word = 0;
		memcpy(&word, text + at, len - at < sizeof(word) ? len - at : sizeof(word));
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h | 1;
}

int __wrap_regcomp(regex_t *regex, const char *pattern, int flags)
{
	static struct {
		uint64_t key;
		regex_t regex;
	} known[MAX_RULES];
	const uint64_t key = hash(pattern, 0);
	size_t at = (key >> 32) % MAX_RULES;

	while (known[at].key && known[at].key != key)
		at = (at + 1) % MAX_RULES;
	if (!known[at].key) {
		int error = __real_regcomp(&known[at].regex, pattern, flags);

		if (error)
			return error;
		known[at].key = key;
	}
	*regex = known[at].regex;
	return 0;
}

int __wrap_regexec(const regex_t *regex, const char *text, size_t n, regmatch_t found[], int flags)
{
	static struct {
		uint64_t key;
		int result;
	} answers[ANSWERS];
	/* copies of one rule share what it was compiled to */
	const uint64_t key = hash(text, (uintptr_t)regex->buffer);
	size_t at = (key >> 32) % ANSWERS;

	if (answers[at].key != key) {
		answers[at].result = __real_regexec(regex, text, n, found, flags);
		answers[at].key = key;
	}
	return answers[at].result;
}

void __wrap_regfree(regex_t *regex)
{
	(void)regex;
}

/* --- the tables ---------------------------------------------------------------------------------
 */

static void stream(const struct ws_trace_reader *r)
{
	const struct ws_table_def *const *defs;
	const char *declined = NULL;
	struct ws_filter filter = WS_FILTER_ALL;
	struct ws_report *report = NULL;
	struct ws_err err;
	size_t n;

	defs = ws_table_defs(&n);
	for (int scope = WS_SCOPE_ALL; scope <= WS_SCOPE_WARM_UP; scope++) {
		filter.scope = (enum ws_scope)scope;
		ws_report_stream(r, "fuzz", NULL, &filter, defs, n, NULL, &report, &declined, &err);
		ws_report_free(report);
		report = NULL;
	}
}

static void join(const struct ws_trace_reader *r)
{
	struct ws_report *report = NULL;
	struct joined *j = NULL;
	struct ws_err err;

	if (joined_open_reader(&j, r, "fuzz", NULL, &err) == WS_OK)
		all_tables(j->m, &j->rows, NULL, &report, &err);
	ws_report_free(report);
	joined_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ws_trace_reader *r;
	struct ws_err err;

	if (ws_trace_reader_open_mem(&r, data, size, &err) != WS_OK)
		return 0;
	/* a trace of either length is one mutation away */
	if (size / 8 % 4)
		join(r);
	else
		stream(r);
	ws_trace_reader_free(r);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return fuzz_mutate_trace(data, size, max_size, seed, LLVMFuzzerMutate);
}
