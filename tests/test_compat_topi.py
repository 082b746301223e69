# SPDX-License-Identifier: Apache-2.0
"""Common operators under their names in tvm.topi, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls


def computed(tvm: Any, operator: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """Return what an operator makes of tensors of these values."""
    names = "ABCDEF"
    inputs = [
        tvm.te.placeholder(array.shape, str(array.dtype), name=names[i])
        for i, array in enumerate(arrays)
    ]
    result = operator(*inputs)
    out = np.zeros([int(extent) for extent in result.shape], result.dtype)
    ls.build([*inputs, result])(*arrays, out)
    return out


RNG = np.random.default_rng(0)
X = RNG.random((3, 4, 6), np.float32)
Y = RNG.random((3, 4, 6), np.float32)
PLACES = np.array([[2, 0], [1, 5]], "int32")
IMAGES = RNG.random((2, 3, 6, 5), np.float32)

MOVED: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "stack": (lambda t, a, b: t.stack([a, b], 1), lambda a, b: np.stack([a, b], 1), (X, Y)),
    "split": (lambda t, a: t.split(a, 2, 1)[1], lambda a: a[:, 2:], (X,)),
    "split_at": (lambda t, a: t.split(a, [1, 4], 2)[1], lambda a: a[:, :, 1:4], (X,)),
    "strided_slice": (
        lambda t, a: t.strided_slice(a, [2, 0, 5], [0, 4, 0], [-1, 2, -2]),
        lambda a: a[2:0:-1, 0:4:2, 5:0:-2],
        (X,),
    ),
    "slice_by_size": (
        lambda t, a: t.strided_slice(a, [1], [2], axes=[1], slice_mode="size"),
        lambda a: a[:, 1:3],
        (X,),
    ),
    "repeat": (lambda t, a: t.repeat(a, 3, 1), lambda a: np.repeat(a, 3, 1), (X,)),
    "tile": (lambda t, a: t.tile(a, (2, 1, 1, 3)), lambda a: np.tile(a, (2, 1, 1, 3)), (X,)),
    "take": (lambda t, a, i: t.take(a, i, 2), lambda a, i: np.take(a, i, 2), (X, PLACES)),
    "take_flat": (lambda t, a, i: t.take(a, i), np.take, (X, PLACES)),
    "take_wraps": (
        lambda t, a, i: t.take(a, i, 0, mode="wrap"),
        lambda a, i: np.take(a, i, 0, mode="wrap"),
        (X, PLACES - 1),
    ),
    "gather": (
        lambda t, a, i: t.gather(a, 1, i),
        lambda a, i: np.take_along_axis(a, i, 1),
        (X, RNG.integers(0, 4, (3, 2, 6)).astype("int32")),
    ),
    "gather_nd": (
        lambda t, a, i: t.gather_nd(a, i),
        lambda a, i: a[tuple(i)],
        (X, np.array([[0, 2, 1], [3, 1, 0]], "int32")),
    ),
    "where": (
        lambda t, c, a, b: t.where(c, a, b),
        np.where,
        ((X > Y).astype("int32"), X, Y),
    ),
    "arange": (lambda t: t.arange(3, 10, 2, "int32"), lambda: np.arange(3, 10, 2), ()),
    "one_hot": (
        lambda t, i: t.one_hot(i, 1, 0, 6, -1, "float32"),
        lambda i: np.eye(6, dtype="float32")[i],
        (PLACES,),
    ),
    "layout_transform": (
        lambda t, a: t.layout_transform(a, "ABC", "CAB2b"),
        lambda a: a.reshape(3, 2, 2, 6).transpose(3, 0, 1, 2),
        (X,),
    ),
    "argmax": (lambda t, a: t.argmax(a, 1), lambda a: a.argmax(1), (X,)),
    "argmin": (
        lambda t, a: t.argmin(a, -1, keepdims=True),
        lambda a: a.argmin(-1)[..., None],
        (X,),
    ),
    "all": (lambda t, a: t.all(a, axis=1), lambda a: a.all(1), (X > 0.1,)),
    "any": (lambda t, a: t.any(a, axis=2), lambda a: a.any(2), (X > 0.9,)),
    "zeros_like": (lambda t, a: t.zeros_like(a), np.zeros_like, (X,)),
    "elemwise_sum": (lambda t, a, b: t.elemwise_sum([a, b, a]), lambda a, b: a + b + a, (X, Y)),
    "bitwise_and": (lambda t, a, b: t.bitwise_and(a, b), np.bitwise_and, (PLACES, PLACES + 1)),
    "floor_mod": (lambda t, a, b: t.floor_mod(a, b), np.mod, (X - 0.5, Y + 0.1)),
    "mod": (lambda t, a, b: t.mod(a, b), np.fmod, (X - 0.5, Y + 0.1)),
    "log1p": (lambda t, a: t.log1p(a), np.log1p, (X,)),
    "tensordot": (
        lambda t, a, b: t.tensordot(a, b, axes=2),
        lambda a, b: np.tensordot(a, b, 2),
        (X, RNG.random((4, 6, 2), np.float32)),
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_an_operator_agrees_with_numpy(tvm: Any, name: str) -> None:
    made, expected, arrays = MOVED[name]
    found = computed(tvm, lambda *tensors: made(tvm.topi, *tensors), *arrays)
    np.testing.assert_allclose(found, expected(*arrays), rtol=1e-5, atol=1e-6)


def convolved(data: np.ndarray, weight: np.ndarray, stride: int, groups: int = 1) -> np.ndarray:
    """Return the convolution of NCHW images, with a border of 1."""
    wide = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(wide, weight.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    if groups == 1:
        return np.einsum("nchwyx,kcyx->nkhw", windows, weight)
    per_channel = np.einsum("nchwyx,cmyx->ncmhw", windows, weight)
    return per_channel.reshape(data.shape[0], -1, *per_channel.shape[3:])


def test_convolutions_agree_with_numpy(tvm: Any) -> None:
    nn, weight = tvm.topi.nn, RNG.random((4, 3, 3, 3), np.float32)
    expected = convolved(IMAGES, weight, 2)
    last, weight_last = IMAGES.transpose(0, 2, 3, 1).copy(), weight.transpose(2, 3, 1, 0).copy()
    for found in [
        computed(tvm, lambda d, w: nn.conv2d(d, w, 2, 1, 1), IMAGES, weight),
        computed(tvm, lambda d, w: nn.conv2d_nhwc(d, w, 2, 1, 1), last, weight_last).transpose(
            0, 3, 1, 2
        ),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    own = RNG.random((3, 2, 3, 3), np.float32)
    found = computed(tvm, lambda d, w: nn.depthwise_conv2d_nchw(d, w, 1, 1, 1), IMAGES, own)
    np.testing.assert_allclose(found, convolved(IMAGES, own, 1, groups=3), rtol=1e-4)
    line, taps = IMAGES[:, :, 0].copy(), weight[:, :, 0].copy()
    found = computed(tvm, lambda d, w: nn.conv1d_ncw(d, w, 1, "SAME", 1), line, taps)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(line, [(0, 0), (0, 0), (1, 1)]), 3, axis=2
    )
    np.testing.assert_allclose(found, np.einsum("ncwx,kcx->nkw", windows, taps), rtol=1e-4)
    with pytest.raises(ValueError, match="conv2d: there is no layout CHWN"):
        nn.conv2d(tvm.te.placeholder((1, 1, 1, 1)), None, 1, 0, 1, "CHWN")


def test_pooling_agrees_with_numpy(tvm: Any) -> None:
    nn = tvm.topi.nn
    windows = np.lib.stride_tricks.sliding_window_view(IMAGES, (2, 2), (2, 3))[:, :, ::2, ::2]
    for kind, expected in [("max", windows.max((4, 5))), ("avg", windows.mean((4, 5)))]:

        def pooled(data: Any, kind: str = kind) -> Any:
            return nn.pool2d(data, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), kind)

        np.testing.assert_allclose(computed(tvm, pooled, IMAGES), expected, rtol=1e-5)
        from tvm.topi.nn.pooling import pool

        def by_old_name(data: Any, kind: str = kind) -> Any:
            return pool(data, (2, 2), (2, 2), (0, 0, 0, 0), kind)

        np.testing.assert_allclose(computed(tvm, by_old_name, IMAGES), expected, rtol=1e-5)
    found = computed(tvm, lambda d: nn.global_pool(d, "avg"), IMAGES)
    np.testing.assert_allclose(found, IMAGES.mean((2, 3), keepdims=True), rtol=1e-5)
    with pytest.raises(ValueError, match="pool2d: pool_type is 'min', not 'max' or 'avg'"):
        nn.pool2d(tvm.te.placeholder((1, 1, 4, 4)), (2, 2), (2, 2), (1, 1), (0,) * 4, "min")


def test_layers_agree_with_numpy(tvm: Any) -> None:
    nn = tvm.topi.nn
    scale, shift = RNG.random(6, np.float32), RNG.random(6, np.float32)
    average, variance = X.mean(-1, keepdims=True), X.var(-1, keepdims=True)
    norm = (X - average) / np.sqrt(variance + 1e-5) * scale + shift
    found = computed(tvm, lambda x, g, b: nn.layer_norm(x, g, b, [-1]), X, scale, shift)
    np.testing.assert_allclose(found, norm, rtol=1e-3, atol=1e-5)
    found = computed(tvm, lambda x, w: nn.rms_norm(x, w, [2]), X, scale)
    power = np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, X / power * scale, rtol=1e-4)
    found = computed(tvm, lambda x: nn.log_softmax(x, 1), X)
    np.testing.assert_allclose(found, X - np.log(np.exp(X).sum(1, keepdims=True)), rtol=1e-4)
    found = computed(tvm, lambda a, b: nn.batch_matmul(a, b), X, Y)
    np.testing.assert_allclose(found, X @ Y.transpose(0, 2, 1), rtol=1e-4)
    slope = RNG.random(3, np.float32)
    found = computed(tvm, lambda x, s: nn.prelu(x, s), IMAGES - 0.5, slope)
    low = (IMAGES - 0.5) * slope[:, None, None]
    np.testing.assert_allclose(found, np.where(IMAGES > 0.5, IMAGES - 0.5, low), rtol=1e-5)
    channels = [RNG.random(3, np.float32) + 0.5 for _ in range(4)]
    found = computed(tvm, lambda *all_of: nn.batch_norm(*all_of)[0], IMAGES, *channels)
    gamma, beta, mean, var = (each[:, None, None] for each in channels)
    expected = (IMAGES - mean) / np.sqrt(var + 1e-5) * gamma + beta
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    found = computed(tvm, lambda x: nn.dilate(x, [1, 2, 3]), X)
    expected = np.zeros((3, 7, 16), "float32")
    expected[:, ::2, ::3] = X
    np.testing.assert_allclose(found, expected)
    found = computed(tvm, lambda x: nn.flatten(x), X)
    np.testing.assert_allclose(found, X.reshape(3, -1))
    found = computed(tvm, lambda x: nn.upsampling(x, 2, 3), IMAGES)
    np.testing.assert_allclose(found, IMAGES.repeat(2, 2).repeat(3, 3))


def test_tags_say_what_may_be_moved_where(tvm: Any) -> None:
    tag = tvm.topi.tag
    assert tag.is_injective("elemwise") and tag.is_injective("injective,pad")
    assert tag.is_broadcast("broadcast") and not tag.is_broadcast("injective")
    assert not tag.is_injective("conv2d_nchw")
    assert tvm.topi.utils.get_const_tuple(tvm.te.placeholder((2, 3)).shape) == (2, 3)


def test_schedules_of_operators_are_one_for_all(tvm: Any) -> None:
    topi, target = tvm.topi, tvm.target.Target
    data = tvm.te.placeholder((1, 4, 9, 9), name="data")
    weight = tvm.te.placeholder((6, 4, 3, 3), name="weight")
    out = topi.nn.relu(topi.nn.conv2d_nchw(data, weight, 2, 1, 1))
    with target("llvm"):
        schedule = topi.generic.schedule_conv2d_nchw([out])
    function = tvm.build(schedule, [data, weight, out], "llvm")
    a, w = RNG.random((1, 4, 9, 9), np.float32), RNG.random((6, 4, 3, 3), np.float32) - 0.5
    result = tvm.nd.array(np.zeros((1, 6, 5, 5), "float32"))
    function(tvm.nd.array(a), tvm.nd.array(w), result)
    expected = np.maximum(topi.testing.conv2d_nchw_python(a, w, 2, 1), 0)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)
    lines = str(tvm.lower(schedule, [data, weight, out], simple_mode=True))
    assert "T.parallel" in lines and "T.Broadcast" in lines
    with target("cuda"):
        bound = topi.cuda.schedule_injective(topi.nn.relu(data))
    kernel = str(tvm.lower(bound, [data, bound.outputs[0].output(0)], simple_mode=True))
    assert "blockIdx.x" in kernel and "threadIdx.x" in kernel
    assert topi.testing.dispatch("llvm", {"cpu": 1, "generic": 2}) == 1
    with pytest.raises(KeyError, match="nothing generic"):
        topi.testing.dispatch("cuda", {"cpu": 1})


def test_references_are_what_operators_compute(tvm: Any) -> None:
    topi, ref = tvm.topi, tvm.topi.testing
    x = RNG.random((2, 4, 6, 6), np.float32)
    v = RNG.random(4, np.float32)
    rows = RNG.random((3, 5), np.float32)
    places = np.array([[0, 1], [4, 2], [3, 3]], "int32")
    cases: list[tuple[Any, Any, tuple[Any, ...]]] = [
        (lambda a: topi.nn.softmax(a), lambda a: ref.softmax_python(a), (rows,)),
        (lambda a: topi.nn.log_softmax(a), lambda a: ref.log_softmax_python(a), (rows,)),
        (
            lambda a: topi.nn.lrn(a, 3, 1, 1e-4, 0.75, 2.0),
            lambda a: ref.lrn_python(a, 3, 1, 2.0, 1e-4, 0.75),
            (x,),
        ),
        (
            lambda a, g, b: topi.nn.group_norm(a, g, b, 2, 1, [2, 3]),
            lambda a, g, b: ref.group_norm_python(a, g, b, 2, 1, [2, 3]),
            (x, v, v),
        ),
        (
            lambda a: topi.nn.adaptive_pool(a, (3, 2), "avg"),
            lambda a: ref.adaptive_pool(a, (3, 2), "avg"),
            (x,),
        ),
        (
            lambda a: topi.nn.pool2d(a, [2, 2], [2, 2], [1, 1], [0] * 4, "max"),
            lambda a: ref.poolnd_python(a, [2, 2], [2, 2], [1, 1], [0, 0], [0, 0], "max"),
            (x,),
        ),
        (
            lambda a: topi.nn.space_to_depth(a, 2),
            lambda a: ref.space_to_depth_python(a, 2),
            (x,),
        ),
        (lambda a: topi.nn.dilate(a, [2, 3]), lambda a: ref.dilate_python(a, [2, 3]), (rows,)),
        (lambda a, i: topi.gather(a, 1, i), lambda a, i: ref.gather_python(a, 1, i),
         (rows, places)),
        (lambda a: topi.sum(a), lambda a: a.sum(), (rows,)),  # Of all elements: no dimension.
    ]  # fmt: skip
    for operator, reference, arrays in cases:
        expected = reference(*arrays)
        np.testing.assert_allclose(computed(tvm, operator, *arrays), expected, rtol=1e-3, atol=1e-5)


def test_the_place_of_the_largest_of_all_elements(tvm: Any) -> None:
    x = np.random.default_rng(5).standard_normal((3, 4, 5)).astype("float32")
    data = tvm.te.placeholder(x.shape, name="data")
    for keepdims, shape in ((False, ()), (True, (1, 1, 1))):
        found = tvm.topi.argmax(data, keepdims=keepdims)
        assert tuple(found.shape) == shape
        assert ls.build([data, found])(x).item() == x.argmax()
    found = tvm.topi.argmin(data, axis=(1,))
    np.testing.assert_array_equal(ls.build([data, found])(x), x.argmin(1))
    with pytest.raises(ValueError, match="argmin: 2 axes are given: name one, or none for all"):
        tvm.topi.argmin(data, axis=(0, 1))


def test_slices_may_have_ends_that_are_sizes(tvm: Any) -> None:
    n, m = tvm.te.var("n"), tvm.te.var("m")
    A = tvm.te.placeholder((n, 6), name="A")
    part = tvm.topi.strided_slice(A, [1, 0], [m, 2**31 - 1], [2, 1])
    built = tvm.build(tvm.te.create_schedule(part.op), [A, part, m])
    x, y = RNG.random((9, 6), np.float32), np.zeros((4, 6), np.float32)
    built(x, y, 8)
    np.testing.assert_array_equal(y, x[1:8:2])
    last = tvm.topi.strided_slice(A, [-3, 1], [-1, 5], [1, 3])
    assert [int(extent) for extent in last.shape] == [2, 2]
    with pytest.raises(ValueError, match="strided_slice: of an axis of extent n, steps are 1 or"):
        tvm.topi.strided_slice(A, [m], [0], [-1])
