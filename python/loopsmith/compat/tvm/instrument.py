# SPDX-License-Identifier: Apache-2.0
"""``tvm.instrument``: objects that are told of each pass that runs."""

from __future__ import annotations

from typing import Any

from ..missing import other_names

__all__ = ["PassInstrument", "pass_instrument"]


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


__getattr__ = other_names("tvm.instrument")
