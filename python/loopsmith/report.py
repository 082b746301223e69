# SPDX-License-Identifier: Apache-2.0
"""Why a compiled program is as fast as it is: what its loops do, and what its code looks like.

>>> print(module.report())
>>> print(module.report().measured(a, b, c))
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from . import display
from .assembly import Code, code_of
from .loop_facts import LoopFacts, loops_of
from .notes import Notes
from .performance_notes import findings_on
from .profile import lowered_functions, profile_of
from .roofline import Roofline, measured_roofline
from .timing import seconds_text
from .warp_accesses import WarpAccess, accesses_of

if TYPE_CHECKING:
    from pathlib import Path

    from ._core import Module, Timing
    from .inspection import Sources
    from .profile import LoopProfile

__all__ = ["Code", "LoopReport", "Report", "Roofline", "report"]


@dataclass(frozen=True)
class LoopReport:
    """One loop of a lowered program: what the statements directly in it do."""

    facts: LoopFacts
    source: str
    """Where the user wrote its statements: ``matmul.py:12``; empty where that is not known."""
    code: Code | None
    """What the instructions of its statements have; None without assembly."""
    profile: LoopProfile | None = None
    """The nearest timed loop around, of a module that was built with ``profile=True``."""

    @property
    def name(self) -> str:
        """The loops in one word: ``i/j``."""
        return self.facts.name

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data, ready for JSON."""
        facts = self.facts
        return {
            "function": facts.function,
            "loop": facts.name,
            "line": facts.line,
            "source": self.source,
            "flops": facts.flops,
            "loaded": facts.loaded,
            "stored": facts.stored,
            "lanes": facts.lanes,
            "gathers": facts.gathers,
            "guards": facts.guards,
            "calls": list(facts.calls),
            "is_parallel": facts.is_parallel,
            "code": None if self.code is None else dataclasses.asdict(self.code),
            "timed_loop": None if self.profile is None else self.profile.loop,
            "seconds": None if self.profile is None else self.profile.own_seconds,
        }


