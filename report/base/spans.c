#include "report/base/spans.h"

#include "report/base/order.h"

void ws_spans_open(struct ws_spans *s, size_t most)
{
	ws_spill_open(&s->file, most * sizeof(*s->span));
	s->span = s->file.data;
	s->capacity = most;
}

void ws_spans_add(struct ws_spans *s, int64_t start_ns, int64_t end_ns)
{
	const struct ws_span span = {start_ns, end_ns};

	if (end_ns <= start_ns)
		return;
	s->is_mixed |= s->n && start_ns <= s->last.end_ns;
	s->last = span;
	if (s->file.data) {
		ws_spill_put(&s->file, sizeof(span), s->n++, &span);
		return;
	}
	WS_GROW(s->span, s->n + 1, s->capacity);
	s->span[s->n++] = span;
}

void ws_spans_cover(struct ws_spans *s, int64_t start_ns, int64_t end_ns)
{
	struct ws_span *last;

	if (!s->n || start_ns < s->last.start_ns || start_ns > s->last.end_ns) {
		ws_spans_add(s, start_ns, end_ns);
		return;
	}
	if (end_ns <= s->last.end_ns)
		return;
	last = s->file.data ? ws_spill_row(&s->file, sizeof(*last), s->n - 1) : &s->span[s->n - 1];
	last->end_ns = s->last.end_ns = end_ns;
}

static int by_start(const void *pa, const void *pb)
{
	const struct ws_span *a = pa, *b = pb;

	WS_ORDER_BY(a->start_ns, b->start_ns);
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static int by_start_in_file(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	return by_start(a, b);
}

void ws_spans_sort(struct ws_spans *s)
{
	if (s->file.data && s->is_mixed)
		ws_spill_sort(&s->file, sizeof(*s->span), s->n, by_start_in_file, NULL);
	else if (s->file.data)
		ws_spill_flush(&s->file);
	else if (s->is_mixed)
		ws_sort(s->span, s->n, sizeof(*s->span), by_start);
	if (s->file.data)
		s->span = s->file.data;
}

void ws_spans_merge(struct ws_spans *s)
{
	size_t n = 0;

	if (!s->is_mixed)
		return;
	if (!s->file.data)
		ws_sort(s->span, s->n, sizeof(*s->span), by_start);
	for (size_t i = 0; i < s->n; i++) {
		ws_spill_used(&s->file, sizeof(*s->span));
		if (n && s->span[i].start_ns <= s->span[n - 1].end_ns) {
			if (s->span[i].end_ns > s->span[n - 1].end_ns)
				s->span[n - 1].end_ns = s->span[i].end_ns;
		} else {
			s->span[n++] = s->span[i];
		}
	}
	s->n = n;
	s->last = s->span[n - 1];
	s->is_mixed = false;
}

int64_t ws_spans_inside(const struct ws_spans *s, int64_t start_ns, int64_t end_ns)
{
	int64_t ns = 0;
	size_t i;

	WS_COUNT_FIRST(i, s->n, s->span[i].end_ns <= start_ns);
	for (; i < s->n && s->span[i].start_ns < end_ns; i++)
		ns += ws_span_overlap(s->span[i].start_ns, s->span[i].end_ns, start_ns, end_ns);
	return ns;
}

void ws_spans_release(struct ws_spans *s)
{
	if (s->file.data)
		ws_spill_close(&s->file);
	else
		free(s->span);
	*s = (struct ws_spans){0};
}
