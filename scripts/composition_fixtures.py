#!/usr/bin/env python3
"""Writes tests/vectors/accounting/composition.json: one person's total privacy loss, without the crate.

    python3 -m pip install mpmath && python3 scripts/composition_fixtures.py

Every method's theorem is written out here once more, in 40 digits; sums are of fractions. Rust, JavaScript and Python
read the file.
"""

import json
import math
import platform
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 40
PATH = Path(__file__).resolve().parent.parent / "tests/vectors/accounting/composition.json"


def pure(epsilon):
    return {"type": "pure", "epsilon": epsilon}


def cap(epsilon, candidates, cap):
    return {"type": "cap", "epsilon": epsilon, "candidates": candidates, "cap": cap}


def approximate(epsilon, delta):
    return {"type": "approximate", "epsilon": epsilon, "delta": delta}


def gaussian(rho, total_variation=0.0):
    return {"type": "gaussian", "rho": rho, "total_variation": total_variation}


def part(reports, loss, stated=None):
    """So many reports of a loss. What a ledger adds up is stated with a Gaussian, and follows from other losses."""
    epsilon, delta = stated or (loss["epsilon"], loss.get("delta", 0))
    return {"reports": reports, "loss": loss, "guarantee": {"epsilon": epsilon, "delta": delta}}


CASES = [
    ("one pure report", 1e-6, [part(1, pure(2.0))]),
    ("two equal pure reports", 1e-6, [part(2, pure(0.5))]),
    ("three pure reports of a tenth", 1e-6, [part(3, pure(0.1))]),
    ("a hundred equal pure reports", 1e-6, [part(100, pure(0.1))]),
    ("many small pure reports and a large delta", 1e-2, [part(200, pure(0.01))]),
    ("unequal pure reports", 1e-6, [part(3, pure(0.25)), part(2, pure(0.5)), part(1, pure(1.0))]),
    ("pure reports of sizes far apart", 1e-9, [part(1, pure(3.0)), part(7, pure(0.001))]),
    ("three caps", 1e-6, [part(3, cap(2.0, 64, 8))]),
    ("forty caps and ten of another task", 1e-6, [part(40, cap(0.5, 64, 17)), part(10, cap(1.0, 10, 7))]),
    ("four approximate reports", 1e-6, [part(4, approximate(0.5, 1e-7))]),
    ("approximate reports of two kinds", 1e-6, [part(2, approximate(0.5, 1e-7)), part(3, approximate(0.25, 2e-7))]),
    ("equal Gaussian reports", 1e-6, [part(16, gaussian(0.02), (0.6, 1e-7))]),
    ("unequal Gaussian reports", 1e-6, [part(30, gaussian(0.01), (0.4, 1e-8)), part(10, gaussian(0.02), (0.6, 1e-8))]),
    (
        "one of everything",
        1e-6,
        [
            part(5, gaussian(0.01), (0.5, 1e-7)),
            part(3, cap(1.0, 64, 13)),
            part(4, pure(0.3)),
            part(6, approximate(0.2, 1e-8)),
        ],
    ),
    ("Gaussian reports of an inexact sampler", 1e-6, [part(4, gaussian(0.5, 1e-13), (5.5, 1e-7))]),
    (
        "a Gaussian report of an inexact sampler among pure ones",
        1e-6,
        [part(2, gaussian(0.02, 1e-9), (0.6, 1e-7)), part(3, pure(0.5))],
    ),
]


def exact(number):
    """The number that a double is."""
    return mpf(number)


def kinds(parts, *names):
    return [(each["loss"], each["reports"]) for each in parts if each["loss"]["type"] in names]


def own_delta(parts):
    return sum((exact(loss["delta"]) * reports for loss, reports in kinds(parts, "approximate")), mpf(0))


