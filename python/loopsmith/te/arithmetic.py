# SPDX-License-Identifier: Apache-2.0
"""Operators as functions."""

from __future__ import annotations

from typing import Any


def add(a: Any, b: Any) -> Any:
    """Return ``a + b``."""
    return a + b


def subtract(a: Any, b: Any) -> Any:
    """Return ``a - b``."""
    return a - b


def multiply(a: Any, b: Any) -> Any:
    """Return ``a * b``."""
    return a * b
