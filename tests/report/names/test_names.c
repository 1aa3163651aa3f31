#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/base/names.h"
#include "report/names/names.h"
#include "report/base/signature.h"

static void check(const char *name, const char *expected)
{
	char out[1024];
	size_t n = ws_name_function((struct ws_bytes){name, strlen(name)}, out);

	cr_expect(n <= strlen(name), "%s grew", name);
	out[n] = '\0';
	cr_expect_str_eq(out, expected);
}

Test(names, loses_return_type_template_arguments_and_parameters)
{
	check("void at::native::elementwise_kernel<(int)128, (int)2, void "
	      "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, "
	      "at::native::binary_internal::DivFunctor<float>>>(at::TensorIteratorBase &, const T1 "
	      "&)::[lambda(int) (instance 1)]>(int, T3)",
	      "at::native::elementwise_kernel");
	check("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)",
	      "cutlass::Kernel2");
	check("void cudnn::cnn::wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>(int, int)",
	      "cudnn::cnn::wgrad_alg0_engine");
	check("vecAdd(float const*, int)", "vecAdd");
}

Test(names, a_return_type_is_no_name)
{
	check("std::enable_if<(((8)>(0))), void>::type vllm::fused_add_rms_norm_kernel<c10::Half, "
	      "8>(c10::Half*, long)",
	      "vllm::fused_add_rms_norm_kernel");
	check("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int>(T1)",
	      "internal::gemvx::kernel");
	check("unsigned long (anonymous namespace)::count<int>(T1)",
	      "(anonymous namespace)::count");
	/* a text with blanks that is no signature has none */
	check("my kernel 1", "my kernel 1");
}

Test(names, plain_names_stay_whole)
{
	check("volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn");
	check("ws_softmax_max_fwd_f32", "ws_softmax_max_fwd_f32");
	check("_ZN7cutlass7Kernel2IvEEvT_", "_ZN7cutlass7Kernel2IvEEvT_");
	check("", "");
}

Test(names, anonymous_namespaces_and_operators_stay)
{
	check("void (anonymous namespace)::softmax<float>(float*)",
	      "(anonymous namespace)::softmax");
	check("void at::native::<unnamed>::multi<int, <unnamed>::a>(T1)",
	      "at::native::<unnamed>::multi");
	check("void at::native::(anonymous namespace)::foo<int>(T1)",
	      "at::native::(anonymous namespace)::foo");
	check("void ns::Functor<int>::operator()<float>(float) const", "ns::Functor::operator()");
	check("bool ns::operator<(ns::A, ns::B)", "ns::operator<");
	check("void ns::operator<< <int>(ns::A)", "ns::operator<<");
}

Test(names, broken_names_still_give_something)
{
	check("<<<", "<<<");
	check("(int)", "(int)");
	check("foo<bar", "foo");
	check("void ", "void");
	check("a>b", "a>b");
	check("f<(g->h)>(int)", "f");
}

static void check_steady(const char *name, const char *expected)
{
	char out[200];
	size_t n = ws_name_steady((struct ws_bytes){name, strlen(name)}, out);

	cr_assert(n <= strlen(name));
	out[n] = '\0';
	cr_expect_str_eq(out, expected);
}

Test(names, steady_name_what_changes_from_call_to_call_goes)
{
	check_steady("aten::view, op_id = 314290", "aten::view");
	check_steady("aten::view, seq = 12, op_id = 3", "aten::view");
	check_steady("aten::addmm, op_id = 7, sizes = [[4, 5], [], [6, [7]]]", "aten::addmm");
	check_steady("aten::addmm, sizes = [[4, 5], input_op_ids = [(1,0)]], op_id = 9",
	             "aten::addmm");
	check_steady("ProfilerStep#5", "ProfilerStep#*");
	check_steady("Optimizer.step#Adam.step", "Optimizer.step#Adam.step");
	check_steady("<function at 0x7f12ABcd>", "<function at 0x*>");
	check_steady("layer 3", "layer 3");
}

Test(names, steady_name_what_only_looks_like_it_stays)
{
	check_steady("", "");
	check_steady("a, op_id = ", "a, op_id = ");
	check_steady("a, seq = x", "a, seq = x");
	check_steady("0x", "0x");
	check_steady("#", "#");
	check_steady(", op_id = 4", ", op_id = 4");
	check_steady("a, sizes = [[1, 2", "a");
}

Test(names, comparison_is_total_over_bytes)
{
	struct ws_bytes a = {"ab", 2}, b = {"abc", 3}, c = {"b\0x", 3}, d = {"b\0y", 3};

	cr_expect(ws_name_compare(a, b) < 0);
	cr_expect(ws_name_compare(b, a) > 0);
	cr_expect(ws_name_compare(c, d) < 0);
	cr_expect(eq(int, ws_name_compare(a, a), 0));
	cr_expect(ws_name_compare((struct ws_bytes){"", 0}, a) < 0);
}

