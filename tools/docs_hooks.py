# SPDX-License-Identifier: Apache-2.0
"""Adds the tutorials to the site: each a page, and the notebook that it is, to download.

A tutorial is a program of Python whose cells begin with ``# %%``, the form that jupytext and most
editors know; text stands in comments of cells ``# %% [markdown]``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"": ROOT / "examples" / "tutorials", "cpu/": ROOT / "examples" / "cpu"}
"""Where tutorials are, by where their pages are below `tutorials/`."""
CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A piece of a tutorial."""

    is_text: bool
    text: str


def programs() -> dict[str, Path]:
    """Return the program of each tutorial, by the name of its page: ``blur``, ``cpu/transpose``.

    Programs of these folders without cells are no tutorials.
    """
    found = {
        f"{place}{path.stem}": path
        for place, folder in FOLDERS.items()
        for path in sorted(folder.glob("*.py"))
    }
    return {name: path for name, path in found.items() if CELL.search(path.read_text("utf-8"))}


def cells_of(program: str) -> list[Cell]:
    """Return the cells of a tutorial, in their order; what stands before the first is left out."""
    parts = CELL.split(program)[1:]
    cells = []
    for mark, body in zip(parts[::2], parts[1::2]):
        if mark:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.splitlines()]
            cells.append(Cell(True, "\n".join(lines).strip()))
        else:
            cells.append(Cell(False, body.strip()))
    return [cell for cell in cells if cell.text]


def page_of(name: str, cells: list[Cell]) -> str:
    """Return a tutorial as Markdown, its program in fences; beside it is its notebook."""
    parts = [cell.text if cell.is_text else f"```python\n{cell.text}\n```" for cell in cells]
    parts.append(f"[This page as a notebook]({name.rpartition('/')[2]}.ipynb)")
    return "\n\n".join(parts) + "\n"


def notebook_of(cells: list[Cell]) -> str:
    """Return a tutorial as a notebook of Jupyter."""
    made: list[dict[str, Any]] = []
    for number, cell in enumerate(cells):
        kind = "markdown" if cell.is_text else "code"
        each: dict[str, Any] = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": cell.text.splitlines(keepends=True),
        }
        if kind == "code":
            each.update(execution_count=None, outputs=[])
        made.append(each)
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    book = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and notebooks; mkdocs calls this."""
    from mkdocs.structure.files import File  # type: ignore[import-not-found,unused-ignore]

    for name, path in programs().items():
        cells = cells_of(path.read_text(encoding="utf-8"))
        for suffix, text in ((".md", page_of(name, cells)), (".ipynb", notebook_of(cells))):
            files.append(File.generated(config, f"tutorials/{name}{suffix}", content=text))
    return files
