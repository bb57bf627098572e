"""A privacy budget over several fits of the same people's records."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock
from typing import TYPE_CHECKING, Any

from .errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._native import Task

# Those of the `with` blocks that are open, in whatever thread.
_active: list[Budget] = []
# Held where amounts are compared and added, so that of two threads the second sees what the first spent.
_lock = RLock()


def _renew_lock() -> None:
    global _lock
    _lock = RLock()


# In the child of a fork nobody would release a lock that another thread held.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class Budget:
    """The sums of epsilon and delta that fits have spent, and what they may spend.

    Every fit randomizes each row once more. Whatever the mechanisms, several reports of one person have no more than
    the sum of their epsilons, with the sum of their deltas (basic composition), for any two records of that person.
    That is what is counted here, for a person whose row is in every fit. A fit with a ``random_state`` is counted too,
    and has no guarantee at all.

    Safe to use from several threads. It counts in its own process alone, and refuses to be pickled. A copy is the
    budget itself.

    Parameters
    ----------
    epsilon : float
        Above 0, and finite.
    delta : float
        At least 0, and below 1.

    Attributes
    ----------
    epsilon, delta : float
        The budget.

    Raises
    ------
    BudgetError
        For other numbers, with the name of the parameter.
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        self._whole = _exact(epsilon, delta)
        if delta >= 1:
            raise BudgetError(f"delta is {delta!r}: give a number below 1")
        self.epsilon: float = _rounded(self._whole[0], -math.inf)
        self.delta: float = _rounded(self._whole[1], -math.inf)
        self._process = os.getpid()
        # Exact: a sum that was rounded down would be too little.
        self._spent = (Fraction(0), Fraction(0))

    @property
    def spent(self) -> tuple[float, float]:
        """The epsilon and the delta that were spent, rounded up."""
        epsilon, delta = self._spent
        return _rounded(epsilon, math.inf), _rounded(delta, math.inf)

    @property
    def remaining(self) -> tuple[float, float]:
        """The epsilon and the delta that are left, rounded down."""
        epsilon, delta = self._spent
        whole_epsilon, whole_delta = self._whole
        return _rounded(whole_epsilon - epsilon, -math.inf), _rounded(whole_delta - delta, -math.inf)

    def check(self, epsilon: float, delta: float = 0.0) -> None:
        """Refuse what the budget does not have.

        Raises
        ------
        BudgetError
            With what is left. Also for amounts that are none, and in another process, whose fits it cannot count.
        """
        if os.getpid() != self._process:
            raise BudgetError(_ELSEWHERE)
        spent_epsilon, spent_delta = self._after(epsilon, delta)
        if spent_epsilon > self._whole[0] or spent_delta > self._whole[1]:
            left_epsilon, left_delta = self.remaining
            left = f"epsilon={_shown(left_epsilon)} and delta={_shown(left_delta)}"
            raise BudgetError(
                f"epsilon={_shown(epsilon)} and delta={_shown(delta)} exceed what is left of the budget, {left}: "
                "fit fewer times, with a smaller epsilon, or within a larger budget"
            )

    def spend(self, epsilon: float, delta: float = 0.0) -> None:
        """Book what a fit spends, or refuse it.

        Raises
        ------
        BudgetError
            As of `check`.
        """
        with _lock:
            self.check(epsilon, delta)
            self._spent = self._after(epsilon, delta)

    def _after(self, epsilon: float, delta: float) -> tuple[Fraction, Fraction]:
        more_epsilon, more_delta = _exact(epsilon, delta)
        return self._spent[0] + more_epsilon, self._spent[1] + more_delta

    def __copy__(self) -> Budget:
        """Itself: a copy that counted on its own would count too little."""
        return self

    def __deepcopy__(self, _memo: object) -> Budget:
        """Itself, also for what clones an estimator that has it."""
        return self

    def __reduce__(self) -> Any:
        """Refuse to be pickled."""
        raise BudgetError(_ELSEWHERE)

    def __repr__(self) -> str:
        """What it has, and what is spent."""
        epsilon, delta = self.spent
        have = f"epsilon={_shown(self.epsilon)}, delta={_shown(self.delta)}"
        return f"Budget({have}, spent=({_shown(epsilon)}, {_shown(delta)}))"


_ELSEWHERE = (
    "a budget counts in the process that opened it, not in another one, nor in a file: fit with n_jobs=None or in "
    "threads (joblib.parallel_config('threading')), or call its spend(fits * epsilon) here for what fits elsewhere "
    "take, and fit after its block"
)


def _exact(epsilon: float, delta: float) -> tuple[Fraction, Fraction]:
    """Both amounts as exact numbers, or a refusal of the one that is none."""
    amounts = []
    for name, value, least in (("epsilon", epsilon, "above 0"), ("delta", delta, "of at least 0")):
        try:
            number = math.nan if isinstance(value, str) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number) or number < 0 or (number == 0 and name == "epsilon"):
            raise BudgetError(f"{name} is {value!r}: give a finite number {least}")
        # The nearest float may be less than a fraction, a decimal or a long double.
        amounts.append(Fraction(*getattr(value, "as_integer_ratio", number.as_integer_ratio)()))
    return amounts[0], amounts[1]


def _rounded(exact: Fraction, towards: float) -> float:
    """The nearest float that is not below the exact number, or, towards minus infinity, not above it."""
    value = float(exact)
    passed = Fraction(value) < exact if towards > 0 else Fraction(value) > exact
    return math.nextafter(value, towards) if passed else value


def _shown(value: float) -> str:
    """Every digit that counts: a rounded epsilon could be less than the one that was spent."""
    value = float(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


@contextmanager
def budget(epsilon: float, delta: float = 0.0) -> Iterator[Budget]:
    """Count what the fits in a ``with`` block spend, and refuse what exceeds the budget before a row is randomized.

    Budgets in one another all count, and every thread of the process is counted, whoever started it. Other processes
    are not: an estimator that goes to one from the block, as with ``GridSearchCV(n_jobs=2)`` or in a file, refuses to
    be fitted there, unless a budget is open there: that one then counts its fits, and this one does not. Search with
    one job or in threads; or book what the search spends, ``b.spend(fits * epsilon)``, and search after the block.

    Parameters
    ----------
    epsilon, delta : float
        What all fits together may spend, of a person whose row is in every fit.

    Yields
    ------
    Budget
        What is spent so far.

    Examples
    --------
    >>> import ldp_pca
    >>> with ldp_pca.budget(epsilon=8) as spent:
    ...     spent.spend(4.0)
    >>> spent.remaining
    (4.0, 0.0)
    """
    mine = Budget(epsilon, delta)
    with _lock:
        _active.append(mine)
    try:
        yield mine
    finally:
        # Blocks of several threads need not end in turn.
        with _lock:
            _active.remove(mine)


def counting() -> int | None:
    """Give the id of this process, where a budget counts its fits."""
    return os.getpid() if _active else None


def book(task: Task, counted_in: int | None) -> None:
    """Book one report of each person in every budget that is active; in none where one refuses it.

    ``counted_in`` is the process whose budgets were to count the fit. If it is another one, a budget must be open here.
    """
    with _lock:
        if not _active and counted_in not in (None, os.getpid()):
            raise BudgetError(f"{_ELSEWHERE}, or open a budget in this process, which then counts them")
        for one in _active:
            one.check(task.epsilon, task.delta)
        for one in _active:
            one.spend(task.epsilon, task.delta)