def gaussian_delta(mu, epsilon):
    """Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, Corollary 2.13."""
    upper = mp.erfc((epsilon / mu - mu / 2) / mp.sqrt(2)) / 2
    return upper - mp.exp(epsilon) * mp.erfc((epsilon / mu + mu / 2) / mp.sqrt(2)) / 2


def gaussian_epsilon(rho, delta):
    """The root of the curve, bisected."""
    mu, low, high = mp.sqrt(2 * rho), mpf(0), mpf(1)
    assert gaussian_delta(mu, low) > delta
    while gaussian_delta(mu, high) > delta:
        high *= 2
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high


def pure_sum(parts):
    if kinds(parts, "gaussian", "approximate"):
        return None
    return sum((exact(loss["epsilon"]) * reports for loss, reports in kinds(parts, "pure", "cap")), mpf(0))


def pairs(parts, delta):
    """(epsilon, reports), each Gaussian at an equal share of delta."""
    gaussians = sum(reports for _, reports in kinds(parts, "gaussian"))
    found = [(exact(loss["epsilon"]), reports) for loss, reports in kinds(parts, "pure", "cap", "approximate")]
    for loss, reports in kinds(parts, "gaussian"):
        found.append((gaussian_epsilon(exact(loss["rho"]), delta / gaussians), reports))
    return found


def basic(parts, delta):
    """Dwork & Roth 2014, Theorem 3.16."""
    left = delta - own_delta(parts)
    if left < 0 or (left == 0 and kinds(parts, "gaussian")):
        return None
    return sum(epsilon * reports for epsilon, reports in pairs(parts, left))


def advanced(parts, delta):
    """Kairouz, Oh & Viswanath 2015, Theorem 3.5: the two forms with a root. Half of the slack is the Gaussians'."""
    left = delta - own_delta(parts)
    slack = left / 2 if kinds(parts, "gaussian") else left
    if slack <= 0:
        return None
    each = pairs(parts, slack)
    mean = sum(reports * epsilon * (mp.exp(epsilon) - 1) / (mp.exp(epsilon) + 1) for epsilon, reports in each)
    squares = sum(reports * epsilon**2 for epsilon, reports in each)
    first = mean + mp.sqrt(2 * squares * mp.log(mp.e + mp.sqrt(squares) / slack))
    second = mean + mp.sqrt(2 * squares * mp.log(1 / slack))
    return min(first, second)


def of_gaussians(parts, delta):
    """Several Gaussians are one (Dong, Roth & Su 2022, Corollary 3.3)."""
    if kinds(parts, "pure", "cap", "approximate"):
        return None
    return gaussian_epsilon(sum(exact(loss["rho"]) * reports for loss, reports in kinds(parts, "gaussian")), delta)


def converted(divergence, delta, order):
    """Canonne, Kamath & Steinke 2020, Proposition 12."""
    return divergence + mp.log1p(-1 / order) - (mp.log(delta) + mp.log(order)) / (order - 1)


def least(curve, delta):
    """Over a dense grid of orders, and then between the neighbours of the best by thirds."""
    at = lambda place: converted(curve(1 + mp.exp(place)), delta, 1 + mp.exp(place))  # noqa: E731
    places = [mpf(-9) + mpf(k) * mpf("0.04") for k in range(700)]
    values = [at(place) for place in places]
    best = min(range(len(places)), key=values.__getitem__)
    assert 0 < best < len(places) - 1, "the best order is at the end of the grid"
    low, high = places[best - 1], places[best + 1]
    for _ in range(80):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at((low + high) / 2)


def concentrated(parts, delta):
    """Bun & Steinke 2016: rho, or half of epsilon squared."""
    rho = sum((exact(loss["rho"]) * reports for loss, reports in kinds(parts, "gaussian")), mpf(0))
    others = kinds(parts, "pure", "cap", "approximate")
    rho += sum((exact(loss["epsilon"]) ** 2 / 2 * reports for loss, reports in others), mpf(0))
    left = delta - own_delta(parts)
    return least(lambda order: order * rho, left) if left > 0 else None


