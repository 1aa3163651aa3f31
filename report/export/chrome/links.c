/*
 * Which operation asked for what: External ids as PyTorch's tools join them, recorded or, of
 * annotated operations, made here; and what a framework says of collectives.
 */
#include "report/export/chrome/private.h"

#include "formats/base/grow.h"

static void add_link(struct ws_chrome *ch, uint64_t pid, uint64_t correlation, uint64_t external_id)
{
	const uint64_t key[2] = {pid, correlation};

	if (!correlation || ws_strtab_find(&ch->links, key, sizeof(key)))
		return;
	ws_strtab_add(&ch->links, key, sizeof(key));
	WS_GROW(ch->external_ids, ch->nexternal_ids + 1, ch->external_ids_capacity);
	ch->external_ids[ch->nexternal_ids++] = external_id;
}

/* A kernel has a correlation id; an operation has none, and its External id tells it. */
static void key_of(uint64_t correlation, uint64_t external_id, int64_t time_ns, uint64_t key[3])
{
	key[0] = correlation;
	key[1] = correlation ? 0 : external_id;
	key[2] = (uint64_t)time_ns;
}

void ws_chrome_load_links(struct ws_chrome *ch)
{
	uint64_t key[3];

	WS_CHROME_EACH(ch, EXTERNAL_LINK, external_link, r)
		add_link(ch, r->pid, r->correlation, r->external_id);
	WS_NEW(&ch->arena, ch->collective_rows, ch->kind[WS_KIND_COLLECTIVE].n);
	for (size_t i = 0; i < ch->kind[WS_KIND_COLLECTIVE].n; i++) {
		const struct ws_row_collective *c = WS_CHROME_ROW(ch, COLLECTIVE, collective, i);

		key_of(c->correlation, c->external_id, c->time_ns, key);
		ch->collective_rows[ws_strtab_add(&ch->collectives, key, sizeof(key)) - 1] = i;
	}
}

const struct ws_row_collective *ws_chrome_collective(struct ws_chrome *ch, uint64_t correlation,
                                                     uint64_t external_id, int64_t time_ns)
{
	uint64_t key[3], at;

	key_of(correlation, external_id, time_ns, key);
	at = ws_strtab_find(&ch->collectives, key, sizeof(key));
	if (!at)
		return NULL;
	ws_map_add(&ch->collectives_told, at, 1);
	return WS_CHROME_ROW(ch, COLLECTIVE, collective, ch->collective_rows[at - 1]);
}

uint64_t ws_chrome_external_id(const struct ws_chrome *ch, uint64_t pid, uint64_t correlation)
{
	const uint64_t key[2] = {pid, correlation};
	const uint64_t link = correlation ? ws_strtab_find(&ch->links, key, sizeof(key)) : 0;

	return link ? ch->external_ids[link - 1] : 0;
}

/* Forget what has ended on the slice's track. Slices come by track, the outer ones first. */
static void close_ops(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	if (ch->op_track != s->track)
		ch->nopen_ops = 0;
	ch->op_track = s->track;
	while (ch->nopen_ops && ch->open_ops[ch->nopen_ops - 1].end_ns <= s->start_ns)
		ch->nopen_ops--;
}

void ws_chrome_begin_op(struct ws_chrome *ch, const struct ws_chrome_slice *s, uint64_t external_id)
{
	if (!external_id)
		return;
	close_ops(ch, s);
	WS_GROW(ch->open_ops, ch->nopen_ops + 1, ch->open_ops_capacity);
	ch->open_ops[ch->nopen_ops++] = (struct ws_chrome_open_op){s->end_ns, external_id};
}

uint64_t ws_chrome_external_id_of_call(struct ws_chrome *ch, const struct ws_chrome_slice *s)
{
	const uint64_t pid = ch->track[s->track].a, correlation = ws_chrome_correlation(ch, s);
	const uint64_t known = ws_chrome_external_id(ch, pid, correlation);

	if (known || !ch->nopen_ops)
		return known;
	close_ops(ch, s);
	if (!ch->nopen_ops)
		return 0;
	/* of a framework's operations the work has what was recorded of it, and nothing else */
	if (!ch->kind[WS_KIND_CPU_OP].n)
		add_link(ch, pid, correlation, ch->open_ops[ch->nopen_ops - 1].external_id);
	return ch->open_ops[ch->nopen_ops - 1].external_id;
}
