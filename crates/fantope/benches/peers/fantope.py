#!/usr/bin/env python3
"""Times the sparse solver beside other implementations of it, on the same instances, in one run, on one processor.

The peers are R packages that must be there already (set R_LIBS for a library of your own); what is absent is skipped:
  fps      Vu, Cho, Lei & Rohe (2013), ADMM with a full eigendecomposition per step
  gradfps  Qiu, Lei & Roeder (2022), proximal-proximal gradient; its step is tuned for every instance (fantope.R)

All are timed to the same certified gap (--target). Every gap has the same certificate: a bound that this crate proves
to a narrower gap (--tolerance), in a run of its own. The answer of a peer is the feasible matrix nearest to its X. All
times are of calls within one process that has the matrix, the fastest of several. See `--help`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
PEERS = ["gradfps", "fps"]
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}


def main():
    options = arguments()
    release = build()
    pin_to_one_processor()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for dimension in options.dimensions:
            instance = make_instance(release, Path(folder), dimension, options)
            proof, ours = [run_ours(release, instance, gap, options) for gap in (options.tolerance, options.target)]
            for answer in (proof, ours):
                answer["gap"] = certified_gap(instance, proof, answer["objective"])
            peers = [run_peer(peer, instance, proof, options) for peer in options.peers]
            peers = [peer for peer in peers if peer]
            results.append({"instance": instance, "proof": proof, "ours": ours, "peers": peers})
            Path(instance["matrix"]).unlink()
            if not options.json:
                show(results[-1], options)
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=numbers, default=[100, 400, 1000], help="default: 100,400,1000")
    parser.add_argument("--hardness", type=float, default=3.0, help="noise is gap / (hardness √d); default: 3, easy")
    parser.add_argument("--factor", type=float, default=0.5, help="penalty in units of noise √(ln d); default: 0.5")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-6, help="gap of the bound for all; default: 1e-6")
    parser.add_argument("--max-iterations", type=int, help="of ours; its default otherwise")
    parser.add_argument("--target", type=float, default=1e-3, help="certified gap to reach; default: 1e-3")
    parser.add_argument("--budget", type=float, default=300, help="CPU seconds to tune a peer; default: 300")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts; default: 3")
    parser.add_argument("--peers", type=names, default=PEERS, help="default: gradfps,fps")
    parser.add_argument("--json", action="store_true", help="one JSON document in place of tables")
    options = parser.parse_args()
    unknown = [peer for peer in options.peers if peer not in PEERS]
    if unknown:
        parser.error(f"unknown peer '{unknown[0]}': use {', '.join(PEERS)}")
    if options.tolerance > options.target / 10:
        parser.error("the bound must be closer than the gaps it certifies: --tolerance is at most a tenth of --target")
    return options


def numbers(text):
    return [int(number) for number in text.split(",")]


def names(text):
    return [name for name in text.split(",") if name]


def build():
    """Builds what runs the solver and returns the folder of its programs."""
    programs = ["--bin", "fantope_instance", "--bin", "fantope_time"]
    command = ["cargo", "build", "--release", "-p", "ldp-pca-studies", *programs]
    subprocess.run(command, cwd=ROOT, check=True)
    metadata = subprocess.run(["cargo", "metadata", "--format-version=1", "--no-deps"],
                              cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return Path(json.loads(metadata.stdout)["target_directory"]) / "release"


def pin_to_one_processor():
    """Nothing started from here can use a second processor."""
    os.environ.update(ONE_THREAD)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def make_instance(release, folder, dimension, options):
    return run_json([
        release / "fantope_instance", folder / f"{dimension}.npy",
        "--dimension", dimension, "--hardness", options.hardness, "--factor", options.factor, "--seed", options.seed,
    ])


def run_ours(release, instance, tolerance, options):
    command = [release / "fantope_time", instance["matrix"], "--rank", instance["rank"],
               "--penalty", repr(instance["penalty"]), "--tolerance", tolerance, "--repeats", options.repeats]
    if options.max_iterations:
        command += ["--max-iterations", options.max_iterations]
    return run_json(command)


def certified_gap(instance, proof, objective):
    """As `FantopeSolution::relative_gap`, and `relative_gap` in fantope.R."""
    size = max(abs(objective - proof["centre"]), instance["rank"] * instance["penalty"])
    return (proof["dual_bound"] - objective) / size


def run_peer(peer, instance, proof, options):
    """The peer's result, or None when it is not there or fails: one peer does not stop the others."""
    if shutil.which("Rscript") is None:
        print(f"skipped {peer}: Rscript is not installed", file=sys.stderr)
        return None
    try:
        result = run_json(["Rscript", Path(__file__).with_name("fantope.R"), peer, instance["matrix"], instance["rank"],
                           repr(instance["penalty"]), repr(proof["dual_bound"]), repr(instance["gap"]), options.target,
                           options.budget, options.repeats])
    except subprocess.CalledProcessError as error:
        print(f"skipped {peer} at d = {instance['dimension']}: it ended with {error.returncode}", file=sys.stderr)
        return None
    return result if result["installed"] else None


def run_json(command):
    output = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)


def show(result, options):
    instance, ours, proof = result["instance"], result["ours"], result["proof"]
    print(f"\nd = {instance['dimension']}, hardness {options.hardness:g}, penalty {options.factor:g} noise √(ln d), "
          f"to a certified gap of {options.target:g}")
    print("solver          seconds   times ours  iterations    gap of X   certified gap   remarks")
    line("ours", ours, ours, None, ours["gap"], ours["status"])
    line("  bound", proof, ours, None, proof["gap"], f"{proof['status']}, the certificate of every gap")
    for peer in result["peers"]:
        remarks = peer["settings"] if peer["reached"] else f"{peer['settings']}, {options.target:g} not reached"
        remarks += (f"; trace {peer['trace_error']:+.1e}, eigenvalues {peer['lowest_eigenvalue']:.1e} to "
                    f"1{peer['highest_eigenvalue'] - 1:+.1e}")
        line(peer["peer"], peer, ours, peer["gap_of_x"], peer["gap"], remarks)
        if "default_seconds" in peer:
            default = {"seconds": peer["default_seconds"], "iterations": peer["default_iterations"]}
            line("  default", default, ours, peer["default_gap_of_x"], peer["default_gap"])


def line(name, run, ours, gap_of_x, gap, remarks=""):
    ratio = run["seconds"] / ours["seconds"] if ours["seconds"] > 0 else float("inf")
    of_x = "" if gap_of_x is None else f"{gap_of_x:.1e}"
    row = f"{name:<10} {run['seconds']:12.3f} {ratio:12.1f} {run['iterations']:11} {of_x:>11} {gap:15.1e}   {remarks}"
    print(row.rstrip())


if __name__ == "__main__":
    main()
