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
    raise SystemExit(
        f"loopsmith: {error.name} is missing: pip install 'loopsmith-compiler[cli]'"
    ) from None

from . import _core, doctor, driver, ir, programs
from ._core import Module, PrimFunc, Schedule, Target
from .arguments import fill, random_arguments
from .build_options import DEFAULT_TARGET, checked_numerics
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
OtherArgument = Annotated[
    Optional[str], typer.Argument(metavar="[OTHER]", help="A program to compare it with.")
]
SizeOption = Annotated[
    Optional[list[str]], typer.Option(help="A symbolic size, as n=1000; 64 without.")
]
RecordsOption = Annotated[
    Optional[Path], typer.Option(help="Where the winner is recorded, a file of SQLite.")
]
SecondsOption = Annotated[
    Optional[float], typer.Option(help="How long the search takes at most, about.")
]
NumericsOption = Annotated[
    str, typer.Option(help="free, strict (bits of the program) or reproducible (one order).")
]
ExportOption = Annotated[
    Optional[Path], typer.Option(help="Write them there, a line of JSON each.")
]
AddOption = Annotated[Optional[Path], typer.Option(help="Add those that --export wrote.")]
RecordsArgument = Annotated[Path, typer.Argument(metavar="RECORDS", help="A file of records.")]


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


def is_library(program: str) -> bool:
    """Return whether a file is one that `build` wrote, to be loaded."""
    return Path(program).suffix in (".so", ".o") and Path(program).is_file()


def size_ranges(items: list[str] | None) -> dict[str, Any]:
    """Return the sizes of ``["n=1000", "m=1..512"]``; those of a range are searched together."""
    from .tuning import SizeRange

    found: dict[str, Any] = {}
    for item in items or []:
        name, _, value = item.partition("=")
        low, dots, high = value.partition("..")
        if dots and low.isdigit() and high.isdigit():
            found[name] = SizeRange(int(low), int(high))
        else:
            found.update(parsed_sizes([item]))
    return found


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
    name, module, arguments = prepared(program, target, size, seed)
    show_call(module, arguments)
    print(f"{name}: {module.time(*arguments)}")


@app.command()
def bench(
    program: ProgramArgument,
    other: OtherArgument = None,
    target: TargetOption = DEFAULT_TARGET,
    size: SizeOption = None,
    repeat: Annotated[int, typer.Option(help="How many samples are taken.")] = 20,
) -> None:
    """Measure a program, or two of them in turns on the same random arguments."""
    from .timing import compare

    name, module, arguments = prepared(program, target, size, 0)
    if other is None:
        print(f"{name}: {module.time(*arguments, repeat=repeat)}")
        return
    _, second, _ = prepared(other, target, size, 0)
    print(compare(module, second, *arguments, repeat=repeat))


@app.command()
def verify(program: ProgramArgument) -> None:
    """Compare a schedule with the program before it, on the reference interpreter."""
    loaded = programs.load_program(program)
    if not isinstance(loaded, Schedule):
        _core.fail(
            "TypeMismatch", "program_is_schedule", f"verify: {program} is no schedule",
            hint="name a schedule: FILE:NAME",
        )  # fmt: skip
    found = loaded.verify()
    print(f"{found.answer}: {found.reason}" if found.reason else found.answer)
    if not found:
        raise SystemExit(1)


@app.command("report")
def show_report(
    program: ProgramArgument,
    target: TargetOption = DEFAULT_TARGET,
    size: SizeOption = None,
    output: OutputOption = None,
) -> None:
    """Tell what the loops of a program do, and how far a call is from this machine's best.

    With -o page.html, as a page; with -o report.json, as data.
    """
    import json

    _, module, arguments = prepared(program, target, size, 0)
    made = module.report().measured(*arguments)
    if output is None:
        print(made)
    elif output.suffix == ".html":
        made.write_html(output)
    else:
        output.write_text(json.dumps(made.to_dict(), indent=2) + "\n", encoding="utf-8")


@app.command("version")
def show_version() -> None:
    """Print the version."""
    print(f"loopsmith {_core.version}")


def print_version(wanted: bool) -> None:
    """Print the version and leave, if that is wanted."""
    if wanted:
        show_version()
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@app.command()
def tune(
    program: ProgramArgument,
    target: TargetOption = DEFAULT_TARGET,
    trials: Annotated[int, typer.Option(help="How many candidates are measured at most.")] = 256,
    seconds: SecondsOption = None,
    records: RecordsOption = None,
    size: SizeOption = None,
    seed: Annotated[int, typer.Option(help="Of the search and of the random arguments.")] = 0,
    search: Annotated[str, typer.Option(help="evolutionary, annealed or random.")] = "evolutionary",
    numerics: NumericsOption = "free",
    output: OutputOption = None,
) -> None:
    """Search for the quickest schedule of a function, a module, or a schedule with samples.

    Prints what was found and which choices mattered. With -o page.html, a report; with -o
    schedule.py, the steps. Ctrl-C ends the search with the best so far.
    """
    from . import tuning

    best = tuning.tune(
        programs.load_program(program), Target(target), trials=trials, seconds=seconds,
        records=records, sizes=size_ranges(size), seed=seed, search=search, progress=True,
        numerics=checked_numerics("tune", numerics),
    )  # fmt: skip
    print(best)
    if isinstance(best, tuning.Tuned):
        print(best.explain())
        if output is None:
            print(best.trace)
    if output is None:
        return
    if output.suffix == ".html":
        best.html(output)
    elif isinstance(best, tuning.Tuned):
        output.write_text(f"{best.trace}\n", encoding="utf-8")
    else:
        _core.fail(
            "UserError", "output_is_a_report",
            f"tune: {output} cannot have the steps of several schedules",
            hint="name a page: -o report.html",
        )  # fmt: skip


@app.command("records")
def show_records(
    file: RecordsArgument,
    export: ExportOption = None,
    add: AddOption = None,
) -> None:
    """List what `tune` has recorded."""
    from .timing import seconds_text
    from .tuning import Records

    store = Records(file)
    if add is not None:
        store.import_lines(add)
    if export is not None:
        store.export_lines(export)
    rows = [
        (each.name, seconds_text(each.seconds), seconds_text(each.default_seconds), each.target)
        for each in store.all()
    ]
    print_table(("function", "time", "default schedule", "target"), rows)


@app.command()
def replay(
    file: RecordsArgument,
    program: ProgramArgument,
    target: TargetOption = DEFAULT_TARGET,
    size: SizeOption = None,
    repeat: Annotated[int, typer.Option(help="How many samples are taken.")] = 20,
    numerics: NumericsOption = "free",
) -> None:
    """Build a program with its record, and measure it beside the default schedule, in turns."""
    from .timing import compare
    from .tuning import Records
    from .tuning.machine import target_key

    lock = checked_numerics("replay", numerics)
    func = entry_of(programs.load_program(program))
    key = target_key(target, lock)
    record = Records(file).best(func, key)
    if record is None:
        _core.fail(
            "UserError", "record_exists",
            f"replay: {file} has no record of {func.name} for {target} on this machine"
            + ("" if lock == "free" else f" with numerics={lock!r}"),
            hint=f"make one: loopsmith tune {program} --records {file}"
            + ("" if lock == "free" else f" --numerics {lock}"),
        )  # fmt: skip
    sch = record.schedule(func)
    print(sch.trace)
    arguments = random_arguments(func, parsed_sizes(size), 0)
    modules = [driver.build(each, Target(target), numerics=lock) for each in (func, sch)]
    print(compare(*modules, *arguments, repeat=repeat))


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
