# SPDX-License-Identifier: Apache-2.0
"""``tvm.contrib``: helpers around the compiler."""

from __future__ import annotations

from ...missing import other_names
from . import cc, clang, utils
from . import utils as util

__all__ = ["cc", "clang", "util", "utils"]
__getattr__ = other_names("tvm.contrib")
