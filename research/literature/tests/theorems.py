"""Computes theorems.json again: the statements of the literature, with 130 digits.

    python3 -m pip install mpmath && python3 research/literature/tests/theorems.py

A case is [d, k, bulk, epsilon, delta, n, target, s, number of signals, *signals], the spectrum being the signals and
the bulk, and what `statements` computes of it; -1 for none. A new case needs its inputs and any 23 numbers.
"""

import json
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 130
PATH = Path(__file__).with_suffix(".json")
COUNT = 23


def statements(d, k, bulk, epsilon, delta, n, target, s, signals):
    """Values of ppca, any-central, mod-sulq (its infimum over phi, for fine steps), wang-xu-1 to 5, mod-sulq-records,
    wang-xu-1-any-rank, -2-proved, -3-any-rank, -4-proved, -5-proved, liu-3-3-records, -5-1-records, -3-3, -5-1, -5-3,
    -5-4, ge-4-3, ge-4-4 and ge-minimax; those without k are for k = 1."""
    eigenvalue = lambda i: mpf(signals[i]) if i < len(signals) else mpf(bulk)
    first, last, following = eigenvalue(0), eigenvalue(k - 1), eigenvalue(k)
    gap = last - following
    e, dl, tt, nn = mpf(epsilon), mpf(delta), mpf(target), mpf(n)
    trace = mp.fsum(map(mpf, signals)) + (d - len(signals)) * mpf(bulk)
    values = [None] * COUNT
    if k == 1:
        values[2] = mod_sulq(d, e, dl, nn)
        values[8] = mpf(d) ** 1.5 * mp.sqrt(mp.log(d / dl)) / e
    if gap <= 0:
        return values
    if k == 1:
        values[:2] = central(d, first, gap, e, tt)
        values[14:20] = liu(d, first, following, trace, e, dl, nn)
    noise, signal = first * following / gap**2, (first / gap) ** 2
    noise_of_z, ranked, sparse = mp.log(mpf(5) / 4 / dl) / e**2, d <= 4 * k <= 3 * d, k <= s <= d
    if epsilon <= 0.5 and ranked:
        values[3] = noise * k * d / (nn * e**2)
        if 2 * k <= s - k and s <= d:
            values[5] = noise * s * (k + mp.log(d)) / (nn * e**2)
    values[4] = signal * k * d * mp.log(1 / dl) / (nn * e**2)
    if epsilon <= 0.5:
        values[9] = noise * k * (d - k) / (nn * e**2)
        if 2 * k <= s - k and s < d and k <= d - 4:
            order = k + 1 + mp.log(mpf(d - k) / (s - k))
            values[11] = noise * s * order / (nn * e**2)
    values[10] = k * (d * noise_of_z + first * trace) / (gap**2 * nn)
    if sparse and epsilon < 1:
        values[6] = signal * s * s * mp.log(d) / (nn * e**2)
        values[7] = s * s * signal * mp.log(1 / dl) * mp.log(d) * (8 * first + gap) / e**2
        entry = s * s * mp.log(d) * (noise_of_z + first**2)
        values[12] = entry / (gap**2 * nn)
        values[13] = entry * (8 * first + gap) ** 2 / gap**4
        if delta < 0.5:
            values[20:22] = dps_pca(d, k, first, last, following, e, dl, nn, s)
    if sparse:
        values[22] = noise * s * (k + mp.log(d) / 4) / nn
    return values


def central(d, first, gap, e, target):
    """Chaudhuri, Sarwate & Sinha 2013: what PPCA needs, and what any central method needs."""
    rho = mp.sqrt(1 - target)
    ppca = d / (e * gap * (1 - rho)) * (4 * mp.log(20) / d + 2 * mp.log(8 * first / ((1 - rho**2) * gap)))
    if d >= 3 and gap <= mpf(1) / 2 and e <= 0.5:
        complement = mp.exp(-2 * (mp.log(8) + mp.log(1 + mp.exp(d))) / (d - 2))
        if target <= complement / 16:
            return [ppca, d / (e * gap) * max(1, mp.sqrt(complement / (80 * target)))]
    return [ppca, None]


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
    beta = (d + 1) / (n * e) * mp.sqrt(2 * mp.log((d * d + d) / (2 * delta * mp.sqrt(2 * mp.pi))))
    beta += 1 / (n * mp.sqrt(e))
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


def main():
    lines = []
    for case in json.loads(PATH.read_text()):
        inputs, signals = case[:9], case[9 : 9 + case[8]]
        values = statements(*inputs[:8], signals)
        numbers = [-1.0 if value is None or value > 1e308 else float(value) for value in values]
        lines.append("  " + json.dumps([*inputs, *signals, *numbers]))
    PATH.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
