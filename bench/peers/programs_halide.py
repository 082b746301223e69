# SPDX-License-Identifier: Apache-2.0
"""Some workloads by Halide, scheduled by hand. Its first index is the innermost."""

from __future__ import annotations

import os
from typing import Any

import halide as hl

THREADS = int(os.environ["OMP_NUM_THREADS"])
os.environ["HL_NUM_THREADS"] = str(THREADS)
TARGET = hl.get_jit_target_from_environment()
LANES = TARGET.natural_vector_size(hl.Float(32))
ROWS = 6 if LANES == 8 else 8  # With two or three vectors, accumulators that registers hold.
VECTORS = 2 if LANES == 8 else 3


def version() -> str:
    """Return which Halide, and for what it compiles."""
    return f"Halide, {TARGET}"


def _call(result: Any, out: Any) -> Any:
    target = hl.Buffer(out)
    result.compile_jit(TARGET)
    return lambda: result.realize(target, TARGET)


def product(a: Any, b: Any, out: Any, layout: str = "nn", batch: int = 0, **_: int) -> Any:
    """C = A @ B, tiles of it in registers."""
    if layout != "nn" or batch:
        return None
    left, right = hl.Buffer(a), hl.Buffer(b)
    x, y, xi, yi, tile = hl.vars("x y xi yi tile")
    k = hl.RDom([(0, a.shape[1])])
    total, result = hl.Func("total"), hl.Func("result")
    total[x, y] = hl.f32(0)
    total[x, y] += left[k.x, y] * right[x, k.x]
    result[x, y] = total[x, y]
    width = VECTORS * LANES
    if out.shape[0] < ROWS or out.shape[1] < width:
        return None
    result.tile(x, y, xi, yi, width, ROWS).fuse(y, x, tile).parallel(tile)
    result.vectorize(xi, LANES).unroll(xi).unroll(yi)
    total.compute_at(result, tile).vectorize(x, LANES).unroll(x).unroll(y)
    update = total.update()
    update.reorder(x, y, k.x).vectorize(x, LANES).unroll(x).unroll(y)
    return _call(result, out)


def _rowwise(result: Any, y: Any, x: Any, out: Any) -> Any:
    result.vectorize(x, LANES)
    result.parallel(y, 8) if THREADS > 1 else None
    return _call(result, out)


def add(a: Any, b: Any, out: Any, **_: int) -> Any:
    """C = A + B."""
    x, chunk = hl.vars("x chunk")
    left, right, result = hl.Buffer(a), hl.Buffer(b), hl.Func("result")
    result[x] = left[x] + right[x]
    result.split(x, chunk, x, 1 << 15).vectorize(x, LANES).parallel(chunk)
    return _call(result, out)


def transpose(a: Any, out: Any, **_: int) -> Any:
    """The transposed matrix, by tiles."""
    x, y, xi, yi = hl.vars("x y xi yi")
    source, result = hl.Buffer(a), hl.Func("result")
    result[x, y] = source[y, x]
    result.tile(x, y, xi, yi, LANES, LANES).vectorize(xi).unroll(yi).parallel(y)
    return _call(result, out)


def jacobi(a: Any, out: Any, **_: int) -> Any:
    """Mean of five neighbours."""
    x, y = hl.vars("x y")
    s, result = hl.Buffer(a), hl.Func("result")
    cross = s[x + 1, y + 1] + s[x + 1, y] + s[x + 1, y + 2] + s[x, y + 1] + s[x + 2, y + 1]
    result[x, y] = cross * hl.f32(0.2)
    return _rowwise(result, y, x, out)


def heat(a: Any, out: Any, **_: int) -> Any:
    """Mean of seven neighbours."""
    x, y, z = hl.vars("x y z")
    s, result = hl.Buffer(a), hl.Func("result")
    steps = [(1, 1, 1), (0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2)]
    total = s[x + 1, y + 1, z + 1]
    for dx, dy, dz in steps[1:]:
        total = total + s[x + dx, y + dy, z + dz]
    result[x, y, z] = total * hl.f32(1 / 7)
    result.vectorize(x, LANES).parallel(z)
    return _call(result, out)


def blur(a: Any, out: Any, **_: int) -> Any:
    """Mean of three by three; rows of the intermediate slide along."""
    x, y, yi = hl.vars("x y yi")
    s, columns, result = hl.Buffer(a), hl.Func("columns"), hl.Func("result")
    third = hl.f32(1 / 3)
    columns[x, y] = (s[x, y] + s[x, y + 1] + s[x, y + 2]) * third
    result[x, y] = (columns[x, y] + columns[x + 1, y] + columns[x + 2, y]) * third
    result.split(y, y, yi, 32).parallel(y).vectorize(x, LANES)
    columns.compute_at(result, yi).store_at(result, y).vectorize(x, LANES)
    return _call(result, out)


PROGRAMS = {
    "product": product,
    "add": add,
    "transpose": transpose,
    "jacobi": jacobi,
    "heat": heat,
    "blur": blur,
}
