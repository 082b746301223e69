# SPDX-License-Identifier: Apache-2.0
"""Writes the schedule methods of C++, loopsmith/driver/schedule_methods.h, from the primitives."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

HEADER = Path(__file__).parent.parent / "loopsmith" / "driver" / "schedule_methods.h"

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
    "ExprRV | int": "const Factor&",
    "typing.Sequence[ExprRV | int | None]": "const std::vector<Factor>&",
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


def parameter(one: dict[str, Any]) -> str:
    """Return a parameter of a method, with its default."""
    kind = one["type"].removesuffix(" | None")
    if one["name"] == "tensor_intrin":
        return "const IntrinArgument& tensor_intrin"
    cpp = TYPES[kind]
    default = one["default"]
    if kind != one["type"]:
        plain = cpp.removeprefix("const ").removesuffix("&")
        return f"const std::optional<{plain}>& {one['name']} = {{}}"
    if default is None:
        return f"{cpp} {one['name']}"
    if kind == "str":
        return f"{cpp} {one['name']} = {{}}"
    return f"{cpp} {one['name']} = {default.lower()}"


def method(primitive: dict[str, Any]) -> str:
    """Return a method, with its comment."""
    result = RESULTS[primitive["result"]]
    parameters = ", ".join(parameter(one) for one in primitive["parameters"])
    values = ", ".join(f"value_of({one['name']})" for one in primitive["parameters"])
    called = f'call("{primitive["name"]}", {{{values}}})'
    if result.startswith("Handles"):
        body = f"return handles_in<{result[8:-1]}>({called});"
    elif result == "void":
        body = f"{called};"
    else:
        body = f"return *{called}.as<{result}>();"
    comment = re.sub(r"\s+", " ", primitive["doc"])
    lines = [f"  /// {comment}"]
    lines += [
        f"  /// `{one['name']}`: {re.sub(chr(10), ' ', one['doc'])}"
        for one in primitive["parameters"]
        if one["doc"]
    ]
    return "\n".join([*lines, f"  {result} {primitive['name']}({parameters}) {{ {body} }}"])


def header_text() -> str:
    """Return the header, formatted, from the primitives that the extension knows."""
    from loopsmith import _core

    text = START + "\n".join(map(method, _core.primitives())) + "\n" + END
    formatted = subprocess.run(
        ["clang-format-22", f"--assume-filename={HEADER}"],
        input=text, capture_output=True, check=True, text=True,
    )  # fmt: skip
    return formatted.stdout


if __name__ == "__main__":
    HEADER.write_text(header_text())
