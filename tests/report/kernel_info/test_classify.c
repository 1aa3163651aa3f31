#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <string.h>

#include "report/kernel_info/classify.h"
#include "tests/support/doc_section.h"
#include "tests/support/paths.h"

static struct ws_classifier *classifier(const char *user_rules)
{
	struct ws_classifier *c = NULL;
	struct ws_err err;

	cr_assert(eq(int,
	             ws_classifier_new(user_rules, user_rules ? strlen(user_rules) : 0, &c, &err),
	             WS_OK),
	          "%s", err.text);
	return c;
}

static struct ws_kernel_traits traits_of(struct ws_classifier *c, const char *name)
{
	struct ws_kernel_traits t;

	ws_classify(c, name, strlen(name), &t);
	return t;
}

/* Classify with the built-in rules only. */
static struct ws_kernel_traits traits(const char *name)
{
	struct ws_classifier *c = classifier(NULL);
	struct ws_kernel_traits t = traits_of(c, name);

	ws_classifier_free(c);
	return t;
}

static const char *tensor_in_fixture(enum ws_tensor t)
{
	return t == WS_TENSOR_NOT_APPLICABLE ? "-" : ws_tensor_shown(t);
}

/* The next field of a line of the fixture. */
static char *field(char **at)
{
	char *begin = *at;

	*at += strcspn(*at, "\t");
	if (**at)
		*(*at)++ = '\0';
	return begin;
}

static const char *const directions[] = {
#define X(NAME, name) #name,
        WS_NAME_DIRECTION_LIST(X)
#undef X
};

static const char *or_dash(const char *name, const char *nothing)
{
	return strcmp(name, nothing) ? name : "-";
}

Test(classify, every_name_of_the_fixture_gets_its_class_cores_dtype_and_direction)
{
	struct ws_classifier *c = classifier(NULL);
	FILE *f = fopen(WS_FIXTURES "/kernel_names.tsv", "r");
	unsigned names = 0, wrong = 0;
	char line[4096];

	cr_assert(ne(ptr, f, NULL));
	while (fgets(line, sizeof(line), f)) {
		char *at = line, *f1, *f2, *f3, *f4;
		const char *tensor, *dtype, *direction;
		struct ws_kernel_traits t;

		if (*line == '#')
			continue;
		line[strcspn(line, "\n")] = '\0';
		f1 = field(&at);
		f2 = field(&at);
		f3 = field(&at);
		f4 = field(&at);
		field(&at); /* its origin */
		t = traits_of(c, at);
		tensor = tensor_in_fixture(t.tensor);
		dtype = or_dash(ws_name_dtype_name(t.dtype), "none");
		direction = or_dash(directions[t.direction], "unknown");
		names++;
		if (strcmp(ws_op_class_name(t.op_class), f1) || strcmp(tensor, f2) ||
		    strcmp(dtype, f3) || strcmp(direction, f4)) {
			wrong++;
			cr_log_error("%s: %s %s %s %s, not %s %s %s %s", at,
			             ws_op_class_name(t.op_class), tensor, dtype, direction, f1, f2,
			             f3, f4);
		}
	}
	fclose(f);
	ws_classifier_free(c);
	cr_expect(ge(uint, names, 131 + 150 + 105));
	cr_expect(eq(uint, wrong, 0));
}

Test(classify, our_own_prefix_decides_before_any_rule)
{
	/* a general rule would see "gather", the user's rule everything */
	struct ws_classifier *c = classifier("class pool .\n");
	struct ws_kernel_traits t = traits_of(c, "ws_gemm_gather_fwd_bf16_f32");

	cr_expect(eq(int, t.op_class, WS_CLASS_GEMM));
	cr_expect(eq(int, t.direction, WS_NAME_DIRECTION_FWD));
	cr_expect(eq(int, t.dtype, WS_NAME_DTYPE_BF16));
	cr_expect(eq(int, t.tensor, WS_TENSOR_NO));
	/* the longest class counts, and only a whole word */
	cr_expect(eq(int, traits_of(c, "ws_gemm_aux_splitk_f32").op_class, WS_CLASS_GEMM_AUX));
	cr_expect(eq(int, traits_of(c, "ws_gemmish_f32").op_class, WS_CLASS_POOL));
	cr_expect(eq(int, traits_of(c, "ws_gemm_nn_fwd_mma_bf16").tensor, WS_TENSOR_YES));
	ws_classifier_free(c);
}

