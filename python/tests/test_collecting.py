"""Reports from files and memory, each id once."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet
import pytest

import ldp_pca
from ldp_pca import Aggregate, AggregateError, Randomizer, ReportError, Reports, SkippedReportsWarning, Task, aggregate

STORE = Path(__file__).parents[2] / "docs" / "operate" / "store.md"


@pytest.fixture
def folder(task: Task, reports: Reports, tmp_path: Path) -> Path:
    """The reports as a plain file, as Parquet, and in two states."""
    (tmp_path / "plain").write_bytes(reports.to_bytes())
    table = pa.table({"report": pa.array(reports), "day": np.arange(len(reports))})
    pa.parquet.write_table(table, tmp_path / "reports.parquet", row_group_size=1000)
    (tmp_path / "parts").mkdir()
    for name, part in (("a", table[:2000]), ("b", table[2000:])):
        pa.parquet.write_table(part, tmp_path / "parts" / f"{name}.parquet")
        half = Aggregate(task)
        half.update(part)
        half.save(tmp_path / name)
    task.save(tmp_path / "task.json")
    return tmp_path


def test_every_source_gives_the_same_bytes(task: Task, reports: Reports, folder: Path) -> None:
    expected = Aggregate(task)
    expected.update(reports)
    array = pa.array(reports)
    halves = [Aggregate.from_file(folder / name, task) for name in "ab"]
    for sources in (
        folder / "plain",
        str(folder / "reports.parquet"),
        [folder / "a", str(folder / "b")],
        halves,
        sorted((folder / "parts").iterdir()),
        (folder / "parts").glob("*.parquet"),
        pa.dataset.dataset(folder / "parts"),
        pa.RecordBatchReader.from_batches(pa.schema({"report": array.type}), [pa.record_batch({"report": array})]),
        [halves[0], array[2000:]],
        reports,
        array,
        pl.DataFrame({"report": list(reports)}),
        reports.to_bytes(),
        (batch for batch in pa.table({"report": array}).to_batches(max_chunksize=700)),
    ):
        assert aggregate(sources, task).to_bytes() == expected.to_bytes()
    assert aggregate([folder / "plain"], task, threads=1).to_bytes() == expected.to_bytes()


def test_every_id_is_counted_once_across_sources(command, task: Task, reports: Reports, folder: Path) -> None:
    sources = [folder / "plain", folder / "reports.parquet", folder / "parts" / "a.parquet"]
    (folder / "twice").write_bytes(reports.to_bytes() * 2)
    once = aggregate(folder / "plain", task)
    for given in (sources, sources[::-1], [folder / "twice", reports, list(reports)[::-1]]):
        assert aggregate(given, task) == once
    answer = command("aggregate", folder / "twice", folder / "plain", "-t", folder / "task.json", "-o", folder / "out")
    assert (folder / "out").read_bytes() == once.to_bytes()
    collection = ldp_pca.Collection(task, threads=2)
    assert collection.update((folder / "twice").read_bytes()) == 6000
    assert collection.update(reports) == 0
    assert collection.duplicates == answer["duplicates"] == 12_000
    assert (collection.records, collection.skipped, collection.first_skipped) == (6000, 0, None)
    assert collection.aggregate() == once
    assert repr(collection) == "Collection(records=6000, duplicates=12000, skipped=0)"


def test_of_two_reports_of_an_id_the_first_counts(task: Task, reports: Reports) -> None:
    # The same id with another payload: made by hand, with its checksum.
    import zlib

    first = reports[0]
    content = first[:29] + bytes([first[29] ^ 1]) + first[30:31]
    second = content + zlib.crc32(content).to_bytes(4, "little")
    assert first[13:29] == second[13:29]
    for pair in ([first, second], [second, first]):
        alone = Aggregate(task)
        alone.update(pair[:1])
        assert aggregate(pair, task) == alone
        assert aggregate([[pair[0]], [pair[1]]], task) == alone


def test_invalid_reports_are_left_out_when_asked_for(command, task: Task, reports: Reports, folder: Path) -> None:
    rows = list(reports)
    rows[17] = rows[17][:30] + b"\x00\x00\x00\x00\x00"
    rows[40] = b"x" * 35
    (folder / "some").write_bytes(b"".join(rows))
    with pytest.warns(SkippedReportsWarning, match="left out 2 invalid reports, the first in .*some, row 17: "):
        found = aggregate(folder / "some", task, skip_invalid=True)
    words = ["-t", folder / "task.json", "-o", folder / "out", "--skip-invalid"]
    assert command("aggregate", folder / "some", *words)["skipped"] == 2
    assert (folder / "out").read_bytes() == found.to_bytes()


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch, task: Task) -> None:
    monkeypatch.setattr("ldp_pca._collecting._CHUNK", 1000 * task.report_bytes)
    monkeypatch.setattr("ldp_pca._collecting._BATCH", 1000)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", ["plain", "rows.parquet"])
def test_a_late_row_of_a_file_is_named_by_its_place_in_the_file(
    task: Task, reports: Reports, tmp_path: Path, name: str
) -> None:
    rows = list(reports)
    rows[4321] = rows[5432] = rows[0][:-1] + bytes([rows[0][-1] ^ 1])
    bad, good = tmp_path / name, tmp_path / "good"
    good.write_bytes(b"".join(rows[:2]))
    if name == "plain":
        bad.write_bytes(b"".join(rows))
    else:
        pa.parquet.write_table(pa.table({"report": pa.array(rows, pa.binary())}), bad)
    with pytest.raises(ReportError, match=f"^{re.escape(str(bad))}, row 4321: .*checksum") as raised:
        aggregate([good, bad], task)
    assert raised.value.row == 4321
    words = f"^left out 2 invalid reports, the first in {re.escape(str(bad))}, row 4321: .*checksum"
    with pytest.warns(SkippedReportsWarning, match=words):
        assert aggregate([good, bad, good], task, skip_invalid=True).records == 5998


def test_a_late_row_of_batches_is_counted_over_all_of_them(task: Task, reports: Reports, folder: Path) -> None:
    rows = list(reports)
    rows[4321] = rows[5432] = rows[0][:-1] + bytes([rows[0][-1] ^ 1])
    table = pa.table({"report": pa.array(rows, pa.binary())})
    batches = table.to_batches(max_chunksize=1000)
    for given in (
        lambda: pa.RecordBatchReader.from_batches(table.schema, batches),
        lambda: iter(batches),
        lambda: batches,
        # Duplicates are rows, too; those of a file are not among them.
        lambda: [rows[:2000], folder / "plain", (row for row in rows[:2000]), table[4000:]],
        lambda: pa.dataset.dataset(table).scanner(batch_size=1000),
    ):
        with pytest.raises(ReportError, match=r"^row 4321: .*checksum") as raised:
            aggregate(given(), task)
        assert raised.value.row == 4321
        with pytest.warns(
            SkippedReportsWarning, match=r"left out 2 invalid reports, the first in row 4321: .*checksum"
        ):
            aggregate(given(), task, skip_invalid=True)
    with pytest.raises(ReportError, match=r"^row 4321: ") as raised:
        Aggregate(task).update(pa.RecordBatchReader.from_batches(table.schema, batches))
    assert raised.value.row == 4321


def test_a_dataset_tells_of_the_file(task: Task, reports: Reports, tmp_path: Path) -> None:
    rows = list(reports)
    rows[4321] = rows[0][:-1] + bytes([rows[0][-1] ^ 1])
    for part in range(12):
        table = pa.table({"report": pa.array(rows[part * 500 : part * 500 + 500], pa.binary())})
        pa.parquet.write_table(table, tmp_path / f"{part:02}.parquet", row_group_size=100)
    dataset = pa.dataset.dataset(tmp_path)
    with pytest.raises(ReportError, match=r"^row 4321 \(in .*08\.parquet\): .*checksum") as raised:
        aggregate(dataset, task)
    assert raised.value.row == 4321
    with pytest.warns(SkippedReportsWarning, match=r"the first in row 4321 \(in .*08\.parquet\): .*checksum"):
        assert aggregate(dataset, task, skip_invalid=True).records == 5999


def test_a_bad_file_is_named_with_its_row(task: Task, reports: Reports, folder: Path) -> None:
    (folder / "empty").write_bytes(b"")
    (folder / "cut").write_bytes(reports.to_bytes()[:-3])
    (folder / "text").write_text("these are no reports")
    (folder / "state").write_bytes((folder / "a").read_bytes()[:-1])
    rows = [*list(reports)[:2500], None]
    pa.parquet.write_table(pa.table({"report": pa.array(rows, pa.binary())}), folder / "null.parquet")
    pa.parquet.write_table(pa.table({"reports": rows}), folder / "other.parquet")
    (folder / "open.parquet").write_bytes((folder / "reports.parquet").read_bytes()[:-200])
    for name, error, words, row in [
        ("empty", AggregateError, "empty: the file is empty", None),
        ("cut", ReportError, "cut, row 5999: .*32 bytes", 5999),
        ("text", ReportError, "text, row 0: .*20 bytes", 0),
        ("state", AggregateError, "state: .*bytes where", None),
        ("null.parquet", ReportError, r"null\.parquet, row 2500: null", 2500),
        ("open.parquet", AggregateError, r"open\.parquet: the Parquet file cannot be read: it was cut", None),
        ("other.parquet", AggregateError, r"other\.parquet: .*no column 'report'", None),
    ]:
        with pytest.raises(error, match=words) as raised:
            aggregate([folder / "plain", folder / name], task)
        assert raised.value.row == row
    with pytest.raises(FileNotFoundError):
        aggregate(folder / "nowhere", task)
    with pytest.raises(TypeError, match="not as int"):
        aggregate(7, task)


def test_what_the_aggregator_exports_is_read_here_and_as_documented_elsewhere(
    command, collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query of docs/operate/store.md where DuckDB is installed, and what it counts by pyarrow."""
    task, count = Task(2, epsilon=0.5), 140_000
    task.save(tmp_path / "task.json")
    reports = Randomizer(task).randomize(np.random.default_rng(1).normal(size=(count, 2)))
    data = tmp_path / "data"
    collected(data, tmp_path / "task.json", reports.to_bytes())
    command("store", "export", data, "-o", tmp_path / "plain")
    command("store", "export", data, "-o", tmp_path / "stored.parquet")
    whole = Aggregate(task)
    whole.update(reports)
    for exported in (tmp_path / "plain", tmp_path / "stored.parquet"):
        assert aggregate(exported, task).to_bytes() == whole.to_bytes()
    assert aggregate([tmp_path / "stored.parquet", tmp_path / "plain"], task) == whole
    ids = pa.compute.binary_slice(
        pa.parquet.read_table(tmp_path / "stored.parquet")["report"].cast(pa.binary()), 13, 29
    )
    assert pa.compute.count_distinct(ids).as_py() == len(ids) == count
    (query,) = re.findall(r"`(SELECT .* FROM 'stored\.parquet')`", STORE.read_text(encoding="utf-8"))
    if importlib.util.find_spec("duckdb") is not None:
        monkeypatch.chdir(tmp_path)
        assert importlib.import_module("duckdb").sql(query).fetchone() == (count, count)
