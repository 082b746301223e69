# SPDX-License-Identifier: Apache-2.0
"""Where a function was written, and what the names mean that it uses."""

from __future__ import annotations

import builtins
import inspect
import linecache
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Union

from .. import _core

Definition = Union[types.FunctionType, type]


class Source(NamedTuple):
    """The text of a function or class, and the place where it stands."""

    text: str
    file: str
    line: int
    file_text: str
    """All of the file, where errors cannot read it: a cell of a notebook."""


def source_of(definition: Definition) -> Source:
    """Find the source of a function or class.

    Raises
    ------
    ScriptError
        If Python did not keep it: for what was typed into ``python -c`` or made by ``exec``.
    """
    try:
        lines, line = inspect.getsourcelines(definition)
        file = inspect.getsourcefile(definition) or inspect.getfile(definition)
    except (OSError, TypeError):
        _core.fail(
            "ScriptError",
            "source_is_known",
            f"the source of {definition.__name__} is not known",
            "write it into a file, or pass its text to from_source",
        )
    from pathlib import Path

    text = "" if Path(file).exists() else "".join(linecache.getlines(file))
    return Source("".join(lines), file, max(line, 1), text)


class MetaTuple(tuple):  # type: ignore[type-arg]
    """What ``T.meta_var`` of several values gives to a function that a script calls."""


class Names:
    """What names mean in a function: its closure, the scope around it, the module, builtins."""

    def __init__(self, *scopes: Mapping[str, Any]) -> None:
        self._scopes = scopes

    def lookup(self, name: str) -> Any:
        """Return the value of `name`; raise a KeyError when it has none."""
        for scope in self._scopes:
            if name in scope:
                return scope[name]
        if name == "print":
            _core.fail(
                "ScriptError",
                "print_runs_in_the_program",
                "print would run while the script is read, not in the program",
                hint="write T.print(x), which the program carries out",
            )
        return vars(builtins)[name]

    def evaluate(self, source: str, local_names: dict[str, Any]) -> Any:
        """Return the value of an expression, in which `local_names` go before others."""
        code = compile(f"({source}\n)", "<script>", "eval")
        names = dict(local_names)
        for name in _names_in(code):
            if name in names:
                continue
            try:
                names[name] = self.lookup(name)
            except KeyError:
                continue
        return eval(code, names)  # The user's own source.


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def closure_of(function: types.FunctionType) -> dict[str, Any]:
    """Return the names that a function takes from the functions around it."""
    names = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # It is not assigned yet.
            continue
    return names


def names_of(definition: Definition, frame: types.FrameType, words: Mapping[str, Any]) -> Names:
    """Return the names that hold in a function or class of `frame`: first of all, `words`."""
    functions = vars(definition).values() if isinstance(definition, type) else [definition]
    closure: dict[str, Any] = {}
    for function in functions:
        if isinstance(function, types.FunctionType):
            closure.update(closure_of(function))
    return Names(words, closure, dict(frame.f_locals), *_scopes_around(frame), frame.f_globals)


def _scopes_around(frame: types.FrameType) -> Iterator[dict[str, Any]]:
    """Return the names of the functions that are being run and have that of `frame` inside them.

    Annotations that are kept as text put no names into a closure.
    """
    inner, caller = frame.f_code, frame.f_back
    while caller is not None:
        if any(constant is inner for constant in caller.f_code.co_consts):
            yield dict(caller.f_locals)
            inner = caller.f_code
        caller = caller.f_back


def no_names(name: str) -> Any:
    """Refuse every name."""
    raise KeyError(name)


def evaluate_plainly(source: str, local_names: dict[str, Any]) -> Any:
    """Evaluate an expression outside of any script."""
    return Names().evaluate(source, local_names)
