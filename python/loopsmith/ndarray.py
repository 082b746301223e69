# SPDX-License-Identifier: Apache-2.0
"""Arrays of our own, aligned for the widest vectors."""

from __future__ import annotations

from typing import Any

from ._core import NDArray, empty


def array(data: Any, dtype: Any = None) -> NDArray:
    """Copy numbers into a new array.

    Parameters
    ----------
    data
        Whatever ``numpy.asarray`` takes: numbers, nested lists, arrays.
    dtype
        The element type; by default that of `data`.

    Returns
    -------
    NDArray
        Compact, in the processor's memory.

    Raises
    ------
    TypeMismatch
        `data` has a type of which there are no arrays here, such as objects.
    """
    import numpy as np

    source = np.asarray(data, dtype)
    copy = empty(source.shape, source.dtype)
    np.copyto(copy.numpy(), source)
    return copy
