"""How long `LocalPCA` takes on KDD Cup 99 (494,021 records, d = 116), from the file to projections, on one thread.

The data is looked for in ``data/kddcup99_10_percent.csv.gz`` of ``../shared``, or of ``LDP_PCA_SHARED``. Coding as in
section 6.1 of Chaudhuri et al.: one feature per value of a category, each feature divided by its largest value, each
record by the largest norm of all. Both divisors are read from the records, so for this figure they count as public.

Run on one processor: ``taskset -c 0 python benches/kdd.py``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from ldp_pca import LocalPCA

CATEGORICAL = [1, 2, 3]
LABEL = 41


def records() -> np.ndarray:
    """Read and encode the records: shape (494021, 116), norms of at most 1."""
    shared = Path(os.environ.get("LDP_PCA_SHARED", Path(__file__).parents[2].parent / "shared"))
    frame = pd.read_csv(shared / "data" / "kddcup99_10_percent.csv.gz", header=None, engine="pyarrow")
    frame = pd.get_dummies(frame.drop(columns=LABEL), columns=CATEGORICAL, dtype=np.float64)
    values = frame.to_numpy(np.float64)
    largest = values.max(axis=0)
    values = values[:, largest > 0] / largest[largest > 0]
    return values / np.linalg.norm(values, axis=1).max()


start = time.perf_counter()
X = records()
read = time.perf_counter()
for epsilon in (1.0, 4.0):
    before = time.perf_counter()
    pca = LocalPCA(n_components=4, epsilon=epsilon, radius=1.0, centring=False, n_jobs=1).fit(X)
    fitted = time.perf_counter()
    pca.transform(X)
    end = time.perf_counter()
    moments = X.T @ X / len(X)
    captured = np.trace(pca.components_ @ moments @ pca.components_.T) / np.trace(moments)
    best = np.linalg.eigvalsh(moments)[-4:].sum() / np.trace(moments)
    print(
        f"epsilon {epsilon}, {len(X)} records of {X.shape[1]} features: "
        f"read and encode {read - start:.1f} s, fit {fitted - before:.1f} s, "
        f"transform {end - fitted:.1f} s, together {read - start + end - before:.1f} s; "
        f"captured {captured:.4f} of the variance (at most {best:.4f})"
    )
