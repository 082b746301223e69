# SPDX-License-Identifier: Apache-2.0
"""Products of small integers with sums in int32, by instructions for pairs where there are some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te

TARGETS = {
    "llvm -mcpu=native": "pmadd|vpdpwssd",
    "llvm -mcpu=haswell": "llvm.x86.avx2.pmadd.wd",
    "llvm -mcpu=skylake-avx512": "llvm.x86.avx2.pmadd.wd",
    "llvm -mcpu=x86-64": "llvm.x86.sse2.pmadd.wd",
    "c": None,
}


def product(
    m: Any, n: Any, k: Any, dtypes: tuple[str, str] = ("int8", "int8"), layout: str = "nn"
) -> list[te.Tensor]:
    a = te.placeholder((k, m) if layout[0] == "t" else (m, k), dtypes[0], name="A")
    b = te.placeholder((n, k) if layout[1] == "t" else (k, n), dtypes[1], name="B")
    r = te.reduce_axis((0, k), name="k")

    def value(i: Any, j: Any) -> Any:
        left = a[r, i] if layout[0] == "t" else a[i, r]
        right = b[j, r] if layout[1] == "t" else b[r, j]
        return te.sum(left.astype("int32") * right.astype("int32"), axis=r)

    return [a, b, te.compute((m, n), value, name="C")]


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return integers of a type, its ends among them."""
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    values = rng.integers(ends.min, ends.max, shape, endpoint=True).astype(dtype)
    extreme = rng.random(shape) < 0.3
    return np.where(extreme, rng.choice([ends.min, ends.max], shape), values).astype(dtype)


def check(module: ls.Module, a: np.ndarray, b: np.ndarray, layout: str = "nn") -> None:
    left = (a.T if layout[0] == "t" else a).astype("int64")
    right = (b.T if layout[1] == "t" else b).astype("int64")
    out = np.full((left.shape[0], right.shape[1]), 77, "int32")
    module(a, b, out)
    np.testing.assert_array_equal(out, (left @ right).astype("int32"))


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "c"])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
def test_products_are_exact(target: str, layout: str) -> None:
    for m, n, k in [(24, 64, 32), (13, 37, 41)]:
        module = ls.build(product(m, n, k, layout=layout), target=ls.Target(target))
        a = drawn((k, m) if layout[0] == "t" else (m, k), "int8", 1)
        b = drawn((n, k) if layout[1] == "t" else (k, n), "int8", 2)
        check(module, a, b, layout)


@pytest.mark.parametrize("target", TARGETS)
def test_pairs_are_multiplied_by_the_instruction_of_the_processor(target: str) -> None:
    program = product(64, 64, 64, ("int16", "int16"))
    text = ls.build(program, target=ls.Target(target)).source("tir")
    names = TARGETS[target]
    if names is None:
        assert "call_llvm_pure_intrin" not in text
    else:
        assert any(name in text for name in names.split("|"))


@pytest.mark.parametrize(
    "dtypes", [("uint8", "int8"), ("int16", "int16"), ("int16", "uint8"), ("uint16", "int8")]
)
def test_types_may_differ(dtypes: tuple[str, str]) -> None:
    module = ls.build(product(20, 48, 25, dtypes))
    a, b = drawn((20, 25), dtypes[0], 1), drawn((25, 48), dtypes[1], 2)
    check(module, a, b)
    # The only pair of products whose sum is none of an int32.
    least = [np.full(shape, np.iinfo(t).min, t) for shape, t in zip([(20, 25), (25, 48)], dtypes)]
    check(module, *least)


def test_sizes_may_be_symbols_and_sums_long() -> None:
    module = ls.build(product(*[te.size_var(name) for name in "mnk"]))
    for m, n, k in [(1, 1, 1), (7, 33, 1), (12, 65, 2), (9, 16, 5), (30, 100, 2049)]:
        check(module, drawn((m, k), "int8", 1), drawn((k, n), "int8", 2))
    check(
        ls.build(product(40, 48, 5001)), drawn((40, 5001), "int8", 1), drawn((5001, 48), "int8", 2)
    )


def test_a_padded_convolution_of_bytes() -> None:
    c, size, f = 6, 10, 20
    a = te.placeholder((c, size, size), "uint8", name="A")
    w = te.placeholder((f, c, 3, 3), "int8", name="W")
    ci, p, q = (te.reduce_axis((0, n), name=x) for n, x in ((c, "c"), (3, "p"), (3, "q")))
    padded = te.compute(
        (c, size + 2, size + 2),
        lambda i, y, x: te.if_then_else(
            te.all(y > 0, y <= size, x > 0, x <= size), a[i, y - 1, x - 1], te.const(0, "uint8")
        ),
        name="P",
    )
    out = te.compute(
        (f, size, size),
        lambda o, y, x: te.sum(
            padded[ci, y + p, x + q].astype("int32") * w[o, ci, p, q].astype("int32"),
            axis=[ci, p, q],
        ),
        name="B",
    )
    x, weights = drawn((c, size, size), "uint8", 1), drawn((f, c, 3, 3), "int8", 2)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x.astype("int64"), ((0, 0), (1, 1), (1, 1))), (3, 3), axis=(1, 2)
    )
    result = np.zeros((f, size, size), "int32")
    ls.build([a, w, out])(x, weights, result)
    np.testing.assert_array_equal(result, np.einsum("cyxpq,fcpq->fyx", windows, weights))