Test(classify, the_parts_of_a_call_of_attention_are_told_from_calls)
{
	static const struct {
		const char *name;
		enum ws_name_call call;
	} cases[] = {
	        {"void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16>(int)",
	         WS_NAME_CALL_BEFORE},
	        {"void vllm::paged_attention_v2_reduce_kernel<float, 128>(float*)",
	         WS_NAME_CALL_BEFORE},
	        {"void flash::flash_fwd_splitkv_combine_kernel<Traits<128>, 4>(Flash_fwd_params)",
	         WS_NAME_CALL_BEFORE},
	        {"void "
	         "cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>>>>(P)",
	         WS_NAME_CALL_BEFORE},
	        {"void flash_fwd_mla_combine_kernel<cutlass::bfloat16_t, 512>(Params)",
	         WS_NAME_CALL_BEFORE},
	        {"_fwd_kernel_stage2", WS_NAME_CALL_BEFORE},
	        {"_decode_softmax_reducev_fwd_kernel", WS_NAME_CALL_BEFORE},
	        {"reduce_segments", WS_NAME_CALL_BEFORE},
	        {"void merge_attn_states_kernel<__nv_bfloat16, 128u>(int)", WS_NAME_CALL_BEFORE},
	        {"void flashinfer::MergeStatesKernel<8u, 16u, __nv_bfloat16>(int)",
	         WS_NAME_CALL_BEFORE},
	        {"void flashinfer::PersistentVariableLengthMergeStatesKernel<8u>(int)",
	         WS_NAME_CALL_BEFORE},
	        {"void flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<64>>(P)",
	         WS_NAME_CALL_BEFORE},
	        {"void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64>>(P)",
	         WS_NAME_CALL_BEHIND},
	        {"flash::prepare_varlen_num_blocks_kernel(int, int)", WS_NAME_CALL_BEHIND},
	        {"get_mla_metadata_kernel(Mla_metadata_params)", WS_NAME_CALL_BEHIND},
	        {"_fwd_grouped_kernel_stage1", WS_NAME_CALL_OWN},
	        {"kernel_unified_attention_3d", WS_NAME_CALL_OWN},
	        {"void paged_attention_ll4mi_QKV_mfma16_kernel<0>(int)", WS_NAME_CALL_OWN},
	        {"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(P)",
	         WS_NAME_CALL_OWN},
	        {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<T<64>>(P)", WS_NAME_CALL_OWN},
	        {"void at::native::reduce_kernel<512, 1>(int)", WS_NAME_CALL_OWN},
	};
	struct ws_classifier *c = classifier(NULL);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct ws_kernel_traits t = traits_of(c, cases[i].name);

		cr_expect(eq(int, t.call, cases[i].call), "%s", cases[i].name);
		cr_expect(t.op_class == WS_CLASS_ATTENTION || t.call == WS_NAME_CALL_OWN, "%s",
		          cases[i].name);
		cr_expect(eq(int, t.op_class == WS_CLASS_ATTENTION,
		             i + 1 < sizeof(cases) / sizeof(*cases)),
		          "%s", cases[i].name);
	}
	ws_classifier_free(c);
}

