# SPDX-License-Identifier: Apache-2.0
"""Attention by rule on GPUs: one kernel for sizes, masks and types as users write them."""

from __future__ import annotations

import math
from typing import Any

import gpu_devices
import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


def attention(
    batch: int, queries: Any, keys: Any, width: int, dtype: str, is_causal: bool
) -> tir.PrimFunc:
    """Scores and sums in float32; what is not batched has batch 0."""
    lead = (batch,) if batch else ()
    q = te.placeholder((*lead, queries, width), dtype, name="Q")
    k, v = (te.placeholder((*lead, keys, width), dtype, name=name) for name in "KV")
    r, t = te.reduce_axis((0, width), name="r"), te.reduce_axis((0, keys), name="t")
    square = (*lead, queries, keys)

    def wide(value: Any) -> Any:
        return value.astype("float32")

    scores = te.compute(
        square, lambda *p: te.sum(wide(q[(*p[:-1], r)]) * wide(k[(*p[:-2], p[-1], r)]), axis=r)
    )

    def term(*place: Any) -> Any:
        value = scores[place] * width**-0.5
        if not is_causal:
            return value
        return te.if_then_else(place[-1] <= place[-2], value, te.infinity("float32") * -1.0)

    soft = te.nn.softmax(te.compute(square, term))
    weights = te.compute(square, lambda *p: soft[p].astype(dtype))
    sums = te.compute(
        (*lead, queries, width),
        lambda *p: te.sum(wide(weights[(*p[:-1], t)]) * wide(v[(*p[:-2], t, p[-1])]), axis=t),
    )
    out = te.compute((*lead, queries, width), lambda *p: sums[p].astype(dtype), name="out")
    return te.create_prim_func([q, k, v, out])


