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
         {{P(kernel, start_ns), WS_PREDICT_END_BEFORE, P(kernel, config)},
          {P(kernel, dur_ns), WS_PREDICT_NOTHING, -1}}},
        {WS_KIND_THREAD_EVENT,
         P(thread_event, dur_ns),
         {TUPLE(P(thread_event, name), P(thread_event, type), P(thread_event, thread),
                P(thread_event, payload)),
          TUPLE(P(thread_event, name), P(thread_event, type), P(thread_event, thread)),
          TUPLE(P(thread_event, type), P(thread_event, thread))},
         3,
         {{P(thread_event, time_ns), WS_PREDICT_END_BEFORE, P(thread_event, thread)},
          {P(thread_event, dur_ns), WS_PREDICT_NOTHING, -1},
          {P(thread_event, correlation), WS_PREDICT_BEFORE, P(thread_event, type)}}},
        {WS_KIND_MEMCPY,
         P(memcpy, dur_ns),
         {TUPLE(P(memcpy, stream), P(memcpy, kind), P(memcpy, bytes)),
          TUPLE(P(memcpy, stream), P(memcpy, kind))},
         2,
         {{P(memcpy, start_ns), WS_PREDICT_END_BEFORE, P(memcpy, stream)},
          {P(memcpy, dur_ns), WS_PREDICT_NOTHING, -1}}},
        {WS_KIND_MEMSET,
         P(memset, dur_ns),
         {TUPLE(P(memset, stream), P(memset, bytes)), TUPLE(P(memset, stream))},
         2,
         {{P(memset, start_ns), WS_PREDICT_END_BEFORE, P(memset, stream)},
          {P(memset, dur_ns), WS_PREDICT_NOTHING, -1}}},
        {WS_KIND_CPU_OP,
         P(cpu_op, dur_ns),
         {TUPLE(P(cpu_op, config), P(cpu_op, thread)), TUPLE(P(cpu_op, thread))},
         2,
         {{P(cpu_op, start_ns), WS_PREDICT_BEFORE, P(cpu_op, thread)},
          {P(cpu_op, dur_ns), WS_PREDICT_NOTHING, -1}}},
        {WS_KIND_PYTHON_CALL,
         P(python_call, dur_ns),
         {TUPLE(P(python_call, name), P(python_call, thread)), TUPLE(P(python_call, thread))},
         2,
         {{P(python_call, start_ns), WS_PREDICT_BEFORE, P(python_call, thread)},
          {P(python_call, dur_ns), WS_PREDICT_NOTHING, -1}}},
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
