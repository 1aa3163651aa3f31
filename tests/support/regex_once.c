/*
 * Compiling the class rules and asking them for the same names took two thirds of what tests of
 * tables and their fuzzer did: what the C library said once is kept, for all threads. Linked with
 * --wrap.
 */
#include <pthread.h>
#include <regex.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAX_RULES 512     /* a power of two, far more than there are; what is beyond is not kept */
#define ANSWERS   1048576 /* a power of two */

int __real_regcomp(regex_t *regex, const char *pattern, int flags);
int __real_regexec(const regex_t *regex, const char *text, size_t n, regmatch_t found[], int flags);
void __real_regfree(regex_t *regex);
int __wrap_regcomp(regex_t *regex, const char *pattern, int flags);
int __wrap_regexec(const regex_t *regex, const char *text, size_t n, regmatch_t found[], int flags);
void __wrap_regfree(regex_t *regex);

/* By what the pattern and flags are. */
static struct kept {
	uint64_t key;
	regex_t regex;
} kept[MAX_RULES];
static size_t nkept;
static struct kept *of_buffer[MAX_RULES]; /* the same by what they were compiled to */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

static size_t place_of(const void *buffer)
{
	size_t at = ((uintptr_t)buffer * UINT64_C(0x9e3779b97f4a7c15) >> 32) % MAX_RULES;

	while (of_buffer[at] && of_buffer[at]->regex.buffer != buffer)
		at = (at + 1) % MAX_RULES;
	return at;
}

static void keep(struct kept *k, uint64_t key)
{
	k->key = key;
	of_buffer[place_of(k->regex.buffer)] = k;
	nkept++;
}

static int compile(regex_t *regex, const char *pattern, int flags)
{
	const uint64_t key = hash(pattern, (uint64_t)flags << 32);
	size_t at = (key >> 32) % MAX_RULES;

	while (kept[at].key && kept[at].key != key)
		at = (at + 1) % MAX_RULES;
	if (!kept[at].key) {
		int error = nkept < MAX_RULES / 2 ? __real_regcomp(&kept[at].regex, pattern, flags)
		                                  : -1;

		if (error)
			return __real_regcomp(regex, pattern, flags);
		keep(&kept[at], key);
	}
	*regex = kept[at].regex;
	return 0;
}

int __wrap_regcomp(regex_t *regex, const char *pattern, int flags)
{
	int error;

	pthread_mutex_lock(&lock);
	error = compile(regex, pattern, flags);
	pthread_mutex_unlock(&lock);
	return error;
}

/* Copies of one share what it was compiled to. */
static int is_kept(const regex_t *regex)
{
	int is;

	pthread_mutex_lock(&lock);
	is = of_buffer[place_of(regex->buffer)] != NULL;
	pthread_mutex_unlock(&lock);
	return is;
}

int __wrap_regexec(const regex_t *regex, const char *text, size_t n, regmatch_t found[], int flags)
{
	static struct {
		uint64_t key;
		int result;
	} answers[ANSWERS];
	const uint64_t key = hash(text, (uintptr_t)regex->buffer);
	const size_t at = (key >> 32) % ANSWERS;
	int result;

	if (n || !is_kept(regex))
		return __real_regexec(regex, text, n, found, flags);
	pthread_mutex_lock(&lock);
	if (answers[at].key != key) {
		answers[at].result = __real_regexec(regex, text, n, found, flags);
		answers[at].key = key;
	}
	result = answers[at].result;
	pthread_mutex_unlock(&lock);
	return result;
}

void __wrap_regfree(regex_t *regex)
{
	if (!is_kept(regex))
		__real_regfree(regex);
}
