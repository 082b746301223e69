# SPDX-License-Identifier: Apache-2.0
"""Errors about calls whose arguments do not fit the signature: they name the argument.

Nothing here runs in a call that is as it should be.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast, get_origin

from . import _core
from .errors import UserError
from .signatures import parsed

_F = TypeVar("_F", bound=Callable[..., Any])


def explained(function: _F) -> _F:
    """Return a function whose errors name the argument that is not what its annotation says.

    Parameters
    ----------
    function
        An annotated function. What it raises goes on as it is where all arguments fit.

    Returns
    -------
    Callable
        The same function, as it is called by users.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except UserError:
            raise
        except (TypeError, AttributeError, ValueError):
            signature = _Signature.of_function(function)
            if argument_error := signature.argument_error(args, kwargs):
                _raise(function.__name__, [argument_error])
            raise

    return cast("_F", call)


def explain(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise the error of a call that a function of the extension has refused.

    Parameters
    ----------
    function
        A function or method of ``loopsmith._core``, with the text of its signatures.
    args, kwargs
        What it was given; of a method, the object first.

    Raises
    ------
    TypeMismatch
        An argument is missing, unknown, or not what it takes.
    """
    signatures = [text for text, *_ in function.__nb_signature__]
    scope = (function.__qualname__ or "").rpartition(".")[0]  # A getter has no name.
    name = signatures[0].removeprefix("def ").partition("(")[0]
    name = scope if name == "__init__" else name.removeprefix("te_")
    argument_errors = []
    for text in signatures:
        argument_error = _Signature.of_text(text, scope).argument_error(args, kwargs)
        if argument_error is None:  # What the text says is less than what the code asks for.
            types = ", ".join(type(value).__name__ for value in args) or "no arguments"
            argument_error = _ArgumentError(
                len(args), f"does not take ({types})", _shown_signature(text)
            )
        argument_errors.append(argument_error)
    furthest = max(argument_error.place for argument_error in argument_errors)
    _raise(
        name,
        [argument_error for argument_error in argument_errors if argument_error.place == furthest],
    )


class _ArgumentError(NamedTuple):
    """What is wrong with an argument: its place, what it is, and what it should be."""

    place: int
    problem: str
    expected: str


def _raise(name: str, argument_errors: Sequence[_ArgumentError]) -> None:
    """Raise the error of a call that no signature takes."""
    first, *others = dict.fromkeys(argument_error.expected for argument_error in argument_errors)
    hint = " | ".join([first, *(other.removeprefix("it takes ") for other in others)])
    _core.fail(
        "TypeMismatch", "argument_has_type", f"{name}: {argument_errors[0].problem}", hint=hint
    )


class _Signature:
    """The parameters of a function, and what each takes as the syntax tree of an annotation."""

    def __init__(self, parameters: Sequence[inspect.Parameter], scope: str) -> None:
        self.signature = inspect.Signature(parameters)
        self.scope = scope

    @staticmethod
    def of_function(function: Callable[..., Any]) -> _Signature:
        """Read the signature of a function of Python, whose annotations are texts."""
        names = getattr(function, "__globals__", {})

        def expanded(word: re.Match[str]) -> str:
            alias = names.get(word[0])
            return repr(alias).replace("NoneType", "None") if get_origin(alias) else word[0]

        parameters = [
            each.replace(annotation=re.sub(r"\w+", expanded, str(each.annotation)))
            for each in inspect.signature(function).parameters.values()
        ]
        return _Signature(parameters, "")

    @staticmethod
    def of_text(text: str, scope: str) -> _Signature:
        """Read a signature as nanobind keeps it, with marks in the place of defaults."""
        empty = inspect.Parameter.empty
        parameters = [
            each.replace(annotation="Any" if each.annotation is empty else each.annotation)
            for each in parsed(text).parameters.values()
        ]
        return _Signature(parameters, scope)

    def argument_error(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> _ArgumentError | None:
        """Return the first argument that is wrong; None where each is what it should be."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return _ArgumentError(-1, self._misfit(args, kwargs), f"it takes {self._shown()}")
        for place, (name, value) in enumerate(bound.arguments.items()):
            if name == "self" and place == 0:
                owner = getattr(_core, self.scope, object)
                if not isinstance(value, owner):
                    return _ArgumentError(
                        place, f"self is {_shown(value)}", f"it takes {self.scope}"
                    )
                continue
            parameter = self.signature.parameters[name]
            annotation = str(parameter.annotation)
            if parameter.kind in _VARIADIC:
                continue
            if _fits(ast.parse(annotation, mode="eval").body, value):
                continue
            problem = f"the argument {name} is {_shown(value)}"
            return _ArgumentError(place, problem, f"it takes {_plain(annotation)}")
        return None

    def _misfit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return why there is not one argument for each parameter."""
        parameters = self.signature.parameters.values()
        positional = [each for each in parameters if each.kind in _POSITIONAL]
        for name in kwargs:
            if name not in self.signature.parameters:
                return f"there is no argument {name}"
        if len(args) > len(positional):
            of_self = sum(each.name == "self" for each in positional)
            return f"takes {len(positional) - of_self} arguments, {len(args) - of_self} were given"
        for each in positional[: len(args)]:
            if each.name in kwargs:
                return f"the argument {each.name} is given twice"
        given = {each.name for each in positional[: len(args)]} | set(kwargs)
        for each in parameters:
            if each.name not in given and each.default is inspect.Parameter.empty:
                return f"the argument {each.name} is missing"
        return "takes other arguments"

    def _shown(self) -> str:
        """Return the parameters as they are written in a definition."""
        shown = []
        for parameter in self.signature.parameters.values():
            if parameter.name == "self":
                continue
            optional = parameter.default is not inspect.Parameter.empty
            shown.append(f"{parameter.name} = ..." if optional else parameter.name)
        return f"({', '.join(shown)})"


def _shown_signature(text: str) -> str:
    """Return a signature as users read it."""
    return "its signature is " + _plain(text.replace("\\0", "...").removeprefix("def "))


def _plain(text: str) -> str:
    """Return an annotation without the modules of its names."""
    return re.sub(r"\b(?:typing|collections\.abc|os|loopsmith\._core)\.", "", text)


def _shown(value: Any) -> str:
    """Return a short text of a value: itself where that is short, else its type."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return reprlib.repr(value)
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_LARGEST = 2**63
_NUMBERS = (bool, int, float)
_SEQUENCES = ("Sequence", "list", "tuple", "Iterable")
_MAPPINGS = ("Mapping", "dict")


def _is_whole(value: Any) -> bool:
    """Tell whether a value is an integer of 64 bits."""
    return hasattr(type(value), "__index__") and -_LARGEST <= value.__index__() < _LARGEST


_NAMED: dict[str, Callable[[Any], bool]] = {
    "Any": lambda _: True,
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "bytes": lambda value: isinstance(value, bytes),
    "Callable": callable,
    "ExprLike": lambda value: isinstance(value, (_core.Expr, _core.IterVar, str, *_NUMBERS)),
    "float": lambda value: hasattr(type(value), "__float__"),
    "int": _is_whole,
    "object": lambda _: True,
    "PathLike": lambda value: hasattr(value, "__fspath__"),
    "str": lambda value: isinstance(value, str),
}


def _fits(annotation: ast.expr, value: Any) -> bool:
    """Tell whether a value is of an annotated type; of one that is not known here, it is."""
    if isinstance(annotation, ast.BinOp):
        return _fits(annotation.left, value) or _fits(annotation.right, value)
    if isinstance(annotation, ast.Constant):
        return annotation.value is not None or value is None
    if isinstance(annotation, ast.Subscript):
        return _fits_generic(annotation, value)
    name = annotation.attr if isinstance(annotation, ast.Attribute) else ast.unparse(annotation)
    if name in _NAMED:
        return _NAMED[name](value)
    if name in _SEQUENCES:
        return _is_sequence(value)
    if name in _MAPPINGS:
        return isinstance(value, Mapping)
    known = getattr(_core, name, None)
    return not isinstance(known, type) or isinstance(value, known)


def _is_sequence(value: Any) -> bool:
    """Tell whether a value has items, and is no text."""
    return hasattr(type(value), "__iter__") and not isinstance(value, (str, bytes, Mapping))


def _fits_generic(annotation: ast.Subscript, value: Any) -> bool:
    """Tell whether a value is of a type with types in brackets."""
    origin = annotation.value
    name = origin.attr if isinstance(origin, ast.Attribute) else ast.unparse(origin)
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    if name in ("Union", "Optional"):
        return any(_fits(part, value) for part in parts) or (name == "Optional" and value is None)
    if name == "Literal":
        return any(isinstance(part, ast.Constant) and part.value == value for part in parts)
    if name in _MAPPINGS:
        if not isinstance(value, Mapping):
            return False
        return all(_fits(parts[0], key) and _fits(parts[-1], each) for key, each in value.items())
    if name in _SEQUENCES:
        if not _is_sequence(value):
            return False
        items = list(value) if isinstance(value, (list, tuple)) else []
        if name == "tuple" and ast.unparse(parts[-1]) != "...":
            return len(items) == len(parts) and all(map(_fits, parts, items))
        return all(_fits(parts[0], item) for item in items)
    return _fits(origin, value)
