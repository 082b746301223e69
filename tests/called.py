# SPDX-License-Identifier: Apache-2.0
"""Arrays for calls of the fixtures `add` and `scale`, and what calls say of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls


def pair(n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    a = np.arange(n * 4, dtype="float32").reshape(n, 4)
    return a, np.zeros_like(a)


def misaligned(n: int) -> np.ndarray:
    return np.zeros(n * 16 + 1, "uint8")[1:].view("float32").reshape(n, 4)


def read_only(n: int) -> np.ndarray:
    made = np.zeros((n, 4), "float32")
    made.flags.writeable = False
    return made


def refused(function: Any, *arguments: Any) -> ls.UserError:
    with pytest.raises(ls.UserError) as caught:
        function(*arguments)
    return caught.value
