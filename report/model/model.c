#include "report/base/ui.h"
#include "report/model/load.h"

void ws_model_free(struct ws_model *m)
{
	if (!m)
		return;
	ws_column_data_release(&m->strings);
	ws_strtab_free(&m->interned);
	for (size_t i = 0; i < m->nmade; i++)
		ws_buf_free(&m->made[i]);
	ws_buf_free(&m->short_text);
	ws_idmap_free(&m->text_of);
	ws_column_data_release(&m->meta);
	ws_column_data_release(&m->loss);
	ws_resources_free(&m->resources);
	free(m->devices);
	free(m->threads);
	free(m->counters);
	free(m->pids);
	ws_peaks_free(m->peaks);
	free(m->ranges.paths);
	free(m->attribution.crossings);
	ws_ops_release(&m->ops);
	free(m->collectives);
	ws_idmap_free(&m->collective_of_payload);
	ws_arena_free(&m->arena);
	free(m);
}

void ws_model_begin(struct ws_model **out, const struct ws_trace_reader *r, const char *name,
                    const struct ws_model_opts *opts)
{
	struct ws_model *m = ws_xarray(1, sizeof(*m));

	*out = NULL;
	m->name = ws_arena_copy(&m->arena, name, strlen(name));
	m->file = *ws_trace_reader_summary(r);
	m->by_launch = opts->by_launch;
	m->softmax_flops = opts->softmax_flops > 0 ? opts->softmax_flops : WS_SOFTMAX_FLOPS;
	if (opts->step_is_auto)
		m->step_found = ws_arena_copy(&m->arena, opts->step, strlen(opts->step));
	m->begin_ns = INT64_MAX;
	m->end_ns = INT64_MIN;
	*out = m;
}

void ws_extend_time(struct ws_model *m, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < m->begin_ns)
		m->begin_ns = from_ns;
	if (to_ns > m->end_ns)
		m->end_ns = to_ns;
}

enum ws_status ws_check_time(int64_t start_ns, int64_t dur_ns, const char *what, uint64_t row,
                             struct ws_err *err)
{
	WS_FAIL_IF(start_ns > WS_MAX_TIME_NS || start_ns < -WS_MAX_TIME_NS ||
	                   dur_ns > WS_MAX_TIME_NS,
	           err, CORRUPT, "time of %s %llu is out of bounds: %lld ns, for %lld ns", what,
	           (unsigned long long)row, (long long)start_ns, (long long)dur_ns);
	return WS_OK;
}

const char *ws_phase_name(enum ws_phase phase)
{
	static const char *const names[] = {
	        [WS_PHASE_FORWARD] = "forward",       [WS_PHASE_LOSS] = "loss",
	        [WS_PHASE_BACKWARD] = "backward",     [WS_PHASE_OPTIMIZER] = "optimizer",
	        [WS_PHASE_EVALUATION] = "evaluation", [WS_PHASE_OTHER] = "remainder",
	};

	return names[phase];
}

const char *ws_scope_name(enum ws_scope scope)
{
	static const char *const names[] = {WS_SCOPE_LIST(WS_LIST_SECOND)};

	return names[scope];
}

uint32_t ws_model_text(const struct ws_model *m, uint64_t string_id)
{
	uint32_t text = string_id ? ws_idmap_get(&m->text_of, string_id) : WS_TEXT_EMPTY;

	return text == WS_NONE ? WS_TEXT_EMPTY : text;
}

const struct ws_op_config *ws_cpu_op_config(const struct ws_model *m, uint32_t op)
{
	return op == WS_NONE ? NULL : &m->cpu_ops.configs[m->cpu_ops.config[op]];
}

bool ws_model_has_kernels(const struct ws_model *m)
{
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].kernels)
			return true;
	return false;
}

bool ws_model_has_work(const struct ws_model *m)
{
	return m->nwork || ws_model_has_kernels(m);
}

struct ws_bytes ws_model_device_name(const struct ws_model *m)
{
	for (size_t i = 0; i < m->ndevices; i++)
		if (m->devices[i].kernels && m->texts[m->devices[i].name].len)
			return m->texts[m->devices[i].name];
	return m->texts[WS_TEXT_EMPTY];
}

int ws_model_on_cpu(const struct ws_model *m)
{
	uint64_t on_cpu = 0, elsewhere = 0;

	for (size_t i = 0; i < m->ndevices; i++) {
		if (m->devices[i].kind == WS_DEVICE_CPU_REFERENCE)
			on_cpu += m->devices[i].kernels;
		else
			elsewhere += m->devices[i].kernels;
	}
	return on_cpu ? 1 + (elsewhere > 0) : 0;
}

struct ws_bytes ws_model_fact(const struct ws_model *m, const char *key)
{
	for (size_t i = 0; i < m->nfacts; i++)
		if (ws_name_is(m->facts[i].key, key))
			return m->facts[i].value;
	return (struct ws_bytes){"", 0};
}

/* CUDA is not older: earlier times are relative to a machine's start, or invalid. */
#define YEAR_2006_NS (INT64_C(1136073600) * 1000000000)

int64_t ws_model_recorded_ns(const struct ws_model *m)
{
	int64_t ns;

	return __builtin_add_overflow(m->file.base_ns, m->begin_ns, &ns) || ns < YEAR_2006_NS ? -1
	                                                                                      : ns;
}

/* --- soundness ------------------------------------------------------------------------------- */

const struct ws_law_def ws_law_defs[WS_LAWS] = {WS_LAW_LIST(WS_LIST_REST)};

bool ws_is_sound(const struct ws_soundness *s)
{
	for (int law = 0; law < WS_LAWS; law++)
		if (ws_broken_count(&s->broken[law]))
			return false;
	return true;
}

const char *ws_broken_what(struct ws_arena *texts, const struct ws_soundness *s, enum ws_law law)
{
	const struct ws_broken_law *b = &s->broken[law];
	const bool is_launch = law == WS_LAW_LAUNCH_HAS_WORK;
	const struct {
		uint64_t n, judged;
		const char *singular, *plural;
	} parts[] = {{b->kernels, b->judged, "kernel", "kernels"},
	             {b->calls, b->judged, is_launch ? "launch" : "record of the host",
	              is_launch ? "launches" : "records of the host"},
	             {b->copies, 0, "copy", "copies"}};
	const char *out = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const uint64_t n = parts[i].n, all = parts[i].judged;

		if (n)
			out = ws_arena_format(texts, "%s%s%s%s%s %s", out, *out ? ", " : "",
			                      ws_say_number(texts, (double)n), all ? " of " : "",
			                      all ? ws_say_number(texts, (double)all) : "",
			                      (all ? all : n) == 1 ? parts[i].singular
			                                           : parts[i].plural);
	}
	return out;
}
