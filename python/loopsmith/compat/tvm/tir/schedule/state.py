# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule.state``: the program of a schedule, and places in it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import loopsmith as ls
from loopsmith import tir

from ....missing import other_names

__all__ = ["BlockScope", "DepKind", "Dependency", "ScheduleState", "StmtSRef"]


class DepKind(IntEnum):
    """Kinds of dependences between blocks."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


class StmtSRef:
    """A place in the program of a schedule: the loop or block that stands there."""

    def __init__(self, owner: Any, stmt: Any) -> None:
        self._owner = owner
        self.stmt = stmt

    def same_as(self, other: Any) -> bool:
        """Return whether both are one place of one schedule."""
        return (
            isinstance(other, StmtSRef)
            and self._owner is other._owner
            and self.stmt.same_as(other.stmt)
        )

    def __eq__(self, other: object) -> bool:
        """Return whether both are one place of one schedule."""
        return self.same_as(other)

    def __hash__(self) -> int:
        """Return the same number for the same place."""
        return hash(self.stmt)

    @property
    def parent(self) -> StmtSRef | None:
        """The loop or block around it; None of the outermost block."""
        inside: StmtSRef | None = None
        for each, around in _places(self._owner.mod):
            if each.same_as(self.stmt):
                inside = None if around is None else StmtSRef(self._owner, around)
        return inside


def _places(module: Any) -> list[tuple[Any, Any]]:
    """Return the loops and blocks of a module, each with that around it."""
    found: list[tuple[Any, Any]] = []

    def enter(node: Any, around: Any) -> None:
        is_place = isinstance(node, (tir.For, tir.Block))
        if is_place:
            found.append((node, around))
        inner = node if is_place else around
        for child in _inside(node):
            enter(child, inner)

    for func in module.functions:
        enter(func.body, None)
    return found


def _inside(stmt: Any) -> list[Any]:
    fields = ("init", "body", "then_case", "else_case", "block")
    found = [getattr(stmt, field, None) for field in fields]
    found += list(getattr(stmt, "seq", ()))
    return [each for each in found if isinstance(each, tir.Stmt)]


class Dependency(NamedTuple):
    """One block uses what another one did."""

    src: StmtSRef
    dst: StmtSRef
    kind: DepKind


class BlockScope:
    """The dependences between the blocks directly inside of a block."""

    def __init__(self, dependences: list[Dependency]) -> None:
        self._all = dependences

    def get_deps_by_src(self, block: StmtSRef) -> list[Dependency]:
        """Return those on what a block did."""
        return [each for each in self._all if each.src.same_as(block)]

    def get_deps_by_dst(self, block: StmtSRef) -> list[Dependency]:
        """Return those of a block."""
        return [each for each in self._all if each.dst.same_as(block)]


def _buffers(regions: Any) -> list[Any]:
    return [region.buffer for region in regions]


def _share(a: list[Any], b: list[Any]) -> bool:
    return any(x.same_as(y) for x in a for y in b)


class ScheduleState:
    """A program, and the places in it."""

    def __init__(self, mod: Any, *, debug_mask: Any = "none", enable_check: bool = True) -> None:
        is_func = isinstance(mod, tir.PrimFunc)
        self._mod = ls.ir.make_module({"main": mod}) if is_func else mod

    @property
    def mod(self) -> Any:
        """The program."""
        return self._mod

    def get_sref(self, stmt: Any) -> StmtSRef | None:
        """Return the place of a loop or block; None where it is not in the program."""
        wanted = stmt.block if isinstance(stmt, tir.BlockRealize) else stmt
        for each, _ in _places(self.mod):
            if each.same_as(wanted):
                return StmtSRef(self._owner(), each)
        return None

    def _owner(self) -> Any:
        return self

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """Return the dependences between the blocks directly inside of a block."""
        inside = [
            each
            for each, _ in _places(self.mod)
            if isinstance(each, tir.Block) and self._block_around(each, block_sref.stmt)
        ]
        found: list[Dependency] = []
        for place, dst in enumerate(inside):
            for src in inside[:place]:
                kinds = (
                    (DepKind.RAW, src.writes, dst.reads),
                    (DepKind.WAW, src.writes, dst.writes),
                    (DepKind.WAR, src.reads, dst.writes),
                )
                both_write = _share(_buffers(src.writes), _buffers(dst.writes))
                for kind, first, second in kinds:
                    if kind == DepKind.WAR and both_write:
                        continue  # What is written twice is ordered by its writes.
                    if _share(_buffers(first), _buffers(second)):
                        owner = self._owner()
                        found.append(Dependency(StmtSRef(owner, src), StmtSRef(owner, dst), kind))
        return BlockScope(found)

    def _block_around(self, block: Any, scope: Any) -> bool:
        places = _places(self.mod)
        outer = next(outer for each, outer in places if each.same_as(block))
        while isinstance(outer, tir.For):
            outer = next(up for each, up in places if each.same_as(outer))
        return outer is not None and outer.same_as(scope)


class _StateOfSchedule(ScheduleState):
    """The state of a schedule, which changes with its steps."""

    def __init__(self, sch: Any) -> None:
        self._sch = sch

    @property
    def mod(self) -> Any:
        """The program as it is now."""
        return self._sch.mod

    def _owner(self) -> Any:
        return self._sch


def state_of(sch: Any) -> ScheduleState:
    """Return the state of a schedule."""
    return _StateOfSchedule(sch)


def sref_of(sch: Any, rv_or_stmt: Any) -> StmtSRef:
    """Return the place that a handle or a statement means.

    Raises
    ------
    IndexError
        The handle is not one of this schedule.
    """
    if isinstance(rv_or_stmt, tir.Stmt):
        found = state_of(sch).get_sref(rv_or_stmt)
        if found is None:
            raise IndexError("the statement is not in the program of the schedule")
        return found
    try:
        return StmtSRef(sch, sch.get(rv_or_stmt))
    except ls.ScheduleError as error:
        raise IndexError(str(error)) from error


__getattr__ = other_names("tvm.tir.schedule.state")
