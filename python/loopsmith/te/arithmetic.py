# SPDX-License-Identifier: Apache-2.0
"""Operators as functions, and conditions joined."""

from __future__ import annotations

from typing import Any

from .. import _core


def add(a: Any, b: Any) -> Any:
    """Return ``a + b``."""
    return a + b


def subtract(a: Any, b: Any) -> Any:
    """Return ``a - b``."""
    return a - b


def multiply(a: Any, b: Any) -> Any:
    """Return ``a * b``."""
    return a * b


def all(*conditions: Any) -> Any:
    """Return the condition that holds where each of ``conditions`` does."""
    return _core.all(conditions)


def any(*conditions: Any) -> Any:
    """Return the condition that holds where one of ``conditions`` does."""
    return _core.any(conditions)
