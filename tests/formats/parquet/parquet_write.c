/*
 * Writes Parquet files as the lines of stdin say, words with tabs between them:
 *
 *   file PATH GROUP_ROWS NAME:TYPE…   TYPE: i, u, f or t, behind it ? if it may be null
 *   meta KEY VALUE
 *   row CELL…       - for null, the bits of a number, the bytes of a text in hex, *N behind them: N
 * times end             prints the failure, or an empty line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/parquet/writer.h"

enum { MAX_COLUMNS = 8 };

static struct ws_parquet_column columns[MAX_COLUMNS];
static char *names[MAX_COLUMNS];

static void put_text(struct ws_parquet_writer *w, const char *hex)
{
	const size_t digits = strcspn(hex, "*"), len = digits / 2,
	             times = hex[digits] ? strtoull(hex + digits + 1, NULL, 10) : 1;
	char *bytes = ws_xmalloc(len * times + 1);

	for (size_t i = 0; i < len * times; i++) {
		const size_t at = i % len * 2;
		const char byte[3] = {hex[at], hex[at + 1]};

		bytes[i] = (char)strtoul(byte, NULL, 16);
	}
	ws_parquet_text(w, bytes, len * times);
	free(bytes);
}

static void put_cell(struct ws_parquet_writer *w, enum ws_parquet_type type, const char *cell)
{
	const uint64_t bits = type == WS_PARQUET_TEXT ? 0 : strtoull(cell, NULL, 10);
	double real;

	memcpy(&real, &bits, sizeof(real));
	if (!strcmp(cell, "-"))
		ws_parquet_null(w);
	else if (type == WS_PARQUET_TEXT)
		put_text(w, cell);
	else if (type == WS_PARQUET_F64)
		ws_parquet_f64(w, real);
	else if (type == WS_PARQUET_U64)
		ws_parquet_u64(w, bits);
	else
		ws_parquet_i64(w, (int64_t)bits);
}

int main(void)
{
	struct ws_parquet_writer *w = NULL;
	char *line = NULL;
	size_t allocated = 0;
	FILE *f = NULL;

	while (getline(&line, &allocated, stdin) > 0) {
		char *rest = line, *word;

		rest[strcspn(rest, "\n")] = 0;
		word = strsep(&rest, "\t");
		if (!strcmp(word, "file")) {
			struct ws_parquet_opts opts;
			size_t n = 0;

			f = fopen(strsep(&rest, "\t"), "wb");
			opts.group_rows = (uint32_t)strtoul(strsep(&rest, "\t"), NULL, 10);
			for (; rest && f; n++) {
				free(names[n]);
				names[n] = ws_xstrdup(strsep(&rest, "\t"));
				char *type = strchr(names[n], ':');

				*type++ = 0;
				columns[n] = (struct ws_parquet_column){
				        names[n],
				        (enum ws_parquet_type)(strchr("iuft", *type) - "iuft"),
				        type[1] == '?'};
			}
			w = ws_parquet_writer_new(f, columns, n, &opts);
		} else if (!strcmp(word, "meta")) {
			word = strsep(&rest, "\t");
			ws_parquet_meta(w, word, rest);
		} else if (!strcmp(word, "row")) {
			for (size_t n = 0; rest; n++)
				put_cell(w, columns[n].type, strsep(&rest, "\t"));
			ws_parquet_end_row(w);
		} else {
			struct ws_err err = {0};

			ws_parquet_finish(w, &err);
			ws_parquet_writer_free(w);
			fclose(f);
			puts(err.text);
		}
	}
	for (size_t n = 0; n < MAX_COLUMNS; n++)
		free(names[n]);
	free(line);
	return 0;
}
