/*
 * An event of a PyTorch trace as it stands in the file: its fields, and what
 * all kinds of events have in common.
 */
#include <stdlib.h>

#include "formats/pytorch/pytorch.h"

/* --- reading an event --- */

static const struct {
	const char *text;
	uint8_t len;
} arg_names[] = {
#define ARG(ID, text) {text, sizeof(text) - 1},
#include "formats/pytorch/pytorch.def"
};

static unsigned arg_slot(const char *text, size_t len)
{
	return (unsigned)(len * 31 + (unsigned char)text[0] * 7 + (unsigned char)text[len - 1] * 3 +
	                  (unsigned char)text[len / 2]) %
	       WS_PYTORCH_ARG_SLOTS;
}

void ws_pytorch_init(struct ws_pytorch *p, struct ws_import_out *out, struct ws_json_stream *text,
                     struct ws_import_clock *clock)
{
	*p = (struct ws_pytorch){.out = out, .text = text, .clock = clock};
	for (unsigned i = 0; i < WS_PYTORCH_ARGS; i++) {
		unsigned at = arg_slot(arg_names[i].text, arg_names[i].len);

		while (p->arg_slots[at])
			at = (at + 1) % WS_PYTORCH_ARG_SLOTS;
		p->arg_slots[at] = (uint8_t)(i + 1);
	}
	ws_import_text(out, (struct ws_bytes){WS_PYTORCH_DOMAIN, strlen(WS_PYTORCH_DOMAIN)},
	               &p->domain);
}

void ws_pytorch_free(struct ws_pytorch *p)
{
	free(p->waiting);
	free(p->ranges);
	free(p->flows);
	free(p->deferred);
	ws_map_free(&p->call_ids);
	free(p->work_ids);
	ws_buf_free(&p->deferred_text);
	ws_strtab_free(&p->rows);
	free(p->arrows);
	ws_strtab_free(&p->arrow_ends);
	ws_strtab_free(&p->flow_ids);
	ws_buf_free(&p->scratch);
	ws_buf_free(&p->names);
}

static enum ws_json_result parse_args(const struct ws_pytorch *p, struct ws_json_reader *j,
                                      struct ws_pytorch_event *e)
{
	struct ws_json_value key, value;
	enum ws_json_result r = ws_json_open(j, '{');
	unsigned at, arg;

	if (r != WS_JSON_OK)
		return r;
	while ((r = ws_json_member(j, &key)) == WS_JSON_OK) {
		r = ws_json_value(j, &value);
		if (r != WS_JSON_OK)
			return r;
		if (!key.len)
			continue;
		for (at = arg_slot(key.text, key.len); (arg = p->arg_slots[at]) != 0;
		     at = (at + 1) % WS_PYTORCH_ARG_SLOTS) {
			if (!ws_json_is(&key, arg_names[arg - 1].text, arg_names[arg - 1].len))
				continue;
			e->arg[arg - 1] = value;
			break;
		}
	}
	return r == WS_JSON_END ? WS_JSON_OK : r;
}

/* Where the value of a top-level key of an event goes. NULL: nowhere. */
static struct ws_json_value *event_field(struct ws_pytorch_event *e, const struct ws_json_value *k)
{
	switch (k->len) {
	case 2:
		return WS_JSON_IS(k, "ph")   ? &e->ph
		       : WS_JSON_IS(k, "ts") ? &e->ts
		       : WS_JSON_IS(k, "id") ? &e->id
		                             : NULL;
	case 3:
		return WS_JSON_IS(k, "cat")   ? &e->cat
		       : WS_JSON_IS(k, "pid") ? &e->pid
		       : WS_JSON_IS(k, "tid") ? &e->tid
		       : WS_JSON_IS(k, "dur") ? &e->dur
		                              : NULL;
	case 4:
		return WS_JSON_IS(k, "name") ? &e->name : NULL;
	default:
		return NULL;
	}
}

enum ws_json_result ws_pytorch_parse(const struct ws_pytorch *p, struct ws_json_reader *j,
                                     struct ws_pytorch_event *e)
{
	struct ws_json_value key, ignored, *to;
	enum ws_json_result r;

