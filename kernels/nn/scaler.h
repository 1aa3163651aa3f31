/*
 * Loss scaling: the loss is multiplied before the backward pass, so that small
 * gradients survive in fp16, and the gradients are divided before they are used.
 *
 * A dynamic scale follows torch.cuda.amp.GradScaler and apex's LossScaler, which
 * agree but for the largest scale: a step with an infinite or NaN gradient
 * changes no parameter and halves the scale, `interval` steps without one
 * double it. A static scale is a constant: nothing is checked, as in apex.
 */
#pragma once

#include "kernels/graph/graph.h"

enum ws_loss_scale_kind {
	WS_LOSS_SCALE_DEFAULT, /* that of the dtype mode */
	WS_LOSS_SCALE_NONE,
	WS_LOSS_SCALE_STATIC,
	WS_LOSS_SCALE_DYNAMIC,
};

struct ws_loss_scale {
	enum ws_loss_scale_kind kind;
	double value;     /* STATIC: the scale */
	int64_t interval; /* DYNAMIC: clean steps before the scale doubles; 0: 2000 */
};

/* The tensors of a scaler and the rule of its update. */
struct ws_scaler {
	bool dynamic;
	struct ws_scaler_rule rule;  /* op.h; dynamic */
	double first;                /* value of the scale in the first step */
	struct ws_tensor *scale;     /* [1], fp32 */
	struct ws_tensor *tracker;   /* int32 [1]: clean steps since the scale changed; dynamic */
	struct ws_tensor *found_inf; /* [1]: 1 after a gradient that is not finite; dynamic */
};

/* What a precision does when it is asked for `asked`: never DEFAULT. */
struct ws_loss_scale ws_loss_scale_resolve(const struct ws_precision *precision,
                                           struct ws_loss_scale asked);

/*
 * Append, at the end of the loss phase, the multiplication of the loss. Returns
 * the scaled loss, from which the backward pass must start; the loss itself
 * where scaling is NONE, and scaler is left zeroed then.
 */
struct ws_tensor *ws_scaler_append(struct ws_graph *graph, struct ws_loss_scale scaling,
                                   struct ws_tensor *loss, struct ws_scaler *scaler);

/*
 * In the optimizer phase: begin (found_inf = 0), then gradients divided by the scale, a of each row
 * into out by one op, all a of one dtype and all out; at last the update of the scale. Begin and
 * end do nothing for a static scale. The caller opens the scope of all but the end. list: must live
 * as long as the graph.
 */
void ws_scaler_begin(struct ws_graph *graph, struct ws_scaler *scaler);
void ws_scaler_unscale(struct ws_graph *graph, const struct ws_scaler *scaler,
                       const struct ws_update_row *list, int count);
void ws_scaler_end(struct ws_graph *graph, const struct ws_scaler *scaler);
