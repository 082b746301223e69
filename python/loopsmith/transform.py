# SPDX-License-Identifier: Apache-2.0
"""The passes of lowering, one by one: ``transform.simplify(func)``.

Each takes a function or a module in the form that the passes before it leave, and returns another.
`names` lists them in the order of the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

from . import _core
from ._core import IRModule, PrimFunc
from .compiled_program import each_function
from .driver import lower, run_pass

__all__ = ["apply", "lower", "names", "run_pass"]

Pass = Callable[[PrimFunc], PrimFunc]
"""A pass of one's own: from a function to a function; it may return the one that it was given."""
Passes = Mapping[str, Union[Pass, Sequence[Pass]]]
"""Passes of one's own, by the name of the pass that they come after."""


def names() -> list[str]:
    """Return the names of the passes, in the order in which they first run."""
    return list(dict.fromkeys(_core.pass_names()))


def apply(program: Any, passes: Iterable[str | Pass]) -> Any:
    """Return a program after some passes, each given by its name or as a function."""
    for each in passes:
        program = run_pass(program, each) if isinstance(each, str) else each_function(program, each)
    return program


def __getattr__(name: str) -> Callable[[PrimFunc | IRModule], Any]:
    if name not in names():
        raise AttributeError(
            f"there is no pass {name}\n  hint: the passes are {', '.join(names())}"
        )

    def run(program: PrimFunc | IRModule) -> Any:
        return run_pass(program, name)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Run the pass ``{name}`` alone."
    return run


def __dir__() -> list[str]:
    return [*__all__, *names()]
