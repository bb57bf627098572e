"""Kernels leave the interpreter to others, and end at Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from ldp_pca import Aggregate, Collection, Randomizer, Task, covariance, recover

WIDE = Task(400, epsilon=4.0)


@pytest.fixture(scope="module")
def wide() -> Aggregate:
    aggregate = Aggregate(WIDE)
    aggregate.update(Randomizer(WIDE).randomize(np.random.default_rng(1).normal(size=(2000, 400)), insecure_seed=1))
    return aggregate


def kernels() -> dict[str, Callable[[Aggregate], object]]:
    records = np.random.default_rng(2).normal(size=(6000, 400))
    reports = Randomizer(WIDE).randomize(records, insecure_seed=2)
    return {
        "randomize": lambda _: Randomizer(WIDE).randomize(records, threads=1),
        "update": lambda _: Aggregate(WIDE).update(reports),
        "collect": lambda _: Collection(WIDE, threads=1).update(reports),
        "recover": lambda sums: recover(sums, 3, bootstrap=20),
        "sparse": lambda sums: recover(sums, 3, sparse=True),
        "covariance": lambda sums: [covariance(sums, denoise="psd") for _ in range(5)],
    }


def test_other_threads_run_during_every_kernel(wide: Aggregate) -> None:
    for name, kernel in kernels().items():
        ended = threading.Event()
        ticks = 0

        def tick(ended: threading.Event = ended) -> None:
            nonlocal ticks
            while not ended.is_set():
                ticks += 1
                time.sleep(0.001)

        ticker = threading.Thread(target=tick)
        ticker.start()
        before = ticks
        kernel(wide)
        during = ticks - before
        ended.set()
        ticker.join()
        # With the lock held, another thread has its turn before and after, and none between.
        assert during > 2, name


def test_threads_share_an_aggregate() -> None:
    task = Task(10, epsilon=2.0)
    reports = Randomizer(task).randomize(np.ones((4000, 10)), insecure_seed=1)
    shared, alone = Aggregate(task), Aggregate(task)
    collection = Collection(task, threads=1)

    def work() -> None:
        for _ in range(5):
            shared.update(reports)
            collection.update(reports)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for _ in range(20):
        alone.update(reports)
    assert shared == alone
    assert (collection.records, collection.duplicates) == (4000, 19 * 4000)


ENDLESS = """
import os, signal, sys, threading
import numpy as np
from ldp_pca import Aggregate, Randomizer, Task, recover

task = Task(30, epsilon=4.0)
records = np.random.default_rng(1).normal(size=(4000, 30))
aggregate = Aggregate(task)
aggregate.update(Randomizer(task).randomize(records))
wide = np.broadcast_to(records[0], (10**8, 30))
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    if sys.argv[1] == "bootstrap":
        recover(aggregate, 2, bootstrap=10**9)
    else:
        Randomizer(task).randomize(wide, threads=2)
except KeyboardInterrupt:
    print("interrupted", aggregate.records)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="Windows sends no signals to itself")
@pytest.mark.parametrize("kernel", ["bootstrap", "randomize"])
def test_ctrl_c_ends_a_kernel_that_would_take_hours(kernel: str) -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS, kernel], capture_output=True, text=True, check=True)
    assert done.stdout == "interrupted 4000\n", done.stderr
