# SPDX-License-Identifier: Apache-2.0
"""Programs in files: what a file of Python, of the script language or of JSON defines."""

from __future__ import annotations

import difflib
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Union

from . import _core, ir
from ._core import IRModule, PrimFunc, Schedule
from .script import definitions
from .script import ir as I  # noqa: N812
from .script import tir as T  # noqa: N812

Program = Union[PrimFunc, IRModule, Schedule]

MODULE_NAME = "__loopsmith_program__"
"""What a file of Python that is run is called."""


def load_programs(path: Path) -> dict[str, Program]:
    """Return the functions, modules and schedules that a file makes, by name.

    Parameters
    ----------
    path
        A file of Python (``.py``), which is run, with ``T`` and ``I`` known to it; of JSON
        (``.json``), as `ls.to_json` writes it; or of the script language (all others).

    Raises
    ------
    UserError
        The file cannot be read, or makes no programs.
    FormatError, ScriptError
        It is no JSON of ours, or no script; the message says where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        _core.fail(
            "UserError",
            "file_is_readable",
            f"{path} cannot be read: {reason}",
            hint="name a file of Python, of a script or of JSON",
        )
    if path.suffix == ".py":
        found = {name: value for name, value in _run(path, text).items() if _is_program(value)}
    elif path.suffix == ".json":
        value = ir.from_json(text)
        found = {_name_of(value): value} if _is_program(value) else {}
    else:
        found = dict(definitions(text, name=str(path)))
    if not found:
        _core.fail(
            "UserError",
            "file_makes_programs",
            f"{path} makes no function, no module and no schedule",
            hint="define one at the top level of the file",
        )
    return {name: _named(name, value) for name, value in found.items()}


def load_program(text: str) -> Program:
    """Return what ``FILE`` or ``FILE:NAME`` means; `NAME` may be a function of a module, too.

    A file that makes several programs means the one called ``main``, if there is one.

    Raises
    ------
    UserError
        As `load_programs`; or there is no such program, or no telling which.
    """
    file, separator, wanted = text.rpartition(":")
    if not separator or Path(text).exists():
        file, wanted = text, ""
    found = load_programs(Path(file))
    if not wanted:
        if len(found) == 1:
            return next(iter(found.values()))
        if "main" in found:
            return found["main"]
        names = ", ".join(found)
        _core.fail(
            "UserError",
            "program_is_chosen",
            f"{file} makes several programs: {names}",
            hint=f"say which: {file}:{next(iter(found))}",
        )
    return _chosen(file, wanted, found)


def _chosen(file: str, wanted: str, found: Mapping[str, Program]) -> Program:
    """Return the program `wanted` of those in a file, or the function of one of its modules."""
    names = list(found)
    for value in found.values():
        if isinstance(value, IRModule):
            names += [name.name_hint for name in value.names]
    if wanted not in names:
        close = difflib.get_close_matches(wanted, names, n=1)
        _core.fail(
            "UserError",
            "program_exists",
            f"{file} makes no '{wanted}', only {', '.join(names)}",
            hint=f"did you mean {file}:{close[0]}?" if close else "choose one of them",
        )
    if wanted in found:
        return found[wanted]
    modules = (value for value in found.values() if isinstance(value, IRModule))
    return next(module[wanted] for module in modules if wanted in module)


def _run(path: Path, text: str) -> Mapping[str, Any]:
    """Run a file of Python and return the names that it defines."""
    module = types.ModuleType(MODULE_NAME)
    module.__file__ = str(path)
    vars(module).update(T=T, I=I)
    # Decorators and pickle find the module by its name.
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        exec(compile(text, str(path), "exec"), vars(module))
    finally:
        sys.path.pop(0)
    return vars(module)


def _is_program(value: Any) -> bool:
    return isinstance(value, (PrimFunc, IRModule, Schedule))


def _name_of(value: Any) -> str:
    return value.name if isinstance(value, PrimFunc) else "main"


def _named(name: str, value: Program) -> Program:
    """Return a program; a function without a name is called as in the file."""
    if isinstance(value, PrimFunc) and value.name == "main":
        return value.with_attr("global_symbol", name)
    return value
