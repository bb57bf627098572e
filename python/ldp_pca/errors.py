"""Exceptions, all of one hierarchy, with the messages of the Rust crate."""

from __future__ import annotations

import sys
import warnings


class LdpPcaError(Exception):
    """The base class of every exception of this package.

    ``row`` is the row of the input that it is about, counted from 0, where there is one.
    """

    row: int | None = None
    #: The partition of a Spark DataFrame that the row is in.
    partition: int | None = None


class TaskError(LdpPcaError, ValueError):
    """A task that makes no sense."""


class SchemaError(LdpPcaError, ValueError):
    """Columns that make no sense, or a table without them."""


class RecordError(LdpPcaError, ValueError):
    """What holds no records, or with ``strict`` a record that does not fit its task."""


class ReportError(LdpPcaError, ValueError):
    """Bytes that are not a report of the task."""


class ReportTypeError(ReportError, TypeError):
    """Something that cannot hold reports: text, or an Arrow array of integers."""


class AggregateError(LdpPcaError, ValueError):
    """A state that is not a sum of reports of the task, or does not match another."""


class RecoveryError(LdpPcaError, ValueError):
    """Components, or a covariance, that cannot be recovered."""


class PlanError(LdpPcaError, ValueError):
    """A question about a collection that has no answer."""


class BudgetError(LdpPcaError, ValueError):
    """A fit that would spend more than the privacy budget has, or that it cannot count; or an amount that is none."""


class ClusterError(LdpPcaError, RuntimeError):
    """A Spark cluster that cannot do it: another version of this package, or data that change meanwhile.

    Or local mode, which does not try a task that failed again.
    """


class SchemaWarning(UserWarning):
    """Something odd about the sample of a schema, such as a column that is left out."""


class RecordWarning(UserWarning):
    """What of the records could not be read and counts as missing: of which columns, how often, and where first."""


class NoiseWarning(UserWarning):
    """Components that cannot be distinguished from noise."""


class BoundingWarning(UserWarning):
    """A radius that shortens many rows, whose components are then not those of the rows."""


class SeededWarning(UserWarning):
    """Reports drawn from a seed, which are not private."""


class SkippedReportsWarning(UserWarning):
    """Bytes that are not reports were left out, as asked for."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn of something in the line of the caller's own code that led here, maybe by way of scikit-learn."""
    frame, level, between = sys._getframe(1), 2, ("ldp_pca", "sklearn")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in between:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
