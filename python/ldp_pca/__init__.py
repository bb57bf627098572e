"""Principal components of data that never leaves its owner's device.

Records are randomized where they are (`Randomizer`), reports are summed (`aggregate`, `Aggregate`), and principal
components, sparse or not, are recovered from the sum with their error known (`recover`). `plan` predicts how many
reports it takes, and `LocalPCA` does everything behind scikit-learn's interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._native import Aggregate, Collection, PublicSample, Randomizer, Reports, Task, __version__
from .errors import (
    AggregateError,
    BoundingWarning,
    BudgetError,
    ClusterError,
    LdpPcaError,
    NoiseWarning,
    PlanError,
    RecordError,
    RecordWarning,
    RecoveryError,
    ReportError,
    ReportTypeError,
    SchemaError,
    SchemaWarning,
    SeededWarning,
    SkippedReportsWarning,
    TaskError,
)

if TYPE_CHECKING:
    from ._budget import Budget, budget
    from ._collecting import aggregate
    from ._covariance import Covariance, Mean, covariance
    from ._norms import Norms, norms
    from ._planning import Plan, plan, predict
    from ._recovery import Baseline, Confidence, Prediction, Recovery, SparseCertificate, recover
    from ._schema import infer_schema
    from .estimators import LocalPCA, LocalSparsePCA

__all__ = [
    "Aggregate",
    "AggregateError",
    "Baseline",
    "BoundingWarning",
    "Budget",
    "BudgetError",
    "ClusterError",
    "Collection",
    "Confidence",
    "Covariance",
    "LdpPcaError",
    "LocalPCA",
    "LocalSparsePCA",
    "Mean",
    "NoiseWarning",
    "Norms",
    "Plan",
    "PlanError",
    "Prediction",
    "PublicSample",
    "Randomizer",
    "RecordError",
    "RecordWarning",
    "Recovery",
    "RecoveryError",
    "ReportError",
    "ReportTypeError",
    "Reports",
    "SchemaError",
    "SchemaWarning",
    "SeededWarning",
    "SkippedReportsWarning",
    "SparseCertificate",
    "Task",
    "TaskError",
    "__version__",
    "aggregate",
    "budget",
    "covariance",
    "infer_schema",
    "norms",
    "plan",
    "predict",
    "recover",
]

# What brings in NumPy or scikit-learn is imported when it is first used: importing this package takes no time.
_LATER = {
    "_budget": ("Budget", "budget"),
    "_collecting": ("aggregate",),
    "_covariance": ("Covariance", "Mean", "covariance"),
    "_norms": ("Norms", "norms"),
    "_planning": ("Plan", "plan", "predict"),
    "_recovery": ("Baseline", "Confidence", "Prediction", "Recovery", "SparseCertificate", "recover"),
    "_schema": ("infer_schema",),
    "estimators": ("LocalPCA", "LocalSparsePCA"),
}

_MODULES = frozenset({"estimators", "spark"})


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    module = next((module for module, names in _LATER.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
