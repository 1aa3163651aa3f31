#include "report/model/label.h"

#include <string.h>

#include "report/base/names.h"

/* PyTorch calls its optimizers' steps Optimizer.step#Adam.step. */
#define PYTORCH_OPTIMIZER "Optimizer.step#"

bool ws_name_loads_data(struct ws_bytes name)
{
	static const char *const patterns[] = {"enumerate(DataLoader)#*", "enumerate(DataPipe)#*"};

	return WS_NAME_IS_ONE_OF(name, patterns);
}

bool ws_name_is_optimizer_step(struct ws_bytes name)
{
	return ws_bytes_begin(name, PYTORCH_OPTIMIZER);
}

bool ws_name_marks_iteration(struct ws_bytes name)
{
	return ws_name_is_optimizer_step(name) || ws_name_loads_data(name) ||
	       ws_bytes_begin(name, "Optimizer.zero_grad#");
}

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
		break;
	}
	if (ws_name_is_optimizer_step(m->texts[name]))
		return WS_PHASE_OPTIMIZER;
	/* Lightning's profiler: [pl][profile][Strategy]SingleDeviceStrategy.training_step */
	if (ws_name_matches(ws_bytes_of("[pl][profile]*training_step"), m->texts[name]))
		return WS_PHASE_FORWARD;
	if (ws_name_matches(ws_bytes_of("[pl][profile]*.backward"), m->texts[name]))
		return WS_PHASE_BACKWARD;
	return WS_PHASE_OTHER;
}

enum ws_phase ws_label_phase_in(const struct ws_model *m, enum ws_phase around, uint32_t name)
{
	const enum ws_phase own = around == WS_PHASE_OTHER || around == WS_PHASE_OPTIMIZER
	                                  ? ws_label_phase(m, name)
	                                  : WS_PHASE_OTHER;

	return own == WS_PHASE_OTHER ? around : own;
}

/* --- words of attention ------------------------------------------------------------------ */

/* The words that matter; one of several spellings each. */
enum word {
	COMPUTING,
	SCALED,
	DOT,
	PRODUCT,
	ATTENTION,
	SCORES,
	QK,
	SOFTMAX,
	FINAL,
	MATMUL,
	NWORDS,
};

static const char *const spellings[NWORDS] = {
        [COMPUTING] = " computing compute computes calculate calculating ",
        [SCALED] = " scaled ",
        [DOT] = " dot ",
        [PRODUCT] = " product ",
        [ATTENTION] = " attention attn selfattention ",
        [SCORES] = " score scores ",
        [QK] = " qk qkt ",
        [SOFTMAX] = " softmax ",
        [FINAL] = " final value values pv av ",
        [MATMUL] = " matmul matmuls mm bmm gemm multiply multiplication ",
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next word of a name at *p, with a blank before and behind it, in lower case; *p goes on. A
 * capital behind a small letter begins a word. False at the end. */
static bool next_word(const char **p, const char *end, char out[32])
{
	size_t n = 0;

	while (*p < end && !is_letter(**p))
		++*p;
	if (*p == end)
		return false;
	out[n++] = ' ';
	for (const char *first = *p; *p < end && is_letter(**p); ++*p) {
		if (*p > first && (*p)[-1] >= 'a' && **p <= 'Z')
			break;
		if (n < 30)
			out[n++] = (char)(**p | 0x20);
	}
	out[n++] = ' ';
	out[n] = '\0';
	return true;
}

enum ws_attention_word ws_label_attention(struct ws_bytes name)
{
	const char *p = name.ptr, *end = p + name.len;
	bool has[NWORDS] = {false};
	unsigned words = 0;
	char word[32];

	/* a sentence is no name of a part */
	if (name.len > 64 || memmem(name.ptr, name.len, "::", 2))
		return WS_WORD_NONE;
	for (; next_word(&p, end, word); words++)
		for (int i = 0; i < NWORDS; i++)
			has[i] |= strstr(spellings[i], word) != NULL;
	if (has[SOFTMAX] && (has[COMPUTING] || has[ATTENTION] || has[SCORES]))
		return WS_WORD_SOFTMAX;
	if (has[SOFTMAX])
		return words == 1 ? WS_WORD_MAYBE_SOFTMAX : WS_WORD_NONE;
	if (has[FINAL] && has[MATMUL])
		return WS_WORD_FINAL;
	if (has[QK] || (has[SCORES] && has[ATTENTION]))
		return WS_WORD_SCORES;
	if (has[SCORES] && (words == 1 || has[COMPUTING]))
		return WS_WORD_MAYBE_SCORES;
	if (has[SCALED] && has[DOT] && has[PRODUCT] && has[ATTENTION])
		return WS_WORD_ATTENTION;
	return WS_WORD_NONE;
}

uint8_t ws_label_marks(const struct ws_model *m, uint32_t name)
{
	if (name == WS_TEXT_SETUP)
		return WS_IN_SETUP;
	if (name == WS_TEXT_WARM_UP)
		return WS_IN_WARM_UP;
	switch (ws_label_attention(m->texts[name])) {
	case WS_WORD_ATTENTION:
	case WS_WORD_SCORES:
	case WS_WORD_FINAL:
		return WS_IN_ATTENTION;
	case WS_WORD_SOFTMAX:
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