def operands(batch: int, queries: int, keys: int, width: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    lead = (batch,) if batch else ()
    shapes = [(*lead, n, width) for n in (queries, keys, keys)]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, is_causal: bool) -> np.ndarray:
    q, k, v = (each.astype("float32") for each in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: np.ndarray = powers / powers.sum(axis=-1, keepdims=True) @ v
    return result


CASES = [
    (0, 64, 64, 32, "float32", False),
    (2, 70, 90, 32, "float32", True),
    (1, 100, 100, 48, "float32", True),
    (2, 40, 100, 20, "float16", False),
    (2, 64, 128, 32, "float16", True),
    (0, 32, 80, 16, "float16", False),
    (1, 130, 33, 24, "float16", False),
    (2, 70, 90, 37, "float16", True),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("target", ["opencl", "cuda -arch=sm_75", "cuda -arch=sm_80"])
def test_attention_is_one_kernel(target: str, case: tuple[Any, ...]) -> None:
    gpu_devices.require(target)
    *sizes, dtype, is_causal = case
    are_fragments = dtype == "float16" and target.endswith("sm_80")
    sch = ls.default_schedule(attention(*case), target=target)
    assert "merge_online" in str(sch.trace)
    assert ("wmma_sync" in str(sch.trace)) == are_fragments
    built = ls.build(sch, target=target)
    source = built.source(target.split()[0])
    assert source.count("__kernel void" if target == "opencl" else "__global__ void") == 1
    arrays = operands(*sizes, dtype)
    exact = expected(*arrays, is_causal)
    tolerance = 1e-2 if dtype == "float16" else 1e-4
    lowered = ls.lower(sch, target=target)
    for run in (built, lambda *a: ls.interp.run(lowered, *a)):
        result = np.full_like(arrays[0], np.nan)
        run(*arrays, result)
        np.testing.assert_allclose(
            result.astype("float32"), exact, rtol=tolerance, atol=tolerance / 10
        )


@gpu_devices.both
def test_attention_of_doubles_fits_into_shared_memory(target: str) -> None:
    gpu_devices.require(target)
    q = te.placeholder((2, 64, 16), "float64")
    k, v = (te.placeholder((2, 128, 16), "float64") for _ in range(2))
    r, t = te.reduce_axis((0, 16)), te.reduce_axis((0, 128))
    scores = te.compute((2, 64, 128), lambda b, i, j: te.sum(q[b, i, r] * k[b, j, r], axis=r))
    soft = te.nn.softmax(scores)
    out = te.compute((2, 64, 16), lambda b, i, d: te.sum(soft[b, i, t] * v[b, t, d], axis=t))
    built = ls.build(te.create_prim_func([q, k, v, out]), target=target)
    arrays = operands(2, 64, 128, 16, "float64")
    actual = np.full((2, 64, 16), np.nan)
    built(*arrays, actual)
    powers = np.einsum("bid,bjd->bij", *arrays[:2])
    powers = np.exp(powers - powers.max(-1, keepdims=True))
    exact = powers / powers.sum(-1, keepdims=True) @ arrays[2]
    np.testing.assert_allclose(actual, exact, rtol=1e-9)


def test_attention_of_any_number_of_rows_is_one_kernel() -> None:
    gpu_devices.require("opencl")
    built = ls.build(attention(2, te.var("n"), 64, 32, "float32", False), target="opencl")
    assert built.source("opencl").count("__kernel void") == 1
    for rows in (1, 31, 64, 130):
        arrays = operands(2, rows, 64, 32, "float32")
        result = np.full_like(arrays[0], np.nan)
        built(*arrays, result)
        np.testing.assert_allclose(result, expected(*arrays, False), rtol=1e-4, atol=1e-5)


LAYOUTS = [
    (*("bhid", "bhjd", "bhjd", "bhid"), True),
    (*("bihd", "bjhd", "bjhd", "bihd"), True),
    (*("bhid", "bhdj", "bhdj", "bhdi"), False),
]


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_attention_on_tensor_cores_takes_layouts(layouts: tuple[Any, ...]) -> None:
    """Heads beside batches, rows or columns of operands last: b, h, i, j, d."""
    target = "cuda -arch=sm_80"
    gpu_devices.require(target)
    *names, is_causal = layouts
    sizes = {"b": 2, "h": 2, "i": 32, "j": 64, "d": 16}
    shapes = [tuple(sizes[each] for each in name) for name in names]
    q, k, v = (te.placeholder(shape, "float16") for shape in shapes[:3])
    r, t = te.reduce_axis((0, 16)), te.reduce_axis((0, 64))

    def at(tensor: Any, name: str, **place: Any) -> Any:
        return tensor[tuple(place[each] for each in name)].astype("float32")

    square, rows = (2, 2, 32, 64), (2, 2, 32, 16)
    scores = te.compute(
        square,
        lambda b, h, i, j: te.sum(
            at(q, names[0], b=b, h=h, i=i, d=r) * at(k, names[1], b=b, h=h, j=j, d=r), axis=r
        ),
    )

    def term(b: Any, h: Any, i: Any, j: Any) -> Any:
        value = scores[b, h, i, j] * 0.25
        if not is_causal:
            return value
        return te.if_then_else(j <= i, value, te.infinity("float32") * -1.0)

    soft = te.nn.softmax(te.compute(square, term))
    weights = te.compute(square, lambda *p: soft[p].astype("float16"))
    sums = te.compute(
        rows,
        lambda b, h, i, d: te.sum(
            weights[b, h, i, t].astype("float32") * at(v, names[2], b=b, h=h, j=t, d=d), axis=t
        ),
    )
    out = te.compute(
        shapes[3],
        lambda *p: sums[tuple(p[names[3].index(each)] for each in "bhid")].astype("float16"),
    )
    built = ls.build(te.create_prim_func([q, k, v, out]), target=target)
    assert built.source("cuda").count("__global__ void") == 1
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(shape).astype("float16") for shape in shapes[:3]]
    actual = np.full(shapes[3], np.nan, "float16")
    built(*arrays, actual)
    powers = np.einsum(f"{names[0]},{names[1]}->bhij", *(a.astype("float32") for a in arrays[:2]))
    if is_causal:
        powers = np.where(np.tri(32, 64, dtype=bool), powers, -np.inf)
    powers = np.exp((powers - powers.max(-1, keepdims=True)) * 0.25)
    powers /= powers.sum(-1, keepdims=True)
    exact = np.einsum(f"bhij,{names[2]}->{names[3]}", powers, arrays[2].astype("float32"))
    np.testing.assert_allclose(actual.astype("float32"), exact, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("target", ["opencl", "cuda -arch=sm_75"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_of_any_number_of_keys(target: str, is_causal: bool) -> None:
    gpu_devices.require(target)
    n = te.var("n")
    func = attention(2, n, n if is_causal else te.var("m"), 32, "float32", is_causal)
    built = ls.build(func, target=target)
    if target != "opencl":  # See rules/gpu/attend.cc.
        assert built.source("cuda").count("__global__ void") == 1
    for rows, keys in ((1, 1), (31, 31), (64, 64), (70, 33), (33, 70)):
        arrays = operands(2, rows, rows if is_causal else keys, 32, "float32")
        result = np.full_like(arrays[0], np.nan)
        built(*arrays, result)
        np.testing.assert_allclose(result, expected(*arrays, is_causal), rtol=1e-4, atol=1e-5)


def grouped_attention(
    shape: tuple[int, int, int, int], shared_by: int, keys: int, dtype: str, *, as_groups: bool
) -> tir.PrimFunc:
    """Heads of queries share keys and values: head h those of h // g, or by axes of their own."""
    batch, heads, queries, width = shape
    groups = heads // shared_by
    head = (groups, shared_by) if as_groups else (heads,)
    q = te.placeholder((batch, *head, queries, width), dtype, name="Q")
    k, v = (te.placeholder((batch, groups, keys, width), dtype, name=name) for name in "KV")
    r, t = te.reduce_axis((0, width), name="r"), te.reduce_axis((0, keys), name="t")
    square = (batch, *head, queries, keys)

    def wide(value: Any) -> Any:
        return value.astype("float32")

    def own(of: te.Tensor, place: Any, *rest: Any) -> Any:
        return wide(of[(place[0], place[1] if as_groups else place[1] // shared_by, *rest)])

    scores = te.compute(
        square, lambda *p: te.sum(wide(q[(*p[:-1], r)]) * own(k, p, p[-1], r), axis=r)
    )
    soft = te.nn.softmax(te.compute(square, lambda *p: scores[p] * width**-0.5))
    weights = te.compute(square, lambda *p: soft[p].astype(dtype))
    sums = te.compute(
        (batch, *head, queries, width),
        lambda *p: te.sum(wide(weights[(*p[:-1], t)]) * own(v, p, t, p[-1]), axis=t),
    )
    out = te.compute((batch, *head, queries, width), lambda *p: sums[p].astype(dtype), name="out")
    return te.create_prim_func([q, k, v, out])


@pytest.mark.parametrize("as_groups", [False, True])
@pytest.mark.parametrize("sizes", [(32, 64, 16), (40, 90, 24)])
@pytest.mark.parametrize("case", [("float32", "opencl"), ("float16", "cuda -arch=sm_80")])
def test_heads_share_keys_and_values(
    case: tuple[str, str], sizes: tuple[int, int, int], as_groups: bool
) -> None:
    dtype, target = case
    gpu_devices.require(target)
    queries, keys, width = sizes
    func = grouped_attention((2, 6, queries, width), 3, keys, dtype, as_groups=as_groups)
    built = ls.build(func, target=target)
    source = built.source(target.split()[0])
    assert source.count("__kernel void" if target == "opencl" else "__global__ void") == 1
    assert ("ls_mma_" in source) == (dtype == "float16")
    rng = np.random.default_rng(1)
    shapes = [(2, 6, queries, width), (2, 2, keys, width), (2, 2, keys, width)]
    q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    exact = expected(q, *(np.repeat(each, 3, axis=1) for each in (k, v)), False)
    if as_groups:
        q, exact = (each.reshape(2, 2, 3, queries, width) for each in (q, exact))
    result = np.full_like(q, np.nan)
    built(q, k, v, result)
    tolerance = 1e-2 if dtype == "float16" else 1e-4
    np.testing.assert_allclose(result, exact, rtol=tolerance, atol=tolerance / 10)


def test_attention_of_single_numbers() -> None:
    """Scores that are one product each have no loop to cut into tiles."""
    gpu_devices.require("opencl")
    q = te.placeholder((2, 64, 1), "float32", name="Q")
    k = te.placeholder((2, 128, 1), "float32", name="K")
    v = te.placeholder((2, 128, 16), "float32", name="V")
    r, t = te.reduce_axis((0, 1), name="r"), te.reduce_axis((0, 128), name="t")
    scores = te.compute((2, 64, 128), lambda b, i, j: te.sum(q[b, i, r] * k[b, j, r], axis=r))
    soft = te.nn.softmax(scores)
    out = te.compute((2, 64, 16), lambda b, i, j: te.sum(soft[b, i, t] * v[b, t, j], axis=t))
    module = ls.build(te.create_prim_func([q, k, v, out]), target="opencl")
    rng = np.random.default_rng(2)
    x, y, z = (rng.random(n, "float32") for n in ((2, 64, 1), (2, 128, 1), (2, 128, 16)))
    actual = np.full((2, 64, 16), np.nan, "float32")
    module(x, y, z, actual)
    powers = np.exp(x * y.swapaxes(-1, -2))
    np.testing.assert_allclose(actual, powers / powers.sum(-1, keepdims=True) @ z, rtol=2e-3)
