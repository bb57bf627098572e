"""What several reports of one person lose together: the table that Rust and JavaScript read, too.

The theorems are written out once more here, in NumPy; and the command line says the same of reports of one task.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_pca import Task

Command = Callable[..., dict[str, Any]]

TABLE = Path(__file__).parents[2] / "tests" / "vectors" / "accounting" / "composition.json"
CASES: list[dict[str, Any]] = json.loads(TABLE.read_text())["cases"]
#: Orders so dense that the least over them is the least, to seven digits.
ORDERS = 1 + np.exp(np.linspace(-9, 18, 200_001))
names = [case["name"] for case in CASES]


def kinds(case: dict[str, Any], *wanted: str) -> list[tuple[dict[str, Any], int]]:
    return [(part["loss"], part["reports"]) for part in case["parts"] if part["loss"]["type"] in wanted]


def own_delta(case: dict[str, Any]) -> float:
    return sum(loss["delta"] * reports for loss, reports in kinds(case, "approximate"))


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Bisect the exact curve (Balle & Wang 2018, Theorem 8)."""
    mu, low, high = math.sqrt(2 * rho), 0.0, 100.0
    for _ in range(200):
        epsilon = (low + high) / 2
        upper = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
        lower = math.exp(epsilon) * math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
        low, high = (epsilon, high) if upper - lower > delta else (low, epsilon)
    return high


def pairs(case: dict[str, Any], delta: float) -> list[tuple[float, int]]:
    """Give every report an epsilon, each Gaussian one at an equal share of delta."""
    gaussians = kinds(case, "gaussian")
    share = delta / max(1, sum(reports for _, reports in gaussians))
    found = [(loss["epsilon"], reports) for loss, reports in kinds(case, "pure", "cap", "approximate")]
    return found + [(gaussian_epsilon(loss["rho"], share), reports) for loss, reports in gaussians]


def basic(case: dict[str, Any]) -> float:
    """Dwork & Roth 2014, Theorem 3.16."""
    return sum(epsilon * reports for epsilon, reports in pairs(case, case["delta"] - own_delta(case)))


def advanced(case: dict[str, Any]) -> float:
    """Kairouz, Oh & Viswanath 2015, Theorem 3.5."""
    left = case["delta"] - own_delta(case)
    slack = left / 2 if kinds(case, "gaussian") else left
    each = pairs(case, slack)
    mean = sum(reports * epsilon * math.expm1(epsilon) / (math.exp(epsilon) + 1) for epsilon, reports in each)
    squares = sum(reports * epsilon**2 for epsilon, reports in each)
    logarithm = min(math.log(math.e + math.sqrt(squares) / slack), -math.log(slack))
    return mean + math.sqrt(2 * squares * logarithm)


def least(curve: Any, delta: float) -> float:
    """Convert a curve of divergences (Canonne, Kamath & Steinke 2020, Proposition 12)."""
    terms = np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
    return float(np.min(curve + terms))


def concentrated(case: dict[str, Any]) -> float:
    """Bun & Steinke 2016, Lemma 1.7."""
    rho = sum(loss["rho"] * reports for loss, reports in kinds(case, "gaussian"))
    rho += sum(loss["epsilon"] ** 2 / 2 * reports for loss, reports in kinds(case, "pure", "cap", "approximate"))
    return least(rho * ORDERS, case["delta"] - own_delta(case))


def divergence(loss: dict[str, Any]) -> Any:
    if loss["type"] == "gaussian":
        return loss["rho"] * ORDERS
    # One likelier of two candidates is the worst of all that is known to be pure. Divided by e^(order epsilon).
    candidates, size, epsilon = loss.get("candidates", 2), loss.get("cap", 1), loss["epsilon"]
    apart = min(size, candidates - size)
    both, neither = size - apart, candidates - size - apart
    total = math.log(size * math.exp(epsilon) + candidates - size)
    terms = [
        (apart, ORDERS * epsilon),
        (apart, (1 - ORDERS) * epsilon),
        (both, epsilon + 0 * ORDERS),
        (neither, 0 * ORDERS),
    ]
    logarithms = [np.log(count) + exponent for count, exponent in terms if count > 0]
    return (np.logaddexp.reduce(logarithms) - total) / (ORDERS - 1)


def renyi(case: dict[str, Any]) -> float:
    """Mironov 2017, Proposition 1."""
    curve = sum(divergence(part["loss"]) * part["reports"] for part in case["parts"])
    return least(curve, case["delta"] - own_delta(case))


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_table_has_the_sums_of_what_is_stated(case: dict[str, Any]) -> None:
    for name in ("epsilon", "delta"):
        exact = sum(Fraction(part["guarantee"][name]) * part["reports"] for part in case["parts"])
        found = case["sums"][name]
        # The least double that is no less.
        assert Fraction(found) >= exact
        assert found == 0 or Fraction(np.nextafter(found, 0)) < exact
    if kinds(case, "gaussian", "approximate"):
        assert case["pure"] is None
    else:
        pure = sum(Fraction(loss["epsilon"]) * reports for loss, reports in kinds(case, "pure", "cap"))
        assert case["pure"] == float(pure)


exactly_sampled = [case for case in CASES if all(loss["total_variation"] == 0 for loss, _ in kinds(case, "gaussian"))]


@pytest.mark.parametrize("case", exactly_sampled, ids=[case["name"] for case in exactly_sampled])
def test_the_table_has_what_the_theorems_say(case: dict[str, Any]) -> None:
    methods = case["methods"]
    assert methods["basic"] == pytest.approx(basic(case), rel=1e-9)
    assert methods["advanced"] == pytest.approx(advanced(case), rel=1e-9)
    if len(kinds(case, "gaussian")) == len(case["parts"]):
        rho = sum(loss["rho"] * reports for loss, reports in kinds(case, "gaussian"))
        assert methods["gaussian"] == pytest.approx(gaussian_epsilon(rho, case["delta"]), rel=1e-9)
    else:
        assert methods["gaussian"] is None
    assert methods["concentrated"] == pytest.approx(concentrated(case), rel=1e-7)
    assert methods["renyi"] == pytest.approx(renyi(case), rel=1e-7)


def test_the_command_line_says_the_same_of_reports_of_one_task(command: Command, tmp_path: Path) -> None:
    [case] = [case for case in CASES if case["name"] == "three caps"]
    [part] = case["parts"]
    loss = part["loss"]
    document = {
        "version": 1,
        "schema": {"columns": [{"name": "a", "type": "numeric", "offset": 0, "scale": 1}]},
        "bounding": {"type": "unit-norm"},
        "mechanism": {"type": "double-cap", **{name: loss[name] for name in ("epsilon", "candidates", "cap")}},
        "folds": 1,
    }
    file = tmp_path / "task.json"
    file.write_text(json.dumps(document))
    # The wheel states of one report what is added up here.
    task = Task.from_file(file)
    assert (task.epsilon, task.delta) == (part["guarantee"]["epsilon"], part["guarantee"]["delta"])
    answer = command("account", "--task", file, "--reports", part["reports"], "--delta", case["delta"])
    assert case["pure"] <= answer["pure_epsilon"] <= case["pure"] * (1 + 1e-8)
    found = {method["method"]: method["epsilon"] for method in answer["methods"]}
    assert found.keys() == case["methods"].keys()
    for name, truth in case["methods"].items():
        assert truth is found[name] or truth <= found[name] <= truth * (1 + 1e-8), name
