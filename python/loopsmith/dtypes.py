# SPDX-License-Identifier: Apache-2.0
"""Element types as users have them: names, and the types of NumPy, PyTorch, JAX and ml_dtypes."""

from __future__ import annotations

import sys
from typing import Any

from . import _core

OWN_NAMES = {"float8_e4m3fn": "float8_e4m3"}
"""What we call a type for which other libraries have another name."""


def find_name(dtype: Any) -> str | None:
    """Return the name of an element type; None for what is none."""
    if isinstance(dtype, str):
        return dtype
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dtype, torch.dtype):
        name = str(dtype).rpartition(".")[2]
        return OWN_NAMES.get(name, name)
    import numpy as np

    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        return None
    return OWN_NAMES.get(name, name)


def name_of(operation: str, dtype: Any) -> str:
    """Return the name of an element type; an error of `operation` for what is none."""
    name = None if dtype is None else find_name(dtype)
    if name is None:
        _core.fail(
            "TypeMismatch",
            "dtype_is_known",
            f"{operation}: {dtype!r} is no type of elements",
            hint="pass a name, as float32, or a type of NumPy, PyTorch or ml_dtypes",
        )
    return name
