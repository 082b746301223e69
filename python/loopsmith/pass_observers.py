# SPDX-License-Identifier: Apache-2.0
"""Observers of the passes of lowering, and passes of a user's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from . import _core
from ._core import PrimFunc
from .build_options import checked_names


class PassRecord(NamedTuple):
    """One pass that was run on one function."""

    name: str
    before: PrimFunc
    after: PrimFunc
    seconds: float

    def __str__(self) -> str:
        """Return the function before and after the pass, in the script language."""
        header = f"# {self.name}, {self.seconds * 1e3:.3f} ms"
        if self.before is self.after:
            return f"{header}, changed nothing\n{self.after.script()}"
        return f"{header}, before\n{self.before.script()}\n{header}, after\n{self.after.script()}"


Dump = Union[str, Sequence[str], Callable[[PassRecord], None], None]
"""Names of passes, ``"all"``, or a function that observes each pass."""


def pass_observer(
    operation: str, dump: Dump, timings: dict[str, float] | None
) -> Callable[[str, PrimFunc, PrimFunc, float], None] | None:
    """Return the observer of passes; None when there is none."""
    if dump is None and timings is None:
        return None
    names = _dumped_names(operation, dump)

    def observe(name: str, before: PrimFunc, after: PrimFunc, seconds: float) -> None:
        if timings is not None:
            timings[name] = timings.get(name, 0.0) + seconds
        record = PassRecord(name, before, after, seconds)
        if callable(dump):
            dump(record)
        elif name in names:
            print(record, file=sys.stderr)

    return observe


def own_passes(operation: str, passes: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Return lists of passes by the names of those that they come after, which must exist."""
    lists = {
        after: list(own) if isinstance(own, (list, tuple)) else [own]
        for after, own in (passes or {}).items()
    }
    known = _core.pass_names()
    for after in lists:
        if after not in known:
            _core.fail(
                "UserError",
                "pass_exists",
                f"{operation}: there is no pass '{after}' to come after",
                hint=f"the passes are {', '.join(dict.fromkeys(known))}",
            )
    return lists


def _dumped_names(operation: str, dump: Dump) -> set[str]:
    """Return the names of the passes to print."""
    if dump is None or callable(dump):
        return set()
    known = _core.pass_names()
    names = set(known) if dump == "all" else set(checked_names(operation, "dump", dump))
    for name in sorted(names - set(known)):
        _core.fail(
            "UserError",
            "pass_exists",
            f"dump: there is no pass '{name}'",
            hint=f"the passes are {', '.join(dict.fromkeys(known))}",
        )
    return names
