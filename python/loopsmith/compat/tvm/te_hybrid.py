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


class HybridFunction:
    """A function that makes tensors of tensors by loops; of arrays and numbers, Python runs it."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func
        self._source = textwrap.dedent(inspect.getsource(func))
        functools.update_wrapper(self, func)

    def __call__(self, *args: Any) -> Any:
        """Return the tensors, or the arrays, that the function makes."""
        if not any(isinstance(part, te.Tensor) for each in args for part in _parts(each)):
            return run(self._func, args)
        return self.reading(args).made()

    def reading(self, args: tuple[Any, ...]) -> _Reading:
        """Return a call of it."""
        definition = ast.parse(self._source).body[0]
        assert isinstance(definition, ast.FunctionDef)
        func = self._func
        names = {**vars(builtins), **func.__globals__, **inspect.getclosurevars(func).nonlocals}
        return _Reading(definition, args, names)


def script(func: Callable[..., Any]) -> HybridFunction:
    """Return the function that makes tensors of tensors by the loops of `func`.

    Raises
    ------
    ValueError
        When it is called: for a statement that no script has, for a function that returns no
        output tensor, and for one that stores into its inputs.
    """
    return HybridFunction(func)


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
        self._declared: set[str] = builtins.set()  # Tensors and memory, and names of their shapes.
        for name, each in self._inputs.items():
            self._declare(name, each)
        stores = [
            node.id
            for node in ast.walk(definition)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        self._stored = collections.Counter(stores)
        self._taken = {*stores, *self._given}
        self._constants: dict[str, Any] = {}  # Names whose value is known while this is read.
        self._outputs: set[str] = builtins.set()
        self._returned = [
            name
            for node in ast.walk(definition)
            if isinstance(node, ast.Return)
            for name in _names_of(node.value)
        ]

    def made(self) -> Any:
        """Return the tensors that the function returns."""
        name = self._definition.name
        lines = self._lines()
        header = ", ".join(
            f'{each}: T.Buffer({each}_shape, "{self._names[each].dtype}")'
            for each in [*self._inputs, *self._returned]
        )
        text = "\n".join(ast.unparse(ast.fix_missing_locations(line)) for line in lines)
        function = from_source(
            f"@T.prim_func\ndef {name}({header}):\n" + textwrap.indent(text, "    "),
            self._names,
        )
        return te.extern_primfunc(list(self._inputs.values()), function, name=name)

    def _lines(self) -> list[ast.stmt]:
        name = self._definition.name
        lines = self._visited(self._definition.body)
        if not self._returned or builtins.set(self._returned) != self._outputs:
            raise ValueError(f"{name}: a function returns all output tensors that it makes")
        return lines

    def inlined(
        self, tensors: Mapping[str, str], targets: Sequence[str], taken: set[str]
    ) -> tuple[list[ast.stmt], dict[str, Any]]:
        """Return the statements of the function where another one calls it, and what they name.

        `tensors` are the caller's names of its inputs, `targets` those of what it returns, `taken`
        all names that the caller uses, to which those of the statements are added.
        """
        lines = self._lines()
        if len(targets) != len(self._returned):
            raise ValueError(
                f"{self._definition.name}: {len(self._returned)} tensors are returned, "
                f"{len(targets)} are taken"
            )
        names = {**tensors, **dict(zip(self._returned, targets))}
        for name in self._stored:
            new = names.get(name, name)
            while name not in names and new in taken:
                new = f"{self._definition.name}_{new}"
            names[name] = new
        taken |= builtins.set(names.values())
        shapes = {f"{name}_shape": f"{new}_shape" for name, new in names.items()}
        known = {new: self._names[old] for old, new in {**names, **shapes}.items()
                 if old in self._declared}  # fmt: skip
        renaming = _Renaming({**names, **shapes})
        return [renaming.visit(line) for line in lines], known

    # ---- Statements ----

    def _visited(self, lines: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for line in lines:
            found = self.visit(line)
            made += found if isinstance(found, list) else [] if found is None else [found]
        return made

    def visit_Return(self, node: ast.Return) -> None:
        """Leave it out: what is returned is a parameter."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Declare outputs and memory; leave out what is a number already."""
        call, target = node.value, node.targets[0]
        known = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id
        if isinstance(call, ast.Call) and isinstance(self._names.get(str(known)), HybridFunction):
            return self._called(self._names[str(known)], call, _names_of(target))
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
        self._declare(target.id, te.placeholder(shape, dtype, name=target.id))
        if known == "output_tensor":
            self._outputs.add(target.id)
            return None
        return self._allocated(target.id, keywords.get("scope", rest[0] if rest else "global"))

    def _declare(self, name: str, tensor: te.Tensor) -> None:
        self._names.update({name: tensor, f"{name}_shape": list(tensor.shape)})
        self._declared |= {name, f"{name}_shape"}

    def _allocated(self, name: str, scope: str) -> ast.stmt:
        dtype = self._names[name].dtype
        return ast.parse(f"{name} = T.alloc_buffer({name}_shape, {dtype!r}, scope={scope!r})").body[
            0
        ]

    def _called(
        self, function: HybridFunction, call: ast.Call, targets: Sequence[str]
    ) -> list[ast.stmt]:
        """Return the statements of a function whose results have names of this one."""
        given = [self.visit(each) for each in call.args]
        is_tensor = [isinstance(each, ast.Name) and each.id in self._declared for each in given]
        reading = function.reading(tuple(self._evaluated(each) for each in given))
        parameters = [each.arg for each in reading._definition.args.args]
        tensors = {name: each.id for name, each, is_one in zip(parameters, given, is_tensor)
                   if is_one}  # fmt: skip
        lines, known = reading.inlined(tensors, targets, self._taken)
        for name in known:
            if isinstance(known[name], te.Tensor) and name not in self._declared:
                self._declare(name, known[name])
        self._outputs |= {name for name in targets if name in self._returned}
        memory = [self._allocated(name, "global") for name in targets if name not in self._returned]
        return [*memory, *lines]

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

    def _require_memory(self, node: ast.AST) -> None:
        """Stop where a store is into an input."""
        name = getattr(node, "id", "")
        if name in self._inputs:
            raise ValueError(
                f"{self._definition.name}: {name} is an input, which is only read: "
                "store into an output_tensor, or into what allocate makes"
            )

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Put in the types of tensors."""
        if node.attr == "dtype":
            return ast.Constant(self._evaluated(node))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Put in the extents of tensors, and the elements of lists."""
        value = node.value
        if isinstance(node.ctx, ast.Store):
            self._require_memory(value)
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


class _Renaming(ast.NodeTransformer):
    """Gives names of one function those of another."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Return the name there."""
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)


def _names_of(node: ast.AST | None) -> list[str]:
    """Return the names in a list of them, or the only one."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return [each.id for each in parts if isinstance(each, ast.Name)]


def _word(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("T", ast.Load()), name, ast.Load())


__getattr__ = other_names("tvm.te.hybrid")
