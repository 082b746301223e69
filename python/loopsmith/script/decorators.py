# SPDX-License-Identifier: Apache-2.0
"""What turns Python's functions and classes into TensorIR."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, overload

from .. import _core
from .._core import IRModule, PrimFunc, ScriptMacro
from ..argument_errors import explained
from .source import Definition, Names, names_of, source_of

_script_numbers = itertools.count(1)


def is_class_body(frame: types.FrameType) -> bool:
    """Return whether a class is being defined in `frame`."""
    return "__qualname__" in frame.f_locals and "__module__" in frame.f_locals


def parse_definition(
    definition: Definition,
    frame: types.FrameType,
    private: bool = False,
    implicit_root: bool = True,
    check_well_formed: bool = True,
    words: Mapping[str, Any] | None = None,
) -> Any:
    """Read a function or a class that was written in `frame`; `words` go before other names."""
    source = source_of(definition)
    names = names_of(definition, frame, words or {})
    made = _core.script_parse(
        source.text,
        source.file,
        source.line,
        source.file_text,
        private,
        implicit_root,
        check_well_formed,
        names.lookup,
        names.evaluate,
    )
    return made[-1][1]


@overload
def prim_func(func: Callable[..., Any], /) -> PrimFunc: ...


@overload
def prim_func(
    func: None = None,
    /,
    *,
    name: str | None = None,
    private: bool = False,
    implicit_root: bool = True,
    check_well_formed: bool = True,
) -> Callable[[Callable[..., Any]], PrimFunc]: ...


def prim_func(
    func: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    private: bool = False,
    implicit_root: bool = True,
    check_well_formed: bool = True,
) -> Any:
    """Make a `PrimFunc` of a Python function, which is read and never run.

    Names that the script does not define mean what they mean in Python where it stands: numbers,
    lists, functions that make expressions. In the body of a class, the function is left to
    `ir_module`.

    Parameters
    ----------
    func
        The function: each parameter has a type, ``A: T.Buffer((128, n), "float32")``,
        ``n: T.int32`` or ``a: T.handle``.
    name
        What it is called, where that is no name of Python; else it has the name of ``func``.
    private
        Whether only functions of the same module may call it: it gets no ``global_symbol``.
    implicit_root
        Whether blocks are put into a block ``root`` where the script has none around all of them.
    check_well_formed
        Whether to refuse uses outside the scope of a definition, and their like.

    Raises
    ------
    ScriptError
        With the file, the line and what stands there.
    """
    frame = sys._getframe(1)

    def read(function: Any) -> Any:
        if is_class_body(frame):
            return function
        made = parse_definition(function, frame, private, implicit_root, check_well_formed)
        return made if name is None or private else made.with_attr("global_symbol", name)

    return read if func is None else read(func)


@overload
def ir_module(cls: type, /) -> IRModule: ...


@overload
def ir_module(
    cls: None = None, /, *, check_well_formed: bool = True
) -> Callable[[type], IRModule]: ...


def ir_module(cls: type | None = None, /, *, check_well_formed: bool = True) -> Any:
    """Make an `IRModule` of a class whose methods are functions of the script language.

    The functions may call each other: ``cls.f(x)``.

    Raises
    ------
    ScriptError
        With the file, the line and what stands there.
    """
    frame = sys._getframe(1)

    def read(definition: type) -> Any:
        if is_class_body(frame):
            return definition
        return parse_definition(definition, frame, False, True, check_well_formed)

    return read if cls is None else read(cls)


def macro(
    func: Callable[..., Any] | None = None, /, *, hygienic: bool = True
) -> Callable[..., Any]:
    """Make lines that are inlined wherever a script calls them.

    Parameters
    ----------
    func
        A function; its parameters stand for what it is called with.
    hygienic
        Whether its other names mean what they mean here; else, what they mean where it is used.
    """
    frame = sys._getframe(1)
    if not (func is None or callable(func)):
        _core.fail(
            "FormatError",
            "macro_is_function",
            f"T.macro: {func!r} is no function",
            hint="write @T.macro, or @T.macro(hygienic=True), above a function",
        )

    def read(function: Any) -> ScriptMacro:
        source = source_of(function)
        names = names_of(function, frame, {})
        return _core.script_macro(
            source.text,
            source.file,
            source.line,
            source.file_text,
            hygienic,
            names.lookup,
            names.evaluate,
        )

    result: Any = read if func is None else read(func)
    return result  # type: ignore[no-any-return]


@explained
def from_source(
    text: str,
    extra_vars: Mapping[str, Any] | None = None,
    *,
    check_well_formed: bool = True,
    name: str | None = None,
) -> Any:
    """Read a function or a module from text: what ``node.script()`` gives, or a person wrote.

    Parameters
    ----------
    text
        The script; ``T`` and ``I`` need no import.
    extra_vars
        What other names mean that it uses.
    check_well_formed
        Whether to refuse uses outside the scope of a definition, and their like.
    name
        What errors call the source.

    Returns
    -------
    PrimFunc or IRModule
        What the text defines; the last, if it defines more.

    Raises
    ------
    ScriptError
        With the line and what stands there.
    """
    found = definitions(text, extra_vars, check_well_formed=check_well_formed, name=name)
    return found[-1][1]


def definitions(
    text: str,
    extra_vars: Mapping[str, Any] | None = None,
    *,
    check_well_formed: bool = True,
    name: str | None = None,
) -> list[tuple[str, Any]]:
    """Read all that a text defines; like `from_source`, which gives the last of it.

    Returns
    -------
    list of (str, PrimFunc or IRModule)
        With their names, in the order of the text; at least one.
    """
    names = Names(extra_vars or {})
    try:
        text.encode()
    except UnicodeEncodeError as error:
        _core.fail(
            "ScriptError",
            "text_is_unicode",
            f"from_source: character {error.start} of the text is half of a surrogate pair",
            hint="decode the file as UTF-8",
        )
    return _core.script_parse(
        text,
        name or f"<script {next(_script_numbers)}>",
        1,
        "",
        False,
        True,
        check_well_formed,
        names.lookup,
        names.evaluate,
    )
