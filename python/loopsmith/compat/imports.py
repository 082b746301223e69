# SPDX-License-Identifier: Apache-2.0
"""Answers ``import tvm`` and ``import tvm.te`` by the modules of this package."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

from . import division, members
from .missing import way_of

ROOTS = {
    "tvm": f"{__package__}.tvm",
    "topi": f"{__package__}.tvm.topi",
    "tvm_ffi": f"{__package__}.tvm.ffi",
}
"""What is imported, and the module of this package that it is."""


# Files of which programs import names that stand in the module above them, too.
_PARTS = {
    "_ffi": "ffi",
    "_ffi.registry": "ffi",
    "arith.bound": "arith.int_set",
    "_ffi.base": "error",
    "_ffi.runtime_ctypes": "nd",
    "base": "error",
    "ffi.access_path": "ffi",
    "runtime.object_path": "object_path",
    "container": "ir_container",
    "driver.build_module": "driver",
    "ir.base": "ir",
    "ir.container": "ir_container",
    "ir.diagnostics": "ir_diagnostics",
    "ir.expr": "ir",
    "ir.instrument": "instrument",
    "ir.module": "ir",
    "ir.op": "tir",
    "ir.transform": "transform",
    "runtime.module": "runtime",
    "runtime.ndarray": "nd",
    "hybrid": "te_hybrid",
    "target.codegen": "target_codegen",
    "te.hybrid": "te_hybrid",
    "te.operation": "te",
    "te.schedule": "te_schedule",
    "te.tensor": "te",
    "testing.utils": "testing",
    "tir.analysis.analysis": "tir.analysis",
    "tir.block_dependence_info": "tir.schedule.state",
    "tir.block_scope": "tir.schedule.state",
    "tir.buffer": "tir",
    "tir.function": "tir",
    "tir.generic": "tir",
    "tir.ir_pass": "ir_pass",
    "tir.op": "tir",
    "tir.schedule.trace": "tir.schedule.instruction",
    "tir.stmt": "tir",
    **dict.fromkeys((f"topi.{name}" for name in (
        "arm_cpu", "bifrost", "cuda", "gpu", "hls", "intel_graphics", "mali", "rocm", "x86",
    )), "topi.generic"),
    "topi.math": "topi",
    "topi.nn.conv2d": "topi.nn_convolutions",
    "topi.nn.dense": "topi.nn",
    "topi.nn.elemwise": "topi.nn",
    "topi.nn.pad": "topi.nn",
    "topi.nn.pooling": "topi.nn_pools",
    "topi.nn.softmax": "topi.nn",
    "topi.nn.util": "topi.borders",
    "topi.nn.utils": "topi.borders",
    "topi.util": "topi.shapes",
    "topi.utils": "topi.shapes",
}  # fmt: skip


# Modules that other generations have at other places, with all that is in them.
_MOVED = {
    "meta_schedule.space_generator": "meta_schedule.tir_integration",
    "s_tir.dlight": "dlight",
    "s_tir.meta_schedule": "meta_schedule",
    "s_tir.script": "script.tir",
    "tirx.script": "script.tir",
    "s_tir": "tir",
    "tirx": "tir",
    "script.parser.ir": "script.ir",
    "script.parser.tir": "script.tir",
    "script.parser": "script",
    "script.ir_builder.base": "script.ir_builder",
    "script.ir_builder.tirx": "script.ir_builder.tir",
    "script.ir_builder.s_tir": "script.ir_builder.tir",
    "script.tirx": "script.tir",
    "script.s_tir": "script.tir",
}


def _module_of(name: str) -> str:
    """Return where in this package a module of `tvm` is, by its name without ``tvm.``."""
    for old, now in _MOVED.items():
        if name == old or name.startswith(f"{old}."):
            name = now + name[len(old) :]
            break
    return _PARTS.get(name, name)


def part_of(name: str) -> types.ModuleType | None:
    """Return the module of a file that is no module here, as ``tvm.ir.base``; None for others."""
    ours = _PARTS.get(name.partition(".")[2])
    return importlib.import_module(f"{ROOTS['tvm']}.{ours}") if ours else None


class _Loader(importlib.abc.Loader):
    """Gives the module of this package under the name that a program asks for."""

    def __init__(self, ours: str) -> None:
        self._ours = ours
        self._spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(self._ours)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._spec  # It has been executed, under its own name.
        # Python imports parts only of what has a path.
        vars(module).setdefault("__path__", [])


def _missing_module(name: str) -> ImportError:
    return ImportError(f"there is no module {name} here: {way_of(name)}", name=name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith(f"{ROOTS['tvm']}."):
            # from tvm import name
            own = importlib.machinery.PathFinder.find_spec(fullname, path)
            if own is None:
                raise _missing_module("tvm" + fullname[len(ROOTS["tvm"]) :])
            return own
        root, _, rest = fullname.partition(".")
        if root not in ROOTS:
            return None
        meant = _module_of(rest) if root == "tvm" else rest
        if root == "tvm_ffi" and rest == "access_path":
            meant = ""
        ours = f"{ROOTS[root]}.{meant}" if meant else ROOTS[root]
        if rest and importlib.util.find_spec(ours) is None:
            raise _missing_module(fullname if root == "tvm" else f"tvm.{fullname}")
        return importlib.machinery.ModuleSpec(fullname, _Loader(ours), is_package=True)


_finder = _Finder()


def is_installed() -> bool:
    """Return whether ``import tvm`` is answered by this package."""
    return _finder in sys.meta_path


def install() -> bool:
    """Let ``import tvm`` give this package, in this process.

    Returns
    -------
    bool
        Whether it did before.

    Raises
    ------
    ImportError
        Another package of that name has been imported already.
    """
    if is_installed():
        return True
    other = sys.modules.get("tvm")
    if other is not None:
        raise ImportError(
            f"tvm has been imported already, from {getattr(other, '__file__', 'elsewhere')}: "
            "call loopsmith.compat.install() before it",
            name="tvm",
        )
    sys.meta_path.insert(0, _finder)
    division.install()
    members.install()
    return False


def uninstall() -> None:
    """Let ``import tvm`` mean what it meant before `install`."""
    if is_installed():
        sys.meta_path.remove(_finder)
        members.uninstall()
        division.uninstall()
    for name in list(sys.modules):
        if name.partition(".")[0] in ROOTS:
            del sys.modules[name]
