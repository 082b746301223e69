# SPDX-License-Identifier: Apache-2.0
"""``tvm.ffi`` and ``tvm_ffi``: what later generations have apart from the compiler."""

from __future__ import annotations

import sys

from loopsmith.host import registered

from ..missing import other_names
from . import error
from .ir import structural_equal, structural_hash
from .ir_container import Array, Map
from .nd import NDArray, device
from .object_path import ObjectPath, get_first_structural_mismatch
from .runtime import Module, Object, convert, get_global_func, load_module, register_func

__all__ = [
    "AccessPath",
    "Array",
    "Map",
    "Module",
    "Object",
    "Tensor",
    "access_path",
    "base",
    "convert",
    "device",
    "get_first_structural_mismatch",
    "get_global_func",
    "list_global_func_names",
    "load_module",
    "register_func",
    "register_global_func",
    "structural_equal",
    "structural_hash",
]

AccessPath = ObjectPath
base = error
access_path = registry = sys.modules[__name__]
Tensor = NDArray
register_global_func = register_func


def list_global_func_names() -> list[str]:
    """Return the names of the functions that are registered."""
    return list(registered)


__getattr__ = other_names("tvm.ffi")
