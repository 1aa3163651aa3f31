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

/* The only value of a query. */
static struct ws_cell value_of(const char *sql)
{
	static char text[200];
	struct ws_query_rows rows;
	struct ws_cell cell = {0};

	cr_assert(eq(int, ws_query_start(q, sql, &rows, &err), WS_OK), "%s", err.text);
	if (ws_query_next(&rows))
		cell = rows.cells[0];
	if (cell.type == WS_CELL_TEXT) { /* which lives as long as the row */
		snprintf(text, sizeof(text), "%.*s", WS_CELL_SHOWN(&cell));
		ws_cell_share_str(&cell, text);
	}
	cr_assert(eq(int, ws_query_end(&rows, &err), WS_OK), "%s: %s", sql, err.text);
	return cell;
}

static void check_number(const char *sql, double expected)
{
	const double is = ws_cell_number(&(struct ws_cell[]){value_of(sql)}[0]);

	cr_assert(ieee_ulp_eq(dbl, is, expected, 0), "%s: %.17g, not %.17g", sql, is, expected);
}

Test(query, the_example_of_the_header)
{
	ws_query_set_real(q, "budget", 2.50);
	cr_assert(eq(int,
	             ws_query_into(q, t,
	                           "SELECT kind, count_of(grams) AS pieces, median_of(grams) AS "
	                           "grams FROM fruit WHERE price < :budget GROUP BY kind ORDER BY "
	                           "kind",
	                           &err),
	             WS_OK));
	cr_assert(eq(sz, t->nrows, 2));
	cr_assert(ws_cell_is(&t->cells[KIND], "apple"));
	cr_assert(eq(i64, t->cells[PIECES].i, 6));
	cr_assert(eq(dbl, t->cells[GRAMS].r, 100));
	cr_assert(ws_cell_is(&t->cells[3 + KIND], "pear"));
	cr_assert(eq(dbl, t->cells[3 + GRAMS].r, 160));
	cr_assert(eq(ptr, t->totals, NULL));
}

Test(query, statistics_of_lists_are_those_of_all_their_samples)
{
	check_number("SELECT count_of(grams) FROM fruit", 10);
	check_number("SELECT sum_of(grams) FROM fruit WHERE kind = 'apple'", 5000000500);
	check_number("SELECT min_of(grams) FROM fruit WHERE kind = 'apple'", 80);
	check_number("SELECT max_of(grams) FROM fruit WHERE kind = 'apple'", 5000000000);
	check_number("SELECT mean_of(grams) FROM fruit WHERE kind = 'pear'", 160);
	check_number("SELECT deviation_of(grams) FROM fruit WHERE kind = 'pear'", 10);
	/* of no list, and of a number that is none */
	check_number("SELECT count_of(grams) FROM fruit WHERE 0", 0);
	cr_assert(eq(int, value_of("SELECT median_of(grams) FROM fruit WHERE 0").type,
	             WS_CELL_EMPTY));
}

Test(query, a_number_that_is_no_list_of_samples_is_an_error)
{
	static const char *const wrong[] = {"SELECT median_of(3)", "SELECT median_of('x')",
	                                    "SELECT median_of(grams + 7) FROM fruit"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ws_query_rows rows;

		cr_assert(eq(int, ws_query_start(q, wrong[i], &rows, &err), WS_OK));
		cr_assert(not(ws_query_next(&rows)), "%s", wrong[i]);
		cr_assert(eq(int, ws_query_end(&rows, &err), WS_BUG));
		cr_assert(ne(ptr, strstr(err.text, "no list of samples"), NULL), "%s", err.text);
	}
}

Test(query, statistics_of_numbers)
{
	check_number("SELECT median(price) FROM fruit", 1.75);
	check_number("SELECT median(x) FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 9)",
	             2);
	check_number(
	        "SELECT deviation(x) FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 3)",
	        1);
	check_number("SELECT deviation(x) FROM (SELECT 1.5 AS x UNION ALL SELECT NULL UNION ALL "
	             "SELECT 2.5)",
	             0.70710678118654757);
}

/* Doubles add up in one order, whatever order rows come in: 1e16 + 1 + 1 is not 1 + 1 + 1e16. */
Test(query, sums_of_doubles_do_not_depend_on_the_order_of_rows)
{
#define TERMS(a, b, c)                                                                          \
	"FROM (SELECT " #a " AS p, 1e16 AS x UNION ALL SELECT " #b ", 1.0 UNION ALL SELECT " #c \
	", 1.0)"
	check_number("SELECT sum_in_order(p, x) " TERMS(0, 1, 2), 1e16);
	check_number("SELECT sum_in_order(p, x) " TERMS(2, 1, 0), 1e16 + 2);
	check_number("SELECT sum_in_order(p, x) FROM (SELECT * " TERMS(2, 1, 0) " ORDER BY p DESC)",
	             1e16 + 2);
	/* 0.1 with weight 3 is the same in one row as in three */
	check_number(
	        "SELECT weighted_mean(x, w) FROM (SELECT 0.1 AS x, 3 AS w UNION ALL SELECT 0.7, 1)",
	        (3 * 0.1 + 0.7) / 4);
	check_number(
	        "SELECT weighted_mean(x, w) FROM (SELECT 0.7 AS x, 1 AS w UNION ALL SELECT 0.1, 1 "
	        "UNION ALL SELECT 0.1, 1 UNION ALL SELECT 0.1, 1 UNION ALL SELECT NULL, 5)",
	        (3 * 0.1 + 0.7) / 4);
}

