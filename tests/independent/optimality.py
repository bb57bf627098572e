"""How far double-cap is from the least second moment of any report: the tables of docs/privacy/optimality.md.

usage: .tools/python/bin/python tests/independent/optimality.py
The wheel has to be installed; scipy comes with scikit-learn.

Records are uniform on the unit sphere of R^d. A report has an unbiased estimate Y of u u^T - I/d. All figures are
E|Y|^2 in units of d (d + 1) / 2 - 1, the number of coordinates of Y.
"""

from __future__ import annotations

import json
from math import exp, expm1, lgamma, pi, sinh, sqrt

import numpy as np
from ldp_pca import Task
from scipy.optimize import brentq
from scipy.stats import beta, binom

EPSILONS = [0.25, 0.5, 1.0, 2.0, 4.0]
DIMENSIONS = [10, 40, 116, 400]


def coordinates(d: int) -> float:
    """The number of coordinates of a symmetric matrix without trace."""
    return d * (d + 1) / 2 - 1


def bound(d: int, epsilon: float, rank: int) -> float:
    """The second moment c^2 / gamma(D)^2 for the centred projection D of this rank, over the best threshold."""
    a = exp(epsilon) - 1
    t = np.concatenate(
        [np.linspace(0, 1, 20001)[1:-1], beta.isf(np.logspace(-9, -1e-3, 4000), rank / 2, (d - rank) / 2)]
    )
    share = beta.sf(t, rank / 2, (d - rank) / 2)
    # E[|Pv|^2 - r/d; |Pv|^2 >= t], by the moments of the Beta law.
    mean = rank / d * (beta.sf(t, rank / 2 + 1, (d - rank) / 2) - share)
    gamma = np.max(a * mean / (1 + a * share)) / sqrt(rank * (1 - rank / d))
    return (1 - 1 / d) ** 2 / gamma**2 / coordinates(d)


def best(d: int, epsilon: float) -> tuple[float, int]:
    """The least of these over ranks, which is the conjectured optimum, and the rank."""
    # They grow with the dimension, and slowly: 37 is the largest in the table.
    return min((bound(d, epsilon, rank), rank) for rank in range(1, min(d, 60)))


def proved(d: int, epsilon: float) -> float:
    """The bound that is proved for every D."""
    return (1 - 1 / d) / sinh(epsilon / 2) ** 2


def double_cap(d: int, epsilon: float, candidates: int, cap: int) -> float:
    """The second moment of a report of double-cap, without its trace: (1 - 1/d) E|z|^4 / gain^2 for the first d of the
    m = d + 1 coordinates of a candidate of length sqrt(m), whose last one is across the record.
    """
    m = d + 1
    # The root of the angle has even steps: with steep caps the small angles count.
    root = (np.arange(40_000) + 0.5) / 40_000
    angle = np.pi / 2 * root**2
    weight = root * np.sin(angle) ** (m - 2)
    weight /= weight.sum()
    larger = np.cumsum(weight) - weight / 2
    # Whether a candidate of this score is among the cap's: at most cap - 1 of the others have a larger one.
    within = binom.cdf(cap - 1, candidates - 1, larger)
    e = exp(epsilon)
    reported = (within * e + (1 - within)) * candidates / (cap * e + candidates - cap)
    along, across = m * np.cos(angle) ** 2, m * np.sin(angle) ** 2
    gain = (float(np.sum(along * weight * reported)) - 1) * m / (m - 1)
    # The square of the last coordinate: one of m - 1 across the record, of which the sphere has the mean square and
    # the mean fourth power.
    square = float(np.sum(across * weight * reported)) / (m - 1)
    fourth = 3 * float(np.sum(across**2 * weight * reported)) / ((m - 1) * (m + 1))
    return (1 - 1 / d) * (m * m - 2 * m * square + fourth) / gain**2 / coordinates(d)


def default(d: int, epsilon: float) -> tuple[float, int, int]:
    """The second moment of double-cap with the J and the L that a task has by default, and these."""
    mechanism = json.loads(Task(d, epsilon=epsilon).to_json())["mechanism"]
    candidates, cap = mechanism["candidates"], mechanism["cap"]
    return double_cap(d, epsilon, candidates, cap), candidates, cap


def privunit(d: int, epsilon: float) -> float:
    """The second moment of a report of PrivUnit on the matrix, c / g^2 at the best threshold t = g."""
    n, a = coordinates(d), expm1(epsilon)
    constant = exp(lgamma(n / 2) - lgamma((n + 1) / 2)) / (2 * sqrt(pi))

    def excess(t: float) -> float:
        share = beta.sf(t * t, 1 / 2, (n - 1) / 2) / 2
        return t * (1 + a * share) - a * constant * (1 - t * t) ** ((n - 1) / 2)

    return (1 - 1 / d) / brentq(excess, 0, 1, xtol=1e-15) ** 2 / n


def main() -> None:
    """Print the rows."""
    for epsilon in EPSILONS:
        for d in DIMENSIONS:
            (ours, candidates, cap), (least, rank) = default(d, epsilon), best(d, epsilon)
            shares = [f"{found:.4g} | {100 * found / ours:.0f} %" for found in (proved(d, epsilon), least)]
            print(f"| {epsilon:g} | {d} | {candidates}, {cap} | {ours:.4g} | {shares[0]} | {shares[1]} | {rank} |")
    for d in DIMENSIONS:
        cells = [f"{privunit(d, epsilon):.4g}" for epsilon in EPSILONS]
        low, high = 0.25, 1.5
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (middle, high) if privunit(d, middle) < default(d, middle)[0] else (low, middle)
        print(f"| {d} | {' | '.join(cells)} | {high:.2f} |")
    saved = [f"{100 * (1 - bound(40, epsilon, 2) / bound(40, epsilon, 1)):.0f} %" for epsilon in (0.25, 0.5, 1.0)]
    print(f"two directions at d = 40: {', '.join(saved)}")


if __name__ == "__main__":
    main()
