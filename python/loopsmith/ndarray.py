# SPDX-License-Identifier: Apache-2.0
"""Arrays of our own, aligned for the widest vectors."""

from __future__ import annotations

from typing import Any

from ._core import NDArray, array_of_bytes, empty
from .display import escaped


def array(data: Any, dtype: Any = None, device: tuple[str, int] | str | None = None) -> NDArray:
    """Copy numbers into a new array.

    Parameters
    ----------
    data
        Whatever ``numpy.asarray`` takes: numbers, nested lists, arrays.
    dtype
        The element type; by default that of `data`.
    device
        Where its memory is to be, as `loopsmith.device` names it; by default the processor's.

    Returns
    -------
    NDArray
        Compact, in the processor's memory or the device's.

    Raises
    ------
    TypeMismatch
        `data` has a type of which there are no arrays here, such as objects.
    """
    import numpy as np

    # NumPy knows names such as bfloat16 only where another library has told it.
    kind = dtype if dtype is None else empty(0, dtype).numpy().dtype
    source = np.asarray(data, kind)
    copy = empty(source.shape, source.dtype)
    np.copyto(copy.numpy(), source)
    return copy if device is None else copy.to(device)


def unpickled(shape: tuple[int, ...], dtype: str, data: bytes) -> NDArray:
    """Return an array of the bytes that pickle kept of one, in row-major order."""
    return array_of_bytes(shape, dtype, data)


def html(array: NDArray) -> str:
    """Return what notebooks show of an array: what it is, and its elements as NumPy prints them."""
    try:
        elements = str(array.numpy())
    except (ImportError, TypeError):
        elements = ""
    return f"<p><code>{escaped(repr(array))}</code></p><pre>{escaped(elements)}</pre>"
