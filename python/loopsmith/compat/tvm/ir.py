# SPDX-License-Identifier: Apache-2.0
"""``tvm.ir``: what all IR shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import loopsmith as ls
import loopsmith.ir
from loopsmith import tir

from ..missing import other_names
from . import ir_container as container
from . import ir_diagnostics as diagnostics
from . import transform
from .arith.iter_affine_map import same_iter_map
from .ir_types import Op, SourceName, Span
from .nd import NDArray, array
from .object_path import ObjectPath, get_first_structural_mismatch
from .tir.analysis import undefined_vars
from .tir.nodes import Alias, Range
from .tir.vectors import dtype_of
from .transform import PassContext

__all__ = [
    "Array",
    "Attrs",
    "EnvFunc",
    "IRModule",
    "Map",
    "ObjectPath",
    "Op",
    "PassContext",
    "PointerType",
    "PrimType",
    "Range",
    "SourceName",
    "Span",
    "assert_structural_equal",
    "assert_written_alike",
    "container",
    "diagnostics",
    "get_first_structural_mismatch",
    "load_json",
    "make_node",
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
]

_ITER_MAPS = (ls.arith.IterMark, ls.arith.IterSplitExpr, ls.arith.IterSumExpr)

Array = container.Array
Map = container.Map
GlobalVar = tir.GlobalVar
BaseFunc = ls.tir.PrimFunc
PrimExpr = ls.tir.Expr
RelayExpr = ls.tir.Expr


class _NamesOfTypes(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, str)


class PrimType(str, metaclass=_NamesOfTypes):
    """The type of a number: its name."""

    def __new__(cls, dtype: Any) -> PrimType:
        """Return the type of that name."""
        return super().__new__(cls, dtype_of(dtype))

    @property
    def dtype(self) -> str:
        """The name."""
        return str(self)


class PointerType(Alias, base=tir.PointerType):
    """The type of a pointer to elements of a type, in memory of a scope."""

    @staticmethod
    def make(element_type: Any, storage_scope: str = "") -> tir.PointerType:
        """Return the type."""
        return tir.PointerType(str(element_type), storage_scope or "global")


class IRModule(Alias, base=ls.tir.IRModule):
    """A module, made of its functions by name."""

    @staticmethod
    def make(
        functions: Mapping[Any, Any] | None = None, type_definitions: Any = None, attrs: Any = None
    ) -> ls.tir.IRModule:
        """Return the module of these functions."""
        named = {getattr(key, "name_hint", key): func for key, func in (functions or {}).items()}
        return loopsmith.ir.make_module(named, attrs)

    @staticmethod
    def from_expr(func: ls.tir.PrimFunc, functions: Any = None) -> ls.tir.IRModule:
        """Return the module of one function, by the name that it has, or ``main``."""
        return loopsmith.ir.make_module({**(functions or {}), func.name: func})


class Attrs(dict[str, Any]):
    """Named values, which are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        """Return the value of a name."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class EnvFunc:
    """A function of the host by the name that it is registered under."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.func = ls.get_global_func(name)

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return the function of that name."""
        return EnvFunc(name)

    def __call__(self, *args: Any) -> Any:
        """Run it."""
        return self.func(*args)

    def __eq__(self, other: object) -> bool:
        """Return whether both have one name."""
        return isinstance(other, EnvFunc) and other.name == self.name

    def __hash__(self) -> int:
        """Return the same number for the same name."""
        return hash(self.name)


def make_node(type_key: str, **kwargs: Any) -> Any:
    """Return named values, or a node by the name of its class."""
    space, _, name = type_key.rpartition(".")
    if space == "attrs" or type_key in ("ir.DictAttrs", "DictAttrs"):
        return Attrs(kwargs)
    from . import tir as nodes

    return getattr(nodes, name)(**kwargs)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Return whether two nodes differ at most by the names of what they define."""
    if isinstance(lhs, (EnvFunc, str)) or isinstance(rhs, (EnvFunc, str)):
        return bool(lhs == rhs)
    if isinstance(lhs, Mapping) and isinstance(rhs, Mapping):
        return set(lhs) == set(rhs) and all(
            structural_equal(value, rhs[key], map_free_vars) for key, value in lhs.items()
        )
    if isinstance(lhs, (NDArray, np.ndarray)) and isinstance(rhs, (NDArray, np.ndarray)):
        one, two = np.asarray(lhs), np.asarray(rhs)
        return one.shape == two.shape and one.dtype == two.dtype and bool(np.all(one == two))
    if isinstance(lhs, _ITER_MAPS):
        return same_iter_map(lhs, rhs)
    if _is_list(lhs) or _is_list(rhs):
        same = _is_list(lhs) and _is_list(rhs) and len(lhs) == len(rhs)
        return same and all(structural_equal(a, b, map_free_vars) for a, b in zip(lhs, rhs))
    left, right = _unnamed(lhs), _unnamed(rhs)
    return ls.structural_equal(left, right, map_free_vars) or _same_but_buffers(left, right)


