"""Principal components of data that never leaves its owner's device."""

from __future__ import annotations

from ._native import Aggregate, Randomizer, Reports, Task, __version__
from .errors import AggregateError, ClusterError, LdpPcaError, RecordError, ReportError, TaskError

__all__ = [
    "Aggregate",
    "AggregateError",
    "ClusterError",
    "LdpPcaError",
    "Randomizer",
    "RecordError",
    "ReportError",
    "Reports",
    "Task",
    "TaskError",
    "__version__",
]