Test(classify, tile_alignment_and_architecture_come_from_the_name)
{
	static const struct {
		const char *name;
		unsigned m, n, align, arch;
	} cases[] = {
	        {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1_"
	         "ffma_aligna4_alignc2_execute_kernel__5x_cublas",
	         256, 128, 2, 80},
	        {"void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)",
	         256, 128, 1, 80},
	        {"cutlass_75_tensorop_bf16_s1688gemm_bf16_128x64_32x2_nn_align1", 128, 64, 1, 75},
	        {"cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f32_128x256x64_2x1x1_0_ntn_"
	         "align8",
	         128, 256, 8, 90},
	        {"nvjet_sm90_tst_128x8_64x12_4x1_v_bz_splitK_TNT", 128, 8, 0, 90},
	        {"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", 256, 128, 0, 0},
	        {"ampere_sgemm_64x32_sliced1x4_tn", 64, 32, 0, 80},
	        {"volta_scudnn_128x64_relu_interior_nn_v1", 128, 64, 0, 70},
	        {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1_SN", 128, 256,
	         0, 0},
	        {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x8_wt64x16x4_ws1x1_wr2x2", 256, 64, 0,
	         0},
	        {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", 16, 128, 0, 0},
	        {"bmm_Bfloat16_E2m1E2m1_Fp32_bA16_bB16_t128x8x256_s6_et128x8_m128x8x64_c1x1x1", 128,
	         8, 0, 0},
	        /* filter and instruction shapes are no tiles */
	        {"dgrad_1x1_stride_2x2", 0, 0, 0, 0},
	        {"sm80_xmma_fprop_implicit_gemm_g1_tensor16x8x8_execute", 0, 0, 0, 80},
	        /* only gemm and conv have them */
	        {"void fft2d_r2c_32x32<float, 0, 0, 0>(float2 *)", 0, 0, 0, 0},
	        /* absurd numbers are none */
	        {"xgemm_99999999999999999999x64_align4294967297", 0, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ws_kernel_traits t = traits(cases[i].name);

		cr_expect(eq(uint, t.tile_m, cases[i].m), "%s", cases[i].name);
		cr_expect(eq(uint, t.tile_n, cases[i].n), "%s", cases[i].name);
		cr_expect(eq(uint, t.align, cases[i].align), "%s", cases[i].name);
		cr_expect(eq(uint, t.arch, cases[i].arch), "%s", cases[i].name);
	}
}

static void expect_normal(const char *name, const char *normal)
{
	char out[256];

	cr_expect(eq(sz, ws_name_normalise(name, strlen(name), out, sizeof(out)), strlen(normal)));
	cr_expect_str_eq(out, normal);
}

Test(classify, two_tools_spelling_of_a_name_is_normalised_to_one)
{
	expect_normal("void at::native::(anonymous namespace)::f<4, false>(int)",
	              "at::native::anon::f<4, false>");
	expect_normal("void at::native::<unnamed>::f<(int)4, false>(int)",
	              "at::native::anon::f<4, false>");
	expect_normal("f<(unsigned int)0, (bool)1, (long)2, (unsigned long)3>", "f<0, 1, 2, 3>");
	expect_normal("fbgemm_gpu::Kernel", "fb_gpu::kernel");
	expect_normal("f<(vllm::Fp8KVCacheDataType)0>", "f<(vllm::kvtype)0>");
	expect_normal("_ZN2at6native39_GLOBAL__N__5cd812b1_7_Loss_cu_5b0651e138nll_loss_x",
	              "_zn2at6native39anon38nll_loss_x");
	expect_normal("_GLOBAL__N_", "anon");
	expect_normal("", "");
	expect_normal("VOID X", "x");
}

Test(classify, normalising_never_writes_past_the_buffer)
{
	char out[4] = {1, 1, 1, 1};

	cr_expect(eq(sz, ws_name_normalise("ABCDEF", 6, out, 3), 2));
	cr_expect_str_eq(out, "ab");
	cr_expect(eq(chr, out[3], 1));
	cr_expect(eq(sz, ws_name_normalise("<unnamed>", 9, out, 3), 2));
	cr_expect_str_eq(out, "an");
	cr_expect(eq(sz, ws_name_normalise("A\0B", 3, out, 4), 3));
	cr_expect_str_eq(out, "a b");
}

Test(classify, any_bytes_are_a_name)
{
	struct ws_classifier *c = classifier(NULL);
	struct ws_kernel_traits t;
	static char long_name[1 << 20];

	ws_classify(c, "", 0, &t);
	cr_expect(eq(int, t.op_class, WS_CLASS_OTHER));
	ws_classify(c, "\xff\xfe\0softmax\n=cmd", 15, &t);
	cr_expect(eq(int, t.op_class, WS_CLASS_SOFTMAX));
	ws_classify(c, "_Z", 2, &t);
	ws_classify(c, "((((<<<<", 8, &t);

	/* the patterns with .* start anew at each repetition */
	for (size_t i = 0; i + 8 < sizeof(long_name); i += 8)
		memcpy(long_name + i, "winograd", 8);
	ws_classify(c, long_name, sizeof(long_name), &t);
	cr_expect(eq(int, t.op_class, WS_CLASS_CONV));
	ws_classifier_free(c);
}

Test(classify, a_name_seen_before_gives_the_same_answer)
{
	struct ws_classifier *c = classifier(NULL);
	struct ws_kernel_traits first = traits_of(c, "volta_sgemm_128x64_nn"), again;

	for (int i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "softmax_%d", i);
		cr_assert(eq(int, traits_of(c, name).op_class, WS_CLASS_SOFTMAX));
	}
	again = traits_of(c, "volta_sgemm_128x64_nn");
	cr_expect(eq(int, memcmp(&first, &again, sizeof(first)), 0));
	ws_classifier_free(c);
}

static void print_classes(FILE *f)
{
	fputs("| class | counts as | what |\n|---|---|---|\n", f);
#define X(NAME, name, SUMMARY, meaning) \
	fprintf(f, "| " #name " | %s | " meaning " |\n", ws_op_class_name(WS_CLASS_##SUMMARY));
	WS_OP_CLASS_LIST(X)
#undef X
}

Test(classify, the_document_lists_every_class_as_it_is)
{
	doc_section_check("reference/classification.md", "classes", print_classes);
}