Test(query, texts_in_order_of_their_first_place)
{
	struct ws_cell list = value_of("SELECT in_order(rowid, kind) FROM fruit");

	cr_assert(ws_cell_is(&list, "pear, apple, melon"));
	list = value_of("SELECT in_order(-rowid, kind) FROM fruit WHERE kind > 'b' OR price = 1");
	cr_assert(ws_cell_is(&list, "melon, apple, pear"));
	list = value_of("SELECT in_order(rowid, kind, ' | ') FROM fruit");
	cr_assert(ws_cell_is(&list, "pear | apple | melon"));
	list = value_of("SELECT in_order(rowid, NULL) FROM fruit");
	cr_assert(eq(int, list.type, WS_CELL_EMPTY));
}

Test(query, shares_and_means_of_counts)
{
	check_number("SELECT percent(1, 4)", 25);
	cr_assert(eq(int, value_of("SELECT percent(1, 0)").type, WS_CELL_EMPTY));
	cr_assert(eq(int, value_of("SELECT per(6, 3)").type, WS_CELL_INT));
	check_number("SELECT per(7, 2)", 3.5);
	cr_assert(eq(int, value_of("SELECT per(7, 0)").type, WS_CELL_EMPTY));
	cr_assert(eq(int, value_of("SELECT :not_set").type, WS_CELL_EMPTY));
}

Test(query, a_row_is_found_by_its_rowid)
{
	check_number("SELECT price FROM fruit WHERE rowid = 3", 4);
	cr_assert(eq(int, value_of("SELECT price FROM fruit WHERE rowid = 4").type, WS_CELL_EMPTY));
	cr_assert(
	        eq(int, value_of("SELECT price FROM fruit WHERE rowid = -1").type, WS_CELL_EMPTY));
	cr_assert(
	        eq(int, value_of("SELECT price FROM fruit WHERE rowid = 'x'").type, WS_CELL_EMPTY));
	check_number("SELECT sum(b.rowid) FROM fruit AS a JOIN fruit AS b ON b.rowid = a.rowid + 1",
	             6);
}

Test(query, what_cannot_be_run_is_an_error_with_what_sqlite_says)
{
	static const struct {
		const char *sql, *says;
	} wrong[] = {
	        {"SELECT colour FROM fruit", "no such column: colour"},
	        {"SELECT \"kin\" FROM fruit", "no such column: kin"}, /* no text in double quotes */
	        {"SELECT kind FROM fruit; SELECT 1", "several statements"},
	        {"", "none"},
	        {"-- nothing", "none"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_assert(eq(int, ws_query_check(q, wrong[i].sql, &err), WS_BUG), "%s",
		          wrong[i].sql);
		cr_assert(ne(ptr, strstr(err.text, wrong[i].says), NULL), "%s: %s", wrong[i].sql,
		          err.text);
	}
	ws_query_only_reads(q);
	cr_assert(eq(int, ws_query_into(q, t, "SELECT colour FROM fruit", &err), WS_USAGE));
	cr_assert(eq(int, ws_query_check(q, "SELECT kind FROM fruit; ", &err), WS_OK));
}

Test(query, the_columns_that_queries_read)
{
	cr_assert(eq(u64, ws_query_columns_read(q, &fruit), 0));
	cr_assert(eq(int, ws_query_check(q, "SELECT count(*) FROM fruit", &err), WS_OK));
	cr_assert(eq(u64, ws_query_columns_read(q, &fruit), (uint64_t)1 << WS_RELATION_COLUMNS));
	cr_assert(eq(int, ws_query_check(q, "SELECT 1 FROM fruit GROUP BY price", &err), WS_OK));
	cr_assert(eq(u64, ws_query_columns_read(q, &fruit),
	             (uint64_t)1 << WS_RELATION_COLUMNS | 1 << 1));
}

Test(query, a_row_of_totals)
{
	static const char sql[] =
	        "SELECT kind, 0 AS is_total, count(*) AS pieces FROM fruit GROUP BY kind "
	        "UNION ALL SELECT NULL, 1, count(*) FROM fruit";

	cr_assert(eq(int, ws_query_into(q, t, sql, &err), WS_OK), "%s", err.text);
	cr_assert(eq(sz, t->nrows, 3));
	cr_assert(eq(i64, t->totals[PIECES].i, 4));
	cr_assert(eq(int, t->totals[KIND].type, WS_CELL_EMPTY));
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

Test(query, totals_of_which_nothing_is_known_are_none)
{
	basket.n = 0;
	cr_assert(eq(int, ws_query_table(q, t, &of, NULL, &err), WS_OK));
	cr_assert(eq(sz, t->nrows, 0));
	cr_assert(eq(ptr, t->totals, NULL));
}
