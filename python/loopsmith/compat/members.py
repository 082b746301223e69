# SPDX-License-Identifier: Apache-2.0
"""Attributes that programs expect of nodes: while `tvm` is installed, the classes have them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import loopsmith.arith as arith
from loopsmith import BoundsError, ScheduleError, Target, UserError, build, te, tir
from loopsmith.ir import make_module, structural_equal

from .missing import MissingName

_MISSING = object()
_before: list[tuple[type, str, Any]] = []


# ---- Expressions ----


_core_bool: Any = tir.Expr.__bool__


def _truth(expr: Any) -> bool:
    try:
        return bool(_core_bool(expr))
    except UserError as error:
        raise ValueError(str(error)) from error


def _equal(expr: Any, other: Any) -> Any:
    """Return whether two expressions have one structure; else the comparison of their values."""
    return True if structural_equal(expr, tir.const(other)) else expr == other


_choosing: list[Any] = []
"""The schedules for which index maps are being made, the last one innermost."""


def _chosen(operator: str) -> Any:
    """Return the operator of an expression and a number that a schedule has chosen."""

    def applied(number: Any, expr: Any) -> Any:
        if not _choosing:
            return NotImplemented
        return getattr(expr, operator)(_core_get(_choosing[-1], number))

    return applied


class OpName(str):
    """The name of an intrinsic, which is also the intrinsic."""

    @property
    def name(self) -> str:
        """The name, in the space ``tir``."""
        return f"tir.{self}"

    def same_as(self, other: Any) -> bool:
        """Return whether both are one intrinsic."""
        return str(other).removeprefix("tir.") == str(self)


_call_op: Any = vars(tir.Call)["op"]
_ramp_lanes: Any = vars(tir.Ramp)["lanes"]
_broadcast_lanes: Any = vars(tir.Broadcast)["lanes"]
_functions: Any = vars(tir.IRModule)["functions"]
_is_element = 0x8000


def _op_of(call: Any) -> OpName:
    return OpName(_call_op.__get__(call))


def lanes_of(lanes: int) -> Any:
    """Return a number of lanes as an expression; of scalable vectors, a multiple of vscale."""
    count = tir.const(lanes & ~_is_element, "int32")
    return tir.Mul(tir.vscale(), count) if lanes & _is_element else count


def _type_annotation(var: Any) -> Any:
    from .tvm.ir import PrimType

    return PrimType(str(var.dtype)) if var.pointer is None else var.pointer


def _element_type(pointer: Any) -> Any:
    from .tvm.ir import PrimType

    return PrimType(str(pointer.element))


def _shifted(operator: str) -> Any:
    shift: Any = vars(tir.Expr)[operator]

    def shifted(a: Any, b: Any) -> Any:
        amount = getattr(b, "value", b)
        bits = "".join(c for c in str(a.dtype).partition("x")[0] if c.isdigit())
        if isinstance(amount, int) and bits and not 0 <= amount < int(bits):
            raise UserError(
                f"Shift amount must be non-negative and less than {bits} for type {a.dtype}"
            )
        return shift(a, b)

    return shifted


# ---- Buffers ----


def _offset_of(buffer: Any, indices: Any) -> list[Any]:
    if buffer.axis_separators:
        raise UserError("offset_of: the buffer has more than one physical axis")
    return [arith.Analyzer().simplify(_core_offset(buffer, list(indices)))]


def _vload(buffer: Any, begin: Any, dtype: str | None = None, predicate: Any = None) -> Any:
    return tir.BufferLoad(buffer, _vector_indices(buffer, begin, dtype), predicate=predicate)


def _vstore(buffer: Any, begin: Any, value: Any, predicate: Any = None) -> Any:
    stored = tir.const(value, buffer.dtype) if isinstance(value, (int, float)) else value
    indices = _vector_indices(buffer, begin, str(stored.dtype))
    return tir.BufferStore(buffer, stored, indices, predicate=predicate)


def _vector_indices(buffer: Any, begin: Any, dtype: str | None) -> list[Any]:
    indices = list(begin) if isinstance(begin, (list, tuple)) else [begin]
    lanes = _lanes_in(dtype or buffer.dtype) // _lanes_in(buffer.dtype)
    if lanes > 1:
        last = indices[-1]
        indices[-1] = tir.Ramp(last, tir.const(1, getattr(last, "dtype", "int32")), lanes)
    return indices


def _lanes_in(dtype: Any) -> int:
    _, _, lanes = str(dtype).rpartition("x")
    return int(lanes) if lanes.isdigit() and "x" in str(dtype) else 1


_core_offset = tir.Buffer.offset_of
_core_access_ptr = tir.Buffer.access_ptr


def _access_ptr(
    buffer: Any,
    access_mask: Any,
    ptr_type: str = "handle",
    content_lanes: int = 1,
    offset: Any = 0,
    extent: Any = None,
) -> Any:
    if isinstance(access_mask, str):
        known = {"r": 1, "w": 2}
        for letter in access_mask:
            if letter not in known:
                raise ValueError(f"Unknown access_mask {access_mask}")
    if extent is None and len(buffer.strides) > 0:
        # All from the first element to where the outermost dimension ends.
        extent = buffer.strides[0] * buffer.shape[0] - offset
    return _core_access_ptr(buffer, access_mask, ptr_type, content_lanes, offset, extent)


# ---- Modules ----


class Functions(list[Any]):
    """The functions of a module, as a list and as a map from their names."""

    def __init__(self, module: Any) -> None:
        super().__init__(_functions.__get__(module))
        self._names = list(module.names)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Return names and functions."""
        return zip(self._names, self)

    def keys(self) -> list[Any]:
        """Return the names."""
        return self._names

    def values(self) -> list[Any]:
        """Return the functions."""
        return list(self)

    def __getitem__(self, key: Any) -> Any:
        """Return a function by its place or its name."""
        if isinstance(key, (int, slice)):
            return super().__getitem__(key)
        name = getattr(key, "name_hint", key)
        for each, func in self.items():
            if each.name_hint == name:
                return func
        raise KeyError(name)