def _same_but_buffers(left: Any, right: Any) -> bool:
    """Return whether parts of programs are equal, if buffers from outside stand for each other."""
    if not isinstance(left, (tir.Stmt, tir.BufferRegion)) or type(left) is not type(right):
        return False
    if not ls.structural_equal(left, right, True):
        return False
    pairs = list(zip(_free_scalars(left), _free_scalars(right)))
    return all(one.same_as(two) for one, two in pairs)


def _free_scalars(part: Any) -> list[Any]:
    body = part if isinstance(part, tir.Stmt) else tir.Evaluate(part.region[0].min)
    return [each for each in undefined_vars(body) if each.pointer is None]


def _is_list(value: Any) -> bool:
    is_sequence = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return is_sequence and not isinstance(value, (ls.tir.Node, str, Mapping))


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise a ValueError that says where two nodes differ first, unless they are equal.

    Functions may differ by how their integer arithmetic is written: ``(i * 2 + j) * 4`` is
    ``i * 8 + j * 4``.
    """
    if isinstance(lhs, _ITER_MAPS):
        if not same_iter_map(lhs, rhs):
            raise ValueError(f"StructuralEqual check failed: {lhs!r} and {rhs!r} differ")
        return
    if _is_list(lhs) and _is_list(rhs) and len(lhs) == len(rhs):
        for left, right in zip(lhs, rhs):
            assert_structural_equal(left, right, map_free_vars)
        return
    if not isinstance(lhs, (tir.Node, bool, int, float, str)):
        if not structural_equal(lhs, rhs, map_free_vars):
            raise ValueError(f"StructuralEqual check failed: {lhs!r} and {rhs!r} differ")
        return
    is_program = isinstance(lhs, (tir.PrimFunc, tir.IRModule)) and type(lhs) is type(rhs)
    if is_program and _equal_when_simple(_unnamed(lhs), _unnamed(rhs), map_free_vars):
        return
    assert_written_alike(lhs, rhs, map_free_vars)


def assert_written_alike(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise a ValueError that says where two nodes differ first, also in their arithmetic."""
    left, right = _unnamed(lhs), _unnamed(rhs)
    if ls.structural_equal(left, right, map_free_vars) or _same_but_buffers(left, right):
        return
    mismatch = get_first_structural_mismatch(left, right, map_free_vars)
    path = mismatch[0] if mismatch else ObjectPath.root()
    difference = ls.ir.first_difference(left, right, map_free_vars)
    raise ValueError(
        f"StructuralEqual check failed, caused by lhs at {path} and rhs at {path}:\n{difference}"
    )


