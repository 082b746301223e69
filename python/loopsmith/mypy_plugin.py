# SPDX-License-Identifier: Apache-2.0
"""A plugin for mypy: `T.Buffer((16,), "float32")` annotates a parameter of a script.

Calls are no types to a type checker. In a function under `T.prim_func` an annotation that is a call
is read as the type that is called: a `T.Buffer`, a `T.handle`. In pyproject.toml::

    [tool.mypy]
    plugins = ["loopsmith.mypy_plugin"]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mypy.nodes import (
    Decorator,
    Expression,
    FuncDef,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    Statement,
)
from mypy.plugin import Plugin
from mypy.types import CallableType, RawExpressionType, Type, UnboundType

CALLED = re.compile(r"instead of ([\w.]+)\(\.\.\.\)$")
"""In mypy's note to an annotation that is a call, which keeps nothing else of it."""


def is_script(decorator: Expression) -> bool:
    """Return whether a decorator is `prim_func`, by its name, with arguments or without."""
    decorator = getattr(decorator, "callee", decorator)
    return isinstance(decorator, (NameExpr, MemberExpr)) and decorator.name == "prim_func"


def parameter_type(annotation: Type) -> Type:
    """Return what an annotation says of its parameter."""
    called = CALLED.search(getattr(annotation, "note", None) or "")
    if not isinstance(annotation, RawExpressionType) or not called:
        return annotation
    return UnboundType(called[1], line=annotation.line, column=annotation.column)


def statements_in(file: MypyFile) -> Iterator[Node]:
    """Yield all statements of a file, also those inside of others."""
    pending: list[Node] = [*file.defs]
    while pending:
        statement = pending.pop()
        yield statement
        for part in ("body", "else_body", "finally_body", "handlers", "defs", "func", "items"):
            held = getattr(statement, part, None)
            pending += [one for one in (held if isinstance(held, list) else [held])
                        if isinstance(one, (Statement, FuncDef))]  # fmt: skip


class ScriptPlugin(Plugin):
    """Sees each file after it was parsed."""

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Change the file's scripts; it depends on nothing more."""
        for statement in statements_in(file):
            if isinstance(statement, Decorator) and any(
                map(is_script, statement.original_decorators)
            ):
                # What was written, and a copy of it which becomes what it means.
                for signature in (statement.func.unanalyzed_type, statement.func.type):
                    if isinstance(signature, CallableType):
                        signature.arg_types = [parameter_type(one) for one in signature.arg_types]
        return []


def plugin(version: str) -> type[Plugin]:
    """Return the class, as mypy asks for it."""
    return ScriptPlugin
