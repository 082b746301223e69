# SPDX-License-Identifier: Apache-2.0
"""Kinds of loops, axes and steps: names that are also numbers, or have a name."""

from __future__ import annotations

from typing import Any

from loopsmith import _core, tir


class Kind(str):
    """The name of a kind, equal to its number, too."""

    numbers: tuple[str, ...] = ()

    def __int__(self) -> int:
        """Return the number of the kind."""
        return self.numbers.index(str(self))

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is the name, or the number, of this kind."""
        return int(self) == other if isinstance(other, int) else str(self) == other

    def __ne__(self, other: object) -> bool:
        """Return whether the other one is neither name nor number of this kind."""
        return not self == other

    def __hash__(self) -> int:
        """Return the same number as for the name."""
        return hash(str(self))


class LoopKind(Kind):
    """How the iterations of a loop run."""

    numbers = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")


class AxisKind(Kind):
    """What an axis of a block ranges over."""

    numbers = ("data_par", "thread_index", "comm_reduce", "ordered", "opaque")


_loop_kind: Any = vars(tir.For)["kind"]
_axis_kind: Any = vars(tir.IterVar)["iter_type"]
_step_kind: Any = vars(_core.Instruction)["kind"]
_ret_type: Any = vars(tir.PrimFunc)["ret_type"]


def loop_kind(loop: Any) -> LoopKind:
    return LoopKind(_loop_kind.__get__(loop))


def axis_kind(axis: Any) -> AxisKind:
    return AxisKind(_axis_kind.__get__(axis))


class StepKind(str):
    """The name of the primitive of a step, which has the name of its kind."""

    @property
    def name(self) -> str:
        """The name of the kind: ``GetBlock``."""
        return "".join(word.capitalize() for word in self.split("_"))

    @property
    def is_pure(self) -> bool:
        """Whether it changes nothing."""
        return self.startswith(("get_", "sample_"))


def step_kind(step: Any) -> StepKind:
    return StepKind(_step_kind.__get__(step))


def ret_type(func: Any) -> Any:
    from ..tvm.ir import PrimType

    found = str(_ret_type.__get__(func))
    return PrimType(found) if found != "void" else found
