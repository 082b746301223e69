# SPDX-License-Identifier: Apache-2.0
"""Whole programs that import `tvm`."""

from __future__ import annotations

import ast
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .imports import ROOTS, install, uninstall


def imports_tvm(text: str) -> bool:
    """Return whether a program of Python imports `tvm`, or `topi` as it stood beside it."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if any(name.partition(".")[0] in ROOTS for name in names):
            return True
    return False


def run_program(path: str | os.PathLike[str], arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Run a program as ``python path arguments`` would, with `tvm` answered by this package.

    Returns
    -------
    dict
        The names that it defines.
    """
    given, search = sys.argv, sys.path
    sys.argv = [os.fspath(path), *arguments]
    sys.path = [str(Path(path).resolve().parent), *search]
    was_here = install()
    try:
        return runpy.run_path(os.fspath(path), run_name="__main__")
    finally:
        sys.argv, sys.path = given, search
        if not was_here:
            uninstall()
