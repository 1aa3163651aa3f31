/*
 * What the rules of the advice say of traces that programs recorded: those that fire, and those
 * that looked and found nothing; the others have not what they need. docs/reference/advice.md has a
 * table made of it; published_tables holds every line, test_advice.c that no rule is missing.
 */
#pragma once

struct judged_trace {
	const char *file, *fires, *quiet;
};

/* below fixtures/ */
static const struct judged_trace judged_fixtures[] = {
        {"imports/bert-small-h100.json.gz", "A1 A3 A5 A7 A8 A20 A26 A27",
         "A4 A6 A9 A10 A12 A16 A17 A18 A19 A21 A22 A23 A24 A25 A28 A29 A30"},
        {"imports/alexnet-a100.json.gz", "A4 A20",
         "A1 A3 A5 A6 A9 A12 A16 A17 A18 A19 A21 A23 A24 A25 A26 A27 A28 A29 A30"},
        {"imports/event-sync-a100.json.gz", "A4 A20",
         "A1 A5 A6 A9 A12 A16 A17 A18 A19 A21 A23 A24 A25 A26 A27 A28 A29 A30"},
        {"recorded/aa/mlp-r1.wtrace", "A2", "A11"},
        {"recorded/aa/mlp-r6.wtrace", "", "A2 A11"},
        {"traces/step-bf16.wtrace", "A1 A21 A24",
         "A2 A6 A9 A11 A12 A13 A14 A16 A17 A18 A19 A20 A23 A25 A26 A27 A28 A29 A30"},
};

/* below ../shared/data/, which not everybody has */
static const struct judged_trace judged_local[] = {
        {"kineto/resnet50_w0_v100.pt.trace.json.gz", "A1 A4 A16 A18 A20",
         "A2 A3 A5 A6 A7 A8 A9 A10 A12 A13 A14 A17 A19 A21 A23 A24 A25 A26 A27 A28 A29 A30"},
        {"kineto/ddp_resnet_rank0_v100.json.gz", "A4 A24",
         "A1 A2 A5 A6 A9 A12 A13 A14 A16 A17 A18 A19 A20 A21 A23 A25 A26 A27 A28 A29 A30"},
        {"kineto/timesformer_h100.json.gz", "A3 A5 A6 A8 A10 A21 A22 A25 A26",
         "A1 A4 A7 A9 A12 A15 A16 A17 A18 A19 A20 A23 A24 A27 A28 A29 A30"},
        {"kineto/timesformer_mi300.json.gz", "A6 A8 A10 A21 A22 A25",
         "A1 A3 A7 A9 A12 A15 A16 A17 A18 A19 A20 A23 A24 A26 A27 A28 A29 A30"},
        {"kineto/hta_negqueue_a100.json.gz", "A3 A17 A18 A23 A24",
         "A1 A2 A4 A5 A6 A7 A8 A9 A10 A12 A13 A14 A16 A19 A20 A21 A25 A26 A27 A28 A29 A30"},
        {"kineto/deepseek_v3_train_h800.json.gz", "A12 A17 A27",
         "A1 A4 A5 A6 A9 A13 A16 A18 A19 A20 A21 A23 A24 A25 A26 A28 A29 A30"},
        {"kineto/vllm_gptoss_decode_mi300.json.gz", "",
         "A1 A3 A6 A8 A9 A12 A16 A17 A18 A19 A20 A21 A23 A24 A25 A26 A27 A28 A29 A30"},
        {"kineto/sglang_qwen3_prefilldecode_mi300.json.gz", "A23",
         "A1 A3 A6 A7 A8 A9 A10 A12 A16 A17 A18 A19 A20 A21 A24 A25 A26 A27 A28 A29 A30"},
        {"kineto/torch_compile_triton.json.gz", "",
         "A1 A3 A6 A7 A8 A9 A12 A16 A17 A18 A19 A20 A21 A23 A24 A25 A26 A27 A28 A29 A30"},
        {"nsys/h100_2gpu_1s_emit_nvtx.sqlite", "A18",
         "A1 A3 A6 A9 A12 A16 A17 A19 A20 A21 A23 A24 A25 A26 A27 A28 A29 A30"},
        {"nsys/rtx3070ti_small_fwdbwd_nvtx.sqlite", "A4 A6 A18 A20 A24",
         "A1 A3 A5 A9 A12 A16 A17 A19 A21 A23 A25 A26 A27 A28 A29 A30"},
        {"nsys/a100_2p7b_fp32_fwd_clean.sqlite", "A4",
         "A1 A5 A6 A9 A12 A16 A17 A18 A19 A20 A21 A23 A24 A25 A26 A27 A28 A29 A30"},
        {"nsys/a100_2p7b_compile_cudagraph.sqlite", "A27",
         "A1 A4 A5 A9 A12 A16 A17 A18 A19 A20 A21 A23 A24 A25 A26 A28 A29 A30"},
        {"nsys/um_vecadd_schema291.sqlite", "A27 A28",
         "A1 A4 A5 A9 A12 A16 A17 A18 A19 A20 A21 A23 A24 A25 A26 A29 A30"},
};

