"""The error of `LocalPCA` beside those of diffprivlib and OpenDP, on scikit-learn's breast cancer data.

It needs packages that no test needs: pip install 'scikit-learn<1.9' diffprivlib 'opendp[scikit-learn]'

The trust differs: the two others see every record, and `LocalPCA` sees one randomized report of each. Columns are
standardised in the clear, and rows are shortened to a radius that about 95 % of them do not reach. Errors are
||sin Theta||_F^2 of two components against `sklearn.decomposition.PCA`, the mean of the trials. Trial t has seed t, but
OpenDP has no seeds. A package of which one fit takes longer than a minute has no figure.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

try:
    import diffprivlib
    import opendp.prelude as dp
except ImportError as error:
    sys.exit(f"{error}: pip install 'scikit-learn<1.9' diffprivlib 'opendp[scikit-learn]'")

from ldp_pca import LocalPCA

dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")

PACKAGES = ["diffprivlib", "opendp", "ldp-pca"]
EPSILON, TRIALS = 4.0, 20
#: Seconds of a fit.
LIMIT = 60.0

#: Columns of the data, and the radius of their rows.
DATA = {4: 4.0, 30: 10.0}


def columns(features: int) -> np.ndarray:
    """The first columns of the data, of mean 0 and variance 1."""
    return StandardScaler().fit_transform(load_breast_cancer().data[:, :features])


def error(package: str, features: int, trial: int) -> float:
    """The error of one fit."""
    warnings.simplefilter("ignore")
    rows, radius = columns(features), DATA[features]
    truth = PCA(2).fit(rows).components_
    if package == "ldp-pca":
        model = LocalPCA(2, epsilon=EPSILON, radius=radius, centring=False, random_state=trial)
    elif package == "diffprivlib":
        model = diffprivlib.models.PCA(2, epsilon=EPSILON, data_norm=radius, centered=True, random_state=trial)
    else:
        # One record replaced is two changes.
        size = {"n_samples": len(rows), "n_features": features}
        model = dp.sklearn.decomposition.PCA(epsilon=EPSILON, row_norm=radius, n_components=2, n_changes=2, **size)
    # diffprivlib writes into its argument.
    found = model.fit(rows.copy()).components_
    return 2 - float(np.linalg.norm(found @ truth.T) ** 2)


def line(package: str) -> str:
    """The mean error for each number of columns, in a process that can be ended."""
    cells = []
    for features in DATA:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply_async(columns, (features,)).get()  # not counted: the imports
            trials = range(TRIALS)
            try:
                errors = [pool.apply_async(error, (package, features, trial)).get(LIMIT) for trial in trials]
                cells.append(f"{np.mean(errors):.4f}")
            except multiprocessing.TimeoutError:
                cells.append(f"none in {LIMIT:g} s")
    return f"{package} {version(package)} | " + " | ".join(cells)


def main() -> None:
    """Print one line for every package."""
    print(f"epsilon {EPSILON}, mean of {TRIALS} trials, scikit-learn {version('scikit-learn')}")
    print("package | " + " | ".join(f"{features} columns" for features in DATA))
    print("random subspace | " + " | ".join(f"{2 * (1 - 2 / features):.4f}" for features in DATA))
    for package in PACKAGES:
        print(line(package))


if __name__ == "__main__":
    main()
