# SPDX-License-Identifier: Apache-2.0
"""What commands print: programs in colour, tables, the traceback of a user's file."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from .. import programs


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


def user_traceback(error: Exception) -> str:
    """Return the traceback of an error: where it came from the user's file, from there on."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__") != programs.MODULE_NAME:
        frames = frames.tb_next
    if frames is None and isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(error))
    shown = frames or error.__traceback__
    return "".join(traceback.format_exception(type(error), error, shown))