# ---- Printing ----

_core_script: Any = tir.Node.script
_core_show: Any = tir.Node.show

# What programs may say of the text that does not change what it means.
_SHAPES_OF_TEXT = {
    "name",
    "indent_spaces",
    "print_line_numbers",
    "num_context_lines",
    "obj_to_underline",
    "obj_to_annotate",
}
_WITHOUT_MEANING = {
    "show_meta",
    "ir_prefix",
    "relax_prefix",
    "module_alias",
    "verbose_expr",
    "syntax_sugar",
    "show_object_address",
    "show_all_struct_info",
    "extra_config",
    "black_format",
    "show_all_ty",
}
_AS_HERE = {
    "prefix": "T",
    "tir_prefix": "T",
    "buffer_dtype": "float32",
    "int_dtype": "int32",
    "float_dtype": None,
    "path_to_underline": None,
    "path_to_annotate": None,
}


def _script(node: Any, *args: Any, **options: Any) -> str:
    """Return a node in the script language; all of it is in the text, so nothing is meta."""
    given = {}
    for option, value in options.items():
        if option in _SHAPES_OF_TEXT:
            if value is not None:
                given[option] = value
        elif option in _AS_HERE:
            if value not in (_AS_HERE[option], "void", None, ()):
                raise MissingName(f"tvm.script({option}={value!r})")
        elif option not in _WITHOUT_MEANING:
            raise TypeError(f"script() got an unexpected keyword argument {option!r}")
    text: str = _core_script(node, *args, **given)
    return text


def _show(node: Any, style: str | None = None, **options: Any) -> None:
    if options:
        print(_script(node, **options))
    else:
        _core_show(node, style)


# ---- Schedules ----


def _state(sch: Any) -> Any:
    from .tvm.tir.schedule.state import state_of

    return state_of(sch)


def _sref(sch: Any, rv_or_stmt: Any) -> Any:
    from .tvm.tir.schedule.state import sref_of

    return sref_of(sch, rv_or_stmt)


_core_get: Any = tir.Schedule.get
_forgotten: list[tuple[Any, Any]] = []


def _remove_rv(sch: Any, rv: Any) -> None:
    _core_get(sch, rv)
    _forgotten.append((sch, rv))


def _get(sch: Any, rv: Any) -> Any:
    if any(sch is owner and rv is each for owner, each in _forgotten):
        raise IndexError("the handle was removed from the schedule")
    return rv.stmt if hasattr(rv, "stmt") else _core_get(sch, rv)


def _get_global_var(module: Any, name: str) -> Any:
    for each in module.names:
        if each.name_hint == name:
            return each
    raise ValueError(f'Cannot find global var "{name}" in the Module')


def _with_functions(module: Any, changed: Any) -> Any:
    known = [(name.name_hint, func) for name, func in module.items()]
    named = {**dict(known), **{getattr(key, "name_hint", key): func for key, func in changed}}
    return make_module(named, dict(module.attrs or {}))


