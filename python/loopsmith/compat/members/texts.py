# SPDX-License-Identifier: Apache-2.0
"""Options of `script` and `show`."""

from __future__ import annotations

import re
from typing import Any

from loopsmith import tir

from ..missing import MissingName

_core_script: Any = tir.Node.script
_core_show: Any = tir.Node.show
# What programs may say of the text that does not change what it means.
_SHAPES_OF_TEXT = {
    "name",
    "indent_spaces",
    "print_line_numbers",
    "num_context_lines",
    "obj_to_underline",
    "obj_to_annotate",
}
_WITHOUT_MEANING = {
    "show_meta",
    "ir_prefix",
    "relax_prefix",
    "module_alias",
    "verbose_expr",
    "syntax_sugar",
    "show_object_address",
    "show_all_struct_info",
    "extra_config",
    "black_format",
    "show_all_ty",
}
_AS_HERE = {
    "buffer_dtype": "float32",
    "int_dtype": "int32",
    "float_dtype": None,
    "path_to_underline": None,
    "path_to_annotate": None,
}


# The name of the language before its words, and where it is imported.
_WORD_OF_PREFIX = re.compile(r"\bT(?=\.[A-Za-z_])|(?<=import tir as )T\b")


def script(node: Any, *args: Any, **options: Any) -> str:
    """Return a node in the script language; all of it is in the text, so nothing is meta."""
    given = {}
    prefix = options.pop("prefix", None) or options.pop("tir_prefix", None) or "T"
    for option, value in options.items():
        if option in _SHAPES_OF_TEXT:
            if value is not None:
                given[option] = value
        elif option in _AS_HERE:
            if value not in (_AS_HERE[option], "void", None, ()):
                raise MissingName(f"tvm.script({option}={value!r})")
        elif option not in _WITHOUT_MEANING:
            raise TypeError(f"script() got an unexpected keyword argument {option!r}")
    text: str = _core_script(node, *args, **given)
    if prefix != "T":
        text = _WORD_OF_PREFIX.sub(prefix, text)
    return text.replace("# from loopsmith.script import ", "# from tvm.script import ", 2)


def show(node: Any, style: str | None = None, **options: Any) -> None:
    if options:
        print(script(node, **options))
    else:
        _core_show(node, style)
