/*
 * Functions whose last digit C libraries differ in, by arithmetic that is exact everywhere: so a
 * report has the same bytes on every system. docs/dev/portability.md.
 */
#pragma once

/* Rounded correctly, but for one of some 2^40 arguments. */
double ws_exp(double x);
double ws_expm1(double x);
double ws_log(double x);   /* x > 0; else as C's */
double ws_log1p(double x); /* x > -1; else as C's */
/* log(gamma(x)), x > 0, to some 1e-15 of the largest term. */
double ws_log_gamma(double x);
/* 10^n, rounded correctly from -22 to 22. */
double ws_power_of_ten(int n);
/* The n with 10^n <= x < 10^(n + 1), for x from 1e-22 to 1e22; beyond it may be off by one. */
int ws_exponent_of_ten(double x);
