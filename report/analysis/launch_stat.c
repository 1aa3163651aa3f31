#include "report/analysis/launch_stat.h"

#include "report/base/stat.h"

void ws_launch_stat_add(struct ws_launch_stat *s, const struct ws_config *config, uint64_t n,
                        int64_t weight_ns)
{
	double weight = (double)weight_ns;

	if (config->shape.registers > s->registers_max)
		s->registers_max = config->shape.registers;
	if (config->shape.shared_bytes > s->shared_max_bytes)
		s->shared_max_bytes = config->shape.shared_bytes;
	if (!config->has_occupancy)
		return;
	s->known += n;
	s->weight_ns += weight;
	s->blocks_ns += weight * config->occupancy.blocks_per_sm;
	s->percent_ns += weight * config->occupancy.percent;
	s->kineto_ns += weight * config->occupancy.kineto_percent;
}

double ws_launch_stat_percent(const struct ws_launch_stat *s)
{
	return ws_stat_ratio(s->percent_ns, s->weight_ns);
}

double ws_launch_stat_kineto(const struct ws_launch_stat *s)
{
	return ws_stat_ratio(s->kineto_ns, s->weight_ns);
}

void ws_cells_set_launch(struct ws_cell *cells, const struct ws_launch_stat *s)
{
	if (s->registers_max && s->registers_max <= INT64_MAX)
		ws_cell_set_int(&cells[0], (int64_t)s->registers_max);
	/* 0 bytes are a true number where anything of the launch was recorded */
	if ((s->registers_max || s->known || s->shared_max_bytes) &&
	    s->shared_max_bytes <= INT64_MAX)
		ws_cell_set_int(&cells[1], (int64_t)s->shared_max_bytes);
	ws_cell_set_real(&cells[2], ws_stat_ratio(s->blocks_ns, s->weight_ns));
	ws_cell_set_real(&cells[3], ws_launch_stat_percent(s));
	ws_cell_set_real(&cells[4], ws_launch_stat_kineto(s));
}
