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
