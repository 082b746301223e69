# SPDX-License-Identifier: Apache-2.0
"""Axes to reduce over, and of threads."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import IterVar, Range, const


def _bounds(dom: Any) -> tuple[Any, Any]:
    if isinstance(dom, Range):
        return dom.min, dom.min + dom.extent
    if isinstance(dom, (list, tuple)) and len(dom) == 2:
        return dom[0], dom[1]
    return 0, dom


def reduce_axis(dom: Any, name: str = "rv") -> IterVar:
    """Return an axis to reduce over.

    Parameters
    ----------
    dom
        ``(begin, end)``, a Range, or an extent.
    name
        What loops and printed programs call it.
    """
    begin, end = _bounds(dom)
    return _core.te_reduce_axis(begin, end, name)


def thread_axis(dom: Any = None, tag: str = "", name: str = "") -> IterVar:
    """Return the axis of the threads that ``tag`` names, as ``"threadIdx.x"``.

    ``thread_axis("threadIdx.x")`` leaves its extent open; ``dom`` is ``(begin, end)``, a Range or
    an extent.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        _core.fail(
            "FormatError",
            "thread_has_tag",
            "thread_axis: the tag is missing",
            hint='name the threads, as "threadIdx.x"',
        )
    domain = None
    if dom is not None:
        begin, end = _bounds(dom)
        domain = Range(begin, const(end) - begin)
    return _core.te_thread_axis(domain, tag, name or tag)


def axes_of(axis: Any) -> list[IterVar] | None:
    """Return the axes, if it is one or a sequence of them."""
    if isinstance(axis, IterVar):
        return [axis]
    if isinstance(axis, (list, tuple)) and all(isinstance(a, IterVar) for a in axis):
        return list(axis)
    return None
