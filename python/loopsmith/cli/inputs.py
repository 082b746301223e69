# SPDX-License-Identifier: Apache-2.0
"""What commands are given: sizes, and programs or libraries with arguments for a call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from .. import _core, driver, programs
from .._core import Module, PrimFunc, Schedule, Target
from ..arguments import fill, random_arguments
from .output import print_table


def entry_of(program: programs.Program) -> PrimFunc:
    """Return the function that a call of a program runs."""
    if isinstance(program, PrimFunc):
        return program
    module = program.mod if isinstance(program, Schedule) else program
    names = [name.name_hint for name in module.names]
    if len(names) != 1 and "main" not in names:
        _core.fail(
            "UserError",
            "program_is_chosen",
            f"the module has several functions: {', '.join(names)}",
            hint="add :NAME to the file",
        )
    return module[names[0] if len(names) == 1 else "main"]


def parsed_sizes(items: list[str] | None) -> dict[str, int]:
    """Return the sizes of ``["n=1000"]``."""
    sizes: dict[str, int] = {}
    for item in items or []:
        name, _, value = item.partition("=")
        if not (name and value.isdigit()):
            raise typer.BadParameter(f"'{item}' is no size: write n=1000")
        sizes[name] = int(value)
    return sizes


def size_ranges(items: list[str] | None) -> dict[str, Any]:
    """Return the sizes of ``["n=1000", "m=1..512"]``; those of a range are searched together."""
    from ..tuning import SizeRange

    found: dict[str, Any] = {}
    for item in items or []:
        name, _, value = item.partition("=")
        low, dots, high = value.partition("..")
        if dots and low.isdigit() and high.isdigit():
            found[name] = SizeRange(int(low), int(high))
        else:
            found.update(parsed_sizes([item]))
    return found


def is_whole_program(file: str) -> bool:
    """Return whether a file is a program of its own: one of Python that imports tvm."""
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        return False
    from ..compat import imports_tvm

    return imports_tvm(path.read_text(encoding="utf-8", errors="replace"))


def is_library(program: str) -> bool:
    """Return whether a file is one that `build` wrote, to be loaded."""
    return Path(program).suffix in (".so", ".o") and Path(program).is_file()


def library_arguments(module: Module, sizes: dict[str, int], seed: int) -> list[Any]:
    """Return arrays and numbers for the function of a module that a call runs."""
    import numpy as np

    random = np.random.default_rng(seed)
    arguments: list[Any] = []
    for name, kind, dtype, shape, _, _, symbol in _core.describe_parameters(module):
        if kind != "tensor":
            value = sizes.get(symbol or name, 64)
            arguments.append(float(value) if kind == "float" else value)
            continue
        if None in shape:
            _core.fail(
                "UserError", "size_is_known", f"run: a size of {name} is not known",
                hint="call the function from Python",
            )  # fmt: skip
        extents = [sizes.setdefault(n, 64) if isinstance(n, str) else n or 0 for n in shape]
        array = _core.empty(tuple(extents), dtype)
        fill(array, random)
        arguments.append(array)
    return arguments


def show_call(module: Module, arguments: Sequence[Any]) -> None:
    """Print the parameters of a call."""
    rows = []
    for described, argument in zip(_core.describe_parameters(module), arguments):
        shape = getattr(argument, "shape", None)
        rows.append((described[0], described[2], str(argument) if shape is None else str(shape)))
    print_table(("parameter", "dtype", "shape"), rows)


def prepared(
    program: str, target: str, size: list[str] | None, seed: int
) -> tuple[str, Module, list[Any]]:
    """Return the name, the module and random arguments of a program, or of a library."""
    sizes = parsed_sizes(size)
    if is_library(program):
        module = driver.load_module(program)
        name = "main" if "main" in module.names else module.names[0]
        return name, module, library_arguments(module, sizes, seed)
    loaded = programs.load_program(program)
    func = entry_of(loaded)
    return func.name, driver.build(loaded, Target(target)), random_arguments(func, sizes, seed)
