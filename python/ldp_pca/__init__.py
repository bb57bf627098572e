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
    "Baseline": "_recovery",
    "Budget": "_budget",
    "Confidence": "_recovery",
    "Covariance": "_covariance",
    "LocalPCA": "estimators",
    "LocalSparsePCA": "estimators",
    "Mean": "_covariance",
    "Norms": "_norms",
    "Plan": "_planning",
    "Prediction": "_recovery",
    "Recovery": "_recovery",
    "SparseCertificate": "_recovery",
    "aggregate": "_collecting",
    "budget": "_budget",
    "covariance": "_covariance",
    "infer_schema": "_schema",
    "norms": "_norms",
    "plan": "_planning",
    "predict": "_planning",
    "recover": "_recovery",
}


_MODULES = frozenset({"estimators", "spark"})


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
