#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "formats/codec/templates.h"

struct names {
	struct ws_buf bytes;
	uint64_t lengths[70000];
	uint32_t n;
};

static struct names *new_names(void)
{
	return calloc(1, sizeof(struct names));
}

static void add(struct names *l, const void *text, size_t len)
{
	cr_assert(eq(int, ws_buf_put(&l->bytes, text, len, NULL), WS_OK));
	l->lengths[l->n++] = len;
}

__attribute__((format(printf, 2, 3))) static void addf(struct names *l, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	add(l, text, (size_t)vsnprintf(text, sizeof(text), fmt, ap));
	va_end(ap);
}

/* As bytes in both orders, and back. The smaller of the two. */
static size_t round_trip(const struct names *l)
{
	static struct ws_bytes b[70000];
	uint8_t *back = malloc(l->bytes.len + 1);
	struct ws_residual_parts parts;
	struct ws_templates t;
	size_t least = SIZE_MAX;
	struct ws_err err;
	bool worth;

	cr_assert(eq(int, ws_templates_find(&t, l->lengths, l->n, l->bytes.data, &worth, &err),
	             WS_OK));
	cr_assert(worth);
	for (unsigned order = 0; order < WS_TEMPLATE_ORDERS; order++) {
		struct ws_buf out = {0};
		const uint8_t *at = l->bytes.data;

		cr_assert(eq(int, ws_templates_put(&t, order, &out, &parts, &err), WS_OK));
		cr_assert(eq(int,
		             ws_templates_get(out.data, out.len, l->n, back, l->bytes.len, b, &err),
		             WS_OK),
		          "%s", err.text);
		for (uint32_t i = 0; i < l->n; i++) {
			cr_assert(eq(sz, b[i].len, l->lengths[i]));
			cr_assert(eq(int, memcmp(b[i].ptr, at, b[i].len), 0));
			at += b[i].len;
		}
		least = out.len < least ? out.len : least;
		ws_buf_free(&out);
	}
	ws_templates_free(&t);
	free(back);
	return least;
}

static void done(struct names *l)
{
	ws_buf_free(&l->bytes);
	free(l);
}

Test(templates, names_that_count_take_two_bytes_each)
{
	struct names *l = new_names();

	for (unsigned i = 0; i < 65536; i++)
		addf(l, "step %u", i);
	cr_assert(le(sz, round_trip(l), 65536u * 2 + 20));
	done(l);
}

Test(templates, the_order_that_fits_is_there)
{
	struct names *several = new_names(), *shared = new_names();

	/* each template counts for itself: two bytes a name are those of the template and a step */
	for (unsigned i = 0; i < 5000; i++)
		addf(several, i % 3 ? "batch %u" : "layer.%u.attn", i % 3 ? 1000 + i : 90000 - i);
	cr_assert(le(sz, round_trip(several), 5000u * 2 + 60));
	/* one number for all: of thousands of ids, steps of one */
	for (unsigned i = 0; i < 5000; i++)
		addf(shared, "op%c, op_id = %u", 'a' + i * i % 23, 314290 + i);
	cr_assert(le(sz, round_trip(shared), 5000u * 2 + 600));
	done(several);
	done(shared);
}

Test(templates, every_name_comes_back_as_it_was)
{
	static const char odd[] = "\0007\xff\x80 12\0";
	struct names *l = new_names();

	for (unsigned i = 0; i < 300; i++) {
		add(l, "", 0);
		addf(l, "%u", i);
		addf(l, "%03u", i);
		addf(l, "0%u 00 0 %u%u", i, i, i);
		addf(l, "x%uy%uz", i, i * 7919);
		addf(l, "99999999999999999%u", i % 10);
		addf(l, "999999999999999999%u", i % 10);
		addf(l, "18446744073709551615-%u", i);
		addf(l, "%u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u 0x%xp%u", i, 1, 2,
		     3, 4, i, 6, 7, 8, 9, 10, 11, 12, 13, i, 15, 16, 17, i, i, i);
		add(l, odd, sizeof(odd));
	}
	round_trip(l);
	done(l);
}

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

