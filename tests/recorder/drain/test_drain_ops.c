/* PyTorch's operations, as the collector defines them: the rows that an import of a profile has. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/recorder/by_hand.h"

static void start(void)
{
	by_hand_start(NULL);
}

TestSuite(drain_ops, .init = start, .fini = by_hand_stop, .timeout = 600);

/* A definition's body, word by word. */
static struct {
	uint64_t words[64];
	uint32_t n;
} body;

static void put_word(uint64_t word)
{
	body.words[body.n++] = word;
}

static void begin(const char *name, uint16_t inputs)
{
	const struct ws_def_op op = {.name_size = (uint16_t)strlen(name), .inputs = inputs};

	memset(&body, 0, sizeof(body));
	memcpy(&body.words[0], &op, sizeof(op));
	memcpy(&body.words[1], name, strlen(name));
	body.n = 1 + (uint32_t)WS_ALIGN8(strlen(name)) / 8;
}

static void input(enum ws_input_kind kind, uint32_t n)
{
	const struct ws_def_input in = {.kind = (uint8_t)kind, .n = n};
	uint64_t word;

	memcpy(&word, &in, sizeof(word));
	put_word(word);
}

/* A contiguous matrix; strided 0: its strides are not told. */
static void matrix(uint16_t type, uint64_t rows, uint64_t columns, uint8_t strided)
{
	const struct ws_def_input in = {.kind = WS_INPUT_TENSOR,
	                                .type = type,
	                                .n = 2,
	                                .has_strides = strided};
	uint64_t word;

	memcpy(&word, &in, sizeof(word));
	put_word(word);
	put_word(rows);
	put_word(columns);
	if (strided) {
		put_word(columns);
		put_word(1);
	}
}

static void number(enum ws_input_kind kind, double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	input(kind, 0);
	put_word(word);
}

/* Id of the definition: its place in the log, as of strings. */
static uint64_t define(void)
{
	const uint64_t at = atomic_load(&seg->defs_head) / 8 + 1;

	put_def(WS_DEF_OP, at, body.words, body.n * 8);
	return at;
}

static void put_call(uint64_t op, int64_t from, int64_t to, int64_t sequence, uint64_t thread)
{
	const struct ws_rec_op rec = {
	        .head = {sizeof(rec), WS_REC_OP, 0, BASE + from},
	        .config = (uint32_t)op,
	        .forward_thread = thread,
	        .end_ns = BASE + to,
	        .sequence = sequence,
	};

	put_bytes(0, &rec, sizeof(rec));
}

Test(drain_ops, an_operation_is_the_row_of_a_profile_with_its_cost)
{
	uint64_t op;
	struct probe p;

	begin("aten::addmm", 5);
	matrix(6, 1, 3, 1);
	matrix(6, 4, 2, 1);
	matrix(6, 2, 3, 1);
	input(WS_INPUT_INT, 0);
	put_word(1);
	number(WS_INPUT_DOUBLE, -0.1);
	op = define();
	put_call(op, 10, 30, 7, 0);
	put_call(op, 40, 50, 7, 2);
	p = by_hand_finish();

	cr_assert_eq(ROWS(&p, op_config), 1);
	cr_expect_str_eq(TEXT(&p, op_config, name, 0), "aten::addmm");
	cr_expect_str_eq(TEXT(&p, op_config, dims, 0), "[[1,3],[4,2],[2,3],[],[]]");
	cr_expect_str_eq(TEXT(&p, op_config, strides, 0), "[[3,1],[2,1],[3,1],[],[]]");
	cr_expect_str_eq(TEXT(&p, op_config, types, 0),
	                 "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]");
	cr_expect_str_eq(TEXT(&p, op_config, inputs, 0),
	                 "[\"\",\"\",\"\",\"1\",\"-0.10000000000000001\"]");
	/* 4 by 3 sums of 2 products, and the bias */
	cr_expect_eq(CELL(&p, op_config, flops, 0), 2 * 4 * 3 * 2 + 4 * 3);
	cr_assert_eq(ROWS(&p, cpu_op), 2);
	cr_expect_eq(CELL(&p, cpu_op, start_ns, 0), 10);
	cr_expect_eq(CELL(&p, cpu_op, dur_ns, 0), 20);
	cr_expect_eq(CELL(&p, cpu_op, sequence, 0), 7);
	cr_expect_eq(CELL(&p, cpu_op, forward_thread, 0), 0);
	cr_expect_eq(CELL(&p, cpu_op, forward_thread, 1), 2);
	cr_expect_eq(CELL(&p, cpu_op, config, 1), CELL(&p, op_config, id, 0));
	probe_close(&p);
}

