"""How long ``import ldp_pca`` takes in a fresh interpreter, and an empty program beside it: the least of 20 each."""

from __future__ import annotations

import subprocess
import sys
import time


def seconds(program: str) -> float:
    """Least time of 20 runs, start of the interpreter included."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", program], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


empty, imported = seconds(""), seconds("import ldp_pca")
print(f"import ldp_pca: {1000 * (imported - empty):.1f} ms (an empty program: {1000 * empty:.1f} ms)")