@dataclass(frozen=True)
class Report:
    """Loops, the code, and, where it was measured, how far it is from this machine's best."""

    loops: list[LoopReport]
    code: Code | None
    """None for targets that have no assembly."""
    module: Module
    timing: Timing | None = None
    roofline: Roofline | None = None
    accesses: tuple[WarpAccess, ...] = ()
    """Of the kernels of GPUs: how warps access memory."""

    def measured(self, *arrays: Any) -> Report:
        """Return the report with a measurement of a call on these arrays.

        Of a module that was built with ``profile=True``, the times of its loops are those of the
        measured calls.
        """
        timing = self.module.time(*arrays)
        fresh = report(self.module)
        return dataclasses.replace(fresh, timing=timing, roofline=measured_roofline())

    @property
    def share(self) -> float | None:
        """Which part of what this machine can do a call reaches; None where not measured."""
        if self.timing is None or self.roofline is None or not self.timing.bytes:
            return None
        return self.roofline.seconds(self.timing.flops, self.timing.bytes) / self.timing.median

    @property
    def notes(self) -> Notes:
        """Where time is lost, loop by loop, and what to do about it.

        Of code whose instructions are known, that of LLVM: another compiler may vectorize a loop.
        """
        if self.code is None:
            return Notes()
        return Notes(each.note for each in findings_on(self.loops))

    @property
    def remarks(self) -> list[str]:
        """What costs time, in sentences: the notes, and accesses of warps that are costly."""
        costly = [access.remark for access in self.accesses if access.is_costly]
        return [str(note) for note in self.notes] + costly

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, ready for JSON."""
        timing = self.timing
        return {
            "loops": [loop.to_dict() for loop in self.loops],
            "accesses": [dataclasses.asdict(access) for access in self.accesses],
            "code": None if self.code is None else dataclasses.asdict(self.code),
            "seconds": None if timing is None else timing.median,
            "gflops": None if timing is None else timing.gflops,
            "share": self.share,
            "notes": [dataclasses.asdict(note) for note in self.notes],
        }

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the header and the rows of the table."""
        header = ["function", "loop", "source", "flops", "loaded", "stored", "lanes"]
        header += ["fma", "gathers", "spills", "guards", "calls"]
        has_times = any(loop.profile is not None for loop in self.loops)
        if has_times:
            header += ["time", "GFLOP/s"]
        rows = []
        for loop in self.loops:
            facts, code = loop.facts, loop.code
            row = [
                facts.function,
                f"{loop.name or '(none)'}{' parallel' if facts.is_parallel else ''}",
                loop.source or "-",
                amount(facts.flops),
                amount(facts.loaded, "B"),
                amount(facts.stored, "B"),
                str(facts.lanes),
                "?" if code is None else str(code.fused),
                str(facts.gathers),
                "?" if code is None else str(code.spills),
                str(facts.guards),
                ", ".join(facts.calls) or "-",
            ]
            if has_times:
                row += self._times(loop)
            rows.append(tuple(row))
        return tuple(header), rows

    def _times(self, loop: LoopReport) -> list[str]:
        """Return the time of a loop in a call, and its speed; that of threads together."""
        timed = loop.profile
        if timed is None or timed.own_seconds <= 0 or not timed.calls:
            return ["-", "-"]
        together = [each for each in self.loops if each.profile is timed]
        seconds = timed.own_seconds / timed.calls
        text = seconds_text(seconds) + (" of threads" if timed.is_threaded else "")
        text += " with others" if len(together) > 1 else ""
        flops = [each.facts.flops for each in together]
        if None in flops or not any(flops):
            return [text, "-"]
        return [text, f"{sum(each or 0 for each in flops) / seconds * 1e-9:.4g}"]

    def _sentences(self) -> list[str]:
        lines = [
            f"{access.function}: {access.scope} {access.buffer} "
            f"{'stored' if access.is_store else 'read'} in {access.steps} "
            f"{'bank steps' if access.scope == 'shared' else 'sectors'} a warp, "
            f"{access.least} at best"
            for access in self.accesses
        ]
        if self.code is not None:
            code = self.code
            lines.append(
                f"code: vectors of {code.vector_bits} bits, {code.fused} fused multiply-adds, "
                f"{code.gathers} gathers, {code.spills} vector operands on the stack in "
                f"{code.inner_loops} innermost loops"
            )
        if self.timing is not None:
            text = f"measured: {seconds_text(self.timing.median)}"
            if self.timing.gflops is not None:
                text += f", {self.timing.gflops:.4g} GFLOP/s"
            if self.share is not None and self.roofline is not None:
                text += f", {self.share:.0%} of this machine's roofline ({self.roofline})"
            lines.append(text)
        return lines + [f"note: {text}" for text in self.remarks]

    def __str__(self) -> str:
        """Return a table of the loops, and sentences below it."""
        return "\n".join([display.table(*self.rows()), *self._sentences()])

    def _repr_html_(self) -> str:
        below = "".join(f"<p>{display.escaped(line)}</p>" for line in self._sentences())
        return display.table_html(*self.rows()) + below

    def write_html(self, path: str | Path) -> None:
        """Write the report as a page."""
        from pathlib import Path

        page = f"<!doctype html><meta charset=utf-8><title>Report</title>{self._repr_html_()}\n"
        Path(path).write_text(page, encoding="utf-8")


def amount(number: float | None, unit: str = "") -> str:
    """Return a number as people write it: ``2.1 M``; ``?`` for None."""
    if number is None:
        return "?"
    for letter, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= scale:
            return f"{number / scale:.4g} {letter}{unit}"
    return f"{number:.4g} {unit}".rstrip()


def report(module: Module) -> Report:
    """Return what the loops of a module do."""
    sources = module.inspect()
    assembly = sources.forms.get("assembly")
    timed: dict[tuple[str, int], LoopProfile] = {}
    functions = lowered_functions(module)
    loops = [facts for func in functions for facts in loops_of(func)]
    if any(facts.timed is not None for facts in loops):
        timed = {(each.function, each.number): each for each in profile_of(module).loops}
    rows = []
    for facts in loops:
        code = None
        if assembly is not None:
            wanted = [i for i, made in enumerate(assembly.program_lines)
                      if not facts.lines.isdisjoint(made)]  # fmt: skip
            code = code_of(assembly.text, wanted)
        rows.append(
            LoopReport(
                facts,
                _place(sources, {facts.line}) or _place(sources, facts.lines),
                code,
                None if facts.timed is None else timed.get((facts.function, facts.timed)),
            )
        )
    code = None if assembly is None else code_of(assembly.text)
    accesses = tuple(access for func in functions for access in accesses_of(func))
    return Report(rows, code, module, accesses=accesses)


def _place(sources: Sources, lines: set[int]) -> str:
    """Return the first line of the user that lines of the lowered program came from."""
    written = zip(sources.source_lines, sources.forms["source"].program_lines)
    for source, made in written:
        if source.number and not lines.isdisjoint(made):
            return f"{PurePath(source.file).name}:{source.number}"
    return ""
