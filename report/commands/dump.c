/* Every record as it is: the living form of docs/dev/trace-format.md. */
#include <inttypes.h>
#include <stdbool.h>

#include "formats/base/utf8.h"
#include "report/commands/command.h"
#include "report/commands/traces.h"
#include "report/records/records.h"
#include "report/table/display.h"

#define HEX_BYTES_MAX 256 /* of a value that is no text */

struct dump {
	const struct ws_trace_reader *r;
	struct ws_records strings;
	const char *kind; /* only blocks of this kind; NULL = all */
	size_t undecoded; /* blocks */
};

/* --- values ------------------------------------------------------------------------ */

/* Text in quotes with every byte told: what is no UTF-8 as \xff. */
static void put_quoted(struct ws_bytes text)
{
	const char *p = text.ptr;
	struct ws_glyph glyph;
	uint32_t code;

	putchar('"');
	for (size_t pos = 0; pos < text.len;) {
		unsigned n = ws_utf8_get(p + pos, text.len - pos, &code);

		if (code == WS_UTF8_REPLACEMENT &&
		    (n != 3 || memcmp(p + pos, "\xef\xbf\xbd", 3) != 0)) {
			for (unsigned i = 0; i < n; i++)
				printf("\\x%02x", (unsigned char)p[pos + i]);
		} else {
			ws_display_glyph(p + pos, n, &glyph);
			if (p[pos] == '"' || p[pos] == '\\')
				putchar('\\');
			fwrite(glyph.bytes, 1, glyph.len, stdout);
		}
		pos += n;
	}
	putchar('"');
}

static bool is_text(struct ws_bytes bytes)
{
	const unsigned char *p = bytes.ptr;

	for (size_t i = 0; i < bytes.len; i++)
		if (p[i] < 0x20)
			return false;
	return true;
}

static void put_blob(struct ws_bytes bytes)
{
	const unsigned char *p = bytes.ptr;

	if (is_text(bytes)) {
		put_quoted(bytes);
		return;
	}
	for (size_t i = 0; i < bytes.len && i < HEX_BYTES_MAX; i++)
		printf("%02x", p[i]);
	if (bytes.len > HEX_BYTES_MAX)
		printf("... (%zu bytes)", bytes.len);
}

static void put_string_id(const struct dump *d, uint64_t id)
{
	const struct ws_row_string *string = id ? ws_records_find(&d->strings, id) : NULL;

	printf("%" PRIu64, id);
	if (string) {
		putchar(' ');
		put_quoted(string->text);
	} else if (id) {
		fputs(" (missing)", stdout);
	}
}

static void put_enum(const char *names, uint64_t value)
{
	struct ws_bytes name = ws_enum_name(names ? names : "", value);

	printf("%" PRIu64, value);
	if (name.len) {
		fputs(" (", stdout);
		put_quoted(name);
		putchar(')');
	}
}

static void put_real(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	printf("%.17g", value);
}

static void put_value(const struct dump *d, const struct ws_block *b, const struct ws_column *c,
                      size_t row)
{
	switch (c->type) {
	case WS_TYPE_BLOB:
		put_blob(c->b[row]);
		break;
	case WS_TYPE_STR:
		put_string_id(d, c->v[row]);
		break;
	case WS_TYPE_ENUM:
		put_enum(ws_trace_reader_column_unit(d->r, b->info.kind, c->id), c->v[row]);
		break;
	case WS_TYPE_F64:
		put_real(c->v[row]);
		break;
	case WS_TYPE_I64:
	case WS_TYPE_TIME:
	case WS_TYPE_DUR:
		printf("%" PRId64, ws_column_i64(c, row));
		break;
	default:
		printf("%" PRIu64, c->v[row]);
	}
}

static void put_name(const char *name, const char *what, unsigned id)
{
	if (name && *name)
		ws_display_put(stdout, name, strlen(name));
	else
		printf("%s%u", what, id);
}

/* --- blocks ------------------------------------------------------------------------ */

static void put_columns(const struct dump *d, const struct ws_block *b)
{
	for (unsigned i = 0; i < b->ncolumns; i++) {
		const struct ws_column *c = &b->columns[i];
		const char *type = ws_type_name(c->type);

		fputs("  column ", stdout);
		put_name(ws_trace_reader_column_name(d->r, b->info.kind, c->id), "column ", c->id);
		printf(": id %u, type %s, encoding %u, %" PRIu64 " bytes%s\n", c->id,
		       type ? type : "unknown", c->encoding, c->stored_bytes,
		       c->present ? "" : ", not readable by this program");
	}
}

