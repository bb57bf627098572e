"""Throughput of ldp_pca.spark beside the embedded paths, on the same reports, in one run.

    LDP_PCA_BIN=target/release/ldp-pca python python/benches/spark.py [--reports 8000000] [--dense 20000]

Reports are of records of ones, in eight Parquet files with row groups of 131,072. Spark is
``local-cluster[2,1,2048]``: two executor processes of one core. The first run warms it up and is reported of apart; of
the others the best and the median are, and the least processor time of all of Spark's processes, which is what a busy
machine leaves as it is. What is embedded is ``ldp-pca aggregate`` on the plain sequence of the
same reports (with its check of ids) and ``Aggregate.update`` on the same Parquet files in one process (without), both
with two threads.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import ldp_pca
import ldp_pca.spark

FILES = 8
BINARY = os.environ.get("LDP_PCA_BIN", "ldp-pca")


def main() -> None:
    """Measure what the options say."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--reports", type=int, default=8_000_000, help="double-cap reports, d = 40")
    arguments.add_argument("--dense", type=int, default=20_000, help="Gaussian reports of 80 kB, d = 400")
    arguments.add_argument("--runs", type=int, default=5)
    options = arguments.parse_args()
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        for mechanism, dimension, count in (("double-cap", 40, options.reports), ("gaussian", 400, options.dense)):
            if count:
                show(measure(spark, Path(folder) / mechanism, mechanism, dimension, count, options.runs))
    spark.stop()


def session() -> Any:
    """Start Spark."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,2048]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def measure(spark: Any, folder: Path, mechanism: str, dimension: int, count: int, runs: int) -> dict[str, Any]:
    """Measure one mechanism."""
    folder.mkdir()
    task = ldp_pca.Task(dimension, epsilon=4, mechanism=mechanism)
    task.save(folder / "task.json")
    make_reports(folder, task, count)
    whole = folder / "whole.ldpa"
    command = [BINARY, "aggregate", "--task", str(folder / "task.json"), "--output", str(whole), "--threads", "2"]
    cli = timed(lambda: subprocess.run([*command, str(folder / "reports.ldpr")], check=True, capture_output=True), runs)
    embedded = timed(lambda: embed(folder, task), runs)
    frame = spark.read.parquet(str(folder / "parquet"))
    started = time.perf_counter()
    total = ldp_pca.spark.aggregate(frame, task)
    cold = time.perf_counter() - started
    assert total.to_bytes() == whole.read_bytes(), "the sums of the command line and of Spark differ"
    on_spark, processor = [], []
    for _ in range(runs):
        before = processor_seconds()
        on_spark += timed(lambda: ldp_pca.spark.aggregate(frame, task), 1)
        processor.append(processor_seconds() - before)
    return {
        "mechanism": mechanism,
        "dimension": dimension,
        "reports": count,
        "report_bytes": task.report_bytes,
        "cli": rates(count, cli),
        "embedded": rates(count, embedded),
        "spark_first_run": count / cold,
        "spark": rates(count, on_spark),
        "spark_processor_seconds": min(processor),
        "spark_to_cli": min(cli) / min(on_spark),
        "spark_to_embedded": min(embedded) / min(on_spark),
    }


def make_reports(folder: Path, task: ldp_pca.Task, count: int) -> None:
    """Writes reports as a plain sequence and as Parquet files."""
    (folder / "parquet").mkdir()
    randomizer = ldp_pca.Randomizer(task)
    schema = pa.schema([pa.field("report", pa.binary(task.report_bytes), nullable=False)])
    with open(folder / "reports.ldpr", "wb") as plain:
        for file in range(FILES):
            rows = count * (file + 1) // FILES - count * file // FILES
            reports = randomizer.randomize(np.broadcast_to(np.ones(task.dimension), (rows, task.dimension)))
            plain.write(reports.to_bytes())
            parquet.write_table(
                pa.table([pa.array(reports)], schema=schema),
                folder / "parquet" / f"{file:08}.parquet",
                compression="none",
                use_dictionary=False,
                write_statistics=False,
                data_page_size=8 << 20,
                row_group_size=131_072,
                write_page_checksum=True,
            )


def embed(folder: Path, task: ldp_pca.Task) -> ldp_pca.Aggregate:
    """Sum all Parquet files in this process."""
    total = ldp_pca.Aggregate(task)
    rows = max(1, (32 << 20) // task.report_bytes)
    for path in sorted((folder / "parquet").iterdir()):
        for batch in parquet.ParquetFile(path).iter_batches(rows):
            total.update(batch.column(0), threads=2)
    return total


def timed(run: Callable[[], Any], runs: int) -> list[float]:
    """Run it so many times, and give the seconds of each."""
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return seconds


def processor_seconds() -> float:
    """Processor time so far of all processes below this one: Spark's driver, its executors and their workers."""
    seconds, below = {}, {os.getpid()}
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        seconds[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    while True:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        if not more:
            return sum(seconds.get(pid, 0) for pid in below - {os.getpid()})
        below |= more


def rates(count: int, seconds: list[float]) -> dict[str, float]:
    """Give reports per second."""
    return {"best": count / min(seconds), "median": count / statistics.median(seconds)}


def show(result: dict[str, Any]) -> None:
    """Print one result."""
    print(
        f"{result['mechanism']}, d = {result['dimension']}: {result['reports']:,} reports of "
        f"{result['report_bytes']:,} bytes; reports/s, best (median)"
    )
    for name, label in (("cli", "ldp-pca aggregate"), ("embedded", "one process on Parquet"), ("spark", "Spark")):
        print(f"  {label:<24} {result[name]['best']:>12,.0f} ({result[name]['median']:,.0f})")
    seconds = result["spark_processor_seconds"]
    print(
        f"  {'Spark, by two processors':<24} {2 * result['reports'] / seconds:>12,.0f} ({seconds:.1f} s of processor)"
    )
    print(f"  {'Spark, first run':<24} {result['spark_first_run']:>12,.0f}")
    print(f"  Spark is {result['spark_to_cli']:.2f} of the first and {result['spark_to_embedded']:.2f} of the second")


if __name__ == "__main__":
    main()