def _set_function(module: Any, name: Any, func: Any) -> None:
    module.become(_with_functions(module, [(name, func)]))


def _update(module: Any, other: Any) -> None:
    module.become(_with_functions(module, other.items()))


class BadArgument(UserError, ValueError, TypeError):
    """An argument that does not fit, by any class that programs catch."""


class BadIndex(UserError, ValueError, IndexError):
    """Indices that do not fit a tensor, by any class that programs catch."""


def _indexed(method: str) -> Any:
    core: Any = vars(te.Tensor)[method]

    def indexed(tensor: Any, *indices: Any) -> Any:
        from .tvm.te_intrinsics import region_of

        region = region_of(tensor, indices[0]) if method == "__getitem__" else None
        if region is not None:
            return region
        try:
            return core(tensor, *indices)
        except BoundsError as error:
            raise BadIndex(str(error)) from error

    return indexed


_core_specialize: Any = tir.PrimFunc.specialize


def _specialize(func: Any, param_map: Any) -> Any:
    if not param_map:
        return func
    try:
        return _core_specialize(func, param_map)
    except UserError as error:
        raise BadArgument(str(error)) from error


_core_get_block: Any = tir.Schedule.get_block


def _get_block(sch: Any, name: str, func_name: str | None = None) -> Any:
    is_open = func_name is None and len(sch.mod) > 1 and _working_on.__get__(sch) is None
    if is_open and all(each.name_hint != "main" for each in sch.mod.names):
        known = ", ".join(each.name_hint for each in sch.mod.names)
        raise ScheduleError(
            "get_block: the schedule does not know which function to be working on; "
            f"name one by work_on or func_name: {known}"
        )
    return _core_get_block(sch, name, func_name)


_core_transform_layout: Any = tir.Schedule.transform_layout


def _buffer_at(sch: Any, block: Any, buffer: Any) -> Any:
    """Return the buffer of a block that is meant by its name, or by its place among regions."""
    stmt = _core_get(sch, sch.get_block(block) if isinstance(block, str) else block)
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


def _transform_layout(
    sch: Any, block: Any, buffer: Any, index_map: Any, *args: Any, **kwargs: Any
) -> None:
    separators: list[int] = []
    meant = _buffer_at(sch, block, buffer)
    if callable(index_map):
        from .tvm.tir.nodes import IndexMap

        ndim = None if meant is None else len(meant.shape)
        dtype = "int32" if not ndim else str(meant.shape[0].dtype)
        _choosing.append(sch)
        try:
            made, separators = IndexMap.from_func_with_separators(
                index_map, ndim, index_dtype=dtype
            )
        except ValueError:
            made, separators = index_map, []
        finally:
            _choosing.pop()
        index_map = made
    pad_value = args[0] if args else kwargs.get("pad_value")
    if meant is not None and not _is_of_type(pad_value, meant.dtype):
        raise ScheduleError(
            f"transform_layout: pad_value is {pad_value!r}, buffer {meant.name} is {meant.dtype}"
        )
    _core_transform_layout(sch, block, buffer, index_map, *args, **kwargs)
    if separators:
        sch.set_axis_separator(block, buffer, separators)


_core_with_attr: Any = tir.PrimFunc.with_attr


def _attribute(value: Any) -> Any:
    """Return a value as functions keep it: a target is its text."""
    return str(value) if isinstance(value, Target) else value


class IntAttribute(int):
    """An integer attribute of a function, which programs before 0.15 read as a node."""

    @property
    def value(self) -> int:
        """Return the integer."""
        return int(self)


_core_attrs: Any = vars(tir.PrimFunc)["attrs"]


def _attrs(func: Any) -> dict[str, Any] | None:
    """Return the attributes of a function; None where it has none."""
    attrs = _core_attrs.__get__(func)
    return {
        key: IntAttribute(value) if type(value) is int else value for key, value in attrs.items()
    } or None


def _name_of_function(func: Any, name: str) -> Any:
    if name == "__name__":
        return func.name
    raise AttributeError(f"'PrimFunc' object has no attribute {name!r}", name=name, obj=func)


def _with_attr(func: Any, attr_key_or_dict: Any, attr_value: Any = None) -> Any:
    if isinstance(attr_key_or_dict, dict):
        given = {key: _attribute(value) for key, value in attr_key_or_dict.items()}
        return _core_with_attr(func, given)
    return _core_with_attr(func, attr_key_or_dict, _attribute(attr_value))


