#include "report/base/spill.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/base/own_file.h"
#include "formats/base/xalloc.h"

#define STEP_BYTES ((size_t)64 << 20) /* of the file */
/* Rows that are sorted in memory, and how many such runs are merged at once. */
#define RUN_ROWS  ((size_t)65536)
#define MOST_RUNS 256u

void ws_spill_open(struct ws_spill *s, size_t most_bytes)
{
	*s = (struct ws_spill){.most_bytes = most_bytes ? most_bytes : 1,
	                       .is_file = most_bytes > WS_SPILL_SMALL_BYTES,
	                       .fd = -1};
	if (s->is_file) {
		struct ws_err err;

		if (ws_own_file_unnamed(&s->fd, &err) != WS_OK)
			ws_end_program(WS_IO_WRITE, err.text);
		s->window = ws_xarray(1, WS_SPILL_WINDOW_BYTES);
	} else {
		s->reserved_bytes = s->most_bytes;
	}
	s->data = mmap(NULL, s->most_bytes, PROT_READ | PROT_WRITE,
	               s->is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
	               s->is_file ? s->fd : -1, 0);
	if (s->data == MAP_FAILED)
		ws_out_of_memory(s->most_bytes);
	/* else Linux keeps the file in parts of 2 MB and maps all of one for each row far away */
	if (s->is_file)
		madvise(s->data, s->most_bytes, MADV_RANDOM);
}

void ws_spill_close(struct ws_spill *s)
{
	if (s->data)
		munmap(s->data, s->most_bytes);
	if (s->is_file && s->fd >= 0)
		close(s->fd);
	free(s->window);
	*s = (struct ws_spill){0};
}

void ws_spill_reserve(struct ws_spill *s, size_t bytes)
{
	size_t more;
	int code;

	if (bytes <= s->reserved_bytes)
		return;
	more = bytes - s->reserved_bytes < STEP_BYTES ? STEP_BYTES : bytes - s->reserved_bytes;
	if (more > s->most_bytes - s->reserved_bytes)
		more = s->most_bytes - s->reserved_bytes;
	/* room is taken now: a full disk would end the program when a page is written */
	code = posix_fallocate(s->fd, (off_t)s->reserved_bytes, (off_t)more);
	if (code) {
		char text[256];

		snprintf(text, sizeof(text),
		         "no room for a temporary file of %zu bytes: %s (TMPDIR names the folder)",
		         s->reserved_bytes + more, strerror(code));
		ws_end_program(WS_IO_WRITE, text);
	}
	s->reserved_bytes += more;
}

void ws_spill_let_go(struct ws_spill *s)
{
	madvise(s->data, s->most_bytes, MADV_DONTNEED);
	s->touched_bytes = 0;
}

void ws_spill_flush(struct ws_spill *s)
{
	const size_t n = s->window_bytes;

	if (!n)
		return;
	/* there is room in the file, so what is not written was interrupted: then page by page */
	if (pwrite(s->fd, s->window, n, (off_t)s->window_at) != (ssize_t)n)
		memcpy((char *)s->data + s->window_at, s->window, n);
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

/* What was put in a new one takes the place of s. */
static void replace(struct ws_spill *s, struct ws_spill *by)
{
	const struct ws_spill was = *s;

	ws_spill_flush(by);
	*s = *by;
	*by = was;
}

/* Where the rows of each key begin, in begin[]; *ordered: they are there already. */
static void count_keys(struct ws_spill *s, size_t row_bytes, size_t n,
                       const struct ws_spill_key *key, size_t *begin, int *ordered)
{
	uint32_t last = 0;
	size_t at = 0;

	*ordered = 1;
	for (size_t i = 0; i < n; i++) {
		const uint32_t k = key->key(key->ctx, ws_spill_row(s, row_bytes, i));

		*ordered &= k >= last;
		last = k;
		begin[k]++;
	}
	for (size_t k = 0; k < key->n; k++) {
		const size_t rows = begin[k];

		begin[k] = at;
		at += rows;
	}
}

void ws_spill_partition(struct ws_spill *s, size_t row_bytes, size_t n,
                        const struct ws_spill_key *key)
{
	size_t *at = ws_xarray(key->n + 1, sizeof(*at));
	struct ws_spill to;
	int ordered = key->n < 2;

	if (!ordered)
		count_keys(s, row_bytes, n, key, at, &ordered);
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

static void merge_runs(struct merge *m, struct ws_spill *to)
{
	for (size_t i = m->nruns; i-- > 0;)
		sift_down(m, i);
	for (size_t n = 0; m->nruns; n++) {
		struct run *least = &m->run[0];

		/* all runs' pages are at hand at once */
		ws_spill_used(m->from, m->row_bytes);
		ws_spill_put(to, m->row_bytes, n,
		             (char *)m->from->data + least->row++ * m->row_bytes);
		if (least->row == least->end)
			*least = m->run[--m->nruns];
		sift_down(m, 0);
	}
}

static bool is_sorted(struct merge *m, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		ws_spill_used(m->from, m->row_bytes);
		if (run_sorts_before(m, i, i - 1))
			return 0;
	}
	return 1;
}

void ws_spill_sort(struct ws_spill *s, size_t row_bytes, size_t n,
                   int (*compare)(const void *, const void *, void *), void *ctx)
{
	const size_t run_rows = n / MOST_RUNS < RUN_ROWS ? RUN_ROWS : n / MOST_RUNS + 1;
	struct merge m = {.from = s, .row_bytes = row_bytes, .compare = compare, .ctx = ctx};
	struct ws_spill to;

	ws_spill_flush(s);
	if (is_sorted(&m, n))
		return;
	for (size_t at = 0; at < n; at += run_rows) {
		const size_t rows = n - at < run_rows ? n - at : run_rows;

		qsort_r((char *)s->data + at * row_bytes, rows, row_bytes, compare, ctx);
		ws_spill_used(s, rows * row_bytes);
		m.run[m.nruns++] = (struct run){at, at + rows};
	}
	if (m.nruns < 2)
		return;
	ws_spill_open(&to, n * row_bytes);
	merge_runs(&m, &to);
	replace(s, &to);
	ws_spill_close(&to);
}
