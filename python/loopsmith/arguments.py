# SPDX-License-Identifier: Apache-2.0
"""Arguments to call a function with, where only their types and sizes matter."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import NDArray, PrimFunc, Var

DEFAULT_SIZE = 64


def random_arguments(func: PrimFunc, sizes: dict[str, int], seed: int) -> list[Any]:
    """Return arrays and numbers for a function.

    Parameters
    ----------
    func
        The function.
    sizes
        The symbolic sizes, by name; one that is missing is added, as 64.
    seed
        Of the numbers in the arrays: floats are normally distributed, integers are 0 to 9.

    Raises
    ------
    UserError
        A tensor's size is an expression.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    buffers = func.buffer_map
    arguments: list[Any] = []

    def size_of(extent: Any) -> int:
        if isinstance(extent, Var):
            return sizes.setdefault(extent.name, DEFAULT_SIZE)
        try:
            return int(extent)
        except TypeError:
            _core.fail(
                "UserError",
                "size_is_known",
                f"{func.name} has a tensor of size {extent}, and no arguments were given",
                hint="call the function from Python, or pass arguments=[...]",
            )

    for param in func.params:
        buffer = buffers.get(param)
        if buffer is None:
            value = sizes.get(param.name, DEFAULT_SIZE)
            arguments.append(float(value) if "float" in param.dtype else value)
            continue
        array = _core.empty(tuple(size_of(extent) for extent in buffer.shape), buffer.dtype)
        fill(array, random)
        arguments.append(array)
    return arguments


def fill(array: NDArray, random: Any) -> None:
    """Put random numbers into an array, of the types that NumPy knows; others stay zero."""
    import numpy as np

    try:
        view = np.from_dlpack(array)
    except (BufferError, TypeError, RuntimeError):
        return
    if view.dtype.kind == "f":
        view[...] = random.standard_normal(view.shape)
    else:
        view[...] = random.integers(0, 2 if view.dtype.kind == "b" else 10, view.shape)
