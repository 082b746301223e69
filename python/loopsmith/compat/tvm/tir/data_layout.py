# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.data_layout``: names of dimensions, and the maps between two orders of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import loopsmith.arith
from loopsmith import tir

from ...missing import other_names

__all__ = ["BijectiveLayout", "Layout", "bijective_layout", "layout"]


class Layout:
    """The dimensions of an array by letters: ``NCHW16c`` has C in parts of 16, in lower case."""

    def __init__(self, name: str) -> None:
        self.name = name
        parts: list[tuple[str, str]] = re.findall(r"(\d*)([A-Za-z])", name)
        if "".join(f"{size}{axis}" for size, axis in parts) != name or name.startswith("0"):
            raise ValueError(f"Invalid layout {name}")
        self._axes: list[str] = [axis for _, axis in parts]
        self._factors = {axis: int(size) for size, axis in parts if size}
        for size, axis in parts:
            if bool(size) != axis.islower() or self._axes.count(axis) > 1:
                raise ValueError(f"Invalid layout {name}: {size}{axis}")
        for axis in self._factors:
            if axis.upper() not in self._axes:
                raise ValueError(f"Invalid layout {name}: missing axis {axis.upper()}")

    def __str__(self) -> str:
        """Return the letters."""
        return self.name

    def __len__(self) -> int:
        """Return the number of dimensions."""
        return len(self._axes)

    def __contains__(self, axis: str) -> bool:
        """Return whether there is a dimension of that letter."""
        return axis in self._axes

    def __getitem__(self, index: int) -> str:
        """Return the letter of a dimension; raise an IndexError for a place that is not there."""
        if not -len(self) <= index < len(self):
            raise IndexError("Layout index out of range")
        return self._axes[index]

    def index_of(self, axis: str) -> int:
        """Return the place of a letter; -1 where it is none."""
        return self._axes.index(axis) if axis in self._axes else -1

    def factor_of(self, axis: str) -> int:
        """Return the size of the parts of a dimension; -1 where it has none."""
        return self._factors.get(axis.lower(), -1)

    def primal_axes(self) -> list[str]:
        """Return the letters of whole dimensions, in their order."""
        return [axis for axis in self._axes if axis.isupper()]


class BijectiveLayout:
    """The maps of indices and shapes between two layouts of the same dimensions."""

    def __init__(self, src_layout: Layout, dst_layout: Layout) -> None:
        self.src_layout, self.dst_layout = src_layout, dst_layout
        if set(src_layout.primal_axes()) != set(dst_layout.primal_axes()):
            raise ValueError(f"{src_layout} and {dst_layout} have different dimensions")

    def forward_index(self, index: Sequence[Any]) -> list[Any]:
        """Return where an element of the source lies in the destination."""
        return _mapped(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Sequence[Any]) -> list[Any]:
        """Return where an element of the destination lies in the source."""
        return _mapped(self.dst_layout, self.src_layout, index)

    def forward_shape(self, shape: Sequence[Any]) -> list[Any]:
        """Return the shape of the destination."""
        return _shape(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Sequence[Any]) -> list[Any]:
        """Return the shape of the source."""
        return _shape(self.dst_layout, self.src_layout, shape)


def _mapped(source: Layout, target: Layout, index: Sequence[Any]) -> list[Any]:
    at = {axis: tir.const(value) for axis, value in zip(source._axes, index)}
    simplify = loopsmith.arith.Analyzer().simplify
    found = []
    for axis in target._axes:
        whole = at[axis.upper()]
        if source.factor_of(axis) > 0:
            whole = whole * source.factor_of(axis) + at[axis.lower()]
        factor = target.factor_of(axis)
        if factor > 0:
            divide = tir.floordiv if axis.isupper() else tir.floormod
            whole = divide(whole, factor)
        found.append(simplify(whole))
    return found


def _shape(source: Layout, target: Layout, shape: Sequence[Any]) -> list[Any]:
    extents = {axis: tir.const(value) for axis, value in zip(source._axes, shape)}
    simplify = loopsmith.arith.Analyzer().simplify
    found = []
    for axis in target._axes:
        if axis.islower():
            found.append(tir.const(target.factor_of(axis), "int32"))
            continue
        whole = extents[axis]
        if source.factor_of(axis) > 0:
            whole = whole * source.factor_of(axis)
        factor = target.factor_of(axis)
        found.append(simplify(tir.floordiv(whole + (factor - 1), factor) if factor > 0 else whole))
    return found


def layout(layout_str: str, dtype: str = "int32") -> Layout:
    """Return the layout of these letters."""
    return Layout(layout_str)


def bijective_layout(src_layout: Any, dst_layout: Any) -> BijectiveLayout:
    """Return the maps between two layouts, given as such or by their letters."""
    ends = [each if isinstance(each, Layout) else Layout(each) for each in (src_layout, dst_layout)]
    return BijectiveLayout(*ends)


__getattr__ = other_names("tvm.tir.data_layout")
