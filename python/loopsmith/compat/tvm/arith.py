# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith``: what is known of integers."""

from __future__ import annotations

import loopsmith.arith

from ..missing import other_names

__getattr__ = other_names("tvm.arith", loopsmith.arith)
