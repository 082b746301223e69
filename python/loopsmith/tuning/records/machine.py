# SPDX-License-Identifier: Apache-2.0
"""For what, and by which options, something was measured."""

from __future__ import annotations

from collections.abc import Sequence

from ... import _core
from ..._core import Target
from ...build_options import allowed_math


def target_key(
    target: Target | str,
    numerics: str = "free",
    contract: bool = True,
    fast_math: bool | str | Sequence[str] | None = None,
    num_threads: int | None = None,
) -> str:
    """Return what a program is compiled for: the target, the machine if that is meant, options."""
    allowed = allowed_math("target_key", fast_math)
    return _core.target_key(Target(str(target)), numerics, contract, allowed, num_threads or 0)
