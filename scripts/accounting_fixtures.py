#!/usr/bin/env python3
"""Writes tests/vectors/accounting/*.json: privacy accounting computed independently of the crate.

    python3 -m pip install scipy mpmath dp-accounting && python3 scripts/accounting_fixtures.py

Every file names the versions it was computed with, and per value how far it may be from the truth.
"""

import json
import math
import platform
from importlib.metadata import version
from pathlib import Path

import dp_accounting
import numpy
from dp_accounting import rdp
from mpmath import mp, mpf
from scipy import optimize, special, stats

mp.dps = 60
folder = Path(__file__).resolve().parent.parent / "tests/vectors/accounting"
SQRT_2 = math.sqrt(2)


def write(name, about, error, cases):
    provenance = {
        "script": "scripts/accounting_fixtures.py",
        "python": platform.python_version(),
        **{package: version(package) for package in ("scipy", "numpy", "mpmath", "dp-accounting")},
    }
    lines = ",\n".join("    " + json.dumps(case) for case in cases)
    head = json.dumps({"version": 1, "about": about, "reference_error": error, "provenance": provenance}, indent=2)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f'{head[:-2]},\n  "cases": [\n{lines}\n  ]\n}}\n')
    print(name, len(cases), "cases")


def analytic_sigma(epsilon, delta):
    """The root in sigma of Balle & Wang's delta, in 60 digits from a first guess by scipy in logarithms."""

    def log_excess(log_sigma):
        sigma = math.exp(log_sigma)
        a, b = SQRT_2 / (2 * sigma), epsilon * sigma / SQRT_2
        upper, lower = special.log_ndtr(a - b), epsilon + special.log_ndtr(-a - b)
        return upper + math.log1p(-min(math.exp(lower - upper), 1 - 1e-16)) - math.log(delta)

    guess = math.exp(optimize.brentq(log_excess, math.log(1e-2), math.log(1e5), xtol=1e-10))

    def excess(sigma):
        a, b = mp.sqrt(2) / (2 * sigma), mpf(epsilon) * sigma / mp.sqrt(2)
        return mp.erfc((b - a) / mp.sqrt(2)) / 2 - mp.exp(epsilon) * mp.erfc((a + b) / mp.sqrt(2)) / 2 - mpf(delta)

    low, high = mpf(guess) * mpf("0.999"), mpf(guess) * mpf("1.001")
    assert excess(low) > 0 > excess(high), (epsilon, delta)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return float(high)


def write_analytic():
    grid = [(e, d) for e in (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0) for d in (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)]
    cases = [{"epsilon": e, "delta": d, "sigma": analytic_sigma(e, d)} for e, d in grid]
    about = "smallest sigma of the Gaussian mechanism, sensitivity sqrt(2): scipy, refined with mpmath to 60 digits"
    write("analytic.json", about, 3e-16, cases)


def fine_orders(coarse):
    """Orders around the best of `coarse`, so dense that the minimum over them is the minimum."""
    return numpy.concatenate([1 + (coarse - 1) * numpy.exp(numpy.linspace(-0.5, 0.5, 4001))])


def dp_accounting_epsilon(curve, delta):
    coarse = 1 + numpy.exp(numpy.linspace(math.log(1e-4), math.log(1e6), 2000))
    _, best = rdp.compute_epsilon(coarse, numpy.array([curve(a) for a in coarse]), delta)
    assert best < 1e5, "the best order is infinite: there is nothing to compare"
    fine = fine_orders(best)
    epsilon, _ = rdp.compute_epsilon(fine, numpy.array([curve(a) for a in fine]), delta)
    return float(epsilon)


def log_moment(terms, order):
    return float(mp.log(terms) / (mpf(order) - 1))


def cap_divergence(epsilon, candidates, cap, order):
    """Summed over the candidates of two caps that overlap as little as they can."""
    w, members = mp.exp(epsilon), min(cap, candidates - cap)
    total = cap * w + candidates - cap
    alpha = mpf(order)
    both, neither = cap - members, candidates - cap - members
    return log_moment((members * (w**alpha + w ** (1 - alpha)) + both * w + neither) / total, order)


