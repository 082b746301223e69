# SPDX-License-Identifier: Apache-2.0
"""Writes python/loopsmith/script/tir.pyi, which shows the names ``T.*`` to editors and mypy."""

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
    lines += [function(word) for word in _core.script_words("T")]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    stub = Path(__file__).parent.parent / "python" / "loopsmith" / "script" / "tir.pyi"
    stub.write_text(stub_text())
