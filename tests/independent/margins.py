"""Computes tests/vectors/accounting/margins.json again: what the crate prints, with 100 digits.

    python3 -m pip install mpmath && python3 tests/independent/margins.py

Every case is a list of numbers: the inputs, each an exact double, and last the two doubles nearest to the true result,
the largest that is not above it and the smallest that is not below. The true result is one of a formula of its own,
written down here from the statements. Where there are more numbers, the test that reads them says what they are.

The inputs are those in the file. A new case needs its inputs and any numbers in the place of the results.
"""

import functools
import json
import math
import platform
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 130
FOLDER = Path(__file__).resolve().parents[1] / "vectors/accounting"

# By section of the file: what computes the results of a case from its inputs, and how many they are.
SECTIONS = {}


def section(results=2, digits=130):
    """Make a function that of the section with its name."""

    def register(function):
        SECTIONS[function.__name__] = (mp.workdps(digits)(function), results)
        return function

    return register


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


def solve(function, low, high, digits):
    """Where a decreasing function is 0, to so many digits: by false position (Illinois), by halves if that is slow."""
    low, high, steps, last = mpf(low), mpf(high), 0, None
    at_low, at_high = function(low), function(high)
    assert at_low > 0 >= at_high, (at_low, at_high)
    while high - low > abs(high) * mpf(10) ** -digits:
        steps += 1
        middle = low + (high - low) * at_low / (at_low - at_high)
        if steps > 400 or not low < middle < high:
            middle = (low + high) / 2
        value = function(middle)
        if value == 0:
            return middle
        if value > 0:
            at_high = at_high / 2 if last == "low" else at_high
            low, at_low, last = middle, value, "low"
        else:
            at_low = at_low / 2 if last == "high" else at_low
            high, at_high, last = middle, value, "high"
    return high


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


def add_digits_for(ratio):
    mp.dps = 130 + max(0, int(2 * abs(math.log10(ratio))))


@section(results=3)
def gaussian_delta(sigma, sensitivity, epsilon):
    ratio = mpf(sigma) / mpf(sensitivity)
    add_digits_for(float(ratio))
    value, gain, loss = normal_delta(ratio, epsilon)
    return [float(gain + loss), *around(value)]


@section()
def gaussian_difference(ratio, epsilon):
    """Where the roundings of a and b are most of what a double says of delta."""
    add_digits_for(ratio)
    return around(normal_delta(ratio, epsilon)[0])


def margined_delta(ratio, epsilon):
    """What a double may say of delta: three times the margin of its documentation above it."""
    value, gain, loss = normal_delta(ratio, epsilon)
    a, b = 1 / (2 * mpf(ratio)), mpf(epsilon) * mpf(ratio)
    unit = mpf(2) ** -52
    if a + b > 10**8:
        return mp.erfc((b - a - 24 * unit * (a + b)) / mp.sqrt(2)) / 2 + mpf("1e-322")
    return value + 3 * max(mpf("1e-12"), 16 * unit * (a + b) * (1 + abs(b - a))) * (gain + loss) + mpf("1e-322")


def root(function, low, high):
    """Where a function that falls with its argument is 1."""
    return solve(lambda x: mp.log(function(x)), low, high, 30 + max(0, mp.dps - 130))


def normal_epsilon(ratio, delta):
    """The smallest epsilon with this delta, 0 where every one has it: the largest to say, and around the true one."""
    add_digits_for(float(ratio))
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
    return [float(found[1]), *around(found[0])]


@section(results=3)
def gaussian_epsilon(sigma, sensitivity, delta):
    return normal_epsilon(mpf(sigma) / mpf(sensitivity), delta)


@section(results=3)
def gaussian_epsilon_of_rho(rho, delta):
    return normal_epsilon(1 / mp.sqrt(2 * mpf(rho)), delta)


@section(results=3)
def gaussian_sigma(epsilon, delta, sensitivity):
    # delta falls as the ratio grows.
    low, high = mp.log(1e-12) - mp.log(1 + mpf(epsilon)), mp.log(mpf(10)) * 20
    true = root(lambda x: normal_delta(mp.exp(x), epsilon)[0] / mpf(delta), low, high)
    most = root(lambda x: margined_delta(mp.exp(x), epsilon) / mpf(delta), low, high)
    return [float(mp.exp(most) * mpf(sensitivity)), *around(mp.exp(true) * mpf(sensitivity))]


