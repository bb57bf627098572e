"""What `Aggregate.update` costs over the Rust kernel: the same reports, decoded and summed by both, in turns.

The kernel is ``research/studies/src/bin/kernel.rs``, a process of its own that holds the file in memory and times
itself:

    cargo build --release -p ldp-pca-studies --bin kernel
    python python/benches/overhead.py target/release/kernel

The two alternate, run by run in fresh aggregates. The comparison uses the least time of each: a run takes a few
milliseconds, so some are undisturbed on a busy machine too. Reports come to Python as an Arrow FixedSizeBinary array.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from ldp_pca import Aggregate, Randomizer, Task

ROUNDS = 6
# In each round: the first runs of a process find its memory cold.
RUNS = 60
# glibc gives memory back to the system between batches and faults it in again, sooner in a small process than in a
# large one, which would hide what is compared here: both keep what they have. (Other allocators ignore it.)
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(1 << 31), "MALLOC_TOP_PAD_": str(1 << 26)}
if not ALLOCATOR.items() <= os.environ.items():
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ALLOCATOR})


def measured(kernel: str, task: Task, count: int) -> tuple[float, float]:
    """Least seconds of the kernel and of `Aggregate.update`, for so many reports."""
    rng = np.random.default_rng(0)
    records = rng.normal(size=(count, task.dimension))
    reports = pa.array(Randomizer(task).randomize(records, insecure_seed=1))
    kernels, updates = [], []
    with tempfile.TemporaryDirectory() as folder:
        task.save(Path(folder, "task.json"))
        buffer = reports.buffers()[1]
        Path(folder, "reports").write_bytes(buffer)
        command = [kernel, f"{folder}/task.json", f"{folder}/reports", "1", str(RUNS)]
        for _ in range(ROUNDS):
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            kernels += [float(line) for line in answer.stdout.split()]
            for _ in range(RUNS):
                start = time.perf_counter()
                aggregate = Aggregate(task)
                aggregate.update(reports)
                updates.append(time.perf_counter() - start)
    return min(kernels), min(updates)


for task, count in (
    (Task(40, epsilon=2), 50_000),
    (Task(400, epsilon=2), 5_000),
    (Task(40, epsilon=2, mechanism="gaussian"), 20_000),
    (Task(400, epsilon=2, mechanism="gaussian"), 300),
):
    kernel, update = measured(sys.argv[1], task, count)
    print(
        f"{task.mechanism}, d = {task.dimension}, {count} reports: kernel {1e6 * kernel / count:.3f} us per report, "
        f"update {1e6 * update / count:.3f} us, overhead {100 * (update / kernel - 1):+.1f} %"
    )
