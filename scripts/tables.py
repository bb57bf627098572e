#!/usr/bin/env python3
"""Writes the frozen tables of the samplers and prints the fixture values of the calibration tests.

    python3 -m pip install mpmath && python3 scripts/tables.py

Everything is computed with 80 digits. The written files are committed: the script exists so that a reviewer can
produce them again and compare (`git diff --exit-code` after running it).
"""
from pathlib import Path
from mpmath import mp, mpf, erfc, erfinv, exp, floor, findroot, sqrt

mp.dps = 80
root = Path(__file__).resolve().parent.parent


def upper_tail(x):
    """P(G > x) for a standard normal G."""
    return erfc(mpf(x) / sqrt(mpf(2))) / 2


def gaussian_cells(steps_per_sigma=16, sigmas=13):
    """floor(2^127 P(m <= |16 G| < m + 1)); the mass left over (below 2^-118) goes to cell 0."""
    count = steps_per_sigma * sigmas
    tails = [2 * upper_tail(mpf(m) / steps_per_sigma) for m in range(count + 1)]
    weights = [int(floor(mpf(2) ** 127 * (tails[m] - tails[m + 1]))) for m in range(count)]
    weights[0] += 2**127 - sum(weights)
    return weights


def write_gaussian_table():
    weights = gaussian_cells()
    lines = [
        "//! Frozen cell probabilities of the Gaussian sampler. Written by scripts/tables.py; do not edit.",
        "",
        "/// `CELL_WEIGHTS[m]` = 2^127 P(m <= 16 |G| < m + 1) for a standard normal G, rounded down; the remainder is in cell 0.",
        f"pub(super) const CELL_WEIGHTS: [u128; {len(weights)}] = [",
        *[f"    0x{w:032x}," for w in weights],
        "];",
        "",
    ]
    (root / "src/sampling/gaussian_table.rs").write_text("\n".join(lines))


def normal_quantile(p):
    return sqrt(mpf(2)) * erfinv(2 * p - 1)


def write_quantile_table(scale=30, bits=12):
    """Values round(scale Phi^-1((i + 1/2) / 2^bits)); only the upper half, as how often each value 0, 1, 2, … occurs."""
    half = 2 ** (bits - 1)
    values = [int(floor(scale * normal_quantile((half + i + mpf(1) / 2) / 2**bits) + mpf(1) / 2)) for i in range(half)]
    counts = [values.count(v) for v in range(max(values) + 1)]
    assert sum(counts) == half and max(values) <= 127
    rows = [counts[i : i + 20] for i in range(0, len(counts), 20)]
    lines = [
        "//! Frozen quantile table of the candidate coordinates. Written by scripts/tables.py; do not edit.",
        "",
        f"/// How often each magnitude 0, 1, 2, … occurs among the {half} values round({scale} Phi^-1((i + 1/2) / {2**bits})), i >= {half}.",
        f"pub(super) const MAGNITUDE_COUNTS: [u16; {len(counts)}] = [",
        *["    " + " ".join(f"{c}," for c in row) for row in rows],
        "];",
        "",
    ]
    (root / "src/mechanism/double_cap/quantiles.rs").write_text("\n".join(lines))
    print("second moment of the candidate table:", 2 * sum(v * v for v in values), "/", 2**bits)


def analytic_variance(epsilon, delta=mpf(10) ** -6, sensitivity=sqrt(mpf(2))):
    def excess(sigma):
        a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
        return upper_tail(b - a) - exp(epsilon) * upper_tail(a + b) - delta
    low, high = mpf("1e-6"), mpf("1e6")
    for _ in range(260):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high**2


if __name__ == "__main__":
    write_gaussian_table()
    write_quantile_table()
    for e in ("0.1", "0.5", "1", "2", "4", "8", "16"):
        print("sigma^2 at epsilon", e, mp.nstr(analytic_variance(mpf(e)), 17))
