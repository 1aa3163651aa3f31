#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>
#include <string.h>

#include "report/kernel_info/occupancy.h"

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
