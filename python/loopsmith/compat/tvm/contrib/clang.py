# SPDX-License-Identifier: Apache-2.0
"""``tvm.contrib.clang``: C as the language of LLVM, which schedules can bring along."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...missing import other_names

__all__ = ["create_llvm", "find_clang"]


def find_clang(required: bool = True) -> list[str]:
    """Return the clang compilers of this machine.

    Raises
    ------
    RuntimeError
        There is none, and one is required.
    """
    names = ["clang", *(f"clang-{version}" for version in range(30, 13, -1))]
    found = [path for path in map(shutil.which, names) if path]
    if required and not found:
        raise RuntimeError(
            "find_clang: there is no clang: install it, or import C by pragma_import_c"
        )
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """Return LLVM's language for C or C++ given as text, or for files; write it to `output`, too.

    Raises
    ------
    RuntimeError
        There is no clang, or it refuses; the text has what it said.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, each in enumerate([inputs] if isinstance(inputs, str) else inputs):
            # A text of a program is no path of a file.
            is_file = "\n" not in each and Path(each).is_file()
            files.append(Path(each) if is_file else Path(folder) / f"input{i}.cc")
            if not is_file:
                files[-1].write_text(each, encoding="utf-8")
        made = Path(output or Path(folder) / "made.ll")
        command = [cc or find_clang()[0], "-O3", "-emit-llvm", "-S", *(options or [])]
        done = subprocess.run(
            [*command, *map(str, files), "-o", str(made)], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"create_llvm: {' '.join(command)}: {done.stderr}")
        return made.read_text(encoding="utf-8")


__getattr__ = other_names("tvm.contrib.clang")
