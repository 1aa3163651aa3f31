/* Relations in C as tables of SQL, our aggregates, and rows of a query as rows of a table. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "report/query/query.h"

struct basket {
	struct fruit {
		const char *kind;
		double price;
		struct ws_values grams; /* of each piece */
	} fruit[4];
	size_t n;
};

#define FRUIT(X)                             \
	X(kind, ws_put_str(out, f->kind))    \
	X(price, ws_put_real(out, f->price)) \
	X(grams, ws_put_samples(out, &f->grams))

static size_t count_fruit(void *basket)
{
	return ((const struct basket *)basket)->n;
}

static void put_fruit(void *basket, size_t row, int column, struct ws_put *out)
{
	const struct fruit *f = &((const struct basket *)basket)->fruit[row];

	WS_PUT_COLUMN(column, FRUIT);
}

static const struct ws_relation fruit = {"fruit", FRUIT(WS_COLUMN_NAME), count_fruit, put_fruit};

static const struct ws_table_column columns[] = {
        {"kind", "Kind", "", WS_CELL_TEXT, WS_DISPLAY_PLAIN, "d", WS_RANK_NAME},
        {"pieces", "Pieces", "", WS_CELL_INT, WS_DISPLAY_COUNT, "d", WS_RANK_ANSWER},
        {"grams", "Grams", "g", WS_CELL_REAL, WS_DISPLAY_REAL, "d", WS_RANK_ANSWER},
};
enum { KIND, PIECES, GRAMS };
static const struct ws_table_def def = {"fruit", "Fruit", "Fruit", "A row is a kind.", columns, 3};

static struct basket basket;
static struct ws_query *q;
static struct ws_table *t;
static struct ws_err err;

static void fill_basket(void)
{
	static const struct {
		const char *kind;
		double price;
		int64_t grams[3];
	} of[] = {{"pear", 2, {150, 170, 160}},
	          {"apple", 1, {100, 100, 130}},
	          {"apple", 1.5, {90, 5000000000, 80}},
	          {"melon", 4, {1000}}};

	basket.n = 4;
	for (size_t i = 0; i < 4; i++) {
		basket.fruit[i] = (struct fruit){of[i].kind, of[i].price, {0}};
		for (size_t g = 0; g < 3 && of[i].grams[g]; g++)
			ws_values_add(&basket.fruit[i].grams, of[i].grams[g]);
	}
	t = ws_table_new(&def);
	cr_assert(eq(int, ws_query_open(&q, &err), WS_OK), "%s", err.text);
	ws_query_add(q, &fruit, &basket);
}

static void empty_basket(void)
{
	ws_query_close(q);
	ws_table_free(t);
	for (size_t i = 0; i < 4; i++)
		ws_values_free(&basket.fruit[i].grams);
}

TestSuite(query, .init = fill_basket, .fini = empty_basket);

Test(query, the_columns_that_queries_read)
{
	cr_assert(eq(u64, ws_query_columns_read(q, &fruit), 0));
	cr_assert(eq(int, ws_query_check(q, "SELECT count(*) FROM fruit", &err), WS_OK));
	cr_assert(eq(u64, ws_query_columns_read(q, &fruit), (uint64_t)1 << WS_RELATION_COLUMNS));
	cr_assert(eq(int, ws_query_check(q, "SELECT 1 FROM fruit GROUP BY price", &err), WS_OK));
	cr_assert(eq(u64, ws_query_columns_read(q, &fruit),
	             (uint64_t)1 << WS_RELATION_COLUMNS | 1 << 1));
}

/* --- a kind of table with its query ---------------------------------------------------------- */

static const char *const expressions[][2] = {
        {"kind"},
        {"count_of(grams)", "sum(pieces)"},
        {"median_of(grams)"},
};
static const struct ws_table_query of = {&def, "FROM fruit GROUP BY kind ORDER BY kind",
                                         expressions};

Test(query, columns_and_totals_of_a_kind_of_table)
{
	cr_assert(eq(int, ws_query_table(q, t, &of, NULL, &err), WS_OK), "%s", err.text);
	cr_assert(eq(sz, t->nrows, 3));
	cr_assert(ws_cell_is(&t->cells[3 + KIND], "melon"));
	cr_assert(eq(i64, t->cells[3 + PIECES].i, 1));
	cr_assert(eq(i64, t->totals[PIECES].i, 10));
	cr_assert(eq(int, t->totals[GRAMS].type, WS_CELL_EMPTY));
}

Test(query, a_column_that_is_not_wanted_is_not_read)
{
	const uint8_t wanted[] = {1, 0, 0};

	cr_assert(eq(int, ws_query_check_table(q, &of, wanted, &err), WS_OK));
	cr_assert(
	        eq(u64, ws_query_columns_read(q, &fruit), (uint64_t)1 << WS_RELATION_COLUMNS | 1));
	cr_assert(eq(int, ws_query_table(q, t, &of, wanted, &err), WS_OK));
	cr_assert(eq(sz, t->nrows, 3));
	cr_assert(eq(int, t->cells[PIECES].type, WS_CELL_EMPTY));
	cr_assert(eq(ptr, t->totals, NULL));
}
