#include "recorder/launch/grid.h"

#include <string.h>

#define MOST_POINTS 10000

/* An option with its values, and where it stands. */
struct axis {
	const char *option; /* "--batch" */
	char **value;
	size_t n;
};

struct planner {
	struct ws_grid *grid;
	struct axis *axes;
	size_t naxes;
};

bool ws_grid_has_lists(const char *model, char *const *rest, int nrest)
{
	if (!model)
		return false;
	if (strchr(model, ','))
		return true;
	for (int i = 0; i < nrest; i++)
		if (strchr(rest[i], ','))
			return true;
	return false;
}

static void add_axis(struct planner *p, const char *option, const char *values)
{
	struct ws_arena *arena = &p->grid->arena;
	char *copy = ws_arena_copy(arena, values ? values : "", values ? strlen(values) : 0);
	struct axis *axis = &p->axes[p->naxes];
	size_t most = 2; /* one more: the value of the point that is made */

	for (const char *c = values; c && *c; c++)
		most += *c == ',';
	*axis = (struct axis){.option = option,
	                      .value = ws_arena_array(arena, most, sizeof(char *))};
	p->naxes++;
	if (!values)
		return;
	for (char *value = strsep(&copy, ","); value; value = strsep(&copy, ","))
		axis->value[axis->n++] = value;
}

/* "--option value", "--option=value", and flags: an axis without values. */
static void find_axes(struct planner *p, const char *model, char *const *rest, int nrest)
{
	struct ws_arena *arena = &p->grid->arena;

	p->axes = ws_arena_array(arena, (size_t)nrest + 1, sizeof(*p->axes));
	add_axis(p, "--model", model);
	for (int i = 0; i < nrest; i++) {
		const char *equals = !strncmp(rest[i], "--", 2) ? strchr(rest[i], '=') : NULL;

		if (equals)
			add_axis(p, ws_arena_copy(arena, rest[i], (size_t)(equals - rest[i])),
			         equals + 1);
		else if (i + 1 < nrest && rest[i + 1][0] != '-')
			add_axis(p, rest[i], rest[i + 1]), i++;
		else
			add_axis(p, rest[i], NULL);
	}
}

/* What says itself stands without its option's name. */
static const char *name_part(struct ws_arena *arena, const struct axis *axis, const char *value)
{
	static const char *const alone[] = {"--model",     "--dtype",  "--phase",
	                                    "--optimizer", "--layout", "--activation"};

	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++)
		if (!strcmp(axis->option, alone[i]))
			return value;
	return ws_arena_format(arena, "%s%s", axis->option + strspn(axis->option, "-"), value);
}

static void make_point(struct planner *p, size_t number, struct ws_grid_point *point)
{
	struct ws_arena *arena = &p->grid->arena;
	const char **options = ws_arena_array(arena, 2 * p->naxes + 1, sizeof(*options));
	const char **facts = ws_arena_array(arena, 2 * p->naxes + 1, sizeof(*facts));
	const char *name = "";
	size_t n = 0, nfacts = 0;

	/* the last list changes fastest */
	for (size_t a = p->naxes; a-- > 0;)
		if (p->axes[a].n) {
			p->axes[a].value[p->axes[a].n] = p->axes[a].value[number % p->axes[a].n];
			number /= p->axes[a].n;
		}
	for (size_t a = 0; a < p->naxes; a++) {
		const struct axis *axis = &p->axes[a];

		options[n++] = axis->option;
		if (!axis->n)
			continue;
		options[n++] = axis->value[axis->n];
		if (axis->n == 1 && a)
			continue;
		name = ws_arena_format(arena, "%s%s%s", name, *name ? "-" : "",
		                       name_part(arena, axis, axis->value[axis->n]));
		facts[nfacts++] = axis->option + strspn(axis->option, "-");
		facts[nfacts++] = axis->value[axis->n];
	}
	*point = (struct ws_grid_point){name, options, facts};
}

static enum ws_status make_points(struct planner *p, const char *program, struct ws_err *err)
{
	struct ws_grid *grid = p->grid;

	grid->npoints = 1;
	for (size_t a = 0; a < p->naxes; a++) {
		grid->npoints *= p->axes[a].n ? p->axes[a].n : 1;
		WS_FAIL_IF(grid->npoints > MOST_POINTS, err, USAGE,
		           "the lists make more than %d recordings", MOST_POINTS);
	}
	grid->points = ws_arena_array(&grid->arena, grid->npoints, sizeof(*grid->points));
	for (size_t i = 0; i < grid->npoints; i++) {
		if (p->naxes)
			make_point(p, i, &grid->points[i]);
		else
			grid->points[i].name = program;
	}
	return WS_OK;
}

static enum ws_status make_runs(struct ws_grid *grid, int64_t repeat, uint64_t seed,
                                struct ws_err *err)
{
	uint64_t state = seed;

	WS_FAIL_IF(repeat > MOST_POINTS || (size_t)repeat * grid->npoints > MOST_POINTS, err, USAGE,
	           "the lists and --repeat make more than %d recordings", MOST_POINTS);
	grid->runs =
	        ws_arena_array(&grid->arena, (size_t)repeat * grid->npoints, sizeof(*grid->runs));
	for (int64_t round = 1; round <= repeat; round++) {
		struct ws_grid_run *runs = grid->runs + grid->nruns;

		for (size_t i = 0; i < grid->npoints; i++)
			runs[i] = (struct ws_grid_run){i, round};
		for (size_t i = grid->npoints; i-- > 1;) {
			struct ws_grid_run kept = runs[i];
			size_t other;

			state = state * UINT64_C(6364136223846793005) +
			        UINT64_C(1442695040888963407);
			other = (size_t)((state >> 33) % (i + 1));
			runs[i] = runs[other];
			runs[other] = kept;
		}
		grid->nruns += grid->npoints;
	}
	return WS_OK;
}

enum ws_status ws_grid_plan(struct ws_grid *grid, const char *model, char *const *rest, int nrest,
                            const char *program, int64_t repeat, uint64_t seed, struct ws_err *err)
{
	struct planner p = {.grid = grid};

	*grid = (struct ws_grid){0};
	if (model)
		find_axes(&p, model, rest, nrest);
	WS_FORWARD(make_points(&p, program, err));
	return make_runs(grid, repeat, seed, err);
}

void ws_grid_free(struct ws_grid *grid)
{
	ws_arena_free(&grid->arena);
	*grid = (struct ws_grid){0};
}
