# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.ir_builder``: the builder of Loopsmith, with the errors that programs expect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import loopsmith as ls
from loopsmith.tir import ir_builder

from ...missing import other_names

__all__ = ["BufferVar", "IRBuilder", "create"]


@contextmanager
def _raising(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except ls.UserError as error:
        raise kind(str(error)) from error


class BufferVar(ir_builder.BufferVar):
    """A buffer whose elements are read by ``x[i]`` and stored by ``x[i] = value``."""

    def asobject(self) -> Any:
        """Return the buffer, which `decl_buffer` takes for its pointer, too."""
        return self.buffer

    def __setitem__(self, index: Any, value: Any) -> None:
        """Store an element; raise a ValueError where its type is another one."""
        with _raising(ValueError):
            super().__setitem__(index, value)


class IRBuilder(ir_builder.IRBuilder):
    """Gathers statements, in the scopes that are open."""

    buffer_var = BufferVar

    def allocate(
        self,
        dtype: str,
        shape: Any,
        name: str = "buf",
        axis_separators: Any = None,
        scope: str = "",
    ) -> BufferVar:
        """Allocate memory, to the end of the scope; functions declare the buffer."""
        buffer = ls.tir.decl_buffer(
            shape, dtype, name, scope=scope or "global", axis_separators=axis_separators or ()
        )
        self.emit(
            lambda body: ls.tir.Allocate(
                buffer.data, dtype, buffer.shape, condition=True, body=body
            )
        )
        return BufferVar(self, buffer)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Return the buffer behind a pointer that comes from elsewhere; functions declare it."""
        return BufferVar(self, ir_builder.pointed(content_type, name, scope))

    def get(self) -> ls.tir.Stmt:
        """Return all statements as one; raise a RuntimeError while a scope is open."""
        with _raising(RuntimeError):
            return super().get()

    @contextmanager
    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: Any = None, kind: str = "serial"
    ) -> Iterator[ls.tir.Var]:
        """Open a loop; raise a ValueError for a kind that there is not."""
        with _raising(ValueError):
            scope = super().for_range(begin, end, name, dtype, kind)
            variable = scope.__enter__()
        yield variable
        scope.__exit__(None, None, None)

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Open the other branch; raise a RuntimeError where no `if_scope` is just before."""
        with _raising(RuntimeError):
            scope = super().else_scope()
            scope.__enter__()
        yield
        scope.__exit__(None, None, None)


def create() -> IRBuilder:
    """Return a builder without statements."""
    return IRBuilder()


__getattr__ = other_names("tvm.tir.ir_builder")
