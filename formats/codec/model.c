#include "formats/codec/model.h"

#define P(kind, column) WS_COL_##kind##_##column
#define TUPLE(...)                                \
	{                                         \
		sizeof((uint8_t[]){__VA_ARGS__}), \
		{                                 \
			__VA_ARGS__               \
		}                                 \
	}

/* Device work begins when the work before it on its stream ends; a thread goes on likewise. */
static const struct ws_kind_model models[] = {
        {WS_KIND_KERNEL,
         P(kernel, dur_ns),
         {TUPLE(P(kernel, config))},
         2,
         {{P(kernel, start_ns), WS_PREDICT_END_BEFORE, WS_CONTEXT_PAIR, P(kernel, config)},
          {P(kernel, dur_ns), WS_PREDICT_NOTHING, WS_CONTEXT_TOKEN, -1}}},
        {WS_KIND_API,
         P(api, dur_ns),
         {TUPLE(P(api, name), P(api, thread)), TUPLE(P(api, thread))},
         2,
         {{P(api, start_ns), WS_PREDICT_END_BEFORE, WS_CONTEXT_PAIR, P(api, thread)},
          {P(api, dur_ns), WS_PREDICT_NOTHING, WS_CONTEXT_TOKEN, -1}}},
        {WS_KIND_NVTX,
         -1,
         {TUPLE(P(nvtx, name), P(nvtx, type), P(nvtx, thread), P(nvtx, payload)),
          TUPLE(P(nvtx, name), P(nvtx, type), P(nvtx, thread)),
          TUPLE(P(nvtx, type), P(nvtx, thread))},
         1,
         {{P(nvtx, time_ns), WS_PREDICT_BEFORE, WS_CONTEXT_PAIR, P(nvtx, thread)}}},
        {WS_KIND_THREAD_EVENT,
         P(thread_event, dur_ns),
         {TUPLE(P(thread_event, name), P(thread_event, type), P(thread_event, thread),
                P(thread_event, payload)),
          TUPLE(P(thread_event, name), P(thread_event, type), P(thread_event, thread)),
          TUPLE(P(thread_event, type), P(thread_event, thread))},
         3,
         {{P(thread_event, time_ns), WS_PREDICT_END_BEFORE, WS_CONTEXT_PAIR,
           P(thread_event, thread)},
          {P(thread_event, dur_ns), WS_PREDICT_NOTHING, WS_CONTEXT_TOKEN, -1},
          {P(thread_event, correlation), WS_PREDICT_BEFORE, WS_CONTEXT_TOKEN,
           P(thread_event, type)}}},
        {WS_KIND_MEMCPY,
         P(memcpy, dur_ns),
         {TUPLE(P(memcpy, stream), P(memcpy, kind), P(memcpy, bytes)),
          TUPLE(P(memcpy, stream), P(memcpy, kind))},
         2,
         {{P(memcpy, start_ns), WS_PREDICT_END_BEFORE, WS_CONTEXT_PAIR, P(memcpy, stream)},
          {P(memcpy, dur_ns), WS_PREDICT_NOTHING, WS_CONTEXT_TOKEN, -1}}},
        {WS_KIND_MEMSET,
         P(memset, dur_ns),
         {TUPLE(P(memset, stream), P(memset, bytes)), TUPLE(P(memset, stream))},
         2,
         {{P(memset, start_ns), WS_PREDICT_END_BEFORE, WS_CONTEXT_PAIR, P(memset, stream)},
          {P(memset, dur_ns), WS_PREDICT_NOTHING, WS_CONTEXT_TOKEN, -1}}},
        {WS_KIND_CPU_OP,
         P(cpu_op, dur_ns),
         {TUPLE(P(cpu_op, config), P(cpu_op, thread)), TUPLE(P(cpu_op, thread))},
         2,
         {{P(cpu_op, start_ns), WS_PREDICT_BEFORE, WS_CONTEXT_PAIR, P(cpu_op, thread)},
          {P(cpu_op, dur_ns), WS_PREDICT_NOTHING, WS_CONTEXT_TOKEN, -1}}},
        {WS_KIND_PYTHON_CALL,
         P(python_call, dur_ns),
         {TUPLE(P(python_call, name), P(python_call, thread)), TUPLE(P(python_call, thread))},
         2,
         {{P(python_call, start_ns), WS_PREDICT_BEFORE, WS_CONTEXT_PAIR, P(python_call, thread)},
          {P(python_call, dur_ns), WS_PREDICT_NOTHING, WS_CONTEXT_TOKEN, -1}}},
};

const struct ws_kind_model *ws_kind_model_of(enum ws_kind kind)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (models[i].kind == kind)
			return &models[i];
	return NULL;
}

const struct ws_kind_model_column *ws_kind_model_column(const struct ws_kind_model *m,
                                                        unsigned position)
{
	for (unsigned i = 0; i < m->ncolumns; i++)
		if (m->column[i].position == position)
			return &m->column[i];
	return NULL;
}
