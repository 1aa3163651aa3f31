/*
 * What the rules of the advice say of traces that programs recorded: those that fire, and those
 * that looked and found nothing; the others have not what they need. docs/advice.md has a table
 * made of it; published_tables holds every line, test_advice.c that no rule is missing.
 */
#pragma once

struct judged_trace {
	const char *file, *fires, *quiet;
};

/* below fixtures/ */
static const struct judged_trace judged_fixtures[] = {
        {"imports/bert-small-h100.json.gz", "A1 A3 A5 A7 A8 A19 A20",
         "A4 A6 A9 A10 A12 A16 A17 A18 A21 A22"},
        {"imports/alexnet-a100.json.gz", "A4 A20", "A1 A3 A5 A6 A9 A12 A16 A17 A18 A19 A21"},
        {"imports/event-sync-a100.json.gz", "A4 A20", "A1 A5 A6 A9 A12 A16 A17 A18 A19 A21"},
        {"recorded/aa/mlp-r1.wtrace", "A2", "A11"},
        {"recorded/aa/mlp-r6.wtrace", "", "A2 A11"},
        {"traces/step-bf16.wtrace", "A1 A21", "A2 A6 A9 A11 A12 A13 A14 A16 A17 A18 A19 A20"},
};

/* below ../shared/data/, which not everybody has */
static const struct judged_trace judged_local[] = {
        {"kineto/resnet50_w0_v100.pt.trace.json.gz", "A1 A4 A16 A18 A20",
         "A2 A3 A5 A6 A7 A8 A9 A10 A12 A13 A14 A17 A19 A21"},
        {"kineto/ddp_resnet_rank0_v100.json.gz", "A4",
         "A1 A2 A5 A6 A9 A12 A13 A14 A16 A17 A18 A19 A20 A21"},
        {"kineto/timesformer_h100.json.gz", "A3 A5 A6 A8 A10 A21 A22",
         "A1 A4 A7 A9 A12 A15 A16 A17 A18 A19 A20"},
        {"kineto/timesformer_mi300.json.gz", "A6 A8 A21", "A1 A3 A9 A12 A16 A17 A18 A19 A20"},
        {"kineto/hta_negqueue_a100.json.gz", "A3 A17 A18",
         "A1 A2 A4 A5 A6 A7 A8 A9 A10 A12 A13 A14 A16 A19 A20 A21"},
        {"kineto/deepseek_v3_train_h800.json.gz", "A12 A17",
         "A1 A4 A5 A6 A9 A13 A16 A18 A19 A20 A21"},
        {"kineto/vllm_gptoss_decode_mi300.json.gz", "",
         "A1 A3 A6 A8 A9 A12 A16 A17 A18 A19 A20 A21"},
        {"kineto/sglang_qwen3_prefilldecode_mi300.json.gz", "",
         "A1 A3 A6 A8 A9 A12 A16 A17 A18 A19 A20 A21"},
        {"kineto/torch_compile_triton.json.gz", "", "A1 A3 A6 A8 A9 A12 A16 A17 A18 A19 A20 A21"},
        {"nsys/h100_2gpu_1s_emit_nvtx.sqlite", "A18", "A1 A3 A6 A9 A12 A16 A17 A19 A20 A21"},
        {"nsys/rtx3070ti_small_fwdbwd_nvtx.sqlite", "A4 A6 A18 A19 A20",
         "A1 A3 A5 A9 A12 A16 A17 A21"},
        {"nsys/a100_2p7b_fp32_fwd_clean.sqlite", "A4", "A1 A5 A6 A9 A12 A16 A17 A18 A19 A20 A21"},
        {"nsys/a100_2p7b_compile_cudagraph.sqlite", "", "A1 A4 A5 A9 A12 A16 A17 A18 A19 A20 A21"},
        {"nsys/um_vecadd_schema291.sqlite", "", "A4 A5 A9 A12 A16 A17 A18 A19 A20 A21"},
};

/* Made by hand, of every rule: tests of test_advice.c, _products.c and _work.c. */
struct judged_by_hand {
	const char *rule, *fires, *quiet;
};
static const struct judged_by_hand judged_by_hand[] = {
        {"A1", "advice/a1_fires_when_the_gpu_waits_for_launches",
         "advice/a1_is_quiet_when_the_gpu_is_busy"},
        {"A2", "advice/a2_names_the_step_that_stands_out",
         "advice/a2_is_quiet_about_steady_steps_and_silent_about_two"},
        {"A3", "advice_products/a3_tells_what_to_pad_to", "advice_products/a3_is_quiet_about_m"},
        {"A4", "advice_products/a4_lists_products_that_leave_tensor_cores_idle",
         "advice_products/a4_is_quiet_up_to_a_fifth_and_on_devices_without_tensor_cores"},
        {"A5", "advice_products/a5_finds_kernels_of_an_older_architecture",
         "advice_products/a5_is_quiet_about_a_fifth_and_about_the_same_kernels_on_an_a100"},
        {"A6", "advice_work/a6_caps_the_speed_up_and_names_what_can_be_fused",
         "advice_work/a6_is_quiet_about_40_percent_and_not_judged_without_products"},
        {"A7", "advice_products/a7_tells_the_rows_from_which_a_product_is_compute_bound",
         "advice_products/a7_is_quiet_about_large_products_and_small_shares"},
        {"A8", "advice_products/a8_finds_tiles_that_reach_over_the_edge",
         "advice_products/a8_is_quiet_about_full_waves_and_does_not_count_those_of_split_sums"},
        {"A9", "advice_work/a9_fires_over_3_percent_and_not_at_3",
         "advice_work/a9_fires_over_3_percent_and_not_at_3"},
        {"A10", "advice_work/a10_measures_bandwidth_against_the_devices",
         "advice_work/a10_is_quiet_about_fast_kernels_and_short_ones"},
        {"A11", "advice_work/a11_knows_the_mistakes_that_a_workload_tells_of",
         "advice_work/a11_knows_the_mistakes_that_a_workload_tells_of"},
        {"A12", "advice_work/a12_fires_over_5_percent_of_casts_and_not_at_5",
         "advice_work/a12_fires_over_5_percent_of_casts_and_not_at_5"},
        {"A13", "advice_work/a13_holds_the_optimizer_against_28_bytes_a_weight",
         "advice_work/a13_holds_the_optimizer_against_28_bytes_a_weight"},
        {"A14", "advice/a14_finds_the_search_in_warm_up_and_minds_it_in_a_measured_step",
         "advice/a14_is_quiet_when_all_steps_run_the_same"},
        {"A15", "advice/a15_hints_at_dense_convolutions", "advice/a15_hints_at_dense_convolutions"},
        {"A16", "advice/each_wait_has_its_rule", "advice/a_busy_device_waits_for_nothing"},
        {"A17", "advice/each_wait_has_its_rule", "advice/a_busy_device_waits_for_nothing"},
        {"A18", "advice/each_wait_has_its_rule", "advice/a_busy_device_waits_for_nothing"},
        {"A19", "idle/a_host_that_waited_for_the_device", "advice/a_busy_device_waits_for_nothing"},
        {"A20", "advice/each_wait_has_its_rule", "advice/a_busy_device_waits_for_nothing"},
        {"A21", "advice_work/a21_names_attention_that_is_not_fused",
         "advice_work/a21_names_attention_that_is_not_fused"},
        {"A22", "advice_products/a22_tells_what_products_would_save",
         "advice_products/a22_is_quiet_about_good_use_and_launch_bound_runs"},
};
