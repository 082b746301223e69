# SPDX-License-Identifier: Apache-2.0
"""``tvm.ir.container``: lists and maps, which are those of Python here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..missing import other_names

__all__ = ["Array", "Map"]


class _Lists(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        is_text = isinstance(instance, (str, bytes))
        return not is_text and hasattr(instance, "__getitem__") and hasattr(instance, "__len__") \
            and not isinstance(instance, Mapping)  # fmt: skip


class Array(metaclass=_Lists):
    """A list."""

    def __new__(cls, items: Sequence[Any] = ()) -> Any:
        """Return the list of these."""
        return list(items)


class _Maps(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Mapping)


class Map(metaclass=_Maps):
    """A map."""

    def __new__(cls, items: Any = ()) -> Any:
        """Return the map of these."""
        return dict(items)


__getattr__ = other_names("tvm.ir.container")
