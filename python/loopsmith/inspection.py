# SPDX-License-Identifier: Apache-2.0
"""All forms of a compiled program side by side: whose line became which."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from . import _core, display

if TYPE_CHECKING:
    from pathlib import Path

    from ._core import Module

LEXERS = {
    "source": "python",
    "ir": "python",
    "llvm": "llvm",
    "assembly": "gas",
    "c": "c",
    "opencl": "c",
    "cuda": "cuda",
    "ptx": "ptx",
}


@dataclass(frozen=True)
class SourceLine:
    """A line that the user wrote; of number 0, in place of lines that are left out."""

    file: str
    number: int
    text: str


@dataclass(frozen=True)
class Form:
    """One form of a program as text."""

    name: str
    """``source``, ``ir``, or a form of the target: ``llvm``, ``c``, ``opencl``, ..."""
    text: str
    program_lines: Sequence[Sequence[int]]
    """For each line, the lines of the lowered program (``ir``) that it belongs to."""

    @property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.splitlines()


class Sources:
    """The texts that a module was made from, made when asked for, their lines related.

    Printed, each line has the numbers of the lines of `ir` before it to which it belongs.
    """

    def __init__(self, module: Module) -> None:
        self._module = module

    @cached_property
    def _inspected(self) -> tuple[list[SourceLine], dict[str, Form]]:
        written, texts = _core.inspect(self._module)
        lines = [SourceLine(file, number, text) for file, number, text, _ in written]
        made = [belongs for *_, belongs in written]
        forms = {"source": Form("source", "".join(line.text + "\n" for line in lines), made)}
        for name, (text, belongs) in texts.items():
            forms[name] = Form(name, text, [[line] if line else [] for line in belongs])
        return lines, forms

    @property
    def forms(self) -> dict[str, Form]:
        """All texts by their names, from what the user wrote to the code."""
        return self._inspected[1]

    @property
    def source_lines(self) -> list[SourceLine]:
        """The user's lines that are in `source`, with their files and numbers."""
        return self._inspected[0]

    @property
    def source(self) -> str:
        """The lines that the user wrote; ``...`` stands for others between them."""
        return self.forms["source"].text

    @property
    def ir(self) -> str:
        """The functions as they were lowered, in the script language."""
        return self._module.source("tir")

    @property
    def llvm(self) -> str:
        """LLVM's IR, after its passes."""
        return self._module.source("llvm")

    @property
    def assembly(self) -> str:
        """The assembly."""
        return self._module.source("assembly")

    @property
    def asm(self) -> str:
        """The same as `assembly`."""
        return self.assembly

    @property
    def c(self) -> str:
        """The file of C, of a module that was built for target c."""
        return self._module.source("c")

    @property
    def opencl(self) -> str:
        """The kernels in OpenCL C, of a module that was built for target opencl."""
        return self._module.source("opencl")

    @property
    def cuda(self) -> str:
        """The kernels in CUDA C++, of a module that was built for target cuda."""
        return self._module.source("cuda")

    @property
    def ptx(self) -> str:
        """What CUDA's compiler makes of them, which has to be there."""
        return self._module.source("ptx")

    def related(self, form: str, line: int) -> dict[str, list[int]]:
        """Return the lines of all forms that belong together with one.

        Parameters
        ----------
        form
            Where the line stands: ``source``, ``ir``, or a form of the target: ``llvm``,
            ``c``, ``opencl``, ...
        line
            Its number in that text, counted from 1.

        Returns
        -------
        dict of str to list of int
            For each form, the numbers of its lines; empty where there are none.

        Raises
        ------
        UserError
            There is no such form or line.
        """
        chosen = self.forms.get(form)
        if chosen is None or not 1 <= line <= len(chosen.program_lines):
            _core.fail(
                "UserError",
                "line_exists",
                f"inspect: there is no line {line} of {form}",
                hint="; ".join(
                    f"{name} has {len(each.program_lines)}" for name, each in self.forms.items()
                ),
            )
        wanted = set(chosen.program_lines[line - 1])
        return {
            name: [
                number
                for number, belongs in enumerate(each.program_lines, 1)
                if not wanted.isdisjoint(belongs)
            ]
            for name, each in self.forms.items()
        }

    def __str__(self) -> str:
        """Return all texts below each other, each line with the lines of `ir` that it is of."""
        return "\n".join(f"==== {name} ====\n{self._numbered(name)}" for name in self.forms)

    def __repr__(self) -> str:
        """Return what it shows."""
        return f"<loopsmith.Sources of {', '.join(self._module.names)}>"

    def show(self, style: str | None = None) -> None:
        """Print all texts, in colour on a terminal; side by side in a notebook."""
        if "ipykernel" in sys.modules:
            display.show_html(self.html(style))
            return
        for name, form in self.forms.items():
            coloured = display.in_colour(form.text, "terminal", style, LEXERS[name])
            print(f"==== {name} ====")
            print(self._numbered(name, coloured if sys.stdout.isatty() else None))

    def html(self, style: str | None = None) -> str:
        """Give all texts side by side; lines that belong together light up together."""
        columns = "".join(self._column(form, style) for form in self.forms.values())
        return f'<div class="loopsmith-inspect">{STYLE}{columns}{SCRIPT}</div>'

    def _repr_html_(self) -> str:
        return self.html()

    def write_html(self, path: str | Path) -> None:
        """Write a page that shows all texts side by side."""
        from pathlib import Path

        title = display.escaped(", ".join(self._module.names))
        page = f"<!doctype html><meta charset=utf-8><title>{title}</title>{self.html()}\n"
        Path(path).write_text(page, encoding="utf-8")

    def _numbered(self, name: str, coloured: str | None = None) -> str:
        """Return a text, before each line the lines of `ir` that it belongs to."""
        form = self.forms[name]
        margins = [_ranges(belongs) for belongs in form.program_lines]
        width = max([len(margin) for margin in margins], default=0)
        lines = (coloured or form.text).splitlines()
        if name == "source":
            lines = self._with_places(lines)
        return "".join(f"{m:>{width}} | {line}\n" for m, line in zip(margins, lines))

    def _with_places(self, lines: list[str]) -> list[str]:
        """Return the user's lines with their numbers; the file's name before its first."""
        from pathlib import PurePath

        shown = []
        file = None
        for line, text in zip(self.source_lines, lines):
            place = f"{PurePath(line.file).name}:" if line.file != file else ""
            shown.append(f"{place}{line.number or ''}  {text}")
            file = line.file
        return shown

    def _column(self, form: Form, style: str | None) -> str:
        coloured = display.in_colour(form.text, "html", style, LEXERS[form.name])
        lines = (coloured or display.escaped(form.text)).splitlines()
        rows = []
        for text, belongs in zip(lines, form.program_lines):
            marks = f' data-of="{" ".join(map(str, belongs))}"' if belongs else ""
            rows.append(f"<span{marks}>{text or ' '}</span>")
        return f"<figure><figcaption>{form.name}</figcaption><pre>{''.join(rows)}</pre></figure>"


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in rising order as text: ``3,5-7``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


STYLE = """<style>
.loopsmith-inspect { display: flex; gap: 1em; max-height: 90vh; }
.loopsmith-inspect figure { flex: 1; margin: 0; overflow: auto; }
.loopsmith-inspect pre { line-height: 1.3; }
.loopsmith-inspect span[data-of], .loopsmith-inspect pre > span { display: block; }
.loopsmith-inspect .loopsmith-lit { background: #fd08; }
</style>"""

SCRIPT = """<script>
(root => {
  const lines = [...root.querySelectorAll("[data-of]")];
  const of = line => line.dataset.of.split(" ");
  root.addEventListener("mouseover", event => {
    const chosen = event.target.closest("[data-of]");
    const wanted = new Set(chosen ? of(chosen) : []);
    lines.forEach(line =>
      line.classList.toggle("loopsmith-lit", of(line).some(number => wanted.has(number))));
  });
  root.addEventListener("click", event => {
    const chosen = event.target.closest("[data-of]");
    if (!chosen) return;
    root.querySelectorAll("figure").forEach(figure => {
      const first = figure.querySelector(".loopsmith-lit");
      if (first && !figure.contains(chosen)) first.scrollIntoView({block: "nearest"});
    });
  });
})(document.currentScript.parentElement);
</script>"""
