"""Computes other files of tests/vectors/accounting again: by the programs of others, or with scipy.

    python3 -m pip install scipy mpmath dp-accounting && python3 tests/independent/references.py

Every file names the versions it was computed with, and per value how far it may be from the truth. A new case needs its
inputs. (published.json is quoted from its source.)
"""

import math

import dp_accounting
import numpy
from dp_accounting import rdp
from margins import blanket_of, divergence_of_cap, write_again
from mpmath import mp
from scipy import stats

mp.dps = 60


def dp_accounting_epsilon(curve, delta):
    coarse = 1 + numpy.exp(numpy.linspace(math.log(1e-4), math.log(1e6), 2000))
    _, best = rdp.compute_epsilon(coarse, numpy.array([curve(a) for a in coarse]), delta)
    assert best < 1e5, "the best order is infinite: there is nothing to compare"
    # So dense that the minimum over them is the minimum.
    fine = 1 + (best - 1) * numpy.exp(numpy.linspace(-0.5, 0.5, 4001))
    epsilon, _ = rdp.compute_epsilon(fine, numpy.array([curve(a) for a in fine]), delta)
    return float(epsilon)


def conversions(case):
    if case["kind"] == "rho":
        curve = lambda order: order * case["rho"]
    else:
        epsilon, candidates, cap = case["epsilon0"], case["candidates"], case["cap"]
        curve = lambda order: case["reports"] * float(divergence_of_cap(epsilon, candidates, cap, order))
    return {"epsilon": dp_accounting_epsilon(curve, case["delta"])}


def gaussian(case):
    event = dp_accounting.GaussianDpEvent(case["noise"])
    accountant = rdp.RdpAccountant(1 + numpy.exp(numpy.linspace(math.log(1e-3), math.log(1e4), 20001)))
    ledger = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    found = {}
    for name, each in (("renyi", accountant), ("exact_above", ledger)):
        each.compose(event, case["reports"])
        found[name] = float(each.get_epsilon(case["delta"]))
    return found


def shuffled_delta(counted, idle, costs, factor, n):
    """The statement of `blanket_of`, (f / n) E[(gain a - loss b - cost c)_+], by summation.

    Over every number t = a + b of counted draws and, given it, every number c of idle ones; a is binomial given t, and
    its part above the threshold is a difference of two of scipy's survival functions.
    """
    gain, loss, cost = costs
    total = 0.0
    for t in likely_counts(n, 2 * counted):
        if t == 0:
            continue
        idles = likely_counts(n - t, idle / (1 - 2 * counted)) if idle > 0 else numpy.array([0])
        masses = stats.binom.pmf(idles, n - t, idle / (1 - 2 * counted)) if idle > 0 else numpy.array([1.0])
        threshold = (loss * t + cost * idles) / (gain + loss)
        first = numpy.floor(threshold) + 1
        upper = t / 2 * stats.binom.sf(first - 2, t - 1, 0.5) - threshold * stats.binom.sf(first - 1, t, 0.5)
        total += stats.binom.pmf(t, n, 2 * counted) * float(masses @ numpy.maximum(upper, 0))
    return factor * (gain + loss) * total / n


def likely_counts(n, p):
    """All counts but those beyond 11 standard deviations."""
    mean, width = n * p, 11 * math.sqrt(n * p * (1 - p)) + 40
    return numpy.arange(max(0, int(mean - width)), min(n, int(mean + width)) + 1)


def shuffle(case):
    bound = int(case["bound"] != "any")
    counted, idle, costs, factor = blanket_of(bound, case["epsilon0"], case["candidates"], case["cap"], case["epsilon"])
    costs = [float(cost) for cost in costs]
    return {"delta": shuffled_delta(float(counted), float(idle), costs, float(factor), case["reports"])}


if __name__ == "__main__":
    for results in (conversions, gaussian, shuffle):
        write_again(f"{results.__name__}.json", ["scipy", "numpy", "mpmath", "dp-accounting"], results)
