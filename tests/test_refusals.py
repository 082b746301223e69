# SPDX-License-Identifier: Apache-2.0
"""Refusals of schedule primitives, quoted; each code in the sources is quoted somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from conftest import ROOT

import loopsmith as ls
from loopsmith import tir


def program(parameters: str, body: str) -> tir.PrimFunc:
    """Return a function of these parameters; the lines of its body stand at the margin."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return ls.from_source(f"@T.prim_func\ndef main({parameters}):\n{lines}\n")


STAGES = program(
    'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + T.float32(1)
for y in range(8):
    with T.block("C"):
        vy = T.axis.spatial(8, y)
        C[vy] = B[vy] * T.float32(2)
""",
)
UNREAD = program(
    'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + T.float32(1)
for y in range(8):
    with T.block("C"):
        vy = T.axis.spatial(8, y)
        C[vy] = A[vy] * T.float32(2)
""",
)
BROKEN_OFF = program(
    'A: T.Buffer((8, 4), "float32")',
    """
for i, j in T.grid(8, 4):
    A[i, j] = T.float32(0)
    if A[i, j] > T.float32(1):
        break
""",
)
RAGGED = program(
    'N: T.Buffer((8,), "int32"), A: T.Buffer((8, 8), "float32")',
    """
for i in range(8):
    for j in range(N[i]):
        A[i, j] = T.float32(0)
""",
)
TWO_NESTS = program(
    'A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")',
    """
for i in range(8):
    for j in range(4):
        A[i, j] = T.float32(0)
    for k in range(4):
        B[i, k] = T.float32(1)
""",
)
SCATTERED = program(
    'A: T.Buffer((8, 4), "float32"), P: T.Buffer((8,), "int32"), Q: T.Buffer((8, 4), "int32")',
    """
for i, j in T.grid(8, 4):
    A[P[i], Q[i, j]] = A[i, j]
""",
)
SCATTERED_TWICE = program(
    'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32")',
    """
for i in range(8):
    A[P[i]] = T.float32(0)
for y in range(8):
    B[y] = A[P[y]]
""",
)
SAME_NAME = program(
    'A: T.Buffer((8,), "float32")',
    """
for i in range(8):
    with T.block("put"):
        vi = T.axis.spatial(8, i)
        A[vi] = T.float32(0)
for y in range(8):
    with T.block("put"):
        vy = T.axis.spatial(8, y)
        A[vy] = T.float32(1)
""",
)
CALLED = program(
    'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + T.float32(1)
T.evaluate(T.call_extern("int32", "touch", A.data))
for y in range(8):
    with T.block("C"):
        vy = T.axis.spatial(8, y)
        C[vy] = B[vy] * T.float32(2)
""",
)
EFFECT = program(
    'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = T.call_extern("float32", "next", A[vi])
for y in range(8):
    with T.block("C"):
        vy = T.axis.spatial(8, y)
        C[vy] = B[vy] * T.float32(2)
""",
)
BY_POINTER = program(
    'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + T.float32(1)
for y in range(8):
    with T.block("C"):
        vy = T.axis.spatial(8, y)
        T.reads(B[0:8])
        T.writes(C[vy])
        C[vy] = T.call_extern("float32", "sum", B.data)
""",
)
GUARDED = program(
    'A: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")',
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        T.where(P[i] > 0)
        B[vi] = A[vi] + T.float32(1)
for y in range(8):
    with T.block("C"):
        vy = T.axis.spatial(8, y)
        C[vy] = B[vy] * T.float32(2)
""",
)
NESTED = program(
    'A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")',
    """
for i in range(8):
    with T.block("outer"):
        vi = T.axis.spatial(8, i)
        T.reads(A[vi, 0:4])
        T.writes(B[vi, 0:4])
        for j in range(4):
            with T.block("inner"):
                vj = T.axis.spatial(4, j)
                B[vi, vj] = A[vi, vj] * T.float32(2)
""",
)
UNTRUE = program(
    'A: T.Buffer((9,), "float32")',
    """
for i in range(8):
    with T.block("step"):
        vi = T.axis.spatial(8, i)
        A[vi + 1] = A[vi] + T.float32(1)
""",
)
STRIDED = program(
    "a: T.handle",
    """
A = T.match_buffer(a, (8, 4), "float32", strides=[8, 1])
for i, j in T.grid(8, 4):
    with T.block("A"):
        vi, vj = T.axis.remap("SS", [i, j])
        A[vi, vj] = T.float32(0)
""",
)
OUTER_PRODUCT = program(
    'A: T.Buffer((8,), "float32"), C: T.Buffer((8, 8), "float32")',
    """
B = T.alloc_buffer((8,))
D = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + T.float32(1)
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = A[vi] * T.float32(2)
for y, x in T.grid(8, 8):
    with T.block("C"):
        vy, vx = T.axis.remap("SS", [y, x])
        C[vy, vx] = B[vy] * D[vx]
""",
)
ROOT_THAT_READS = program(
    'A: T.Buffer((8,), "float32")',
    """
with T.block("root"):
    T.reads(A[0:8])
    T.writes(A[0:8])
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] * T.float32(2)
""",
)

