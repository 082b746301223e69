# SPDX-License-Identifier: Apache-2.0
"""Questions that are answered by yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import loopsmith as ls
import loopsmith.arith as arith
from loopsmith import tir

from ..transform import Pass
from .costs import bytes_of

__all__ = [
    "OOBChecker",
    "assert_pure_function",
    "is_pure_function",
    "verify_gpu_code",
    "verify_memory",
    "verify_ssa",
]


class _Definitions(tir.Visitor):
    def __init__(self) -> None:
        self.vars: list[Any] = []

    def visit_For(self, node: Any) -> None:
        self.vars.append(node.loop_var)
        self.visit_children(node)

    def visit_LetStmt(self, node: Any) -> None:
        self.vars.append(node.var)
        self.visit_children(node)

    visit_Let = visit_LetStmt  # noqa: N815

    def visit_Allocate(self, node: Any) -> None:
        self.vars.append(node.buffer_var)
        self.visit_children(node)


def verify_ssa(func: Any) -> bool:
    """Return whether each variable of a function is defined once."""
    definitions = _Definitions()
    definitions.visit(func.body)
    found = [*func.params, *definitions.vars]
    return len(set(found)) == len(found)


class _HostAccesses(tir.Visitor):
    """Whether the buffers of parameters are accessed outside of threads."""

    def __init__(self, pointers: list[Any]) -> None:
        self.found = False
        self._pointers = pointers

    def visit_For(self, node: Any) -> None:
        if node.thread_binding is None:
            self.visit_children(node)

    def visit_AttrStmt(self, node: Any) -> None:
        if node.attr_key not in ("thread_extent", "virtual_thread"):
            self.visit_children(node)

    def visit_BufferLoad(self, node: Any) -> None:
        self.found |= any(node.buffer.data.same_as(each) for each in self._pointers)
        self.visit_children(node)

    visit_BufferStore = visit_BufferLoad  # noqa: N815


def verify_memory(func: Any) -> bool:
    """Return whether only threads of the device access the buffers of a function for a device."""
    target = (func.attrs or {}).get("target")
    kind = str(getattr(target, "value", target)).partition(" ")[0]
    if target is None or kind in ("llvm", "c"):
        return True
    pointers = [buffer.data for buffer in func.buffer_map.values()] + list(func.params)
    accesses = _HostAccesses(pointers)
    accesses.visit(func.body)
    return not accesses.found


class _Kernels(tir.Visitor):
    """What each kernel of a function needs, as the greatest of all."""

    def __init__(self) -> None:
        self.needs: dict[str, int] = {}
        self.kernels = 0
        self._threads: dict[str, int] | None = None
        self._memory: dict[str, int] = {}

    def visit_For(self, node: Any) -> None:
        if node.thread_binding is None:
            self.visit_children(node)
        else:
            self._thread(str(node.thread_binding.thread_tag), node.extent, node)

    def visit_AttrStmt(self, node: Any) -> None:
        if node.attr_key in ("thread_extent", "virtual_thread"):
            self._thread(str(node.node.thread_tag), node.value, node)
        else:
            self.visit_children(node)

    def _thread(self, tag: str, extent: Any, node: Any) -> None:
        is_kernel = self._threads is None
        if self._threads is None:
            self._threads, self._memory = {}, {}
        self._threads[tag] = int(extent) if isinstance(extent, tir.IntImm) else 1
        self.visit_children(node)
        if is_kernel:
            self._end_kernel(self._threads)
            self._threads = None

    def _end_kernel(self, threads: dict[str, int]) -> None:
        self.kernels += 1
        together = 1
        for tag, extent in threads.items():
            if tag.startswith("threadIdx"):
                together *= extent
                self._need(f"max_thread_{tag[-1]}", extent)
            elif tag.startswith(("vthread", "cthread")):
                self._need("max_vthread", extent)
        self._need("max_threads_per_block", together)
        for scope, size in self._memory.items():
            self._need(f"max_{scope}_memory_per_block", size)

    def _need(self, what: str, amount: int) -> None:
        self.needs[what] = max(self.needs.get(what, 0), amount)

    def visit_Allocate(self, node: Any) -> None:
        self._allocate(node.buffer_var.pointer.storage_scope, node.dtype, node.extents)
        self.visit_children(node)

    def visit_Block(self, node: Any) -> None:
        for buffer in node.alloc_buffers:
            self._allocate(buffer.scope(), buffer.dtype, buffer.shape)
        self.visit_children(node)

    def _allocate(self, scope: str, dtype: Any, extents: Any) -> None:
        size = bytes_of(dtype)
        for extent in extents:
            size *= int(extent) if isinstance(extent, tir.IntImm) else 1
        kind = scope.partition(".")[0]
        self._memory[kind] = self._memory.get(kind, 0) + size

    def visit_BufferLoad(self, node: Any) -> None:
        self._vector(node.dtype)
        self.visit_children(node)

    def visit_BufferStore(self, node: Any) -> None:
        self._vector(node.value.dtype)
        self.visit_children(node)

    def _vector(self, dtype: Any) -> None:
        if "x" in str(dtype):
            self._need("max_vector_bytes", bytes_of(dtype))


def verify_gpu_code(func: Any, constraints: Mapping[str, int]) -> bool:
    """Return whether the kernels of a function keep to limits.

    Parameters
    ----------
    func
        Lowered, or with loops that are bound to threads.
    constraints
        Limits by name: ``max_threads_per_block``, ``max_thread_x`` (``y``, ``z``), ``max_vthread``,
        ``max_shared_memory_per_block``, ``max_local_memory_per_block``, ``max_vector_bytes``,
        ``max_kernels``.

    Raises
    ------
    ValueError
        A limit has another name.
    """
    kernels = _Kernels()
    kernels.visit(func.body)
    needs = {**kernels.needs, "max_kernels": kernels.kernels}
    known = {"max_threads_per_block", "max_thread_x", "max_thread_y", "max_thread_z",
             "max_vthread", "max_shared_memory_per_block", "max_local_memory_per_block",
             "max_vector_bytes", "max_kernels"}  # fmt: skip
    for name in constraints:
        if name not in known:
            raise ValueError(f"Invalid check item: {name}; there are {', '.join(sorted(known))}")
    return all(needs.get(name, 0) <= int(limit) for name, limit in constraints.items())


_EFFECTS = ("call_extern", "call_packed", "call_cpacked", "call_llvm_intrin", "call_with", "tvm_",
            "ptx_", "mma_", "atomic_", "dma_", "simdgroup_", "texture2d_store", "prefetch",
            "start_profile", "end_profile", "create_barriers")  # fmt: skip


class _Effects(tir.Visitor):
    """What a function does besides what it returns."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._own: list[Any] = []

    def visit_Allocate(self, node: Any) -> None:
        self._own.append(node.buffer_var)
        self.visit_children(node)

    def visit_Block(self, node: Any) -> None:
        self._own += [buffer.data for buffer in node.alloc_buffers]
        self.visit_children(node)

    def visit_BufferStore(self, node: Any) -> None:
        if not any(node.buffer.data.same_as(each) for each in self._own):
            self.found.append(f"it writes {node.buffer.name}")
        self.visit_children(node)

    def visit_Call(self, node: Any) -> None:
        name = str(node.op).removeprefix("tir.")
        if name.startswith(_EFFECTS):
            self.found.append(f"it calls {name}")
        self.visit_children(node)


