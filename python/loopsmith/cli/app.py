# SPDX-License-Identifier: Apache-2.0
"""The command's own parts: the application, and its options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

app = typer.Typer(
    help="A tensor-program compiler with schedules that one can see.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    # Plain text: errors are not wrapped in boxes, and the start does not wait for rich.
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
OutputsOption = Annotated[
    Optional[list[Path]], typer.Option("--output", "-o", help="A file to write; several are.")
]
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
