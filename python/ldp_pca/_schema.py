"""A schema from a public sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ._inputs import arrow_of_pandas, is_from, is_pandas_frame, numbers_of, plain
from ._native import _infer_schema
from .errors import SchemaError, SchemaWarning, warn


def infer_schema(
    sample: Any,
    *,
    scaling: str = "robust",
    unseen: str = "zero",
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Infer a schema from a **public** sample: which columns are numeric, how large they get, which categories exist.

    All of it becomes part of the public task. Never infer a schema from the records to be protected. Texts that may
    identify people stay out of it: a column of texts is ignored where they hardly repeat, where there are more than 32,
    or where they are e-mail addresses, unless ``categorical`` or ``categories`` names the column. So is a column of
    dates, or of texts like ``'1,234'`` or ``'12 %'``. A ``SchemaWarning`` says why, and what to do.

    A column whose type declares categories (Categorical of pandas, Enum of polars, dictionary of Arrow) is categorical
    also where they are numbers, and has all of them in their order: also those that no row has. More than 32 leave it
    out, unless it is named, and so does an e-mail address, a UUID or a text of more than 64 characters among them. So
    do its values where those of a column of texts would, and a name that identifiers have. The Categorical of polars
    declares none, and has those that occur.

    Parameters
    ----------
    sample : table or array of shape (n, columns)
        pandas, polars, Arrow, or numbers (whose columns are called ``c1``, ``c2``, …). Missing values say nothing about
        their column, and a column with only missing values or zeros is ignored.
    scaling : {'robust', 'max-abs', 'range', 'standard', 'none'}
        The scaling of numeric columns: mean 0 and deviation 1 whatever a few numbers far from the others are, largest
        magnitude 1, from 0 to 1, mean 0 and deviation 1 of all numbers, or as they are.
    unseen : {'zero', 'other'}
        The rule for a categorical value that is not in the sample: all its features are 0, or it counts as the value
        ``'other'``, which is listed too.
    ignore, categorical : sequence of str
        Columns to leave out, of whatever type, and columns whose values are categories and become public: numbers, many
        different texts, names. Booleans and numbers are texts (``'True'``, ``'1'``) in the schema; records may hold
        them as they are.
    categories : mapping of str to sequence of str, optional
        Columns with their categories, from public knowledge.

    Returns
    -------
    dict
        The schema, for ``Task``, with the key ``columns``.

    Raises
    ------
    SchemaError, RecordError
        For columns that no schema fits, and for anything but a table or an array.
    TypeError
        For a parameter of another type.

    Warns
    -----
    SchemaWarning
        For each column that looks odd: named like an identifier, constant, with texts among its numbers, with numbers
        that begin with 0 as codes do, or with a few numbers that set its scale. One names all columns that are ignored
        because they have only missing values or zeros.
    """
    for parameter, named in (("ignore", ignore), ("categorical", categorical)):
        if isinstance(named, str):
            raise TypeError(f"{parameter} is {named!r}: give the names of columns in a list")
    listed = _listed(categories or {})
    ignored = [str(name) for name in ignore]
    sample = _without_values(sample, ignored)
    table = arrow_of_pandas(sample) if is_pandas_frame(sample) else numbers_of(sample)
    if table is None:
        mixed = [str(name) for name in sample.columns if arrow_of_pandas(sample[[name]]) is None]
        problem = "the frame has columns that are neither of numbers nor of texts"
        raise SchemaError(f"{problem}: {', '.join(mixed)}: ignore them, or convert them")
    if isinstance(table, Sequence):
        raise SchemaError(
            "a sample is a table or a two-dimensional array of numbers, and this is a sequence of mappings, or has "
            "values of several types in a column: make a frame of it first, pandas.DataFrame(sample)"
        )
    text, odd = _infer_schema(table, scaling, unseen, ignored, [str(name) for name in categorical], listed)
    for words in odd:
        warn(words, SchemaWarning)
    schema: dict[str, Any] = json.loads(text)
    return schema


def _listed(categories: Mapping[str, Sequence[str]]) -> list[tuple[str, list[str]]]:
    """The categories of each column as texts."""
    if not isinstance(categories, Mapping):
        raise TypeError(f"categories is {type(categories).__name__}: give a mapping of columns to lists of texts")
    listed = []
    for name, values in categories.items():
        texts = [] if isinstance(values, str) else [plain(value, True) for value in values]
        if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"categories[{name!r}] is {values!r}: give a list of texts")
        listed.append((str(name), [str(text) for text in texts]))
    return listed


def _without_values(sample: Any, ignored: Sequence[str]) -> Any:
    """The frame with nothing in the columns that are ignored, for which Arrow may have no type."""
    if is_from("polars", "LazyFrame", sample):
        sample = sample.collect()
    if is_from("polars", "DataFrame", sample):
        import polars as pl

        return sample.with_columns(pl.lit(None).alias(name) for name in sample.columns if name in ignored)
    if is_pandas_frame(sample):
        sample = sample.copy(deep=False)
        for place, name in enumerate(sample.columns):
            if str(name) in ignored:
                sample.isetitem(place, None)
    return sample
