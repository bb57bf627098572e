"""What runs in Spark's Python workers: partial sums of a partition, and the merging of what they give.

Rows between the stages are ``(key, kind, part, data)``. Rows that must meet have the same key. They are

- ``STATE``: the stretch ``part`` of a sum's integers, and behind it two more, the number of its reports and the sum of
  their fingerprints (mod 2^64), which are added like the others. So each stretch identifies the reports in its sum.
- ``PRINTS``: fingerprints of report ids, sorted. ``REPEATED``: those that more than one report has.
- ``SUSPECTS``: reports, one after the other, whose fingerprint is repeated.
- ``NOTE``: JSON; the ``error`` that ends the job, or ``counts``: rows that were left out (``skipped``), copies that
  were (``dropped``), fingerprints that were compared (``checked``) and different ones among these (``unique``), the
  last three also as sums of fingerprints, mod 2^64 (``dropped_prints``, …).
- ``TAGS``: the first tags of the ids in a sum, and behind them the same two integers as of a stretch.

Everything is a function of the rows alone: a task that runs twice gives the same, and Spark uses one of both.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from . import Aggregate, LdpPcaError, ReportError, Task

STATE, PRINTS, REPEATED, SUSPECTS, NOTE, TAGS = range(6)
SCHEMA_NAMES = ("key", "kind", "part", "data")
SCHEMA = "key int, kind int, part int, data binary"

#: Bytes of an aggregate's state before its integers, and behind the tags after them (docs/reference/wire-format.md).
STATE_HEADER, STATE_CHECKSUM = 37, 4
#: Bytes of a tag of an id, and the most tags that an aggregate has.
TAG_BYTES, MOST_TAGS = 20, 1024
#: Where a report has its id (docs/reference/wire-format.md).
ID = slice(13, 29)

#: Fingerprints that are held before they are sent on: 32 MiB of them.
_HELD_PRINTS = 1 << 22
#: Bytes of rows that leave a worker together.
_SENT_BYTES = 8 << 20

Row = tuple[int, int, int, Any]


class Job(NamedTuple):
    """What a stage must know, in plain values: the workers unpickle it before they look at versions.

    Attributes
    ----------
    task : str
        The task's JSON.
    keys : tuple of int
        Random odd numbers, which make fingerprints that no client can foresee.
    buckets : int
        Among how many tasks fingerprints are shared out.
    groups : int
        How many tasks add up the same stretch of states at first.
    row_bytes : int
        The most that a row holds (a single report and the tags of a sum may take more).
    most_repeated : int
        Repeated fingerprints that are reported; one more means that there are more.
    skip_invalid : bool
        As of `ldp_pca.spark.aggregate`.
    suspects : bytes or None
        Fingerprints whose reports are summed once all of them have met. None in the first run, which finds them.
    """

    task: str
    keys: tuple[int, int, int]
    buckets: int
    groups: int
    row_bytes: int
    most_repeated: int
    skip_invalid: bool
    suspects: bytes | None = None


def run(
    stage: str, job: tuple[Any, ...], batches: Iterable[pa.RecordBatch], partition: int, failures: Any
) -> Iterator[pa.RecordBatch]:
    """Runs the stage of that name. ``failures`` is an accumulator that takes errors, or None."""
    if stage == "partial_sums":
        return _packed(_Partial(Job(*job), partition, failures).rows(batches))
    if stage == "merged":
        return _packed(Merge(Job(*job)).rows(batches))
    return valid_reports(batches, Job(*job), partition)


def valid_reports(batches: Iterable[pa.RecordBatch], job: Job, partition: int) -> Iterator[pa.RecordBatch]:
    """The valid reports alone, one per row in the column ``report``."""
    partial = _Partial(job, partition, None)
    for column in partial.columns(batches):
        yield pa.record_batch([partial.valid(column)], names=["report"])


def fingerprints(ids: np.ndarray[Any, Any], keys: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    """64 bits per id, given as n x 2 words: equal ids have equal ones, and others nearly never."""
    first, second, third = (np.uint64(key) for key in keys)
    prints = ids[:, 0] * first
    prints ^= prints >> np.uint64(32)
    prints *= second
    prints ^= prints >> np.uint64(29)
    prints += ids[:, 1]
    prints *= third
    prints ^= prints >> np.uint64(32)
    prints *= first
    return prints


class _Partial:
    """The first stage: sums a partition, and sends what is needed to find ids that are there twice."""

    def __init__(self, job: Job, partition: int, failures: Any) -> None:
        self.job, self.partition, self.failures = job, partition, failures
        self.task = Task.from_json(job.task)
        self.width = self.task.report_bytes
        self.sums = Aggregate(self.task)
        self.prints = 0
        self.suspects = None if job.suspects is None else np.frombuffer(job.suspects, "<u8")
        self.skipped = 0
        self.first_skipped: dict[str, Any] | None = None
        self.first = 0
        self.numbers: Sequence[int] | np.ndarray[Any, Any] = ()

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        batches = iter(batches)
        try:
            yield from self.check_rows(batches)
        except LdpPcaError as error:
            # Read to the end: Spark has no good use for a worker that leaves some of its input.
            for _ in batches:
                pass
            # As a row like others, for Spark would try a task that raises again and again.
            told = json.dumps(_told(error, self.partition))
            if self.failures is not None:
                self.failures.add((told,))
            yield 0, NOTE, 0, f'{{"error": {told}}}'.encode()
            return
        group = self.partition % self.job.groups
        if self.skipped:
            note = {"counts": {"skipped": self.skipped}, "first": self.first_skipped}
            yield -1 - group, NOTE, 0, json.dumps(note).encode()
        if self.sums.records:
            yield from state_rows(self.sums, self.prints, group, self.job)

    def check_rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        """Sums the batches, and gives what is needed to find the ids that are there twice."""
        held: list[np.ndarray[Any, Any]] = []
        count = 0
        for column in self.columns(batches):
            if self.suspects is not None:
                yield from self.add_unsuspected(column, self.suspects)
                continue
            prints = self.add(column)
            held.append(prints)
            count += len(prints)
            if count >= _HELD_PRINTS:
                yield from self.print_rows(np.concatenate(held))
                held, count = [], 0
        if count:
            yield from self.print_rows(np.concatenate(held))

    def columns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Array]:
        """The column of reports of each batch, without its nulls; ``numbers`` are the rows of the batch that remain."""
        for batch in batches:
            column = batch.column(0)
            self.numbers = range(batch.num_rows)
            if column.null_count:
                column = self.without_nulls(column)
            yield column
            self.first += batch.num_rows

    def without_nulls(self, column: pa.Array) -> pa.Array:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        null = int(np.argmax(nulls))
        if not self.job.skip_invalid:
            # A bad row before the first null is reported instead.
            self.valid(column.slice(0, null))
        self.note_invalid("null instead of a report: drop nulls before", null, column.null_count)
        self.numbers = np.flatnonzero(~nulls)
        return column.drop_null()

    def add(self, column: pa.Array) -> np.ndarray[Any, Any]:
        """Adds reports. Their fingerprints."""
        try:
            self.sums._update_with_repeats(column)
        except ReportError:
            column = self.valid(column)
            self.sums._update_with_repeats(column)
        prints = fingerprints(_ids(column, self.width), self.job.keys)
        self.prints += int(prints.sum(dtype=np.uint64))
        return prints

    def add_unsuspected(self, column: pa.Array, suspects: np.ndarray[Any, Any]) -> Iterator[Row]:
        column = self.valid(column)
        prints = fingerprints(_ids(column, self.width), self.job.keys)
        places = np.minimum(np.searchsorted(suspects, prints), len(suspects) - 1)
        suspected = suspects[places] == prints
        if suspected.any():
            for print_, report in zip(prints[suspected], column.filter(pa.array(suspected))):
                yield int(print_) * self.job.buckets >> 64, SUSPECTS, 0, report.as_buffer()
            column = column.filter(pa.array(~suspected))
        self.add(column)

    def valid(self, column: pa.Array) -> pa.Array:
        """The valid ones among reports; the others are counted, or the first is an error."""
        invalid = self.sums._invalid(column)
        if not invalid:
            return column
        keep = np.ones(len(column), dtype=bool)
        for position, problem in invalid:
            keep[position] = False
            self.note_invalid(problem, position, 1)
        return column.filter(pa.array(keep))

    def note_invalid(self, problem: str, position: int, count: int) -> None:
        """Counts invalid rows, of which the first one is at this position among the rows ``numbers``."""
        error = ReportError(problem)
        error.row = self.first + int(self.numbers[position])
        if not self.job.skip_invalid:
            raise error
        self.skipped += count
        # The nulls of a batch come before its other rows.
        self.first_skipped = _first(self.first_skipped, _told(error, self.partition))

    def print_rows(self, prints: np.ndarray[Any, Any]) -> Iterator[Row]:
        prints.sort()
        buckets = self.job.buckets
        bounds = np.array([-(-(bucket << 64) // buckets) for bucket in range(1, buckets)], dtype=np.uint64)
        ends = [0, *np.searchsorted(prints, bounds).tolist(), len(prints)]
        for bucket in range(buckets):
            for part in _parts(prints[ends[bucket] : ends[bucket + 1]], self.job.row_bytes):
                yield bucket, PRINTS, 0, part


class Merge:
    """The second and the third stage: adds up what the one before it gave, and finds what is repeated."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.states: dict[int, np.ndarray[Any, Any]] = {}
        self.tags: list[bytes] = []
        self.tags_of = np.zeros(2, dtype="<u8")
        self.prints: list[np.ndarray[Any, Any]] = []
        self.repeated: list[np.ndarray[Any, Any]] = []
        self.untold = job.most_repeated + 1
        self.suspects: dict[bytes, bytes] = {}
        self.counts: Counter[str] = Counter()
        self.first_skipped: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        """Takes the rows of the stage before, and gives those of this one."""
        for batch in batches:
            kinds, parts = batch.column(1).to_pylist(), batch.column(2).to_pylist()
            for kind, part, data in zip(kinds, parts, batch.column(3)):
                self.take(kind, part, data.as_buffer())
        if self.error is not None:
            yield 0, NOTE, 0, json.dumps({"error": self.error}).encode()
            return
        self.sum_suspects()
        yield from self.compare_prints()
        counts = {name: count % (1 << 64) for name, count in self.counts.items()}
        yield 0, NOTE, 0, json.dumps({"counts": counts, "first": self.first_skipped}).encode()
        for part, words in self.states.items():
            yield 0, STATE, part, words
        if self.tags:
            yield 0, TAGS, 0, b"".join(self.tags) + self.tags_of.tobytes()

    def take(self, kind: int, part: int, data: pa.Buffer) -> None:
        """Takes a row."""
        if kind == STATE:
            words = np.frombuffer(data, "<i8")
            mine = self.states.setdefault(part, np.zeros(len(words), "<i8"))
            mine += words
        elif kind == TAGS:
            self.add_tags(data.to_pybytes())
        elif kind == PRINTS:
            # A copy: a view would keep all the rows of its batch.
            self.prints.append(np.frombuffer(data, "<u8").copy())
        elif kind == REPEATED:
            self.add_repeated(np.frombuffer(data, "<u8"))
        elif kind == SUSPECTS:
            self.suspect(data.to_pybytes())
        else:
            self.add_note(json.loads(data.to_pybytes()))

    def add_tags(self, data: bytes) -> None:
        """Keeps the first tags of all. Those of an id that is in several sums are equal."""
        end = len(data) - 16
        tags = {data[start : start + TAG_BYTES] for start in range(0, end, TAG_BYTES)}
        self.tags = sorted(tags.union(self.tags))[:MOST_TAGS]
        self.tags_of += np.frombuffer(data, "<u8", offset=end)

    def add_repeated(self, prints: np.ndarray[Any, Any]) -> None:
        """Holds as many as are reported, however many the previous tasks have found together."""
        held = prints[: self.untold].copy()
        if len(held):
            self.repeated.append(held)
            self.untold -= len(held)

    def suspect(self, report: bytes) -> None:
        """Of the copies of a report the one with the smallest bytes is kept."""
        id_ = report[ID]
        kept = self.suspects.get(id_)
        if kept is not None:
            ids = np.frombuffer(id_, "<u8").reshape(1, 2)
            self.counts.update(dropped=1, dropped_prints=int(fingerprints(ids, self.job.keys)[0]))
        if kept is None or report < kept:
            self.suspects[id_] = report

    def add_note(self, note: dict[str, Any]) -> None:
        """Adds counts, and keeps the first error and the first row that was left out."""
        self.error = _first(self.error, note.get("error"))
        self.first_skipped = _first(self.first_skipped, note.get("first"))
        self.counts.update(note.get("counts", {}))

    def sum_suspects(self) -> None:
        """Sums the reports that were kept."""
        if not self.suspects:
            return
        sums = Aggregate(Task.from_json(self.job.task))
        reports = list(self.suspects.values())
        self.suspects = {}
        sums.update(pa.array(reports, pa.large_binary()))
        ids = np.frombuffer(b"".join(report[ID] for report in reports), "<u8").reshape(-1, 2)
        total = int(fingerprints(ids, self.job.keys).sum(dtype=np.uint64))
        for _, kind, part, data in state_rows(sums, total, 0, self.job):
            self.take(kind, part, pa.py_buffer(data))

    def compare_prints(self) -> Iterator[Row]:
        """Finds the fingerprints that are there twice, and gives those of all tasks so far."""
        if self.prints:
            prints = np.concatenate(self.prints)
            self.prints = []
            prints.sort()
            again = prints[1:][prints[1:] == prints[:-1]]
            total, repeats = int(prints.sum(dtype=np.uint64)), int(again.sum(dtype=np.uint64))
            self.counts.update(checked=len(prints), checked_prints=total)
            self.counts.update(unique=len(prints) - len(again), unique_prints=total - repeats)
            # Each is in one bucket, so no other task reports it.
            self.add_repeated(np.unique(again))
        if self.repeated:
            repeated = np.concatenate(self.repeated)
            for part in _parts(repeated, self.job.row_bytes):
                yield 0, REPEATED, 0, part


