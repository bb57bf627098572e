"""Prints numbers that are written into tests, computed with 80 digits.

    python3 -m pip install mpmath && python3 tests/independent/values.py
"""

from margins import normal_below, normal_delta, solve
from mpmath import erfinv, exp, floor, mp, mpf, sqrt

mp.dps = 80

# Multiples of ln 2 are where 2^32 e^epsilon is next to an integer.
WEIGHTS_AT = sorted(
    [1e-6, 1e-5, 2.0**-10, 0.01, 0.1, 0.25, 0.3, 0.5, 0.6931471805599454, 0.7, 1.0, 1.1, 1.5, 2.0, 2.5, 3.0]
    + [4.0, 4.5, 5.0, 6.0, 6.5, 7.3, 8.0, 10.0]
    + [11.090354888959126, 12.0, 16.0, 20.0, 21.48]
    + [k * 0.6931471805599453 for k in (1, 2, 3, 5, 8, 16, 20)]
)


def analytic_variance(epsilon):
    """sigma^2 of the calibrated Gaussian mechanism, for delta 1e-6 and sensitivity sqrt(2)."""
    excess = lambda log: normal_delta(exp(log) / sqrt(mpf(2)), epsilon)[0] - mpf(10) ** -6
    return exp(2 * solve(excess, -14, 14, 40))


def power(shift, alpha):
    return normal_below(sqrt(mpf(2)) * erfinv(2 * alpha - 1) + shift)


def main():
    for e in ("0.1", "0.5", "1", "2", "4", "8", "16"):
        print("sigma^2 at epsilon", e, mp.nstr(analytic_variance(mpf(e)), 17))
    for e in map(mpf, ("0.5", "1", "2", "4", "6", "8")):
        shift = sqrt(2 / analytic_variance(e))
        exceeds = normal_below(shift / 2 - e / shift)
        print("epsilon", e, "power", mp.nstr(power(shift, mpf(1) / 100), 17), "P[loss > epsilon]", mp.nstr(exceeds, 17))
    for e in WEIGHTS_AT:
        print("double-cap's weight at epsilon", repr(e), "is", int(floor(mpf(2) ** 32 * exp(mpf(e)))))


if __name__ == "__main__":
    main()
