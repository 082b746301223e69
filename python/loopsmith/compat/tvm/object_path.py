# SPDX-License-Identifier: Apache-2.0
"""Ways through a tree of nodes, as data."""

from __future__ import annotations

import re
from typing import Any

import loopsmith as ls
from loopsmith import tir

__all__ = ["ObjectPath", "get_first_structural_mismatch"]


class ObjectPath:
    """The way from a root to a part of it: names of fields, places in lists, keys of maps."""

    def __init__(self, steps: tuple[str, ...] = ()) -> None:
        self._steps = steps

    @staticmethod
    def root(root_name: str | None = None) -> ObjectPath:
        """Return the way that goes nowhere."""
        return ObjectPath()

    def attr(self, attr_key: str) -> ObjectPath:
        """Return the way on to a field."""
        return ObjectPath((*self._steps, f".{attr_key}"))

    def array_index(self, index: int) -> ObjectPath:
        """Return the way on to an item of a list."""
        return ObjectPath((*self._steps, f"[{index}]"))

    def map_value(self, key: Any) -> ObjectPath:
        """Return the way on to the value of a key."""
        return ObjectPath((*self._steps, f"[{key!r}]"))

    @property
    def parent(self) -> ObjectPath | None:
        """The way without its last step; None of the root."""
        return ObjectPath(self._steps[:-1]) if self._steps else None

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Return whether another way begins as this one."""
        return other._steps[: len(self._steps)] == self._steps

    def __len__(self) -> int:
        """Return the number of steps, the root counted."""
        return len(self._steps) + 1

    def __eq__(self, other: object) -> bool:
        """Return whether both take the same steps."""
        return isinstance(other, ObjectPath) and other._steps == self._steps

    def __hash__(self) -> int:
        """Return the same number for the same steps."""
        return hash(self._steps)

    def __str__(self) -> str:
        """Return the steps after ``<root>``."""
        return "<root>" + "".join(self._steps)

    __repr__ = __str__


def path_of(text: str) -> ObjectPath:
    """Return the way that Loopsmith writes as ``body.seq[1].value``."""
    steps = re.findall(r"\w+|\[[^\]]*\]", text)
    return ObjectPath(tuple(step if step.startswith("[") else f".{step}" for step in steps))


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> tuple[ObjectPath, ObjectPath] | None:
    """Return the ways to where two nodes differ first; None where they are equal."""
    if ls.structural_equal(lhs, rhs, map_free_vars):
        return None
    path = path_of(ls.ir.difference_path(lhs, rhs, map_free_vars) or "")
    field = _differing_field(_at(lhs, path), _at(rhs, path))
    path = path.attr(field) if field else path
    return path, path


_CONSTANTS = (tir.IntImm, tir.FloatImm, tir.StringImm)


def _differing_field(left: Any, right: Any) -> str | None:
    """Return by which field two constants differ; None of anything else."""
    if not isinstance(left, _CONSTANTS) or type(left) is not type(right):
        return None
    return "value" if str(left.dtype) == str(right.dtype) else "dtype"


def _at(node: Any, path: ObjectPath) -> Any:
    """Return what a way leads to; None where it leads out of the tree."""
    for step in path._steps:
        try:
            node = node[int(step[1:-1])] if step.startswith("[") else getattr(node, step[1:])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None
    return node
