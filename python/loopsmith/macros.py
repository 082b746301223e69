# SPDX-License-Identifier: Apache-2.0
"""Schedule primitives of one's own, made of others; and hints for names that schedules lack."""

from __future__ import annotations

import difflib
import functools
import inspect
import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from . import _core

if TYPE_CHECKING:
    from ._core import Schedule

_F = TypeVar("_F", bound=Callable[..., Any])
_primitives: dict[str, Callable[..., Any]] = {}


def primitive(function: _F) -> _F:
    """Make a schedule primitive of a function that takes a schedule first.

    The function is then a method of all schedules, too. In a trace its steps stand between
    ``begin_macro`` and ``end_macro``; when one of them is refused, those before it are taken back.

    Parameters
    ----------
    function
        Takes a schedule, then arguments of its own. Its name is the primitive's.

    Examples
    --------
    >>> @tir.primitive
    ... def tile(sch, block, rows, columns):
    ...     i, j = sch.get_loops(block)[:2]
    ...     io, ii = sch.split(i, [None, rows])
    ...     jo, ji = sch.split(j, [None, columns])
    ...     sch.reorder(io, jo, ii, ji)
    ...     return io, jo, ii, ji
    >>> sch.tile("C", 8, 32)
    """
    name = function.__name__
    if hasattr(_core.Schedule, name):
        _core.fail(
            "UserError",
            "primitive_is_new",
            f"primitive: schedules have a method {name}",
            hint="choose another name",
        )

    @functools.wraps(function)
    def call(sch: Schedule, *args: Any, **kwargs: Any) -> Any:
        before = len(sch.trace)
        sch.begin_macro(name, _shown(args, kwargs))
        try:
            result = function(sch, *args, **kwargs)
        except BaseException:
            sch.undo(len(sch.trace) - before)
            raise
        sch.end_macro()
        return result

    _primitives[name] = call
    return call  # type: ignore[return-value]


def remove_primitive(name: str) -> None:
    """Forget a primitive of one's own."""
    if _primitives.pop(name, None) is None:
        _core.fail(
            "UserError",
            "primitive_exists",
            f"primitive: there is none called {name}",
            hint=f"there are {', '.join(_primitives) or 'none'}",
        )


def _shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    texts = [_text(value) for value in args]
    return ", ".join(texts + [f"{name}={_text(value)}" for name, value in kwargs.items()])


def _text(value: Any) -> str:
    """Return an argument as people read it: loops and blocks by their names."""
    if isinstance(value, (_core.LoopRV, _core.BlockRV)):
        return str(value)
    return reprlib.repr(value)


# Words of other systems, and what says it here.
OTHER_WORDS = {
    "tile": "split both loops, then reorder: sch.split(i, [None, 8]), sch.reorder(io, jo, ii, ji)",
    "sblock": "a block is sch.get_block(name)",
    "get_sblock": "a block is sch.get_block(name)",
    "unroll_jam": "split, reorder, then sch.unroll(inner)",
    "store_root": "memory of a block that stays where it is belongs to the whole function",
    "compute_root": "a block is computed at the root as long as it is not moved",
    "pipeline": 'sch.annotate(loop, "software_pipeline_stage", [...])',
    "set_memory": "sch.set_scope(block, buffer_index, storage_scope)",
    "interchange": "sch.reorder(j, i)",
    "strip_mine": "sch.split(loop, [None, factor])",
    "prefetch_to": "sch.cache_read(block, read_buffer_index, storage_scope)",
    "bound": "sch.get(loop).extent",
    "lower": "loopsmith.lower(sch)",
    "build": "loopsmith.build(sch)",
    "tune": "sch.sample_perfect_tile(...), and loopsmith.compare of what comes out",
    "time_evaluator": "loopsmith.build(sch).time(*arrays)",
}


def method_of(sch: Schedule, name: str) -> Any:
    """Return a primitive of one's own as a method; an AttributeError with a hint if none."""
    if name in _primitives:
        return functools.partial(_primitives[name], sch)
    if not name.startswith("_") and hasattr(type(sch), name):  # A property that has refused.
        return inspect.getattr_static(type(sch), name).__get__(sch, type(sch))
    return _refuse(name)


def _refuse(name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(name)
    known = [*_primitives, *(each for each in dir(_core.Schedule) if not each.startswith("_"))]
    close = difflib.get_close_matches(name, known, n=1)
    hint = OTHER_WORDS.get(name) or (f"did you mean {close[0]}?" if close else "")
    hint = hint or "docs/primitives.md lists them; tir.primitive makes one of your own"
    raise AttributeError(f"a schedule has no method {name}\n  hint: {hint}")
