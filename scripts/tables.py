#!/usr/bin/env python3
"""Writes the frozen tables of the samplers.

    python3 -m pip install mpmath && python3 scripts/tables.py

Everything is computed with 80 digits. The written files are committed: the script exists so that a reviewer can
produce them again and compare (`git diff --exit-code` after running it).
"""

from pathlib import Path
from mpmath import mp, mpf, erfc, erfinv, exp, floor, sqrt

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
        "/// `CELL_WEIGHTS[m]` = 2^127 P(m <= 16 |G| < m + 1) for a standard normal G, rounded down; the remainder is "
        "in cell 0.",
        f"pub(super) const CELL_WEIGHTS: [u128; {len(weights)}] = [",
        *[f"    0x{w:032x}," for w in weights],
        "];",
        "",
    ]
    (root / "src/sampling/gaussian_table.rs").write_text("\n".join(lines))


def normal_quantile(p):
    return sqrt(mpf(2)) * erfinv(2 * p - 1)


def tail_energy(x):
    """E[G^2; G > x] for a standard normal G."""
    return x * exp(-x * x / 2) / sqrt(2 * mp.pi) + upper_tail(x)


def candidate_table(scale=29, bits=12, split=4, extra=4, largest=127):
    """The entries of positive numbers from the largest down, as (magnitude, weight in 2^-(bits + extra)).

    Each of the `split` outermost cells of a 2^-bits quantile grid is cut into 2^extra. Every cell, from the outermost
    in, gets the integer that brings the sum of squares so far closest to that of scale x G beyond the cell's inner
    edge; no integer exceeds `largest` or the one before.
    """
    parts = 2**extra
    widths = [1] * (split * parts) + [parts] * (2 ** (bits - 1) - split)
    whole = 2 ** (bits + extra)
    entries, outside, energy, magnitude = [], 0, mpf(0), largest
    for width in widths:
        outside += width
        edge = normal_quantile(1 - mpf(outside) / whole)
        wanted = whole * scale**2 * tail_energy(edge)
        magnitude = min(range(magnitude + 1), key=lambda m: abs(energy + width * m * m - wanted))
        energy += width * magnitude**2
        entries.append((magnitude, width))
    return entries


def write_quantile_table():
    entries = candidate_table()
    counts = [sum(width for magnitude, width in entries if magnitude == m) for m in range(entries[0][0] + 1)]
    assert sum(counts) == 2**15 and len(counts) <= 128
    # The tail is looked up by 16-bit numbers, the rest by their upper 12 bits.
    assert all(width == 1 for _, width in entries[:64]) and all(width == 16 for _, width in entries[64:])
    lines = [
        "//! Frozen table of the candidate coordinates. Written by scripts/tables.py; do not edit.",
        "",
        "/// How often each magnitude 0, 1, 2, … occurs among the entries of the 16-bit numbers from 32768 on, which "
        "ascend.",
        "#[rustfmt::skip]",
        f"pub(super) const MAGNITUDE_COUNTS: [u16; {len(counts)}] = [",
        *["    " + " ".join(f"{c}," for c in counts[i : i + 20]) for i in range(0, len(counts), 20)],
        "];",
        "",
    ]
    (root / "src/mechanism/cap/quantiles.rs").write_text("\n".join(lines))
    print("second moment of the candidate table:", 2 * sum(m * m * width for m, width in entries), "/", 2**16)


if __name__ == "__main__":
    write_gaussian_table()
    write_quantile_table()
