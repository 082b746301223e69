# SPDX-License-Identifier: Apache-2.0
"""``tvm.target.codegen``: what LLVM knows of intrinsics and processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import loopsmith as ls
from loopsmith import _core

from ..missing import other_names
from .target import Target

__all__ = [
    "llvm_cpu_has_features",
    "llvm_get_intrinsic_name",
    "llvm_get_system_cpu",
    "llvm_get_system_triple",
    "llvm_lookup_intrinsic_id",
    "llvm_version_major",
    "target_has_features",
]


def llvm_lookup_intrinsic_id(name: str) -> int:
    """Return LLVM's number of an intrinsic; 0 where it has none of that name."""
    return _core.llvm_intrinsic_id(name)


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """Return the name of an intrinsic by its number."""
    return _core.llvm_intrinsic_name(intrin_id)


def llvm_version_major(allow_none: bool = False) -> int:
    """Return the major version of LLVM, which is always there."""
    return int(_core.llvm_version().partition(".")[0])


def llvm_get_system_triple() -> str:
    """Return the triple of this machine."""
    return _core.processor("llvm -mcpu=native")[0]


def llvm_get_system_cpu() -> str:
    """Return the name of this machine's processor."""
    return _core.processor("llvm -mcpu=native")[1]


def target_has_features(cpu_features: str | Sequence[str], target: Any = None) -> bool:
    """Return whether a target's processor has all of the features; without one, the current's."""
    names = [cpu_features] if isinstance(cpu_features, str) else cpu_features
    return _target(target).has_features(",".join(f"+{name}" for name in names))


llvm_cpu_has_features = target_has_features


def _target(given: Any) -> ls.Target:
    found = Target.current() if given is None else given
    return ls.Target("llvm -mcpu=native") if found is None else Target(found)


__getattr__ = other_names("tvm.target.codegen")
