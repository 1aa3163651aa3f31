#include "report/base/names.h"

#include <string.h>

bool ws_name_matches(struct ws_bytes pattern, struct ws_bytes text)
{
	const char *p = pattern.ptr, *pend = p + pattern.len;
	const char *t = text.ptr, *tend = t + text.len;
	const char *star = NULL, *star_t = NULL;

	/* on a mismatch let the last star take one byte more: no recursion, no bad case but n × m
	 */
	while (t < tend) {
		if (p < pend && *p == '*') {
			star = p++;
			star_t = t;
		} else if (p < pend && (*p == '?' || *p == *t)) {
			p++;
			t++;
		} else if (star) {
			p = star + 1;
			t = ++star_t;
		} else {
			return false;
		}
	}
	while (p < pend && *p == '*')
		p++;
	return p == pend;
}

int ws_name_compare(struct ws_bytes a, struct ws_bytes b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

bool ws_name_is_one_of(struct ws_bytes text, const char *const *patterns, size_t n)
{
	while (n && !ws_name_matches(ws_bytes_of(patterns[n - 1]), text))
		n--;
	return n > 0;
}

bool ws_name_is_batch(struct ws_bytes name)
{
	static const char *const patterns[] = {"step[* bs=*", "execute_*context_*generation_*",
	                                       "execute_new_*_cached_*", "prefill[bs=*",
	                                       "decode[bs=*"};

	return WS_NAME_IS_ONE_OF(name, patterns);
}

bool ws_name_is(struct ws_bytes name, const char *text)
{
	return name.len == strlen(text) && !memcmp(name.ptr, text, name.len);
}

struct ws_bytes ws_name_of_file(struct ws_bytes path)
{
	static const char *const endings[] = {".gz",     ".json",     ".trace", ".pt",
	                                      ".wtrace", ".nsys-rep", ".sqlite"};
	const char *p = path.ptr, *slash = memrchr(p, '/', path.len);
	struct ws_bytes name = path;

	if (slash && slash + 1 < p + path.len)
		name = (struct ws_bytes){slash + 1, path.len - (size_t)(slash + 1 - p)};
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		const size_t n = strlen(endings[i]);

		if (name.len > n && !memcmp((const char *)name.ptr + name.len - n, endings[i], n))
			name.len -= n;
	}
	return name;
}
