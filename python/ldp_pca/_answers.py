"""Answers of the native part as data classes."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, Callable, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# The types of fields that are arrays.
_ARRAYS: dict[str, type] = {"Floats": np.float64, "Bools": np.bool_}


class Answer:
    """A data class of an answer: equal to another one where all that both state is the same."""

    def __eq__(self, other: object) -> bool:
        """Whether it has the same fields; nan is the same as nan."""
        if type(self) is not type(other):
            return NotImplemented
        compared = [part.name for part in fields(self) if part.compare]  # type: ignore[arg-type]
        return all(_is_same(getattr(self, name), getattr(other, name)) for name in compared)

    def __hash__(self) -> int:
        """Of the texts and the counts alone: equal floats and arrays may have other hashes, as nan has."""
        compared = [part for part in fields(self) if part.compare]  # type: ignore[arg-type]
        return hash((type(self), *(getattr(self, part.name) for part in compared if part.type in ("int", "str"))))


def _is_same(one: Any, other: Any) -> bool:
    arrays = isinstance(one, np.ndarray), isinstance(other, np.ndarray)
    if any(arrays):
        return all(arrays) and np.array_equal(one, other, equal_nan=True)
    if isinstance(one, dict):
        same_keys = isinstance(other, dict) and one.keys() == other.keys()
        return same_keys and all(_is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)):
        same_length = type(one) is type(other) and len(one) == len(other)
        return same_length and all(map(_is_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def made(kind: Callable[..., T], found: dict[str, Any], **inner: Callable[..., Any]) -> T:
    """Make a data class of what was found, with those ``inner`` ones; what it has no field for is left out.

    A list is an array where the field is one, and has nan where there is none. JSON has no infinite number: a number
    that is not there is one.
    """
    values: dict[str, Any] = {}
    for part in fields(kind):  # type: ignore[arg-type]
        value, dtype = found.get(part.name), _ARRAYS.get(str(part.type).removesuffix(" | None"))
        if value is None:
            value = float("inf") if part.type == "float" else None
        elif part.name in inner:
            value = made(inner[part.name], value)
        elif dtype is not None:
            value = np.asarray(value, dtype=dtype)
        values[part.name] = value
    return kind(**values)
