"""Answers of the native part as data classes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Callable, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Floats", "made"]

T = TypeVar("T")
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# The types of fields that are arrays.
_ARRAYS: dict[str, type] = {"Floats": np.float64, "Bools": np.bool_}


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