/* --- short names of kernels ---------------------------------------------------- */

static void check_kernel(const char *name, const char *expected)
{
	struct ws_buf out = {0};

	ws_short_name((struct ws_bytes){name, strlen(name)}, &out);
	ws_buf_put(&out, "", 1);
	cr_expect_str_eq((const char *)out.data, expected);
	ws_buf_free(&out);
}

Test(names, a_frame_is_named_with_the_function_that_it_runs)
{
	check_kernel("void at::native::vectorized_elementwise_kernel<4, "
	             "at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> "
	             ">(int, at::native::CUDAFunctor_add<c10::BFloat16>)",
	             "vectorized_elementwise_kernel<CUDAFunctor_add<BFloat16>>");
	check_kernel("void at::native::elementwise_kernel<(int)128, (int)2, void "
	             "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, "
	             "float, at::native::binary_internal::DivFunctor<float>>>"
	             "(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
	             "elementwise_kernel<DivFunctor<float>>");
	check_kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
	             "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4> "
	             ">(at::native::ReduceOp<float>)",
	             "reduce_kernel<MeanOps<float>>");
	check_kernel(
	        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_"
	        "cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::"
	        "{lambda()#6}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, "
	        "2> >(int)",
	        "unrolled_elementwise_kernel<direct_copy_kernel_cuda<float>>");
	check_kernel("void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::"
	             "TensorListMetadata<(int)2>, at::native::<unnamed>::UnaryOpFunctor<float, "
	             "(int)2, (int)1, (int)1>, at::native::Sqrt<float>>(T1, T2, T3...)",
	             "multi_tensor_apply_kernel<Sqrt<float>>");
}

Test(names, a_wrapper_is_named_as_what_it_wraps_with_tile_and_type)
{
	check_kernel(
	        "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)",
	        "cutlass_80_simt_sgemm_256x128_8x4_nt_align1");
	check_kernel("void cutlass::device_kernel<dpsk::gemm::fp8::GemmKernel>(dpsk::gemm::Params)",
	             "dpsk::gemm::fp8::GemmKernel");
	check_kernel("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<"
	             "int, int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::"
	             "MainloopSm90TmaGmmaWarpSpecialized<4, cute::tuple<cute::C<2>, cute::C<1>, "
	             "cute::C<1> > >, cute::tuple<cute::C<64>, cute::C<128>, cute::C<64> >, "
	             "cutlass::bfloat16_t> > >(cutlass::gemm::Params)",
	             "cutlass::gemm::kernel::GemmUniversal<64x128x64, bfloat16_t>");
	check_kernel("void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::"
	             "MmaMultistage<cutlass::gemm::GemmShape<128, 64, 32>, cutlass::half_t> > >(P)",
	             "cutlass::gemm::kernel::Gemm<128x64x32, half_t>");
	check_kernel("void ck_tile::kentry<1, ck_tile::FmhaFwdKernel<ck_tile::X<float> > >(ck::A)",
	             "ck_tile::FmhaFwdKernel");
}

Test(names, tensile_ends_with_its_matrix_instruction_and_others_stay)
{
	check_kernel("Cijk_Alik_Bljk_BBS_BH_UserArgs_MT128x256x32_MI16x16x1_SN_LDSB1_AFC1",
	             "Cijk_Alik_Bljk_BBS_BH_UserArgs_MT128x256x32_MI16x16x1");
	check_kernel("Cijk_Ailk_Bjlk_SB_MT64x64x16_SE_APM1", "Cijk_Ailk_Bjlk_SB_MT64x64x16");
	check_kernel("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_"
	             "ffma_aligna4_alignc4_execute_kernel__5x_cublas",
	             "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_"
	             "ffma_aligna4_alignc4");
	check_kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_"
	             "execute_segment_k_off_kernel__5x_cublas",
	             "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_"
	             "segment_k_off");
	check_kernel("void cudnn::cnn::wgrad_alg0_engine<float, 128, 5, 5>(int, int)",
	             "cudnn::cnn::wgrad_alg0_engine");
	check_kernel("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
	             "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1");
	check_kernel("cutlass::Kernel2<", "cutlass::Kernel2");
	check_kernel("reduce_kernel<512, 1>(float)", "reduce_kernel");
	check_kernel("", "");
}

