#!/usr/bin/env python3
"""Writes tests/vectors/accounting/margins.json: what the crate prints, computed with 100 digits.

    python3 -m pip install mpmath && python3 scripts/margin_fixtures.py

Every case is a list of numbers: the inputs, each an exact double, and last the two doubles nearest to the true result,
the largest that is not above it and the smallest that is not below. The true result is one of a formula of its own,
written down here from the statements. Where there are more numbers, the test that reads them says what they are.
"""

import json
import math
import random
from fractions import Fraction
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 130
target = Path(__file__).resolve().parent.parent / "tests/vectors/accounting/margins.json"
rng = random.Random(20)


def around(x):
    """The largest double that is not above x and the smallest that is not below; also of fractions."""
    exact = Fraction(x) if isinstance(x, (int, Fraction)) else fraction(x)
    try:
        near = float(exact)
    except OverflowError:
        near = math.inf
    down = up = near
    while down == math.inf or Fraction(down) > exact:
        down = math.nextafter(down, -math.inf)
    while up != math.inf and Fraction(up) < exact:
        up = math.nextafter(up, math.inf)
    return [down, up]


def fraction(x):
    sign, mantissa, exponent, _ = mpf(x)._mpf_
    if exponent < -4000:
        # Below all doubles: only its sign matters.
        return Fraction(1, 2**4000) * (-1 if sign else 1) if mantissa else Fraction(0)
    return Fraction(int(mantissa)) * Fraction(2) ** exponent * (-1 if sign else 1)


