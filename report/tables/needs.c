#include "report/tables/needs.h"

#include "report/tables/tables.h"

#define ALWAYS  (-1)
#define CLASSES (WS_DIGEST_PLACES | WS_DIGEST_NAMES)

/* A table, one of its columns, and what that takes. Every table says where kernels ran on the CPU.
 * A table that is not here gets all there is. */
static const struct need {
	const struct ws_table_def *def;
	int column;
	unsigned parts;
} needs[] = {
        {&ws_def_kernel_summary, ALWAYS, WS_DIGEST_KERNELS},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_op_class, CLASSES},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_direction, CLASSES},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_dtype, CLASSES},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_tensor, WS_DIGEST_NAMES},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_class_by_name, WS_DIGEST_NAMES},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_class_by_range, WS_DIGEST_PLACES},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_per_step, WS_DIGEST_STEPS},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_flops, WS_DIGEST_COSTS},
        {&ws_def_kernel_summary, WS_TC_kernel_summary_tflops, WS_DIGEST_COSTS},
        {&ws_def_kernel_trace, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_kernel_launches, ALWAYS, WS_DIGEST_KERNELS},
        {&ws_def_classes, ALWAYS, CLASSES},
        {&ws_def_ranges, ALWAYS, WS_DIGEST_PATHS},
        {&ws_def_ranges, WS_TC_ranges_flops, WS_DIGEST_COSTS},
        {&ws_def_ranges, WS_TC_ranges_tflops, WS_DIGEST_COSTS},
        {&ws_def_ranges, WS_TC_ranges_bytes, WS_DIGEST_COSTS},
        {&ws_def_ranges_rollup, ALWAYS, WS_DIGEST_PATHS},
        {&ws_def_range_kernels, ALWAYS, WS_DIGEST_PLACES | WS_DIGEST_PATHS},
        {&ws_def_steps, ALWAYS, WS_DIGEST_STEPS},
        {&ws_def_steps, WS_TC_steps_total_ns, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_tokens_per_s, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_images_per_s, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_outlier, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_mfu, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_hfu, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_check, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_window_forward_ns, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_window_loss_ns, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_window_backward_ns, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_window_optimizer_ns, WS_DIGEST_ROWS},
        {&ws_def_steps, WS_TC_steps_window_remainder_ns, WS_DIGEST_ROWS},
        {&ws_def_roofline, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_softmax_matmul, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_step_statistics, ALWAYS, WS_DIGEST_STEPS | WS_DIGEST_ROWS},
        {&ws_def_step_split, ALWAYS, WS_DIGEST_STEPS},
        {&ws_def_ops, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_gpu, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_execution, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_idle, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_idle_gaps, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_launch_latency, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_api_summary, ALWAYS, WS_DIGEST_CALLS | WS_DIGEST_KERNELS},
        {&ws_def_memory_time, ALWAYS, WS_DIGEST_KERNELS},
        {&ws_def_memory_size, ALWAYS, WS_DIGEST_KERNELS},
        {&ws_def_memory, ALWAYS, WS_DIGEST_ROWS},
        {&ws_def_summary, ALWAYS, CLASSES | WS_DIGEST_STEPS | WS_DIGEST_LEFT | WS_DIGEST_ROWS},
        {&ws_def_advice, ALWAYS, WS_DIGEST_STEPS | WS_DIGEST_ROWS},
        {&ws_def_losses, ALWAYS, WS_DIGEST_NAMES | WS_DIGEST_LEFT},
        {&ws_def_method, ALWAYS, WS_DIGEST_KERNELS},
        {&ws_def_resources, ALWAYS, WS_DIGEST_KERNELS},
};

unsigned ws_table_needs(const struct ws_table_def *def, const uint8_t *columns)
{
	unsigned parts = 0;
	bool known = false;

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		const struct need *need = &needs[i];

		if (need->def != def)
			continue;
		known = true;
		if (need->column == ALWAYS || !columns || columns[need->column])
			parts |= need->parts;
	}
	return known ? parts
	             : WS_DIGEST_KERNELS | WS_DIGEST_JOINED | WS_DIGEST_CALLS | WS_DIGEST_NAMES;
}
