# SPDX-License-Identifier: Apache-2.0
"""``tvm.instrument``: objects that are told of each pass that runs."""

from __future__ import annotations

import time
from typing import Any

from ..missing import other_names

__all__ = [
    "PassInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "pass_instrument",
]


class PassInstrument:
    """What is told of passes while its context is open; by itself, it does nothing."""

    def enter_pass_ctx(self) -> None:
        """Be told that the context is entered."""

    def exit_pass_ctx(self) -> None:
        """Be told that the context is left."""

    def should_run(self, mod: Any, info: Any) -> bool:
        """Return whether a pass is to run."""
        return True

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Be told of the module that a pass is about to take."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Be told of the module that a pass has made."""


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Make an instrument of a class with some of the methods of `PassInstrument`."""

    def made(cls: type) -> type:
        return type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__})

    return made if pi_cls is None else made(pi_cls)


class PassTimingInstrument(PassInstrument):
    """Measures how long passes take."""

    def __init__(self) -> None:
        self._started: list[float] = []
        self._lines: list[str] = []

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Note the time."""
        self._started.append(time.perf_counter())

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Note how long the pass took."""
        self.note(info.name, time.perf_counter() - self._started.pop())

    def note(self, name: str, seconds: float) -> None:
        """Note how long a pass took."""
        self._lines.append(f"{'  ' * len(self._started)}{name}: {seconds * 1e6:.0f}us\n")

    def render(self) -> str:
        """Return a line for each pass that has run."""
        return "".join(self._lines)


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass."""

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Print it."""
        print(f"Before Running Pass: {info}")
        print(mod)


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Print it."""
        print(f"After Running Pass: {info}")
        print(mod)


__getattr__ = other_names("tvm.instrument")
