#include "formats/op_cost/op_cost.h"

#include "formats/op_cost/rules.h"

struct model {
	const char *name;
	ws_cost_rule_fn rule;
	int a, b;
	size_t inputs;
	enum ws_nvtx_op kind;
	enum ws_op_direction direction;
};

static const struct model models[] = {
#define OP(name, rule, a, b, inputs, kind, direction) \
	{name, ws_cost_rule_##rule, a, b, inputs, WS_NVTX_OP_##kind, WS_OP_##direction},
#include "formats/op_cost/op_cost.def"
#undef OP
};

static const struct model *find_model(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (strlen(models[i].name) == len && memcmp(models[i].name, name, len) == 0)
			return &models[i];
	return NULL;
}

/* *in_place: found by leaving out the underscore that ends the name. */
static const struct model *model_of(struct ws_bytes name, bool *in_place)
{
	static const char aten[] = "aten::";
	const char *p = name.ptr;
	size_t len = name.len;
	const struct model *m;

	*in_place = 0;
	if (len > sizeof(aten) && memcmp(p, aten, sizeof(aten) - 1) == 0) {
		p += sizeof(aten) - 1;
		len -= sizeof(aten) - 1;
	}
	m = find_model(p, len);
	if (m || !len || p[len - 1] != '_')
		return m;
	*in_place = 1;
	return find_model(p, len - 1);
}

static enum ws_op_dtype first_dtype(const struct ws_op_inputs *op)
{
	for (size_t i = 0; i < op->n; i++)
		if (op->in[i].is_tensor && !op->in[i].is_output && op->in[i].category == 3)
			return op->in[i].dtype;
	for (size_t i = 0; i < op->n; i++)
		if (op->in[i].is_tensor && !op->in[i].is_output)
			return op->in[i].dtype;
	return WS_DTYPE_NONE;
}

void ws_op_cost(const struct ws_op_desc *desc, struct ws_op_cost *out)
{
	struct ws_op_inputs op;
	const struct model *m;
	bool in_place;

	*out = (struct ws_op_cost){.kind = WS_NVTX_OP_OTHER};
	m = model_of(desc->name, &in_place);
	ws_op_inputs_read(&op, desc, m ? m->inputs : WS_OP_MAX_INPUTS);
	out->dtype = op.malformed ? WS_DTYPE_NONE : first_dtype(&op);
	if (!m)
		return;
	out->kind = m->kind;
	out->direction = m->direction;
	if (op.malformed || op.overflow)
		return;
	m->rule(&op, &(struct ws_cost_call){out, m->a, m->b, in_place});
	if (op.overflow)
		*out = (struct ws_op_cost){.kind = out->kind,
		                           .direction = out->direction,
		                           .dtype = out->dtype};
}