/* Made by hand, of every rule: tests of ../scenarios/advice.scenario. */
struct judged_by_hand {
	const char *rule, *fires, *quiet;
};
static const struct judged_by_hand judged_by_hand[] = {
        {"A1", "scenario_advice/a1_fires_when_the_gpu_waits_for_launches",
         "scenario_advice/a1_is_quiet_under_one_per_cent"},
        {"A2", "scenario_advice/a2_names_the_step_that_stands_out",
         "scenario_advice/a2_is_quiet_about_steady_steps"},
        {"A3", "scenario_advice/a3_tells_what_to_pad_to", "scenario_advice/a3_is_quiet_about_m"},
        {"A4", "scenario_advice/a4_lists_products_that_leave_tensor_cores_idle",
         "scenario_advice/a4_is_quiet_up_to_a_fifth"},
        {"A5", "scenario_advice/a5_finds_kernels_of_an_older_architecture",
         "scenario_advice/a5_is_quiet_about_a_fifth"},
        {"A6", "scenario_advice/a6_caps_the_speed_up_and_names_what_can_be_fused",
         "scenario_advice/a6_is_quiet_about_40_percent"},
        {"A7", "scenario_advice/a7_tells_the_rows_from_which_a_product_is_compute_bound",
         "scenario_advice/a7_is_quiet_about_large_products_and_small_shares"},
        {"A8", "scenario_advice/a8_finds_tiles_that_reach_over_the_edge",
         "scenario_advice/a8_is_quiet_about_full_waves_and_does_not_count_those_of_split_sums"},
        {"A9", "scenario_advice/a9_fires_over_3_percent",
         "scenario_advice/a9_is_quiet_at_3_percent"},
        {"A10", "scenario_advice/a10_measures_bandwidth_against_the_devices",
         "scenario_advice/a10_is_quiet_about_fast_kernels_and_short_ones"},
        {"A11", "scenario_advice/a11_wants_a_loss_scale_for_fp16",
         "scenario_advice/a11_is_quiet_about_a_dynamic_loss_scale"},
        {"A12", "scenario_advice/a12_fires_over_5_percent_of_casts",
         "scenario_advice/a12_is_quiet_at_5_percent_of_casts"},
        {"A13", "scenario_advice/a13_holds_the_optimizer_against_28_bytes_a_weight",
         "scenario_advice/a13_is_quiet_about_15_percent"},
        {"A14", "scenario_advice/a14_finds_the_search_in_warm_up",
         "scenario_advice/a14_is_quiet_when_all_steps_run_the_same"},
        {"A15", "scenario_advice/a15_hints_at_dense_convolutions",
         "scenario_advice/a15_is_quiet_about_a_dense_one"},
        {"A16", "scenario_advice/each_wait_has_its_rule",
         "scenario_advice/a_busy_device_waits_for_nothing"},
        {"A17", "scenario_advice/each_wait_has_its_rule",
         "scenario_advice/a_busy_device_waits_for_nothing"},
        {"A18", "scenario_advice/each_wait_has_its_rule",
         "scenario_advice/a_busy_device_waits_for_nothing"},
        {"A19", "scenario_idle/a_host_that_waited_for_the_device",
         "scenario_advice/a_busy_device_waits_for_nothing"},
        {"A20", "scenario_advice/each_wait_has_its_rule",
         "scenario_advice/a_busy_device_waits_for_nothing"},
        {"A21", "scenario_advice/a21_names_attention_that_is_not_fused",
         "scenario_advice/a21_is_quiet_about_fused_attention"},
        {"A22", "scenario_advice/a22_tells_what_products_would_save",
         "scenario_advice/a22_is_quiet_about_good_use"},
        {"A23", "scenario_advice/a23_finds_waits_for_streams_and_events",
         "scenario_advice/a24_finds_gaps_between_queued_kernels"},
        {"A24", "scenario_advice/a24_finds_gaps_between_queued_kernels",
         "scenario_advice/a23_finds_waits_for_streams_and_events"},
        {"A25", "scenario_advice/a25_finds_a_late_first_launch,_a26_work_behind_the_last",
         "scenario_advice/a25_and_a26_are_quiet_about_a_step_that_the_device_fills"},
        {"A26", "scenario_advice/a25_finds_a_late_first_launch,_a26_work_behind_the_last",
         "scenario_advice/a25_and_a26_are_quiet_about_a_step_that_the_device_fills"},
        {"A27", "scenario_advice/a27_finds_grids_that_leave_the_gpu_empty",
         "scenario_advice/a27_is_quiet_about_a_tenth_and_about_full_grids"},
        {"A28", "scenario_advice/a28_finds_page_faults_of_managed_memory",
         "scenario_advice/a28_is_quiet_about_other_copies"},
        {"A29", "scenario_advice/a29_hints_at_fp64_on_a_geforce",
         "scenario_advice/a29_is_quiet_on_a_gpu_made_for_it"},
        {"A30", "scenario_advice/a30_finds_gathers_over_20_percent",
         "scenario_advice/a30_is_quiet_about_a_fifth_and_about_embeddings"},
};
