# SPDX-License-Identifier: Apache-2.0
"""The workloads by PyTorch, whose products and convolutions are those of MKL and oneDNN."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from workloads import EPSILON

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
torch.set_grad_enabled(False)


def version() -> str:
    """Return which PyTorch, and for which instructions."""
    return f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"


def tensors(program: Callable[..., Any]) -> Callable[..., Any]:
    """Give a program tensors in place of arrays; both are the same memory."""

    def prepare(*arrays: Any, **sizes: Any) -> Any:
        return program(*map(torch.from_numpy, arrays), **sizes)

    return prepare


def product(a: Any, b: Any, out: Any, layout: str = "nn", **_: int) -> Any:
    """C = A @ B."""
    left = a.transpose(-1, -2) if layout[0] == "t" else a
    right = b.transpose(-1, -2) if layout[1] == "t" else b
    return lambda: torch.matmul(left, right, out=out)


def convolution(
    a: Any, w: Any, out: Any, stride: int = 1, pad: int = 0, groups: int = 1, **_: int
) -> Any:
    """Convolution, channels before rows."""
    return lambda: functional.conv2d(a, w, stride=stride, padding=pad, groups=groups)


def attention(q: Any, k: Any, v: Any, out: Any, **_: int) -> Any:
    """Scaled dot product attention."""
    q, k, v = (x.unsqueeze(0) for x in (q, k, v))
    return lambda: functional.scaled_dot_product_attention(q, k, v).squeeze(0)


def jacobi(a: Any, out: Any, **_: int) -> Any:
    """Mean of five neighbours, as a convolution."""
    cross = torch.tensor([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=torch.float32) / 5
    return lambda: functional.conv2d(a[None, None], cross[None, None])[0, 0]


def heat(a: Any, out: Any, **_: int) -> Any:
    """Mean of seven neighbours, as a convolution."""
    star = torch.zeros(3, 3, 3)
    for at in ((1, 1, 1), (0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2)):
        star[at] = 1 / 7
    return lambda: functional.conv3d(a[None, None], star[None, None])[0, 0]


PROGRAMS = {
    "product": tensors(product),
    "convolution": tensors(convolution),
    "softmax": tensors(lambda a, out, **_: lambda: torch.softmax(a, -1, out=out)),
    "layer norm": tensors(
        lambda a, out, **_: lambda: functional.layer_norm(a, a.shape[-1:], eps=EPSILON)
    ),
    "gelu": tensors(lambda a, b, out, **_: lambda: functional.gelu(a + b, approximate="tanh")),
    "add": tensors(lambda a, b, out, **_: lambda: torch.add(a, b, out=out)),
    "row sums": tensors(lambda a, out, **_: lambda: torch.sum(a, 1, out=out)),
    "column sums": tensors(lambda a, out, **_: lambda: torch.sum(a, 0, out=out)),
    "transpose": tensors(lambda a, out, **_: lambda: out.copy_(a.T)),
    "attention": tensors(attention),
    "jacobi": tensors(jacobi),
    "heat": tensors(heat),
    "blur": tensors(lambda a, out, **_: lambda: functional.avg_pool2d(a[None, None], 3, 1)[0, 0]),
    "prefix sum": tensors(lambda a, out, **_: lambda: torch.cumsum(a, 0, out=out)),
}