def divergence(loss, order):
    """Of one report: of a cap summed over the candidates of two sets that overlap as little as they can."""
    if loss["type"] == "gaussian":
        return order * exact(loss["rho"])
    candidates, size = loss.get("candidates", 2), loss.get("cap", 1)
    w, apart = mp.exp(exact(loss["epsilon"])), min(size, candidates - size)
    total = size * w + candidates - size
    both, neither = size - apart, candidates - size - apart
    moment = (apart * (w**order + w ** (1 - order)) + both * w + neither) / total
    return mp.log(moment) / (order - 1)


def renyi(parts, delta):
    """Mironov 2017, Proposition 1."""
    left = delta - own_delta(parts)
    curve = lambda order: sum(divergence(each["loss"], order) * each["reports"] for each in parts)  # noqa: E731
    return least(curve, left) if left > 0 else None


METHODS = {
    "basic": basic, "advanced": advanced, "gaussian": of_gaussians, "concentrated": concentrated, "renyi": renyi,
}  # fmt: skip


def by(method, parts, delta):
    """With what samplers are off by: (1 + e^epsilon) times it, epsilon at half of delta, taken off delta."""
    variation = sum((exact(loss["total_variation"]) * reports for loss, reports in kinds(parts, "gaussian")), mpf(0))
    if variation == 0:
        return method(parts, delta)
    half = method(parts, delta / 2)
    left = -1 if half is None else delta - (1 + mp.exp(half)) * variation
    return method(parts, left) if left >= delta / 2 else None


def up(fraction):
    """The least double that is no less."""
    nearest = float(fraction)
    return nearest if Fraction(nearest) >= fraction else math.nextafter(nearest, math.inf)


def summed(parts, name):
    return up(sum((Fraction(each["guarantee"][name]) * each["reports"] for each in parts), Fraction(0)))


def filtered(parts, epsilon, delta):
    """What the filter of one order says is spent of a budget: see src/privacy/filter.rs; an eighth of delta apart."""
    epsilon_, delta_ = exact(epsilon), exact(delta)
    apart = own_delta(parts)
    for loss, reports in kinds(parts, "gaussian"):
        apart += (1 + mp.exp(epsilon_)) * exact(loss["total_variation"]) * reports
    found = pure_sum(parts)
    if apart <= delta_ / 8:
        order = 1 - 2 * mp.log(delta_) / epsilon_
        total = sum(divergence(each["loss"], order) * each["reports"] for each in parts)
        by_divergence = converted(total, delta_ * 7 / 8, order)
        found = by_divergence if found is None else min(found, by_divergence)
    return {"budget": {"epsilon": epsilon, "delta": delta}, "spent": found if found is None else float(found)}


def case(name, delta, parts):
    methods = {key: by(method, parts, exact(delta)) for key, method in METHODS.items()}
    alone = pure_sum(parts)
    return {
        "name": name,
        "delta": delta,
        "parts": parts,
        "pure": alone if alone is None else float(alone),
        "methods": {key: found if found is None else float(found) for key, found in methods.items()},
        "sums": {key: summed(parts, key) for key in ("epsilon", "delta")},
        "filter": filtered(parts, 4.0, 1e-6),
    }


def main():
    about = (
        "epsilon of several reports of one person, by every method (null: it does not apply), and what ledgers add up, "
        "rounded up; values in 40 digits, rounded to doubles"
    )
    provenance = {
        "script": "scripts/composition_fixtures.py", "python": platform.python_version(), "mpmath": version("mpmath"),
    }  # fmt: skip
    cases = ",\n".join("    " + json.dumps(case(*each)) for each in CASES)
    head = json.dumps({"version": 1, "about": about, "provenance": provenance}, indent=2)
    PATH.write_text(f'{head[:-2]},\n  "cases": [\n{cases}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
