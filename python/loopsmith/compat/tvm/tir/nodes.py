# SPDX-License-Identifier: Apache-2.0
"""Classes of nodes whose constructors take other arguments in `tvm` than here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.tir.ir_builder import BufferVar

from ...members.kinds import AxisKind, LoopKind

__all__ = [
    "Alias",
    "Allocate",
    "AllocateConst",
    "Block",
    "BufferRealize",
    "For",
    "ForKind",
    "IndexMap",
    "IterVar",
    "MatchBufferRegion",
    "Prefetch",
    "PrimFunc",
    "Range",
    "SizeVar",
    "Var",
    "stmt_list",
    "stmt_seq",
]


class _AliasOf(type):
    """The class of classes that stand for one of Loopsmith: also for `isinstance`."""

    _base: type

    def __new__(
        mcs, name: str, bases: tuple[type, ...], names: dict[str, Any], base: type | None = None
    ) -> Any:
        made = super().__new__(mcs, name, () if base else bases, names)
        if base is not None:
            made._base = base
        return made

    def __init__(cls, name: str, bases: Any, names: Any, base: type | None = None) -> None:
        super().__init__(name, bases, names)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a node of the class of Loopsmith."""
        return cls.make(*args, **kwargs)  # type: ignore[attr-defined]

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls._base)


class Alias(metaclass=_AliasOf, base=object):
    """A class that stands for one of Loopsmith; `make` takes the arguments of `tvm`."""


class ForKind:
    """The kinds of loops, as nodes name them."""

    numbered = tuple(LoopKind(name) for name in LoopKind.numbers)
    SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD_BINDING = numbered


class For(Alias, base=tir.For):
    """A loop."""

    @staticmethod
    def make(
        loop_var: Any,
        min: Any = None,
        extent: Any = None,
        kind: Any = "serial",
        body: Any = None,
        thread_binding: Any = None,
        annotations: Mapping[str, Any] | None = None,
        span: Any = None,
        *,
        min_val: Any = None,
    ) -> tir.For:
        """Return the loop; `kind` is one of `ForKind`, or its number.

        Where it begins is called `min_val` before 0.14.

        Raises
        ------
        UserError
            A bound is of a wider type than the variable.
        """
        min = min_val if min is None else min

        def largest(dtype: str) -> Any:
            value: Any = tir.max_value(dtype)
            return value.value

        for bound in (min, extent):
            if isinstance(bound, tir.Expr) and largest(bound.dtype) > largest(loop_var.dtype):
                raise ls.UserError(
                    f"For: {bound} is {bound.dtype}, and loop {loop_var.name} {loop_var.dtype}"
                )
        return tir.For(
            loop_var,
            min,
            extent,
            kind=ForKind.numbered[kind] if isinstance(kind, int) else kind,
            thread_binding=thread_binding,
            annotations=annotations or {},
            body=body,
        )


class PrimFunc(Alias, base=tir.PrimFunc):
    """A function."""

    @staticmethod
    def make(
        params: Sequence[Any],
        body: tir.Stmt,
        ret_type: Any = None,
        buffer_map: Mapping[Any, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: Any = None,
    ) -> tir.PrimFunc:
        """Return the function; a buffer among the parameters is a handle and its buffer."""
        named: list[tir.Var] = []
        buffers: list[tir.Buffer | None] = []
        known = list((buffer_map or {}).items())
        for param in params:
            if isinstance(param, tir.Buffer):
                named.append(tir.var(f"{param.name}_handle", "handle"))
                buffers.append(param)
            else:
                param = param.data if isinstance(param, BufferVar) else param
                named.append(param)
                buffers.append(next((b for key, b in known if key.same_as(param)), None))
        return tir.PrimFunc(
            params=named,
            buffer_map=buffers,
            ret_type=ret_type or "void",
            attrs=attrs or {},
            body=body,
        )


class Range(Alias, base=tir.Range):
    """An interval of integers: ``Range(begin, end)``, or ``Range(extent)`` from 0 on."""

    @staticmethod
    def make(begin: Any, end: Any = None, span: Any = None) -> tir.Range:
        """Return the interval from `begin` to before `end`."""
        if end is None:
            return tir.Range(0, begin)
        if isinstance(end, tir.Expr) and isinstance(begin, int):
            begin = tir.const(begin, end.dtype)
        elif isinstance(begin, tir.Expr) and isinstance(end, int):
            end = tir.const(end, begin.dtype)
        simple = ls.arith.Analyzer().simplify(tir.const(end) - begin)
        return tir.Range(begin, simple)

    @staticmethod
    def make_by_min_extent(min_value: Any, extent: Any) -> tir.Range:
        """Return the interval that begins at `min_value` and has `extent` numbers."""
        return tir.Range(min_value, extent)

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: Any = None) -> tir.Range:
        """Return the interval that begins at `min_value` and has `extent` numbers."""
        return tir.Range(min_value, extent)


