/* slowest_rank: how much slower than the mean the slowest of many ranks is. */
#ifndef SC_PLAN_SLOWEST_RANK_H
#define SC_PLAN_SLOWEST_RANK_H

/* The expected largest of n independent values of a normal distribution with mean 0 and
 * standard deviation 1: 0 for one, 1/√π for two, about √(2 ln n) for many. */
double sc__expected_largest(double n);

#endif
