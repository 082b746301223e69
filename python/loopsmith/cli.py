# SPDX-License-Identifier: Apache-2.0
"""The command `loopsmith`: lower, build, run and inspect programs; say what works here."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

try:
    import typer
except ImportError as error:  # pragma: no cover
    raise SystemExit(f"loopsmith: {error.name} is missing: pip install 'loopsmith-compiler[cli]'") from None

from . import _core, doctor, driver, ir, programs
from ._core import NDArray, PrimFunc, Schedule, Target, Var
from .driver import DEFAULT_TARGET
from .errors import UserError

app = typer.Typer(
    help="A tensor-program compiler with schedules that one can see.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    # Plain text: errors are not wrapped in boxes, and nobody waits for rich.
    rich_markup_mode=None,
)

ProgramArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:NAME]",
        help="A Python file that makes functions, modules or schedules; a script; or JSON. "
        "And which of its programs.",
    ),
]
TargetOption = Annotated[
    str,
    typer.Option("--target", "-t", help="What code is generated for: 'llvm -mcpu=native', 'c'."),
]
DumpOption = Annotated[
    Optional[list[str]],
    typer.Option("--dump-pass", help="Print the program before and after this pass; or 'all'."),
]
OutputOption = Annotated[Optional[Path], typer.Option("--output", "-o", help="The file to write.")]
HeaderOption = Annotated[Optional[Path], typer.Option(help="A C header to write.")]
SizeOption = Annotated[
    Optional[list[str]], typer.Option(help="A symbolic size, as n=1000; 64 without.")
]


def passes(names: list[str] | None) -> list[str] | str | None:
    """Return the passes to dump as `lower` and `build` take them."""
    return "all" if names and "all" in names else names


def write_or_print(text: str, output: Path | None, language: str = "python") -> None:
    """Write a text to a file, or print it, in colour on a terminal."""
    if output is not None:
        output.write_text(text, encoding="utf-8")
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        Console().print(Syntax(text, language))
    else:
        print(text)


@app.command()
def lower(
    program: ProgramArgument,
    target: TargetOption = DEFAULT_TARGET,
    dump_pass: DumpOption = None,
    output: OutputOption = None,
) -> None:
    """Show a program as a code generator takes it."""
    loaded = programs.load_program(program)
    lowered = driver.lower(loaded, Target(target), dump=passes(dump_pass))
    is_json = output is not None and output.suffix == ".json"
    write_or_print(ir.to_json(lowered) if is_json else lowered.script(), output)


@app.command()
def build(
    program: ProgramArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .so, .a, .o, .s, .ll or .c.")],
    target: TargetOption = DEFAULT_TARGET,
    header: HeaderOption = None,
    dump_pass: DumpOption = None,
) -> None:
    """Compile a program into a file that other programs link or load."""
    loaded = programs.load_program(program)
    driver.build(loaded, Target(target), dump=passes(dump_pass)).export(output, header)


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


def random_arguments(func: PrimFunc, sizes: dict[str, int], seed: int) -> list[Any]:
    """Return arrays and numbers for a function, its symbolic sizes as told."""
    import numpy as np

    random = np.random.default_rng(seed)
    buffers = func.buffer_map
    arguments: list[Any] = []

    def size_of(extent: Any) -> int:
        if isinstance(extent, Var):
            return sizes.setdefault(extent.name, 64)
        try:
            return int(extent)
        except TypeError:
            _core.fail(
                "UserError",
                "size_is_known",
                f"run: {func.name} has a tensor of size {extent}",
                hint="call the function from Python",
            )

    for param in func.params:
        buffer = buffers.get(param)
        if buffer is None:
            value = sizes.get(param.name, 64)
            arguments.append(float(value) if "float" in param.dtype else value)
            continue
        array = _core.empty(tuple(size_of(extent) for extent in buffer.shape), buffer.dtype)
        fill(array, random, np)
        arguments.append(array)
    return arguments


def fill(array: NDArray, random: Any, np: Any) -> None:
    """Put random numbers into an array, of the types that NumPy knows; zeros into others."""
    try:
        view = np.from_dlpack(array)
    except (BufferError, TypeError, RuntimeError):
        return
    if view.dtype.kind == "f":
        view[...] = random.standard_normal(view.shape)
    else:
        view[...] = random.integers(0, 2 if view.dtype.kind == "b" else 10, view.shape)


def parsed_sizes(items: list[str] | None) -> dict[str, int]:
    """Return the sizes of ``["n=1000"]``."""
    sizes: dict[str, int] = {}
    for item in items or []:
        name, _, value = item.partition("=")
        if not (name and value.isdigit()):
            raise typer.BadParameter(f"'{item}' is no size: write n=1000")
        sizes[name] = int(value)
    return sizes


def is_whole_program(file: str) -> bool:
    """Return whether a file is a program of its own: one of Python that imports tvm."""
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        return False
    from .compat import imports_tvm

    return imports_tvm(path.read_text(encoding="utf-8", errors="replace"))


@app.command()
def run(
    program: ProgramArgument,
    target: TargetOption = DEFAULT_TARGET,
    size: SizeOption = None,
    seed: Annotated[int, typer.Option(help="Of the random arguments.")] = 0,
) -> None:
    """Compile a program, call it with random arguments, and tell how long a call takes.

    A Python file that imports tvm is executed as it is, on the aliases of loopsmith.compat.
    """
    if is_whole_program(program):
        from .compat import run_program

        run_program(program)
        return
    sizes = parsed_sizes(size)
    loaded = programs.load_program(program)
    func = entry_of(loaded)
    arguments = random_arguments(func, sizes, seed)
    timing = driver.build(loaded, Target(target)).time(*arguments)
    rows = []
    for param, argument in zip(func.params, arguments):
        shape = getattr(argument, "shape", None)
        dtype = str(getattr(argument, "dtype", param.dtype))
        rows.append((param.name, dtype, str(argument) if shape is None else str(shape)))
    print_table(("parameter", "dtype", "shape"), rows)
    print(f"{func.name}: {timing}")


@app.command()
def migrate(
    program: Annotated[str, typer.Argument(metavar="FILE", help="A program of Python.")],
    output: OutputOption = None,
) -> None:
    """Rewrite a program from schedules of tensor expressions to schedules of TensorIR.

    The program is run once. What stayed as it was, and why, goes to the standard error.
    """
    from .migrate import migrate as migrated

    text, notes = migrated(program)
    write_or_print(text, output)
    for note in notes:
        print(f"{program}: {note}", file=sys.stderr)


@app.command()
def inspect(
    program: ProgramArgument, target: TargetOption = DEFAULT_TARGET, output: OutputOption = None
) -> None:
    """Show the source, the lowered program and the generated code, their lines related.

    Before each line stand the lines of the lowered program (ir) that it belongs to. With -o
    page.html, a page with all of them side by side.
    """
    sources = driver.build(programs.load_program(program), Target(target)).inspect()
    if output is None:
        sources.show()
    elif output.suffix == ".html":
        sources.write_html(output)
    else:
        output.write_text(str(sources), encoding="utf-8")


def print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print columns, drawn on a terminal, else with spaces between them."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*header)
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


@app.command("doctor")
def show_doctor() -> None:
    """Say which targets work here and which do not, and why; and which versions are installed."""
    found = [(item.target, "yes" if item.works else "no", item.detail) for item in doctor.targets()]
    print_table(("target", "works", "what"), found)
    print_table(("software", "version"), list(doctor.versions().items()))


def main() -> None:
    """Run the command; a mistake of the user is told in words."""
    try:
        app()
    except UserError as error:
        print(f"loopsmith: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        print(f"loopsmith: {error.filename}: {error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None
    except Exception as error:
        print(user_traceback(error), file=sys.stderr, end="")
        raise SystemExit(1) from None


def user_traceback(error: Exception) -> str:
    """Return the traceback of an error: where it came from the user's file, from there on."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__") != programs.MODULE_NAME:
        frames = frames.tb_next
    if frames is None and isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(error))
    shown = frames or error.__traceback__
    return "".join(traceback.format_exception(type(error), error, shown))


if __name__ == "__main__":
    main()