class Var(Alias, base=tir.Var):
    """A variable; of a pointer type where `dtype` is one."""

    @staticmethod
    def make(name: str, dtype: Any = "int32", span: Any = None) -> tir.Var:
        """Return a new variable."""
        if isinstance(dtype, tir.PointerType):
            return tir.Var(name, pointer=dtype)
        return tir.Var(name, _full_name(dtype))


def _full_name(dtype: Any) -> str:
    from .vectors import dtype_of

    return dtype_of(dtype)


class SizeVar(Alias, base=tir.Var):
    """A variable for a size, which is never negative."""

    @staticmethod
    def make(name: str, dtype: str = "int32", span: Any = None) -> tir.Var:
        """Return a new variable."""
        return tir.Var(name, dtype, is_size="int" in dtype)


_axis_kinds = tuple(AxisKind(name) for name in AxisKind.numbers)


class IterVar(Alias, base=tir.IterVar):
    """An axis."""

    DataPar, ThreadIndex, CommReduce, Ordered, Opaque = _axis_kinds
    DimInfo = Opaque
    # What a stage of a schedule does with an axis.
    Unrolled, Vectorized, Parallelized, Tensorized = range(5, 9)

    @staticmethod
    def make(
        dom: Any, var: Any, iter_type: int | str, thread_tag: str = "", span: Any = None
    ) -> tir.IterVar:
        """Return the axis; `dom` is a range, a pair or None, `var` a variable or its name."""
        if isinstance(dom, (list, tuple)):
            dom = Range(*dom)
        if isinstance(var, str):
            var = tir.Var(var, dom.extent.dtype if dom is not None else "int32")
        kind = _axis_kinds[iter_type] if isinstance(iter_type, int) else iter_type
        return tir.IterVar(dom=dom, var=var, iter_type=kind, thread_tag=thread_tag)


