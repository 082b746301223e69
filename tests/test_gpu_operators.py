# SPDX-License-Identifier: Apache-2.0
"""The operators of te.nn on devices, by their default schedules: what processors compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpu_devices
import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.te import nn

RANDOM = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    """Return random numbers around 0."""
    return RANDOM.standard_normal(shape).astype("float32")


CUBE, ROWS, VECTOR = floats(3, 5, 4), floats(4, 19), floats(19)
SQUARE, IMAGE, KERNEL = floats(6, 6), floats(1, 3, 8, 9), floats(4, 3, 3, 3)
PLACES = RANDOM.integers(0, 5, (3, 2, 4)).astype("int32")

OPERATORS: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "argsort": (lambda x: nn.argsort(x, 1), [CUBE]),
    "sort": (lambda x: nn.sort(x, 1, descending=True), [ROWS]),
    "topk": (lambda x: nn.topk(x, 2, 1)[0], [CUBE]),
    "cumsum": (lambda x: nn.cumsum(x, 1), [CUBE]),
    "cumprod": (lambda x: nn.cumprod(x, 0), [ROWS]),
    "gather": (lambda x, i: nn.gather(x, i, 1), [CUBE, PLACES]),
    "scatter": (lambda d, i, u: nn.scatter(d, i, u, 1), [CUBE, PLACES, floats(3, 2, 4)]),
    "trace": (lambda x: nn.einsum("ii", x), [SQUARE]),
    "inner_product": (lambda x, y: nn.einsum("i,i->", x, y), [VECTOR, VECTOR]),
    "outer_product": (lambda x, y: nn.einsum("i,j->ij", x, y), [VECTOR, VECTOR]),
    "sum": (lambda x: nn.sum(x, 1), [CUBE]),
    "mean": (nn.mean, [CUBE]),
    "prod": (lambda x: nn.prod(x, 0), [ROWS]),
    "argmax": (lambda x: nn.argmax(x, 1), [CUBE]),
    "argmin": (nn.argmin, [VECTOR]),
    "transpose": (nn.transpose, [CUBE]),
    "reshape": (lambda x: nn.reshape(x, (5, 12)), [CUBE]),
    "pad": (lambda x: nn.pad(x, (1, 0, 2), (0, 3, 1)), [CUBE]),
    "matmul": (nn.matmul, [ROWS, floats(19, 7)]),
    "conv2d": (nn.conv2d, [IMAGE, KERNEL]),
    "conv2d_transpose": (nn.conv2d_transpose, [floats(1, 4, 5, 5), KERNEL]),
    "max_pool2d": (lambda x: nn.max_pool2d(x, 2), [IMAGE]),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x, (3, 2), 1), [IMAGE]),
    "relu": (nn.relu, [CUBE]),
    "gelu": (nn.gelu, [CUBE]),
    "softmax": (nn.softmax, [ROWS]),
    "layer_norm": (nn.layer_norm, [ROWS, VECTOR, VECTOR]),
    "rms_norm": (nn.rms_norm, [ROWS, VECTOR]),
    "resize2d": (lambda x: nn.resize2d(x, (11, 5)), [IMAGE]),
}


@gpu_devices.both
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_computes_on_a_device_what_it_does_here(target: str, name: str) -> None:
    gpu_devices.require(target)
    make, arrays = OPERATORS[name]
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"X{i}") for i, a in enumerate(arrays)]
    func: tir.PrimFunc = te.create_prim_func([*tensors, make(*tensors)])
    expected = ls.build(func)(*arrays)
    found = ls.build(func, target=target)(*arrays)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-4, atol=1e-5)


@gpu_devices.both
def test_rows_of_any_length_are_sorted_in_memory_of_the_device(target: str) -> None:
    gpu_devices.require(target)
    n = te.var("n")
    x = te.placeholder((3, n), name="X")
    sort = ls.build(te.create_prim_func([x, nn.sort(x, 1)]), target=target)
    for length in (0, 1, 50):
        rows = floats(3, length)
        np.testing.assert_array_equal(np.asarray(sort(rows)), np.sort(rows, 1))
