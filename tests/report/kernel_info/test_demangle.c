#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <string.h>

#include "report/kernel_info/classify.h"
#include "tests/report/demangles.h"

static struct ws_buf buf;

static const char *demangled(const char *name, size_t len)
{
	buf.len = 0;
	ws_demangle(name, len, &buf);
	ws_buf_put(&buf, "", 1);
	return (const char *)buf.data;
}

static void expect_unchanged(const char *name, size_t len)
{
	const char *out = demangled(name, len);

	cr_assert(eq(sz, buf.len, len + 1));
	cr_expect(eq(int, memcmp(out, name, len), 0), "%.60s", name);
}

static void release(void)
{
	ws_buf_free(&buf);
}

Test(demangle, demangle_plain_names_that_are_not_mangled_stay_as_they_are, .fini = release)
{
	static const char *const names[] = {
	        "",
	        "_",
	        "_Z",
	        "i",
	        "f",
	        "St",
	        "Z3addiPfS_",
	        "volta_sgemm_128x64_nn",
	        "ws_gemm_nn_fwd_f32",
	        "void at::native::f<4>(int)",
	        "__Z3addi",
	        "_ZZZZZ",
	        "_Z99999x",
	        "_Z3ad",
	        "_ZN2at6native",
	        "_Z3add\xff\xfe",
	        "=cmd|' /C calc'!A0",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect_unchanged(names[i], strlen(names[i]));
	expect_unchanged("_Z3addi\0PfS_", 12);
}

Test(demangle, demangle_plain_text_is_appended, .fini = release)
{
	ws_buf_put(&buf, "name: ", 6);
	ws_demangle("k", 1, &buf);
	cr_expect(eq(sz, buf.len, 7));
	cr_expect(eq(int, memcmp(buf.data, "name: k", 7), 0));
}

static void needs_the_library(void)
{
	if (!demangles())
		cr_skip_test("built without libiberty");
}

static void expect(const char *mangled, const char *signature)
{
	cr_expect_str_eq(demangled(mangled, strlen(mangled)), signature);
}

Test(demangle, kernel_names_become_signatures, .init = needs_the_library, .fini = release)
{
	expect("_Z3addiPfS_", "add(int, float*, float*)");
	expect("_ZN7cutlass7Kernel2I66cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_"
	       "align8EEvNT_6ParamsE",
	       "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_"
	       "align8>(cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_align8::"
	       "Params)");
	/* nvcc's name of an anonymous namespace */
	expect("_ZN44_GLOBAL__N__50c743a2_11_Indexing_cu_89862edb24indexing_backward_"
	       "kernelIfLi4EEEvi",
	       "void (anonymous namespace)::indexing_backward_kernel<float, 4>(int)");
	expect("_ZN1AclEv", "A::operator()()");
}

/* A CUTLASS 3 kernel of 1.6 kB as a B300 recorded it: over the 1 KiB at which libstdc++ gives up.
 */
static const char cutlass3[] =
        "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEENS1_"
        "10collective"
        "13CollectiveMmaINS1_35MainloopSm100TmaUmmaWarpSpecializedILi13ELi2ELi4ENS5_IJNS4_1CILi1EEE"
        "NSA_ILi4EEESB_EEEEENS5_IJNSA_ILi64EEESF_NSA_ILi128EEEEEENS_12float_e4m3_tENS5_IJlSB_lEEE"
        "SI_SJ_NS4_8TiledMMAINS4_8MMA_AtomIJNS4_10MMA_TraitsINS4_19SM100_MMA_F8F6F4_SSEJSI_SI_fSF_"
        "SF_"
        "NS4_17integral_constantINS4_4UMMA5MajorELSQ_0EEESR_NSO_INSP_7ScaleInELSS_0EEEST_EEEEEENS4_"
        "6Lay"
        "outINS5_IJSB_SB_SB_EEENS5_IJNSA_ILi0EEESY_SY_EEEEENS5_IJNS4_10UnderscoreES11_S11_EEEEENS4_"
        "23S"
        "M90_TMA_LOAD_MULTICASTENS4_14ComposedLayoutINS4_7SwizzleILi3ELi4ELi3EEENS4_18smem_ptr_"
        "flag_bi"
        "tsILi8EEENSW_INS5_IJNSA_ILi8EEESG_EEENS5_IJSG_SB_EEEEEEEvNS4_8identityENS4_13SM90_TMA_"
        "LOADES1"
        "E_vS1F_EENS_8epilogue10collective18CollectiveEpilogueINS1I_"
        "23Sm100TmaWarpSpecializedILi1ELi1E"
        "Li32ELb0ELb1EEEJSH_NS5_IJNSW_ISF_SB_EES1N_EEEvSJ_NS_6half_tESJ_NS1I_"
        "6fusion15Sm90TreeVisitorIN"
        "S1Q_11Sm90ComputeINS_10multipliesES1P_fLNS_15FloatRoundStyleE2EvEEJNS1Q_"
        "16Sm90ColBroadcastILi0"
        "ESH_ffNS5_IJSB_SY_SY_EEELi4ELb1EEENS1R_INS1S_IS1T_ffLS1U_2EvEEJNS1Q_"
        "16Sm90RowBroadcastILi0ESH_f"
        "fNS5_IJSY_SB_SY_EEELi4ELb1EEENS1Q_12Sm90AccFetchEEEEEEENS4_5SM1004TMEM4LOAD26SM100_TMEM_"
        "LOAD_1"
        "6dp256b8xES1G_NS15_IS17_NS18_ILi16EEENSW_INS5_IJS1A_SF_EEENS5_IJSF_SB_EEEEEEENS4_17SM75_"
        "U32x4_"
        "LDSM_NENS4_14SM90_TMA_STOREES2E_NS4_17SM90_U32x4_STSM_NENS4_"
        "39AutoVectorizingCopyWithAssumedAl"
        "ignmentILi128EEEEEEvvEEEEvNT_6ParamsE";

Test(demangle, names_over_1_kib_are_demangled, .init = needs_the_library, .fini = release)
{
	static const char begin[] =
	        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
	        "cute::tuple<int, int, int, int>, cutlass::gemm::collective::"
	        "CollectiveMma<cutlass::gemm::MainloopSm100TmaUmmaWarpSpecialized<"
	        "13, 2, 4, ";
	const char *out;

	cr_assert(gt(sz, sizeof(cutlass3), 1024));
	out = demangled(cutlass3, sizeof(cutlass3) - 1);
	cr_expect(eq(int, strncmp(out, begin, sizeof(begin) - 1), 0), "%s", out);
}

Test(demangle, the_longest_allowed_name_is_demangled_and_a_longer_one_is_not,
     .init = needs_the_library, .fini = release)
{
	static char name[WS_DEMANGLE_MAX_BYTES + 2];
	static const char begin[] = "_Z16376"; /* a function with a name of so many letters */
	size_t len = WS_DEMANGLE_MAX_BYTES;

	memset(name, 'a', sizeof(name));
	memcpy(name, begin, strlen(begin));
	name[len - 1] = 'v';
	cr_expect(eq(int, strncmp(demangled(name, len), "aaaa", 4), 0));
	cr_expect(eq(sz, buf.len, len - strlen(begin) - 1 + strlen("()") + 1));

	name[6] = '7';
	name[len - 1] = 'a';
	name[len] = 'v';
	expect_unchanged(name, len + 1);
}

/* Deep nesting is refused or shown, never a crash: 8 MiB of stack are the common limit. */
Test(demangle, nesting_as_deep_as_a_name_can_hold_is_survived, .init = needs_the_library,
     .fini = release)
{
	static const char *const nested[] = {"P",  "K",  "F",    "M",     "Z",     "1AI",
	                                     "A_", "Dp", "J",    "PF",    "cl",    "il",
	                                     "gs", "dt", "U1AI", "sr1AI", "L_Z1fI"};
	static char name[WS_DEMANGLE_MAX_BYTES + 1];

	for (size_t i = 0; i < sizeof(nested) / sizeof(*nested); i++) {
		size_t step = strlen(nested[i]), len = 4;

		memcpy(name, "_Z1f", 4);
		for (; len + step < sizeof(name); len += step)
			memcpy(name + len, nested[i], step);
		demangled(name, len);
		cr_expect(le(sz, buf.len, WS_DEMANGLED_MAX_BYTES + 1));
	}
}

/* f(A<i,i>, A<S0_,S0_>, A<S1_,S1_> …): each argument is twice as long as the one before. */
Test(demangle, a_short_name_that_stands_for_a_huge_signature_stays_mangled,
     .init = needs_the_library, .fini = release)
{
	static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024];
	size_t len = (size_t)snprintf(name, sizeof(name), "_Z1f1AIiiES_IS0_S0_E");

	for (int i = 1; i < 36; i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "S_IS%c_S%c_E", digit[i],
		                        digit[i]);
	expect_unchanged(name, len);
	cr_expect(le(sz, buf.capacity, 4 * WS_DEMANGLED_MAX_BYTES));
}

Test(demangle, demangle_plain_without_the_library_mangled_names_stay_as_they_are, .fini = release)
{
	if (demangles())
		cr_skip_test("built with libiberty");
	expect_unchanged("_Z3addiPfS_", 11);
}
