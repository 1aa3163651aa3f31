/*
 * Compiling the class rules and asking them for the same names took two thirds of what tests of
 * tables and their fuzzer did: each is compiled once and asked once, for all threads. Linked with
 * --wrap.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "report/base/names.h"

#define MAX_RULES 512     /* far more than there are; what is beyond is not kept */
#define ANSWERS   1048576 /* a power of two */

enum ws_status __real_ws_expression_new(struct ws_expression **out, const char *pattern,
                                        struct ws_err *err);
bool __real_ws_expression_matches(const struct ws_expression *expression, const char *text);
void __real_ws_expression_free(struct ws_expression *expression);
enum ws_status __wrap_ws_expression_new(struct ws_expression **out, const char *pattern,
                                        struct ws_err *err);
bool __wrap_ws_expression_matches(const struct ws_expression *expression, const char *text);
void __wrap_ws_expression_free(struct ws_expression *expression);

/* By the pattern, and by its expression: in both a place is looked for from the hash on. */
static struct kept {
	uint64_t key;
	struct ws_expression *expression;
} by_pattern[2 * MAX_RULES], by_expression[2 * MAX_RULES];
static size_t nkept;

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

/* Its place, or the free one where it belongs. */
static struct kept *find(struct kept *kept, uint64_t key)
{
	size_t at = (key >> 32) % (2 * MAX_RULES);

	while (kept[at].key && kept[at].key != key)
		at = (at + 1) % (2 * MAX_RULES);
	return &kept[at];
}

static uint64_t key_of(const struct ws_expression *expression)
{
	return ((uintptr_t)expression * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

enum ws_status __wrap_ws_expression_new(struct ws_expression **out, const char *pattern,
                                        struct ws_err *err)
{
	const uint64_t key = hash(pattern, 0);
	enum ws_status status = WS_OK;
	struct kept *k;

	pthread_mutex_lock(&lock);
	k = find(by_pattern, key);
	*out = k->expression;
	if (!k->key)
		status = __real_ws_expression_new(out, pattern, err);
	if (!k->key && status == WS_OK && nkept < MAX_RULES) {
		nkept++;
		*k = (struct kept){key, *out};
		*find(by_expression, key_of(*out)) = (struct kept){key_of(*out), *out};
	}
	pthread_mutex_unlock(&lock);
	return status;
}

static bool is_kept(const struct ws_expression *expression)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = find(by_expression, key_of(expression))->key;
	pthread_mutex_unlock(&lock);
	return is;
}

bool __wrap_ws_expression_matches(const struct ws_expression *expression, const char *text)
{
	static struct {
		uint64_t key;
		bool result;
	} answers[ANSWERS];
	const uint64_t key = hash(text, key_of(expression));
	const size_t at = (key >> 32) % ANSWERS;
	bool result;

	if (!is_kept(expression))
		return __real_ws_expression_matches(expression, text);
	pthread_mutex_lock(&lock);
	if (answers[at].key != key) {
		answers[at].result = __real_ws_expression_matches(expression, text);
		answers[at].key = key;
	}
	result = answers[at].result;
	pthread_mutex_unlock(&lock);
	return result;
}

void __wrap_ws_expression_free(struct ws_expression *expression)
{
	if (!expression || !is_kept(expression))
		__real_ws_expression_free(expression);
}
