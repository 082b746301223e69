# SPDX-License-Identifier: Apache-2.0
"""Runs programs that were written for Apache TVM (0.5 to 0.18), as they are.

>>> import loopsmith.compat
>>> loopsmith.compat.install()
>>> import tvm
>>> from tvm import te

``loopsmith run script.py`` and ``python -m loopsmith.compat script.py`` do the same for a whole
program. A name that is not provided raises at once, and says what to do instead.
"""

from __future__ import annotations

from .imports import install, is_installed, uninstall
from .missing import MissingName
from .programs import imports_tvm, run_program

__all__ = [
    "MissingName",
    "imports_tvm",
    "install",
    "is_installed",
    "run_program",
    "uninstall",
]
