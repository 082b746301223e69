# SPDX-License-Identifier: Apache-2.0
"""What works on this machine: targets and devices, and the versions of what they need."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from . import _core, build_options, driver, te
from .errors import UserError

PACKAGES = ("numpy", "torch", "jax", "ml_dtypes", "typer", "rich", "pygments")
FEATURES = (
    "avx2", "avx512f", "avx512vnni", "avx512bf16", "amx-tile", "fma", "neon", "sve", "v",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Whether a target works here."""

    target: str
    works: bool
    detail: str
    """With what it works, or why it does not."""


def targets() -> list[Finding]:
    """Try every target: build a small function for it, and call it."""
    checks: dict[str, Callable[[], str]] = {
        "llvm": _check_llvm,
        "c": _check_c,
        "cuda": lambda: _check_device("cuda"),
        "opencl": lambda: _check_device("opencl"),
    }
    found = []
    for target, check in checks.items():
        try:
            found.append(Finding(target, True, check()))
        except (UserError, RuntimeError) as error:
            found.append(Finding(target, False, str(error).splitlines()[0]))
    return found


def versions() -> dict[str, str]:
    """Return the versions of Python, the system and the packages that matter here."""
    import importlib.metadata

    found = {
        "loopsmith": _core.version,
        "llvm library": _core.llvm_version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
    }
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _check_llvm() -> str:
    triple, cpu, features = _core.processor(build_options.DEFAULT_TARGET)
    known = set(features.split(","))
    found = [name for name in FEATURES if f"+{name}" in known]
    _try_target(build_options.DEFAULT_TARGET)
    return f"{cpu} ({triple.split('-')[0]}): {', '.join(found) or 'baseline instructions'}"


def _check_c() -> str:
    compiler = _core.c_compiler()
    _try_target("c")
    return f"compiled by {compiler}: {_version_of(compiler)}"


def _version_of(compiler: str) -> str:
    """Return what a C compiler says first about itself."""
    said = subprocess.run(
        [*shlex.split(compiler), "--version"], capture_output=True, text=True, check=False
    ).stdout
    return said.partition("\n")[0] or "of unknown version"


def _check_device(kind: str) -> str:
    """Run a kernel on the first device; a missing driver or compiler is named."""
    name = _core.describe_device(kind, 0)[0]
    _try_target(kind)
    return name


def _try_target(target: str) -> None:
    """Build and call a small function; raise when that fails."""
    import numpy as np

    a = te.placeholder((8,), "float32", name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    driver.build([a, b], target)(x, y)
    if not np.array_equal(y, x + 1):
        raise RuntimeError("a small function gave a wrong result")
