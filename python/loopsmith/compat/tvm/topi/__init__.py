# SPDX-License-Identifier: Apache-2.0
"""``tvm.topi``: common operators, as tensor expressions without a schedule of their own."""

from __future__ import annotations

from loopsmith import te

from ...missing import other_names
from .. import tag
from . import generic, image, nn, testing
from . import shapes as utils
from .elementwise import *
from .elementwise import __all__ as _elementwise
from .parts import *
from .parts import __all__ as _parts
from .reductions import *
from .reductions import __all__ as _reductions
from .scatters import *
from .scatters import __all__ as _scatters
from .sequences import *
from .sequences import __all__ as _sequences
from .shapes import *
from .shapes import __all__ as _shapes

arm_cpu = bifrost = cuda = gpu = hls = intel_graphics = mali = rocm = x86 = generic
util = utils

__all__ = [
    *("arm_cpu", "bifrost", "cuda", "generic", "gpu", "hls", "image", "intel_graphics", "mali"),
    *("nn", "rocm", "tag", "testing", "util", "utils", "x86"),
    *(*_elementwise, *_parts, *_reductions, *_scatters, *_sequences, *_shapes),
]
__getattr__ = other_names("tvm.topi")