def state_rows(sums: Aggregate, prints: int, group: int, job: Job) -> Iterator[Row]:
    """The state of ``sums`` in stretches, each with its number of reports and the sum of their fingerprints."""
    state = memoryview(sums.to_bytes())
    end = STATE_HEADER + sums._integer_bytes()
    integers, tags = state[STATE_HEADER:end], state[end:-STATE_CHECKSUM]
    of = np.array([sums.records, prints % (1 << 64)], dtype="<u8").tobytes()
    for part, start in enumerate(range(0, len(integers), job.row_bytes)):
        yield -1 - (part * job.groups + group), STATE, part, bytes(integers[start : start + job.row_bytes]) + of
    yield -1 - group, TAGS, 0, bytes(tags) + of


def _ids(column: pa.Array, width: int) -> np.ndarray[Any, Any]:
    """The ids of reports that are valid, and so of one length, as n x 2 words."""
    count = len(column)
    if count == 0:
        return np.empty((0, 2), dtype=np.uint64)
    _, offsets, values = column.buffers()
    word = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    start = int(np.frombuffer(offsets, word)[column.offset])
    reports = np.frombuffer(values, np.uint8, count * width, start).reshape(count, width)
    return np.ascontiguousarray(reports[:, ID]).view("<u8")


def _parts(words: np.ndarray[Any, Any], row_bytes: int) -> Iterator[np.ndarray[Any, Any]]:
    step = row_bytes // 8
    return (words[start : start + step] for start in range(0, len(words), step))


def _packed(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Rows in batches, none of which is much more than a row or ``_SENT_BYTES``."""
    held: list[Row] = []
    size = 0
    for row in rows:
        held.append(row)
        size += memoryview(row[3]).nbytes
        if size >= _SENT_BYTES:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    keys, kinds, parts, data = zip(*rows)
    numbers = [pa.array(column, pa.int32()) for column in (keys, kinds, parts)]
    binary = pa.array([memoryview(value).tobytes() for value in data], pa.binary())
    return pa.record_batch([*numbers, binary], names=list(SCHEMA_NAMES))


def _told(error: LdpPcaError, partition: int) -> dict[str, Any]:
    return {"type": type(error).__name__, "problem": str(error), "partition": partition, "row": error.row}


def _first(*told: dict[str, Any] | None) -> dict[str, Any] | None:
    """The first of those that there are."""
    return min(filter(None, told), key=place, default=None)


def place(told: dict[str, Any]) -> tuple[int, int]:
    """The order of errors: of those reported before the job was cancelled the first is raised, not always the same."""
    return -1 if told["partition"] is None else told["partition"], -1 if told["row"] is None else told["row"]
