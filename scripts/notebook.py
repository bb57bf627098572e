"""Runs docs/start/notebook.ipynb and writes its outputs, or compares them with those that are there.

usage: .tools/python/bin/python scripts/notebook.py [--check]   (with the wheel installed)

Reports are drawn from a seed, so a text differs by rounding at most. Pictures are not compared.
"""

from __future__ import annotations

import math
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs/start/notebook.ipynb"
# The kernel's own file, and so the line that a warning names.
PLACE = re.compile(r"^\S*ipykernel_\d+\S*:\d+: ", re.MULTILINE)
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
CLOSE = 1e-2
FONTS = "Matplotlib is building the font cache"


def executed(notebook: Any) -> Any:
    """Run it in a kernel of its own, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, kernel_name="python3", timeout=600, resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        # What matplotlib says on a slow machine, the first time.
        outputs = [output for output in cell.get("outputs", []) if FONTS not in output.get("text", "")]
        if cell.cell_type == "code":
            cell.outputs = outputs
        for output in outputs:
            if output.output_type == "stream":
                output.text = PLACE.sub("", output.text)
            if "image/png" in output.get("data", {}):
                # It has the class and the size in memory.
                output.data["text/plain"] = "a picture"
            output.get("metadata", {}).clear()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def texts(cell: Any) -> list[str]:
    """What a cell shows, and for a picture that there is one."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append(output.text)
        elif "image/png" in output.data:
            found.append("a picture")
        else:
            found += [output.data[kind] for kind in sorted(output.data)]
    return found


def is_like(left: str, right: str) -> bool:
    """Whether two texts have the same words, and numbers that are close."""
    if NUMBER.sub("#", left) != NUMBER.sub("#", right):
        return False
    pairs = zip(NUMBER.findall(left), NUMBER.findall(right))
    values = ((float(one.replace(",", "")), float(other.replace(",", ""))) for one, other in pairs)
    return all(math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE) for one, other in values)


def main() -> int:
    """Write, or compare."""
    written = nbformat.read(NOTEBOOK, as_version=4)
    now = executed(nbformat.read(NOTEBOOK, as_version=4))
    if "--check" not in sys.argv:
        nbformat.write(now, NOTEBOOK)
        return 0
    for number, (before, after) in enumerate(zip(written.cells, now.cells), 1):
        shown, shows = texts(before), texts(after)
        if len(shown) != len(shows) or not all(map(is_like, shown, shows)):
            print(f"cell {number} shows\n{shows}\nwhere the file has\n{shown}\nrun scripts/notebook.py")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
