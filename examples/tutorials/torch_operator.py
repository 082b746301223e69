# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # An operator for PyTorch
#
# A compiled function takes tensors of PyTorch as they are, without a copy, and gives tensors back.
# With its gradient it becomes an operator that `autograd` knows.

# %%
from __future__ import annotations

from typing import Any

import torch

import loopsmith as ls
from loopsmith import te

# %% [markdown]
# ## 1. A function and its gradient
# `te.gradient` makes the gradient of a tensor expression as a tensor expression.

# %%
n, m = te.size_var("n"), te.size_var("m")
X = te.placeholder((n, m), name="X")
Y = te.compute((n, m), lambda i, j: X[i, j] * te.sigmoid(X[i, j]), name="Y")
HEAD = te.placeholder((n, m), name="head")
(DX,) = te.gradient(Y, [X], HEAD)
forward = ls.build([X, Y], name="silu")
backward = ls.build([X, HEAD, DX], name="silu_gradient")

# %% [markdown]
# ## 2. The operator


# %%
class Silu(torch.autograd.Function):
    """x * sigmoid(x), forward and backward by Loopsmith."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        """Return the result, and keep what the gradient needs."""
        context.save_for_backward(x)
        y: torch.Tensor = forward(x.detach())
        return y

    @staticmethod
    def backward(context: Any, head: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return the gradient."""
        (x,) = context.saved_tensors
        gradient: torch.Tensor = backward(x.detach(), head.contiguous())
        return gradient


# %% [markdown]
# ## 3. The same as PyTorch's own

# %%
x = torch.randn(64, 100, requires_grad=True)
y = Silu.apply(x)
y.sum().backward()
ours, x.grad = x.grad, None
expected = torch.nn.functional.silu(x)
expected.sum().backward()
torch.testing.assert_close(y, expected)
torch.testing.assert_close(ours, x.grad)
print("forward and backward agree with PyTorch")
