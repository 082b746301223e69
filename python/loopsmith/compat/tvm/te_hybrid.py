# SPDX-License-Identifier: Apache-2.0
"""``tvm.te.hybrid``: functions of loops over tensors, which are read as scripts.

A function is called with tensors, numbers and lists of numbers. What it says of them is put into
its text: ``output_tensor(shape, dtype)`` is a parameter of the script, ``allocate`` a buffer,
``parallel``, ``vectorize``, ``unroll`` and ``bind`` are kinds of loops.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from loopsmith import te, tir
from loopsmith.script import from_source

from ..missing import other_names
from .te_hybrid_run import run

__all__ = ["script"]

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
        if not builtins.any(isinstance(each, te.Tensor) for each in args):
            return run(func, args)
        definition = ast.parse(source).body[0]
        assert isinstance(definition, ast.FunctionDef)
        return _Reading(definition, args, names).made()

    return apply


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
        self._inputs = {k: v for k, v in self._given.items() if isinstance(v, te.Tensor)}
        self._names = {**names, **self._given, **dict.fromkeys(("parallel", "bind"))}
        self._outputs: dict[str, tuple[Any, str]] = {}
        self._returned: list[str] = []

    def made(self) -> Any:
        """Return the tensors that the function returns."""
        name = self._definition.name
        body = [self.visit(each) for each in self._definition.body]
        lines = [each for each in body if each is not None]
        if not self._returned or builtins.set(self._returned) != builtins.set(self._outputs):
            raise ValueError(f"{name}: a function returns all output tensors that it makes")
        buffers = {**{k: (v.shape, v.dtype) for k, v in self._inputs.items()}}
        buffers.update((each, self._outputs[each]) for each in self._returned)
        values = {f"{each}_shape": list(shape) for each, (shape, _) in buffers.items()}
        header = ", ".join(
            f'{each}: T.Buffer({each}_shape, "{dtype}")' for each, (_, dtype) in buffers.items()
        )
        text = "\n".join(ast.unparse(ast.fix_missing_locations(line)) for line in lines)
        numbers = {k: v for k, v in self._given.items() if k not in self._inputs}
        function = from_source(
            f"@T.prim_func\ndef {name}({header}):\n" + textwrap.indent(text, "    "),
            {**self._names, **numbers, **values},
        )
        return te.extern_primfunc(list(self._inputs.values()), function, name=name)

    # ---- Statements ----

    def visit_Return(self, node: ast.Return) -> None:
        """Note what is returned."""
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        self._returned = [each.id for each in values if isinstance(each, ast.Name)]

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Declare outputs and memory."""
        call, target = node.value, node.targets[0]
        known = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id
        if not (known in ("output_tensor", "allocate") and isinstance(target, ast.Name)):
            return self.generic_visit(node)
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
        """Give loops their kind."""
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            name = call.func.id
            if name == "bind":
                thread, extent = call.args
                call.func = _word("thread_binding")
                call.args = [self.visit(extent)]
                call.keywords = [ast.keyword("thread", thread)]
                node.body = [self.visit(each) for each in node.body]
                return node
            if name in _LOOPS:
                call.func = _word(_LOOPS[name])
        return self.generic_visit(node)

    # ---- Expressions ----

    def visit_Call(self, node: ast.Call) -> Any:
        """Name functions as scripts do."""
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name):
            return node
        if node.func.id in _FUNCTIONS:
            node.func = _word(_FUNCTIONS[node.func.id])
        elif node.func.id == "len":
            subject = self._evaluated(node.args[0])
            if not isinstance(subject, te.Tensor):
                return ast.Constant(len(subject))
            return self.visit(ast.parse(f"{ast.unparse(node.args[0])}.shape[0]", mode="eval").body)
        elif node.func.id == "ceil_div":
            a, b = node.args
            top = ast.BinOp(ast.BinOp(a, ast.Add(), b), ast.Sub(), ast.Constant(1))
            return ast.BinOp(top, ast.FloorDiv(), b)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Put in the types of tensors."""
        if node.attr == "dtype":
            return ast.Constant(self._evaluated(node))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Put in the extents of tensors."""
        value = node.value
        if not (isinstance(value, ast.Attribute) and value.attr == "shape"):
            return self.generic_visit(node)
        extent = self._evaluated(node)
        if isinstance(extent, tir.IntImm):
            return ast.Constant(int(extent))
        assert isinstance(value.value, ast.Name)
        owner = ast.Name(f"{value.value.id}_shape", ast.Load())
        return ast.Subscript(owner, node.slice, ast.Load())

    def _evaluated(self, node: ast.AST) -> Any:
        expression = ast.Expression(node)  # type: ignore[arg-type]
        return eval(compile(ast.fix_missing_locations(expression), "<hybrid>", "eval"),
                    dict(self._names))  # fmt: skip


def _word(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("T", ast.Load()), name, ast.Load())


__getattr__ = other_names("tvm.te.hybrid")