class Block(Alias, base=tir.Block):
    """A block."""

    @staticmethod
    def make(
        iter_vars: Sequence[Any],
        reads: Sequence[Any],
        writes: Sequence[Any],
        name_hint: str,
        body: Any,
        init: Any = None,
        alloc_buffers: Sequence[Any] | None = None,
        match_buffers: Sequence[Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        span: Any = None,
    ) -> tir.Block:
        """Return the block."""
        return tir.Block(
            iter_vars=iter_vars,
            reads=[region_of(each) for each in reads],
            writes=[region_of(each) for each in writes],
            name_hint=name_hint,
            alloc_buffers=alloc_buffers or (),
            match_buffers=match_buffers or (),
            annotations=annotations or {},
            init=init,
            body=body,
        )


class Allocate(Alias, base=tir.Allocate):
    """Memory for a statement."""

    @staticmethod
    def make(
        buffer_var: Any,
        dtype: str,
        extents: Sequence[Any],
        condition: Any,
        body: Any,
        annotations: Mapping[str, Any] | None = None,
        span: Any = None,
    ) -> tir.Allocate:
        """Return the statement with its memory."""
        return tir.Allocate(
            buffer_var, dtype, extents, condition, annotations=annotations or {}, body=body
        )


class MatchBufferRegion(Alias, base=tir.MatchBufferRegion):
    """A part of a buffer under another name."""

    @staticmethod
    def make(buffer: Any, source: Any, span: Any = None) -> tir.MatchBufferRegion:
        """Return the view; `source` may be written as ``A[0:8, 4]``."""
        return tir.MatchBufferRegion(buffer=buffer, source=region_of(source))


def region_of(part: Any) -> Any:
    """Return a region that may be written as an element or as all of a buffer."""
    if isinstance(part, tir.BufferLoad):
        return tir.BufferRegion(part.buffer, [tir.Range(each, 1) for each in part.indices])
    if isinstance(part, tir.Buffer):
        return tir.BufferRegion(part, [tir.Range(0, size) for size in part.shape])
    return part


class BufferRealize(Alias, base=tir.Allocate):
    """Memory for a buffer, all of it: an `Allocate` here, and the buffer declared in it."""

    @staticmethod
    def make(
        buffer: tir.Buffer, bounds: Sequence[Any], condition: Any, body: Any, span: Any = None
    ) -> tir.Allocate:
        """Return the statement with its memory; the bounds say how large it is."""
        parts = [Range.make(*each) if isinstance(each, tuple) else each for each in bounds]
        extents = [each.extent for each in parts]
        return tir.Allocate(
            buffer.data,
            buffer.dtype,
            extents,
            tir.const(condition, "bool") if isinstance(condition, (bool, int)) else condition,
            body=tir.DeclBuffer(buffer, body),
        )


class AllocateConst(Alias, base=tir.AllocateConst):
    """Constants in memory for a statement."""

    @staticmethod
    def make(
        buffer_var: Any,
        dtype: str,
        extents: Sequence[Any],
        data_or_idx: Any,
        body: Any,
        annotations: Mapping[str, Any] | None = None,
        span: Any = None,
    ) -> tir.AllocateConst:
        """Return the statement with its constants, an array of any kind."""
        values = data_or_idx.numpy() if hasattr(data_or_idx, "numpy") else data_or_idx
        return tir.AllocateConst(
            buffer_var, dtype, extents, values, annotations=annotations or {}, body=body
        )


class Prefetch(Alias, base=tir.Prefetch):
    """Asks for a part of a buffer ahead of its use; without bounds, for all of it."""

    @staticmethod
    def make(buffer: tir.Buffer, bounds: Sequence[Any], span: Any = None) -> tir.Prefetch:
        """Return the statement."""
        parts = list(bounds) or [tir.Range(0, size) for size in buffer.shape]
        return tir.Prefetch(buffer, parts)


def stmt_seq(*args: Any) -> tir.Stmt:
    """Return statements one after the other; an expression is evaluated."""
    stmts = [arg if isinstance(arg, tir.Stmt) else tir.Evaluate(arg) for arg in args]
    return stmts[0] if len(stmts) == 1 else tir.SeqStmt(stmts)


def stmt_list(stmt: Any) -> list[Any]:
    """Return the statements of a sequence, or the statement alone."""
    return list(stmt.seq) if isinstance(stmt, tir.SeqStmt) else [stmt]


class IndexMap(Alias, base=tir.IndexMap):
    """A map from indices to indices."""

    AXIS_SEPARATOR = te.AXIS_SEPARATOR
    """Among the indices of a function: there, a new axis of the flattened buffer begins."""

    @staticmethod
    def from_func_with_separators(
        mapping_function: Any,
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[tir.IndexMap, list[int]]:
        """Return the map that a function computes, and before which indices axes begin."""
        return te.layouts.separated_map(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )

    @staticmethod
    def make(initial_indices: Any, final_indices: Any, inverse_index_map: Any = None) -> Any:
        """Return the map."""
        return tir.IndexMap(initial_indices, final_indices, inverse_index_map)

    @staticmethod
    def from_func(
        mapping_function: Any,
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> tir.IndexMap:
        """Return the map that a function of Python computes."""
        return ls.arith.index_map(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
