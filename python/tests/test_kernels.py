"""Kernels leave the interpreter to others, hear Ctrl-C, and show their progress."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from ldp_pca import Aggregate, Collection, LocalPCA, Randomizer, Task, aggregate, recover

ENDLESS = """
import os, signal, sys, threading, time, zlib
import numpy as np
import pyarrow as pa
from ldp_pca import Aggregate, Collection, Randomizer, Task, covariance, plan, recover

task = Task(300, epsilon=4.0, mechanism="gaussian")
records = np.random.default_rng(1).normal(size=(400, 300))
reports = pa.array(Randomizer(task).randomize(records))
aggregate, collection = Aggregate(task), Collection(task, threads=1)
for sums in (aggregate, collection):
    sums.update(reports)
# The same memory, again and again.
many = pa.chunked_array([reports] * 20_000)
# A sum takes no report twice, so these have ids of their own. Each takes long.
tall = Task(3000, epsilon=4.0, folds=1)
tall_sum = Aggregate(tall)
one = Randomizer(tall).randomize(records[:1].repeat(10, axis=1))[0]
def with_id(number):
    report = one[:13] + number.to_bytes(16, "big") + one[29:-4]
    return report + zlib.crc32(report).to_bytes(4, "little")
different = [with_id(number) for number in range(100_000)] if "different" in sys.argv[1] else []
wide = np.broadcast_to(records[0], (10_000_000, 300))
full = Aggregate(Task(1500, epsilon=8.0, folds=1))
full.update(Randomizer(full.task).randomize(np.random.default_rng(1).normal(size=(50, 1500))))
mapping = {f"c{column}": 1.0 for column in range(1, 301)}
# Called, for Python takes an interrupt within eval() for one that nobody caught.
kernel = eval("lambda: " + sys.argv[1])
sent = []
def send():
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.5, send).start()
try:
    while True:
        kernel()
except KeyboardInterrupt:
    # Of this process alone, and of all its threads: other work on the machine makes nothing late.
    late = time.process_time() - sent[0]
    assert late < 10, f"heard after {late} s"
    print("interrupted", aggregate.records, tall_sum.records, collection.records, collection.duplicates)
"""


KERNELS = {
    "bootstrap": "recover(aggregate, 2, bootstrap=10**9)",
    "randomize": "Randomizer(Task(300, epsilon=4.0)).randomize(wide, threads=2)",
    "update": "tall_sum.update(different)",
    "collect": "collection.update(many)",
    "plain components": 'recover(full, 750, method="pca")',
    "denoising": 'covariance(full, denoise="psd")',
    "planning": "plan(full, rank=700, target=0.1)",
    "mappings": "Randomizer(task).randomize([mapping] * 10_000_000)",
    "encoding": "task.encode(wide)",
}


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no signals to a process of its own")
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_ctrl_c_from_another_thread_ends_a_long_kernel_and_nothing_was_added(kernel: str) -> None:
    # The signal is sent by a thread of Python's, which runs only where the kernel leaves it the interpreter; and what
    # was interrupted has added nothing.
    done = subprocess.run([sys.executable, "-c", ENDLESS, kernel], capture_output=True, text=True, check=True)
    assert done.stdout == "interrupted 400 0 400 0\n", done.stderr


WATCHED = """
import signal
import pyarrow as pa, numpy as np
from ldp_pca import AggregateError, Collection, Randomizer, Task

task = Task(300, epsilon=4.0, mechanism="gaussian")
reports = pa.array(Randomizer(task).randomize(np.random.default_rng(1).normal(size=(400, 300))))
collection, seen = Collection(task, threads=1), []

def look(*_):
    try:
        collection.update(reports)
    except AggregateError as error:
        seen.append((collection.records, str(error)))
    raise KeyboardInterrupt

many = pa.chunked_array([reports] * 20_000)
# After half a second of work of this process.
signal.signal(signal.SIGVTALRM, look)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)
try:
    collection.update(many)
except KeyboardInterrupt:
    assert collection.update(reports) == 400
    print(*seen[0], collection.records)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no timer that sends signals")
def test_a_handler_may_look_at_the_collection_that_is_updated_and_is_refused_an_update() -> None:
    # Were both to wait for one lock, this would have no end.
    run = [sys.executable, "-c", WATCHED]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith("0 this collection is being updated, ")
    assert done.stdout.endswith(" 400\n")


def test_threads_share_an_aggregate() -> None:
    task = Task(10, epsilon=2.0)
    reports = Randomizer(task).randomize(np.ones((4000, 10)), insecure_seed=1)
    shared, alone = Aggregate(task), Aggregate(task)
    collection = Collection(task, threads=1)

    def work(quarter: int) -> None:
        for part in range(5):
            start = 1000 * quarter + 200 * part
            shared.update(list(reports)[start : start + 200])
            collection.update(reports)

    workers = [threading.Thread(target=work, args=(quarter,)) for quarter in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    alone.update(reports)
    assert shared == alone
    assert (collection.records, collection.duplicates) == (4000, 19 * 4000)


class Bar:
    """A bar as tqdm makes it, which keeps what it is told."""

    made: ClassVar[list[Bar]] = []

    def __init__(self, **options: object) -> None:
        self.options, self.done, self.closed = options, 0, False
        self.made.append(self)

    def update(self, more: int) -> None:
        self.done += more

    def close(self) -> None:
        self.closed = True


def test_long_work_shows_its_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Bar.made.clear()
    task = Task(8, epsilon=4.0, folds=3)
    rows = np.random.default_rng(1).normal(size=(5000, 8)) * [3, 2, 1, 1, 1, 1, 1, 1]
    reports = Randomizer(task).randomize(rows, progress=Bar)
    (tmp_path / "reports").write_bytes(reports.to_bytes())
    sums = aggregate([tmp_path / "reports"], task, progress=Bar)
    assert [(bar.options, bar.done) for bar in Bar.made] == [
        ({"total": 5000, "unit": "record", "desc": "randomizing"}, 5000),
        ({"total": None, "unit": "report", "desc": "aggregating"}, 5000),
    ]
    recover(sums, 2, sparse=True, penalty="cross-validated", bootstrap=200, progress=Bar)
    done = {(bar.options["desc"], bar.options["total"]): bar.done for bar in Bar.made}
    assert done["bootstrap", 200] == 200
    assert all(bar.closed for bar in Bar.made)
    # The same numbers as without.
    assert aggregate([tmp_path / "reports"], task) == sums
    LocalPCA(2, epsilon=4.0, verbose=True).fit(rows)
    assert "randomizing: 100%" in capsys.readouterr().err


def test_a_bar_that_raises_ends_the_work() -> None:
    class Raising(Bar):
        def update(self, more: int) -> None:
            raise RuntimeError("no more")

    Bar.made.clear()
    task = Task(3, epsilon=4.0)
    with pytest.raises(RuntimeError, match="no more"):
        Randomizer(task).randomize(np.ones((100, 3)), progress=Raising)
    reports = Randomizer(task).randomize(np.ones((100, 3)))
    with pytest.raises(RuntimeError, match="no more"):
        aggregate([reports], task, progress=Raising)
    sums = aggregate(reports, task)
    with pytest.raises(RuntimeError, match="no more"):
        recover(sums, 1, method="pca", bootstrap=10**6, progress=Raising)
    assert [bar.closed for bar in Bar.made] == [True, True, True]
