#include "report/base/elementary.h"

/* A number of twice the digits: hi + lo, where lo is below half the last digit of hi.
 * Source: Dekker, A floating-point technique for extending the available precision (1971). */
struct twice {
	double hi, lo;
};

static const struct twice LN2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

static struct twice sum(double a, double b)
{
	const double hi = a + b, of_b = hi - a;

	return (struct twice){hi, (a - (hi - of_b)) + (b - of_b)};
}

static struct twice product(double a, double b)
{
	const double split = 134217729; /* 2^27 + 1 */
	const double a_hi = split * a - (split * a - a), a_lo = a - a_hi;
	const double b_hi = split * b - (split * b - b), b_lo = b - b_hi;
	const double hi = a * b;

	return (struct twice){hi, ((a_hi * b_hi - hi) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

static struct twice add(struct twice a, struct twice b)
{
	const struct twice hi = sum(a.hi, b.hi), lo = sum(a.lo, b.lo);
	const struct twice all = sum(hi.hi, hi.lo + lo.hi);

	return sum(all.hi, all.lo + lo.lo);
}

static struct twice times(struct twice a, struct twice b)
{
	const struct twice p = product(a.hi, b.hi);

	return sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static struct twice divide(struct twice a, double n)
{
	const double hi = a.hi / n;
	const struct twice back = product(hi, n);

	return sum(hi, ((a.hi - back.hi) - back.lo + a.lo) / n);
}

/* exp(x) - 1 for |x| < 0.4: a series for x / 256, squared eight times. */
static struct twice expm1_of_small(struct twice x)
{
	enum { HALVINGS = 8, TERMS = 9 };
	const struct twice part = {ldexp(x.hi, -HALVINGS), ldexp(x.lo, -HALVINGS)};
	struct twice y = divide(part, TERMS);

	for (int n = TERMS - 1; n > 0; n--)
		y = divide(times(part, add(y, (struct twice){1, 0})), n);
	for (int i = 0; i < HALVINGS; i++)
		y = add((struct twice){2 * y.hi, 2 * y.lo}, times(y, y));
	return y;
}

/* exp(x) = (1 + the result) * 2^exponent */
static struct twice expm1_of(double x, int *exponent)
{
	const double n = rint(x / LN2.hi);
	const struct twice by = product(n, LN2.hi);

	*exponent = (int)n;
	return expm1_of_small(add(sum(x, -by.hi), (struct twice){-by.lo, -n * LN2.lo}));
}

double ws_exp(double x)
{
	int exponent;

	if (!(fabs(x) < 800))
		return isnan(x) ? x : x > 0 ? HUGE_VAL : 0;
	struct twice y = expm1_of(x, &exponent);
	y = add((struct twice){1, 0}, y);
	return ldexp(y.hi, exponent);
}

double ws_expm1(double x)
{
	int exponent;

	if (!(fabs(x) < 60))
		return isnan(x) ? x : x > 0 ? ws_exp(x) : -1;
	struct twice y = expm1_of(x, &exponent);
	if (!exponent)
		return y.hi;
	y = add((struct twice){1, 0}, y);
	return add((struct twice){ldexp(y.hi, exponent), ldexp(y.lo, exponent)},
	           (struct twice){-1, 0})
	        .hi;
}

/* log(1 + x): a series, which a step of Newton's method on exp() brings to twice its digits. */
static double log_of(struct twice one_and_x)
{
	double s, s2, near = 0;
	int exponent;

	frexp(one_and_x.hi * 0x1.6a09e667f3bcdp0, &exponent); /* by the root of 2 */
	exponent--;
	struct twice x = sum(ldexp(one_and_x.hi, -exponent) - 1, ldexp(one_and_x.lo, -exponent));
	s = x.hi / (2 + x.hi);
	s2 = s * s;
	for (int n = 25; n > 0; n -= 2)
		near = near * s2 + 1.0 / n;
	near *= 2 * s;
	struct twice rest = expm1_of_small((struct twice){-near, 0});
	rest = add(x, times(rest, add((struct twice){1, 0}, x)));
	struct twice y = add((struct twice){near, 0}, rest);
	return add(times((struct twice){exponent, 0}, LN2), y).hi;
}

double ws_log(double x)
{
	int exponent = 0;

	if (!(x > 0) || isinf(x))
		return x == 0 ? -HUGE_VAL : x > 0 || isnan(x) ? x : NAN;
	if (x < 0x1p-1000) { /* a subnormal's last digits are few */
		exponent = -200;
		x = ldexp(x, 200);
	}
	return exponent ? log_of((struct twice){x, 0}) + exponent * LN2.hi
	                : log_of((struct twice){x, 0});
}

double ws_log1p(double x)
{
	return !(x > -1) || isinf(x) || x == 0 ? (x == 0 ? x : ws_log(1 + x)) : log_of(sum(1, x));
}

/* Source: DLMF 5.11.1, after 5.5.1 as often as it takes. */
double ws_log_gamma(double x)
{
	static const double term[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
	                              1.0 / 1188, -691.0 / 360360, 1.0 / 156};
	const double half_log_of_2_pi = 0x1.d67f1c864beb5p-1;
	double below = 1, series = 0;

	for (; x < 16; x++)
		below *= x;
	for (int i = sizeof(term) / sizeof(*term); i-- > 0;)
		series = series / (x * x) + term[i];
	return (x - 0.5) * ws_log(x) - x + half_log_of_2_pi + series / x - ws_log(below);
}

double ws_power_of_ten(int n)
{
	double power = 1;

	for (int i = 0; i < n || i < -n; i++)
		power *= 10;
	return n < 0 ? 1 / power : power;
}

int ws_exponent_of_ten(double x)
{
	int exponent, n;

	if (!isfinite(x))
		return 0;
	frexp(x, &exponent);
	n = (int)floor((exponent - 1) * 0.30102999566398119521);
	return x >= ws_power_of_ten(n + 1) ? n + 1 : n;
}
