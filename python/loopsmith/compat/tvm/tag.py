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

__all__ = [
    "BROADCAST",
    "COMM_REDUCE",
    "COMM_REDUCE_IDX",
    "ELEMWISE",
    "INJECTIVE",
    "is_broadcast",
    "is_injective",
    "tag_scope",
]


def is_broadcast(tag: str) -> bool:
    """Return whether an operation repeats elements, or computes each of those at its place."""
    return tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag: str) -> bool:
    """Return whether an operation computes each element of at most one of each tensor."""
    return is_broadcast(tag) or tag.startswith(INJECTIVE)


__getattr__ = other_names("tvm.te.tag")
