# SPDX-License-Identifier: Apache-2.0
"""Intrinsics by name, and places in sources."""

from __future__ import annotations

from typing import Any, NamedTuple

import loopsmith as ls
from loopsmith import _core

__all__ = ["Op", "SourceName", "Span"]


class Op(str):
    """An intrinsic: its name."""

    @staticmethod
    def get(op_name: str) -> Op:
        """Return an intrinsic; raise an error where there is none of that name."""
        name = op_name.removeprefix("tir.")
        if not hasattr(ls.tir, name) and name not in _core.__dict__:
            raise ls.UserError(f"Op {op_name} is not registered")
        return Op(name)

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of the intrinsics that expressions are made of."""
        return [f"tir.{name}" for name in ls.tir.intrinsics.__all__]

    @property
    def name(self) -> str:
        """The name, in the space ``tir``."""
        return f"tir.{self}"

    def same_as(self, other: Any) -> bool:
        """Return whether both are one intrinsic."""
        return str(other).removeprefix("tir.") == str(self)


class SourceName(NamedTuple):
    """The name of a source."""

    name: str


class Span(NamedTuple):
    """A place in a source. Nodes get theirs from the program that makes them."""

    source_name: Any
    line: int
    end_line: int
    column: int
    end_column: int