static void put_rows(const struct dump *d, const struct ws_block *b)
{
	for (size_t row = 0; row < b->info.rows; row++) {
		printf("  [%zu]", row);
		for (unsigned i = 0; i < b->ncolumns; i++) {
			const struct ws_column *c = &b->columns[i];

			if (!c->present)
				continue;
			putchar(' ');
			put_name(ws_trace_reader_column_name(d->r, b->info.kind, c->id), "column_",
			         c->id);
			putchar('=');
			put_value(d, b, c, row);
		}
		putchar('\n');
	}
}

static void put_block(struct dump *d, size_t i)
{
	const struct ws_block_info *info = ws_trace_reader_block(d->r, i);
	const char *kind = ws_trace_reader_kind_name(d->r, info->kind);
	struct ws_block b;
	struct ws_err why;

	if (d->kind && (!kind || strcmp(kind, d->kind) != 0))
		return;
	printf("\nblock %" PRIu64 " at offset %" PRIu64 ": ", info->sequence, info->offset);
	put_name(kind, "kind ", info->kind);
	printf(" (%u), %u row%s, %" PRIu64 " bytes, time %" PRId64 "..%" PRId64 " ns\n", info->kind,
	       info->rows, info->rows == 1 ? "" : "s", info->size, info->time_min_ns,
	       info->time_max_ns);
	if (ws_trace_reader_decode(d->r, i, &b, &why) != WS_OK) {
		printf("  not readable: %s\n", why.text);
		d->undecoded++;
		return;
	}
	put_columns(d, &b);
	put_rows(d, &b);
	ws_block_release(&b);
}

static void put_file(const struct ws_trace_summary *s)
{
	printf("file: %" PRIu64 " bytes, format %u.%u, base_ns %" PRId64
	       ", required features 0x%" PRIx64 ", optional features 0x%" PRIx64 ", %s\n",
	       s->file_size, s->version_major, s->version_minor, s->base_ns, s->required_features,
	       s->optional_features, s->closed ? "closed" : "not closed");
	if (s->damaged_blocks || s->skipped_bytes)
		printf("damaged: %" PRIu64 " stretches, %" PRIu64 " bytes\n", s->damaged_blocks,
		       s->skipped_bytes);
}

static const char *kind_name(const void *ctx, size_t i)
{
	static const char *const names[] = {
#define K(NAME, name, id, class, meaning) #name,
	        WS_KIND_LIST(K)
#undef K
	};

	(void)ctx;
	return i < sizeof(names) / sizeof(*names) ? names[i] : NULL;
}

/* A newer program's kind is known by the file only. */
static enum ws_status check_kind(const struct dump *d, struct ws_err *err)
{
	if (!d->kind || ws_schema_kind_by_name(d->kind))
		return WS_OK;
	for (size_t i = 0; i < ws_trace_reader_block_count(d->r); i++) {
		const char *name =
		        ws_trace_reader_kind_name(d->r, ws_trace_reader_block(d->r, i)->kind);

		if (name && !strcmp(name, d->kind))
			return WS_OK;
	}
	return ws_opt_unknown_name("record kind", d->kind, kind_name, NULL,
	                           "warpsheet info TRACE lists those that it has", err);
}

static enum ws_status dump_trace(struct dump *d, bool no_pager, struct ws_err *err)
{
	WS_FORWARD(check_kind(d, err));
	WS_FORWARD(ws_records_load_by(&d->strings, d->r, WS_KIND_STRING, WS_COL_string_id, err));
	if (!no_pager)
		ws_ui_pager_start();
	put_file(ws_trace_reader_summary(d->r));
	for (size_t i = 0; i < ws_trace_reader_block_count(d->r) && !ferror(stdout); i++)
		put_block(d, i);
	WS_FAIL_IF(d->undecoded, err, FINDING, "%zu blocks could not be read", d->undecoded);
	return WS_OK;
}

enum ws_status ws_cmd_dump(int argc, char **argv, struct ws_err *err)
{
	struct ws_trace_file f;
	struct dump d = {0};
	bool no_pager = false;
	int n;
	const struct ws_opt opts[] = {
	        WS_OPT("kind", 0, TEXT, "NAME", &d.kind, "only records of this kind, e.g. kernel"),
	        WS_OPT_NO_PAGER(&no_pager),
	        WS_OPT_HELP,
	};
	const struct ws_arguments a = WS_ARGUMENTS("dump", opts, 1, 1, NULL);
	enum ws_status status;

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	status = ws_trace_file_open(&f, argv[0], err);
	d.r = f.reader;
	WS_THEN(status, dump_trace(&d, no_pager, err));
	ws_records_free(&d.strings);
	ws_trace_file_close(&f);
	return status;
}
