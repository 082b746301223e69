# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi.nn.utils``: how wide the borders around images are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...missing import other_names
from .shapes import get_const_int

__all__ = ["get_pad_tuple", "get_pad_tuple1d", "get_pad_tuple3d", "get_pad_tuple_generic",
           "infer_pad", "infer_stride"]  # fmt: skip


def each(value: Any, count: int) -> list[Any]:
    """Return a value for each dimension, of one for all or one for each."""
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def get_pad_tuple_generic(padding: Any, kernel: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the widths of the borders before and after.

    ``"SAME"`` makes the border one less than the kernel, the larger half of it before.

    Raises
    ------
    ValueError
        There are neither one nor two numbers for each dimension; or another word is given.
    """
    count = len(kernel)
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            raise ValueError(f"Unknown padding option {padding}")
        whole = [0 if padding == "VALID" else size - 1 for size in kernel]
        before = [(width + 1) // 2 for width in whole]
        return before, [width - low for width, low in zip(whole, before)]
    sides = each(padding, count)
    if len(sides) not in (count, 2 * count):
        raise ValueError(f"Size of padding can only be {count} or {2 * count}")
    return sides[:count], sides[-count:]


def get_pad_tuple(padding: Any, kernel: Sequence[Any]) -> tuple[Any, ...]:
    """Return the widths of borders, first all of those before; see `get_pad_tuple_generic`."""
    before, after = get_pad_tuple_generic(padding, kernel)
    return (*before, *after)


get_pad_tuple1d = get_pad_tuple3d = get_pad_tuple


def infer_pad(data: Any, data_pad: Any) -> tuple[int, int]:
    """Return how many rows and columns lie before images; 0 where nothing was put around."""
    if data_pad is None:
        return 0, 0
    above, left = (
        (get_const_int(wide) - get_const_int(extent)) // 2
        for wide, extent in zip(data_pad.shape[2:4], data.shape[2:4])
    )
    return above, left


def infer_stride(data: Any, kernel: Any, out: Any) -> tuple[int, int]:
    """Return the strides of a convolution of images, from the extents of what it made."""
    extents = zip(data.shape[2:4], kernel.shape[2:4], out.shape[2:4])
    down, across = (
        (had - size) // (made - 1) if made > 1 else 1
        for had, size, made in (map(get_const_int, three) for three in extents)
    )
    return down, across


__getattr__ = other_names("tvm.topi.nn.utils")
