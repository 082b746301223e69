# SPDX-License-Identifier: Apache-2.0
"""The holes of a trace: what its sampling steps may decide instead."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..._core import Instruction, Trace


@dataclass(frozen=True)
class Hole:
    """A step of a trace that samples.

    Attributes
    ----------
    number
        The number of the step in its trace.
    kind
        The primitive: ``"sample_categorical"``, ``"sample_perfect_tile"``, ...
    decision
        What it has decided.
    line
        The step as Python.
    choices
        How many values it may have; 0 where that is not known: places in a nest.
    """

    number: int
    kind: str
    decision: Any
    line: str
    choices: int


def holes_of(trace: Trace) -> list[Hole]:
    """Return the holes of a trace, in the order of its steps."""
    found = []
    lines = trace.as_python()
    for number, inst in enumerate(trace.insts):
        if _kind(inst).startswith("sample_"):
            decision = trace.get_decision(number)
            found.append(
                Hole(number, _kind(inst), decision, lines[number], _choices(inst, decision))
            )
    return found


Decision = tuple[str, Any]
"""The kind of a sample and what it decides."""


def decisions_of(trace: Trace) -> list[Decision]:
    """Return what the samples of a trace have decided, in the order of its steps."""
    return [(hole.kind, hole.decision) for hole in holes_of(trace)]


def mutated(trace: Trace, rng: random.Random) -> list[Decision] | None:
    """Return the decisions of a trace with one of them changed; None where it has no other value.

    Tiles move a prime factor from one loop to another, as loop extents keep their product.
    """
    return _core.mutated_decisions(trace, rng.getrandbits(63))


def _kind(inst: Instruction) -> str:
    return str(inst.kind)


def _choices(inst: Instruction, decision: Any) -> int:
    if _kind(inst) == "sample_categorical":
        return sum(1 for weight in inst.attrs[1] if weight > 0)
    if _kind(inst) in ("sample_perfect_tile", "sample_partitioned_tile") and decision:
        factors = [int(factor) for factor in decision]
        return _factorizations(math.prod(factors), len(factors))
    return 0


def _factorizations(product: int, count: int) -> int:
    """Return how many lists of so many factors have this product."""
    ways = 1
    for exponent in Counter(_prime_factors(product)).values():
        ways *= math.comb(exponent + count - 1, count - 1)
    return ways


def _prime_factors(number: int) -> list[int]:
    found, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found
