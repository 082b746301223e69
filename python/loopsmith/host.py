# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that programs call by their names, by ``T.call_packed``.

A function gets numbers, texts, and an array for each buffer: of NumPy, or our own for types that
NumPy does not have. What it writes there is written in the program; the array itself may be kept.
It returns a number, or None for 0. What it raises, the call of the program raises.
"""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any, overload

from . import _core
from .argument_errors import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

registered: dict[str, Callable[..., Any]] = {}
"""What `register_func` has registered."""

# Else functions would keep what they refer to beyond the interpreter's end.
atexit.register(registered.clear)


@overload
def register_func(name: str, *, override: bool = False) -> Callable[[Any], Any]: ...
@overload
def register_func(name: str, f: Any, override: bool = False) -> Any: ...
def register_func(name: str, f: Any = None, override: bool = False) -> Any:
    """Register a function for all programs.

    Parameters
    ----------
    name
        What programs call it.
    f
        The function; without, what comes back is a decorator.
    override
        Whether it takes the place of another one with this name.

    Returns
    -------
    Callable
        The function.

    Raises
    ------
    UserError
        The name is taken.
    TypeMismatch
        `f` cannot be called, or the name is no text.

    Examples
    --------
    >>> @ls.register_func("my_sum")
    ... def my_sum(x, out):
    ...     out[()] = x.sum()
    """
    if not isinstance(name, str):
        _core.fail(
            "TypeMismatch",
            "name_is_text",
            f"register_func: the name is {name!r}",
            hint='write @register_func("name")',
        )

    def register(function: Any) -> Any:
        if not callable(function):
            _core.fail(
                "TypeMismatch",
                "function_is_callable",
                f"register_func: {name} is a {type(function).__name__}, not a function",
                hint="pass a function",
            )
        if name in registered and not override:
            _core.fail(
                "UserError",
                "name_is_free",
                f"register_func: there is a function {name} already",
                hint="pass override=True to replace it",
            )
        registered[name] = function
        return function

    return register if f is None else register(f)


@explained
def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """Return the function that is registered under `name`.

    Parameters
    ----------
    name
        What programs call it.
    allow_missing
        Whether None is returned where there is none.

    Raises
    ------
    UserError
        There is no such function.
    """
    if name not in registered and not allow_missing:
        _core.fail(
            "UserError",
            "function_is_registered",
            f"get_global_func: there is no function {name}",
            hint="register it by register_func",
        )
    return registered.get(name)


@explained
def remove_global_func(name: str) -> None:
    """Forget the function that is registered under `name`.

    Raises
    ------
    UserError
        There is no such function.
    """
    get_global_func(name)
    del registered[name]


def all_functions(given: Mapping[str, Callable[..., Any]] | None) -> dict[str, Any]:
    """Return the functions that a program may call: ours, those registered, and those given."""
    return {"print": print, **registered, **(given or {})}
