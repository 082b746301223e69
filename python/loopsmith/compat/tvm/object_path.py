# SPDX-License-Identifier: Apache-2.0
"""Ways through a tree of nodes, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
        shown = f'"{key}"' if isinstance(key, str) else repr(key)
        return ObjectPath((*self._steps, f"[{shown}]"))

    def missing_array_element(self, index: int) -> ObjectPath:
        """Return the way to where an item of a list would be."""
        return ObjectPath((*self._steps, f"[<missing element #{index}>]"))

    def missing_map_entry(self, key: Any = None) -> ObjectPath:
        """Return the way to where a value of a map would be."""
        return ObjectPath((*self._steps, "[<missing entry>]"))

    array_item, array_item_missing = array_index, missing_array_element
    map_item, map_item_missing = map_value, missing_map_entry

    @property
    def parent(self) -> ObjectPath | None:
        """The way without its last step; None of the root."""
        return ObjectPath(self._steps[:-1]) if self._steps else None

    def get_prefix(self, length: int) -> ObjectPath:
        """Return the first steps of the way, the root counted; raise an IndexError for none."""
        if not 1 <= length <= len(self):
            raise IndexError(f"the way has {len(self)} steps, not {length}")
        return ObjectPath(self._steps[: length - 1])

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
    """Return the ways to where two nodes differ first; None where they are equal.

    Lists and maps of nodes are compared item by item.
    """
    if not isinstance(lhs, tir.Node) and not isinstance(rhs, tir.Node):
        return _mismatch_of_values(lhs, rhs, map_free_vars)
    if ls.structural_equal(lhs, rhs, map_free_vars):
        return None
    path = path_of(ls.ir.difference_path(lhs, rhs, map_free_vars) or "")
    left, right = _at(lhs, path), _at(rhs, path)
    shown = _by_keys(path, lhs)
    lengths = _differing_lengths(left, right)
    if lengths:
        field, shorter, key = lengths
        has_not, has = shown.attr(field), shown.attr(field)
        if field == "buffer_map":
            has_not, has = has_not.missing_map_entry(key), has.map_value(key)
        else:
            has_not, has = has_not.missing_array_element(key), has.array_index(key)
        return (has_not, has) if shorter is left else (has, has_not)
    found = _differing_field(left, right)
    shown = shown.attr(found) if found else shown
    return shown, shown


_Ways = tuple[ObjectPath, ObjectPath]


def _mismatch_of_values(lhs: Any, rhs: Any, map_free_vars: bool) -> _Ways | None:
    """Return where two lists, two maps or two values of Python differ first."""
    root = ObjectPath.root()
    if isinstance(lhs, Mapping) and isinstance(rhs, Mapping):
        keys = sorted({*lhs, *rhs}, key=str)
        pairs = [(root.map_value(key), lhs.get(key), rhs.get(key)) for key in keys]
        for (way, one, two), key in zip(pairs, keys):
            if key not in lhs or key not in rhs:
                gap = root.missing_map_entry()
                return (way, gap) if key in lhs else (gap, way)
            if found := _below(way, get_first_structural_mismatch(one, two, map_free_vars)):
                return found
        return None
    if isinstance(lhs, (list, tuple)) and isinstance(rhs, (list, tuple)):
        for place, (one, two) in enumerate(zip(lhs, rhs)):
            mismatch = get_first_structural_mismatch(one, two, map_free_vars)
            if found := _below(root.array_index(place), mismatch):
                return found
        if len(lhs) == len(rhs):
            return None
        place = min(len(lhs), len(rhs))
        way, gap = root.array_index(place), root.missing_array_element(place)
        return (gap, way) if len(lhs) < len(rhs) else (way, gap)
    return None if lhs == rhs else (root, root)


def _below(way: ObjectPath, mismatch: _Ways | None) -> _Ways | None:
    if mismatch is None:
        return None
    one, two = mismatch
    return ObjectPath(way._steps + one._steps), ObjectPath(way._steps + two._steps)


_CONSTANTS = (tir.IntImm, tir.FloatImm, tir.StringImm)
_LISTS = ("params", "seq", "args", "indices", "iter_vars", "reads", "writes", "shape", "strides")


def _differing_lengths(left: Any, right: Any) -> tuple[str, Any, Any] | None:
    """Return of which list two nodes have less and more, which has less, and the first place."""
    if type(left) is not type(right):
        return None
    for field in _LISTS:
        one: Any = getattr(left, field, None)
        two: Any = getattr(right, field, None)
        if not (hasattr(one, "__len__") and hasattr(two, "__len__")):
            continue
        if isinstance(left, tir.PrimFunc) and left.buffer_map and right.buffer_map:
            known, other = left.buffer_map, right.buffer_map
            if len(known) != len(other):
                shorter, longer = (left, right) if len(known) < len(other) else (right, left)
                added = [each for each in longer.params if each not in shorter.buffer_map]
                keys = [each for each in added if each in longer.buffer_map]
                return "buffer_map", shorter, keys[0]
        if len(one) != len(two):
            return field, left if len(one) < len(two) else right, min(len(one), len(two))
    return None


def _by_keys(path: ObjectPath, root: Any) -> ObjectPath:
    """Return a way whose steps into maps are by key, not by place."""
    steps = list(path._steps)
    for place, step in enumerate(steps[1:], 1):
        holder = _at(root, ObjectPath(tuple(steps[: place - 1]))) if step[0] == "[" else None
        if steps[place - 1] == ".buffer_map" and isinstance(holder, tir.PrimFunc):
            steps[place] = f"[{holder.params[int(step[1:-1])]!r}]"
        if steps[place - 1] == ".functions" and isinstance(holder, tir.IRModule):
            steps[place] = f'[I.GlobalVar("{holder.names[int(step[1:-1])].name_hint}")]'
    return ObjectPath(tuple(steps))


def _differing_field(left: Any, right: Any) -> str | None:
    """Return by which field two constants, or variables, differ; None of anything else."""
    if type(left) is not type(right):
        return None
    if isinstance(left, tir.Var):
        return None if str(left.dtype) == str(right.dtype) else "dtype"
    if not isinstance(left, _CONSTANTS):
        return None
    return "value" if str(left.dtype) == str(right.dtype) else "dtype"


def _at(node: Any, path: ObjectPath) -> Any:
    """Return what a way leads to; None where it leads out of the tree."""
    for step in path._steps:
        try:
            if step.startswith("["):
                inside = list(node.values()) if isinstance(node, Mapping) else node
                node = inside[int(step[1:-1])]
            else:
                node = getattr(node, step[1:])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None
    return node