Test(templates, random_names_come_back)
{
	static const char of[] = "0123456789 01aA.:\xc3";
	uint32_t state = 7;

	for (int round = 0; round < 200; round++) {
		struct names *l = new_names();
		const unsigned rows = 16 + next(&state) % 200;

		/* so that it is worth it */
		for (unsigned i = 0; i < 4 * rows; i++)
			addf(l, "n%u", next(&state));
		for (unsigned i = 0; i < rows; i++) {
			char text[40];
			size_t len = next(&state) % (round % 40 + 1);

			for (size_t k = 0; k < len; k++)
				text[k] = of[next(&state) % (sizeof(of) - 1)];
			add(l, text, len);
		}
		round_trip(l);
		done(l);
	}
}

Test(templates, names_without_numbers_or_without_likeness_are_not_worth_it)
{
	struct names *words = new_names(), *apart = new_names(), *few = new_names();
	struct ws_templates t;
	bool worth;

	for (int i = 0; i < 100; i++) {
		add(words, "step", 4);
		addf(apart, "%c%c%c 1", 'a' + i % 26, 'a' + i % 25, 'a' + i % 24);
	}
	for (int i = 0; i < 15; i++)
		addf(few, "step %d", i);
	for (int k = 0; k < 3; k++) {
		const struct names *l = k == 0 ? words : k == 1 ? apart : few;

		cr_assert(eq(int,
		             ws_templates_find(&t, l->lengths, l->n, l->bytes.data, &worth, NULL),
		             WS_OK));
		cr_assert(not(worth));
		ws_templates_free(&t);
	}
	done(words);
	done(apart);
	done(few);
}

/* Each byte wrong in each of three ways, and each end too early: told, or other names; no more. */
Test(templates, damage_is_told_or_stays_within_bounds)
{
	struct names *l = new_names();
	struct ws_residual_parts parts;
	static struct ws_bytes b[64];
	struct ws_buf out = {0};
	struct ws_templates t;
	struct ws_err err;
	uint8_t *back;
	bool worth;

	for (unsigned i = 0; i < 20; i++)
		addf(l, i % 2 ? "step %u of %u" : "item %u", i, 3 * i);
	back = malloc(l->bytes.len);
	cr_assert(eq(int, ws_templates_find(&t, l->lengths, l->n, l->bytes.data, &worth, NULL),
	             WS_OK));
	cr_assert(eq(int, ws_templates_put(&t, 0, &out, &parts, NULL), WS_OK));
	for (size_t size = 0; size < out.len; size++) {
		uint8_t *shorter = malloc(size + 1); /* so that a sanitizer sees its end */

		memcpy(shorter, out.data, size);
		cr_assert(eq(int,
		             ws_templates_get(shorter, size, l->n, back, l->bytes.len, b, &err),
		             WS_CORRUPT));
		free(shorter);
	}
	for (size_t at = 0; at < out.len; at++)
		for (unsigned change = 1; change < 256; change *= 4) {
			enum ws_status status;

			out.data[at] ^= (uint8_t)change;
			status = ws_templates_get(out.data, out.len, l->n, back, l->bytes.len, b,
			                          &err);
			cr_assert(status == WS_OK || status == WS_CORRUPT);
			out.data[at] ^= (uint8_t)change;
		}
	cr_assert(eq(int,
	             ws_templates_get(out.data, out.len, l->n, back, l->bytes.len - 1, b, &err),
	             WS_CORRUPT));
	cr_assert(eq(int,
	             ws_templates_get(out.data, out.len, l->n - 1, back, l->bytes.len, b, &err),
	             WS_CORRUPT));
	ws_templates_free(&t);
	ws_buf_free(&out);
	free(back);
	done(l);
}