	memset(e, 0, sizeof(*e));
	r = ws_json_open(j, '{');
	if (r != WS_JSON_OK)
		return r;
	e->text.ptr = j->pos - 1;
	while ((r = ws_json_member(j, &key)) == WS_JSON_OK) {
		while (j->pos < j->end && *j->pos == ' ')
			j->pos++;
		if (WS_JSON_IS(&key, "args") && j->pos < j->end && *j->pos == '{') {
			r = parse_args(p, j, e);
		} else {
			to = event_field(e, &key);
			r = ws_json_value(j, to ? to : &ignored);
		}
		if (r != WS_JSON_OK)
			return r;
	}
	e->text.len = (size_t)(j->pos - (const char *)e->text.ptr);
	return r == WS_JSON_END ? WS_JSON_OK : r;
}

/* --- its parts --- */

uint64_t ws_pytorch_u64(const struct ws_json_value *v, uint64_t otherwise)
{
	int64_t n;

	return ws_json_i64(v, &n) && n >= 0 ? (uint64_t)n : otherwise;
}

int64_t ws_pytorch_i64(const struct ws_json_value *v, int64_t otherwise)
{
	int64_t n;

	return ws_json_i64(v, &n) ? n : otherwise;
}

void ws_pytorch_text(struct ws_pytorch *p, const struct ws_json_value *v, uint64_t *id)
{
	struct ws_bytes text = {NULL, 0};

	if (v->type == WS_JSON_STRING)
		text = ws_json_text(v, &p->scratch);
	ws_import_text(p->out, text, id);
}

/*
 * Times of the file are microseconds, absolute before 2024 and relative to
 * baseTimeNanoseconds since. Absolute ones would leave a trace little room
 * for its times, so they become relative to the second of the first one.
 */
static void set_origin(struct ws_pytorch *p, int64_t time_ns)
{
	const int64_t year_2001_ns = 1000000000000000000;

	p->has_origin = 1;
	if (time_ns >= year_2001_ns)
		p->origin_ns = time_ns - time_ns % 1000000000;
}

bool ws_pytorch_time(struct ws_pytorch *p, const struct ws_json_value *v, int64_t *time_ns)
{
	if (!ws_json_scaled(v, 3, time_ns))
		return 0;
	p->fractions |= memchr(v->text, '.', v->len) != NULL;
	if (!p->has_origin)
		set_origin(p, *time_ns);
	return !__builtin_sub_overflow(*time_ns, p->origin_ns, time_ns);
}

bool ws_pytorch_span(struct ws_pytorch *p, const struct ws_pytorch_event *e, int64_t *start_ns,
                     int64_t *dur_ns)
{
	if (!ws_pytorch_time(p, &e->ts, start_ns) || !ws_json_scaled(&e->dur, 3, dur_ns)) {
		p->out->lost[WS_LOST_import_bad_time]++;
		return 0;
	}
	p->at_zero += *start_ns == 0 && p->origin_ns == 0;
	return ws_import_time_ok(p->out, *start_ns, *dur_ns);
}

void ws_pytorch_thread(struct ws_pytorch *p, const struct ws_pytorch_event *e, uint64_t *thread)
{
	struct ws_bytes label = {NULL, 0};
	int64_t tid = 0;

	if (ws_json_i64(&e->arg[WS_ARG_ON_THREAD], &tid)) {
		ws_import_thread(p->out, ws_pytorch_u64(&e->pid, 0), (uint64_t)tid, label, thread);
		return;
	}
	if (!ws_json_i64(&e->tid, &tid) && e->tid.type == WS_JSON_STRING)
		label = ws_json_text(&e->tid, &p->scratch);
	/* a 32-bit number that was taken for a signed one */
	tid = tid < 0 ? tid & 0xffffffff : tid;
	ws_import_thread(p->out, ws_pytorch_u64(&e->pid, 0), (uint64_t)tid, label, thread);
}

unsigned ws_pytorch_word(const char *words, const char *text, size_t len)
{
	unsigned i = 0;

	for (; *words; words += strlen(words) + 1, i++)
		if (strlen(words) == len && memcmp(words, text, len) == 0)
			return i;
	return 0;
}
