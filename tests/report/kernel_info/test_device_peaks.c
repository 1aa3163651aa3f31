#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/kernel_info/occupancy.h"
#include "tests/support/paths.h"

static struct ws_peaks *table(const char *user_rows)
{
	struct ws_peaks *p = NULL;
	struct ws_err err;

	cr_assert(eq(int, ws_peaks_new(user_rows, user_rows ? strlen(user_rows) : 0, &p, &err),
	             WS_OK),
	          "%s", err.text);
	return p;
}

static int find(const char *name, struct ws_device_peaks *out)
{
	struct ws_peaks *p = table(NULL);
	int found = ws_peaks_find(p, name, strlen(name), out);

	ws_peaks_free(p); /* pattern and source go with it; the tests below use values only */
	return found;
}

Test(device_peaks, devices_are_found_by_the_drivers_name)
{
	static const struct {
		const char *name;
		double fp32_tflops, bf16_tflops, memory_gbps;
	} cases[] = {
	        {"Tesla T4", 8.1, 0, 320},
	        {"Tesla V100-SXM2-32GB", 15.7, 0, 900},
	        {"Tesla V100-DGXS-32GB", 15.7, 0, 900},
	        {"NVIDIA GeForce RTX 3080", 29.8, 59.5, 760},
	        {"GeForce RTX 3080", 29.8, 59.5, 760},
	        {"NVIDIA A100-SXM4-40GB", 19.5, 312, 1555},
	        {"A100-SXM4-40GB", 19.5, 312, 1555},
	        {"NVIDIA A100-SXM4-80GB", 19.5, 312, 2039},
	        {"NVIDIA A100 80GB PCIe", 19.5, 312, 1935},
	        {"NVIDIA H100 80GB HBM3", 66.9, 989.4, 3350},
	        {"NVIDIA H100 PCIe", 51.2, 756, 2000},
	        {"NVIDIA H200", 66.9, 989.4, 4800},
	        {"NVIDIA L40S", 91.6, 362, 864},
	        {"NVIDIA L40", 90.5, 181, 864},
	        {"NVIDIA B200", 75, 2250, 8000},
	        {"NVIDIA GH200 480GB", 66.9, 989.4, 4000},
	        {"NVIDIA B300 SXM6 AC", 75, 2250, 8000},
	        {"NVIDIA GeForce RTX 2080 Ti", 13.4, 0, 616},
	        {"NVIDIA GeForce RTX 3070 Ti", 21.7, 43.5, 608},
	        {"NVIDIA GeForce RTX 4090 Laptop GPU", 39.7, 79.4, 576},
	        {"NVIDIA GeForce RTX 5090", 104.8, 209.5, 1792},
	        {"AMD Instinct MI210", 22.6, 181, 1638},
	        {"AMD Instinct MI300X", 163.4, 1307.4, 5300},
	        {"AMD Instinct MI355X", 157.3, 2516.6, 8000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ws_device_peaks p;

		cr_assert(eq(int, find(cases[i].name, &p), 1), "%s", cases[i].name);
		cr_expect(ieee_ulp_eq(dbl, p.value[WS_PEAK_FP32], cases[i].fp32_tflops * 1e12, 1));
		cr_expect(ieee_ulp_eq(dbl, p.value[WS_PEAK_BF16], cases[i].bf16_tflops * 1e12, 1));
		cr_expect(ieee_ulp_eq(dbl, p.value[WS_PEAK_MEMORY], cases[i].memory_gbps * 1e9, 1));
		cr_expect(eq(uint, p.measured, 0));
		cr_expect(eq(int, p.from_user, 0));
	}
}

Test(device_peaks, a_device_that_is_not_listed_has_no_peaks)
{
	static const char *const names[] = {
	        "",
	        "CPU reference",
	        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
	        "NVIDIA GeForce RTX 3080 Ti Laptop GPU",
	        "NVIDIA GeForce RTX 5090 D",
	        "AMD Instinct MI308X",
	        "NVIDIA H200 NVL",
	        "NVIDIA T400",
	        "NVIDIA L400",
	        "NVIDIA H100 80GB HBM3e",
	        "Tesla V100-SXM2-320GB",
	        "*",
	        "NVIDIA\n",
	        "\xff\xfe",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct ws_device_peaks p;

		cr_expect(eq(int, find(names[i], &p), 0), "%s", names[i]);
		for (int k = 0; k < WS_PEAK_COUNT; k++)
			cr_expect(eq(dbl, p.value[k], 0));
	}
}

Test(device_peaks, a_users_row_comes_first_and_says_only_what_it_lists)
{
	struct ws_peaks *p =
	        table("# ours\r\n\r\n  NVIDIA H?00*|memory 4300.5 bf16 788|our bench \r\n"
	              "*|fp32 1|anything else");
	struct ws_device_peaks h200, other;

	cr_assert(eq(int, ws_peaks_find(p, "NVIDIA H200", 11, &h200), 1));
	cr_expect(ieee_ulp_eq(dbl, h200.value[WS_PEAK_MEMORY], 4300.5e9, 1));
	cr_expect(ieee_ulp_eq(dbl, h200.value[WS_PEAK_BF16], 788e12, 1));
	cr_expect(eq(dbl, h200.value[WS_PEAK_FP32], 0));
	cr_expect(eq(int, h200.from_user, 1));
	cr_expect_str_eq(h200.pattern, "NVIDIA H?00*");
	cr_expect_str_eq(h200.source, "our bench");
	cr_assert(eq(int, ws_peaks_find(p, "Tesla\0T4", 8, &other), 1));
	cr_expect_str_eq(other.source, "anything else");
	ws_peaks_free(p);
}

Test(device_peaks, a_measured_value_takes_the_place_of_the_tables)
{
	struct ws_device_peaks p;

	cr_assert(eq(int, find("NVIDIA H200", &p), 1));
	ws_device_peaks_measured(&p, WS_PEAK_MEMORY, 4.3e12);
	ws_device_peaks_measured(&p, WS_PEAK_FP32, 0);
	ws_device_peaks_measured(&p, WS_PEAK_FP32, -1);
	ws_device_peaks_measured(&p, WS_PEAK_FP32, NAN);
	ws_device_peaks_measured(&p, WS_PEAK_FP32, INFINITY);
	cr_expect(eq(dbl, p.value[WS_PEAK_MEMORY], 4.3e12));
	cr_expect(ieee_ulp_eq(dbl, p.value[WS_PEAK_FP32], 66.9e12, 1));
	cr_expect(eq(uint, p.measured, 1u << WS_PEAK_MEMORY));
}

static void expect_error(const char *rows, const char *text)
{
	struct ws_peaks *p;
	struct ws_err err;

	cr_expect(eq(int, ws_peaks_new(rows, strlen(rows), &p, &err), WS_USAGE));
	cr_expect_str_eq(err.text, text);
	cr_expect(eq(ptr, p, NULL));
}

Test(device_peaks, a_bad_row_is_refused_with_its_line_and_what_is_wrong)
{
	expect_error("# x\nA | fp32 1 | s\nB | fp16 | s\n",
	             "device peaks, line 3: '' is not a positive number for fp16");
	expect_error(
	        "B | fp64 3 | s",
	        "device peaks, line 1: 'fp64' is not one of fp32, tf32, fp16, bf16, fp8, memory");
	expect_error("B | fp32 1 fp32 2 | s", "device peaks, line 1: fp32 twice");
	expect_error("| fp32 1 | s", "device peaks, line 1: no device name");
	expect_error("B", "device peaks, line 1: no quantities; a row is NAME | PEAKS | SOURCE");
	expect_error("B | fp32 1 |",
	             "device peaks, line 1: no source; a row is NAME | PEAKS | SOURCE");
}

Test(device_peaks, only_plain_positive_numbers_are_taken)
{
	static const char *const bad[] = {
	        "0",  "-1",   "1e3",   "1,5", "nan",  "inf", ".5",
	        "5.", "1..2", "1.2.3", "0.0", "0x10", "+1",  "1234567890123456"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct ws_peaks *p;
		char row[64];

		snprintf(row, sizeof(row), "A | fp32 %s | s", bad[i]);
		cr_expect(eq(int, ws_peaks_new(row, strlen(row), &p, NULL), WS_USAGE), "%s",
		          bad[i]);
	}
}

Test(device_peaks, a_file_beyond_its_limits_is_refused)
{
	static char big[WS_PEAKS_MAX_BYTES + 1], many[(WS_PEAKS_MAX_ROWS + 1) * 13 + 1];
	struct ws_peaks *p;
	struct ws_err err;

	memset(big, '\n', sizeof(big));
	cr_expect(eq(int, ws_peaks_new(big, sizeof(big), &p, &err), WS_USAGE));
	for (size_t i = 0; i <= WS_PEAKS_MAX_ROWS; i++)
		memcpy(many + 13 * i, "A|fp32 1| s \n", 14);
	cr_expect(eq(int, ws_peaks_new(many, strlen(many), &p, &err), WS_USAGE));
	cr_expect_str_eq(err.text, "device peaks, line 4097: more than 4096 rows");
	cr_expect(eq(int, ws_peaks_new("A|fp32 1|\0", 10, &p, &err), WS_USAGE));
	cr_expect_str_eq(err.text, "device peaks, line 1: a NUL byte");
}
