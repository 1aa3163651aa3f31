#include "report/base/spill.h"

#include <limits.h>

#include "formats/base/memory.h"

#define STEP_BYTES ((size_t)64 << 20) /* of the file */
/* Number of rows sorted in memory, and of such runs merged at once. */
#define RUN_ROWS  ((size_t)65536)
#define MOST_RUNS 256u

/* Copies address and size to the fields of s, for inline functions. */
static void take_region(struct ws_spill *s)
{
	s->data = s->region.data;
	s->reserved_bytes = s->region.bytes;
}

/* Ends the program: there is no memory or, with a file, no room on the disk. */
static _Noreturn void end_without_room(const struct ws_spill *s, size_t bytes, int why)
{
	char text[PATH_MAX + 256];

	if (!s->is_file || why == ENOMEM)
		ws_out_of_memory(bytes);
	snprintf(text, sizeof(text),
	         "no room for a temporary file of %zu bytes in %s: %s (TMPDIR names the folder)",
	         bytes, ws_temporary_folder(), strerror(why));
	ws_end_program(WS_IO_WRITE, text);
}

void ws_spill_open(struct ws_spill *s, size_t most_bytes)
{
	*s = (struct ws_spill){.most_bytes = most_bytes ? most_bytes : 1,
	                       .is_file = most_bytes > WS_SPILL_SMALL_BYTES};
	if (ws_region_open(&s->region, s->most_bytes, s->is_file))
		end_without_room(s, s->most_bytes, errno);
	if (s->region.fd >= 0)
		s->window = ws_xarray(1, WS_SPILL_WINDOW_BYTES);
	take_region(s);
}

void ws_spill_close(struct ws_spill *s)
{
	ws_region_close(&s->region);
	free(s->window);
	*s = (struct ws_spill){0};
}

void ws_spill_reserve(struct ws_spill *s, size_t bytes)
{
	if (bytes <= s->reserved_bytes)
		return;
	size_t more =
	        bytes - s->reserved_bytes < STEP_BYTES ? STEP_BYTES : bytes - s->reserved_bytes;
	if (more > s->most_bytes - s->reserved_bytes)
		more = s->most_bytes - s->reserved_bytes;
	int code = ws_region_grow(&s->region, s->reserved_bytes + more);
	if (code)
		end_without_room(s, s->reserved_bytes + more, code);
	take_region(s);
}

void ws_spill_let_go(struct ws_spill *s)
{
	ws_region_let_go(&s->region);
	s->touched_bytes = 0;
}

void ws_spill_flush(struct ws_spill *s)
{
	const size_t n = s->window_bytes;

	if (!n)
		return;
	ws_region_write(&s->region, s->window_at, s->window, n);
	memset(s->window, 0, n);
	s->window_at += n;
	s->window_bytes = 0;
}

void ws_spill_put_elsewhere(struct ws_spill *s, size_t row_bytes, size_t i, const void *row)
{
	const size_t at = i * row_bytes, end = at + row_bytes;

	ws_spill_reserve(s, end);
	if (s->window && end > s->window_at + WS_SPILL_WINDOW_BYTES) {
		ws_spill_flush(s);
		if (end > s->window_at + WS_SPILL_WINDOW_BYTES)
			s->window_at = at;
	}
	if (s->window && at >= s->window_at && end > s->window_at + s->window_bytes)
		s->window_bytes = end - s->window_at;
	memcpy(ws_spill_row(s, row_bytes, i), row, row_bytes);
}

/* Replaces s by another array. */
static void replace(struct ws_spill *s, struct ws_spill *by)
{
	const struct ws_spill was = *s;

	ws_spill_flush(by);
	*s = *by;
	*by = was;
}

void ws_spill_partition(struct ws_spill *s, size_t row_bytes, size_t n,
                        const struct ws_spill_key *key)
{
	size_t *at = ws_xarray(key->n + 1, sizeof(*at));
	struct ws_spill to;
	int ordered = key->n < 2; /* rows are already grouped */

	if (!ordered) {
		/* the begin of the rows of each key in at[] */
		uint32_t last_key = 0;
		size_t next = 0;

		ordered = 1;
		for (size_t i = 0; i < n; i++) {
			const uint32_t k = key->key(key->ctx, ws_spill_row(s, row_bytes, i));

			ordered &= k >= last_key;
			last_key = k;
			at[k]++;
		}
		for (size_t k = 0; k < key->n; k++) {
			const size_t rows = at[k];

			at[k] = next;
			next += rows;
		}
	}
	if (!ordered) {
		ws_spill_open(&to, n * row_bytes);
		for (size_t i = 0; i < n; i++) {
			const void *row = ws_spill_row(s, row_bytes, i);

			ws_spill_put(&to, row_bytes, at[key->key(key->ctx, row)]++, row);
		}
		replace(s, &to);
		ws_spill_close(&to);
	}
	free(at);
}

/* --- sorting ------------------------------------------------------------------------------- */

struct merge {
	struct ws_spill *from;
	size_t row_bytes;
	int (*compare)(const void *, const void *, void *);
	void *ctx;
	struct run {
		size_t row, end;
	} run[MOST_RUNS]; /* a heap: the run with the least row first */
	size_t nruns;
};

static bool run_sorts_before(const struct merge *m, size_t a, size_t b)
{
	const char *rows = m->from->data;

	return m->compare(rows + a * m->row_bytes, rows + b * m->row_bytes, m->ctx) < 0;
}

static void sift_down(struct merge *m, size_t i)
{
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->nruns; child++)
			if (run_sorts_before(m, m->run[child].row, m->run[least].row))
				least = child;
		if (least == i)
			return;
		const struct run run = m->run[i];

		m->run[i] = m->run[least];
		m->run[least] = run;
		i = least;
	}
}

void ws_spill_sort(struct ws_spill *s, size_t row_bytes, size_t n,
                   int (*compare)(const void *, const void *, void *), void *ctx)
{
	const size_t run_rows = n / MOST_RUNS < RUN_ROWS ? RUN_ROWS : n / MOST_RUNS + 1;
	struct merge m = {.from = s, .row_bytes = row_bytes, .compare = compare, .ctx = ctx};
	struct ws_spill to;
	size_t sorted = 1;

	ws_spill_flush(s);
	for (; sorted < n; sorted++) {
		ws_spill_used(s, row_bytes);
		if (run_sorts_before(&m, sorted, sorted - 1))
			break;
	}
	if (sorted >= n)
		return;
	for (size_t at = 0; at < n; at += run_rows) {
		const size_t rows = n - at < run_rows ? n - at : run_rows;

		ws_sort_by((char *)s->data + at * row_bytes, rows, row_bytes, compare, ctx);
		ws_spill_used(s, rows * row_bytes);
		m.run[m.nruns++] = (struct run){at, at + rows};
	}
	if (m.nruns < 2)
		return;
	ws_spill_open(&to, n * row_bytes);
	for (size_t k = m.nruns; k-- > 0;)
		sift_down(&m, k);
	for (size_t row = 0; m.nruns; row++) {
		struct run *least = &m.run[0];

		/* the pages of all runs are in memory at the same time */
		ws_spill_used(m.from, m.row_bytes);
		ws_spill_put(&to, m.row_bytes, row,
		             (char *)m.from->data + least->row++ * m.row_bytes);
		if (least->row == least->end)
			*least = m.run[--m.nruns];
		sift_down(&m, 0);
	}
	replace(s, &to);
	ws_spill_close(&to);
}
