# SPDX-License-Identifier: Apache-2.0
"""Intrinsics by name, and places in sources."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..members.expressions import Op

__all__ = ["Op", "SourceName", "Span"]


class SourceName(NamedTuple):
    """The name of a source."""

    name: str


class Span(NamedTuple):
    """A place in a source. Nodes get theirs from the program that makes them."""

    source_name: Any
    line: int
    end_line: int
    column: int
    end_column: int
