#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "report/names/names.h"
#include "report/table/table.h"

static bool equal(const struct ws_bytes *a, const struct ws_bytes *b)
{
	return a->len == b->len && !memcmp(a->ptr, b->ptr, a->len);
}

static bool is(const struct ws_bytes *shown, const char *text)
{
	struct ws_bytes expected = ws_bytes_of(text);

	return equal(shown, &expected);
}

Test(elide, a_name_keeps_its_end_and_whole_characters)
{
	struct ws_arena arena = {0};
	struct ws_bytes name = ws_bytes_of("reduce_kernel<MeanOps<float>> [512, 1]"), path = name,
	                fits = name, wide = ws_bytes_of("äöüäöüäöü"), tiny = name;

	ws_names_elide(&arena, &name, 1, 20, WS_ELIDE_HEAD(20));
	cr_expect(is(&name, "reduc…oat>> [512, 1]"), "%.*s", (int)name.len, (const char *)name.ptr);
	ws_names_elide(&arena, &path, 1, 20, 0);
	cr_expect(is(&path, "…ps<float>> [512, 1]"), "%.*s", (int)path.len, (const char *)path.ptr);
	ws_names_elide(&arena, &fits, 1, 38, WS_ELIDE_HEAD(38));
	cr_expect(is(&fits, "reduce_kernel<MeanOps<float>> [512, 1]"));
	ws_names_elide(&arena, &wide, 1, 7, WS_ELIDE_HEAD(7));
	cr_expect(is(&wide, "ä…öüäöü"), "%.*s", (int)wide.len, (const char *)wide.ptr);
	ws_names_elide(&arena, &tiny, 1, 1, 0);
	cr_expect(le(sz, ws_display_width((const char *)tiny.ptr, tiny.len), 2));
	ws_arena_free(&arena);
}

/* cuBLAS's names on an H100, as short names: beginning and end are those of all. */
Test(elide, names_that_would_look_alike_show_where_they_differ)
{
	struct ws_arena arena = {0};
	struct ws_bytes names[] = {
	        ws_bytes_of("sm80_xmma_gemm_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
	                    "alignc4"),
	        ws_bytes_of(
	                "sm80_xmma_gemm_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4"),
	        ws_bytes_of("elementwise_kernel<MulFunctor<float>>"),
	        ws_bytes_of("sm80_xmma_gemm_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
	                    "alignc4"),
	};

	ws_names_elide(&arena, names, 4, 34, WS_ELIDE_HEAD(34));
	cr_expect(is(&names[0], "sm80_xmm…size128x128x8_stag…lignc4"), "%.*s", (int)names[0].len,
	          (const char *)names[0].ptr);
	cr_expect(is(&names[1], "sm80_xmm…size32x32x8_stage3…lignc4"), "%.*s", (int)names[1].len,
	          (const char *)names[1].ptr);
	cr_expect(is(&names[2], "elementw…kernel<MulFunctor<float>>"), "%.*s", (int)names[2].len,
	          (const char *)names[2].ptr);
	cr_expect(equal(&names[0], &names[3]), "one name is cut in one way");
	ws_arena_free(&arena);
}

#define MANY 400

/* Names of few letters, which agree at both ends and differ in many places. */
static void make_names(char text[MANY][64], struct ws_bytes names[MANY])
{
	uint32_t state = 15;

	for (size_t i = 0; i < MANY; i++) {
		memset(text[i], 'a', 63);
		text[i][63] = '\0';
		for (int k = 16; k < 48; k++) {
			state = state * 1664525u + 1013904223u;
			text[i][k] = state >> 30 ? 'a' : '_';
		}
		names[i] = ws_bytes_of(text[i]);
	}
}

Test(elide, different_names_stay_different_in_any_order_and_fit)
{
	static char text[MANY][64];
	static struct ws_bytes names[MANY], shown[MANY], reversed[MANY];
	size_t widths[] = {10, 14, 24, 34, 60};

	make_names(text, names);
	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
		for (size_t head = 0; head <= widths[w] / 4; head += widths[w] / 4) {
			struct ws_arena arena = {0};

			for (size_t i = 0; i < MANY; i++)
				shown[i] = reversed[MANY - 1 - i] = names[i];
			ws_names_elide(&arena, shown, MANY, widths[w], head);
			ws_names_elide(&arena, reversed, MANY, widths[w], head);
			for (size_t i = 0; i < MANY; i++) {
				cr_assert(le(sz,
				             ws_display_width((const char *)shown[i].ptr,
				                              shown[i].len),
				             widths[w]));
				cr_assert(equal(&shown[i], &reversed[MANY - 1 - i]));
				for (size_t k = 0; k < i; k++)
					cr_assert(equal(&shown[i], &shown[k]) ==
					                  equal(&names[i], &names[k]),
					          "%.*s at %zu", (int)shown[i].len,
					          (const char *)shown[i].ptr, widths[w]);
			}
			ws_arena_free(&arena);
		}
	}
}
