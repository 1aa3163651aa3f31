#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/analysis/filter.h"
#include "report/base/names.h"

static int glob(const char *pattern, const char *text)
{
	return ws_name_matches((struct ws_bytes){pattern, strlen(pattern)},
	                       (struct ws_bytes){text, strlen(text)});
}

static int filter(const char *pattern, const char *path, const char *domain)
{
	return ws_filter_matches((struct ws_bytes){pattern, strlen(pattern)},
	                         (struct ws_bytes){path, strlen(path)},
	                         (struct ws_bytes){domain, strlen(domain)});
}

Test(filter, star_and_question_mark_match_as_in_shells)
{
	cr_expect(glob("", ""));
	cr_expect(not(glob("", "a")));
	cr_expect(glob("*", ""));
	cr_expect(glob("*", "anything/at all"));
	cr_expect(glob("a*c", "abbbc"));
	cr_expect(not(glob("a*c", "abbb")));
	cr_expect(glob("a?c", "abc"));
	cr_expect(not(glob("a?c", "ac")));
	cr_expect(glob("*a*b*", "xxaxxbxx"));
	cr_expect(glob("**x", "aax"));
	cr_expect(not(glob("a.c", "abc")));
	cr_expect(not(glob("[ab]", "a")));
}

Test(filter, many_stars_do_not_take_forever)
{
	char text[2001];

	memset(text, 'a', 2000);
	text[2000] = '\0';
	cr_expect(not(glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text)));
}

Test(filter, a_bare_name_finds_the_range_wherever_it_stands)
{
	cr_expect(filter("step", "step", ""));
	cr_expect(filter("computing softmax", "step/forward/layer 0/attention/computing softmax",
	                 ""));
	cr_expect(filter("forward/layer 3", "step/forward/layer 3", ""));
	cr_expect(not(filter("softmax", "step/computing softmax", "")));
	cr_expect(not(filter("step", "step/forward", "")));
}

Test(filter, a_leading_slash_means_the_outermost_range)
{
	cr_expect(filter("/step", "step", ""));
	cr_expect(not(filter("/step", "warm-up/step", "")));
	cr_expect(filter("/step/*", "step/forward", ""));
}

Test(filter, a_slash_inside_a_name_separates_nothing)
{
	cr_expect(not(filter("b", "a\\/b", "")));
	cr_expect(filter("a\\/b", "step/a\\/b", ""));
}

Test(filter, domain_and_path_must_both_match)
{
	cr_expect(filter("cublas:gemm", "step/gemm", "cublas"));
	cr_expect(not(filter("cublas:gemm", "step/gemm", "warpsheet")));
	cr_expect(filter("*:gemm", "step/gemm", "warpsheet"));
	cr_expect(filter(":gemm", "gemm", ""));
	cr_expect(not(filter(":gemm", "gemm", "cublas")));
}

Test(filter, names_with_colons_match_as_they_are)
{
	cr_expect(filter("aten::mm", "step/aten::mm", ""));
	cr_expect(filter(":mixer: MoE", ":mixer: MoE", ""));
}
