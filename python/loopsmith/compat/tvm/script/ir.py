# SPDX-License-Identifier: Apache-2.0
"""``tvm.script.ir``: the words of modules."""

from __future__ import annotations

import loopsmith.script.ir
from loopsmith.script.ir import *

from ...missing import other_names

__script_space__ = "I"
__all__ = [*loopsmith.script.ir.__all__]
__getattr__ = other_names("tvm.script.ir")