def _module_attrs(module: Any) -> dict[str, Any]:
    return dict(module.attrs or {})


def _module_with_attr(module: Any, attr_key: str, attr_value: Any) -> Any:
    return _module_with_attrs(module, {attr_key: attr_value})


def _module_with_attrs(module: Any, attr_map: Any) -> Any:
    given = {key: _attribute(value) for key, value in attr_map.items()}
    return make_module(_named(module), {**_module_attrs(module), **given})


def _module_without_attr(module: Any, attr_key: str) -> Any:
    attrs = _module_attrs(module)
    attrs.pop(attr_key, None)
    return make_module(_named(module), attrs)


def _get_attr(module: Any, attr_key: str) -> Any:
    return _module_attrs(module).get(attr_key)


def _named(module: Any) -> dict[str, Any]:
    return {name.name_hint: func for name, func in module.items()}


def _has_function(module: Any, name: Any) -> bool:
    return getattr(name, "name_hint", name) in _named(module)


def _delete_function(module: Any, name: Any) -> None:
    named = _named(module)
    del named[getattr(name, "name_hint", name)]
    module.become(make_module(named, _module_attrs(module)))


def _renamed(module: Any, replacements: Any) -> Any:
    """Return a module whose functions have other names, also where they call each other."""
    names = {
        getattr(old, "name_hint", old): getattr(new, "name_hint", new)
        for old, new in replacements.items()
    }
    unknown = set(names) - set(_named(module))
    if unknown:
        raise ValueError(f"replace_global_vars: there is no function {sorted(unknown)[0]}")

    def renamed(node: Any) -> Any:
        is_call = isinstance(node, tir.Call) and _call_op.__get__(node) == "call_global"
        if not is_call or node.args[0].name_hint not in names:
            return None
        called = tir.GlobalVar(names[node.args[0].name_hint])
        return tir.Call(node.dtype, "call_global", [called, *list(node.args)[1:]])

    functions = {}
    for name, func in _named(module).items():
        made = func.with_body(tir.rewrite(func.body, after=renamed))
        if name in names and (func.attrs or {}).get("global_symbol") is not None:
            made = made.with_attr("global_symbol", names[name])
        functions[names.get(name, name)] = made
    return make_module(functions, _module_attrs(module))


def _ranges(shape: Any) -> list[Any]:
    """Return sizes as ranges that start at 0; ranges are taken as they are."""
    return [each if isinstance(each, tir.Range) else tir.Range(0, each) for each in shape]


def _is_equivalent(index_map: Any, other: Any) -> bool:
    """Return whether two maps map all indices alike, whatever the types of the indices are."""
    if len(index_map.initial_indices) != len(other.initial_indices):
        return False
    indices = [tir.Var(each.name, "int64") for each in index_map.initial_indices]
    one, two = index_map.map_indices(indices), other.map_indices(indices)
    analyzer = arith.Analyzer()
    return len(one) == len(two) and all(
        analyzer.can_prove_equal(tir.cast("int64", a), tir.cast("int64", b))
        for a, b in zip(one, two)
    )


def _map_tensor(index_map: Any, arr_src: Any) -> Any:
    """Return an array whose elements stand where the map sends their indices."""
    from .tvm import nd

    source = arr_src.numpy()
    shape = [int(size) for size in index_map.map_shape(list(source.shape))]
    grid = te.compute(
        source.shape,
        lambda *at: tir.cast("int64", _row_major(index_map.map_indices(list(at)), shape)),
        name="places",
    )
    places = np.zeros(source.shape, "int64")
    build([grid])(places)
    target = np.zeros(shape, source.dtype)
    target.reshape(-1)[places.reshape(-1)] = source.reshape(-1)
    return nd.array(target)


def _row_major(indices: Any, shape: Any) -> Any:
    place = tir.const(0, "int64")
    for index, size in zip(indices, shape):
        place = place * size + tir.cast("int64", index)
    return place


_core_inverse: Any = tir.IndexMap.inverse
_core_other_inverse: Any = tir.IndexMap.non_surjective_inverse


def _inverse(index_map: Any, shape: Any) -> Any:
    return _core_inverse(index_map, _ranges(shape))


def _non_surjective_inverse(index_map: Any, shape: Any) -> Any:
    return _core_other_inverse(index_map, _ranges(shape))


_core_annotate_access: Any = tir.Schedule.annotate_buffer_access


