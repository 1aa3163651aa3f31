/*
 * A Parquet file as text: parquet_rows FILE [COLUMN...]. A line a row, with tabs between the cells;
 * NULL is an empty cell. Without columns a line each about the file and its columns: `KEY=VALUE`,
 * `NAME TYPE UNIT`.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/parquet_reading.h"

static void print_cell(const struct pq_column *c, const struct pq_cell *cell)
{
	double real;

	if (cell->is_null)
		return;
	memcpy(&real, &cell->v, sizeof(real));
	if (cell->text)
		printf("%s", cell->text);
	else if (c->physical == 5)
		printf("%.17g", real);
	else
		printf("%lld", (long long)cell->v);
}

static void print_columns(const struct pq_file *f)
{
	for (size_t k = 0; k < f->nmeta; k++)
		printf("%s=%s\n", f->keys[k], f->values[k]);
	for (size_t i = 0; i < f->ncolumns; i++) {
		const struct pq_column *c = &f->columns[i];

		printf("%s %s%s\n", c->name,
		       c->is_text         ? "text"
		       : c->is_unsigned   ? "unsigned"
		       : c->physical == 5 ? "real"
		                          : "integer",
		       c->optional ? ", null" : "");
	}
}

int main(int argc, char **argv)
{
	struct pq_file *f;

	if (argc < 2)
		return 2;
	f = pq_read_file(argv[1]);
	if (argc == 2)
		print_columns(f);
	for (size_t row = 0; argc > 2 && row < f->rows; row++)
		for (int i = 2; i < argc; i++) {
			print_cell(pq_column(f, argv[i]), pq_cell(f, row, argv[i]));
			putchar(i + 1 < argc ? '\t' : '\n');
		}
	pq_free(f);
	return 0;
}
