# SPDX-License-Identifier: Apache-2.0
"""``tvm.te.tag``: what operations are called by those that schedule them."""

from __future__ import annotations

from loopsmith.te import tag_scope

from ..missing import other_names

BROADCAST = "broadcast"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"
ELEMWISE = "elemwise"
INJECTIVE = "injective"

__all__ = ["BROADCAST", "COMM_REDUCE", "COMM_REDUCE_IDX", "ELEMWISE", "INJECTIVE", "tag_scope"]
__getattr__ = other_names("tvm.te.tag")
