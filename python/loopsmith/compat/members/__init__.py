# SPDX-License-Identifier: Apache-2.0
"""Attributes that programs expect of nodes: while `tvm` is installed, the classes have them."""

from __future__ import annotations

from typing import Any

from loopsmith import ScheduleError, _core, te, tir
from loopsmith.script.ir_builder import IRBuilder

from .buffers import access_ptr, elem_offset, offset_of, vload, vstore
from .expressions import (
    astype,
    broadcast_lanes,
    chosen,
    element_type,
    equal,
    lanes_of,
    negated,
    op_of,
    ramp_lanes,
    same_text,
    shifted,
    truth,
    type_annotation,
)
from .functions import (
    allocate_body,
    attrs,
    attrs_of_op,
    body,
    indexed,
    name_of_function,
    specialize,
    with_attr,
)
from .index_maps import inverse, is_equivalent, map_tensor, non_surjective_inverse
from .kinds import axis_kind, loop_kind, ret_type, step_kind
from .modules import (
    Functions,
    delete_function,
    get_attr,
    get_global_var,
    has_function,
    module_with_attr,
    module_with_attrs,
    module_without_attr,
    renamed,
    set_function,
    update,
)
from .refusals import text_of_refusal
from .schedules import (
    annotate_buffer_access,
    decisions,
    func_working_on,
    get,
    get_block,
    get_output_blocks,
    remove_rv,
    sref,
    state,
    transform_layout,
)
from .texts import script, show

_MISSING = object()
_before: list[tuple[type, str, Any]] = []
_MEMBERS: list[tuple[type, str, Any]] = [
    (tir.Node, "script", script),
    (tir.Node, "show", show),
    (tir.SeqStmt, "__getitem__", lambda stmt, place: stmt.seq[place]),
    (tir.SeqStmt, "__len__", lambda stmt: len(stmt.seq)),
    (tir.SeqStmt, "size", property(lambda stmt: len(stmt.seq))),
    (tir.Expr, "__str__", tir.Expr.__repr__),
    (tir.Expr, "astype", astype),
    (tir.Expr, "equal", equal),
    (tir.Expr, "asobject", lambda expr: expr),
    (tir.ExprRV, "__rfloordiv__", chosen("__floordiv__")),
    (tir.ExprRV, "__rmod__", chosen("__mod__")),
    (tir.ExprRV, "__radd__", chosen("__add__")),
    (tir.ExprRV, "__rsub__", chosen("__sub__")),
    (tir.ExprRV, "__rmul__", chosen("__mul__")),
    (tir.Expr, "__bool__", truth),
    (tir.Expr, "__neg__", negated),
    (tir.Expr, "__lshift__", shifted("__lshift__")),
    (tir.Expr, "__rshift__", shifted("__rshift__")),
    (tir.StringImm, "__eq__", same_text),
    (tir.StringImm, "__hash__", lambda text: hash(text.value)),
    (tir.Call, "op", property(op_of)),
    (tir.Ramp, "lanes", property(lambda node: lanes_of(ramp_lanes.__get__(node)))),
    (tir.Broadcast, "lanes", property(lambda node: lanes_of(broadcast_lanes.__get__(node)))),
    (tir.Var, "type_annotation", property(type_annotation)),
    (tir.PointerType, "element_type", property(element_type)),
    (tir.Buffer, "READ", 1),
    (tir.Buffer, "WRITE", 2),
    (tir.Buffer, "elem_offset", property(elem_offset)),
    (tir.Buffer, "offset_of", offset_of),
    (tir.Buffer, "vload", vload),
    (tir.Buffer, "vstore", vstore),
    (tir.Buffer, "access_ptr", access_ptr),
    (tir.IndexMap, "inverse", inverse),
    (tir.IndexMap, "is_equivalent_to", is_equivalent),
    (tir.IndexMap, "map_ndarray", map_tensor),
    (tir.IndexMap, "map_tensor", map_tensor),
    (tir.IndexMap, "non_surjective_inverse", non_surjective_inverse),
    (_core.ConstIntBound, "POS_INF", 2**63 - 1),
    (_core.ConstIntBound, "NEG_INF", 1 - 2**63),
    (tir.For, "kind", property(loop_kind)),
    (tir.IterVar, "iter_type", property(axis_kind)),
    (_core.IterMapResult, "__len__", lambda result: len(result.indices)),
    (_core.IterMapResult, "__getitem__", lambda result, place: result.indices[place]),
    (tir.Trace, "decisions", property(decisions)),
    (_core.Instruction, "kind", property(step_kind)),
    (IRBuilder, "same_as", lambda builder, other: builder is other),
    (tir.IRModule, "functions", property(Functions)),
    (tir.IRModule, "get_global_var", get_global_var),
    (tir.IRModule, "get_global_vars", lambda module: list(module.names)),
    (tir.IRModule, "__setitem__", set_function),
    (tir.IRModule, "update_func", set_function),
    (tir.IRModule, "update", update),
    (tir.IRModule, "__delitem__", delete_function),
    (tir.IRModule, "__contains__", has_function),
    (tir.IRModule, "with_attr", module_with_attr),
    (tir.IRModule, "with_attrs", module_with_attrs),
    (tir.IRModule, "without_attr", module_without_attr),
    (tir.IRModule, "get_attr", get_attr),
    (tir.IRModule, "replace_global_vars", renamed),
    (tir.PrimFunc, "with_attr", with_attr),
    (tir.PrimFunc, "with_attrs", with_attr),
    (tir.PrimFunc, "attrs", property(attrs)),
    (tir.PrimFunc, "body", property(body)),
    (tir.Allocate, "body", property(allocate_body)),
    (tir.PrimFunc, "ret_type", property(ret_type)),
    (tir.PrimFunc, "__getattr__", name_of_function),
    (te.ComputeOp, "attrs", property(attrs_of_op)),
    (te.Tensor, "__getitem__", indexed("__getitem__")),
    (te.Tensor, "__call__", indexed("__call__")),
    (tir.PrimFunc, "specialize", specialize),
    (tir.Schedule, "transform_layout", transform_layout),
    (tir.Schedule, "annotate_buffer_access", annotate_buffer_access),
    (tir.Schedule, "get_block", get_block),
    (tir.Schedule, "get_sblock", get_block),
    (tir.Schedule, "get_output_blocks", get_output_blocks),
    (tir.Schedule, "state", property(state)),
    (tir.Schedule, "get_sref", sref),
    (tir.Schedule, "get", get),
    (tir.Schedule, "remove_rv", remove_rv),
    (tir.Schedule, "func_working_on", property(func_working_on)),
    (ScheduleError, "__str__", text_of_refusal),
]


def install() -> None:
    """Give the classes these attributes, in this process."""
    from ..tvm import te_schedule

    for cls, name, value in [*_MEMBERS, *te_schedule.MEMBERS]:
        _before.append((cls, name, vars(cls).get(name, _MISSING)))
        setattr(cls, name, value)


def uninstall() -> None:
    """Take them away again."""
    while _before:
        cls, name, value = _before.pop()
        if value is _MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, value)
