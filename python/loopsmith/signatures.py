# SPDX-License-Identifier: Apache-2.0
"""Signatures of the functions and methods of the extension, for `inspect`, editors, notebooks."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from . import _core


def signature_of(function: Any) -> inspect.Signature | None:
    """Return the signature of a function of the extension; None of one with several forms."""
    forms = function.__nb_signature__
    if len(forms) != 1:
        return None
    text, _, defaults = forms[0]
    return parsed(text, defaults or ())


def bound_signature_of(method: Any) -> inspect.Signature | None:
    """Return the signature of a method of an object, which takes the object no more."""
    signature = signature_of(method)
    if signature is None:
        return None
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def parsed(text: str, defaults: Sequence[Any] = ()) -> inspect.Signature:
    r"""Read a signature as nanobind keeps it, with marks in the places of defaults.

    Parameters
    ----------
    text
        ``def f(x: int, y: int = \\0) -> int``, in which the marks are written out.
    defaults
        What the marks stand for; None where it is not given.
    """
    left = list(defaults)
    tree = ast.parse(text.replace("\\0", "...") + ": ...").body[-1]
    assert isinstance(tree, ast.FunctionDef)
    arguments = tree.args
    places: list[inspect.Parameter] = []

    def add(argument: ast.arg, kind: Any, default: ast.expr | None = None) -> None:
        places.append(
            inspect.Parameter(
                argument.arg,
                kind,
                default=inspect.Parameter.empty if default is None else value_of(default),
                annotation=_text_of(argument.annotation),
            )
        )

    def value_of(default: ast.expr) -> Any:
        if isinstance(default, ast.Constant) and default.value is ...:
            return left.pop(0) if left else None
        return ast.literal_eval(default)

    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    for i, argument in enumerate(positional):
        kind = (
            inspect.Parameter.POSITIONAL_ONLY
            if i < len(arguments.posonlyargs)
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        add(argument, kind, arguments.defaults[i - required] if i >= required else None)
    if arguments.vararg:
        add(arguments.vararg, inspect.Parameter.VAR_POSITIONAL)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        add(argument, inspect.Parameter.KEYWORD_ONLY, default)
    if arguments.kwarg:
        add(arguments.kwarg, inspect.Parameter.VAR_KEYWORD)
    return inspect.Signature(places, return_annotation=_text_of(tree.returns))


def _text_of(annotation: ast.expr | None) -> Any:
    return inspect.Signature.empty if annotation is None else ast.unparse(annotation)


def install() -> None:
    """Let `inspect.signature` find them: it asks for an attribute of this name."""
    _core.add_attribute(_core.fail, "__signature__", property(signature_of))
    _core.add_attribute(_core.Target.__reduce__, "__signature__", property(signature_of))
    _core.add_attribute(_core.Target("c").__reduce__, "__signature__", property(bound_signature_of))
