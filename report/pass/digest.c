#include "report/pass/digest.h"
#include "formats/base/grow.h"
#include "formats/base/xalloc.h"

#include <stdlib.h>
#include <string.h>

void ws_digest_init(struct ws_digest *d, const struct ws_model *m, unsigned parts, size_t nkinds)
{
	*d = (struct ws_digest){.parts = parts,
	                        .ndevices = m->ndevices ? m->ndevices : 1,
	                        .ntexts = m->ntexts};
	if (parts & WS_DIGEST_CALLS)
		d->calls = ws_xarray(d->ntexts, sizeof(*d->calls));
	if (parts & WS_DIGEST_COSTS) {
		d->flops = ws_xarray(d->ntexts, sizeof(*d->flops));
		d->flops_unknown = ws_xarray(d->ntexts, sizeof(*d->flops_unknown));
	}
	d->cell_of = ws_xarray(nkinds, sizeof(*d->cell_of));
	memset(d->cell_of, 0xff, nkinds * sizeof(*d->cell_of));
	ws_digest_reserve_paths(d, 0);
}

void ws_digest_release(struct ws_digest *d)
{
	for (size_t i = 0; i < d->ncells; i++)
		ws_values_free(&d->cells[i].dur_ns);
	for (size_t i = 0; i < d->npaths; i++)
		ws_values_free(&d->paths[i].dur_ns);
	for (size_t i = 0; d->calls && i < d->ntexts; i++)
		ws_values_free(&d->calls[i].dur_ns);
	free(d->cells);
	ws_strtab_free(&d->cell_ids);
	free(d->paths);
	free(d->busy);
	free(d->cell_of);
	free(d->calls);
	free(d->flops);
	free(d->flops_unknown);
	*d = (struct ws_digest){0};
}

/* --- kernels ----------------------------------------------------------------------------- */

uint32_t ws_digest_add_cell(struct ws_digest *d, uint32_t kind, uint32_t config,
                            const struct ws_kernel_place *place)
{
	const uint32_t key[] = {config, place->path, place->class, place->direction, place->dtype};
	const uint64_t id = ws_strtab_add(&d->cell_ids, key, sizeof(key));

	if (id > d->ncells) {
		WS_GROW(d->cells, d->ncells + 1, d->cells_capacity);
		d->cells[d->ncells++] = (struct ws_digest_cell){.config = config,
		                                                .place = *place,
		                                                .first = UINT64_MAX};
	}
	return d->cell_of[kind] = (uint32_t)(id - 1);
}

void ws_digest_finish(struct ws_digest *d)
{
	d->kernels = 0;
	d->gpu_ns = 0;
	for (size_t i = 0; i < d->ncells; i++) {
		d->kernels += ws_digest_cell_count(&d->cells[i]);
		d->gpu_ns += d->cells[i].total_ns;
	}
}

/* --- paths ------------------------------------------------------------------------------- */

void ws_digest_reserve_paths(struct ws_digest *d, size_t npaths)
{
	size_t busy = d->paths_capacity;

	npaths += 2;
	if (npaths > d->paths_capacity) {
		ws_grow(&d->busy, &busy, npaths, d->ndevices * sizeof(*d->busy));
		WS_GROW(d->paths, npaths, d->paths_capacity);
	}
	for (; d->npaths < npaths; d->npaths++) {
		d->paths[d->npaths] = (struct ws_path_sums){0};
		memset(d->busy + d->npaths * d->ndevices, 0, d->ndevices * sizeof(*d->busy));
	}
}

int64_t ws_digest_busy_ns(const struct ws_digest *d, uint32_t path)
{
	const struct ws_union *busy = d->busy + (size_t)(uint32_t)(path + 2) * d->ndevices;
	int64_t ns = 0;

	for (size_t i = 0; i < d->ndevices; i++)
		ns += busy[i].busy_ns;
	return ns;
}

/* --- calls ------------------------------------------------------------------------------- */

void ws_digest_add_call(struct ws_digest *d, uint32_t name, int64_t dur_ns, int failed)
{
	d->ncalls++;
	d->calls[name].failed += (uint64_t)failed;
	d->calls[name].total_ns += dur_ns;
	ws_values_add(&d->calls[name].dur_ns, dur_ns);
}