@section()
def gaussian_rho(sigma, sensitivity):
    return around((Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2)


# --- Renyi divergences


def divergence_of_cap(epsilon, candidates, cap, order):
    """Summed over the candidates of two caps that overlap as little as they can."""
    w, members, alpha = mp.exp(mpf(epsilon)), min(cap, candidates - cap), mpf(order)
    total = cap * w + candidates - cap
    moment = members * (w**alpha + w ** (1 - alpha)) + (cap - members) * w + candidates - cap - members
    return mp.log(moment / total) / (alpha - 1)


@section(digits=400)
def cap_divergence(epsilon, candidates, cap, order):
    return around(divergence_of_cap(epsilon, candidates, cap, order))


def conversion(order, divergence, delta):
    """Canonne, Kamath & Steinke 2020, Proposition 12."""
    alpha = mpf(order)
    return mpf(divergence) + mp.log((alpha - 1) / alpha) - (mp.log(mpf(delta)) + mp.log(alpha)) / (alpha - 1)


@section()
def epsilon_at(order, divergence, delta):
    return around(conversion(order, divergence, delta))


@section()
def epsilon_of_divergence(rho, delta):
    """Of Gaussian noise: the minimum over all orders that are looked at."""
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
    return around(conversion(order, order * mpf(rho), delta))


# --- Sums


@section()
def pure_sum(*parts):
    return around(sum(Fraction(epsilon) * Fraction(count) for epsilon, count in zip(parts[::2], parts[1::2])))


def advanced_sum(parts, slack):
    """Of (epsilon, reports), Kairouz, Oh & Viswanath 2015, Theorem 3.5: the smaller of the two square-root forms."""
    mean = sum(e * mp.expm1(e) / (mp.exp(e) + 1) * reports for e, reports in parts)
    squares = sum(e * e * reports for e, reports in parts)
    roots = [mp.log(mp.e + mp.sqrt(squares) / slack), mp.log(1 / slack)]
    return mean + min(mp.sqrt(2 * squares * root) for root in roots)


@section()
def advanced(slack, *parts):
    return around(advanced_sum([(mpf(epsilon), count) for epsilon, count in zip(parts[::2], parts[1::2])], mpf(slack)))


# --- What one report tells


def normal_below(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2


@section()
def gaussian_power(rho, variation, alpha):
    level = mpf(alpha) + mpf(variation)
    if level >= 1:
        return around(mpf(1))
    power = mpf(variation)
    if level > 0:
        z = solve(lambda z: level - normal_below(z), mpf(-45), mpf(45), 60)
        power += normal_below(z + mp.sqrt(2 * mpf(rho)))
    return around(min(power, mpf(1)))


@section()
def cap_power(epsilon, candidates, members, alpha):
    w, alpha = mp.exp(mpf(epsilon)), mpf(alpha)
    middle = min(members, candidates - members) * (w - 1) / (members * w + candidates - members)
    return around(min(w * alpha, alpha + middle, 1 - (1 - alpha) / w))


@section()
def approximate_power(epsilon, delta, alpha):
    epsilon, delta, alpha = map(mpf, (epsilon, delta, alpha))
    return around(min(mp.exp(epsilon) * alpha + delta, 1 - mp.exp(-epsilon) * max(1 - delta - alpha, 0), 1))


# --- Batches


def integer(reports):
    """Of so many reports: as a double 2^64 - 1 is 2^64, and that as an integer is the largest."""
    return min(int(reports), 2**64 - 1)


@section()
def closed_form(local, reports, delta):
    """Feldman, McMillan & Talwar 2021 as in their program; 0 where the condition fails."""
    reports, up, logarithm = integer(reports), mp.exp(mpf(local)), mp.log(4 / mpf(delta))
    if reports == 0 or mpf(local) > mp.log(reports / (16 * logarithm)):
        return [0.0, 0.0]
    a = 8 * mp.sqrt(up * logarithm / reports) + 8 * up / reports
    return around(min(mp.log(1 + (1 - 1 / up) * a / (1 + 1 / up / (1 + a))), mpf(local)))


@section()
def closed_form_limit(reports, delta):
    return around(mp.log(integer(reports) / (16 * mp.log(4 / mpf(delta)))))


@section()
def slack(local, own, reports, epsilon):
    return around(mpf(own) * (1 + (1 + mp.exp(mpf(epsilon))) * 2 * (integer(reports) - 1) * mp.exp(-mpf(local))))


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


def blanket_of(bound, local, candidates, cap, epsilon):
    """The statement of src/privacy/amplification/blanket.rs, for `bound` 0 of every randomizer and 1 of caps: the
    probabilities of counted and of idle draws, gain, loss and cost of one, and the factor."""
    e, growth = mp.exp(mpf(local)), mp.expm1(mpf(epsilon))
    gain, loss = e - growth - 1, e * (growth + 1) - 1
    if bound == 0:
        return 1 / (2 * e), mpf(0), (gain, loss, mpf(0)), 2 * e / (e + 1)
    total = cap * e + candidates - cap
    counted, idle = min(cap, candidates - cap) / total, abs(candidates - 2 * cap) / total
    return counted, idle, (gain, loss, growth if 2 * cap <= candidates else e * growth), mpf(1)


@section(digits=50)
def blanket(bound, local, candidates, cap, reports, epsilon):
    counted, idle, (gain, loss, cost), factor = blanket_of(bound, local, candidates, cap, epsilon)
    return around(factor * gain / reports * excess_sum(reports, counted, idle, loss / gain, cost / gain))


@section(results=3)
def transform(draws, counted, idle, second, third, tilt, noise, scale, frequency):
    """Terms of the sum in src/privacy/amplification/excess.rs: the real part of G at a frequency, over e^scale, and how
    far above it a term may be."""
    p, u, b, c, l, t, s = map(mpf, (counted, idle, second, third, tilt, frequency, noise))
    n, z, left_out = int(draws), mp.mpc(l, t), draws * counted < 30
    base = 1 + p * mp.expm1(z) + p * mp.expm1(-b * z) + u * mp.expm1(-c * z)
    none = base - p * mp.exp(z)
    power = mp.exp(n * mp.log(base))
    if left_out:
        power -= mp.exp(n * mp.log(none))
    value = (power * mp.exp(s * s * z * z / 2) / (z * z)).real / mp.exp(mpf(scale))
    # m of point 5, and a bound on the modulus.
    m = p * mp.exp(l) if left_out else mpf(0)
    for q, v in ((p, mpf(1)), (p, -b), (u, -c)):
        angle = t * v
        fall = 2 * mp.sin(angle / 2) ** 2
        m += q * (abs(mp.expm1(l * v)) + fall + mp.exp(l * v) * (abs(mp.sin(angle)) + abs(angle)))
    if left_out:
        rare = n * p * mp.exp(l) / abs(none)
        both = [mp.exp(n * mp.log(abs(x))) for x in (base, none)]
        size = sum(both) * rare if rare < 0.5 else sum(both)
    else:
        size = abs(power)
    size *= abs(mp.exp(s * s * z * z / 2)) / abs(z) ** 2 / mp.exp(mpf(scale))
    return [float(1e-12 * (1 + n * m) * size * mpf("1.01")), *around(value)]


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


@functools.cache
def top_of_cap(candidates, cap):
    """The mean square of a normal score, given that it is among the cap's."""

    def integrand(g):
        exceeds = mp.erfc(g / mp.sqrt(2))
        at_most = binomial_at_most(candidates - 1, cap - 1, exceeds) if 0 < exceeds < 1 else mpf(exceeds == 0)
        return g * g * mp.exp(-g * g / 2) * mp.sqrt(2 / mp.pi) * at_most

    # Where the cap begins the integrand is steep.
    edge, width = mp.sqrt(2) * mp.erfinv(1 - mpf(cap) / candidates), 1 / mp.sqrt(mpf(cap))
    steep = [x for x in (edge + width * k / 2 for k in range(-16, 17)) if 0 < x < 15]
    points = sorted({*map(mpf, (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 15)), *steep})
    total = sum(mp.quad(integrand, [low, high], maxdegree=5) for low, high in zip(points, points[1:]))
    return mpf(candidates) / cap * total


@section(digits=40)
def gain(candidates, cap, q):
    top = top_of_cap(candidates, cap)
    rest = (candidates - cap * top) / (candidates - cap)
    return around(q * top + (1 - mpf(q)) * rest - 1)


@section()
def share(hostile, records, pull):
    """What hostile reports of all pull by, once more in units."""
    return around(Fraction(hostile) / Fraction(records) * Fraction(pull))


def write_again(name, packages, results):
    """Write the cases of a document with their results, and the versions of what computed them."""
    path = FOLDER / name
    document = json.loads(path.read_text())
    cases = ",\n".join("    " + json.dumps({**case, **results(case)}) for case in document.pop("cases"))
    versions = {package: version(package) for package in packages}
    document["provenance"].update(python=platform.python_version(), **versions)
    path.write_text(f'{json.dumps(document, indent=2)[:-2]},\n  "cases": [\n{cases}\n  ]\n}}\n')


def main():
    path = FOLDER / "margins.json"
    lines = []
    for name, cases in json.loads(path.read_text()).items():
        function, results = SECTIONS[name]
        inputs = [case[:-results] for case in cases]
        rows = ",\n".join("  " + json.dumps([*each, *function(*each)]) for each in inputs)
        lines.append(f'"{name}": [\n{rows}\n]')
        print(name, len(cases))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
