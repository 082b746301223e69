# SPDX-License-Identifier: Apache-2.0
"""Steps on programs whose sizes, loops and tables are of 64 bits, beside constants of 32.

Each step does what it does where all are of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import loopsmith as ls
from loopsmith import tir

STAGES = """
@T.prim_func
def main(A: T.Buffer(({s}(16), {s}(8))), Y: T.Buffer(({s}(16), {s}(8)))):
    S = T.alloc_buffer(({s}(16), {s}(8)))
    for i, j in T.grid({l}(16), {l}(8)):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid({l}(16), {l}(8)):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = S[vi, vj] + T.float32(2)
"""
SIZES = """
@T.prim_func
def main(a: T.handle, y: T.handle):
    n, m = T.{v}(), T.{v}()
    A = T.match_buffer(a, (n, m))
    Y = T.match_buffer(y, (n, m))
    S = T.alloc_buffer((n, m))
    for i, j in T.grid({l}(n), {l}(m)):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid({l}(n), {l}(m)):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = S[vi, vj] + T.float32(2)
"""
TABLE = """
@T.prim_func
def main(X: T.Buffer((16,), "{v}"), W: T.Buffer(({s}(32), {s}(8))), Y: T.Buffer((16, {s}(8)))):
    for i, j in T.grid({l}(16), {l}(8)):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = W[X[vi], vj] * T.float32(2)
"""
SUM = """
@T.prim_func
def main(A: T.Buffer((16, {s}(24))), B: T.Buffer(({s}(24), 8)), Y: T.Buffer(({s}(16), 8))):
    for i, j, k in T.grid({l}(16), 8, {l}(24)):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
