#include "kernels/graph/autocast.h"

#include "kernels/graph/ops.h"

struct ws_tensor *ws_autocast(struct ws_graph *graph, enum ws_sub sub, struct ws_tensor *t)
{
	enum ws_dtype target;

	if (!t || !graph->autocast || !ws_dtype_is_float(t->dtype))
		return t;
	switch (ws_sub_info(sub)->autocast) {
	case WS_AUTOCAST_LOW:
		target = graph->precision.low;
		break;
	case WS_AUTOCAST_F32:
		target = WS_DTYPE_F32;
		break;
	default: /* the kernels read mixed operands as they are */
		return t;
	}
	if (t->dtype == target)
		return t;
	if (t->role != WS_ROLE_PARAM)
		return ws_op_cast(graph, t, target);
	if (!t->low)
		t->low = ws_op_cast(graph, t, target);
	return t->low;
}
