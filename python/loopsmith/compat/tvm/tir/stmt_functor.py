# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.stmt_functor``: walks over the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loopsmith import tir

from ...missing import other_names

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "renew_defs", "substitute"]

post_order_visit = tir.post_order_visit
pre_order_visit = tir.pre_order_visit
renew_defs = tir.clone


def ir_transform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """Return a tree in which functions replaced nodes; `only_enable` names types: ``tir.For``."""
    only = None if only_enable is None else [name.rpartition(".")[2] for name in only_enable]
    return tir.rewrite(stmt, preorder, postorder, only)


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Return a tree with each use of some variables replaced."""
    return tir.substitute(node, dict(vmap))


__getattr__ = other_names("tvm.tir.stmt_functor")