"""
Steps = Callable[[tir.Schedule], Any]


def of_loop(block: str, place: int, step: Callable[[tir.Schedule, Any], Any]) -> Steps:
    return lambda s: step(s, s.get_loops(s.get_block(block))[place])


def in_tiles(s: tir.Schedule) -> None:
    i, j = s.get_loops(s.get_block("Y"))
    outer, inner = s.split(i, [None, 5])
    across, along = s.split(j, [None, 4])
    s.reorder(outer, across, inner, along)
    s.compute_at("S", across)


def fused_lanes(s: tir.Schedule) -> None:
    outer, lanes = s.split(s.fuse(*s.get_loops(s.get_block("Y"))[:2]), [None, 16])
    s.vectorize(lanes)
    s.parallel(outer)


def by_tail(s: tir.Schedule, loop: Any) -> None:
    s.rfactor(s.split(loop, [None, 7])[1], 0)


def cached(buffer: str, step: Callable[..., Any], **more: Any) -> Steps:
    def steps(s: tir.Schedule) -> None:
        s.transform_layout(s.cache_read("Y", buffer, "global"), ("write", 0), step, **more)

    return steps


STEPS: dict[str, dict[str, Steps]] = {
    "stages": {
        "turned": lambda s: s.transform_layout("S", ("write", 0), lambda i, j: (j, i)),
        "tiled": lambda s: s.transform_layout("S", ("write", 0), lambda i, j: (i // 4, j, i % 4)),
        "padded": lambda s: s.transform_layout(
            "S", ("write", 0), lambda i, j: (i // 5, j, i % 5), pad_value=0.0
        ),
        "padded input": lambda s: s.transform_layout(
            "S", ("read", 0), lambda i, j: (i // 5, j, i % 5), pad_value=0.0
        ),
        "joined axes": lambda s: s.transform_block_layout("S", lambda i, j: (i * 8 + j,)),
        "cut axes": lambda s: s.transform_block_layout("S", lambda i, j: (i // 4, i % 4, j)),
        "read": lambda s: s.reindex_cache_read("S", 0, "global", lambda i, j: (j, i)),
        "read tiles": lambda s: s.reindex_cache_read(
            "S", 0, "global", lambda i, j: (i // 4, j, i % 4)
        ),
        "read flat": lambda s: s.reindex_cache_read("Y", 0, "global", lambda i, j: (i * 8 + j,)),
        "write": lambda s: s.reindex_cache_write("S", 0, "global", lambda i, j: (i // 4, j, i % 4)),
        "reindex": lambda s: s.reindex("S", ("read", 0)),
        "inline": lambda s: s.compute_inline("S"),
        "reverse inline": lambda s: s.reverse_compute_inline("Y"),
        "at": of_loop("Y", 0, lambda s, loop: s.compute_at("S", loop)),
        "reverse at": of_loop("S", 0, lambda s, loop: s.reverse_compute_at("Y", loop)),
        "blockize": of_loop("S", 1, lambda s, loop: s.blockize(loop)),
        "partition": of_loop("Y", 0, lambda s, loop: s.loop_partition(loop, [3, None])),
        "tiles": in_tiles,
        "lanes": fused_lanes,
    },
    "table": {
        "turned table": cached("W", lambda i, j: (j, i)),
        "tiled table": cached("W", lambda i, j: (i // 4, j, i % 4)),
        "padded table": cached("W", lambda i, j: (i // 5, j, i % 5), pad_value=0.0),
        "tiled": lambda s: s.transform_layout("Y", "Y", lambda i, j: (i // 4, j, i % 4)),
        "joined axes": lambda s: s.transform_block_layout("Y", lambda i, j: (i * 8 + j,)),
        "reindex": lambda s: s.reindex("Y", ("write", 0)),
        "index": lambda s: s.cache_index("Y", "global"),
        "lanes": fused_lanes,
    },
    "sum": {
        "rfactor": of_loop("Y", 2, lambda s, loop: s.rfactor(s.split(loop, [None, 4])[0], 0)),
        "rfactor last": of_loop("Y", 2, lambda s, loop: s.rfactor(s.split(loop, [None, 4])[1], 2)),
        "rfactor tail": of_loop("Y", 2, by_tail),
        "rfactor all": of_loop("Y", 2, lambda s, loop: s.rfactor(loop, 1)),
        "decompose": of_loop("Y", 2, lambda s, loop: s.decompose_reduction("Y", loop)),
        "pad": lambda s: s.pad_einsum("Y", [1, 1, 16]),
        "cut axes": lambda s: s.transform_block_layout("Y", lambda i, j, k: (i // 4, i % 4, j, k)),
        "read": lambda s: s.reindex_cache_read("Y", 0, "global", lambda i, j, k: (k, i)),
        "write": lambda s: s.reindex_cache_write("Y", 0, "global", lambda i, j, k: (j, i)),
        "parallel": of_loop("Y", 2, lambda s, loop: s.parallel(loop)),
        "vectorize": of_loop("Y", 2, lambda s, loop: s.vectorize(loop)),
    },
}
# The sizes of a padded input would define no variables.
STEPS["sizes"] = {name: each for name, each in STEPS["stages"].items() if name != "padded input"}
PROGRAMS = {"stages": STAGES, "sizes": SIZES, "table": TABLE, "sum": SUM}


def outcome(text: str, steps: Steps) -> str:
    """What comes of the steps: the code of a refusal, or that of a sound program."""
    given = ls.from_source(text)
    sch = tir.Schedule(given)
    try:
        steps(sch)
    except ls.ScheduleError as error:
        return error.code
    shapes = [[len(buffer.shape) for buffer in f.buffer_map.values()] for f in (given, sch.func)]
    if shapes[0] == shapes[1]:
        assert sch.verify()
    ls.lower(sch)
    return "done"


@pytest.mark.parametrize(
    "sizes,loops,table", [(64, 64, 64), (64, 32, 32), (32, 64, 64), (32, 32, 64)]
)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_steps_do_the_same_in_64_bits(kind: str, sizes: int, loops: int, table: int):
    def text(sizes: int, loops: int, table: int) -> str:
        return PROGRAMS[kind].format(s=f"T.int{sizes}", l=f"T.int{loops}", v=f"int{table}")

    if kind == "sizes" and loops < table:
        return
    wide, narrow = text(sizes, loops, table), text(32, 32, 32)
    steps = STEPS[kind].items()
    expected = {name: outcome(narrow, each) for name, each in steps}
    assert {name: outcome(wide, each) for name, each in steps} == expected


def test_a_map_whose_indices_nothing_counts_names_them():
    sch = tir.Schedule(ls.from_source(STAGES.format(s="", l="")))
    with pytest.raises(ls.TypeMismatch) as error:
        sch.annotate_buffer_access("S", 0, "read", lambda *a: a)
    assert str(error.value) == (
        "an index map takes *a: how many indices there are is not known\n"
        "  hint: name them, or pass arith.index_map(function, ndim)"
    )
    sch.transform_layout("S", ("write", 0), ls.arith.index_map(lambda *a: a[::-1], 2))
    assert sch.verify()