def write_conversions():
    cases = []
    for rho in (1e-4, 0.01, 0.1, 0.5, 2.0, 10.0):
        for delta in (1e-12, 1e-6, 1e-3):
            epsilon = dp_accounting_epsilon(lambda a: a * rho, delta)
            cases.append({"kind": "rho", "rho": rho, "delta": delta, "epsilon": epsilon})
    for epsilon, candidates, cap, reports in [
        (0.5, 64, 17, 40), (0.5, 64, 17, 200), (1.0, 64, 13, 40), (1.0, 64, 13, 100), (2.0, 128, 16, 40),
        (2.0, 128, 16, 100), (4.0, 256, 9, 100), (0.1, 2, 1, 1000), (1.0, 10, 7, 100), (0.5, 64, 32, 60),
    ]:  # fmt: skip
        for delta in (1e-9, 1e-6):
            curve = lambda a: reports * cap_divergence(epsilon, candidates, cap, a)  # noqa: E731
            cases.append({
                "kind": "cap", "epsilon0": epsilon, "candidates": candidates, "cap": cap, "reports": reports,
                "delta": delta, "epsilon": dp_accounting_epsilon(curve, delta),
            })  # fmt: skip
    about = "epsilon from Renyi divergences by dp_accounting.rdp.compute_epsilon over a dense set of orders"
    write("conversions.json", about, 2e-8, cases)
    cases = []
    for noise, reports in [(1.0, 1), (2.0, 1), (2.0, 16), (5.0, 4), (10.0, 100), (0.5, 3)]:
        for delta in (1e-9, 1e-6, 1e-3):
            event = dp_accounting.GaussianDpEvent(noise)
            accountant = rdp.RdpAccountant(1 + numpy.exp(numpy.linspace(math.log(1e-3), math.log(1e4), 20001)))
            accountant.compose(event, reports)
            ledger = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
            ledger.compose(event, reports)
            cases.append({
                "noise": noise, "reports": reports, "delta": delta,
                "renyi": float(accountant.get_epsilon(delta)), "exact_above": float(ledger.get_epsilon(delta)),
            })  # fmt: skip
    about = (
        "Gaussian reports, sigma = noise x sensitivity: dp_accounting's RdpAccountant, and its PLDAccountant "
        "(an upper bound)"
    )
    write("gaussian.json", about, 2e-6, cases)


def shuffled_delta(counted, idle, costs, factor, n):
    """The statement of src/privacy/amplification/blanket.rs, (f / n) E[(gain a - loss b - cost c)_+], by summation.

    Over every number t = a + b of counted draws and, given it, every number c of idle ones; a is binomial given t, and
    its part above the threshold is a difference of two of scipy's survival functions.
    """
    gain, loss, cost = costs
    total = 0.0
    for t in around(n, 2 * counted):
        if t == 0:
            continue
        idles = around(n - t, idle / (1 - 2 * counted)) if idle > 0 else numpy.array([0])
        masses = stats.binom.pmf(idles, n - t, idle / (1 - 2 * counted)) if idle > 0 else numpy.array([1.0])
        threshold = (loss * t + cost * idles) / (gain + loss)
        first = numpy.floor(threshold) + 1
        upper = t / 2 * stats.binom.sf(first - 2, t - 1, 0.5) - threshold * stats.binom.sf(first - 1, t, 0.5)
        total += stats.binom.pmf(t, n, 2 * counted) * float(masses @ numpy.maximum(upper, 0))
    return factor * (gain + loss) * total / n


def around(n, p):
    """All counts but those beyond 11 standard deviations."""
    mean, width = n * p, 11 * math.sqrt(n * p * (1 - p)) + 40
    return numpy.arange(max(0, int(mean - width)), min(n, int(mean + width)) + 1)


def write_shuffle():
    cases = []
    caps = {0.5: (64, 17), 1.0: (64, 13), 2.0: (128, 16), 4.0: (256, 9), 6.0: (1024, 8), 8.0: (4096, 7)}
    batches = [
        (0.5, 10**3), (1.0, 10**3), (1.0, 10**5), (2.0, 10**4), (4.0, 10**2), (4.0, 10**5), (6.0, 10**3), (6.0, 10**6),
        (8.0, 30), (8.0, 10**4),
    ]  # fmt: skip
    for e0, n in batches:
        candidates, cap = caps[e0]
        up = math.exp(e0)
        for bound, cap in [("any", cap), ("cap", candidates // 2), ("cap", cap), ("cap", candidates - cap)]:
            total = cap * up + candidates - cap
            for part in (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8):
                growth = math.expm1(part * e0)
                gain, loss = up - growth - 1, up * (growth + 1) - 1
                if bound == "any":
                    delta = shuffled_delta(1 / (2 * up), 0, (gain, loss, 0), 2 * up / (up + 1), n)
                else:
                    counted, idle = min(cap, candidates - cap) / total, abs(candidates - 2 * cap) / total
                    cost = growth if 2 * cap <= candidates else up * growth
                    delta = shuffled_delta(counted, idle, (gain, loss, cost), 1, n)
                if delta > 1e-13:
                    cases.append({
                        "bound": bound, "epsilon0": e0, "candidates": candidates, "cap": cap, "reports": n,
                        "epsilon": part * e0, "delta": delta,
                    })  # fmt: skip
    about = (
        "delta of n shuffled reports: the privacy blanket (Balle, Bell, Gascon & Nissim 2019) summed over all counts "
        "with scipy's binomial functions; reference_error is relative"
    )
    write("shuffle.json", about, 1e-7, cases)
    published = {
        "source": "README.md of github.com/apple/ml-shuffling-amplification at "
        "3fde49360b433d6d470dbec48bc49e4885b2dd53",
        "epsilon0": 4.0, "reports": 100_000, "delta": 1e-6,
        "numerical_lower": 0.1675385583317841, "numerical_upper": 0.172790550755978, "closed_form": 0.5378040242374512,
    }  # fmt: skip
    (folder / "published.json").write_text(json.dumps(published, indent=2) + "\n")


if __name__ == "__main__":
    write_analytic()
    write_shuffle()
    write_conversions()
