# SPDX-License-Identifier: Apache-2.0
"""Operators that many programs need, as tensor expressions: read them, copy and change them.

All of them return tensors; nothing is computed before the program is built. Those that no
expression says element by element (sorting, running sums, scattered updates) are loops of a script.
"""

from __future__ import annotations

from typing import Any

from . import images, layers, places, products, rows
from .images import *
from .layers import *
from .places import *
from .products import *
from .rows import *

__all__ = [
    *images.__all__,
    *layers.__all__,
    *places.__all__,
    *products.__all__,
    *rows.__all__,
]


def __getattr__(name: str) -> Any:
    """Refuse a name that is not there, with what says it."""
    from ... import other_words

    other_words.missing("te.nn", name, other_words.OPERATORS, globals())
