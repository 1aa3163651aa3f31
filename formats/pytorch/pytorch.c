/*
 * The text of a PyTorch trace: finds the metadata and the events, and goes on
 * behind what cannot be read.
 */
#include "formats/pytorch/pytorch.h"

/* --- reading on when the window ends --- */

/* The text is cut off inside something. */
static void cut_off(struct ws_pytorch *p, uint64_t records)
{
	ws_import_lose(p->out, WS_LOST_import_cut_off, records);
	ws_import_warn(p->out, "the file ends in the middle, after %llu bytes of text",
	               (unsigned long long)ws_json_stream_offset(p->text, p->text->j.end));
}

/*
 * Get more text and stand at `from` again, to repeat an attempt that ran out
 * of it. *again = 0: there is no more, or no room for it. faults: as they
 * were before the attempt.
 */
static enum ws_status read_more(struct ws_pytorch *p, const char *from,
                                const struct ws_json_faults *faults, int *again, struct ws_err *err)
{
	int full, was_complete = p->text->j.complete;

	p->text->faults = *faults;
	p->text->j.pos = from;
	*again = 0;
	if (was_complete)
		return WS_OK;
	WS_FORWARD(ws_json_stream_fill(p->text, from, &full, err));
	*again = !full;
	return WS_OK;
}

static enum ws_json_result next_value(struct ws_pytorch *p, void *value)
{
	return ws_json_value(&p->text->j, value);
}

static enum ws_json_result next_member(struct ws_pytorch *p, void *key)
{
	return ws_json_member(&p->text->j, key);
}

/* ws_json_open for either bracket; tells which. */
static enum ws_json_result next_bracket(struct ws_pytorch *p, void *bracket)
{
	struct ws_json_reader *j = &p->text->j;
	enum ws_json_result r = ws_json_open(j, '{');

	if (r == WS_JSON_BAD)
		r = ws_json_open(j, '[');
	if (r == WS_JSON_OK)
		*(char *)bracket = j->pos[-1];
	return r;
}

static enum ws_json_result next_event(struct ws_pytorch *p, void *event)
{
	struct ws_json_reader *j = &p->text->j;
	enum ws_json_result r = ws_json_element(j);
	struct ws_json_value other;

	if (r != WS_JSON_OK || *j->pos == '{')
		return r == WS_JSON_OK ? ws_pytorch_parse(p, j, event) : r;
	/* whatever it is, it is no event: like one without a phase */
	memset(event, 0, sizeof(struct ws_pytorch_event));
	return ws_json_value(j, &other);
}

/* One of the above with as much text as it needs. *from: where it began, as it stands now. */
static enum ws_status attempt(struct ws_pytorch *p,
                              enum ws_json_result (*next)(struct ws_pytorch *p, void *out),
                              void *out, enum ws_json_result *r, const char **from,
                              struct ws_err *err)
{
	int again;

	do {
		const struct ws_json_faults faults = p->text->faults;

		*from = p->text->j.pos;
		*r = next(p, out);
		if (*r != WS_JSON_MORE)
			return WS_OK;
		WS_FORWARD(read_more(p, *from, &faults, &again, err));
		*from = p->text->j.pos;
	} while (again);
	return WS_OK;
}

/* --- metadata --- */

/* A key of the text and what it becomes; a list of them ends with one without text. */
struct name {
	const char *text, *becomes;
};

static const char *name_of(const struct name *list, const struct ws_json_value *key)
{
	for (; list->text; list++)
		if (ws_json_is(key, list->text, strlen(list->text)))
			return list->becomes;
	return NULL;
}

static bool next_pair(struct ws_json_reader *j, struct ws_json_value *key, struct ws_json_value *v)
{
	return ws_json_member(j, key) == WS_JSON_OK && ws_json_value(j, v) == WS_JSON_OK;
}

/* One element of deviceProperties: id and name first, the rest refers to them. */
static void device(struct ws_pytorch *p, const struct ws_json_value *object)
{
	static const struct name attrs[] = {
#define DEVICE(text, attr) {text, attr},
#include "formats/pytorch/pytorch.def"
	        {NULL, NULL}};
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(object, &faults), again = j;
	struct ws_json_value key, v;
	struct ws_bytes name = {NULL, 0};
	int64_t id = -1, value;

	if (object->type != WS_JSON_OBJECT || ws_json_open(&j, '{') != WS_JSON_OK)
		return;
	while (next_pair(&j, &key, &v)) {
		if (WS_JSON_IS(&key, "id") && !ws_json_i64(&v, &id))
			id = -1;
		if (WS_JSON_IS(&key, "name"))
			name = ws_json_text(&v, &p->scratch);
	}
	if (id < 0)
		return;
	ws_import_device(p->out, (uint64_t)id, name);
	ws_json_open(&again, '{');
	while (next_pair(&again, &key, &v)) {
		const char *attr = name_of(attrs, &key);

		if (attr && ws_json_i64(&v, &value))
			ws_import_device_attr(p->out, (uint64_t)id, attr, value);
	}
}

