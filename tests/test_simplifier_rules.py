# SPDX-License-Identifier: Apache-2.0
"""Z3 proves every row of the simplifier's tables of rules (loopsmith/arith/rules_*.cc).

Rows are proved over the integers; those that also apply to types that wrap, over signed and
unsigned bit vectors of 8 bits. Where Z3 cannot prove a row for all constants at once, because the
constants multiply or divide, it is proved for each value of them in -16..16. A time-out fails.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import z3

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "build" / "release" / "arith_test"
LANES = 4
VALUES = range(-16, 17)
BATCH = 48


class Undefined(Exception):
    """A constant part of a row divides by 0."""


class Integers:
    """Patterns as integers."""

    def __init__(self, constants: dict[str, int] | None = None) -> None:
        self.constants = constants
        self.divisors: list[Any] = []

    def variable(self, name: str) -> Any:
        if self.constants is not None and name in self.constants:
            return z3.IntVal(self.constants[name])
        return z3.Int(name)

    def literal(self, value: int) -> Any:
        return z3.IntVal(value)

    def divide(self, name: str, a: Any, b: Any) -> Any:
        # SMT-LIB's div and mod leave a remainder that is never negative.
        self.divisors.append(b)
        if z3.is_int_value(b):
            positive = z3.BoolVal(b.as_long() > 0)
        else:
            positive = b > 0
        if name in ("floordiv", "floormod"):
            quotient = z3.If(positive, a / b, (-a) / (-b))
        else:
            quotient = z3.If(a >= 0, a / b, -((-a) / b))
        return quotient if name.endswith("div") else a - quotient * b

    def less(self, a: Any, b: Any) -> Any:
        return a < b

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def lane(self) -> Any:
        return z3.Int("lane")

    def range_of_lane(self) -> Any:
        return z3.And(z3.Int("lane") >= 0, z3.Int("lane") < LANES)


class Bytes(Integers):
    """Patterns as numbers of 8 bits that wrap."""

    def __init__(self, signed: bool) -> None:
        super().__init__()
        self.signed = signed

    def variable(self, name: str) -> Any:
        return z3.BitVec(name, 8)

    def literal(self, value: int) -> Any:
        return z3.BitVecVal(value, 8)

    def divide(self, name: str, a: Any, b: Any) -> Any:
        self.divisors.append(b)
        if not self.signed:
            return z3.UDiv(a, b) if name.endswith("div") else z3.URem(a, b)
        quotient = a / b  # Rounds toward zero.
        if name in ("floordiv", "floormod"):
            rounds = z3.And(z3.SRem(a, b) != 0, (a < 0) != (b < 0))
            quotient = z3.If(rounds, quotient - 1, quotient)
        return quotient if name.endswith("div") else a - quotient * b

    def less(self, a: Any, b: Any) -> Any:
        return a < b if self.signed else z3.ULT(a, b)

    def lane(self) -> Any:
        return z3.BitVec("lane", 8)

    def range_of_lane(self) -> Any:
        return z3.ULT(z3.BitVec("lane", 8), LANES)


def translate(domain: Integers, pattern: Any, wants_condition: bool = False) -> Any:
    """Give the pattern as a term of Z3, a Bool where a condition is wanted."""
    if isinstance(pattern, int):
        return z3.BoolVal(bool(pattern)) if wants_condition else domain.literal(pattern)
    if isinstance(pattern, str):
        if pattern == "lanes":
            return domain.literal(LANES)
        return z3.Bool(pattern) if pattern in "pqr" else domain.variable(pattern)
    name, *operands = pattern
    if name in ("and", "or", "not"):
        parts = [translate(domain, operand, True) for operand in operands]
        return {"and": z3.And, "or": z3.Or, "not": z3.Not}[name](*parts)
    if name == "select":
        condition = translate(domain, operands[0], True)
        values = [translate(domain, operand, wants_condition) for operand in operands[1:]]
        return z3.If(condition, *values)
    if name == "broadcast":
        return translate(domain, operands[0], wants_condition)
    a, b = (translate(domain, operand) for operand in operands)
    if name in ("floordiv", "floormod", "truncdiv", "truncmod"):
        return domain.divide(name, a, b)
    if name == "ramp":
        return a + domain.lane() * b
    below = domain.less
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "min": lambda: z3.If(below(a, b), a, b),
        "max": lambda: z3.If(below(a, b), b, a),
        "eq": lambda: a == b,
        "ne": lambda: a != b,
        "lt": lambda: below(a, b),
        "le": lambda: z3.Not(below(b, a)),
    }[name]()


def is_condition(pattern: Any) -> bool:
    """Whether a pattern is a condition rather than a number."""
    if isinstance(pattern, str):
        return pattern in "pqr"
    if isinstance(pattern, int):
        return False
    if pattern[0] == "select":
        return any(is_condition(value) for value in pattern[2:])
    if pattern[0] == "broadcast":
        return is_condition(pattern[1])
    return pattern[0] in ("and", "or", "not", "eq", "ne", "lt", "le")


def counterexample(domain: Integers, row: dict[str, Any]) -> Any:
    """Give the statement that the row is wrong somewhere."""
    condition = is_condition(row["before"])
    before = translate(domain, row["before"], condition)
    divisors = list(domain.divisors)
    domain.divisors.clear()
    given = translate(domain, row["given"], True)
    domain.divisors.clear()  # Conditions on constants are computed; a division by 0 fails them.
    after = translate(domain, row["after"], condition)
    is_defined = [divisor != 0 for divisor in domain.divisors]
    assumed = [divisor != 0 for divisor in divisors]
    lane = [domain.range_of_lane()]
    return z3.And(given, *assumed, *lane, z3.Not(z3.And(before == after, *is_defined)))


def check(statement: Any, milliseconds: int) -> z3.CheckSatResult:
    solver = z3.Solver()
    solver.set("timeout", milliseconds)
    solver.add(statement)
    return solver.check()


def constants_of(pattern: Any) -> set[str]:
    if isinstance(pattern, str):
        return {pattern} if pattern[0] == "c" else set()
    if isinstance(pattern, int):
        return set()
    return set().union(*(constants_of(operand) for operand in pattern[1:]))


def value_of(pattern: Any, at: dict[str, int]) -> int | bool | None:
    """Give the value of a pattern of constants; None where it mentions variables."""
    if isinstance(pattern, int):
        return pattern
    if isinstance(pattern, str):
        return LANES if pattern == "lanes" else at.get(pattern)
    name, *operands = pattern
    values = [value_of(operand, at) for operand in operands]
    if name == "and":
        return False if False in values else None if None in values else all(values)
    if name == "or":
        return True if True in values else None if None in values else any(values)
    if any(value is None for value in values):
        return None
    a, b = values
    if name in ("floordiv", "floormod") and b == 0:
        raise Undefined
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "eq": lambda: a == b,
        "ne": lambda: a != b,
        "lt": lambda: a < b,
        "le": lambda: a <= b,
        "floordiv": lambda: a // b,
        "floormod": lambda: a % b,
    }[name]()


def prove_for_each_constant(row: dict[str, Any], where: str) -> None:
    """Prove the row for all its constants in -16..16."""
    names = sorted(constants_of(row["before"]) | constants_of(row["after"]))
    batch: list[Any] = []

    def prove_batch() -> None:
        if batch:
            assert check(z3.Or(*batch), 20000) == z3.unsat, where
            batch.clear()

    for values in itertools.product(VALUES, repeat=len(names)):
        at = dict(zip(names, values, strict=True))
        try:
            if value_of(row["given"], at) is False:
                continue
        except Undefined:
            continue
        statement = z3.simplify(counterexample(Integers(at), row))
        if not z3.is_false(statement):
            batch.append(statement)
        if len(batch) == BATCH:
            prove_batch()
    prove_batch()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built")
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    subprocess.run(
        [BINARY, "--gtest_filter=rules.are_written_for_the_proofs"],
        env={**os.environ, "LOOPSMITH_DUMP_RULES": str(path)},
        check=True,
        capture_output=True,
    )
    return json.loads(path.read_text())


def test_rows_hold_over_the_integers(rows: list[dict[str, Any]]) -> None:
    assert len(rows) > 300
    for row in rows:
        where = f"{row['table']} {row['row']}: {row['before']} => {row['after']}"
        answer = check(counterexample(Integers(), row), 150)
        if answer == z3.unsat:
            continue
        assert answer == z3.unknown, f"{where} is wrong"
        prove_for_each_constant(row, where)


@pytest.mark.parametrize("signed", [True, False])
def test_rows_that_wrap_hold_over_bytes(rows: list[dict[str, Any]], signed: bool) -> None:
    for row in rows:
        if row["wraps"]:
            where = f"{row['table']} {row['row']}: {row['before']} => {row['after']}"
            assert check(counterexample(Bytes(signed), row), 20000) == z3.unsat, where
