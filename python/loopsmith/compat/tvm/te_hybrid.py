# SPDX-License-Identifier: Apache-2.0
"""``tvm.te.hybrid``: functions of loops over tensors, which are read as scripts.

A function is called with tensors, numbers and lists of numbers. What it says of them is put into
its text: ``output_tensor(shape, dtype)`` is a parameter of the script, ``allocate`` a buffer,
``parallel``, ``vectorize``, ``unroll`` and ``bind`` are kinds of loops.
"""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loopsmith import te, tir
from loopsmith.script import from_source

from ..missing import other_names
from .target import Target
from .te_hybrid_module import HybridModule, build
from .te_hybrid_run import run

__all__ = ["HybridModule", "build", "script"]

_LOOPS = {
    "serial": "serial",
    "parallel": "parallel",
    "vectorize": "vectorized",
    "unroll": "unroll",
    "const_range": "unroll",
}
_FUNCTIONS = {
    **{name: name for name in (
        "ceil", "erf", "exp", "floor", "likely", "log", "log10", "log2", "popcount", "power",
        "round", "rsqrt", "sigmoid", "sqrt", "tanh", "trunc", "max", "min", "abs", "float16",
        "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64",
    )},
    "div": "truncdiv",
}  # fmt: skip


def script(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that makes tensors of tensors by the loops of `func`.

    Called with arrays and numbers, it is run by Python.

    Raises
    ------
    ValueError
        For a statement that no script has, and for a function that returns no output tensor.
    """
    source = textwrap.dedent(inspect.getsource(func))
    names = {**vars(builtins), **func.__globals__, **inspect.getclosurevars(func).nonlocals}

    @functools.wraps(func)
    def apply(*args: Any) -> Any:
        if not any(isinstance(part, te.Tensor) for each in args for part in _parts(each)):
            return run(func, args)
        definition = ast.parse(source).body[0]
        assert isinstance(definition, ast.FunctionDef)
        return _Reading(definition, args, names).made()

    return apply


def _parts(value: Any) -> Sequence[Any]:
    """Return the elements of a list, or a value itself."""
    return value if _is_list(value) else [value]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _number(value: Any) -> Any:
    """Return a value as a number of Python if it is one, else None."""
    if isinstance(value, (tir.IntImm, tir.FloatImm)):
        value = value.value
    return value if isinstance(value, (int, float)) else None


def _is_constant(node: ast.AST) -> bool:
    """Return whether an expression is made of numbers alone."""
    kinds = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Constant, ast.cmpop, ast.boolop,
             ast.unaryop, ast.operator)  # fmt: skip
    return all(isinstance(part, kinds) for part in ast.walk(node))


def max_num_threads(allow_none: bool = True) -> int:
    """Return how many threads a block of the current target may have; 1 where there is none."""
    target = Target.current(allow_none)
    return 1 if target is None else int(target.max_num_threads)


class _Reading(ast.NodeTransformer):
    """One call of a function: its text with what was given."""

    def __init__(
        self, definition: ast.FunctionDef, args: tuple[Any, ...], names: Mapping[str, Any]
    ) -> None:
        parameters = [each.arg for each in definition.args.args]
        if len(parameters) != len(args):
            raise ValueError(
                f"{definition.name}: {len(args)} arguments are given, {len(parameters)} are taken"
            )
        self._definition = definition
        self._given = dict(zip(parameters, args))
        self._inputs = {
            name if part is value else f"{name}_{i}": part
            for name, value in self._given.items()
            for i, part in enumerate(_parts(value))
            if isinstance(part, te.Tensor)
        }
        self._names = {**names, **self._inputs, **self._given, "max_num_threads": max_num_threads,
                       **dict.fromkeys(("parallel", "bind"))}  # fmt: skip
        stores = [
            node.id
            for node in ast.walk(definition)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        self._stored = collections.Counter(stores)
        self._constants: dict[str, Any] = {}  # Names whose value is known while this is read.
        self._outputs: dict[str, tuple[Any, str]] = {}
        self._returned: list[str] = []

    def made(self) -> Any:
        """Return the tensors that the function returns."""
        name = self._definition.name
        lines = self._visited(self._definition.body)
        if not self._returned or builtins.set(self._returned) != builtins.set(self._outputs):
            raise ValueError(f"{name}: a function returns all output tensors that it makes")
        buffers = {**{k: (v.shape, v.dtype) for k, v in self._inputs.items()}}
        buffers.update((each, self._outputs[each]) for each in self._returned)
        values = {f"{each}_shape": list(shape) for each, (shape, _) in buffers.items()}
        header = ", ".join(
            f'{each}: T.Buffer({each}_shape, "{dtype}")' for each, (_, dtype) in buffers.items()
        )
        text = "\n".join(ast.unparse(ast.fix_missing_locations(line)) for line in lines)
        function = from_source(
            f"@T.prim_func\ndef {name}({header}):\n" + textwrap.indent(text, "    "),
            {**self._names, **values},
        )
        return te.extern_primfunc(list(self._inputs.values()), function, name=name)

    # ---- Statements ----

    def _visited(self, lines: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for line in lines:
            found = self.visit(line)
            made += found if isinstance(found, list) else [] if found is None else [found]
        return made

    def visit_Return(self, node: ast.Return) -> None:
        """Note what is returned."""
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        self._returned = [each.id for each in values if isinstance(each, ast.Name)]

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Declare outputs and memory; leave out what is a number already."""
        call, target = node.value, node.targets[0]
        known = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id
        if not (known in ("output_tensor", "allocate") and isinstance(target, ast.Name)):
            made = self.generic_visit(node)
            name = target.id if isinstance(target, ast.Name) else ""
            if self._stored[name] == 1 and isinstance(node.value, ast.Constant):
                self._constants[name] = node.value.value
                return None
            return made
        assert isinstance(call, ast.Call)
        given = [self._evaluated(each) for each in call.args]
        keywords = {str(each.arg): self._evaluated(each.value) for each in call.keywords}
        shape, dtype, *rest = [*given, *(keywords[k] for k in ("shape", "dtype") if k in keywords)]
        sizes = [shape] if isinstance(shape, (int, tir.Expr)) else list(shape)
        if known == "output_tensor":
            self._outputs[target.id] = (sizes, dtype)
            self._names[target.id] = te.placeholder(sizes, dtype, name=target.id)
            return None
        scope = keywords.get("scope", rest[0] if rest else "global")
        self._names[f"{target.id}_shape"] = sizes
        return ast.parse(
            f"{target.id} = T.alloc_buffer({target.id}_shape, {dtype!r}, scope={scope!r})"
        ).body[0]

    def visit_For(self, node: ast.For) -> Any:
        """Give loops their kind; those whose iterations are known are written out."""
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            name = call.func.id
            if name == "const_range":
                return self._written_out(node, call)
            if name == "bind":
                thread, extent = call.args
                call.func = _word("thread_binding")
                call.args = [self.visit(extent)]
                call.keywords = [ast.keyword("thread", thread)]
                node.body = self._visited(node.body)
                return node
            if name in _LOOPS:
                call.func = _word(_LOOPS[name])
        node.iter = self.visit(call)
        node.body = self._visited(node.body)
        return node

    def _written_out(self, node: ast.For, call: ast.Call) -> list[ast.stmt]:
        assert isinstance(node.target, ast.Name)
        ends = [self.visit(each) for each in call.args]
        if not all(isinstance(each, ast.Constant) for each in ends):
            raise ValueError(f"{self._definition.name}: the ends of const_range are constants")
        made: list[ast.stmt] = []
        for value in range(*(each.value for each in ends)):
            self._constants[node.target.id] = value
            made += self._visited(copy.deepcopy(node.body))
        self._constants.pop(node.target.id, None)
        return made

    def visit_If(self, node: ast.If) -> Any:
        """Keep the branch that is taken, where that is known."""
        test = self.visit(node.test)
        if _is_constant(test):
            return self._visited(node.body if self._evaluated(test) else node.orelse)
        node.test = test
        node.body = self._visited(node.body) or [ast.Pass()]
        node.orelse = self._visited(node.orelse)
        return node

    # ---- Expressions ----

    def _value(self, name: str) -> Any:
        """Return what a name means while this is read; None if it is a variable."""
        if name in self._constants:
            return self._constants[name]
        return None if name in self._stored else self._names.get(name)

    def visit_Name(self, node: ast.Name) -> Any:
        """Put in numbers."""
        number = _number(self._value(node.id)) if isinstance(node.ctx, ast.Load) else None
        return node if number is None else ast.Constant(number)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Compute what is a number already."""
        self.generic_visit(node)
        is_known = isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
        return ast.Constant(self._evaluated(node)) if is_known else node

    def visit_Call(self, node: ast.Call) -> Any:
        """Name functions as scripts do."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "len":
            subject = self._evaluated(node.args[0])
            if not isinstance(subject, te.Tensor):
                return ast.Constant(len(subject))
            return self.visit(ast.parse(f"{ast.unparse(node.args[0])}.shape[0]", mode="eval").body)
        if name == "max_num_threads":
            return ast.Constant(self._evaluated(node))
        node.args = [self.visit(each) for each in node.args]
        if name in _FUNCTIONS:
            node.func = _word(_FUNCTIONS[name])
        elif name == "ceil_div":
            a, b = node.args
            top = ast.BinOp(ast.BinOp(a, ast.Add(), b), ast.Sub(), ast.Constant(1))
            return self.visit(ast.BinOp(top, ast.FloorDiv(), b))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Put in the types of tensors."""
        if node.attr == "dtype":
            return ast.Constant(self._evaluated(node))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Put in the extents of tensors, and the elements of lists."""
        value = node.value
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            extent = self._evaluated(node)
            if isinstance(extent, tir.IntImm):
                return ast.Constant(int(extent))
            owner = ast.Name(f"{ast.unparse(self.visit(value.value))}_shape", ast.Load())
            return ast.Subscript(owner, node.slice, ast.Load())
        found = self._element(node)
        if _is_list(found):
            return node
        number = _number(found)
        if number is not None:
            return ast.Constant(number)
        if isinstance(found, te.Tensor):
            name = next(name for name, each in self._inputs.items() if each.same_as(found))
            return ast.Name(name, ast.Load())
        return self.generic_visit(node)

    def _element(self, node: Any) -> Any:
        """Return the element of a list that an expression means, or the list; else None."""
        if isinstance(node, ast.Name):
            known = self._value(node.id)
            return known if _is_list(known) else None
        base: Any = self._element(node.value) if isinstance(node, ast.Subscript) else None
        if not _is_list(base):
            return None
        place = node.slice
        for each in place.elts if isinstance(place, ast.Tuple) else [place]:
            index = self.visit(copy.deepcopy(each))
            if not isinstance(index, ast.Constant):
                raise ValueError(
                    f"{self._definition.name}: {ast.unparse(node)} is read at a place that is not "
                    "known: loop over a list with const_range"
                )
            base = base[index.value]
        return base

    def _evaluated(self, node: ast.AST) -> Any:
        expression = ast.Expression(node)  # type: ignore[arg-type]
        return eval(compile(ast.fix_missing_locations(expression), "<hybrid>", "eval"),
                    {**self._names, **self._constants})  # fmt: skip


def _word(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("T", ast.Load()), name, ast.Load())


__getattr__ = other_names("tvm.te.hybrid")
