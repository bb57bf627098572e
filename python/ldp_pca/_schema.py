"""A schema from a public sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._inputs import arrow_of_pandas, floats_of, is_pandas_frame
from ._native import _infer_schema
from .errors import SchemaError

__all__ = ["infer_schema"]


def infer_schema(
    sample: Any,
    *,
    scaling: str = "max-abs",
    unseen: str = "error",
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_values: int = 256,
) -> dict[str, Any]:
    """Read a schema out of a **public** sample: which columns are numeric, how large they get, which categories exist.

    All of it becomes part of the public task. Never infer a schema from the records that are to be protected.

    Parameters
    ----------
    sample : table or array of shape (n, columns)
        pandas, polars, Arrow, or numbers (whose columns are called ``c1``, ``c2``, …).
    scaling : {'max-abs', 'range', 'standard', 'none'}
        How numeric columns are brought to a common size: largest magnitude 1, from 0 to 1, mean 0 and deviation 1, or as
        they are.
    unseen : {'error', 'zero'}
        What a categorical value that is not in the sample does to a record: it is refused, or all its features are 0.
    ignore, categorical : sequence of str
        Columns to leave out, and columns of numbers that are categories. The values of these are texts (``'1'``) in the
        schema, and so must they be in the tables and mappings that are randomized; in arrays they stay numbers.
    max_values : int
        The largest number of categories of one column.

    Returns
    -------
    dict
        The schema, for ``Task``, with the key ``columns``.

    Raises
    ------
    SchemaError
        For columns that no schema fits.
    """
    if is_pandas_frame(sample):
        sample = arrow_of_pandas(sample)
    elif not (hasattr(sample, "__arrow_c_stream__") or hasattr(sample, "__arrow_c_array__")):
        if np.ma.is_masked(sample):
            raise SchemaError("the sample has masked values: fill them (numpy.ma.filled), or leave them out")
        sample = floats_of(sample)
    schema: dict[str, Any] = json.loads(
        _infer_schema(sample, scaling, unseen, list(ignore), list(categorical), max_values)
    )
    return schema