Test(drain_ops, each_kind_of_input_is_written_as_pytorch_writes_it)
{
	struct probe p;

	begin("x", 8);
	input(WS_INPUT_OTHER, 0);
	input(WS_INPUT_TENSOR_LIST, 2);
	matrix(15, 1, 2, 1);
	matrix(15, 3, 4, 0);
	input(WS_INPUT_INT_LIST, 2);
	put_word(3);
	put_word((uint64_t)-1);
	input(WS_INPUT_INT_LIST, 0);
	input(WS_INPUT_BOOL_LIST, 2);
	put_word(0);
	put_word(1);
	number(WS_INPUT_DOUBLE, 2);
	input(WS_INPUT_COMPLEX, 0);
	matrix(999, 1, 1, 0);
	put_call(define(), 1, 2, -1, 0);
	p = by_hand_finish();

	cr_assert_eq(ROWS(&p, op_config), 1);
	cr_expect_str_eq(TEXT(&p, op_config, dims, 0), "[[],[[1,2],[3,4]],[],[],[],[],[],[1,1]]");
	cr_expect_str_eq(TEXT(&p, op_config, strides, 0), "[[],[[2,1],[]],[],[],[],[],[],[]]");
	cr_expect_str_eq(
	        TEXT(&p, op_config, types, 0),
	        "[\"\",\"TensorList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\","
	        "\"Scalar\",\"\"]");
	cr_expect_str_eq(TEXT(&p, op_config, inputs, 0),
	                 "[\"\",\"\",\"[3, -1]\",\"[]\",\"[False, True]\",\"2.\",\"\",\"\"]");
	probe_close(&p);
}

Test(drain_ops, a_call_of_a_module_is_the_call_of_a_python_module)
{
	struct probe p;

	begin("nn.Module: fc1 (Linear)", 0);
	put_call(define(), 5, 9, -1, 0);
	p = by_hand_finish();
	cr_expect_eq(ROWS(&p, op_config), 0);
	cr_expect_eq(ROWS(&p, cpu_op), 0);
	cr_assert_eq(ROWS(&p, python_call), 1);
	cr_expect_str_eq(TEXT(&p, python_call, name, 0), "nn.Module: fc1 (Linear)");
	cr_expect_eq(CELL(&p, python_call, dur_ns, 0), 4);
	cr_expect_geq((int64_t)CELL(&p, python_call, module, 0), 0);
	probe_close(&p);
}

/* The program can write into its segment what it wants. */
Test(drain_ops, what_makes_no_sense_is_counted_and_its_calls_still_have_a_name)
{
	uint64_t cut, op;
	struct probe p;

	begin("cut", 2);
	input(WS_INPUT_INT_LIST, 1000000);
	cut = define();
	begin("whole", 0);
	op = define();
	put_call(cut, 1, 2, -1, 0);
	put_call(op, 9, 8, -1, 0);      /* ends before it begins */
	put_call(op + 1, 3, 4, -1, 0);  /* no definition begins there */
	put_call(1 << 30, 3, 4, -1, 0); /* nor behind the log */
	p = by_hand_finish();
	cr_assert_eq(ROWS(&p, cpu_op), 1);
	cr_assert_eq(ROWS(&p, op_config), 2);
	cr_expect_str_eq(TEXT(&p, op_config, name, 0), "cut");
	cr_expect_eq(CELL(&p, op_config, dims, 0), 0);
	cr_expect_eq(ws_drain_lost(drain, WS_DROPPED_unknown_record), 4);
	probe_close(&p);
}
