#include "report/commands/command.h"

#define LABEL_WIDTH 22

/* 1234567 as 1,234,567 */
static const char *grouped(uint64_t n, char out[WS_DISPLAY_NUMBER_MAX])
{
	const struct ws_shown_column count = {.display = WS_DISPLAY_COUNT};
	struct ws_cell cell;

	ws_cell_set_int(&cell, n > INT64_MAX ? INT64_MAX : (int64_t)n);
	ws_display_number(&count, &cell, out);
	return out;
}

static void put_label_text(struct ws_bytes label)
{
	size_t width = ws_display_width(label.ptr, label.len);

	fputs("  ", stdout);
	ws_display_put(stdout, label.ptr, label.len);
	printf("%*s  ", (int)(width < LABEL_WIDTH ? LABEL_WIDTH - width : 0), "");
}

static void put_label(const char *label)
{
	put_label_text(ws_bytes_of(label));
}

static void put_count(const char *label, uint64_t n, const char *unit)
{
	char text[WS_DISPLAY_NUMBER_MAX];

	put_label(label);
	printf("%s%s\n", grouped(n, text), unit);
}

static void put_time(const char *label, int64_t ns)
{
	int64_t whole = ns / 1000000000, rest = ns % 1000000000;
	char text[64];
	struct tm tm;

	if (rest < 0) {
		rest += 1000000000;
		whole--;
	}
	time_t seconds = (time_t)whole;
	put_label(label);
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		printf("%s.%09" PRId64 " UTC\n", text, rest);
	else
		printf("%" PRId64 " ns since 1970\n", ns);
}

/* --- records of each kind ----------------------------------------------------------- */

struct kind_sum {
	uint64_t blocks, rows, bytes;
};

/* --- what the records say ------------------------------------------------------------ */

static void put_meta(void *ctx, const void *row)
{
	const struct ws_row_meta *r = row;

	(void)ctx;
	put_label_text(r->key);
	ws_display_put(stdout, r->value.ptr, r->value.len);
	putchar('\n');
}

enum ws_status ws_cmd_info(int argc, char **argv, struct ws_err *err)
{
	struct ws_trace_file f;
	int n;
	const struct ws_opt opts[] = {WS_OPT_HELP};
	const struct ws_arguments a = WS_ARGUMENTS("info", opts, 1, 1, NULL);

	WS_COMMAND_PARSE(&a, argc, argv, &n, err);
	enum ws_status status = ws_trace_file_open(&f, argv[0], err);
	if (status == WS_OK) {
		const struct ws_trace_summary *s = ws_trace_reader_summary(f.reader);
		int64_t first_ns = INT64_MAX, event_ns;

		ws_display_name(stdout, argv[0]);
		putchar('\n');
		put_label("format");
		printf("%u.%u, %s\n", s->version_major, s->version_minor,
		       s->closed ? "closed"
		                 : "not closed: its recorder was killed, or is still running");
		put_count("size", s->file_size, " bytes");
		put_label("XXH3-64");
		printf("%016" PRIx64 "\n", s->file_hash);
		if (s->base_ns > 0)
			put_time("time 0", s->base_ns);
		/* of calls, kernels, ranges, copies and operations; a clock's zero may be months
		 * before */
		for (size_t i = 0; i < ws_trace_reader_block_count(f.reader); i++) {
			const struct ws_block_info *b = ws_trace_reader_block(f.reader, i);
			const bool is_event = b->kind == WS_KIND_API || b->kind == WS_KIND_KERNEL ||
			                      b->kind == WS_KIND_NVTX ||
			                      b->kind == WS_KIND_MEMCPY ||
			                      b->kind == WS_KIND_CPU_OP;

			if (is_event && b->rows && b->time_min_ns < first_ns)
				first_ns = b->time_min_ns;
		}
		if (s->base_ns > 0 && !__builtin_add_overflow(s->base_ns, first_ns, &event_ns))
			put_time("first event", event_ns);
		put_count("blocks", s->blocks, "");
		if (s->unknown_blocks)
			put_count("blocks of unknown kind", s->unknown_blocks,
			          " (written by a newer program; not read)");
		put_count("damaged stretches", s->damaged_blocks, "");
		put_count("damaged bytes", s->skipped_bytes, "");

		/* records of each kind */
		struct kind_sum *sums = ws_xarray(UINT16_MAX + 1u, sizeof(*sums));

		for (size_t i = 0; i < ws_trace_reader_block_count(f.reader); i++) {
			const struct ws_block_info *b = ws_trace_reader_block(f.reader, i);

			sums[b->kind].blocks++;
			sums[b->kind].rows += b->rows;
			sums[b->kind].bytes += b->size;
		}
		printf("\n  %-*s  %14s  %8s  %14s  %9s\n", LABEL_WIDTH, "records", "rows", "blocks",
		       "bytes", "bytes/row");
		for (unsigned kind = 0; kind <= UINT16_MAX; kind++)
			if (sums[kind].blocks) {
				const char *name = ws_trace_reader_kind_name(f.reader, kind);
				char rows[WS_DISPLAY_NUMBER_MAX], bytes[WS_DISPLAY_NUMBER_MAX];
				char unknown[24];

				snprintf(unknown, sizeof(unknown), "kind %u", kind);
				put_label(name ? name : unknown);
				printf("%14s  %8" PRIu64 "  %14s  %9.2f\n",
				       grouped(sums[kind].rows, rows), sums[kind].blocks,
				       grouped(sums[kind].bytes, bytes),
				       sums[kind].rows
				               ? (double)sums[kind].bytes / (double)sums[kind].rows
				               : 0.0);
			}
		uint64_t launches = sums[WS_KIND_KERNEL].rows;
		if (launches) {
			put_label("bytes a launch");
			printf("%.2f (whole file over kernels)\n",
			       (double)s->file_size / (double)launches);
		}
		free(sums);
		puts("\n  provenance");
		if (!ws_trace_reader_count(f.reader, WS_KIND_META))
			puts("  nothing recorded");
	}
	WS_THEN(status, ws_records_each(f.reader, WS_KIND_META, put_meta, NULL, err));

	/* losses: the last row of each cause, as counters only grow */
	struct ws_records strings = {0}, losses = {0};

	WS_THEN(status,
	        ws_records_load_by(&strings, f.reader, WS_KIND_STRING, WS_COL_string_id, err));
	WS_THEN(status,
	        ws_records_load_by(&losses, f.reader, WS_KIND_LOSS, WS_COL_loss_cause, err));
	if (status == WS_OK)
		puts(losses.n ? "\n  losses" : "\n  losses\n  no counter recorded");
	const struct ws_row_loss *loss = losses.rows;
	for (size_t i = 0; status == WS_OK && i < losses.n; i++) {
		char number[WS_DISPLAY_NUMBER_MAX];

		if (ws_records_find(&losses, loss[i].cause) != &loss[i])
			continue;
		put_label_text(ws_records_text(&strings, loss[i].cause));
		puts(grouped(loss[i].count, number));
	}
	ws_records_free(&losses);
	ws_records_free(&strings);
	ws_trace_file_close(&f);
	return status;
}
