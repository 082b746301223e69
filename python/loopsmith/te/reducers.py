# SPDX-License-Identifier: Apache-2.0
"""Sums, products, and combinations of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Expr
from ..argument_errors import explained
from .axes import axes_of
from .operations import parameters_of, values_of


class Reducer:
    """A commutative, associative combination: call it on an expression and axes."""

    def __init__(self, make: Callable[[bool], Any], name: str) -> None:
        self._make = make
        self.__name__ = name

    def __call__(
        self, expr: Any, axis: Any, *args: Any, where: Any = None, init: Any = None
    ) -> Any:
        """Return the combination of ``expr`` over ``axis``.

        Parameters
        ----------
        expr
            The value to combine, or a tuple of them for a reducer of tuples.
        axis
            An axis made by ``reduce_axis``, or a list of them; over none, the combination is
            ``expr`` itself. Anything else, and ``args``, is combined with ``expr`` here and now.
        where
            Where it is false, nothing is combined.
        init
            What to start from, in place of the neutral element.

        Raises
        ------
        UserError
            For an axis that is none to reduce over, and for a reducer that is found not to be
            associative or commutative, with a counterexample.
        """
        is_tuple = isinstance(expr, (tuple, list))
        reducer = self._make(is_tuple)
        axes = axes_of(axis)
        if axes is None:
            return reducer.fold([expr, axis, *args])
        rest = list(args)
        if where is None and rest:
            where = rest.pop(0)
        if init is None and rest:
            init = rest.pop(0)
        results = reducer.reduce(
            values_of(expr), axes, where, None if init is None else values_of(init)
        )
        return tuple(results) if is_tuple else results[0]

    def combiner(self, *dtypes: str) -> _core.CommReducer:
        """Return what combines values of these types, one type a value of a tuple.

        ``parallel_scan`` takes it, and a block's annotation ``reducer``.

        Raises
        ------
        UserError
            If it is found not to be associative or commutative, with a counterexample.
        """
        values = [_core.te_var("value", dtype) for dtype in dtypes]
        zero, one = _core.const(0, "int32"), _core.const(1, "int32")
        axis = _core.te_reduce_axis(zero, one, "k")
        reduced = self._make(len(dtypes) > 1).reduce(values, [axis], None, None)[0]
        combiner: _core.CommReducer = reduced.combiner
        return combiner


@explained
def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Reducer:
    """Return a reducer of your own.

    Parameters
    ----------
    fcombine
        Combines two values; or two tuples of values into one.
    fidentity
        The neutral element, from its type; or a tuple of them, from as many types.
    name
        What errors call it.

    Examples
    --------
    >>> xors = te.comm_reducer(lambda x, y: x ^ y, lambda t: te.const(0, t), name="xors")
    >>> B = te.compute((n,), lambda i: xors(A[i, k], axis=k))
    """
    names = parameters_of(fcombine, "comm_reducer", "two operands").names
    lhs, rhs = names if len(names) == 2 else ("x", "y")

    def make(is_tuple: bool) -> Any:
        def combine(x: list[Expr], y: list[Expr]) -> list[Any]:
            return values_of(fcombine(x, y) if is_tuple else fcombine(x[0], y[0]))

        def identity(dtypes: list[str]) -> list[Any]:
            return values_of(fidentity(*dtypes))

        return _core.te_reducer(name, combine, identity, lhs, rhs)

    return Reducer(make, name)


sum = Reducer(lambda _: _core.te_sum_reducer(), "sum")
prod = Reducer(lambda _: _core.te_prod_reducer(), "prod")
min = Reducer(lambda _: _core.te_min_reducer(), "min")
max = Reducer(lambda _: _core.te_max_reducer(), "max")
