# SPDX-License-Identifier: Apache-2.0
"""The words of the script language called from plain Python, with frames as ``with`` scopes.

>>> from loopsmith.script.ir_builder import IRBuilder
>>> from loopsmith.script.ir_builder import tir as T
>>> with IRBuilder() as ib:
...     with T.prim_func():
...         T.func_name("fill")
...         A = T.arg("A", T.Buffer((16,), "float32"))
...         with T.serial(16) as i:
...             T.buffer_store(A, 1.0, [i])
>>> fill = ib.get()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..._core import ScriptBuilder, script_name
from . import ir, tir

__all__ = ["IRBuilder", "ir", "tir"]

_T = TypeVar("_T")

_open: list[IRBuilder] = []


class IRBuilder:
    """What words build while its scope is open: a function, a module, or statements."""

    def __init__(self) -> None:
        self._builder = ScriptBuilder()

    def __enter__(self) -> IRBuilder:
        """Open the builder: words mean it from here on."""
        self._builder.open()
        _open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the builder: words mean what they meant before."""
        _open.pop()
        self._builder.close()

    def get(self) -> Any:
        """Return the function or the module that was built; else the statements, as one.

        Raises
        ------
        ScriptError
            While a frame is open.
        """
        return self._builder.result()

    @staticmethod
    def current() -> IRBuilder:
        """Return the builder that was opened last.

        Raises
        ------
        ValueError
            None is open.
        """
        if not IRBuilder.is_in_scope():
            raise ValueError("no builder is open: write `with IRBuilder() as ib:`")
        return _open[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Return whether a builder is open."""
        return bool(_open)

    @staticmethod
    def name(name: str, value: _T) -> _T:
        """Call a variable or a buffer by a name, and return it."""
        script_name(name, value)
        return value

    @staticmethod
    def name_many(names: Sequence[str], values: Sequence[_T]) -> list[_T]:
        """Call variables and buffers by names, one for each, and return them."""
        return [IRBuilder.name(name, value) for name, value in zip(names, values)]