def _annotate_buffer_access(
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
        axes = _core_get(sch, sch.get_block(block) if isinstance(block, str) else block).iter_vars
        dtype = str(axes[0].var.dtype) if axes else "int32"
        gen_new_ranges = arith.index_map(flat, len(axes), index_dtype=dtype)
    _core_annotate_access(sch, block, buffer_index, buf_type, gen_new_ranges)


_working_on: Any = vars(tir.Schedule)["func_working_on"]


def _func_working_on(sch: Any) -> Any:
    name = _working_on.__get__(sch)
    return None if name is None else _get_global_var(sch.mod, name)


_MEMBERS: list[tuple[type, str, Any]] = [
    (tir.Node, "script", _script),
    (tir.Node, "show", _show),
    (tir.SeqStmt, "__getitem__", lambda stmt, place: stmt.seq[place]),
    (tir.SeqStmt, "__len__", lambda stmt: len(stmt.seq)),
    (tir.Expr, "__str__", tir.Expr.__repr__),
    (tir.Expr, "equal", _equal),
    (tir.ExprRV, "__rfloordiv__", _chosen("__floordiv__")),
    (tir.ExprRV, "__rmod__", _chosen("__mod__")),
    (tir.ExprRV, "__radd__", _chosen("__add__")),
    (tir.ExprRV, "__rsub__", _chosen("__sub__")),
    (tir.ExprRV, "__rmul__", _chosen("__mul__")),
    (tir.Expr, "__bool__", _truth),
    (tir.Expr, "__lshift__", _shifted("__lshift__")),
    (tir.Expr, "__rshift__", _shifted("__rshift__")),
    (tir.Call, "op", property(_op_of)),
    (tir.Ramp, "lanes", property(lambda node: lanes_of(_ramp_lanes.__get__(node)))),
    (tir.Broadcast, "lanes", property(lambda node: lanes_of(_broadcast_lanes.__get__(node)))),
    (tir.Var, "type_annotation", property(_type_annotation)),
    (tir.PointerType, "element_type", property(_element_type)),
    (tir.Buffer, "READ", 1),
    (tir.Buffer, "WRITE", 2),
    (tir.Buffer, "offset_of", _offset_of),
    (tir.Buffer, "vload", _vload),
    (tir.Buffer, "vstore", _vstore),
    (tir.Buffer, "access_ptr", _access_ptr),
    (tir.IndexMap, "inverse", _inverse),
    (tir.IndexMap, "is_equivalent_to", _is_equivalent),
    (tir.IndexMap, "map_ndarray", _map_tensor),
    (tir.IndexMap, "map_tensor", _map_tensor),
    (tir.IndexMap, "non_surjective_inverse", _non_surjective_inverse),
    (tir.IRModule, "functions", property(Functions)),
    (tir.IRModule, "get_global_var", _get_global_var),
    (tir.IRModule, "get_global_vars", lambda module: list(module.names)),
    (tir.IRModule, "__setitem__", _set_function),
    (tir.IRModule, "update_func", _set_function),
    (tir.IRModule, "update", _update),
    (tir.IRModule, "__delitem__", _delete_function),
    (tir.IRModule, "__contains__", _has_function),
    (tir.IRModule, "with_attr", _module_with_attr),
    (tir.IRModule, "with_attrs", _module_with_attrs),
    (tir.IRModule, "without_attr", _module_without_attr),
    (tir.IRModule, "get_attr", _get_attr),
    (tir.IRModule, "replace_global_vars", _renamed),
    (tir.PrimFunc, "with_attr", _with_attr),
    (tir.PrimFunc, "attrs", property(_attrs)),
    (tir.PrimFunc, "__getattr__", _name_of_function),
    (te.Tensor, "__getitem__", _indexed("__getitem__")),
    (te.Tensor, "__call__", _indexed("__call__")),
    (tir.PrimFunc, "specialize", _specialize),
    (tir.Schedule, "transform_layout", _transform_layout),
    (tir.Schedule, "annotate_buffer_access", _annotate_buffer_access),
    (tir.Schedule, "get_block", _get_block),
    (tir.Schedule, "get_sblock", _get_block),
    (tir.Schedule, "state", property(_state)),
    (tir.Schedule, "get_sref", _sref),
    (tir.Schedule, "get", _get),
    (tir.Schedule, "remove_rv", _remove_rv),
    (tir.Schedule, "func_working_on", property(_func_working_on)),
]


def install() -> None:
    """Give the classes these attributes, in this process."""
    from .tvm import te_schedule

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
