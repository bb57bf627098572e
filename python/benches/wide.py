"""Plain components of wide data beside scipy's `eigsh` on the same estimate.

usage: python python/benches/wide.py [DIMENSION...]   (4,000 and 10,000 by default)

`recover` has also to debias the sums, which `covariance` does for `eigsh`. Seconds are of processor time, the least of
two runs: other work on the machine counts little. scipy comes with scikit-learn.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.sparse.linalg import eigsh

from ldp_pca import Aggregate, NoiseWarning, Randomizer, Task, covariance, recover

REPORTS = 2_000


def collected(dimension: int) -> Aggregate:
    """Two components, and so few reports that the noise is of their size: the gaps are small."""
    rng = np.random.default_rng(0)
    task = Task(dimension, epsilon=4.0)
    components = np.linalg.qr(rng.normal(size=(dimension, 2)))[0].T
    scores = rng.normal(size=(REPORTS, 2)) * [10, 7]
    rows = scores @ components + rng.normal(size=(REPORTS, dimension)) * 10 / np.sqrt(dimension)
    aggregate = Aggregate(task)
    aggregate.update(Randomizer(task).randomize(rows, insecure_seed=1), threads=None)
    return aggregate


def main() -> None:
    """Print a line for each number of features."""
    warnings.simplefilter("ignore", NoiseWarning)
    print("features | recover | covariance | eigsh | recover / (covariance + eigsh) | recover / eigsh")
    for dimension in [int(word) for word in sys.argv[1:]] or [4_000, 10_000]:
        aggregate = collected(dimension)
        seconds: list[list[float]] = [[], [], []]
        for _ in range(2):
            start = time.process_time()
            found = recover(aggregate, 2, method="pca")
            seconds[0].append(time.process_time() - start)
            start = time.process_time()
            matrix = covariance(aggregate).matrix
            seconds[1].append(time.process_time() - start)
            start = time.process_time()
            _, vectors = eigsh(matrix, k=2, which="LA")
            seconds[2].append(time.process_time() - start)
            assert found.compare(vectors.T) < 1e-6
            del matrix
        ours, debiasing, theirs = map(min, seconds)
        ratios = f"{ours / (debiasing + theirs):.2f} | {ours / theirs:.2f}"
        print(f"{dimension:,} | {ours:.2f} s | {debiasing:.2f} s | {theirs:.2f} s | {ratios}", flush=True)


if __name__ == "__main__":
    main()
