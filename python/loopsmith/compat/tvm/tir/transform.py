# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.transform``: single passes, which are not provided: `loopsmith.lower` runs them all."""

from __future__ import annotations

from ...missing import other_names

__all__: list[str] = []
__getattr__ = other_names("tvm.tir.transform")
