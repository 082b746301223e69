# SPDX-License-Identifier: Apache-2.0
"""Methods of schedules."""

from __future__ import annotations

import functools
from typing import Any

import loopsmith.arith as arith
from loopsmith import ScheduleError, tir

from .expressions import choosing, core_get
from .modules import get_global_var


def state(sch: Any) -> Any:
    from ..tvm.tir.schedule.state import state_of

    return state_of(sch)


def sref(sch: Any, rv_or_stmt: Any) -> Any:
    from ..tvm.tir.schedule.state import sref_of

    return sref_of(sch, rv_or_stmt)


_forgotten: list[tuple[Any, Any]] = []


def remove_rv(sch: Any, rv: Any) -> None:
    core_get(sch, rv)
    _forgotten.append((sch, rv))


def get(sch: Any, rv: Any) -> Any:
    if any(sch is owner and rv is each for owner, each in _forgotten):
        raise IndexError("the handle was removed from the schedule")
    if hasattr(rv, "stmt"):
        return rv.stmt
    if hasattr(rv, "letter"):  # It was made by hand.
        raise IndexError(f"Cannot find corresponding {type(rv).__name__}: no schedule has made it")
    return core_get(sch, rv)


_core_get_block: Any = tir.Schedule.get_block


def get_block(sch: Any, name: str, func_name: str | None = None) -> Any:
    is_open = func_name is None and len(sch.mod) > 1 and _working_on.__get__(sch) is None
    if is_open and all(each.name_hint != "main" for each in sch.mod.names):
        known = ", ".join(each.name_hint for each in sch.mod.names)
        raise ScheduleError(
            "get_block: the schedule does not know which function to be working on; "
            f"name one by work_on or func_name: {known}"
        )
    return _core_get_block(sch, name, func_name)


_core_get_output_blocks: Any = tir.Schedule.get_output_blocks


def get_output_blocks(sch: Any, scope_block: Any = "root") -> Any:
    return _core_get_output_blocks(sch, scope_block)


class Decision(int):
    """A number that was drawn, which is its own `value`."""

    value = property(int)


_core_decisions: Any = vars(tir.Trace)["decisions"]


def decisions(trace: Any) -> dict[Any, Any]:
    drawn = _core_decisions.__get__(trace)
    return {step: Decision(one) if type(one) is int else one for step, one in drawn.items()}


_core_transform_layout: Any = tir.Schedule.transform_layout


def _buffer_at(sch: Any, block: Any, buffer: Any) -> Any:
    """Return the buffer of a block that is meant by its name, or by its place among regions."""
    stmt = core_get(sch, sch.get_block(block) if isinstance(block, str) else block)
    if isinstance(buffer, str):
        regions = [each for each in (*stmt.reads, *stmt.writes) if each.buffer.name == buffer]
        return regions[0].buffer if regions else None
    if not isinstance(buffer, tuple):
        return buffer if isinstance(buffer, tir.Buffer) else None
    regions = stmt.reads if buffer[0] == "read" else stmt.writes
    return regions[buffer[1]].buffer if buffer[1] < len(regions) else None


def _is_of_type(value: Any, dtype: Any) -> bool:
    """Return whether a number is of a type without a conversion; others are not judged here."""
    if isinstance(value, tir.Expr):
        return bool(value.dtype == dtype)
    return not isinstance(value, int) or not str(dtype).startswith("float")


def transform_layout(
    sch: Any, block: Any, buffer: Any, index_map: Any, *args: Any, **kwargs: Any
) -> None:
    separators: list[int] = []
    meant = _buffer_at(sch, block, buffer)
    if callable(index_map):
        from ..tvm.tir.nodes import IndexMap

        ndim = None if meant is None else len(meant.shape)
        dtype = "int32" if not ndim else str(meant.shape[0].dtype)
        choosing.append(sch)
        try:
            made, separators = IndexMap.from_func_with_separators(
                index_map, ndim, index_dtype=dtype
            )
        except ValueError:
            made, separators = index_map, []
        finally:
            choosing.pop()
        index_map = made
    pad_value = args[0] if args else kwargs.get("pad_value")
    if meant is not None and not _is_of_type(pad_value, meant.dtype):
        raise ScheduleError(
            f"transform_layout: pad_value is {pad_value!r}, buffer {meant.name} is {meant.dtype}"
        )
    _core_transform_layout(sch, block, buffer, index_map, *args, **kwargs)
    if separators:
        sch.set_axis_separator(block, buffer, separators)


_core_annotate_access: Any = tir.Schedule.annotate_buffer_access


def annotate_buffer_access(
    sch: Any, block: Any, buffer_index: Any, buf_type: Any, gen_new_ranges: Any
) -> None:
    """Take ranges as pairs of a begin and an end, or as flat lists of them."""

    @functools.wraps(gen_new_ranges)
    def flat(*indices: Any) -> list[Any]:
        ends: list[Any] = []
        for each in gen_new_ranges(*indices):
            if isinstance(each, tir.Range):
                ends += [each.min, each.min + each.extent]
            else:
                ends += list(each) if isinstance(each, (list, tuple)) else [each]
        return ends

    if callable(gen_new_ranges):
        axes = core_get(sch, sch.get_block(block) if isinstance(block, str) else block).iter_vars
        dtype = str(axes[0].var.dtype) if axes else "int32"
        gen_new_ranges = arith.index_map(flat, len(axes), index_dtype=dtype)
    _core_annotate_access(sch, block, buffer_index, buf_type, gen_new_ranges)


_working_on: Any = vars(tir.Schedule)["func_working_on"]


def func_working_on(sch: Any) -> Any:
    name = _working_on.__get__(sch)
    return None if name is None else get_global_var(sch.mod, name)
