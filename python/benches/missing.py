"""What missing values cost: components of a small population with and without them, private and not.

Twelve features on which two components live, as in docs/start/python.md. Values are missing at random, in the first
column never and in the last one twice as often as on average. Errors are ||sin Theta||_F^2 against the components of
the complete records, the mean of the trials; a random guess has 1.67.
"""

from __future__ import annotations

import numpy as np

from ldp_pca import Aggregate, Randomizer, Task, recover

RECORDS, EPSILON, TRIALS = 50_000, 2.0, 10


def population(rng: np.random.Generator) -> np.ndarray:
    """Answers of standard deviation 1 or less about 0."""
    quiet, moving = rng.normal(size=(2, RECORDS))
    answers = 0.5 * rng.normal(size=(RECORDS, 12))
    answers[:, :5] += 1.3 * quiet[:, None]
    answers[:, 6:10] += moving[:, None]
    return answers / 1.4


def leading(answers: np.ndarray) -> np.ndarray:
    """The two principal components of rows about their mean, without privacy."""
    return np.linalg.eigh(np.cov(answers.T))[1][:, -2:].T


def private(answers: np.ndarray, bounding: str | float, seed: int) -> np.ndarray:
    """The two principal components from reports. Seeded: this is a simulation."""
    task = Task(12, epsilon=EPSILON, bounding=bounding)
    aggregate = Aggregate(task)
    aggregate.update(Randomizer(task).randomize(answers, insecure_seed=seed))
    return recover(aggregate, 2).components


def error(found: np.ndarray, truth: np.ndarray) -> float:
    """||sin Theta||_F^2 between the two subspaces."""
    return 2 - float(np.linalg.norm(found @ truth.T) ** 2)


print(f"{RECORDS} records, epsilon {EPSILON}, mean of {TRIALS} trials")
print("missing | no privacy | unit norm | clip at 4")
for share in (0.0, 0.1, 0.2, 0.4):
    errors = []
    for trial in range(TRIALS):
        rng = np.random.default_rng(trial)
        answers = population(rng)
        truth = leading(answers)
        answers[rng.random(answers.shape) < np.linspace(0.0, 2 * share, 12)] = np.nan
        found = [leading(np.nan_to_num(answers))]
        found += [private(answers, bounding, trial) for bounding in ("unit-norm", 4.0)]
        errors.append([error(components, truth) for components in found])
    print(f"{share:.0%} | " + " | ".join(f"{value:.4f}" for value in np.mean(errors, axis=0)))
