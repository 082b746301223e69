# SPDX-License-Identifier: Apache-2.0
"""Whole programs with schedules of tensor expressions."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT
from te_outline import lowered, same_results, text

import loopsmith as ls
from loopsmith import te


def example(name: str) -> ModuleType:
    """Import a program of examples/schedules."""
    path = ROOT / "examples" / "schedules" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("columns", [1024, 100])
def test_softmax_computes_all_stages_of_a_row_in_one_iteration(columns: int) -> None:
    program = example("softmax")
    tensors = program.softmax(8, columns)
    x, y = tensors[0], tensors[-1]
    s = program.schedule(tensors)
    lines = lowered(s, [x, y]).splitlines()
    assert lines[0] == "parallel i in 8"
    assert all(line.startswith("  ") for line in lines[1:])  # One loop, and all is in it.
    memory = [line.strip() for line in lines if "] in " in line]
    assert memory == [
        "top.rf[16] in global",
        "top[1] in global",
        f"powers[{columns}] in global",
        "total.rf[16] in global",
        "total[1] in global",
    ]
    a = np.random.default_rng(0).standard_normal((8, columns), dtype="float32")
    b = np.empty_like(a)
    ls.build(s, [x, y])(a, b)
    expected = np.exp(a - a.max(axis=1, keepdims=True))
    np.testing.assert_allclose(b, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)


def test_the_softmax_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example("softmax").main()
    assert capsys.readouterr().out.startswith("softmax 512x1024: ")


def test_cache_write_after_a_reorder_keeps_an_intermediate_transposed() -> None:
    n, m = 10, 20
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i][j], name="B")
    C = te.compute((n, m), lambda i, j: B[i][j], name="C")
    s = te.create_schedule([C.op])
    assert lowered(s, [A, C]) == text("""
        B[200] in global
        for i in 10
          for j in 20
            B =
        for i in 10
          for j in 20
            C =
    """)
    i, j = s[B].op.axis
    s[B].reorder(j, i)
    BB = s.cache_write(B, "global")
    s[B].compute_inline()
    transposed = ls.lower(s, [A, C], simple_mode=True).script()
    assert lowered(s, [A, C]) == text("""
        B.global[200] in global
        for j.c in 20
          for i.c in 10
            B.global =
        for i in 10
          for j in 20
            C =
    """)
    assert "B_global[j_c * 10 + i_c] = A_1[j_c + i_c * 20]" in transposed
    assert "C_1[i * 20 + j] = B_global[i + j * 10]" in transposed
    same_results(s, [A, C])
    # The layout stays where the order of computation is another one.
    j, i = s[BB].op.axis
    s[BB].reorder(i, j)
    script = ls.lower(s, [A, C], simple_mode=True).script()
    assert "for i_c, j_c in T.grid(10, 20)" in script
    assert "B_global[i_c + j_c * 10] = A_1[i_c * 20 + j_c]" in script
    same_results(s, [A, C])


def box_blur() -> tuple[list[te.Tensor], dict[str, te.Tensor]]:
    """Return the arguments of a blur of 3 by 3 pixels with symbolic sizes, and its stages."""
    rows, cols, chans = te.var("rows"), te.var("cols"), te.var("chans")
    image = te.placeholder((rows, cols, chans), "float32", name="input")

    def clamp(v: te.Expr, low: te.Expr | int, high: te.Expr) -> te.Expr:
        return te.max(te.min(v, high), low)

    padded = te.compute(
        (rows + 2, cols + 2, chans),
        lambda y, x, c: image[clamp(y - 1, 0, rows - 1), clamp(x - 1, 0, cols - 1), c].astype(
            "uint16"
        ),
        name="padded",
    )
    x_blur = te.compute(
        (rows + 2, cols, chans),
        lambda y, x, c: (padded[y, x, c] + padded[y, x + 1, c] + padded[y, x + 2, c]) // 3,
        name="x_blur",
    )
    y_blur = te.compute(
        (rows, cols, chans),
        lambda y, x, c: (x_blur[y, x, c] + x_blur[y + 1, x, c] + x_blur[y + 2, x, c]) // 3,
        name="y_blur",
    )
    blurred = te.compute(
        (rows, cols, chans), lambda y, x, c: y_blur[y, x, c].astype("uint8"), name="box_blur"
    )
    return [image, blurred], {"padded": padded, "x_blur": x_blur, "y_blur": y_blur}


def blurred_by_numpy(image: np.ndarray) -> np.ndarray:
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge").astype("uint16")
    rows = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) // 3
    return ((rows[:-2] + rows[1:-1] + rows[2:]) // 3).astype("uint8")


@pytest.mark.parametrize("place", ["root", "loop"])
def test_the_layout_of_an_intermediate_is_set_apart_from_its_order(place: str) -> None:
    args, stages = box_blur()
    s = te.create_schedule(args[1].op)
    s[stages["padded"]].compute_inline()
    s[stages["y_blur"]].compute_inline()
    x_blur = stages["x_blur"]
    if place == "loop":
        s[x_blur].compute_at(s[args[1]], args[1].op.axis[1])
    s[x_blur].set_layout(lambda y, x, c: [x, c, y])
    script = s.to_tir(args).func.script()
    assert 'x_blur = T.alloc_buffer((cols, chans, rows + 2), "uint16")' in script
    image = np.random.default_rng(0).integers(0, 256, (7, 9, 3)).astype("float32")
    result = np.zeros((7, 9, 3), "uint8")
    ls.build(s, args)(image, result)
    np.testing.assert_array_equal(result, blurred_by_numpy(image))


def test_a_residual_block_is_scheduled_with_caches_and_placed_stages() -> None:
    n, size = 4, 6
    x = te.placeholder((n, size, size), name="x")
    args, last, convolutions = [x], x, []
    for name in ("1", "2"):
        W = te.placeholder((n, n, 3, 3), name="W" + name)
        pad = te.compute(
            (n, size + 2, size + 2),
            lambda c, h, w, last=last: te.if_then_else(
                te.all(h >= 1, h < size + 1, w >= 1, w < size + 1),
                last[c, h - 1, w - 1],
                te.const(0, "float32"),
            ),
            name="pad" + name,
        )
        rc = te.reduce_axis((0, n), name="rc")
        rh = te.reduce_axis((0, 3), name="rh")
        rw = te.reduce_axis((0, 3), name="rw")
        conv = te.compute(
            (n, size, size),
            lambda c, h, w, pad=pad, W=W, axes=(rc, rh, rw): te.sum(
                pad[axes[0], h + axes[1], w + axes[2]] * W[c, axes[0], axes[1], axes[2]],
                axis=list(axes),
            ),
            name="conv" + name,
        )
        last = te.compute(
            (n, size, size),
            lambda c, h, w, conv=conv: te.max(conv[c, h, w], te.const(0, "float32")),
            name="relu" + name,
        )
        args.append(W)
        convolutions.append((pad, conv, last))
    y = te.compute((n, size, size), lambda c, h, w: last[c, h, w] + x[c, h, w], name="y")
    args.append(y)
    s = te.create_schedule(y.op)
    for pad, conv, relu in convolutions:
        local = s.cache_write(conv, "global")
        tile = s.cache_read(pad, "global", [local])
        c, h, w = s[relu].op.axis
        co, ci = s[relu].split(c, factor=2)
        wo, wi = s[relu].split(w, factor=4)
        s[relu].reorder(co, h, wo, ci, wi)
        s[relu].parallel(co)
        s[relu].vectorize(wi)
        s[conv].compute_inline()
        s[local].compute_at(s[relu], wo)
        rc, rh, rw = s[local].op.reduce_axis
        c, h, w = s[local].op.axis
        ro, ri = s[local].split(rc, factor=2)
        s[local].reorder(ro, ri, rh, rw, h, c, w)
        s[local].unroll(rw)
        s[tile].compute_at(s[local], ro)
    same_results(s, args)
