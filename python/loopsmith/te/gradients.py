# SPDX-License-Identifier: Apache-2.0
"""Derivatives of tensors, as tensor expressions."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._core import Tensor
from ..argument_errors import explained


@explained
def gradient(
    output: Tensor, inputs: Tensor | Sequence[Tensor], head: Tensor | None = None
) -> list[Tensor]:
    """Return the derivatives of a tensor by others, in reverse mode.

    Parameters
    ----------
    output
        The tensor to differentiate.
    inputs
        Tensors that it is computed from: placeholders, or ones that are computed themselves.
    head
        The derivative of something by ``output``, of shape ``prefix + output.shape``; the results
        are the derivatives of that. Without, the results are the derivatives of each element of
        ``output``: ``prefix`` is ``output.shape``.

    Returns
    -------
    list of Tensor
        One for each input, of shape ``prefix + input.shape``: zeros where ``output`` does not
        depend on it. Where several elements are the largest (or smallest) of a reduction, each has
        an equal share; ``max(a, b)`` of equal values changes with ``a``.

    Raises
    ------
    UserError
        For tensors that do not hold floating-point numbers; and where the way from an input leads
        through a scan, a statement of ``te.extern``, a function without a known derivative, or a
        reduction that is no sum, product, min, max or choice.

    Examples
    --------
    >>> k = te.reduce_axis((0, 64), name="k")
    >>> C = te.compute((32, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    >>> dC = te.placeholder((32, 16), name="dC")
    >>> dA, dB = te.gradient(C, [A, B], head=dC)
    """
    return _core.te_gradient(output, [inputs] if isinstance(inputs, Tensor) else [*inputs], head)
