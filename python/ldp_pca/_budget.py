"""A privacy budget over several fits of the same people's records."""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import TYPE_CHECKING

from .errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._native import Task

__all__ = ["Budget", "budget"]

_active: ContextVar[tuple[Budget, ...]] = ContextVar("ldp_pca_budgets", default=())


class Budget:
    """The sums of epsilon and delta that fits have spent, and what they may spend.

    Every fit randomizes each row once more. Whatever the mechanisms, several reports of one person have no more than
    the sum of their epsilons, with the sum of their deltas (basic composition), for any two records of that person.
    That is what is counted here, for a person whose row is in every fit. A fit with a ``random_state`` is counted too,
    and has no guarantee at all.

    Attributes
    ----------
    epsilon, delta : float
        The budget.
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        if not epsilon > 0 or not 0 <= delta < 1:
            raise BudgetError(f"a budget of epsilon={epsilon} and delta={delta}: give epsilon > 0 and 0 <= delta < 1")
        self.epsilon: float = float(epsilon)
        self.delta: float = float(delta)
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
        left = Fraction(self.epsilon) - epsilon, Fraction(self.delta) - delta
        return _rounded(left[0], -math.inf), _rounded(left[1], -math.inf)

    def check(self, epsilon: float, delta: float = 0.0) -> None:
        """Refuse what the budget does not have.

        Raises
        ------
        BudgetError
            With what is left.
        """
        spent_epsilon, spent_delta = self._after(epsilon, delta)
        if spent_epsilon > Fraction(self.epsilon) or spent_delta > Fraction(self.delta):
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
            With what is left.
        """
        self.check(epsilon, delta)
        self._spent = self._after(epsilon, delta)

    def _after(self, epsilon: float, delta: float) -> tuple[Fraction, Fraction]:
        return self._spent[0] + Fraction(epsilon), self._spent[1] + Fraction(delta)

    def __repr__(self) -> str:
        """What it has, and what is spent."""
        epsilon, delta = self.spent
        have = f"epsilon={_shown(self.epsilon)}, delta={_shown(self.delta)}"
        return f"Budget({have}, spent=({_shown(epsilon)}, {_shown(delta)}))"


def _rounded(exact: Fraction, towards: float) -> float:
    """The nearest float that is not below the exact number, or, towards minus infinity, not above it."""
    value = float(exact)
    passed = Fraction(value) < exact if towards > 0 else Fraction(value) > exact
    return math.nextafter(value, towards) if passed else value


def _shown(value: float) -> str:
    """Every digit that counts: a rounded epsilon could be less than the one that was spent."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


@contextmanager
def budget(epsilon: float, delta: float = 0.0) -> Iterator[Budget]:
    """Count what the fits in a ``with`` block spend, and refuse what exceeds the budget before a row is randomized.

    Budgets in one another all count. A budget does not reach into other processes or threads: with
    ``GridSearchCV(n_jobs=…)`` book what the search spends beforehand, ``b.spend(fits * epsilon)``.

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
    token = _active.set((*_active.get(), mine))
    try:
        yield mine
    finally:
        _active.reset(token)


def book(task: Task) -> None:
    """Book one report of each person in every budget that is active; in none where one refuses it."""
    budgets = _active.get()
    for one in budgets:
        one.check(task.epsilon, task.delta)
    for one in budgets:
        one.spend(task.epsilon, task.delta)
