# SPDX-License-Identifier: Apache-2.0
"""``tvm.ir.diagnostics``: what was wrong with a script, as data for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NamedTuple

from loopsmith import ScriptError

from ..missing import other_names
from .ir_types import SourceName, Span

__all__ = ["Diagnostic", "DiagnosticContext", "DiagnosticLevel", "override_renderer", "rendered"]


class DiagnosticLevel(IntEnum):
    """How bad it is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic(NamedTuple):
    """One thing that is wrong, and where."""

    level: DiagnosticLevel
    span: Span | None
    message: str


class DiagnosticContext(NamedTuple):
    """All that is wrong with a source: reading stops at the first."""

    diagnostics: list[Diagnostic]


_renderers: list[Callable[[DiagnosticContext], Any]] = []


def override_renderer(render_func: Callable[[DiagnosticContext], Any] | None) -> None:
    """Let a function see what is wrong with scripts, from here on; None takes it away."""
    _renderers[:] = [] if render_func is None else [render_func]


@contextmanager
def rendered() -> Iterator[None]:
    """Show what is wrong with a script that is read inside to whoever wants to see it."""
    try:
        yield
    except ScriptError as error:
        for render in _renderers:
            render(DiagnosticContext([_diagnostic(error)]))
        raise


def _diagnostic(error: Any) -> Diagnostic:
    place = error.span
    span = place and Span(
        SourceName(place["source"]),
        place["line"],
        place["line"],
        place["column"],
        place["column"] + place["length"],
    )
    return Diagnostic(DiagnosticLevel.ERROR, span, error.problem)


__getattr__ = other_names("tvm.ir.diagnostics")
