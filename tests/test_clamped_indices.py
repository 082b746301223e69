# SPDX-License-Identifier: Apache-2.0
"""Stencils as people write them: indices that are clamped, or wrap around, are exact."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import arith, tir

CLAMPED = """
@T.prim_func
def blur(a: T.handle, b: T.handle):
    {size}
    A = T.match_buffer(a, ({n}, {n}), "float32")
    B = T.match_buffer(b, ({n}, {n}), "float32")
    tmp = T.alloc_buffer(({n}, {n}))
    for y, x in T.grid({n}, {n}):
        with T.block("tmp"):
            vy, vx = T.axis.remap("SS", [y, x])
            tmp[vy, vx] = A[vy, T.max(vx - 1, 0)] + A[vy, vx] + A[vy, T.min(vx + 1, {n} - 1)]
    for y, x in T.grid({n}, {n}):
        with T.block("B"):
            vy, vx = T.axis.remap("SS", [y, x])
            B[vy, vx] = tmp[T.max(vy - 1, 0), vx] + tmp[vy, vx] + tmp[T.min(vy + 1, {n} - 1), vx]
"""


def blur(n: int | None) -> tir.Schedule:
    """Return a blur of that size, or of any."""
    text = CLAMPED.format(n=n or "n", size="pass" if n else "n = T.int32()")
    return tir.Schedule(ls.from_source(text.replace("    pass\n", "")))


def blurred(image: np.ndarray) -> np.ndarray:
    """Return the blur with borders repeated."""
    wide = np.pad(image, ((0, 0), (1, 1)), "edge")
    rows = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    high = np.pad(rows, ((1, 1), (0, 0)), "edge")
    return high[:-2] + high[1:-1] + high[2:]


@pytest.mark.parametrize("n", [33, None])
def test_rows_of_a_clamped_stencil_are_computed_where_they_are_read(n: int | None) -> None:
    sch = blur(n)
    y, _ = sch.get_loops("B")
    sch.compute_at("tmp", y)
    sch.parallel(y)
    assert sch.verify()
    run = ls.build(sch)
    for size in [33] if n else [1, 2, 7, 33]:
        image = np.random.default_rng(0).random((size, size), "float32")
        found = np.zeros_like(image)
        run(image, found)
        np.testing.assert_allclose(found, blurred(image), rtol=1e-5)


@pytest.mark.parametrize("rows", [16, 11, None])
def test_rings_keep_the_rows_of_a_clamped_stencil(rows: int | None) -> None:
    sch = blur(33)
    y, _ = sch.get_loops("B")
    if rows is None:
        sch.compute_at("tmp", y)
        sch.rolling_buffer("tmp", 0)
    else:
        tile, row = sch.split(y, [None, rows])
        sch.compute_at("tmp", row)
        sch.store_at("tmp", tile)
        sch.parallel(tile)
    assert "tmp = T.alloc_buffer((3, 33))" in sch.func.script()
    assert sch.verify()
    image = np.random.default_rng(0).random((33, 33), "float32")
    found = np.zeros_like(image)
    ls.build(sch)(image, found)
    np.testing.assert_allclose(found, blurred(image), rtol=1e-5)


@pytest.mark.parametrize("factors", [(None, 16), (1, None)])
def test_rings_of_clamped_rows_take_symbolic_sizes(factors: tuple[int | None, ...]) -> None:
    sch = blur(None)
    tile, row = sch.split(sch.get_loops("B")[0], factors)
    sch.compute_at("tmp", row)
    sch.store_at("tmp", tile)
    assert "tmp = T.alloc_buffer((3, " in sch.func.script()
    assert sch.verify()
    for size in (1, 3, 50):
        image = np.random.rand(size, size).astype("float32")
        found = np.zeros_like(image)
        ls.build(sch)(image, found)
        np.testing.assert_allclose(found, blurred(image), rtol=1e-5)


def test_tiles_of_a_clamped_stencil_compute_their_rows() -> None:
    sch = blur(32)
    tile, _ = sch.split(sch.get_loops("B")[0], [None, 8])
    sch.compute_at("tmp", tile)
    sch.parallel(tile)
    assert sch.verify()


def test_rows_of_a_stencil_on_a_torus_are_computed_where_they_are_read() -> None:
    sch = tir.Schedule(
        ls.from_source("""
@T.prim_func
def torus(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    tmp = T.alloc_buffer((16, 16))
    for y, x in T.grid(16, 16):
        with T.block("tmp"):
            vy, vx = T.axis.remap("SS", [y, x])
            tmp[vy, vx] = A[vy, (vx + 1) % 16] + A[vy, (vx + 15) % 16]
    for y, x in T.grid(16, 16):
        with T.block("B"):
            vy, vx = T.axis.remap("SS", [y, x])
            B[vy, vx] = tmp[(vy + 1) % 16, vx] + tmp[vy, vx]
""")
    )
    y, _ = sch.get_loops("B")
    sch.compute_at("tmp", y)
    sch.parallel(y)
    assert sch.verify()


def test_minima_and_maxima_are_compared_by_their_operands() -> None:
    y, z, n = tir.Var("y", "int32"), tir.Var("z", "int32"), tir.Var("n", "int32")
    known = arith.Analyzer()
    known.bind(y, ls.ir.Range(0, 64))
    known.bind(z, ls.ir.Range(0, n))
    before, after = tir.max(y, 1) - 1, tir.min(y, 62) + 1
    assert known.can_prove(before <= y)
    assert known.can_prove(y <= after)
    assert not known.can_prove(before < y)
    assert ls.structural_equal(known.simplify(tir.min(before, after)), before)
    assert ls.structural_equal(known.simplify(tir.max(tir.min(before, y), after)), after)
    assert known.can_prove(z <= tir.min(z + 1, n - 1))


def test_what_may_wrap_is_not_compared_by_offsets() -> None:
    u = tir.Var("u", "uint32")
    known = arith.Analyzer()
    assert not known.can_prove(u < u + tir.const(1, "uint32"))
    assert not known.can_prove(tir.min(u, u + tir.const(1, "uint32")) == u)
