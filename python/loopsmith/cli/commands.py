# SPDX-License-Identifier: Apache-2.0
"""Commands that lower, build, run, compare and show programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .. import _core, doctor, driver, ir, programs
from .._core import Schedule, Target
from ..build_options import DEFAULT_TARGET
from .app import (
    DumpOption,
    HeaderOption,
    OtherArgument,
    OutputOption,
    ProgramArgument,
    SizeOption,
    TargetOption,
    app,
    passes,
)
from .inputs import is_whole_program, prepared, show_call
from .output import print_table, write_or_print


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
        from ..compat import run_program

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
    from ..timing import compare

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


@app.command()
def migrate(
    program: Annotated[str, typer.Argument(metavar="FILE", help="A program of Python.")],
    output: OutputOption = None,
) -> None:
    """Rewrite a program from schedules of tensor expressions to schedules of TensorIR.

    The program is run once. What stayed as it was, and why, goes to the standard error.
    """
    from ..migrate import migrate as migrated

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


@app.command("doctor")
def show_doctor() -> None:
    """Say which targets work here and which do not, and why; and which versions are installed."""
    found = [(item.target, "yes" if item.works else "no", item.detail) for item in doctor.targets()]
    print_table(("target", "works", "what"), found)
    print_table(("software", "version"), list(doctor.versions().items()))


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