def log_uniform(low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


# --- Gaussian noise


def erfcx(x):
    """e^(x^2) erfc(x) for x >= 0."""
    if x < 40:
        return mp.exp(x * x) * mp.erfc(x)
    term, total, n = mpf(1), mpf(1), 0
    while abs(term) > mpf(10) ** -mp.dps and n < 1000:
        n += 1
        term *= -(2 * n - 1) / (2 * x * x)
        total += term
    return total / (x * mp.sqrt(mp.pi))


def normal_delta(ratio, epsilon):
    """(delta, gain, loss), Balle & Wang 2018, Theorem 8; e^epsilon phi(a + b) is phi(a - b)."""
    a, b = 1 / (2 * mpf(ratio)), mpf(epsilon) * mpf(ratio)
    t, s = b - a, a + b
    if t > 1000:
        return mpf(10) ** -2000, mpf(10) ** -2000, mpf(0)
    gain = mp.erfc(t / mp.sqrt(2)) / 2
    loss = mp.exp(-t * t / 2) * erfcx(s / mp.sqrt(2)) / 2 if t > -1000 else mpf(0)
    return gain - loss, gain, loss


def digits_for(ratio):
    mp.dps = 130 + max(0, int(2 * abs(math.log10(ratio))))


def ratio_of(sigma, sensitivity):
    return mpf(sigma) / mpf(sensitivity)


def delta_cases():
    cases = []

    def add(sigma, sensitivity, epsilon):
        ratio = ratio_of(sigma, sensitivity)
        digits_for(float(ratio))
        value, gain, loss = normal_delta(ratio, epsilon)
        cases.append([sigma, sensitivity, epsilon, float(gain + loss), *around(value)])
        mp.dps = 130

    for _ in range(90):
        epsilon = log_uniform(1e-3, 700)
        t = rng.uniform(-2, 8)
        ratio = (t + math.sqrt(t * t + 2 * epsilon)) / (2 * epsilon)
        sensitivity = rng.choice([1.0, math.sqrt(2), log_uniform(1e-3, 1e3)])
        add(ratio * sensitivity, sensitivity, epsilon)
    # The loss from where a + b is 38 has few bits.
    epsilons = (80.0, 300.0, 600.0, 690.0, 700.0, 715.0, 719.0, 722.0, 726.0, 730.0, 733.0, 734.5, 737.0, 900.0, 1e4)
    for epsilon in epsilons:
        for s in (37.3, 37.8, 38.1, 38.3, 38.4, 38.45):
            t = math.sqrt(max(s * s - 2 * epsilon, 0.0))
            ratio = (t + math.sqrt(t * t + 2 * epsilon)) / (2 * epsilon)
            if t > 0 or epsilon > 700:
                add(ratio, 1.0, epsilon)
    # Small deltas to the end of the doubles and beyond.
    for epsilon in (1e-12, 1e-6, 1.0, 40.0, 700.0):
        for t in (20.0, 30.0, 36.0, 37.0, 37.5, 38.0, 38.4, 38.6, 45.0):
            add((t + math.sqrt(t * t + 2 * epsilon)) / (2 * epsilon), 1.0, epsilon)
    for epsilon in (1e6, 1e10, 1e16, 1e24, 1e30, 1e34, 1e40, 1e100, 1e250):
        for t in (-20.0, -1.0, 0.0, 3.0, 20.0):
            root = math.sqrt(t * t + 2 * epsilon)
            add((t + root) / (2 * epsilon), 1.0, epsilon)
            add(math.nextafter((t + root) / (2 * epsilon), math.inf), 1.0, epsilon)
    for sigma in (1e-300, 1e-150, 1e150, 1e300):
        for epsilon in (1e-12, 1.0, 700.0):
            add(sigma, 1.0, epsilon)
    return cases


def solve(function, low, high, count):
    """The place where a decreasing function is 0, to `count` halvings' worth: Illinois."""
    low, high = mpf(low), mpf(high)
    at_low, at_high = function(low), function(high)
    assert at_low > 0 >= at_high, (at_low, at_high)
    side = 0
    for _ in range(400):
        middle = low + (high - low) * at_low / (at_low - at_high)
        if not low < middle < high:
            middle = (low + high) / 2
        value = function(middle)
        if value > 0:
            low, at_low = middle, value
            at_high = at_high / 2 if side == 1 else at_high
            side = 1
        else:
            high, at_high = middle, value
            at_low = at_low / 2 if side == -1 else at_low
            side = -1
        if high - low <= abs(high) * mpf(10) ** -count or value == 0:
            return middle if value == 0 else high
    # The rest is halved.
    while high - low > abs(high) * mpf(10) ** -count:
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return high


def margined_delta(ratio, epsilon):
    """What a double may say of delta: three times the margin of its documentation above it."""
    value, gain, loss = normal_delta(ratio, epsilon)
    a, b = 1 / (2 * mpf(ratio)), mpf(epsilon) * mpf(ratio)
    unit = mpf(2) ** -52
    if a + b > 10**8:
        return mp.erfc((b - a - 24 * unit * (a + b)) / mp.sqrt(2)) / 2 + mpf("1e-322")
    return value + 3 * max(mpf("1e-12"), 16 * unit * (a + b) * (1 + abs(b - a))) * (gain + loss) + mpf("1e-322")


def root(function, guess, high):
    """Where a function that falls with its argument is 1."""
    return solve(lambda x: mp.log(function(x)), guess, high, 30 + max(0, mp.dps - 130))


def normal_epsilon(ratio, delta):
    """The smallest epsilon with this delta, 0 where every one has it: the largest to say, and around the true one."""
    digits_for(float(ratio))
    a = 1 / (2 * ratio)
    found = []
    for of in (lambda e: normal_delta(ratio, e)[0], lambda e: margined_delta(ratio, e)):
        if of(mpf(0)) <= mpf(delta):
            found.append(mpf(0))
        else:
            high = 60 + 100 * a * mpf(2) ** -52
            least = -a if a < 40 else mpf(-40)
            t = root(lambda t: of((t + a) / ratio) / mpf(delta), least, high)
            found.append((t + a) / ratio)
    mp.dps = 130
    return [float(found[1]), *around(found[0])]


def epsilon_cases():
    cases = []
    for _ in range(40):
        sigma, sensitivity, delta = log_uniform(0.03, 300), log_uniform(0.1, 10), log_uniform(1e-30, 0.5)
        cases.append([sigma, sensitivity, delta, *normal_epsilon(ratio_of(sigma, sensitivity), delta)])
    for delta in (1e-300, 1e-100, 1e-9, 0.5):
        for sigma in (1e-17, 1e-12, 1e-6, 0.026, 1.0, 1e6):
            cases.append([sigma, 1.0, delta, *normal_epsilon(mpf(sigma), delta)])
    # Where e^epsilon times the tail is of a subnormal number.
    for s in (37.9, 38.2, 38.4, 38.5):
        for epsilon in (300.0, 600.0, 690.0, 700.0, 705.0, 720.0, 735.0):
            if s * s > 2 * epsilon:
                t = math.sqrt(s * s - 2 * epsilon)
                ratio = (t + s) / (2 * epsilon)
                delta = float(normal_delta(ratio, epsilon)[0])
                cases.append([ratio, 1.0, delta, *normal_epsilon(mpf(ratio), delta)])
    return cases


def rho_epsilon_cases():
    cases = []
    for rho in (1e-300, 1e-100, 1e-12, 1e-3, 0.3, 10.0, 350.0, 360.0, 1e4, 1e9, 1e20, 1e33, 1e36, 1e100, 1e290):
        for delta in (1e-300, 1e-12, 1e-6, 0.5):
            cases.append([rho, delta, *normal_epsilon(1 / mp.sqrt(2 * mpf(rho)), delta)])
    for _ in range(40):
        rho, delta = log_uniform(1e-4, 1e3), log_uniform(1e-15, 0.1)
        cases.append([rho, delta, *normal_epsilon(1 / mp.sqrt(2 * mpf(rho)), delta)])
    return cases


def sigma_cases():
    cases = []

    def add(epsilon, delta, sensitivity):
        # delta falls as the ratio grows.
        low, high = mp.log(1e-12) - mp.log(1 + mpf(epsilon)), mp.log(mpf(10)) * 20
        true = root(lambda x: normal_delta(mp.exp(x), epsilon)[0] / mpf(delta), low, high)
        most = root(lambda x: margined_delta(mp.exp(x), epsilon) / mpf(delta), low, high)
        most = float(mp.exp(most) * mpf(sensitivity))
        cases.append([epsilon, delta, sensitivity, most, *around(mp.exp(true) * mpf(sensitivity))])

    for epsilon in (1e-12, 1e-6, 0.01, 1.0, 20.0, 300.0, 700.0, 735.0):
        for delta in (1e-300, 1e-100, 1e-15, 1e-6, 0.5):
            add(epsilon, delta, math.sqrt(2))
    for _ in range(30):
        add(log_uniform(0.01, 700), log_uniform(1e-15, 0.3), log_uniform(0.01, 100))
    return cases


def rho_cases():
    cases = []
    for _ in range(60):
        sigma, sensitivity = log_uniform(1e-4, 1e4), log_uniform(1e-2, 1e2)
        cases.append([sigma, sensitivity, *around((Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2)])
    for sigma, sensitivity in [(1e150, 1.0), (1e-150, 1.0), (1.0, 1e150), (1e-300, 1e-300), (1e300, 1e152)]:
        cases.append([sigma, sensitivity, *around((Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2)])
    return cases


def rho_sigma_cases():
    cases = []
    points = [(log_uniform(1e-4, 1e4), log_uniform(1e-2, 1e2)) for _ in range(60)]
    points += [(rho, 1.0) for rho in (1e-300, 1e-150, 1e150, 1e300)]
    points += [(1e-300, 3.436e-310), (1e-300, 2.5e-308), (1e-200, 1e-320), (1e-100, 5e-324), (1e-300, 7.7e-322)]
    for rho, sensitivity in points:
        cases.append([rho, sensitivity, *around(mpf(sensitivity) / mp.sqrt(2 * mpf(rho)))])
    return cases


# --- Renyi divergences


def cap_divergence(epsilon, candidates, cap, order):
    w, members, alpha = mp.exp(mpf(epsilon)), min(cap, candidates - cap), mpf(order)
    total = cap * w + candidates - cap
    moment = members * (w**alpha + w ** (1 - alpha)) + (cap - members) * w + candidates - cap - members
    return mp.log(moment / total) / (alpha - 1)


def cap_cases():
    cases = []
    points = [(2, 1), (3, 1), (3, 2), (64, 14), (64, 32), (1024, 8), (4096, 4090), (16384, 1), (16384, 8192)]
    orders = [1 + 2.0**-40, 1 + 1e-6, 1.5, 2.0, 30.0, 1e4, 1e9, 1e15]
    mp.dps = 400
    for epsilon in (1e-12, 1e-6, 0.01, 1.0, 4.0, 40.0, 599.0, 700.0):
        for candidates, cap in points:
            order = rng.choice(orders)
            cases.append([epsilon, candidates, cap, order, *around(cap_divergence(epsilon, candidates, cap, order))])
    for _ in range(60):
        candidates = int(log_uniform(2, 16384.9))
        cap = rng.randint(1, candidates - 1)
        epsilon, order = log_uniform(1e-3, 20), 1 + log_uniform(1e-3, 1e3)
        cases.append([epsilon, candidates, cap, order, *around(cap_divergence(epsilon, candidates, cap, order))])
    for epsilon, order in [
        (300.0, 3.0 - 2.0**-40),
        (300.0, 3.0),
        (300.0, 3.1),
        (1.0, 600.5),
        (1.0, 601.5),
        (0.1, 6002.0),
    ]:
        cases.append([epsilon, 64, 14, order, *around(cap_divergence(epsilon, 64, 14, order))])
    mp.dps = 130
    return cases


def conversion(order, divergence, delta):
    alpha = mpf(order)
    return mpf(divergence) + mp.log((alpha - 1) / alpha) - (mp.log(mpf(delta)) + mp.log(alpha)) / (alpha - 1)


def conversion_cases():
    cases = []
    for _ in range(80):
        order, divergence, delta = 1 + log_uniform(1e-3, 1e4), log_uniform(1e-6, 100), log_uniform(1e-300, 0.5)
        value = conversion(order, divergence, delta)
        if value > 0:
            cases.append([order, divergence, delta, *around(value)])
    # Where what delta costs and what the order saves are nearly the same.
    while len(cases) < 160:
        order = 1 + log_uniform(1e5, 1e9)
        delta = math.exp(rng.uniform(-1e-6, 1e-6)) / order
        divergence = (1 + log_uniform(1e-6, 1)) / order
        value = conversion(order, divergence, delta)
        if value > 0:
            cases.append([order, divergence, delta, *around(value)])
    return cases


def least_conversion_cases():
    """Of Gaussian noise: the minimum over all orders that are looked at."""
    cases = []
    for rho in (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e6, 1e12, 1e15):
        for delta in (1e-300, 1e-30, 1e-9, 1e-4, 0.1, 0.5):
            slope = lambda x: -(mpf(rho) * mp.exp(2 * x) + mp.log(1 + mp.exp(x)) + mp.log(mpf(delta)))
            # The search between neighbours goes a step beyond.
            low, high = mp.log(mpf("1e-6")) - 0.174, mp.log(mpf(10) ** 9) + 0.174
            if slope(low) <= 0:
                place = low
            elif slope(high) > 0:
                place = high
            else:
                place = solve(slope, low, high, 40)
            order = 1 + mp.exp(place)
            value = conversion(order, order * mpf(rho), delta)
            if value > 0:
                cases.append([rho, delta, *around(value)])
    return cases


# --- Sums


def pure_sum_cases():
    cases = []
    for _ in range(30):
        parts = [(log_uniform(1e-6, 20), rng.randint(1, 10 ** rng.randint(1, 9))) for _ in range(rng.randint(2, 12))]
        total = sum(Fraction(epsilon) * count for epsilon, count in parts)
        cases.append([*[float(x) for part in parts for x in part], *around(total)])
    cases.append([1e-12, float(2**53), 0.1, 3.0, *around(Fraction(1e-12) * 2**53 + Fraction(0.1) * 3)])
    return cases


def advanced_cases():
    """Kairouz, Oh & Viswanath 2015, Theorem 3.5: the smaller of the two square-root forms."""
    cases = []
    for _ in range(40):
        parts = [(log_uniform(1e-4, 2), rng.randint(1, 10 ** rng.randint(1, 6))) for _ in range(rng.randint(1, 5))]
        slack = log_uniform(1e-30, 0.1)
        of = lambda value: sum(value(mpf(epsilon)) * count for epsilon, count in parts)
        mean = of(lambda e: e * mp.expm1(e) / (mp.exp(e) + 1))
        squares = of(lambda e: e * e)
        roots = [mp.log(mp.e + mp.sqrt(squares) / mpf(slack)), mp.log(1 / mpf(slack))]
        value = mean + min(mp.sqrt(2 * squares * root) for root in roots)
        cases.append([slack, *[float(x) for part in parts for x in part], *around(value)])
    return cases


# --- What one report tells


def normal_below(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2


def gaussian_power(rho, variation, alpha):
    level = mpf(alpha) + mpf(variation)
    if level >= 1:
        return mpf(1)
    z = solve(lambda z: level - normal_below(z), mpf(-45), mpf(45), 60) if level > 0 else None
    return (normal_below(z + mp.sqrt(2 * mpf(rho))) if z is not None else 0) + mpf(variation)


def power_cases():
    gaussian = []
    points = [
        (log_uniform(1e-6, 50), rng.choice([0.0, log_uniform(1e-16, 1e-3)]), log_uniform(1e-12, 1)) for _ in range(50)
    ]
    points += [
        (rho, 0.0, alpha)
        for rho in (1e-300, 1e-12, 1.0, 20.0, 700.0)
        for alpha in (1e-300, 1e-30, 0.01, 0.99, 1 - 2.0**-50)
    ]
    points += [(0.5, 0.25, 0.5), (0.5, 0.5, 0.5), (1e300, 0.0, 1e-300), (2.0, 1e-18, 1e-18), (2.0, 0.3, 0.0)]
    for rho, variation, alpha in points:
        gaussian.append([rho, variation, alpha, *around(min(gaussian_power(rho, variation, alpha), mpf(1)))])
    cap, approximate = [], []
    for _ in range(60):
        candidates = int(log_uniform(2, 16384.9))
        members = rng.randint(1, candidates - 1)
        cap.append([log_uniform(1e-4, 12), candidates, members, rng.choice([0.01, 0.3, log_uniform(1e-9, 1)])])
    for epsilon in (1e-12, 1e-3, 40.0, 300.0, 690.0, 700.0):
        cap += [[epsilon, 128, 16, 0.01], [epsilon, 16384, 1, 1e-300], [epsilon, 3, 2, 0.999]]
    for case in cap:
        epsilon, candidates, members, alpha = case
        w, alpha = mp.exp(mpf(epsilon)), mpf(alpha)
        middle = min(members, candidates - members) * (w - 1) / (members * w + candidates - members)
        case += around(min(w * alpha, alpha + middle, 1 - (1 - alpha) / w))
    for _ in range(60):
        approximate.append(
            [
                log_uniform(1e-6, 20),
                rng.choice([0.0, log_uniform(1e-12, 0.5)]),
                rng.choice([0.01, log_uniform(1e-9, 1)]),
            ]
        )
    for epsilon in (1e-12, 300.0, 700.0):
        approximate += [[epsilon, 0.0, 1e-300], [epsilon, 1e-300, 0.5], [epsilon, 0.5, 0.75]]
    for case in approximate:
        epsilon, delta, alpha = map(mpf, case)
        case += around(min(mp.exp(epsilon) * alpha + delta, 1 - mp.exp(-epsilon) * max(1 - delta - alpha, 0), 1))
    return gaussian, cap, approximate


# --- Batches


def closed_form(local, reports, delta):
    """Feldman, McMillan & Talwar 2021 as in their program; None where the condition fails."""
    up, logarithm = mp.exp(mpf(local)), mp.log(4 / mpf(delta))
    if reports == 0 or mpf(local) > mp.log(reports / (16 * logarithm)):
        return None
    a = 8 * mp.sqrt(up * logarithm / reports) + 8 * up / reports
    return min(mp.log(1 + (1 - 1 / up) * a / (1 + 1 / up / (1 + a))), mpf(local))


def closed_form_cases():
    # As a double 2^64 - 1 is 2^64, and that as an integer is the largest.
    largest = 2**64 - 1
    known, limits = [], []
    for _ in range(60):
        local, reports, delta = log_uniform(1e-3, 8), int(log_uniform(1e3, 1e15)), log_uniform(1e-20, 0.5)
        value = closed_form(local, reports, delta)
        known.append([local, float(reports), delta, *(around(value) if value is not None else [0.0, 0.0])])
    for reports in (1, 2, 40, 100, 2**53, largest):
        for delta in (1e-300, 1e-6, 0.5):
            for local in (1e-12, 0.5, 4.0, 36.0, 700.0):
                value = closed_form(local, reports, delta)
                known.append([local, float(reports), delta, *(around(value) if value is not None else [0.0, 0.0])])
    for _ in range(60):
        reports, delta = int(log_uniform(100, 1e18)), log_uniform(1e-300, 0.5)
        reports = int(float(reports))
        limit = mp.log(reports / (16 * mp.log(4 / mpf(delta))))
        if limit > 0:
            limits.append([float(reports), delta, *around(limit)])
    while len(limits) < 120:
        # The largest local epsilon is next to nothing.
        reports, x = rng.randint(10**6, 10**9), log_uniform(1e-13, 1e-8)
        delta = float(4 * mp.exp(-reports / (16 * mp.exp(x))))
        if delta == 0:
            reports = rng.randint(100, 5000)
            delta = float(4 * mp.exp(-reports / (16 * mp.exp(x))))
        limit = mp.log(reports / (16 * mp.log(4 / mpf(delta))))
        if 0 < limit < 1:
            limits.append([float(reports), delta, *around(limit)])
    return known, limits


def slack_cases():
    cases = []
    points = [
        (log_uniform(1e-3, 10), log_uniform(1e-15, 1e-6), rng.randint(2, 30), log_uniform(1e-3, 8)) for _ in range(60)
    ]
    points += [
        (local, own, reports, epsilon)
        for local, epsilon in [(1e-12, 1e-13), (4.0, 1.0), (39.0, 30.0)]
        for own in (1e-300, 1e-12)
        for reports in (1, 2, 3, 2**53, 2**64 - 1)
    ]
    for local, own, reports, epsilon in points:
        value = mpf(own) * (1 + (1 + mp.exp(mpf(epsilon))) * 2 * (reports - 1) * mp.exp(-mpf(local)))
        cases.append([local, own, float(reports), epsilon, *around(value)])
    return cases


def excess_sum(draws, counted, idle, second, third):
    """E[(a - second b - third c)_+] over all counts."""
    counted, idle, second, third = map(mpf, (counted, idle, second, third))
    rest = 1 - 2 * counted - idle
    total = mpf(0)
    for a in range(1, draws + 1):
        for b in range(draws - a + 1):
            if a - second * b <= 0:
                break
            for c in range(draws - a - b + 1):
                value = a - second * b - third * c
                if value <= 0:
                    break
                left = draws - a - b - c
                ways = mp.binomial(draws, a) * mp.binomial(draws - a, b) * mp.binomial(draws - a - b, c)
                # 0^0 is 1.
                idles = idle**c if c else mpf(1)
                others = rest**left if left else mpf(1)
                total += ways * counted ** (a + b) * idles * others * value
    return total


def blanket_delta(bound, local, candidates, cap, reports, epsilon):
    """The statement of src/privacy/amplification/blanket.rs, for `bound` 0 of every randomizer and 1 of caps."""
    e, growth = mp.exp(mpf(local)), mp.expm1(mpf(epsilon))
    gain, loss = e - growth - 1, e * (growth + 1) - 1
    if bound == 0:
        counted, idle, cost, factor = 1 / (2 * e), mpf(0), mpf(0), 2 * e / (e + 1)
    else:
        total = cap * e + candidates - cap
        counted, idle = min(cap, candidates - cap) / total, abs(candidates - 2 * cap) / total
        cost, factor = (growth if 2 * cap <= candidates else e * growth), mpf(1)
    return factor * gain / reports * excess_sum(reports, counted, idle, loss / gain, cost / gain)


def blanket_cases():
    mp.dps = 50
    cases = []
    points = [(2, 1), (5, 1), (5, 4), (64, 17), (64, 32), (128, 100), (4096, 7)]
    for local in (1e-3, 0.5, 2.0, 8.0):
        for reports in (2, 3, 6, 25):
            for part in (0.02, 0.2, 0.7):
                candidates, cap = rng.choice(points)
                for bound in (0, 1):
                    epsilon = part * local
                    value = blanket_delta(bound, local, candidates, cap, reports, epsilon)
                    if value > 1e-250:
                        cases.append([bound, local, candidates, cap, reports, epsilon, *around(value)])
    # A single report: nothing but roundings.
    for _ in range(80):
        candidates = int(log_uniform(2, 16384.9))
        cap, bound, local = rng.randint(1, candidates - 1), rng.randint(0, 1), log_uniform(1e-3, 39)
        epsilon = local * rng.uniform(0.001, 0.999)
        value = blanket_delta(bound, local, candidates, cap, 1, epsilon)
        cases.append([bound, local, candidates, cap, 1, epsilon, *around(value)])
    for local, epsilon in [(1e-12, 1e-13), (39.0, 1e-12), (39.0, 38.999999)]:
        for bound in (0, 1):
            cases.append([bound, local, 64, 14, 1, epsilon, *around(blanket_delta(bound, local, 64, 14, 1, epsilon))])
    mp.dps = 130
    return cases


def transform_cases():
    """Terms of the sum in src/privacy/amplification/excess.rs: the real part of G at a frequency, over e^moment, and
    how far above it a term may be."""
    cases = []
    for _ in range(150):
        kind = rng.randint(0, 2)
        draws = float(int(log_uniform(2, 1e11)))
        if kind == 0:
            counted = min(log_uniform(40, 1e9) / draws, 0.49)
        elif kind == 1:
            counted = min(log_uniform(0.5, 29) / draws, 0.49)
        else:
            counted = log_uniform(1e-6, 0.1) / draws
        idle = rng.choice([0.0, rng.uniform(0, 1 - 2 * counted) * 0.99])
        second = rng.choice([1.0 + rng.random(), log_uniform(1, 1e6)])
        third = rng.choice([0.0, min(second, log_uniform(1e-4, 3))])
        tilt = log_uniform(0.02, 3) / max(1.0, math.sqrt(draws * counted * (1 + second)))
        if kind:
            tilt = log_uniform(0.05, 5)
        noise = 0.05 / tilt
        frequency = rng.choice([0.0, tilt * log_uniform(0.1, 30)])
        p, u, b, c, l, t, s = map(mpf, (counted, idle, second, third, tilt, frequency, noise))
        n, z = int(draws), mpf(0)

        def moment(z, left_out):
            base = 1 + p * mp.expm1(z) + p * mp.expm1(-b * z) + u * mp.expm1(-c * z)
            power = mp.exp(n * mp.log(base))
            return power - mp.exp(n * mp.log(base - p * mp.exp(z))) if left_out else power

        left_out = draws * counted < 30
        at = moment(mp.mpc(l, 0), left_out).real
        if not at > 0:
            continue
        scale = float(mp.log(at))
        if not abs(scale) < 600:
            continue
        z = mp.mpc(l, t)
        value = (moment(z, left_out) * mp.exp(s * s * z * z / 2) / (z * z)).real / mp.exp(mpf(scale))
        # m of point 5, and a bound on the modulus.
        m = p * mp.exp(l) if left_out else mpf(0)
        for q, v in ((p, mpf(1)), (p, -b), (u, -c)):
            angle = t * v
            fall = 2 * mp.sin(angle / 2) ** 2
            m += q * (abs(mp.expm1(l * v)) + fall + mp.exp(l * v) * (abs(mp.sin(angle)) + abs(angle)))
        if left_out:
            base = 1 + p * mp.expm1(z) + p * mp.expm1(-b * z) + u * mp.expm1(-c * z)
            none = base - p * mp.exp(z)
            rare = n * p * mp.exp(l) / abs(none)
            both = [mp.exp(n * mp.log(abs(x))) for x in (base, none)]
            size = sum(both) * rare if rare < 0.5 else sum(both)
        else:
            size = abs(moment(z, False))
        size *= abs(mp.exp(s * s * z * z / 2)) / abs(z) ** 2 / mp.exp(mpf(scale))
        allowed = 1e-12 * (1 + n * m) * size * mpf("1.01")
        cases.append(
            [draws, counted, idle, second, third, tilt, noise, scale, frequency, float(allowed), *around(value)]
        )
    return cases


# --- Double-cap


def binomial_at_most(trials, most, p):
    if most < trials * float(p):
        term = total = mp.binomial(trials, most) * p**most * (1 - p) ** (trials - most)
        for k in range(most, 0, -1):
            term *= mpf(k) / (trials - k + 1) * (1 - p) / p
            total += term
            if term < total * mpf(10) ** -35:
                break
        return total
    k = most + 1
    if k > trials:
        return mpf(1)
    term = total = mp.binomial(trials, k) * p**k * (1 - p) ** (trials - k)
    while k < trials:
        term *= mpf(trials - k) / (k + 1) * p / (1 - p)
        k += 1
        total += term
        if term < total * mpf(10) ** -35 or total == 0:
            break
    return 1 - total


def gain_cases():
    mp.dps = 40
    cases = []
    for candidates, cap in [
        (2, 1), (3, 1), (3, 2), (5, 2), (20, 13), (64, 14), (64, 32), (128, 16), (256, 9), (1024, 8), (1024, 512),
        (4096, 7), (16384, 1), (16384, 27), (16384, 90), (16384, 8192),
    ]:  # fmt: skip

        def integrand(g):
            exceeds = mp.erfc(g / mp.sqrt(2))
            at_most = binomial_at_most(candidates - 1, cap - 1, exceeds) if 0 < exceeds < 1 else mpf(exceeds == 0)
            return g * g * mp.exp(-g * g / 2) * mp.sqrt(2 / mp.pi) * at_most

        # Where the cap begins the integrand is steep.
        edge = mp.sqrt(2) * mp.erfinv(1 - mpf(cap) / candidates)
        width = 1 / mp.sqrt(mpf(cap))
        points = sorted(
            {
                mpf(0),
                mpf(15),
                *[x for x in (edge + width * k / 2 for k in range(-16, 17)) if 0 < x < 15],
                *map(mpf, (1, 2, 3, 4, 5, 6, 7, 8, 10)),
            }
        )
        total = sum(mp.quad(integrand, [low, high], maxdegree=5) for low, high in zip(points, points[1:]))
        top = mpf(candidates) / cap * total
        rest = (candidates - cap * top) / (candidates - cap)
        for q in (1.0, 0.7, 0.25):
            cases.append([candidates, cap, q, *around(q * top + (1 - mpf(q)) * rest - 1)])
    mp.dps = 130
    return cases


def share_cases():
    """What hostile reports of all pull by, once more in units."""
    cases = []
    for _ in range(60):
        records = rng.randint(1, 10 ** rng.randint(1, 15))
        hostile, pull = rng.randint(1, records), log_uniform(1, 1e4)
        cases.append([float(hostile), float(records), pull, *around(Fraction(hostile, records) * Fraction(pull))])
    return cases


# --- Theorems


def published_cases():
    """For k = 1 but where it is said: [d, k, lambda_1, lambda_k, lambda_{k+1}, epsilon, delta, n, target, s] and the
    value of ppca, any-central, mod-sulq (its infimum over phi, for fine steps), wang-xu-1 to 5, mod-sulq-records,
    wang-xu-1-any-rank, -2-proved, -3-any-rank, -4-proved, -5-proved, liu-3-3-records, -5-1-records, -3-3, -5-1, -5-3,
    -5-4, ge-4-3, ge-4-4 and ge-minimax; -1 for none."""
    cases = []
    spectra = [(100, [0.5, 0.1]), (40, [0.9]), (12, [0.4, 0.3, 0.2, 0.05]), (3, [0.6, 0.2]), (1000, [0.02, 0.01])]
    for d, signals in spectra:
        for k in (1, 2, 3, 4):
            for epsilon, delta, n, t, s in [
                (0.5, 0.01, 20_000, 1e-3, 10), (0.1, 1e-6, 10**9, 0.05, 12), (1e-12, 1e-300, 2**53, 1e-12, 3),
                (2.0, 0.5, 1, 0.9, 100), (700.0, 1e-12, 10**6, 1e-9, 5),
            ]:  # fmt: skip
                if k >= d:
                    continue
                bulk = (1 - sum(signals)) / (d - len(signals))
                eigenvalue = lambda i: mpf(signals[i]) if i < len(signals) else mpf(bulk)
                first, last, following = eigenvalue(0), eigenvalue(k - 1), eigenvalue(k)
                gap = last - following
                e, dl, tt, nn = mpf(epsilon), mpf(delta), mpf(t), mpf(n)
                values = [None] * 23
                trace = mp.fsum(map(mpf, signals)) + (d - len(signals)) * mpf(bulk)
                noise_of_z = mp.log(mpf(5) / 4 / dl) / e**2
                if k == 1:
                    values[8] = mpf(d) ** 1.5 * mp.sqrt(mp.log(d / dl)) / e
                    if gap > 0:
                        values[14:20] = liu(d, first, following, trace, e, dl, nn)
                if gap > 0:
                    values[10] = k * (d * noise_of_z + first * trace) / (gap**2 * nn)
                    if epsilon <= 0.5 and k < d:
                        values[9] = first * following / gap**2 * k * (d - k) / (nn * e**2)
                        if 2 * k <= s - k and s < d and k <= d - 4:
                            order = k + 1 + mp.log(mpf(d - k) / (s - k))
                            values[11] = first * following / gap**2 * s * order / (nn * e**2)
                    sparse = k <= s <= d
                    if epsilon < 1 and sparse:
                        entry = s * s * mp.log(d) * (noise_of_z + first**2)
                        values[12] = entry / (gap**2 * nn)
                        values[13] = entry * (8 * first + gap) ** 2 / gap**4
                        if delta < 0.5:
                            values[20:22] = dps_pca(d, k, first, last, following, e, dl, nn, s)
                    if sparse:
                        values[22] = first * following / gap**2 * s * (k + mp.log(d) / 4) / nn
                if k == 1 and gap > 0:
                    rho = mp.sqrt(1 - tt)
                    values[0] = (
                        d / (e * gap * (1 - rho)) * (4 * mp.log(20) / d + 2 * mp.log(8 * first / ((1 - rho**2) * gap)))
                    )
                    if d >= 3 and gap <= mpf(1) / 2 and epsilon <= 0.5:
                        complement = mp.exp(-2 * (mp.log(8) + mp.log(1 + mp.exp(d))) / (d - 2))
                        if tt <= complement / 16:
                            values[1] = d / (e * gap) * max(1, mp.sqrt(complement / (80 * tt)))
                if k == 1:
                    values[2] = mod_sulq(d, e, dl, nn)
                if gap > 0:
                    noise, signal = first * following / gap**2, (first / gap) ** 2
                    ranked = d <= 4 * k <= 3 * d
                    if epsilon <= 0.5 and ranked:
                        values[3] = noise * k * d / (nn * e**2)
                        if 2 * k <= s - k and s <= d:
                            values[5] = noise * s * (k + mp.log(d)) / (nn * e**2)
                    values[4] = signal * k * d * mp.log(1 / dl) / (nn * e**2)
                    if epsilon < 1 and sparse:
                        values[6] = signal * s * s * mp.log(d) / (nn * e**2)
                        values[7] = s * s * signal * mp.log(1 / dl) * mp.log(d) * (8 * first + gap) / e**2
                values = [-1.0 if value is None or value > 1e308 else float(value) for value in values]
                cases.append([d, k, float(bulk), epsilon, delta, float(n), t, s, len(signals), *signals, *values])
    return cases


def liu(d, first, second, trace, e, delta, n):
    """Liu, Kong, Jain & Oh 2022, for Gaussian records: (4), (9), and the squares of (5), (10), (12), (13)."""
    kappa, v, gamma, log = first / (first - second), 1 + trace / first, mp.sqrt(2), mp.log(1 / delta)
    oja = kappa**2 * (v / n + (gamma + 1) ** 2 * d**2 * log**2 / (e * n) ** 2)
    oja_records = kappa**2 + kappa * d + kappa**2 * v + d * kappa * (gamma + 1) * log / e
    dp, dp_records = None, None
    if e < mpf(0.9) and delta * n <= 1:
        dp_records = mp.exp(kappa**2) + mp.sqrt(d) * mp.power(log, 1.5) / e + kappa * d + kappa**2 * v
        dp_records += d * kappa * gamma * mp.sqrt(log) / e + d * log / e
        dp = (kappa * (mp.sqrt(v / n) + gamma * d * mp.sqrt(log) / (e * n))) ** 2
    lower = min(kappa * (mp.sqrt(d / n) + d / (e * n)) * mp.sqrt(second / first), 1) ** 2
    ratio = mp.log((1 - mp.exp(-e)) / delta)
    heavy = kappa**2 * min(min(d, ratio) / (e * n), 1) if ratio > 0 and d >= 2 else None
    return [oja_records, dp_records, oja, dp, lower, heavy]


def dps_pca(d, k, first, last, following, e, delta, n, s):
    """Ge, Wang, Wang & Liu 2018: the squares of the least sum of (4.2) with C_1 = 1, (4.3) and (4.4) over T, and of
    (4.4) there."""
    gamma = (3 * following + last) / (3 * last + following)
    best = None
    for t in range(1, 1001):
        sigma = 2 * t / e * mp.sqrt(2 * mp.log(2 * t / delta))
        alpha = 2 * k * (mp.sqrt(s) + mp.sqrt(k) + 4) * sigma / (n * last)
        if alpha >= 1 or gamma / (1 - alpha) >= 1:
            break
        rho = gamma / (1 - alpha)
        rest = 1 - mp.power(rho, 0.25)
        statistical = mp.sqrt(k) / rest * mp.sqrt(first * following) / (last - following)
        statistical *= mp.sqrt(s * (k + mp.log(d)) / n)
        private = (1 + 2 * mp.sqrt(k)) / (mp.sqrt(3) * rest) * alpha / (1 - alpha)
        optimization = mp.power(rho, mpf(t - 1) / 4)
        optimization *= min(mp.sqrt(rho) * mp.sqrt(1 - mp.sqrt(rho)) / 2, mpf(1) / 4)
        total = statistical + private + optimization
        if best is None or total < best[0]:
            best = [total, optimization]
    return [None, None] if best is None else [value**2 for value in best]


def mod_sulq(d, e, delta, n):
    """Chaudhuri, Sarwate & Sinha 2013, Theorem 15: the least over phi above the limits of (22)."""
    beta = (d + 1) / (n * e) * mp.sqrt(2 * mp.log((d * d + d) / (2 * delta * mp.sqrt(2 * mp.pi)))) + 1 / (
        n * mp.sqrt(e)
    )
    information = 1 / beta**2 + mp.log(2)
    limits = [1 / mp.sqrt(2 * mp.pi * d)]
    for numerator in (2 * mp.log(8 * d), 2 / beta**2 + mp.log(256)):
        limits.append(mp.sqrt(1 - mp.exp(-numerator / (d - 1))))
    least = max(limits)

    def at(phi):
        if phi >= 1:
            return mpf(1)
        log_k = (d - 1) * mp.log(1 / mp.sqrt(1 - phi**2)) - mp.log(8)
        inner = 1 - information / log_k
        return 1 - (1 - phi) / 4 * inner**2 if inner >= 0 else mpf(1)

    place = lambda step: at(1 - (1 - least) * mp.exp(-mpf(step) / 50))
    best = min(range(1000), key=place)
    low, high = mpf(max(best - 1, 0)), mpf(best + 1)
    for _ in range(100):
        third = (high - low) / 3
        low, high = (low + third, high) if place(low + third) > place(high - third) else (low, high - third)
    return place(low)


def large_delta_cases():
    """Where the roundings of a and b move their difference by a tenth or by tens."""
    cases = []
    while len(cases) < 60:
        epsilon, t = log_uniform(1e29, 1e35), rng.uniform(5, 38)
        ratio = (t + math.sqrt(t * t + 2 * epsilon)) / (2 * epsilon)
        digits_for(ratio)
        value, gain, loss = normal_delta(ratio, epsilon)
        if mpf(10) ** -320 < value < mpf("0.1"):
            cases.append([ratio, 1.0, epsilon, float(gain + loss), *around(value)])
        mp.dps = 130
    return cases


def difference_cases():
    """Where the roundings of a and b are most of what a double says of delta: [ratio, epsilon], and the delta."""
    cases = []
    while len(cases) < 20:
        epsilon, t = log_uniform(1e8, 1e14), rng.uniform(1, 30)
        ratio = (t + math.sqrt(t * t + 2 * epsilon)) / (2 * epsilon)
        digits_for(ratio)
        cases.append([ratio, epsilon, *around(normal_delta(ratio, epsilon)[0])])
        mp.dps = 130
    return cases


def main():
    gaussian, cap, approximate = power_cases()
    known, limits = closed_form_cases()
    sections = {
        "gaussian_delta": delta_cases(),
        "gaussian_epsilon": epsilon_cases(),
        "gaussian_epsilon_of_rho": rho_epsilon_cases(),
        "gaussian_sigma": sigma_cases(),
        "gaussian_rho": rho_cases(),
        "sigma_of_rho": rho_sigma_cases(),
        "cap_divergence": cap_cases(),
        "epsilon_at": conversion_cases(),
        "epsilon_of_divergence": least_conversion_cases(),
        "pure_sum": pure_sum_cases(),
        "advanced": advanced_cases(),
        "gaussian_power": gaussian,
        "cap_power": cap,
        "approximate_power": approximate,
        "closed_form": known,
        "closed_form_limit": limits,
        "slack": slack_cases(),
        "blanket": blanket_cases(),
        "transform": transform_cases(),
        "gain": gain_cases(),
        "share": share_cases(),
        "published": published_cases(),
    }
    sections["gaussian_delta"] += large_delta_cases()
    sections["gaussian_difference"] = difference_cases()
    lines = []
    for name, cases in sections.items():
        rows = ",\n".join("  " + json.dumps(case) for case in cases)
        lines.append(f'"{name}": [\n{rows}\n]')
        print(name, len(cases))
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
