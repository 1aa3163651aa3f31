/* What a grid of options records, in which order. */
#include <criterion/criterion.h>
#include <string.h>

#include "recorder/launch/launch.h"

/* a word of a command line */
#define W(text) ((char *)(text))

static struct ws_grid grid;
static char *const train[] = {W("train.sh"), NULL}, *const tune[] = {W("tune.sh"), NULL};
static const struct ws_grid_program programs[] = {{"train.sh", train}, {"b", tune}};

static void plan(const char *model, char **rest, int nrest, int64_t repeat, uint64_t seed)
{
	struct ws_err err;

	cr_assert_eq(ws_grid_plan(&grid, model, rest, nrest, programs, 1, repeat, seed, &err),
	             WS_OK, "%s", err.text);
}

Test(grid, every_combination_is_a_point)
{
	char *rest[] = {W("--batch"), W("4,8"), W("--steps=3"), W("--dtype=fp32,amp-bf16"),
	                W("--verbose")};

	plan("mlp,vgg11", rest, 5, 1, 1);
	cr_assert_eq(grid.npoints, 8);
	cr_expect_str_eq(grid.points[0].name, "mlp-batch4-fp32");
	cr_expect_str_eq(grid.points[1].name, "mlp-batch4-amp-bf16");
	cr_expect_str_eq(grid.points[2].name, "mlp-batch8-fp32");
	cr_expect_str_eq(grid.points[7].name, "vgg11-batch8-amp-bf16");
	static const char *const expected[] = {"--model", "vgg11",    "--batch",
	                                       "8",       "--steps",  "3",
	                                       "--dtype", "amp-bf16", "--verbose"};
	for (size_t i = 0; i < 9; i++)
		cr_expect_str_eq(grid.points[7].options[i], expected[i]);
	cr_expect_null(grid.points[7].options[9]);
	cr_expect_str_eq(grid.points[7].facts[2], "batch");
	cr_expect_str_eq(grid.points[7].facts[3], "8");
	cr_expect_null(grid.points[7].facts[6]);
	ws_grid_free(&grid);
}

Test(grid, all_points_once_before_any_again_in_an_order_of_the_seed)
{
	char *rest[] = {W("--batch"), W("1,2,3,4,5,6,7,8")};
	int differs = 0;
	size_t first[8];

	plan("mlp", rest, 2, 5, 7);
	cr_assert_eq(grid.nruns, 40);
	for (size_t round = 0; round < 5; round++) {
		unsigned seen = 0;

		for (size_t i = 0; i < 8; i++) {
			const struct ws_grid_run *run = &grid.runs[8 * round + i];

			cr_expect_eq(run->repetition, (int64_t)round + 1);
			seen |= 1u << run->point;
			if (!round)
				first[i] = run->point;
			else
				differs += run->point != first[i];
		}
		cr_expect_eq(seen, 0xffu);
	}
	cr_expect(differs > 0, "a new order each time");
	ws_grid_free(&grid);
	plan("mlp", rest, 2, 5, 7);
	for (size_t i = 0; i < 8; i++)
		cr_expect_eq(grid.runs[i].point, first[i], "the same seed, the same order");
	ws_grid_free(&grid);
}

Test(grid, a_program_is_one_point)
{
	plan(NULL, NULL, 0, 3, 1);
	cr_assert_eq(grid.npoints, 1);
	cr_expect_str_eq(grid.points[0].name, "train.sh");
	cr_expect_eq(grid.nruns, 3);
	ws_grid_free(&grid);
}

Test(grid, a_comma_makes_a_list)
{
	char *one[] = {W("--batch"), W("1")}, *list[] = {W("--batch"), W("1,2")};

	cr_expect_not(ws_grid_has_lists("mlp", one, 2));
	cr_expect(ws_grid_has_lists("mlp", list, 2));
	cr_expect(ws_grid_has_lists("mlp,vgg11", NULL, 0));
	cr_expect_not(ws_grid_has_lists(NULL, NULL, 0));
}

Test(grid, more_than_anybody_wants_is_refused)
{
	char list[401], *rest[] = {W("--batch"), list, W("--context"), list};
	struct ws_err err;

	for (size_t i = 0; i < 400; i++)
		list[i] = i % 2 ? ',' : '1';
	list[399] = '\0';
	cr_expect_eq(ws_grid_plan(&grid, "mlp", rest, 4, programs, 1, 1, 1, &err), WS_USAGE);
	ws_grid_free(&grid);
}

Test(grid, two_programs_warm_up_and_then_are_pairs_in_an_order_of_the_seed)
{
	unsigned a_first = 0;
	struct ws_err err;

	cr_assert_eq(ws_grid_plan(&grid, NULL, NULL, 0, programs, 2, 100, 3, &err), WS_OK, "%s",
	             err.text);
	cr_assert_eq(grid.npoints, 2);
	cr_expect_eq(grid.points[1].program, programs[1].argv);
	cr_assert_eq(grid.nruns, 202);
	for (size_t i = 0; i < grid.nruns; i += 2) {
		cr_expect_eq(grid.runs[i].repetition, (int64_t)i / 2);
		cr_expect_eq(grid.runs[i + 1].repetition, (int64_t)i / 2);
		cr_expect_neq(grid.runs[i].point, grid.runs[i + 1].point);
		a_first += grid.runs[i].point == 0;
	}
	/* of 101 throws of a coin */
	cr_expect(a_first > 30 && a_first < 71, "%u", a_first);
	ws_grid_free(&grid);
}
