# SPDX-License-Identifier: Apache-2.0
"""Where and for what something was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BUILD_DEFAULTS: Mapping[str, Any] = {
    "contract": True,
    "fast_math": None,
    "num_threads": None,
    "default_schedule": True,
    "numerics": None,
}
"""How `build` compiles where nothing is said."""


def lock_of(numerics: str) -> dict[str, Any]:
    """Return which of the options that name a target a lock of numerics stands for."""
    order = numerics if numerics == "reproducible" else None
    return {"default_schedule": numerics == "free", "numerics": order}


def machine_name() -> str:
    """Return which processor this is, and how many of them."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} processors"


def target_key(target: str, options: Mapping[str, Any] = BUILD_DEFAULTS) -> str:
    """Return what a program is compiled for: the target, the machine if that is meant, options."""
    here = f" ({machine_name()})" if "native" in target else ""
    names = [name for name in sorted(options) if options[name] != BUILD_DEFAULTS[name]]
    return target + here + "".join(f", {name}={options[name]!r}" for name in names)
