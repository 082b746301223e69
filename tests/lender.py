# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np


class Lender:
    """An array that is reached through DLPack alone."""

    def __init__(self, data: np.ndarray, *, versioned: bool = True):
        self.data = data
        self.versioned = versioned
        self.calls = 0

    def __dlpack__(self, **options):
        self.calls += 1
        if not self.versioned and options:
            raise TypeError("no such option")
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()
