# SPDX-License-Identifier: Apache-2.0
"""Writes what follows from tables of the library, and editors and mypy are to see.

The names ``T.*``, in python/loopsmith/script/tir.pyi; the functions of numbers, in
python/loopsmith/functions.py.
"""

from __future__ import annotations

import re
from pathlib import Path

HEADER = """# SPDX-License-Identifier: Apache-2.0
# Made by tools/script_stubs.py from the table in loopsmith/script/words_*.cc.
import builtins
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager as ContextManager
from typing import Any

from .. import _core
from .decorators import macro as macro
from .decorators import prim_func as prim_func
"""

# Some words have the names of types: T.Buffer, T.bool.
NODES = re.compile(r"\b(Buffer|CommReducer|Expr|ExprLike|IndexMap|IterVar|Range|Stmt|Var)\b")


def annotated(text: str) -> str:
    """Return a signature with types that no word hides."""
    return re.sub(r"\bbool\b", "builtins.bool", NODES.sub(r"_core.\1", text))


def stub_text() -> str:
    """Return the text of the stub, from the words that the extension knows."""
    from loopsmith import _core
    from loopsmith.script import tir

    def function(word: _core.ScriptWord, first: str = "") -> str:
        parameters = ", ".join(filter(None, [first, word.parameters]))
        return f"def {word.name}({annotated(parameters)}) -> {annotated(word.result)}: ..."

    lines = [HEADER, "class _Axis:"]
    lines += [f"    {function(word, 'self')}" for word in _core.script_words("T.axis")]
    lines += ["", "axis: _Axis"]
    # Classes, so that they may stand as annotations; called, they convert.
    for name in tir.type_names:
        lines.append(f"class {name}(_core.Var):")
        lines.append("    def __init__(self, value: Any = ...) -> None: ...")
    lines += ["type_names: list[str]", ""]
    for word in _core.script_words("T"):
        if word.name == "Buffer":  # Stands as an annotation, too.
            parameters = f"self, {annotated(word.parameters)}"
            lines += ["class Buffer(_core.Buffer):", f"    def __init__({parameters}) -> None: ..."]
        else:
            lines.append(function(word))
    return "\n".join(lines) + "\n"


FUNCTIONS_HEADER = """# SPDX-License-Identifier: Apache-2.0
# Made by tools/script_stubs.py from the table in loopsmith/ir/math_functions.cc.
\"\"\"The functions of numbers: intrinsics that compute lane by lane.\"\"\"

from __future__ import annotations
"""


def functions_text() -> str:
    """Return the text of the module of functions, in the order that the formatter keeps."""
    from loopsmith import _core

    def natural(name: str) -> list[str | int]:
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    names = sorted(_core.functions_of_numbers(), key=natural)
    lines = [FUNCTIONS_HEADER, "from ._core import ("]
    lines += [f"    {name}," for name in names]
    lines += [")", "", "__all__ = ["]
    lines += [f'    "{name}",' for name in names]
    return "\n".join([*lines, "]"]) + "\n"


if __name__ == "__main__":
    package = Path(__file__).parent.parent / "python" / "loopsmith"
    (package / "script" / "tir.pyi").write_text(stub_text())
    (package / "functions.py").write_text(functions_text())
