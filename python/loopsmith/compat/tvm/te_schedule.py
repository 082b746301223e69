# SPDX-License-Identifier: Apache-2.0
"""``tvm.te.schedule``: schedules of tensor expressions, with what their stages remember."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import loopsmith.te
from loopsmith import _core, tir

from ..missing import other_names
from .runtime import convert
from .te_bounds import InferBound
from .te_graph import (
    AutoInlineBroadcast,
    AutoInlineElemWise,
    AutoInlineInjective,
    CreateAttachPath,
    CreateReadGraph,
    PostDFSOrder,
    ScanGetBody,
)
from .te_intrinsics import call, create_schedule, is_call
from .tir.nodes import Alias
from .tir.nodes import IterVar as _IterVar

__all__ = [
    "AutoInlineBroadcast",
    "AutoInlineElemWise",
    "AutoInlineInjective",
    "Buffer",
    "CreateAttachPath",
    "CreateReadGraph",
    "Fuse",
    "InferBound",
    "IterVar",
    "PostDFSOrder",
    "ScanGetBody",
    "Schedule",
    "ScheduleOps",
    "Singleton",
    "Split",
    "Stage",
    "create_schedule",
]

Schedule = _core.TeSchedule
Stage = _core.TeStage
Buffer = tir.Buffer


class IterVar(Alias, base=tir.IterVar):
    """An axis; and the numbers of what a stage does with it."""

    make = _IterVar.make
    DataPar, ThreadIndex = _IterVar.DataPar, _IterVar.ThreadIndex
    CommReduce, Ordered, DimInfo = _IterVar.CommReduce, _IterVar.Ordered, _IterVar.DimInfo
    Opaque = _IterVar.Opaque
    Unrolled, Vectorized = _IterVar.Unrolled, _IterVar.Vectorized
    Parallelized, Tensorized = _IterVar.Parallelized, _IterVar.Tensorized


@dataclass(frozen=True)
class Split:
    """An axis is an outer and an inner one."""

    parent: Any
    outer: Any
    inner: Any
    factor: Any = None
    nparts: Any = None


@dataclass(frozen=True)
class Fuse:
    """Two axes are one."""

    outer: Any
    inner: Any
    fused: Any


@dataclass(frozen=True)
class Singleton:
    """An axis of one value that no axis has been made into."""

    iter: Any


@dataclass
class IterVarAttr:
    """What a stage does with an axis."""

    iter_type: Any = IterVar.DataPar
    bind_thread: Any = None
    tensor_intrin: Any = None
    pragma_keys: list[Any] = field(default_factory=list)
    pragma_values: list[Any] = field(default_factory=list)


class _Remembered:
    def __init__(self) -> None:
        self.relations: list[Any] = []
        self.attrs: dict[Any, IterVarAttr] = {}

    def attr(self, axis: Any) -> IterVarAttr:
        return self.attrs.setdefault(axis.var, IterVarAttr())


class IterVarAttrs(Mapping[Any, IterVarAttr]):
    """What a stage does with its axes, by axis."""

    def __init__(self, attrs: dict[Any, IterVarAttr]) -> None:
        self._attrs = attrs

    def __getitem__(self, axis: Any) -> IterVarAttr:
        """Return what is done with an axis."""
        return self._attrs[axis.var]

    def __contains__(self, axis: Any) -> bool:
        """Return whether anything is done with it."""
        return axis.var in self._attrs

    def __iter__(self) -> Any:
        """Return the variables of the axes."""
        return iter(self._attrs)

    def __len__(self) -> int:
        """Return how many axes are meant."""
        return len(self._attrs)


_stages: dict[Any, _Remembered] = {}
atexit.register(_stages.clear)


def _of(stage: Any) -> _Remembered:
    return _stages.setdefault(stage, _Remembered())


_split, _fuse, _tile = Stage.split, Stage.fuse, Stage.tile


def _remember_split(stage: Any, parent: Any, *args: Any, **kwargs: Any) -> Any:
    outer, inner = _split(stage, parent, *args, **kwargs)
    names = ("factor", "nparts")
    given = {**dict(zip(names, args)), **{k: v for k, v in kwargs.items() if k in names}}
    _of(stage).relations.append(Split(parent, outer, inner, **given))
    return outer, inner


def _remember_fuse(stage: Any, *axes: Any) -> Any:
    fused = _fuse(stage, *axes)
    parts = list(axes[0]) if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else list(axes)
    made = Singleton(fused) if not parts else Fuse(parts[0], parts[-1], fused)
    _of(stage).relations.append(made)
    return fused


def _remember_tile(
    stage: Any, x_parent: Any, y_parent: Any, x_factor: Any, y_factor: Any
) -> tuple[Any, Any, Any, Any]:
    made = _tile(stage, x_parent, y_parent, x_factor, y_factor)
    xo, yo, xi, yi = made
    _of(stage).relations += [
        Split(x_parent, xo, xi, factor=x_factor),
        Split(y_parent, yo, yi, factor=y_factor),
    ]
    return made


def _marking(name: str, iter_type: int) -> Any:
    mark = getattr(Stage, name)

    def remembered(stage: Any, var: Any, *args: Any) -> None:
        mark(stage, var, *args)
        _of(stage).attr(var).iter_type = iter_type

    return remembered


_bind, _pragma, _tensorize = Stage.bind, Stage.pragma, Stage.tensorize


def _remember_tensorize(stage: Any, var: Any, tensor_intrin: Any) -> None:
    attrs = _of(stage).attrs.values()
    calls_one = is_call(stage.op) and any(each.tensor_intrin for each in attrs)
    if not calls_one:  # What calls an intrinsic goes on calling it.
        _tensorize(stage, var, tensor_intrin)
    attr = _of(stage).attr(var)
    attr.iter_type, attr.tensor_intrin = IterVar.Tensorized, tensor_intrin


def _remember_bind(stage: Any, ivar: Any, thread_ivar: Any) -> None:
    _bind(stage, ivar, thread_ivar)
    _of(stage).attr(ivar).bind_thread = thread_ivar


_MARKS = {
    "vectorize": IterVar.Vectorized,
    "unroll": IterVar.Unrolled,
    "parallel": IterVar.Parallelized,
}


def _remember_pragma(stage: Any, var: Any, pragma_type: str, pragma_value: Any = None) -> None:
    if pragma_type in _MARKS:
        getattr(stage, pragma_type)(var)
        return
    _pragma(stage, var, pragma_type, pragma_value)
    attr = _of(stage).attr(var)
    attr.pragma_keys.append(tir.StringImm(pragma_type))
    attr.pragma_values.append(convert(pragma_value))


def _buffers_of(intrin: Any) -> list[Any]:
    return [*intrin.in_buffers, *intrin.out_buffers]


MEMBERS: list[tuple[type, str, Any]] = [
    (_core.TeTensorIntrin, "inputs", property(lambda intrin: list(intrin.op.input_tensors))),
    (_core.TeTensorIntrin, "buffers", property(_buffers_of)),
    (_core.TeTensorIntrin, "__call__", call),
    (Stage, "split", _remember_split),
    (Stage, "fuse", _remember_fuse),
    (Stage, "tile", _remember_tile),
    *((Stage, name, _marking(name, kind)) for name, kind in _MARKS.items()),
    (Stage, "tensorize", _remember_tensorize),
    (Schedule, "stage_map", property(lambda sch: {stage.op: stage for stage in sch.stages})),
    (Stage, "bind", _remember_bind),
    (Stage, "pragma", _remember_pragma),
    (Stage, "relations", property(lambda stage: list(_of(stage).relations))),
    (Stage, "iter_var_attrs", property(lambda stage: IterVarAttrs(_of(stage).attrs))),
]
"""Attributes of the classes of Loopsmith, while `tvm` is installed."""


def ScheduleOps(sch: Any, dom_map: Any = None, *_: Any) -> Any:
    """Return the loops of the scheduled program."""
    from .driver import schedule_to_module

    return schedule_to_module(sch)["main"].body


__getattr__ = other_names("tvm.te.schedule", loopsmith.te, tir)
