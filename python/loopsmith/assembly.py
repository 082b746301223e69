# SPDX-License-Identifier: Apache-2.0
"""What the assembly of a compiled program has: vectors, fused operations, gathers, spills."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

FUSED = re.compile(r"\s*(?:vfn?m(?:add|sub)|fmla|vfmacc)")
GATHER = re.compile(r"\s*v\w*gather")
SPILL = re.compile(r"\s*v?\w+\s.*\(%r[sb]p\).*%[xyz]mm|\s*v?\w+\s.*%[xyz]mm.*\(%r[sb]p\)")
VECTOR_BITS = {"zmm": 512, "ymm": 256, "xmm": 128}


@dataclass(frozen=True)
class Code:
    """What some lines of assembly have."""

    vector_bits: int
    """Of the widest vector registers that they name."""
    fused: int
    """Instructions that multiply and add at once."""
    gathers: int
    inner_loops: int
    spills: int
    """Vector operands on the stack inside of innermost loops."""


def code_of(assembly: str, wanted: Iterable[int] | None = None) -> Code:
    """Return what is in a text of assembly: of x86; of others, what their names tell.

    Parameters
    ----------
    assembly
        The text.
    wanted
        The lines to look at, counted from 0; None: all.
    """
    lines = assembly.splitlines()
    chosen = set(range(len(lines)) if wanted is None else wanted)
    text = "\n".join(lines[i] for i in sorted(chosen))
    loops = [body for body in inner_loops(lines) if not chosen.isdisjoint(body)]
    return Code(
        vector_bits=max(
            (bits for name, bits in VECTOR_BITS.items() if f"%{name}" in text), default=0
        ),
        fused=sum(1 for i in chosen if FUSED.match(lines[i])),
        gathers=sum(1 for i in chosen if GATHER.match(lines[i])),
        inner_loops=len(loops),
        spills=sum(1 for body in loops for i in body if i in chosen and SPILL.match(lines[i])),
    )


def inner_loops(lines: list[str]) -> list[range]:
    """Return the lines of each loop without another one inside: up to a jump back to its label."""
    places: dict[str, int] = {}
    ranges = []
    for i, line in enumerate(lines):
        if label := re.match(r"(\.?\w[\w.$]*):", line):
            places[label[1]] = i
        elif (jump := re.match(r"\s+j\w+\s+(\.?\w[\w.$]*)", line)) and jump[1] in places:
            ranges.append((places[jump[1]], i))
    return [
        range(begin, end + 1)
        for begin, end in ranges
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in ranges)
    ]