static void devices(struct ws_pytorch *p, const struct ws_json_value *array)
{
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(array, &faults);
	struct ws_json_value v;

	if (array->type != WS_JSON_ARRAY || ws_json_open(&j, '[') != WS_JSON_OK)
		return;
	while (ws_json_element(&j) == WS_JSON_OK && ws_json_value(&j, &v) == WS_JSON_OK)
		device(p, &v);
}

static void meta_scalar(struct ws_pytorch *p, const char *key, const struct ws_json_value *v)
{
	struct ws_bytes text;

	if (v->type != WS_JSON_NUMBER && v->type != WS_JSON_STRING && v->type != WS_JSON_TRUE &&
	    v->type != WS_JSON_FALSE)
		return;
	text = ws_json_text(v, &p->scratch);
	ws_import_meta(p->out, key, text);
}

static void distributed(struct ws_pytorch *p, const struct ws_json_value *object)
{
	static const struct name keys[] = {{"rank", "distributed.rank"},
	                                   {"world_size", "distributed.world_size"},
	                                   {"backend", "distributed.backend"},
	                                   {"nccl_version", "distributed.nccl_version"},
	                                   {NULL, NULL}};
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(object, &faults);
	struct ws_json_value key, v;

	if (object->type != WS_JSON_OBJECT || ws_json_open(&j, '{') != WS_JSON_OK)
		return;
	while (next_pair(&j, &key, &v)) {
		const char *meta = name_of(keys, &key);

		if (meta)
			meta_scalar(p, meta, &v);
	}
}

/* What is wanted of the top level is small; what is not may have any size. */
static const struct name wanted[] = {{"traceEvents", "traceEvents"},
                                     {"deviceProperties", "deviceProperties"},
                                     {"distributedInfo", "distributedInfo"},
                                     {"baseTimeNanoseconds", "baseTimeNanoseconds"},
                                     {"otherData", "otherData"},
#define META(text, key) {text, key},
#include "formats/pytorch/pytorch.def"
                                     {NULL, NULL}};

/* What a trace of ours said of itself when it was exported; the rest stands where PyTorch has it.
 */
static void own_meta(struct ws_pytorch *p, const struct ws_json_value *object)
{
	static const char *const elsewhere[] = {"tool.", "import.", "distributed."};
	struct ws_json_faults faults = {0};
	struct ws_json_reader j = ws_json_inside(object, &faults);
	struct ws_json_value key, v;
	struct ws_bytes text;
	char name[200];

	if (object->type != WS_JSON_OBJECT || ws_json_open(&j, '{') != WS_JSON_OK)
		return;
	while (next_pair(&j, &key, &v)) {
		bool is_wanted = key.len && key.len < sizeof(name) && !key.escaped &&
		                 memchr(key.text, '.', key.len) && v.type == WS_JSON_STRING;

		for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere) && is_wanted; i++)
			is_wanted =
			        !ws_bytes_begin((struct ws_bytes){key.text, key.len}, elsewhere[i]);
		for (size_t i = 0; wanted[i].text && is_wanted; i++)
			is_wanted = !ws_json_is(&key, wanted[i].becomes, strlen(wanted[i].becomes));
		if (!is_wanted)
			continue;
		memcpy(name, key.text, key.len);
		name[key.len] = '\0';
		text = ws_json_text(&v, &p->scratch);
		ws_import_meta(p->out, name, text);
	}
}

static void metadata(struct ws_pytorch *p, const char *name, const struct ws_json_value *v)
{
	if (strcmp(name, "deviceProperties") == 0)
		devices(p, v);
	else if (strcmp(name, "distributedInfo") == 0)
		distributed(p, v);
	else if (strcmp(name, "otherData") == 0)
		own_meta(p, v);
	else if (strcmp(name, "baseTimeNanoseconds") != 0)
		meta_scalar(p, name, v);
	else if (!ws_json_i64(v, &p->base_ns))
		p->base_ns = 0;
}

/* --- damage --- */

static uint64_t count_phases(const char *p, const char *end)
{
	static const char mark[] = "\"ph\"";
	uint64_t n = 0;

	while ((p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1)) != NULL) {
		n++;
		p += sizeof(mark) - 1;
	}
	return n;
}

/* "}, {" from p on, where the next event begins: its '{'. NULL: not there; *last: look again here.
 */
