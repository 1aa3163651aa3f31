#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "report/base/names.h"
#include "report/names/names.h"

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
