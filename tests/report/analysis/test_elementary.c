/* Against values of 80 digits, rounded once: not one bit may differ, whatever the C library. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "report/base/elementary.h"

Test(elementary, values_are_rounded_correctly)
{
	static const struct {
		double (*f)(double);
		double x, y;
	} cases[] = {
	        {ws_exp, -0x1.8800000000000p+3, 0x1.411fb0da07713p-18},
	        {ws_exp, 0x1.0000000000000p+0, 0x1.5bf0a8b145769p+1},
	        {ws_exp, 0x1.999999999999ap-4, 0x1.1aec7b35a00d4p+0},
	        {ws_exp, -0x1.62d0e56041893p-2, 0x1.6a10b883d5676p-1},
	        {ws_exp, 0x1.62e42fead449cp-2, 0x1.6a09e66640654p+0},
	        {ws_exp, 0x1.5e40000000000p+9, 0x1.8625c7d4f56c2p+1010},
	        {ws_exp, -0x1.7400000000000p+9, 0x0.0000000000002p-1022},
	        {ws_exp, -0x1.0624dd2f1a9fcp-10, 0x1.ff7cfe56f1a9ep-1},
	        {ws_exp, 0x1.299999999999ap+5, 0x1.96d28cc229d82p+53},
	        {ws_exp, 0x1.12e0be826d695p-30, 0x1.000000044b830p+0},
	        {ws_expm1, 0x1.999999999999ap-5, 0x1.a403484548655p-5},
	        {ws_expm1, -0x1.999999999999ap-3, -0x1.733d4a7a67a9bp-3},
	        {ws_expm1, 0x1.12e0be826d695p-30, 0x1.12e0be84bbb51p-30},
	        {ws_expm1, -0x1.19799812dea11p-40, -0x1.19799812de065p-40},
	        {ws_expm1, 0x1.6666666666666p-1, 0x1.03854c24d130dp+0},
	        {ws_expm1, -0x1.c000000000000p+1, -0x1.f089f7f38d805p-1},
	        {ws_expm1, 0x1.4400000000000p+4, 0x1.290d76c9966a9p+29},
	        {ws_expm1, 0x1.a36e2eb1c432dp-12, 0x1.a383a8fc5196ap-12},
	        {ws_log, 0x1.0000000000000p+1, 0x1.62e42fefa39efp-1},
	        {ws_log, 0x1.4000000000000p+3, 0x1.26bb1bbb55516p+1},
	        {ws_log, 0x1.999999999999ap-4, -0x1.26bb1bbb55515p+1},
	        {ws_log, 0x1.000001ad7f29bp+0, 0x1.ad7f2847b6492p-24},
	        {ws_log, 0x1.fff2e48e8a71ep-1, -0x1.a3738d2cf1cc2p-14},
	        {ws_log, 0x1.8000000000000p+0, 0x1.9f323ecbf984cp-2},
	        {ws_log, 0x1.6a09e667f3bcdp-1, -0x1.62e42fefa39eep-2},
	        {ws_log, 0x1.6a09e667f3bcdp+0, 0x1.62e42fefa39f0p-2},
	        {ws_log, 0x1.e240c9fbe76c9p+16, 0x1.77281cad8a844p+3},
	        {ws_log, 0x1.7e43c8800759cp+996, 0x1.5963447f87fb5p+9},
	        {ws_log, 0x1.25eed8ffb39c1p-663, -0x1.cb6b1cad0a7efp+8},
	        {ws_log1p, 0x1.999999999999ap-5, 0x1.8fb063ef2c7eap-5},
	        {ws_log1p, 0x1.47ae147ae147bp-7, 0x1.460d6ccca3677p-7},
	        {ws_log1p, -0x1.3333333333333p-2, -0x1.6d3c324e13f4ep-2},
	        {ws_log1p, 0x1.19799812dea11p-40, 0x1.19799812de065p-40},
	        {ws_log1p, 0x1.8000000000000p+1, 0x1.62e42fefa39efp+0},
	        {ws_log1p, -0x1.ff7ced916872bp-1, -0x1.ba18a998fff9fp+2},
	        {ws_log1p, 0x1.a827999fcef33p-2, 0x1.62e42fefa39f0p-2},
	        {ws_log1p, 0x1.c6bf526340000p+49, 0x1.144f69ff9ffc4p+5},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect(cases[i].f(cases[i].x) == cases[i].y, "case %zu: of %a %a, not %a", i,
		          cases[i].x, cases[i].f(cases[i].x), cases[i].y);
}

Test(elementary, ends_are_those_of_c)
{
	cr_expect(ws_exp(0) == 1 && ws_log(1) == 0 && ws_expm1(0) == 0 && ws_log1p(0) == 0);
	cr_expect(ws_exp(-HUGE_VAL) == 0 && ws_exp(HUGE_VAL) == HUGE_VAL &&
	          ws_exp(710) == HUGE_VAL);
	cr_expect(ws_expm1(-HUGE_VAL) == -1 && ws_expm1(HUGE_VAL) == HUGE_VAL);
	cr_expect(ws_log(0) == -HUGE_VAL && ws_log(HUGE_VAL) == HUGE_VAL && isnan(ws_log(-1)));
	cr_expect(ws_log1p(-1) == -HUGE_VAL && isnan(ws_log1p(-2)));
	cr_expect(isnan(ws_exp(NAN)) && isnan(ws_log(NAN)) && isnan(ws_expm1(NAN)) &&
	          isnan(ws_log1p(NAN)));
	cr_expect(fabs(ws_log(0x1p-1070) / (-1070 * 0x1.62e42fefa39efp-1) - 1) < 1e-15);
}

Test(elementary, gamma_is_the_factorial)
{
	double factorial = 1;

	for (int n = 1; n < 30; factorial *= n++)
		cr_expect(fabs(ws_log_gamma(n) - ws_log(factorial)) < 1e-13, "of %d", n);
	cr_expect(fabs(ws_log_gamma(0.5) - ws_log(3.14159265358979323846) / 2) < 1e-14);
	/* gamma(x + 1) = x gamma(x) */
	cr_expect(fabs(ws_log_gamma(1e5 + 1) - ws_log_gamma(1e5) - ws_log(1e5)) < 1e-9);
}

Test(elementary, powers_of_ten_are_exact)
{
	static const double powers[] = {1e-22, 1e-9, 1e-3, 0.1, 1, 10, 1e3, 1e15, 1e22};
	static const int exponents[] = {-22, -9, -3, -1, 0, 1, 3, 15, 22};

	for (size_t i = 0; i < sizeof(powers) / sizeof(*powers); i++) {
		cr_expect(ws_power_of_ten(exponents[i]) == powers[i]);
		cr_expect(ws_exponent_of_ten(powers[i]) == exponents[i]);
		cr_expect(ws_exponent_of_ten(nextafter(powers[i], 0)) == exponents[i] - 1);
	}
}