Call = Callable[[tir.Schedule], object]


REFUSALS: list[tuple[str, tir.PrimFunc, Call, str]] = [
    (
        "iterations_reach_their_end",
        BROKEN_OFF,
        lambda sch: sch.parallel("j", assume_independent=True),
        "parallel: a break or return ends loop j, or an iteration of it, early",
    ),
    (
        "iterations_reach_their_end",
        BROKEN_OFF,
        lambda sch: sch.split("j", [None, 2]),
        "split: a break ends loop j, or an iteration of it, early",
    ),
    (
        "bounds_are_independent",
        RAGGED,
        lambda sch: sch.fuse("i", "j"),
        "fuse: the bounds of loop j depend on loop i",
    ),
    (
        "nest_is_perfect",
        TWO_NESTS,
        lambda sch: sch.fuse("i", "j"),
        "fuse: loop j is not the only child of loop i",
    ),
    (
        "nest_is_perfect",
        TWO_NESTS,
        lambda sch: sch.reorder("j", "i"),
        "reorder: loop i holds more than the next loop",
    ),
    (
        "step_keeps_results",
        SCATTERED,
        lambda sch: sch.reorder("j", "i"),
        "reorder: results may change: whether the new order of loops j, i keeps dependences is "
        "unknown, as ",
    ),
    (
        "step_keeps_results",
        SCATTERED_TWICE,
        lambda sch: sch.merge("i", "y"),
        "merge: results may change: whether loops i and y may become one is unknown, as ",
    ),
    (
        "name_is_unique",
        SAME_NAME,
        lambda sch: sch.get_block("put"),
        "get_block: Found 2 blocks with the name: put",
    ),
    (
        "nest_is_perfect",
        program(
            'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")',
            """
for i in range(4):
    with T.block("A"):
        vi = T.axis.spatial(4, i)
        A[vi] = T.float32(0)
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        B[vi] = T.float32(0)
""",
        ),
        lambda sch: sch.rfactor("i", 0),
        "rfactor: loop i has 2 blocks inside, not one",
    ),
    (
        "handle_is_alive",
        STAGES,
        lambda sch: [
            block := sch.get_block("B"),
            sch.compute_inline(block),
            sch.get_loops(block),
        ],
        "get_loops: block B was inlined at step 2",
    ),
    (
        "name_is_known",
        STAGES,
        lambda sch: sch.get_loop("nowhere"),
        "get_loop: no loop is called nowhere",
    ),
    (
        "loop_is_in_scope",
        NESTED,
        lambda sch: sch.compute_at("outer", sch.get_loops("inner")[0]),
        "compute_at: block outer and loop j are not in the same scope",
    ),
    (
        "block_has_consumers",
        UNREAD,
        lambda sch: sch.compute_at("B", sch.get_loops("C")[0]),
        "compute_at: no block reads what block B writes",
    ),
    (
        "block_has_no_init",
        program(
            'A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
            """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = A[vi]
for y in range(8):
    with T.block("C"):
        vy = T.axis.spatial(8, y)
        C[vy] = B[vy] * T.float32(2)
""",
        ),
        lambda sch: sch.compute_inline("B"),
        "compute_inline: block B has an init",
    ),
    (
        "step_keeps_results",
        EFFECT,
        lambda sch: sch.compute_inline("B"),
        "compute_inline: results may change: block B asserts, or calls what may have effects",
    ),
    (
        "readers_read_elements",
        BY_POINTER,
        lambda sch: sch.compute_inline("B"),
        "compute_inline: B is reached through its pointer or a view in block C",
    ),
    (
        "step_keeps_results",
        CALLED,
        lambda sch: sch.compute_at("B", "y"),
        "compute_at: results may change: whether and where ",
    ),
    (
        "instances_are_known",
        GUARDED,
        lambda sch: sch.compute_at("B", "y"),
        "compute_at: which instances of block B run is not understood, as ",
    ),
    (
        "block_stands_in_a_block",
        ROOT_THAT_READS,
        lambda sch: sch.cache_read("root", 0, "local"),
        "cache_read: block root has no block around it",
    ),
    (
        "block_is_leaf",
        NESTED,
        lambda sch: sch.reindex("outer", ("read", 0)),
        "reindex: block outer has other blocks inside",
    ),
    (
        "step_keeps_results",
        UNTRUE,
        lambda sch: sch.transform_block_layout("step", lambda i: (i // 4, i % 4)),
        "transform_block_layout: results may change: instances of block step may depend on each "
        "other's order",
    ),
    (
        "buffer_is_compact",
        STRIDED,
        lambda sch: sch.transform_layout("A", ("write", 0), lambda i, j: (j, i)),
        "transform_layout: buffer A has strides or an offset of its own",
    ),
    (
        "step_keeps_results",
        OUTER_PRODUCT,
        lambda sch: sch.reverse_compute_at("C", "i"),
        "reverse_compute_at: results would change: C (vy=1, vx=0) would not run any more, and C is "
        "used outside",
    ),
]


@pytest.mark.parametrize(("code", "func", "call", "text"), REFUSALS, ids=[r[0] for r in REFUSALS])
def test_a_refusal_says_what_is_wrong(code: str, func: tir.PrimFunc, call: Call, text: str):
    sch = tir.Schedule(func)
    with pytest.raises(ls.ScheduleError) as caught:
        call(sch)
    assert caught.value.problem.startswith(text)
    assert caught.value.code == code


def test_every_refusal_is_quoted_in_a_test():
    sources = ROOT / "loopsmith" / "schedule"
    codes = {
        code
        for path in [*sources.rglob("*.h"), *sources.rglob("*.cc")]
        for code in re.findall(r'Condition\s+\w+\{\s*"(\w+)"', path.read_text())
    }
    tests = [*sources.rglob("*_test.cc"), *(ROOT / "tests").glob("*.py")]
    quoted = set(re.findall(r"\w+", "\n".join(path.read_text() for path in tests)))
    assert len(codes) > 70
    assert codes - quoted == set()


def test_what_each_condition_of_one_id_says_is_quoted_in_a_test():
    sources = ROOT / "loopsmith" / "schedule"
    problems: dict[str, list[str]] = {}
    for path in [*sources.rglob("*.h"), *sources.rglob("*.cc")]:
        condition = r'Condition\s+\w+\{\s*"(\w+)",\s*"((?:[^"\\]|\\.)*)"'
        for code, problem in re.findall(condition, joined(path.read_text())):
            problems.setdefault(code, []).append(problem)
    tests = [*sources.rglob("*_test.cc"), *(ROOT / "tests").glob("*.py")]
    quoted = joined("\n".join(path.read_text() for path in tests))
    # Of each, the longest part between what it speaks of.
    parts = {
        max(problem.split("{}"), key=len)
        for several in problems.values()
        for problem in several
        if len(several) > 1
    }
    assert len(parts) > 60
    assert {part for part in parts if part not in quoted} == set()


def joined(source: str) -> str:
    """Return a source with string literals that follow each other made one."""
    return re.sub(r'"\s*\n\s*"', "", source)
