# SPDX-License-Identifier: Apache-2.0
"""What candidates are called with, and what they have to give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def copies(arguments: Sequence[Any]) -> list[Any]:
    """Return the arguments with arrays of their own memory."""
    return [np.array(value) if isinstance(value, np.ndarray) else value for value in arguments]


def difference(expected: Sequence[Any], got: Sequence[Any], is_exact: bool) -> str | None:
    """Return where results differ by more than rounding may, or at all; None where they do not.

    Unless they are to be equal to the bit, integers are to be equal, and floats of an array may
    differ by the square root of their type's precision, of the element and of the largest one: sums
    are regrouped, no more.
    """
    for number, (left, right) in enumerate(zip(expected, got)):
        if not isinstance(left, np.ndarray) or _is_same(left, right):
            continue
        if not is_exact and _is_near(left, right):
            continue
        wrong = np.argwhere(~(_bits(left) == _bits(right) if is_exact else _agree(left, right)))
        if len(wrong):
            place = tuple(int(index) for index in wrong[0])
            return f"argument {number} at {place}: {right[place]}, expected {left[place]}"
    return None


def _is_same(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays of one type and shape have the same bytes."""
    word = np.uint64 if left.nbytes % 8 == 0 else np.uint8
    mine, other = (np.ascontiguousarray(each).reshape(-1).view(word) for each in (left, right))
    return bool(np.array_equal(mine, other))


def _is_near(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether all is finite and differs by no more than the largest element allows, surely."""
    if left.dtype not in (np.float32, np.float64):
        return False
    largest = max(left.max(), -left.min())  # NaN where an element is.
    with np.errstate(all="ignore"):
        gap = np.subtract(left, right)
        farthest = max(gap.max(), -gap.min())
    return bool(np.isfinite(largest) and farthest <= 0.5 * _tolerance(left) * largest)


def _tolerance(array: np.ndarray[Any, Any]) -> float:
    return float(np.sqrt(np.finfo(array.dtype).eps))


def _bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the bits of the elements, which tell one zero, and one NaN, from another."""
    return np.ascontiguousarray(array).view(f"V{array.itemsize}")


def _agree(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if left.dtype.kind not in "fc":
        return np.asarray(left == right)
    tolerance = _tolerance(left)
    exact_left, exact_right = left.astype(np.float64), right.astype(np.float64)
    finite = exact_left[np.isfinite(exact_left)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    return np.asarray(
        np.isclose(
            exact_left, exact_right, rtol=tolerance, atol=tolerance * largest, equal_nan=True
        )
    )
