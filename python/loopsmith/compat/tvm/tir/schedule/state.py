# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule.state``: the program of a schedule, and places in it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import loopsmith as ls
from loopsmith import tir

from ....missing import MissingName, other_names
from .flags import CachedFlags, flags_of
from .places import directly_inside, places_of

__all__ = [
    "BlockDependenceInfo",
    "BlockScope",
    "CachedFlags",
    "DepKind",
    "Dependency",
    "ScheduleState",
    "StmtSRef",
]


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
            and self.stmt is not None
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
        for each, around in places_of(self._owner.mod):
            if each.same_as(self.stmt):
                inside = None if around is None else StmtSRef(self._owner, around)
        return inside

    @property
    def seq_index(self) -> int:
        """Which of the statements in the one around it this is; -1 where it is the only one."""
        around = self.parent
        body = None if around is None else around.stmt.body
        for place, each in enumerate(body.seq if isinstance(body, tir.SeqStmt) else ()):
            own = each.block if isinstance(each, tir.BlockRealize) else each
            if own.same_as(self.stmt):
                return place
        return -1


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
        self._srefs: list[StmtSRef] = []

    @property
    def mod(self) -> Any:
        """The program."""
        return self._mod

    def get_sref(self, stmt: Any) -> StmtSRef | None:
        """Return the place of a loop or block; None where it is not in the program."""
        wanted = stmt.block if isinstance(stmt, tir.BlockRealize) else stmt
        for each, _ in places_of(self.mod):
            if each.same_as(wanted):
                return self._sref(each)
        return None

    def _sref(self, stmt: Any) -> StmtSRef:
        """Return the one place of a statement."""
        for known in self._srefs:
            if known.stmt is not None and known.stmt.same_as(stmt):
                return known
        self._srefs.append(StmtSRef(self._owner(), stmt))
        return self._srefs[-1]

    def _owner(self) -> Any:
        return self

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """Return the dependences between the blocks directly inside of a block."""
        inside = directly_inside(self.mod, block_sref.stmt)
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

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        """Return what is known of a block: see `CachedFlags`."""
        return flags_of(self.mod, block_sref.stmt)

    def replace(self, src_sref: StmtSRef, tgt_stmt: Any, block_sref_reuse: Any = None) -> None:
        """Put a loop or block in the place of another one.

        Places follow: a loop by its variable, a block by `block_sref_reuse`, which maps old blocks
        to new ones. The places of what is gone have no statement.
        """
        target = tgt_stmt.block if isinstance(tgt_stmt, tir.BlockRealize) else tgt_stmt
        old = src_sref.stmt
        if isinstance(old, tir.Block) is not isinstance(target, tir.Block):
            raise ls.ScheduleError("replace: a block can only stand for a block, a loop for a loop")

        def exchanged(node: Any) -> Any:
            return target if node.same_as(old) else None

        kept = {
            name.name_hint: tir.rewrite(func, before=exchanged) for name, func in self.mod.items()
        }
        self._mod = ls.ir.make_module(kept, dict(self.mod.attrs or {}))
        self._follow(dict(block_sref_reuse or {}))

    def _follow(self, reused: dict[Any, Any]) -> None:
        """Let each place be where its statement is now."""
        now = [each for each, _ in places_of(self._mod)]
        for place in self._srefs:
            if place.stmt is not None:
                known = place.stmt
                wanted = next((new for old, new in reused.items() if old.same_as(known)), known)
                place.stmt = next((each for each in now if _is_same_place(each, wanted)), None)


def _is_same_place(each: Any, wanted: Any) -> bool:
    if each.same_as(wanted):
        return True
    if isinstance(each, tir.For) and isinstance(wanted, tir.For):
        return bool(each.loop_var.same_as(wanted.loop_var))
    if not (isinstance(each, tir.Block) and isinstance(wanted, tir.Block)):
        return False
    axes = list(zip(each.iter_vars, wanted.iter_vars))
    is_root = not each.iter_vars and not wanted.iter_vars and each.name_hint == wanted.name_hint
    return is_root or any(a.var.same_as(b.var) for a, b in axes)


class BlockDependenceInfo(ScheduleState):
    """The dependences between the blocks of a program that no schedule changes."""

    @property
    def sref2scope(self) -> dict[StmtSRef, BlockScope]:
        """The dependences inside of each block that has blocks, by its place."""
        scopes = {}
        for each, _ in places_of(self.mod):
            if isinstance(each, tir.Block) and directly_inside(self.mod, each):
                place = self._sref(each)
                scopes[place] = self.get_block_scope(place)
        return scopes


class _StateOfSchedule(ScheduleState):
    """The state of a schedule, which changes with its steps."""

    def __init__(self, sch: Any) -> None:
        self._sch = sch

    def replace(self, src_sref: StmtSRef, tgt_stmt: Any, block_sref_reuse: Any = None) -> None:
        """Refuse: a schedule changes by its steps alone, so that its trace says how."""
        raise MissingName("tvm.tir.Schedule.state.replace")

    def _sref(self, stmt: Any) -> StmtSRef:
        return StmtSRef(self._sch, stmt)

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
