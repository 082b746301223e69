# SPDX-License-Identifier: Apache-2.0
"""``tvm.contrib.cc``: the C++ compiler of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import loopsmith as ls

from ...missing import other_names

__all__ = ["create_executable", "create_shared", "get_cc"]


needing_runtime: set[str] = set()
"""Object files of this process that call the runtime, which is linked with them."""


def get_cc() -> str | None:
    """Return the compiler of ``$CXX``, or g++, clang++, gcc, clang, the first that there is."""
    found = os.environ.get("CXX")
    return found or next(filter(None, map(shutil.which, ("g++", "clang++", "gcc", "clang"))), None)


def create_shared(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files, or compile sources, into a shared library.

    Raises
    ------
    RuntimeError
        There is no compiler, or it refuses; the text has what it said.
    """
    _run(cc, ["-shared", "-fPIC"], output, objects, options)


def create_executable(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files, or compile sources, into a program; errors as of `create_shared`."""
    _run(cc, [], output, objects, options)


def _run(
    cc: str | None,
    mode: list[str],
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None,
) -> None:
    compiler = cc or get_cc()
    if compiler is None:
        raise RuntimeError("contrib.cc: there is no C++ compiler: install g++, or set CXX")
    inputs = [objects] if isinstance(objects, str) else list(objects)
    with tempfile.TemporaryDirectory() as folder:
        if needing_runtime.intersection(map(os.path.realpath, inputs)):
            source, runtime = Path(folder, "runtime.c"), Path(folder, "runtime.o")
            ls.export_runtime(source)
            _call([compiler, "-x", "c", "-O2", "-fPIC", "-c", "-o", str(runtime), str(source)])
            inputs += [str(runtime), "-pthread", "-lm"]
        _call([compiler, *mode, "-o", output, *inputs, *(options or [])])


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Compilation error:\n{done.stderr}\nCommand line: {' '.join(command)}")


__getattr__ = other_names("tvm.contrib.cc")
