/*
 * Is B faster than A, asked again after every pair of runs? An ordinary interval is right for a
 * number of runs that was fixed before; looked at after every run, it is wrong far more often than
 * it says. This one may be looked at after every pair. docs/dev/referee.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ws_sequential {
	double centre;    /* the median of the differences */
	double low, high; /* -INFINITY and INFINITY while there are too few pairs */
};

/*
 * The interval of the true difference. difference[n]: of each pair in the order of recording, in
 * any unit, such as log(B / A). chance: the probability that the interval, of any number of pairs,
 * ever lacks the truth: 0.01. This holds for differences that are as likely to be above the truth
 * as below it by the same amount, whatever their distribution; a random order of A and B within
 * each pair makes that so for equal programs, even if the machine drifts.
 */
void ws_sequential_interval(const double *difference, size_t n, double chance,
                            struct ws_sequential *out);
/* Does that interval lack this value? */
bool ws_sequential_refutes(const double *difference, size_t n, double chance, double value);
/* The number of pairs, all with the same difference, from which the interval is finite. */
size_t ws_sequential_fewest(double chance);
