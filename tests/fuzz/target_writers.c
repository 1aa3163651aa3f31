/*
 * Any bytes as the cells and notes of a table, in every format; in a workbook, which takes as long
 * as twenty of the others, where the input has one of some sizes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/tables/tables.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/mutate.h"

#define MAX_ROWS       12
#define WORKBOOK_EVERY 64 /* sizes */
#define ZIP_END_BYTES  22 /* of a zip file's last record, when it has no comment */

static ssize_t forget(void *cookie, const char *bytes, size_t size)
{
	(void)cookie;
	(void)bytes;
	return (ssize_t)size;
}

static double take_real(struct fuzz_input *in)
{
	uint64_t bits = fuzz_take_number(in);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return bits < 4096 ? (double)bits / 16 : value;
}

static void fill_cell(struct ws_table *t, struct ws_cell *cell, enum ws_cell_type type,
                      struct fuzz_input *in)
{
	const uint8_t *text;
	size_t len;

	if (fuzz_take(in) % 8 == 7)
		return;
	switch (type) {
	case WS_CELL_INT:
		ws_cell_set_int(cell, (int64_t)fuzz_take_number(in));
		break;
	case WS_CELL_REAL:
		ws_cell_set_real(cell, take_real(in));
		break;
	default:
		text = fuzz_take_bytes(in, fuzz_take(in) % 96, &len);
		ws_cell_set_text(t, cell, (const char *)text, len);
	}
}

static struct ws_table *make_table(struct fuzz_input *in)
{
	size_t ndefs, len;
	const struct ws_table_def *const *defs = ws_table_defs(&ndefs);
	const struct ws_table_def *def = defs[fuzz_take(in) % ndefs];
	struct ws_table *t = ws_table_new(def);
	unsigned rows = fuzz_take(in) % MAX_ROWS;
	const uint8_t *note;

	if (!t)
		abort();
	for (unsigned i = 0; i < rows; i++) {
		struct ws_cell *row = ws_table_row(t);

		for (size_t c = 0; c < def->ncolumns; c++)
			fill_cell(t, &row[c], def->columns[c].type, in);
	}
	for (size_t c = 0; rows % 2 && c < def->ncolumns; c++)
		fill_cell(t, &ws_table_totals(t)[c], def->columns[c].type, in);
	note = fuzz_take_bytes(in, fuzz_take(in) % 128, &len);
	ws_table_note(t, "%.*s", (int)len, (const char *)note);
	return t;
}

/* From the first local header to the end of the directory, which says that it is all there is. */
static int is_zip(const char *path)
{
	unsigned char begin[4] = {0}, end[ZIP_END_BYTES] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	int is_read = size > ZIP_END_BYTES && pread(fd, begin, sizeof(begin), 0) > 0 &&
	              pread(fd, end, sizeof(end), size - ZIP_END_BYTES) == ZIP_END_BYTES;

	if (fd >= 0)
		close(fd);
	return is_read && !memcmp(begin, "PK\3\4", 4) && !memcmp(end, "PK\5\6", 4);
}

static void write_workbook(const struct ws_report *report)
{
	static char path[64];
	struct ws_err err;

	/* the sheets become files first: not on a disk */
	if (!*path && setenv("TMPDIR", "/dev/shm", 1))
		abort();
	if (!*path)
		snprintf(path, sizeof(path), "/dev/shm/fuzz_writers.%ld.xlsx", (long)getpid());
	if (ws_out_xlsx(path, report, &err) != WS_OK || !is_zip(path))
		abort();
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *f;
	struct fuzz_input in = {data, data + size};
	struct ws_text_opts text = {.width = (int)(fuzz_take(&in) % 4 * 40), .colour = size % 2};
	struct ws_table *tables[2] = {make_table(&in), make_table(&in)};
	struct ws_report report = {.title = "Warpsheet report",
	                           .trace = "fuzz",
	                           .filter = "",
	                           .tables = tables,
	                           .ntables = 2};
	struct ws_err err;

	if (!f)
		f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = forget});
	if (!f)
		abort();
	text.max_rows = size % 3 ? 0 : 4;
	ws_out_text(f, &report, &text);
	ws_out_markdown(f, &report);
	ws_out_csv(f, tables[0]);
	if (ws_out_json_table(f, &report, tables[0], &err) != WS_OK ||
	    ws_out_json(f, &report, &err) != WS_OK || ws_out_html(f, &report, &err) != WS_OK)
		abort();
	/* a table stands in a report once */
	report.ntables = tables[0]->def == tables[1]->def ? 1 : 2;
	if (size % WORKBOOK_EVERY == WORKBOOK_EVERY - 1)
		write_workbook(&report);
	ws_table_free(tables[0]);
	ws_table_free(tables[1]);
	return 0;
}
