# SPDX-License-Identifier: Apache-2.0
"""Functions of `tvm.target` with a variant for each family of targets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "GenericFunc",
    "generic_func",
    "get_native_generic_func",
    "override_native_generic_func",
]


class GenericFunc:
    """A function that runs its variant for the current target.

    Parameters
    ----------
    name
        What it is called.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._default: Callable[..., Any] | None = None
        self._variants: dict[str, Callable[..., Any]] = {}

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """Set what runs where no variant is for the target.

        Raises
        ------
        ValueError
            It is set already, unless `allow_override`.
        """
        if self._default is not None and not allow_override:
            raise ValueError(f"{self.name}: the default is set already")
        self._default = func

    def register(
        self,
        key: str | Sequence[str] | Callable[..., Any],
        func: Any = None,
        override: bool = False,
    ) -> Any:
        """Add a variant for one or more keys of targets; without `func`, return a decorator.

        Raises
        ------
        ValueError
            There is one for a key already, unless `override`.
        """
        keys = [key] if isinstance(key, str) else list(key)  # type: ignore[arg-type]

        def added(variant: Callable[..., Any]) -> Callable[..., Any]:
            for each in keys:
                if each in self._variants and not override:
                    raise ValueError(f"{self.name}: there is a variant for {each} already")
                self._variants[each] = variant
            return variant

        if func is None:
            return added
        added(func)
        return None

    def get_packed_func(self) -> Callable[..., Any]:
        """Return the variant for the current target."""
        from .target import Target

        target = Target.current()
        keys = [] if target is None else [*target.keys, str(target.kind)]
        chosen = next((self._variants[key] for key in keys if key in self._variants), self._default)
        if chosen is None:
            raise ValueError(f"{self.name}: there is neither a variant for {target} nor a default")
        return chosen

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the variant for the current target."""
        return self.get_packed_func()(*args, **kwargs)


_known: dict[str, GenericFunc] = {}


def get_native_generic_func(name: str) -> GenericFunc:
    """Return the function of a name; a new one where there is none."""
    return _known.setdefault(name, GenericFunc(name))


def _with_variants(func: Callable[..., Any], known: GenericFunc) -> Any:
    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        return known(*args, **kwargs)

    made: Any = called
    made.fdefault = func
    made.generic_func_node = known
    made.get_packed_func = known.get_packed_func
    made.register = known.register
    return made


def generic_func(fdefault: Callable[..., Any]) -> Any:
    """Return a function whose ``register`` adds variants; `fdefault` is for all else."""
    known = GenericFunc(fdefault.__name__)
    known.set_default(fdefault)
    return _with_variants(fdefault, known)


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], Any]:
    """Return what makes a function the default of the one of that name, as `generic_func` does."""

    def made(fdefault: Callable[..., Any]) -> Any:
        known = get_native_generic_func(func_name)
        known.set_default(fdefault, allow_override=True)
        return _with_variants(fdefault, known)

    return made
