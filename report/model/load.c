#include "report/model/load.h"

#include <stdlib.h>
#include <string.h>

void ws_take_fact(struct ws_model *m, struct ws_strtab *keys, struct ws_bytes mark)
{
	static const char prefix[] = "workload.";
	const char *p = mark.ptr, *end = p + mark.len;
	const char *equals;
	uint64_t id;

	if (mark.len < sizeof(prefix) || memcmp(p, prefix, sizeof(prefix) - 1) != 0)
		return;
	p += sizeof(prefix) - 1;
	equals = memchr(p, '=', (size_t)(end - p));
	if (!equals || equals == p)
		return;
	id = ws_strtab_add(keys, p, (size_t)(equals - p));
	m->nfacts = id > m->nfacts ? (size_t)id : m->nfacts;
	m->facts[id - 1] = (struct ws_fact){{p, (size_t)(equals - p)},
	                                    {equals + 1, (size_t)(end - equals - 1)}};
}

void ws_loader_release(struct ws_loader *l)
{
	ws_arena_free(&l->temp);
	ws_idmap_free(&l->thread_of);
	ws_idmap_free(&l->process_of);
	ws_idmap_free(&l->device_of);
	ws_idmap_free(&l->config_of);
	ws_idmap_free(&l->payload_of);
	ws_idmap_free(&l->kernel_of);
	ws_idmap_free(&l->op_config_of);
	ws_classifier_free(l->classifier);
}