static void check_set(const char *const *names, const char *const *expected, size_t n)
{
	struct ws_bytes in[16] = {{0}}, out[16];
	struct ws_buf text = {0};

	for (size_t i = 0; i < n; i++)
		in[i] = (struct ws_bytes){names[i], strlen(names[i])};
	ws_short_names(in, n, &text, out);
	for (size_t i = 0; i < n; i++) {
		cr_expect(ws_name_is(out[i], expected[i]), "%.*s, not %s", (int)out[i].len,
		          (const char *)out[i].ptr, expected[i]);
		for (size_t k = 0; k < i; k++)
			cr_expect(ws_name_compare(out[i], out[k]) != 0, "%s", expected[i]);
	}
	ws_buf_free(&text);
}

Test(names, two_kernels_never_share_one)
{
	static const char *const names[] = {
	        "void softmax_warp_forward<float, float, float, 9, false>(float*)",
	        "void softmax_warp_forward<float, float, float, 10, false>(float*)",
	        "void ns::alone<float>(float*)",
	        "void cat<at::native::(anonymous namespace)::OpaqueType<4u>, 3>(int)",
	        "void cat<at::native::(anonymous namespace)::OpaqueType<8u>, 4>(int)",
	        "overloaded(int)",
	        "overloaded(float)",
	};
	static const char *const expected[] = {"softmax_warp_forward [9]",
	                                       "softmax_warp_forward [10]",
	                                       "alone",
	                                       "cat [4u, 3]",
	                                       "cat [8u, 4]",
	                                       "overloaded [int]",
	                                       "overloaded [float]"};

	check_set(names, expected, sizeof(names) / sizeof(*names));
}

Test(names, namespaces_go_but_those_that_tell_apart)
{
	static const char *const names[] = {
	        "void dpsk::gemm::fp8_acc::GemmKernel<128>(P)",
	        "void dpsk::gemm::fp8_acc::GemmKernel<64>(P)",
	        "void dpsk::gemm::m_grouped::GemmKernel<128>(P)",
	        "void a::x::run(int)",
	        "void b::x::run(int)",
	        "at::native::(anonymous namespace)::cunn_SoftMaxForward(float*)",
	        "reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(R)",
	};
	static const char *const expected[] = {"fp8_acc::GemmKernel [128]",
	                                       "fp8_acc::GemmKernel [64]",
	                                       "m_grouped::GemmKernel",
	                                       "a::x::run",
	                                       "b::x::run",
	                                       "cunn_SoftMaxForward",
	                                       "reduce_kernel<MeanOps<float>>"};

	check_set(names, expected, sizeof(names) / sizeof(*names));
}

Test(names, what_differs_by_too_much_gets_a_hash)
{
	char a[256], b[256];
	struct ws_bytes in[2] = {{a, 0}, {b, 0}}, out[2];
	struct ws_buf text = {0};

	snprintf(a, sizeof(a), "void f<%0*d>(int)", 100, 1);
	snprintf(b, sizeof(b), "void f<%0*d>(int)", 120, 2);
	in[0].len = strlen(a);
	in[1].len = strlen(b);
	ws_short_names(in, 2, &text, out);
	cr_expect(eq(sz, out[0].len, strlen("f #12345678")));
	cr_expect(memcmp(out[0].ptr, "f #", 3) == 0);
	cr_expect(ws_name_compare(out[0], out[1]) != 0);
	ws_buf_free(&text);
}

Test(names, a_label_that_another_kernel_has_by_itself_gets_a_hash)
{
	static const char *const names[] = {"void f<1>(int)", "void f<2>(int)", "f [1]"};
	struct ws_bytes in[3], out[3];
	struct ws_buf text = {0};

	for (size_t i = 0; i < 3; i++)
		in[i] = (struct ws_bytes){names[i], strlen(names[i])};
	ws_short_names(in, 3, &text, out);
	cr_expect(ws_name_compare(out[0], out[2]) != 0);
	cr_expect(ws_name_is(out[1], "f [2]"));
	ws_buf_free(&text);
}

Test(names, what_differs_from_call_to_call_comes_off)
{
	static const char *const cases[][2] = {
	        {"aten::view, op_id = 314290", "aten::view"},
	        {"aten::mm, seq = 4, op_id = 9, sizes = [[2, 3], []], input_op_ids = [(8, 0)]",
	         "aten::mm"},
	        {"ProfilerStep#12", "ProfilerStep#*"},
	        {"<f at 0x7f12ab>", "<f at 0x*>"},
	        {"Optimizer.step#Adam.step", "Optimizer.step#Adam.step"},
	        {"a, seq = x", "a, seq = x"},
	        {"layer 3", "layer 3"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char out[128];
		size_t n = ws_name_steady((struct ws_bytes){cases[i][0], strlen(cases[i][0])}, out);

		cr_expect(ws_name_is((struct ws_bytes){out, n}, cases[i][1]), "%s", cases[i][0]);
	}
}
