"""Kernels leave the interpreter to others, and those that look at signals end at Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from ldp_pca import Aggregate, Collection, Randomizer, Task

ENDLESS = """
import os, signal, sys, threading, zlib
import numpy as np
import pyarrow as pa
from ldp_pca import Aggregate, Collection, Randomizer, Task, recover

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
different = [with_id(number) for number in range(100_000)] if sys.argv[1] == "update" else []
wide = np.broadcast_to(records[0], (10_000_000, 300))
kernels = {
    "bootstrap": lambda: recover(aggregate, 2, bootstrap=10**9),
    "randomize": lambda: Randomizer(Task(300, epsilon=4.0)).randomize(wide, threads=2),
    "update": lambda: tall_sum.update(different),
    "collect": lambda: collection.update(many),
}
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    kernels[sys.argv[1]]()
except KeyboardInterrupt:
    print("interrupted", aggregate.records, tall_sum.records, collection.records, collection.duplicates)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no signals to a process of its own")
@pytest.mark.parametrize("kernel", ["bootstrap", "randomize", "update", "collect"])
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

signal.signal(signal.SIGALRM, look)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    collection.update(pa.chunked_array([reports] * 20_000))
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
