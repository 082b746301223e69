# SPDX-License-Identifier: Apache-2.0
"""``tvm.target``: what code is generated for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import loopsmith as ls

from ..missing import other_names

__all__ = ["Target", "create", "llvm"]

_entered = threading.local()


class TargetKind(str):
    """The kind of a target: its name."""

    @property
    def name(self) -> str:
        """The name, as a text."""
        return str(self)


class Target(ls.Target):
    """A target, also as a scope: what is built inside is built for it.

    Parameters
    ----------
    tag_or_str_or_dict
        A text, ``"llvm -mcpu=native"``; or a dict with its ``kind`` and options.
    host
        What calls it. Code for a processor is its own host.
    """

    def __init__(self, tag_or_str_or_dict: Any, host: Any = None) -> None:
        super().__init__(_text(tag_or_str_or_dict))
        self.host = host if host is None or isinstance(host, Target) else Target(host)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the target of the innermost scope; None outside of all.

        Raises
        ------
        ValueError
            Outside of all, unless `allow_none`.
        """
        stack = getattr(_entered, "stack", [])
        if not stack and not allow_none:
            raise ValueError("there is no current target: write `with tvm.target.Target(...):`")
        return stack[-1] if stack else None

    @property
    def kind(self) -> TargetKind:
        """What generates its code: ``llvm``, ``c``, ``cuda`` or ``opencl``."""
        return TargetKind(super().kind)

    @property
    def keys(self) -> list[str]:
        """The families that it belongs to."""
        return ["cpu"] if str(self.kind) in ("llvm", "c") else [str(self.kind), "gpu"]

    @property
    def attrs(self) -> Mapping[str, str]:
        """Its options."""
        return dict(self.options)

    @property
    def mcpu(self) -> str:
        """The processor; empty: any."""
        return self.attrs.get("mcpu", "")

    @property
    def mattr(self) -> list[str]:
        """What the processor has beside what is named after it."""
        return [part for part in self.attrs.get("mattr", "").split(",") if part]

    @property
    def arch(self) -> str:
        """The generation of a GPU; empty: that of the one that is there."""
        return self.attrs.get("arch", "")

    def __enter__(self) -> Target:
        """Make it the current target."""
        if not hasattr(_entered, "stack"):
            _entered.stack = []
        _entered.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Make current what was before."""
        _entered.stack.pop()


def _text(given: Any) -> str:
    if isinstance(given, Mapping):
        options = dict(given)
        parts = [str(options.pop("kind"))]
        for key, value in options.items():
            if key not in ("keys", "tag"):
                listed = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
                parts.append(f"-{key}={listed}")
        return " ".join(parts)
    return str(given)


def create(text: Any) -> Target:
    """Return the target that a text says."""
    return Target(text)


def llvm(options: str = "") -> Target:
    """Return the target of processors that LLVM generates code for."""
    return Target(f"llvm {options}".strip())


__getattr__ = other_names("tvm.target")
