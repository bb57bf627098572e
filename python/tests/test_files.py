"""The command line reads the files that pandas, polars and pyarrow write as the CSV that pandas writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

Command = Callable[..., dict[str, Any]]

ROWS = 2000


def records() -> pd.DataFrame:
    """Columns of every type that is read, with values missing."""
    rng = np.random.default_rng(7)
    missing = rng.random(ROWS) < 0.1
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "height": rng.normal(1.7, 0.1, ROWS),
            "score": rng.normal(0, 1, ROWS).astype(np.float32),
            "income": np.where(missing, np.nan, rng.lognormal(10, 2, ROWS)),
            "visits": pd.array(rng.integers(0, 9, ROWS), dtype="Int16"),
            "plan": pd.Categorical(rng.choice(["free", "paid", "trial"], ROWS)),
            "code": pd.Categorical(rng.integers(0, 4, ROWS)),
            "city": rng.choice(["Lima", "Zürich", "São Paulo, SP", "NA", ""], ROWS),
            "member": rng.random(ROWS) < 0.5,
        }
    ).assign(visits=lambda frame: frame["visits"].mask(missing))


def written(folder: Path, frame: pd.DataFrame) -> list[Path]:
    """Files with the records in every format but CSV."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for compression in ("none", "snappy", "zstd", "lz4", "gzip"):
        pa.parquet.write_table(table, folder / f"{compression}.parquet", compression=compression, row_group_size=700)
    pa.parquet.write_table(table, folder / "second.parquet", data_page_version="2.0", use_dictionary=False)
    for compression in ("uncompressed", "zstd", "lz4"):
        pa.feather.write_feather(table, folder / f"{compression}.feather", compression=compression, chunksize=600)
    with pa.ipc.new_stream(folder / "stream.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=500)
    frame.to_parquet(folder / "pandas.parquet", index=False)
    frame.to_feather(folder / "pandas.feather")
    polar = pl.from_pandas(frame)
    polar.write_parquet(folder / "polars.parquet")
    polar.write_ipc(folder / "polars.arrow", compression="zstd")
    polar.write_ipc_stream(folder / "polars.arrows")
    return sorted(path for path in folder.iterdir() if path.suffix != ".csv")


def test_the_same_records_give_the_same_schema_and_reports(tmp_path: Path, command: Command) -> None:
    frame = records()
    frame.to_csv(tmp_path / "records.csv", index=False)
    paths = written(tmp_path, frame)
    options = ("--categorical", "code")
    command("schema", "infer", tmp_path / "records.csv", *options, "-o", tmp_path / "schema.json")
    command("task", "new", "--schema", tmp_path / "schema.json", "--epsilon", "2", "-o", tmp_path / "task.json")

    def randomized(path: Path) -> tuple[dict[str, object], bytes]:
        output = tmp_path / "out.ldpr"
        counts = command(
            "randomize", path, "-t", tmp_path / "task.json", "-o", output, "--force", "--insecure-seed", "7"
        )
        return {key: counts[key] for key in ("records", "missing_values")}, output.read_bytes()

    expected = randomized(tmp_path / "records.csv")
    assert expected[0]["records"] == ROWS
    assert len(paths) == 15
    for path in paths:
        assert randomized(path) == expected, path.name
        command("schema", "infer", path, *options, "-o", tmp_path / "again.json", "--force")
        assert (tmp_path / "again.json").read_text() == (tmp_path / "schema.json").read_text(), path.name
