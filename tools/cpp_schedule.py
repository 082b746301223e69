# SPDX-License-Identifier: Apache-2.0
"""Writes the schedule methods of C++, driver/schedule_methods.{h,cc}, from the primitives."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

HEADER = Path(__file__).parent.parent / "loopsmith" / "driver" / "schedule_methods.h"
SOURCE = HEADER.with_suffix(".cc")

START = """\
// SPDX-License-Identifier: Apache-2.0
// Made by tools/cpp_schedule.py from the primitives: what a C++ user calls. docs/primitives.md has
// the pages of the primitives, with examples.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/driver/schedule_arguments.h"

namespace loopsmith::tir {

/// The primitives as methods; `Schedule` carries them out.
class ScheduleMethods {
 public:
"""

END = """
 protected:
  ScheduleMethods() = default;
  ~ScheduleMethods() = default;

  /// Calls a primitive; an argument that is None is the parameter's default.
  virtual Argument call(std::string_view primitive, std::vector<Argument> arguments) = 0;
};

}  // namespace loopsmith::tir
"""

SOURCE_START = """\
// SPDX-License-Identifier: Apache-2.0
// Made by tools/cpp_schedule.py from the primitives.
#include "loopsmith/driver/schedule_methods.h"

#include "loopsmith/driver/schedule_values.h"

namespace loopsmith::tir {

"""
SOURCE_END = """
}  // namespace loopsmith::tir
"""

# How C++ takes what Python's annotations name.
TYPES = {
    "bool": "bool",
    "int": "std::int64_t",
    "str": "const std::string&",
    "typing.Any": "const Annotation&",
    "LoopRV | str": "const LoopArgument&",
    "BlockRV | str": "const BlockArgument&",
    "BlockRV | LoopRV | str": "const BlockOrLoopArgument&",
    "LoopRV | typing.Sequence[BlockRV | str]": "const LoopOrBlocksArgument&",
    "int | str | Buffer | tuple[str, int]": "const BufferSelector&",
    "IndexMap | typing.Callable[..., typing.Any]": "const IndexMapArgument&",
    "typing.Sequence[LoopRV | str]": "const std::vector<LoopArgument>&",
    "typing.Sequence[BlockRV | str]": "const std::vector<BlockArgument>&",
    "Expr | bool": "const SizeCondition&",
    "LoopRV | Expr | int | str": "const LoopValueArgument&",
    "ExprRV | int": "const Factor&",
    "typing.Sequence[ExprRV | int | None]": "const std::vector<Factor>&",
    "typing.Sequence[ExprRV | Expr | int | None]": "const std::vector<SplitFactor>&",
    "typing.Sequence[int]": "const std::vector<std::int64_t>&",
    "typing.Sequence[float]": "const std::vector<double>&",
    "typing.Sequence[str]": "const std::vector<std::string>&",
}

RESULTS = {
    "None": "void",
    "LoopRV": "LoopRV",
    "BlockRV": "BlockRV",
    "ExprRV": "ExprRV",
    "list[LoopRV]": "Handles<LoopRV>",
    "list[BlockRV]": "Handles<BlockRV>",
    "list[ExprRV]": "Handles<ExprRV>",
}


def parameter(one: dict[str, Any], has_default: bool) -> str:
    """Return a parameter of a method, with its default or without."""
    kind = one["type"].removesuffix(" | None")
    if one["name"] == "tensor_intrin":
        return "const IntrinArgument& tensor_intrin"
    cpp = TYPES[kind]
    default = one["default"]
    if kind != one["type"]:
        plain = cpp.removeprefix("const ").removesuffix("&")
        cpp, default = f"const std::optional<{plain}>&", "{}"
    elif default is not None:
        default = "{}" if kind == "str" else default.lower()
    if default is None or not has_default:
        return f"{cpp} {one['name']}"
    return f"{cpp} {one['name']} = {default}"


def declaration(primitive: dict[str, Any]) -> str:
    """Return a method in the class, with its comment."""
    parameters = ", ".join(parameter(one, True) for one in primitive["parameters"])
    comment = re.sub(r"\s+", " ", primitive["doc"])
    lines = [f"  /// {comment}"]
    lines += [
        f"  /// `{one['name']}`: {re.sub(chr(10), ' ', one['doc'])}"
        for one in primitive["parameters"]
        if one["doc"]
    ]
    return "\n".join(
        [*lines, f"  {RESULTS[primitive['result']]} {primitive['name']}({parameters});"]
    )


def definition(primitive: dict[str, Any]) -> str:
    """Return what a method does: it calls its primitive."""
    result = RESULTS[primitive["result"]]
    parameters = ", ".join(parameter(one, False) for one in primitive["parameters"])
    values = ", ".join(f"value_of({one['name']})" for one in primitive["parameters"])
    called = f'call("{primitive["name"]}", {{{values}}})'
    if result.startswith("Handles"):
        body = f"return handles_in<{result[8:-1]}>({called});"
    elif result == "void":
        body = f"{called};"
    else:
        body = f"return *{called}.as<{result}>();"
    return f"{result} ScheduleMethods::{primitive['name']}({parameters}) {{\n{body}\n}}\n"


def formatted(path: Path, text: str) -> str:
    """Return the text of a file as clang-format leaves it."""
    done = subprocess.run(
        ["clang-format-22", f"--assume-filename={path}"],
        input=text, capture_output=True, check=True, text=True,
    )  # fmt: skip
    return done.stdout


def texts() -> dict[Path, str]:
    """Return the header and the source, from the primitives that the extension knows."""
    from loopsmith import _core

    primitives = _core.primitives()
    header = START + "\n".join(map(declaration, primitives)) + "\n" + END
    source = SOURCE_START + "\n".join(map(definition, primitives)) + SOURCE_END
    return {HEADER: formatted(HEADER, header), SOURCE: formatted(SOURCE, source)}


if __name__ == "__main__":
    for written, text in texts().items():
        written.write_text(text)
