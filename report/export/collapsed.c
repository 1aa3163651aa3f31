/*
 * Folded stacks: "range;range;operation;kernel N", N = ns of GPU time. A semicolon in a name
 * becomes a colon, and line breaks become blanks.
 */

#include "formats/base/outfile.h"
#include "report/export/exporter.h"
#include "report/joined/rows.h"

/* Key of the kernels of one line. */
struct stack {
	uint32_t path, operation,
	        kernel; /* path: WS_NONE = outside ranges; operation: text, 0 = none */
};

struct folding {
	struct ws_joined_rows rows;
	struct ws_model *m;
	struct ws_strtab known; /* stack -> sum, from 1 */
	struct sum {
		struct stack stack;
		int64_t ns;
	} * sum;
	size_t n, capacity;
};

static void put_name(FILE *out, struct ws_buf *room, struct ws_bytes name)
{
	const struct ws_bytes text = ws_export_readable(room, name);

	for (size_t i = 0; i < text.len; i++) {
		const char c = ((const char *)text.ptr)[i];

		fputc(c == ';' ? ':' : (unsigned char)c < ' ' ? ' ' : c, out);
	}
}

static void put_path(FILE *out, struct ws_buf *room, const struct ws_model *m, uint32_t path)
{
	const struct ws_path *p = &m->ranges.paths[path];

	if (p->parent != WS_NONE)
		put_path(out, room, m, p->parent); /* at most WS_RANGE_MAX_DEPTH */
	put_name(out, room, m->texts[p->name]);
	fputc(';', out);
}

/* Compares lines by bytes, for a deterministic file. */
static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum ws_status write_export(const struct ws_trace_reader *r, const struct ws_export_job *job,
                                   struct ws_export_stats *stats, struct ws_err *err)
{
	struct folding f = {0};
	struct ws_outfile out;
	enum ws_status status = ws_joined_rows_read(&f.rows, r, job->trace, NULL, &f.m, err);

	WS_THEN(status, ws_outfile_open(&out, job->to, err));
	if (status == WS_OK) {
		WS_EACH_KERNEL(&f.rows, i, k) {
			const struct ws_op_config *op = ws_cpu_op_config(f.m, k->cpu_op);
			const struct stack stack = {k->range == WS_NONE ? WS_NONE : k->kind->path,
			                            op ? op->name : WS_TEXT_EMPTY,
			                            f.m->configs[k->kind->config].name};

			if (!k->kind->timed) {
				stats->without_time++;
				continue;
			}
			uint64_t id = ws_strtab_add(&f.known, &stack, sizeof(stack));
			WS_GROW(f.sum, id, f.capacity);
			if (id > f.n)
				f.sum[f.n++] = (struct sum){.stack = stack};
			f.sum[id - 1].ns += k->dur_ns;
		}
		stats->skipped[WS_KIND_MEMCPY] = ws_trace_reader_count(r, WS_KIND_MEMCPY);
		stats->skipped[WS_KIND_MEMSET] = ws_trace_reader_count(r, WS_KIND_MEMSET);

		struct ws_buf room = {0};
		char **lines = ws_xarray(f.n, sizeof(*lines));

		for (size_t i = 0; i < f.n; i++) {
			const struct sum *s = &f.sum[i];
			size_t len = 0;
			FILE *stream = ws_xmemstream(&lines[i], &len);

			if (s->stack.path != WS_NONE)
				put_path(stream, &room, f.m, s->stack.path);
			if (s->stack.operation) {
				put_name(stream, &room, f.m->texts[s->stack.operation]);
				fputc(';', stream);
			}
			put_name(stream, &room, ws_model_short_name(f.m, s->stack.kernel));
			fprintf(stream, " %" PRId64, s->ns);
			ws_xfclose(stream);
		}
		ws_sort(lines, f.n, sizeof(*lines), compare);
		for (size_t i = 0; i < f.n; i++) {
			fprintf(out.f, "%s\n", lines[i]);
			free(lines[i]);
		}
		free(lines);
		ws_buf_free(&room);
		status = ws_outfile_end(&out, WS_OK, NULL, err);
	}
	ws_strtab_free(&f.known);
	free(f.sum);
	ws_joined_rows_free(&f.rows);
	ws_model_free(f.m);
	return status;
}

const struct ws_exporter ws_exporter_collapsed = {
        .name = "collapsed",
        .extensions = {".collapsed", ".folded"},
        .write = write_export,
};
