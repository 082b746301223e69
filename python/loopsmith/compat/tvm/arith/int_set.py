# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith.int_set``: sets of integers whose open ends are values, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import loopsmith.arith as core
from loopsmith import tir

from ...missing import other_names

__all__ = [
    "IntSet",
    "IntervalSet",
    "deduce_bound",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "neg_inf",
    "pos_inf",
    "union_lower_bound",
]

_NEG_INF = tir.Var("neg_inf", "handle")
_POS_INF = tir.Var("pos_inf", "handle")


def neg_inf() -> tir.Var:
    """Return what an interval without a lower end begins at."""
    return _NEG_INF


def pos_inf() -> tir.Var:
    """Return what an interval without an upper end ends at."""
    return _POS_INF


def _end(value: Any) -> Any:
    """Return an end as Loopsmith has it: None where it is open."""
    is_open = value is None or (
        isinstance(value, tir.Var) and (value.same_as(_NEG_INF) or value.same_as(_POS_INF))
    )
    return None if is_open else tir.const(value)


class IntSet:
    """A set of integers."""

    def __init__(self, known: core.IntSet) -> None:
        self.known = known

    @staticmethod
    def vector(vec: Any) -> IntervalSet:
        """Return the values of a vector's lanes."""
        return of_core(core.int_set(core.Analyzer(), vec, {}))

    @staticmethod
    def single_point(point: Any) -> IntervalSet:
        """Return the set of one value."""
        return IntervalSet(point, point)

    def is_nothing(self) -> bool:
        """Return whether there is no value in it."""
        if self.known.is_nothing():
            return True
        low, high = self.known.min_value, self.known.max_value
        return low is not None and high is not None and core.Analyzer().can_prove(high < low)

    def is_everything(self) -> bool:
        """Return whether every integer is in it."""
        return self.known.is_everything()

    def min(self) -> Any:
        """Return the least value, as programs before 0.6 ask for it."""
        return of_core(self.known).min_value

    def max(self) -> Any:
        """Return the greatest value, as programs before 0.6 ask for it."""
        return of_core(self.known).max_value


class IntervalSet(IntSet):
    """The integers from `min_value` to `max_value`, ends included."""

    def __init__(self, min_value: Any, max_value: Any) -> None:
        low, high = _end(min_value), _end(max_value)
        is_empty = low is None and high is None and _is(min_value, _POS_INF)
        super().__init__(core.IntSet.nothing() if is_empty else core.IntSet(low, high))

    @property
    def min_value(self) -> Any:
        """The least value; `neg_inf` where there is none, `pos_inf` of the empty set."""
        if self.known.is_nothing():
            return _POS_INF
        return _NEG_INF if self.known.min_value is None else self.known.min_value

    @property
    def max_value(self) -> Any:
        """The greatest value; `pos_inf` where there is none, `neg_inf` of the empty set."""
        if self.known.is_nothing():
            return _NEG_INF
        return _POS_INF if self.known.max_value is None else self.known.max_value

    def __repr__(self) -> str:
        """Return both ends."""
        return f"IntervalSet[{self.min_value!r}, {self.max_value!r}]"


def _is(value: Any, var: tir.Var) -> bool:
    return isinstance(value, tir.Var) and value.same_as(var)


def of_core(known: core.IntSet) -> IntervalSet:
    """Return a set of Loopsmith as one of `tvm`."""
    made = IntervalSet(0, 0)
    made.known = known
    return made


def sets_of(sets: Mapping[Any, Any]) -> dict[Any, core.IntSet]:
    """Return sets by variable as Loopsmith takes them; a range is a set as well."""
    return {_variable(var): _known(given) for var, given in sets.items()}


def _variable(var: Any) -> Any:
    return var.var if isinstance(var, tir.IterVar) else var


def _known(given: Any) -> core.IntSet:
    if isinstance(given, IntSet):
        return given.known
    return core.IntSet.from_range(given) if isinstance(given, tir.Range) else given


def deduce_bound(
    var: Any, cond: Any, hint_map: Mapping[Any, Any], relax_map: Mapping[Any, Any]
) -> IntervalSet:
    """Return the values of `var` for which a comparison holds; see `loopsmith.arith`."""
    return of_core(core.deduce_bound(var, cond, sets_of(hint_map), sets_of(relax_map)))


def _estimated(estimate: Any, region: Any, var_dom: Any, predicate: Any) -> Any:
    holds = True if predicate is None else predicate
    found = estimate(list(region), dict(var_dom), holds)
    return None if found is None else [of_core(each) for each in found]


def estimate_region_lower_bound(region: Any, var_dom: Any, predicate: Any = None) -> Any:
    """Return a box within what a region covers; None where none is known."""
    return _estimated(core.estimate_region_lower_bound, region, var_dom, predicate)


def estimate_region_strict_bound(region: Any, var_dom: Any, predicate: Any = None) -> Any:
    """Return the exact box that a region covers; None where none is known."""
    return _estimated(core.estimate_region_strict_bound, region, var_dom, predicate)


def estimate_region_upper_bound(region: Any, var_dom: Any, predicate: Any = None) -> Any:
    """Return a box around what a region covers."""
    return _estimated(core.estimate_region_upper_bound, region, var_dom, predicate)


def union_lower_bound(sets: Sequence[IntSet]) -> IntervalSet:
    """Return an interval within the union of sets."""
    return of_core(core.union_lower_bound([each.known for each in sets]))


__getattr__ = other_names("tvm.arith.int_set")
