# SPDX-License-Identifier: Apache-2.0
"""``tvm.transform``: the scope in which programs set options of the compiler."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ..missing import MissingName, other_names

__all__ = ["PassContext"]

_entered = threading.local()


class PassContext:
    """A scope with options of the compiler.

    Parameters
    ----------
    opt_level
        Has no effect: code is always optimised, and results do not depend on it.
    config
        Options by name. None is provided: whoever passes one is told so.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Any = None,
        disabled_pass: Any = None,
        instruments: Any = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        for what, given in (("required_pass", required_pass), ("disabled_pass", disabled_pass),
                            ("instruments", instruments)):  # fmt: skip
            if given:
                raise MissingName(f"tvm.transform.PassContext.{what}")
        for name in config or {}:
            raise MissingName(f"tvm.transform.PassContext.config[{name!r}]")
        self.opt_level = opt_level
        self.config: dict[str, Any] = {}

    @staticmethod
    def current() -> PassContext:
        """Return the context of the innermost scope."""
        stack = getattr(_entered, "stack", [])
        return stack[-1] if stack else PassContext()

    def __enter__(self) -> PassContext:
        """Make it the current context."""
        if not hasattr(_entered, "stack"):
            _entered.stack = []
        _entered.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Make current what was before."""
        _entered.stack.pop()


__getattr__ = other_names("tvm.transform")
