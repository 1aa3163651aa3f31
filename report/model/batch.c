#include "report/model/load.h"

struct scan {
	const char *p, *end;
};

static bool take(struct scan *s, const char *text)
{
	if (!ws_name_begins(s->p, s->end, text))
		return false;
	s->p += strlen(text);
	return true;
}

/* Numbers that are absurd are the largest. */
static uint64_t take_number(struct scan *s)
{
	uint64_t n = 0;

	for (; s->p < s->end && ws_name_is_digit(*s->p); s->p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s->p - '0'), &n))
			n = UINT64_MAX;
	return n;
}

/* Where the sum of this name goes, without its c_ or g_; NULL: it is none. */
static uint64_t *sum_of(struct ws_batch_part *part, struct ws_bytes key)
{
	if (ws_name_is(key, "sq"))
		return &part->queries;
	if (ws_name_is(key, "sk"))
		return &part->keys;
	if (ws_name_is(key, "sqsq"))
		return &part->squares;
	return ws_name_is(key, "sqsk") ? &part->pairs : NULL;
}

/* --- vLLM: "7(sq7sk900sqsq7sqsk900)", "7(7)", "1(888_788544)"
 * ------------------------------------- */

static bool take_vllm_part(struct scan *s, struct ws_batch_part *part, bool *has_sums)
{
	part->requests = take_number(s);
	if (!take(s, "("))
		return false;
	for (int i = 0; s->p < s->end && *s->p != ')'; i++) {
		const char *key = s->p;

		while (s->p < s->end && !ws_name_is_digit(*s->p) && *s->p != ')')
			s->p++;
		struct ws_bytes letters = {key, (size_t)(s->p - key)};
		uint64_t number = take_number(s);
		uint64_t *sum = sum_of(part, letters);
		*has_sums |= sum == &part->pairs;
		if (sum)
			*sum = number;
		else if (i == 0)
			part->queries = number;
		else if (i == 1)
			part->squares = number;
	}
	return take(s, ")");
}

static bool read_vllm(struct scan s, struct ws_batch *b)
{
	if (!take(&s, "execute_"))
		return false;
	if (take(&s, "new_")) {
		b->context.requests = take_number(&s);
		if (!take(&s, "_cached_"))
			return false;
		b->generation.requests = b->generation.queries = take_number(&s);
		return true;
	}
	/* of all tokens */
	if (s.p < s.end && ws_name_is_digit(*s.p)) {
		take_number(&s);
		take(&s, "_");
	}
	return take(&s, "context_") && take_vllm_part(&s, &b->context, &b->has_sums) &&
	       take(&s, "_generation_") && take_vllm_part(&s, &b->generation, &b->has_sums);
}

/* --- SGLang: "step[MIXED bs=2 c=1 g=1 c_sq=5 …]"; ATOM: "prefill[bs=2 tok=900 ctx=[…] sqsk=…]"
 * ------ */

static void take_pairs(struct scan s, struct ws_batch *b, struct ws_batch_part *own)
{
	while (s.p < s.end) {
		const char *key = s.p;
		struct ws_batch_part *part = own;

		while (s.p < s.end && *s.p != '=' && *s.p != ' ')
			s.p++;
		struct ws_bytes name = {key, (size_t)(s.p - key)};
		if (!take(&s, "=")) {
			s.p++;
			continue;
		}
		uint64_t number = take_number(&s);
		while (s.p < s.end && *s.p != ' ')
			s.p++; /* "117/128" is padded to 128; other text */
		s.p += s.p < s.end;
		if (name.len > 2 && (ws_bytes_begin(name, "c_") || ws_bytes_begin(name, "g_"))) {
			part = *(const char *)name.ptr == 'c' ? &b->context : &b->generation;
			name = (struct ws_bytes){(const char *)name.ptr + 2, name.len - 2};
		}
		uint64_t *sum = sum_of(part, name);
		b->has_sums |= sum == &part->pairs;
		if (sum)
			*sum = number;
		else if (ws_name_is(name, "bs"))
			own->requests = number;
		else if (ws_name_is(name, "toks") || ws_name_is(name, "tok"))
			own->queries = number;
		else if (ws_name_is(name, "c"))
			b->context.requests = number;
		else if (ws_name_is(name, "g"))
			b->generation.requests = number;
	}
}

static bool read_sglang(struct scan s, struct ws_batch *b)
{
	struct ws_batch_part *own = &b->context;
	const char *mode;

	if (!take(&s, "step["))
		return false;
	for (mode = s.p; s.p < s.end && *s.p != ' ';)
		s.p++;
	if (s.p == s.end)
		return false;
	struct ws_bytes word = {mode, (size_t)(s.p - mode)};
	if (ws_name_has(word, "DECODE") || ws_name_has(word, "VERIFY"))
		own = &b->generation;
	s.p++;
	if (s.p < s.end && s.end[-1] == ']')
		s.end--;
	take_pairs(s, b, own);
	b->is_mixed = ws_name_is(word, "MIXED") && !b->has_sums;
	/* a request generates one token, unless there is a sum */
	if (own == &b->generation && !own->queries)
		own->queries = own->requests;
	return true;
}

static bool read_atom(struct scan s, struct ws_batch *b)
{
	struct ws_batch_part *own;

	if (take(&s, "prefill["))
		own = &b->context;
	else if (take(&s, "decode["))
		own = &b->generation;
	else
		return false;
	if (s.p < s.end && s.end[-1] == ']')
		s.end--;
	take_pairs(s, b, own);
	return own->requests > 0;
}

bool ws_batch_of_name(struct ws_bytes name, struct ws_batch *batch)
{
	const char *p = name.ptr;
	const struct scan s = {p, p + name.len};

	for (int i = 0; i < 3; i++) {
		*batch = (struct ws_batch){.has_sums = false};
		if (i == 0   ? read_vllm(s, batch)
		    : i == 1 ? read_sglang(s, batch)
		             : read_atom(s, batch))
			return true;
	}
	return false;
}

const char *ws_batch_kind(const struct ws_batch *batch)
{
	if (batch->is_mixed || (batch->context.requests && batch->generation.requests))
		return "mixed";
	return batch->context.requests ? "prefill" : batch->generation.requests ? "decode" : "";
}

uint64_t ws_batch_part_causal_pairs(const struct ws_batch_part *part)
{
	const uint64_t above =
	        part->squares > part->queries ? (part->squares - part->queries) / 2 : 0;

	return part->pairs > above ? part->pairs - above : 0;
}
