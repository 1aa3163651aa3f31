#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "report/table/brief.h"
#include "report/table/display.h"

static struct ws_brief of(const char *text)
{
	return (struct ws_brief){text, strlen(text)};
}

static bool equal(const struct ws_brief *a, const struct ws_brief *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

static bool is(const struct ws_brief *brief, const char *text)
{
	struct ws_brief expected = of(text);

	return equal(brief, &expected);
}

Test(brief, a_name_keeps_its_end_and_whole_characters)
{
	struct ws_arena arena = {0};
	struct ws_brief name = of("reduce_kernel<MeanOps<float>> [512, 1]"), path = name,
	                fits = name, wide = of("äöüäöüäöü"), tiny = name;

	ws_brief_names(&arena, &name, 1, 20, WS_BRIEF_HEAD(20));
	cr_expect(is(&name, "reduc…oat>> [512, 1]"), "%.*s", (int)name.len, name.text);
	ws_brief_names(&arena, &path, 1, 20, 0);
	cr_expect(is(&path, "…ps<float>> [512, 1]"), "%.*s", (int)path.len, path.text);
	ws_brief_names(&arena, &fits, 1, 38, WS_BRIEF_HEAD(38));
	cr_expect(is(&fits, "reduce_kernel<MeanOps<float>> [512, 1]"));
	ws_brief_names(&arena, &wide, 1, 7, WS_BRIEF_HEAD(7));
	cr_expect(is(&wide, "ä…öüäöü"), "%.*s", (int)wide.len, wide.text);
	ws_brief_names(&arena, &tiny, 1, 1, 0);
	cr_expect(le(sz, ws_display_width(tiny.text, tiny.len), 2));
	ws_arena_free(&arena);
}

/* cuBLAS's names on an H100, as short names: beginning and end are those of all. */
Test(brief, names_that_would_look_alike_show_where_they_differ)
{
	struct ws_arena arena = {0};
	struct ws_brief names[] = {
	        of("sm80_xmma_gemm_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4"),
	        of("sm80_xmma_gemm_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4"),
	        of("elementwise_kernel<MulFunctor<float>>"),
	        of("sm80_xmma_gemm_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4"),
	};

	ws_brief_names(&arena, names, 4, 34, WS_BRIEF_HEAD(34));
	cr_expect(is(&names[0], "sm80_xmm…size128x128x8_stag…lignc4"), "%.*s", (int)names[0].len,
	          names[0].text);
	cr_expect(is(&names[1], "sm80_xmm…size32x32x8_stage3…lignc4"), "%.*s", (int)names[1].len,
	          names[1].text);
	cr_expect(is(&names[2], "elementw…kernel<MulFunctor<float>>"), "%.*s", (int)names[2].len,
	          names[2].text);
	cr_expect(equal(&names[0], &names[3]), "one name is cut in one way");
	ws_arena_free(&arena);
}

#define MANY 400

/* Names of few letters, which agree at both ends and differ in many places. */
static void make_names(char text[MANY][64], struct ws_brief names[MANY])
{
	uint32_t state = 15;

	for (size_t i = 0; i < MANY; i++) {
		memset(text[i], 'a', 63);
		text[i][63] = '\0';
		for (int k = 16; k < 48; k++) {
			state = state * 1664525u + 1013904223u;
			text[i][k] = state >> 30 ? 'a' : '_';
		}
		names[i] = of(text[i]);
	}
}

Test(brief, different_names_stay_different_in_any_order_and_fit)
{
	static char text[MANY][64];
	static struct ws_brief names[MANY], shown[MANY], reversed[MANY];
	size_t widths[] = {10, 14, 24, 34, 60};

	make_names(text, names);
	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
		for (size_t head = 0; head <= widths[w] / 4; head += widths[w] / 4) {
			struct ws_arena arena = {0};

			for (size_t i = 0; i < MANY; i++)
				shown[i] = reversed[MANY - 1 - i] = names[i];
			ws_brief_names(&arena, shown, MANY, widths[w], head);
			ws_brief_names(&arena, reversed, MANY, widths[w], head);
			cr_assert(not(arena.failed));
			for (size_t i = 0; i < MANY; i++) {
				cr_assert(le(sz, ws_display_width(shown[i].text, shown[i].len),
				             widths[w]));
				cr_assert(equal(&shown[i], &reversed[MANY - 1 - i]));
				for (size_t k = 0; k < i; k++)
					cr_assert(equal(&shown[i], &shown[k]) ==
					                  equal(&names[i], &names[k]),
					          "%.*s at %zu", (int)shown[i].len, shown[i].text,
					          widths[w]);
			}
			ws_arena_free(&arena);
		}
	}
}