def _equal_when_simple(left: Any, right: Any, map_free_vars: bool) -> bool:
    if ls.structural_equal(left, right, map_free_vars):
        return True
    try:
        left, right = (ls.run_pass(program, "simplify") for program in (left, right))
    except ls.UserError:
        return False  # Not of the form that is simplified: they differ as they are.
    return ls.structural_equal(left, right, map_free_vars)


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a number of 64 bits, the same for nodes that are structurally equal."""
    if isinstance(node, (Mapping, EnvFunc, NDArray, np.ndarray)) or _is_list(node):
        return hash(_plain(node)) & _BITS
    hashed = _unnamed(node)
    if not map_free_vars and isinstance(hashed, (tir.Expr, tir.Stmt)):
        # Variables from outside are themselves.
        body = hashed if isinstance(hashed, tir.Stmt) else tir.Evaluate(hashed)
        outside = tuple(hash(each) for each in undefined_vars(body))
        return (int(ls.structural_hash(hashed)[:16], 16) ^ hash(outside)) & _BITS
    if map_free_vars and isinstance(hashed, (tir.Expr, tir.Stmt)):
        # As parameters, variables count by their places.
        body = hashed if isinstance(hashed, tir.Stmt) else tir.Evaluate(hashed)
        params = undefined_vars(body)
        hashed = tir.PrimFunc(params=params, buffer_map=[None] * len(params), body=body)
    return int(ls.structural_hash(hashed)[:16], 16)


_BITS = 2**64 - 1


def _plain(value: Any) -> Any:
    """Return something that can be hashed, the same for values that are equal."""
    if isinstance(value, Mapping):
        return tuple(sorted((str(key), _plain(each)) for key, each in value.items()))
    if isinstance(value, (NDArray, np.ndarray)):
        array = np.asarray(value)
        return (array.shape, str(array.dtype), array.tobytes())
    if _is_list(value):
        return tuple(_plain(each) for each in value)
    return structural_hash(value) if isinstance(value, tir.Node) else hash(value)


def save_json(node: Any) -> str:
    """Return a node as text; also a schedule of tensor expressions, a list or a map."""
    if isinstance(node, ls.te.Schedule):
        return node.as_json()
    if isinstance(node, (Mapping, EnvFunc, NDArray, str)) or _is_list(node):
        return ls.to_json(_carrier(node))
    return ls.to_json(_node(node))


def load_json(json_str: str) -> Any:
    """Return what `save_json` wrote."""
    found = ls.from_json(json_str)
    if isinstance(found, ls._core.Dict) and "stage_of" in found.items:
        return ls.te.Schedule.from_json(json_str)
    if isinstance(found, tir.PrimFunc) and _CONTAINER in found.attrs:
        return _unpacked(found.attrs[_CONTAINER])
    return found


_CONTAINER = "container"


def _carrier(container: Any) -> Any:
    """Return a node whose attribute holds a list or a map, and in it nodes that are shared."""
    body = tir.Evaluate(tir.const(0))
    return tir.PrimFunc(params=[], buffer_map=[], body=body, attrs={_CONTAINER: _packed(container)})


def _packed(value: Any) -> Any:
    if isinstance(value, Mapping):
        pairs = [[_packed(key), _packed(each)] for key, each in value.items()]
        return {"pairs": pairs}
    if isinstance(value, EnvFunc):
        return {"function": value.name}
    if isinstance(value, NDArray):
        array = value.numpy()
        return {"array": array.tobytes().hex(), "shape": list(array.shape), "dtype": value.dtype}
    if _is_list(value):
        return [_packed(each) for each in value]
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, Mapping) and "function" in value:
        return EnvFunc.get(value["function"])
    if isinstance(value, Mapping) and "array" in value:
        data = np.frombuffer(bytes.fromhex(str(value["array"])), str(value["dtype"]))
        return array(data.reshape([int(extent) for extent in value["shape"]]))
    if isinstance(value, Mapping):
        return {_unpacked(key): _unpacked(each) for key, each in value["pairs"]}
    if _is_list(value):
        return [_unpacked(each) for each in value]
    return tir.const(value) if isinstance(value, (bool, int, float)) else value


def _unnamed(value: Any) -> Any:
    """Return a node to compare: the name that a decorator gave a function is no part of it."""
    if isinstance(value, tir.PrimFunc):
        return value.without_attr("global_symbol")
    if isinstance(value, tir.IRModule):
        functions = [func.without_attr("global_symbol") for func in value.functions]
        return tir.IRModule(names=list(value.names), functions=functions, attrs=value.attrs)
    return _node(value)


def _node(value: Any) -> Any:
    """Return numbers and texts as nodes."""
    if isinstance(value, (list, tuple)):
        return ls.tir.SeqStmt(list(value)) if value and isinstance(value[0], ls.tir.Stmt) else value
    return ls.tir.const(value) if isinstance(value, (bool, int, float)) else value


__getattr__ = other_names("tvm.ir", loopsmith.ir, ls.tir)
