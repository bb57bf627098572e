"""The progress of long work, shown by tqdm or by what has its interface."""

from __future__ import annotations

from typing import Callable, Protocol, Union


class Bar(Protocol):
    """What shows the progress, such as a bar of tqdm."""

    def update(self, n: int, /) -> object:
        """Take note that so much more is done."""

    def close(self) -> object:
        """End."""


class _Silent:
    """A bar that shows nothing."""

    def update(self, n: int, /) -> None: ...

    def close(self) -> None: ...


#: Whether to show the progress, with tqdm, or what makes a bar: it is called with ``total``, ``unit`` and ``desc``.
Progress = Union[bool, Callable[..., Bar]]


def bar(progress: Progress, part: str, unit: str, total: int | None = None) -> Bar:
    """Make the bar of one part of the work."""
    if progress is False:
        return _Silent()
    if progress is not True:
        return progress(total=total, unit=unit, desc=part)
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True takes tqdm: pip install tqdm, or give what makes a bar of your own") from error
    made: Bar = tqdm(total=total, unit=unit, desc=part)
    return made


class Parts:
    """The bars of work in several parts, one after the other. Called with each state of it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bar: Bar = _Silent()
        self._shown: tuple[str, int | None] | None = None
        self._done = 0

    def __call__(self, part: str, done: int, total: int | None) -> None:
        """Show that so much of a part is done."""
        # How much there is may be known only after its start; and a part may begin anew.
        if (part, total) != self._shown or done < self._done:
            self.close()
            self._bar = bar(self._progress, part, "step", total)
            self._shown, self._done = (part, total), 0
        self._bar.update(done - self._done)
        self._done = done

    def close(self) -> None:
        """End the last bar."""
        self._bar.close()
        self._bar = _Silent()