static const char *event_begin(const char *p, const char *end, const char **last)
{
	while ((p = memchr(p, '}', (size_t)(end - p))) != NULL) {
		const char *q = p + 1;
		int comma = 0;

		*last = p;
		while (q < end &&
		       (*q == ' ' || *q == '\n' || *q == '\r' || *q == '\t' || *q == ','))
			comma |= *q++ == ',';
		if (q == end)
			return NULL;
		if (*q == '{' && comma)
			return q;
		p++;
	}
	*last = end;
	return NULL;
}

/*
 * Leave the event that began at `from` and cannot be read, and those that it
 * ran into: on with the next place that looks like the begin of one.
 */
static enum ws_status resume(struct ws_pytorch *p, const char *from, int *ended, struct ws_err *err)
{
	struct ws_json_reader *j = &p->text->j;
	uint64_t lost = 0, place = ws_json_stream_offset(p->text, from);
	const char *look = from, *next, *last = from;
	int full = 0;

	for (;;) {
		next = event_begin(look, j->end, &last);
		lost += count_phases(look, next ? next : last);
		if (next || j->complete)
			break;
		WS_FORWARD(ws_json_stream_fill(p->text, last, &full, err));
		look = j->pos;
	}
	j->pos = next ? next : j->end;
	*ended = !next;
	ws_import_lose(p->out, WS_LOST_import_unreadable, lost ? lost : 1);
	if (p->unreadable++ == 0)
		ws_import_warn(p->out, "invalid JSON at byte %llu: continuing with the next event",
		               (unsigned long long)place);
	return WS_OK;
}

/*
 * The document is over, or cannot be followed any further, and text is left:
 * two documents in one file, or a bracket too many in the middle of one.
 */
static enum ws_status count_rest(struct ws_pytorch *p, const char *what, struct ws_err *err)
{
	struct ws_json_reader *j = &p->text->j;
	const uint64_t place = ws_json_stream_offset(p->text, j->pos);
	const ptrdiff_t part_of_mark = sizeof("\"ph\"") - 2;
	uint64_t lost = 0;
	int full;

	for (;;) {
		lost += count_phases(j->pos, j->end);
		if (j->complete)
			break;
		WS_FORWARD(ws_json_stream_fill(
		        p->text, j->end - j->pos > part_of_mark ? j->end - part_of_mark : j->pos,
		        &full, err));
	}
	j->pos = j->end;
	ws_import_lose(p->out, WS_LOST_import_unreadable, lost ? lost : 1);
	ws_import_warn(p->out, "%s at byte %llu, and what follows is not read", what,
	               (unsigned long long)place);
	return WS_OK;
}

/* Behind the end of the document nothing may follow but space. */
static enum ws_status expect_end(struct ws_pytorch *p, struct ws_err *err)
{
	struct ws_json_reader *j = &p->text->j;
	int full;

	for (;;) {
		while (j->pos < j->end && memchr(" \t\r\n", *j->pos, 4))
			j->pos++;
		if (j->pos < j->end)
			return count_rest(p, "the document ends", err);
		if (j->complete)
			return WS_OK;
		WS_FORWARD(ws_json_stream_fill(p->text, j->pos, &full, err));
	}
}

/* --- events ----------------------------------------------------------------------------------- */

/* The elements of traceEvents, behind its '['. *ended: so did the text. */
static enum ws_status events(struct ws_pytorch *p, int *ended, struct ws_err *err)
{
	struct ws_pytorch_event e;
	enum ws_json_result r;
	const char *from;

	*ended = 0;
	p->has_events = 1;
	while (!*ended) {
		WS_FORWARD(attempt(p, next_event, &e, &r, &from, err));
		if (r == WS_JSON_END)
			return WS_OK;
		if (r == WS_JSON_OK) {
			ws_pytorch_event(p, &e);
		} else if (r == WS_JSON_BAD || !p->text->j.complete) {
			/* what is over the window's limit is passed over, too */
			WS_FORWARD(resume(p, from, ended, err));
		} else {
			cut_off(p, count_phases(from, p->text->j.end));
			*ended = 1;
		}
	}
	return WS_OK;
}

/* --- the top level --- */

/* To the key traceEvents behind pos, over metadata that is no JSON: people put their own there. */
static enum ws_status find_events(struct ws_pytorch *p, int *found, struct ws_err *err)
{
	static const char mark[] = "\"traceEvents\"";
	struct ws_json_reader *j = &p->text->j;
	const size_t overlap = sizeof(mark) + 16;
	const char *at;
	int full = 0;

	ws_import_warn(p->out, "invalid JSON at byte %llu, before the events",
	               (unsigned long long)ws_json_stream_offset(p->text, j->pos));
	j->pos += j->pos < j->end; /* not the same key again */
	while (!(at = memmem(j->pos, (size_t)(j->end - j->pos), mark, sizeof(mark) - 1)) &&
	       !j->complete) {
		const char *keep = (size_t)(j->end - j->pos) > overlap ? j->end - overlap : j->pos;

		WS_FORWARD(ws_json_stream_fill(p->text, keep, &full, err));
	}
	*found = at != NULL;
	if (at)
		j->pos = at;
	return WS_OK;
}

