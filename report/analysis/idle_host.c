#include "report/analysis/idle.h"

#include <string.h>

bool ws_call_waits(struct ws_bytes name)
{
	static const char *const blocking[] = {"cudaMemcpy", "cuMemcpyDtoH", "cuMemcpyHtoD",
	                                       "hipMemcpy", "hipMemcpyWithStream"};
	const char *text = name.ptr;
	size_t len = name.len;

	if (memmem(name.ptr, len, "Synchronize", 11))
		return true;
	/* cuMemcpyDtoH_v2, cudaMemcpy_v3020: the version is no part of the name */
	for (size_t i = len; i-- > 2;)
		if (text[i] == 'v' && text[i - 1] == '_') {
			len = i - 1;
			break;
		}
	for (size_t i = 0; i < sizeof(blocking) / sizeof(*blocking); i++)
		if (len == strlen(blocking[i]) && !memcmp(name.ptr, blocking[i], len))
			return true;
	return false;
}

static void find_waits(const struct ws_model *m, struct ws_joined_rows *rows,
                       struct ws_host_activity *host)
{
	int64_t latest = INT64_MIN;
	bool *is_sync, any = false;

	WS_NEW(&host->arena, is_sync, m->ntexts);
	for (size_t i = 0; i < m->ntexts; i++)
		any |= is_sync[i] = ws_call_waits(m->texts[i]);
	for (uint32_t i = 0; any && i < rows->ncalls; i++) {
		const struct ws_joined_call *call = ws_joined_rows_call(rows, i);

		if (is_sync[call->kind->name])
			ws_spans_add(&host->waits, call->start_ns, call->start_ns + call->dur_ns);
	}
	ws_spans_sort(&host->waits);
	WS_NEW(&host->arena, host->wait_end_ns, host->waits.n);
	for (size_t i = 0; i < host->waits.n; i++) {
		latest = host->waits.span[i].end_ns > latest ? host->waits.span[i].end_ns : latest;
		host->wait_end_ns[i] = latest;
	}
}

static void find_data_loading(const struct ws_model *m, struct ws_joined_rows *rows,
                              struct ws_host_activity *host)
{
	const struct ws_op_tree *ops = &m->cpu_ops.tree;
	bool *loads_data, any = false;

	WS_NEW(&host->arena, loads_data, m->ntexts);
	for (size_t i = 0; i < m->ntexts; i++)
		any |= loads_data[i] = ws_name_loads_data(m->texts[i]);
	for (uint32_t i = 0; any && i < rows->nranges; i++) {
		const struct ws_joined_range *r = ws_joined_rows_range(rows, i);

		if (loads_data[r->context->name])
			ws_spans_add(&host->data, r->start_ns, r->end_ns);
	}
	for (size_t i = 0; any && i < ops->n; i++)
		if (loads_data[ops->name[i]])
			ws_spans_add(&host->data, ops->start_ns[i], ops->end_ns[i]);
	ws_spans_merge(&host->data);
}

void ws_host_activity_find(const struct ws_model *m, struct ws_joined_rows *rows,
                           struct ws_host_activity *out)
{
	find_waits(m, rows, out);
	find_data_loading(m, rows, out);
}

void ws_host_activity_release(struct ws_host_activity *host)
{
	ws_spans_release(&host->data);
	ws_spans_release(&host->waits);
	ws_arena_free(&host->arena);
}

int64_t ws_host_waited(const struct ws_host_activity *host, int64_t from_ns, int64_t call_ns)
{
	int64_t ns = 0;
	size_t i;

	WS_COUNT_FIRST(i, host->waits.n, host->waits.span[i].start_ns < from_ns);
	/* one that began before and ended in the gap; a few suffice, threads rarely wait at once */
	for (size_t looked = 0; i-- > 0 && host->wait_end_ns[i] >= from_ns && looked < 64;
	     looked++) {
		const struct ws_span *span = &host->waits.span[i];

		if (span->end_ns >= from_ns && span->end_ns <= call_ns)
			ns = span->end_ns - span->start_ns > ns ? span->end_ns - span->start_ns
			                                        : ns;
	}
	return ns;
}
