# SPDX-License-Identifier: Apache-2.0
"""Commands that search for schedules, and read what searches recorded."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import _core, driver, programs
from .._core import Target
from ..arguments import random_arguments
from ..build_options import DEFAULT_TARGET, checked_numerics
from .app import (
    AddOption,
    ExportOption,
    NumericsOption,
    OutputsOption,
    ProgramArgument,
    RecordsArgument,
    RecordsOption,
    SecondsOption,
    SizeOption,
    TargetOption,
    app,
)
from .inputs import entry_of, parsed_sizes, size_ranges
from .output import print_table


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
    output: OutputsOption = None,
) -> None:
    """Search for the quickest schedule of a function, a module, or a schedule with samples.

    Prints what was found and which choices mattered. With -o page.html, a report; with -o
    charts.svg and -o charts.png, its charts; with -o schedule.py, the steps. Ctrl-C ends the search
    with the best so far.
    """
    from .. import tuning

    best = tuning.tune(
        programs.load_program(program), Target(target), trials=trials, seconds=seconds,
        records=records, sizes=size_ranges(size), seed=seed, search=search, progress=True,
        numerics=checked_numerics("tune", numerics),
    )  # fmt: skip
    print(best)
    if isinstance(best, tuning.Tuned):
        print(best.explain())
        if not output:
            print(best.trace)
    for path in output or []:
        if path.suffix != ".py":
            best.report(path)
        elif isinstance(best, tuning.Tuned):
            path.write_text(f"{best.trace}\n", encoding="utf-8")
        else:
            _core.fail(
                "UserError", "output_is_a_report",
                f"tune: {path} cannot have the steps of several schedules",
                hint="name a page: -o report.html",
            )  # fmt: skip


@app.command("records")
def show_records(
    file: RecordsArgument,
    export: ExportOption = None,
    add: AddOption = None,
) -> None:
    """List what `tune` has recorded."""
    from ..timing import seconds_text
    from ..tuning import Records

    store = Records(file)
    if add is not None:
        store.import_lines(add)
    if export is not None:
        store.export_lines(export)
    rows = [
        (
            each.name,
            seconds_text(each.seconds),
            seconds_text(each.default_seconds),
            each.target,
            each.version,
        )
        for each in store.all()
    ]
    print_table(("function", "time", "default schedule", "target", "version"), rows)


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
    from ..timing import compare
    from ..tuning import Records
    from ..tuning.records.machine import target_key

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
