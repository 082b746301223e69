# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.tensor_intrin``: names of tensor intrinsics.

`tensorize` refuses those that are not built in, and lists what there is.
"""

from __future__ import annotations

from ....missing import other_names
from . import arm_cpu, cuda, dot_product_common, hexagon, rocm, x86

__all__ = ["arm_cpu", "cuda", "dot_product_common", "hexagon", "rocm", "x86"]
__getattr__ = other_names("tvm.tir.tensor_intrin")
