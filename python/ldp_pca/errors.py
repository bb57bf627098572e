"""Exceptions, all of one hierarchy, with the messages of the Rust crate."""

from __future__ import annotations

__all__ = ["AggregateError", "LdpPcaError", "RecordError", "ReportError", "TaskError"]


class LdpPcaError(Exception):
    """What every exception of this package is.

    ``row`` is the row of the input that it is about, counted from 0, where there is one.
    """

    row: int | None = None


class TaskError(LdpPcaError, ValueError):
    """A task that makes no sense."""


class RecordError(LdpPcaError, ValueError):
    """A record that does not fit its task."""


class ReportError(LdpPcaError, ValueError):
    """Bytes that are no report of the task."""


class AggregateError(LdpPcaError, ValueError):
    """A state that is no sum of reports of the task, or does not go with another."""
