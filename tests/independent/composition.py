"""Computes tests/vectors/accounting/composition.json again: one person's total privacy loss, without the crate.

    python3 -m pip install mpmath && python3 tests/independent/composition.py

Every method's theorem is written out here once more, in 40 digits; sums are of fractions. Rust and JavaScript read the
file. A new case needs its name, its delta and its parts: what a ledger adds up is stated with a Gaussian, and
follows from other losses.
"""

from fractions import Fraction

from margins import advanced_sum, around, conversion, divergence_of_cap, normal_delta, solve, write_again
from mpmath import mp, mpf

mp.dps = 40


def exact(number):
    """The number that a double is."""
    return mpf(number)


def kinds(parts, *names):
    return [(each["loss"], each["reports"]) for each in parts if each["loss"]["type"] in names]


def own_delta(parts):
    return sum((exact(loss["delta"]) * reports for loss, reports in kinds(parts, "approximate")), mpf(0))


def gaussian_epsilon(rho, delta):
    """The root of the curve: Dong, Roth & Su 2022, Corollary 2.13."""
    ratio, high = 1 / mp.sqrt(2 * rho), mpf(1)
    excess = lambda epsilon: normal_delta(ratio, epsilon)[0] - delta
    while excess(high) > 0:
        high *= 2
    return solve(excess, 0, high, 36)


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
    """As of margins.py. Half of the slack is the Gaussians'."""
    left = delta - own_delta(parts)
    slack = left / 2 if kinds(parts, "gaussian") else left
    return advanced_sum(pairs(parts, slack), slack) if slack > 0 else None


def of_gaussians(parts, delta):
    """Several Gaussians are one (Dong, Roth & Su 2022, Corollary 3.3)."""
    if kinds(parts, "pure", "cap", "approximate"):
        return None
    return gaussian_epsilon(sum(exact(loss["rho"]) * reports for loss, reports in kinds(parts, "gaussian")), delta)


def least(curve, delta):
    """Over a dense grid of orders, and then between the neighbours of the best by thirds."""
    at = lambda place: conversion(1 + mp.exp(place), curve(1 + mp.exp(place)), delta)
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
    """Of one report."""
    if loss["type"] == "gaussian":
        return order * exact(loss["rho"])
    return divergence_of_cap(loss["epsilon"], loss.get("candidates", 2), loss.get("cap", 1), order)


def renyi(parts, delta):
    """Mironov 2017, Proposition 1."""
    left = delta - own_delta(parts)
    curve = lambda order: sum(divergence(each["loss"], order) * each["reports"] for each in parts)
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


def summed(parts, name):
    """Rounded up."""
    return around(sum((Fraction(each["guarantee"][name]) * each["reports"] for each in parts), Fraction(0)))[1]


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
        by_divergence = conversion(order, total, delta_ * 7 / 8)
        found = by_divergence if found is None else min(found, by_divergence)
    return {"budget": {"epsilon": epsilon, "delta": delta}, "spent": found if found is None else float(found)}


def results(case):
    parts, alone = case["parts"], pure_sum(case["parts"])
    methods = {key: by(method, parts, exact(case["delta"])) for key, method in METHODS.items()}
    return {
        "pure": alone if alone is None else float(alone),
        "methods": {key: found if found is None else float(found) for key, found in methods.items()},
        "sums": {key: summed(parts, key) for key in ("epsilon", "delta")},
        "filter": filtered(parts, 4.0, 1e-6),
    }


if __name__ == "__main__":
    write_again("composition.json", ["mpmath"], results)