def _effects(func: Any) -> list[str]:
    effects = _Effects()
    effects.visit(func.body)
    return effects.found


def is_pure_function(func: Any) -> bool:
    """Return whether a function does nothing but return a value."""
    return not _effects(func)


def assert_pure_function(func: Any) -> bool:
    """Return True, or raise an AssertionError that says what else a function does."""
    found = _effects(func)
    if found:
        raise AssertionError(f"AssertionError: the function is not pure: {found[0]}")
    return True


class _OutOfBounds(tir.Visitor):
    """Accesses of which an index leaves its buffer in an iteration that surely runs."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._corners: list[dict[Any, Any]] = [{}, {}]
        self._is_sure = True
        self._analyzer = arith.Analyzer()

    def visit_For(self, node: Any) -> None:
        ends = (node.min, node.min + node.extent - 1)
        for corner, end in zip(self._corners, ends):
            corner[node.loop_var] = tir.substitute(end, corner) if corner else end
        self._analyzer.bind(node.loop_var, tir.Range(node.min, node.extent), True)
        self.visit_children(node)

    def visit_IfThenElse(self, node: Any) -> None:
        before, self._is_sure = self._is_sure, False
        self.visit_children(node)
        self._is_sure = before

    def visit_BlockRealize(self, node: Any) -> None:
        for axis, value in zip(node.block.iter_vars, node.iter_values):
            for corner in self._corners:
                corner[axis.var] = tir.substitute(value, corner) if corner else value
        is_guarded = not (isinstance(node.predicate, tir.IntImm) and int(node.predicate) == 1)
        before, self._is_sure = self._is_sure, self._is_sure and not is_guarded
        self.visit_children(node)
        self._is_sure = before

    def visit_BufferRegion(self, node: Any) -> None:
        """Leave out what a block declares: its body says what it accesses."""

    def visit_BufferLoad(self, node: Any) -> None:
        for axis, (index, size) in enumerate(zip(node.indices, node.buffer.shape)):
            if self._leaves(index, size):
                self.found.append(f"index {index!r} of axis {axis} of buffer {node.buffer.name}")
        self.visit_children(node)

    visit_BufferStore = visit_BufferLoad  # noqa: N815

    def _leaves(self, index: Any, size: Any) -> bool:
        if "x" in str(index.dtype):
            return False  # A vector of indices.
        proves = self._analyzer.can_prove
        corners = [tir.substitute(index, c) if c else index for c in self._corners]
        checked = [index, *corners] if self._is_sure else [index]
        return any(proves(each >= size) or proves(each < 0) for each in checked)


def OOBChecker() -> Pass:
    """Return the pass that raises a ScheduleError where an access surely leaves its buffer."""

    def run(mod: Any, _: Any = None) -> Any:
        for func in mod.functions:
            checker = _OutOfBounds()
            checker.visit(func.body)
            if checker.found:
                raise ls.ScheduleError(f"Out of bounds memory access: {checker.found[0]}")
        return mod

    return Pass("OOBChecker", run)
