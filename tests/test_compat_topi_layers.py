# SPDX-License-Identifier: Apache-2.0
"""Operators of tvm.topi that sort, scatter, resize, pool and move blocks, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls

RNG = np.random.default_rng(3)
X = RNG.standard_normal((3, 4, 6)).astype("float32")
IMAGES = RNG.standard_normal((2, 4, 6, 8)).astype("float32")
SORTED = np.sort(RNG.standard_normal(9).astype("float32"))


def computed(tvm: Any, operator: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """Return what an operator makes of tensors of these values."""
    inputs = [
        tvm.te.placeholder(array.shape, str(array.dtype), name=f"X{i}")
        for i, array in enumerate(arrays)
    ]
    result = operator(*inputs)
    out = np.zeros([int(extent) for extent in result.shape], result.dtype)
    ls.build([*inputs, result])(*map(np.ascontiguousarray, arrays), out)
    return out


def put(data: np.ndarray, places: np.ndarray, new: np.ndarray) -> np.ndarray:
    result = data.copy()
    np.put_along_axis(result, places, new, 1)
    return result


def set_part(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    result = a.copy()
    result[2:0:-1, 0:4:2] = v
    return result


def masked(a: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    rows = np.arange(a.shape[0])[:, None, None] < lengths[None, :, None]
    return np.where(rows, a, -1)


def reversed_rows(a: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    result = a.copy()
    for row, length in enumerate(lengths):
        result[row, :length] = a[row, :length][::-1]
    return result


PLACES = np.argsort(RNG.random(X.shape), 1)[:, :2]
UPDATES = RNG.standard_normal(PLACES.shape).astype("float32")
LENGTHS = np.array([0, 3, 2, 1], "int32")

Case = tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...]]
OPERATORS: dict[str, Case] = {
    "sort": (lambda t, a: t.sort(a, 1, False), lambda a: -np.sort(-a, 1), (X,)),
    "argsort": (lambda t, a: t.argsort(a, axis=1, dtype="int32"), lambda a: a.argsort(1), (X,)),
    "topk": (lambda t, a: t.topk(a, 2)[1], lambda a: (-a).argsort()[..., :2], (X,)),
    "topk_values": (
        lambda t, a: t.topk(a, 2, 0, "values", is_ascend=True),
        lambda a: np.sort(a, 0)[:2],
        (X,),
    ),
    "cumsum": (lambda t, a: t.cumsum(a), lambda a: np.cumsum(a), (X,)),
    "cumprod": (
        lambda t, a: t.cumprod(a, 2, exclusive=True),
        lambda a: np.cumprod(np.insert(a, 0, 1, 2), 2)[..., :-1],
        (X,),
    ),
    "einsum": (
        lambda t, a, b: t.einsum("ijk,ljk->il", a, b),
        lambda a, b: np.einsum("ijk,ljk->il", a, b),
        (X, X),
    ),
    "searchsorted": (
        lambda t, a, v: t.searchsorted(a, v, right=True),
        lambda a, v: np.searchsorted(a, v, "right"),
        (SORTED, SORTED[::2].copy()),
    ),
    "sequence_mask": (lambda t, a, n: t.sequence_mask(a, n, -1), masked, (X, LENGTHS)),
    "reverse_sequence": (
        lambda t, a, n: t.reverse_sequence(a, n, 1, 0),
        reversed_rows,
        (X, np.array([4, 0, 3], "int32")),
    ),
    "invert_permutation": (
        lambda t, p: t.invert_permutation(p),
        np.argsort,
        (np.array([3, 0, 2, 1], "int32"),),
    ),
    "meshgrid": (
        lambda t, a, b: t.meshgrid([a, b], "xy")[1],
        lambda a, b: np.meshgrid(a, b)[1],
        (X[0, 0], X[0, :, 0].copy()),
    ),
    "unravel_index": (
        lambda t, i: t.unravel_index(i, (3, 4, 6)),
        lambda i: np.array(np.unravel_index(i, (3, 4, 6))),
        (RNG.integers(0, 72, (2, 5)).astype("int32"),),
    ),
    "gather_nd": (
        lambda t, a, i: t.gather_nd(a, i, 1),
        lambda a, i: np.take_along_axis(a, i[0][..., None], 1),
        (X, RNG.integers(0, 4, (1, 3, 2))),
    ),
    "scatter_elements": (
        lambda t, a, i, u: t.scatter_elements(a, i, u, 1),
        put,
        (X, PLACES, UPDATES),
    ),
    "sparse_to_dense": (
        lambda t, i, v: t.sparse_to_dense(i, (3, 4), v),
        lambda i, v: np.bincount(i[:, 0] * 4 + i[:, 1], v, 12).reshape(3, 4),
        (np.array([[0, 1], [2, 3]], "int32"), np.array([5, 7], "float32")),
    ),
    "adv_index": (
        lambda t, a, i, j: t.adv_index(a, [i, j]),
        lambda a, i, j: a[i, j],
        (X, np.array([[0], [2]], "int32"), np.array([1, 3, 0], "int32")),
    ),
    "strided_set": (
        lambda t, a, v: t.strided_set(a, v, [2, 0], [0, 4], [-1, 2]),
        set_part,
        (X, X[:2, :2].copy() * 3),
    ),
    "expand_like": (
        lambda t, a, b: t.expand_like(a, b, 1),
        lambda a, b: np.broadcast_to(a[:, None], b.shape),
        (X[:, 0].copy(), X),
    ),
    "collapse_sum": (
        lambda t, a: t.collapse_sum(a, (4, 1)),
        lambda a: a.sum(0).sum(1, keepdims=True),
        (X,),
    ),
    "sliding_window": (
        lambda t, a: t.sliding_window(a, 1, [2, 3], [1, 2]),
        lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 3), (1, 2))[:, :, ::2],
        (X,),
    ),
    "where_of_shapes": (
        lambda t, c, a, b: t.where(c, a, b),
        np.where,
        (X[:, :1] > 0, X, X[0, 0]),
    ),
    "fast_tanh": (lambda t, a: t.fast_tanh(a), np.tanh, (X,)),
    "trilu": (lambda t, a: t.trilu(a, 1, True), lambda a: np.triu(a, 1), (X,)),
    "matrix_set_diag": (
        lambda t, a, d: t.matrix_set_diag(a, d, 1),
        lambda a, d: np.where(np.eye(4, 6, 1, dtype=bool), d[..., None], a),
        (X, X[..., 0].copy() * 2),
    ),
    "shape": (lambda t, a: t.shape(a), lambda a: np.array(a.shape), (X,)),
    "ndarray_size": (lambda t, a: t.ndarray_size(a), lambda a: np.array([a.size]), (X,)),
    "take_of_batches": (
        lambda t, a, i: t.take(a, i, 2, batch_dims=1),
        lambda a, i: np.stack([a[b][:, i[b]] for b in range(3)]),
        (X, RNG.integers(0, 6, (3, 5)).astype("int32")),
    ),
    "instance_norm": (
        lambda t, a, g, b: t.nn.instance_norm(a, g, b, 1, [2, 3]),
        lambda a, g, b: (
            (a - a.mean((2, 3), keepdims=True))
            / np.sqrt(a.var((2, 3), keepdims=True) + 1e-5)
            * g[:, None, None]
            + b[:, None, None]
        ),
        (IMAGES, X[0, :, 0].copy(), X[0, :, 1].copy()),
    ),
    "l2_normalize": (
        lambda t, a: t.nn.l2_normalize(a, 1e-6, [1]),
        lambda a: a / np.sqrt((a * a).sum(1, keepdims=True)),
        (IMAGES,),
    ),
    "mirror_pad": (
        lambda t, a: t.nn.mirror_pad(a, [0, 2, 1], [0, 1, 3], "REFLECT"),
        lambda a: np.pad(a, [(0, 0), (2, 1), (1, 3)], "reflect"),
        (X,),
    ),
    "symmetric_pad": (
        lambda t, a: t.nn.mirror_pad(a, [0, 2, 1], [0, 1, 3]),
        lambda a: np.pad(a, [(0, 0), (2, 1), (1, 3)], "symmetric"),
        (X,),
    ),
    "space_to_depth": (
        lambda t, a: t.nn.space_to_depth(a, 2),
        lambda a: a.reshape(2, 4, 3, 2, 4, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 16, 3, 4),
        (IMAGES,),
    ),
    "depth_to_space": (
        lambda t, a: t.nn.depth_to_space(a, 2, mode="CDR"),
        lambda a: a.reshape(2, 1, 2, 2, 6, 8).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 12, 16),
        (IMAGES,),
    ),
    "blocks_of_batches": (
        lambda t, a: t.nn.batch_to_space_nd(
            t.nn.space_to_batch_nd(a, [2, 4], [1, 1], [1, 1]), [2, 4], [1, 1], [1, 1]
        ),
        lambda a: a,
        (X,),
    ),
    "matmul_with_bias": (
        lambda t, a, b, c: t.nn.matmul(a, b, c, transpose_b=True),
        lambda a, b, c: a @ b.transpose(0, 2, 1) + c,
        (X, X, X[0, :, 0].copy()),
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_agrees_with_numpy(tvm: Any, name: str) -> None:
    made, expected, arrays = OPERATORS[name]
    found = computed(tvm, lambda *tensors: made(tvm.topi, *tensors), *arrays)
    wanted = np.asarray(expected(*arrays))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_convolutions_agree_in_all_layouts(tvm: Any) -> None:
    nn, weight = tvm.topi.nn, RNG.standard_normal((5, 4, 3, 3)).astype("float32")
    expected = computed(tvm, lambda d, w: nn.conv2d_nchw(d, w, 1, 1, 1), IMAGES, weight)
    found = computed(
        tvm,
        lambda d, w: nn.conv2d_hwcn(d, w, 1, 1, 1),
        IMAGES.transpose(2, 3, 1, 0),
        weight.transpose(2, 3, 1, 0),
    )
    np.testing.assert_allclose(found, expected.transpose(2, 3, 1, 0), rtol=1e-4, atol=1e-5)
    line, taps = IMAGES[:, :, 0], weight[:, :, 0]
    expected = computed(tvm, lambda d, w: nn.conv1d(d, w, 2, 1), line, taps)
    found = computed(
        tvm,
        lambda d, w: nn.conv1d(d, w, 2, 1, data_layout="NWC"),
        line.transpose(0, 2, 1),
        taps.transpose(2, 1, 0),
    )
    np.testing.assert_allclose(found, expected.transpose(0, 2, 1), rtol=1e-4, atol=1e-5)
    cubes, cells = IMAGES[:, :, None], weight[:, :, None]
    expected = computed(tvm, lambda d, w: nn.conv3d_ncdhw(d, w, 1, 0, 1), cubes, cells)
    found = computed(
        tvm,
        lambda d, w: nn.conv3d_ndhwc(d, w, 1, 0, 1),
        cubes.transpose(0, 2, 3, 4, 1),
        cells.transpose(2, 3, 4, 1, 0),
    )
    np.testing.assert_allclose(found, expected.transpose(0, 2, 3, 4, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_windows_may_reach_over_the_border(tvm: Any, kind: str, ceil_mode: bool) -> None:
    lines = X[..., :5].copy()
    found = computed(
        tvm,
        lambda a: tvm.topi.nn.pool1d(a, 3, 2, 1, (1, 0), kind, ceil_mode, count_include_pad=False),
        lines,
    )
    windows = [lines[..., max(at - 1, 0) : at + 2] for at in range(0, 6 if ceil_mode else 4, 2)]
    reduce = np.max if kind == "max" else np.mean
    np.testing.assert_allclose(found, np.stack([reduce(w, -1) for w in windows], -1), rtol=1e-5)


def test_parts_of_images_are_pooled(tvm: Any) -> None:
    found = computed(tvm, lambda a: tvm.topi.nn.adaptive_pool(a, (4, 3), "avg"), IMAGES)
    rows = [(i * 6 // 4, -(-(i + 1) * 6 // 4)) for i in range(4)]
    columns = [(i * 8 // 3, -(-(i + 1) * 8 // 3)) for i in range(3)]
    expected = [[IMAGES[:, :, a:b, c:d].mean((2, 3)) for c, d in columns] for a, b in rows]
    np.testing.assert_allclose(
        found, np.array(expected).transpose(2, 3, 0, 1), rtol=1e-4, atol=1e-5
    )
    cubes = IMAGES[:, :, None]
    found = computed(
        tvm,
        lambda a: tvm.topi.nn.pool3d(a, (1, 2, 2), (1, 2, 2), (1, 1, 1), (0,) * 6, "max"),
        cubes,
    )
    expected_max = IMAGES.reshape(2, 4, 3, 2, 4, 2).max((3, 5))[:, :, None]
    np.testing.assert_allclose(found, expected_max)


def test_images_are_resized_in_both_layouts(tvm: Any) -> None:
    def last(a: Any) -> Any:
        return tvm.topi.image.resize2d(
            a, None, (12, 8), "NHWC", "nearest_neighbor", rounding_method="round_prefer_floor"
        )

    found = computed(tvm, last, IMAGES.transpose(0, 2, 3, 1).copy())
    np.testing.assert_allclose(found, IMAGES.repeat(2, 2).transpose(0, 2, 3, 1))
    with pytest.raises(ValueError, match="resize2d: layout NCDW does not have the axes H, W"):
        tvm.topi.image.resize2d(tvm.te.placeholder((1, 1, 2, 2)), None, (4, 4), layout="NCDW")


def test_losses_leave_out_what_is_ignored(tvm: Any) -> None:
    log = np.log(RNG.random((5, 3), np.float32) + 0.1)
    targets, weights = np.array([0, 2, -1, 1, 2], "int32"), np.array([1, 2, 3], "float32")
    chosen = targets[targets >= 0]
    terms = -log[targets >= 0, chosen] * weights[chosen]

    def mean(p: Any, t: Any, w: Any) -> Any:
        return tvm.topi.nn.nll_loss(p, t, w, "mean", -1)

    found = computed(tvm, mean, log, targets, weights)
    np.testing.assert_allclose(found, [terms.sum() / weights[chosen].sum()], rtol=1e-4)


def test_neighbours_of_channels_norm_them(tvm: Any) -> None:
    found = computed(tvm, lambda a: tvm.topi.nn.lrn(a, 3, 1, 0.3, 0.75, 2), IMAGES)
    wide = np.pad(IMAGES**2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    total = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    np.testing.assert_allclose(found, IMAGES / (2 + 0.1 * total) ** 0.75, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda t, a: t.argsort(a, valid_count=a), "argsort: all elements count here"),
        (lambda t, a: t.topk(a, ret_type="all"), "topk: ret_type is 'all', not 'both'"),
        (lambda t, a: t.sequence_mask(a, a, axis=2), "sequence_mask: axis is 2, not 0 or 1"),
        (lambda t, a: t.meshgrid([a], "yx"), "meshgrid: indexing is 'yx', not 'ij' or 'xy'"),
        (lambda t, a: t.matrix_set_diag(a, a, (0, 1)), "matrix_set_diag: k is one diagonal here"),
        (lambda t, a: t.nn.mirror_pad(a, [1], mode="X"), "mirror_pad: mode is 'X', not 'SYMME"),
        (lambda t, a: t.nn.space_to_depth(a, 2, "NCW"), "space_to_depth: there is no layout NCW"),
        (lambda t, a: t.nn.depth_to_space(a, 2, mode="X"), "depth_to_space: mode is 'X', not"),
        (lambda t, a: t.nn.nll_loss(a, a, a, "max"), "nll_loss: reduction is 'max', not 'mean'"),
        (
            lambda t, a: t.nn.group_norm(a, a, a, 2, 2, [0]),
            "group_norm: channels are axis 1, and the axes all behind it",
        ),
        (
            lambda t, a: t.nn.pool1d(a, 2, 2, 1, (0, 0), "max", layout="NC16w"),
            "pool1d: layout NC16w does not have the axes W",
        ),
        (
            lambda t, a: t.nn.adaptive_pool(a, (1, 1), "min"),
            "adaptive_pool: pool_type is 'min', not 'max' or 'avg'",
        ),
        (
            lambda t, a: t.image.resize2d(a, None, (1, 1), bicubic_exclude=1),
            "resize2d: cubic weights do not leave the border out here",
        ),
    ],
)
def test_what_is_not_provided_is_refused(tvm: Any, call: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call(tvm.topi, tvm.te.placeholder((2, 2, 2, 2), name="a"))


@pytest.mark.parametrize("pool_type", ["max", "avg"])
@pytest.mark.parametrize(("ceil_mode", "include"), [(False, True), (True, False)])
def test_derivatives_of_windows(tvm: Any, pool_type: str, ceil_mode: bool, include: bool) -> None:
    te, topi = tvm.te, tvm.topi
    data, pad = np.round(IMAGES, 1), (1, 0, 1, 2)  # Some elements are equal.
    A = te.placeholder(data.shape, name="A")
    pooled = topi.nn.pool2d(A, (3, 2), (2, 2), (1, 1), pad, pool_type, ceil_mode, "NCHW", include)
    G = te.placeholder(pooled.shape, name="G")
    grad = topi.nn.pool_grad(G, A, (3, 2), (2, 2), pad, pool_type, ceil_mode, include)
    up = RNG.random([int(extent) for extent in pooled.shape], np.float32)
    out = np.zeros_like(data)
    tvm.build(te.create_schedule(grad.op), [G, A, grad])(up, data, out)
    expected = topi.testing.pool_grad_nchw(
        data, up, (3, 2), (2, 2), pad, pool_type, ceil_mode, include
    )
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("has_all", [False, True])
def test_a_long_short_term_memory(tvm: Any, has_all: bool) -> None:
    te, order = tvm.te, "IFGO" if not has_all else "FIGO"
    steps, batch, features, units = 4, 2, 3, 5
    hidden = 4 if has_all else units
    shapes = {"Xs": (steps, batch, features), "Wi": (4 * units, features),
              "Wh": (4 * units, hidden)}  # fmt: skip
    if has_all:
        shapes |= {"Bi": (4 * units,), "Bh": (4 * units,), "h_init": (batch, hidden),
                   "c_init": (batch, units), "proj": (hidden, units), "p_i": (batch, units),
                   "p_f": (batch, units), "p_o": (batch, units)}  # fmt: skip
    given = {name: te.placeholder(shape, name=name) for name, shape in shapes.items()}
    values = {name: RNG.random(shape, np.float32) - 0.5 for name, shape in shapes.items()}
    results = tvm.topi.nn.lstm(**given, reverse=has_all, weight_layout=order)
    s = tvm.topi.generic.schedule_lstm(results)
    out = [np.zeros([int(extent) for extent in each.shape], np.float32) for each in results]
    tvm.build(s, [*given.values(), *results])(*values.values(), *out)

    expected = tvm.topi.testing.lstm_python(**values, reverse=has_all, weight_layout=order)
    for got, states in zip(out, expected):
        np.testing.assert_allclose(got, states, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="lstm: weight_layout is 'IIGO', not an order of 'IFGO'"):
        tvm.topi.nn.lstm(**given, weight_layout="IIGO")


@pytest.mark.parametrize("training", [False, True])
def test_batches_are_normalized_and_statistics_move(tvm: Any, training: bool) -> None:
    te = tvm.te
    A = te.placeholder(IMAGES.shape, name="A")
    given = [te.placeholder((IMAGES.shape[1],), name=name) for name in "gbmv"]
    values = [RNG.random(IMAGES.shape[1], np.float32) for _ in given]
    results = tvm.topi.nn.batch_norm(A, *given, axis=1, training=training, momentum=0.2)
    s = te.create_schedule([each.op for each in results])
    out = [np.zeros([int(extent) for extent in each.shape], np.float32) for each in results]
    tvm.build(s, [A, *given, *results])(IMAGES, *values, *out)
    gamma, beta, mean, var = values
    if training:
        centre, spread = IMAGES.mean((0, 2, 3)), IMAGES.var((0, 2, 3))
        mean_after, var_after = 0.8 * mean + 0.2 * centre, 0.8 * var + 0.2 * spread
    else:
        centre, spread, mean_after, var_after = mean, var, mean, var

    def wide(x: Any) -> Any:
        return x.reshape(1, -1, 1, 1)

    normed = (IMAGES - wide(centre)) / np.sqrt(wide(spread) + 1e-5)
    np.testing.assert_allclose(out[0], normed * wide(gamma) + wide(beta), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(out[1], mean_after, rtol=1e-4)
    np.testing.assert_allclose(out[2], var_after, rtol=1e-4)