/* The value of a member of the top level. name: NULL where it is not wanted. */
static enum ws_status member_value(struct ws_pytorch *p, const char *name, enum ws_json_result *r,
                                   int *ended, struct ws_err *err)
{
	struct ws_json_value v;
	const char *from;
	char bracket;
	int bad;

	*r = WS_JSON_OK;
	if (!name) {
		WS_FORWARD(ws_json_stream_skip(p->text, &bad, err));
		*r = bad ? WS_JSON_BAD : WS_JSON_OK;
		return WS_OK;
	}
	if (strcmp(name, "traceEvents") == 0) {
		WS_FORWARD(attempt(p, next_bracket, &bracket, r, &from, err));
		return *r == WS_JSON_OK ? events(p, ended, err) : WS_OK;
	}
	WS_FORWARD(attempt(p, next_value, &v, r, &from, err));
	if (*r == WS_JSON_OK)
		metadata(p, name, &v);
	return WS_OK;
}

/* Members of the top-level object, behind its '{'. */
static enum ws_status members(struct ws_pytorch *p, struct ws_err *err)
{
	struct ws_json_value v;
	enum ws_json_result r;
	const char *from;
	int ended = 0, found;

	while (!ended) {
		WS_FORWARD(attempt(p, next_member, &v, &r, &from, err));
		if (r == WS_JSON_END)
			return expect_end(p, err);
		if (r == WS_JSON_OK)
			WS_FORWARD(member_value(p, name_of(wanted, &v), &r, &ended, err));
		if (r == WS_JSON_OK)
			continue;
		if (p->has_events && r == WS_JSON_MORE && p->text->j.complete) {
			cut_off(p, 0); /* only metadata is behind them */
			return WS_OK;
		}
		if (p->has_events)
			return count_rest(p, "invalid JSON after the events", err);
		WS_FORWARD(find_events(p, &found, err));
		ended = !found;
	}
	return WS_OK;
}

static enum ws_status top_level(struct ws_pytorch *p, struct ws_err *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct ws_json_reader *j = &p->text->j;
	enum ws_json_result r;
	const char *from;
	char bracket;
	int ended, full;

	WS_FORWARD(ws_json_stream_fill(p->text, j->pos, &full, err));
	if (j->end - j->pos >= 3 && memcmp(j->pos, bom, 3) == 0)
		j->pos += 3;
	WS_FORWARD(attempt(p, next_bracket, &bracket, &r, &from, err));
	WS_FAIL_IF(r != WS_JSON_OK, err, CORRUPT, "it is not a JSON object or array");
	if (bracket == '{')
		return members(p, err);
	WS_FORWARD(events(p, &ended, err));
	return ended ? WS_OK : expect_end(p, err);
}

/* --- what it was --- */

static void tell_faults(struct ws_pytorch *p)
{
	const struct ws_json_faults *f = &p->text->faults;
	const struct {
		uint64_t count;
		const char *words;
	} told[] = {
	        {f->control_chars, "texts with raw control characters, kept as they are"},
	        {f->bad_escapes, "texts with escapes that JSON does not know, kept as they are"},
	        {f->not_numbers, "values that are not numbers (NaN or infinite), taken as unknown"},
	};

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		if (told[i].count)
			ws_import_warn(p->out, "%s: %llu", told[i].words,
			               (unsigned long long)told[i].count);
}

static void tell_format(struct ws_pytorch *p)
{
	const char *generation = p->names_2021                ? "2021"
	                         : p->base_ns || p->fractions ? "2024 or later"
	                                                      : "2022 or 2023";

	snprintf(p->out->stats->format, sizeof(p->out->stats->format), "generation of %s",
	         generation);
}

enum ws_status ws_import_pytorch(struct ws_import_out *o, struct ws_json_stream *text,
                                 struct ws_import_clock *clock, struct ws_err *err)
{
	struct ws_pytorch p;
	enum ws_status status = WS_OK;

	ws_pytorch_init(&p, o, text, clock);
	WS_THEN(status, top_level(&p, err));
	if (status == WS_OK && !p.has_events)
		status = WS_FAIL(err, CORRUPT, "it has no traceEvents");
	if (status == WS_OK)
		ws_pytorch_finish(&p);
	tell_faults(&p);
	tell_format(&p);
	if (__builtin_add_overflow(p.base_ns, p.origin_ns, &clock->base_ns))
		clock->base_ns = p.origin_ns;
	ws_pytorch_free(&p);
	return status;
}
