#include "report/model/label.h"

/* PyTorch calls its optimizers' steps Optimizer.step#Adam.step. */
#define PYTORCH_OPTIMIZER "Optimizer.step#"

enum ws_phase ws_label_phase(const struct ws_model *m, uint32_t name)
{
	switch (name) {
	case WS_TEXT_FORWARD:
		return WS_PHASE_FORWARD;
	case WS_TEXT_LOSS:
		return WS_PHASE_LOSS;
	case WS_TEXT_BACKWARD:
		return WS_PHASE_BACKWARD;
	case WS_TEXT_OPTIMIZER:
		return WS_PHASE_OPTIMIZER;
	default:
		return ws_bytes_begin(m->texts[name], PYTORCH_OPTIMIZER) ? WS_PHASE_OPTIMIZER
		                                                         : WS_PHASE_OTHER;
	}
}

uint8_t ws_label_marks(uint32_t name)
{
	switch (name) {
	case WS_TEXT_SETUP:
		return WS_IN_SETUP;
	case WS_TEXT_WARM_UP:
		return WS_IN_WARM_UP;
	case WS_TEXT_ATTENTION:
	case WS_TEXT_SCORES:
	case WS_TEXT_FINAL_MATMUL:
		return WS_IN_ATTENTION;
	case WS_TEXT_COMPUTING_SOFTMAX:
		return WS_IN_ATTENTION | WS_IN_SOFTMAX;
	default:
		return 0;
	}
}

/* A range beats what is in it: an elementwise operation in `computing softmax` is softmax. Scale
 * and mask are told apart wherever the program put them. */
uint32_t ws_label_class(const struct ws_op_facts *op, uint8_t marks)
{
	if (op && (op->kind == WS_TEXT_SCALE || op->kind == WS_TEXT_MASK))
		return op->kind;
	if (marks & WS_IN_SOFTMAX)
		return WS_TEXT_SOFTMAX;
	return op ? op->kind : WS_TEXT_EMPTY;
}
