# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter: runs programs slowly, checks every access, compares programs.

It runs functions at any stage: with blocks as they are scheduled, or lowered to loops. What it
computes is what compiled code computes with ``contract=False``, to the bit, but for functions such
as ``exp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Union

from . import _core
from ._core import IRModule, PrimFunc
from .argument_errors import explained
from .host import all_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike
    from numpy.typing import NDArray as NumpyArray

Program = Union[PrimFunc, IRModule]

MAX_STATEMENTS = 20_000_000_000
"""How many statements `run` does before it gives up."""


@explained
def run(
    program: Program,
    *arrays: Any,
    mode: Literal["typed", "ring"] = "typed",
    overflow: Literal["error", "wrap"] = "error",
    division: Literal["error", "zero"] = "error",
    function: str = "main",
    check_races: bool = True,
    max_statements: int = MAX_STATEMENTS,
    seed: int = 0,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> int | float | bool | None:
    """Run a function on arrays, in place.

    Parameters
    ----------
    program
        The function, or a module, of which `function` is run.
    *arrays
        One for each parameter: arrays of NumPy or any other library that speaks DLPack, with the
        shape and type of the parameter's buffer; numbers for scalars.
    mode
        ``"typed"``: in the program's own types. ``"ring"``: floating-point values are elements of
        the field of 2^61 - 1, so that sums are exact in any order; pass them as uint64, as
        `to_ring` makes them.
    overflow
        What becomes of signed integers of 32 bits and more that overflow: an error, or they wrap
        as in compiled code.
    division
        What becomes of integers divided by zero: an error, or 0 as in compiled code.
    function
        The function of a module that is run.
    check_races
        Whether iterations of parallel loops may not conflict.
    max_statements
        How many statements are done before it gives up.
    seed
        Of the hashes that stand for functions such as ``exp`` in ring mode.
    functions
        What ``T.call_extern``, ``T.call_pure_extern`` and ``T.call_packed`` call, by name, before
        what `register_func` has registered. Each gets numbers, texts, and for a pointer an array
        of the elements from there to the end of their memory (or of the extent that ``access_ptr``
        says), in which it may write; it returns a number, or None for 0. What it may write counts
        as written. In ring mode a pure function is a hash of its operands, unless all of them and
        its result are integers.

    Returns
    -------
    int, float, bool or None
        What the function returns; None if nothing.

    Raises
    ------
    InterpError
        The program does what it may not: an access out of bounds, a read of what was never
        written, a race, an overflow, a division by zero, a failed assertion; it runs too long,
        holds what the interpreter does not know, or calls a function that is not given. `code`
        says which.
    CallError
        The arguments do not fit the parameters.

    Examples
    --------
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1, name="B")
    >>> ls.interp.run(te.create_prim_func([A, B]), a, b)
    """
    _check_choice("mode", mode, ("typed", "ring"))
    _check_choice("overflow", overflow, ("error", "wrap"))
    _check_choice("division", division, ("error", "zero"))
    return _core.interp_run(
        _program("run", program),
        function,
        *arrays,
        is_ring=mode == "ring",
        wraps=overflow == "wrap",
        zero_division=division == "zero",
        check_races=check_races,
        max_statements=max_statements,
        seed=seed,
        functions=all_functions(functions),
    )


@explained
def to_ring(numbers: ArrayLike, dtype: str = "float32") -> NumpyArray[Any]:
    """Return the elements of the field that stand for numbers of `dtype`.

    Parameters
    ----------
    numbers
        Finite numbers, of any shape; each is exact. Infinities and the largest numbers of `dtype`
        become the ends of the order of the field.
    dtype
        The type that a program gives them.

    Returns
    -------
    numpy.ndarray
        Of type uint64 and the same shape, below 2^61 - 1.

    Raises
    ------
    TypeMismatch
        `dtype` is no type.
    """
    import numpy as np

    from .ndarray import array

    values = np.ascontiguousarray(numbers, np.float64)
    elements = _core.empty(values.shape, "uint64")
    _core.interp_to_ring(array(values), dtype, elements)
    return np.asarray(elements.numpy())


@explained
def assert_same(
    before: Program,
    after: Program,
    *,
    seed: int = 1,
    max_statements: int = 50_000_000,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> None:
    """Check that two programs compute the same.

    They are the same if their structure is; else both are run in ring mode on inputs drawn at
    random, with several small sizes, 0 among them, where sizes are variables. All arrays are
    compared, whether they are outputs or not; of programs of constant sizes that are too large to
    be run, 30 elements of the results, each computed by the part of the program that it depends on.
    Programs that differ only by the order of sums agree; others agree by chance once in about 2^60
    times. Where lowering has expanded functions such as ``exp``, they are compared in their own
    types, up to rounding.

    Parameters
    ----------
    before, after
        Functions of the same parameters, or modules of the same functions.
    seed
        Of the inputs.
    max_statements
        How many statements `before` may take in each run; above it, elements are sampled. `after`
        may take as many, or 40 times what `before` took.
    functions
        Functions of the host that they call, as `run` takes them. Programs that call one of these
        are run in their own types on small whole numbers, and compared up to rounding.

    Raises
    ------
    AssertionError
        They differ; the text names the first element that does.
    InterpError
        They cannot be compared (``code`` is ``comparable``: `before` is too large, or makes a
        mistake itself), or their parameters are not the same.
    """
    first, second = _program("assert_same", before), _program("assert_same", after)
    if type(first) is not type(second):
        _core.fail(
            "TypeMismatch",
            "same_kind",
            f"assert_same: a {type(first).__name__} and a {type(second).__name__}",
            hint="compare two functions or two modules",
        )
    answer, reason, _, _ = _core.interp_compare(
        first, second, seed, max_statements, dict(functions or {})
    )
    if answer == "different":
        raise AssertionError(f"the programs differ: {reason}")
    if answer == "undecided":
        _core.fail(
            "InterpError",
            "comparable",
            f"assert_same: undecided: {reason}",
            hint="compare smaller programs, or run both yourself",
        )


def _program(operation: str, program: Any) -> Program:
    """Return a function or a module; what else has one (a schedule) gives it."""
    for attribute in ("func", "mod"):
        if isinstance(program, (PrimFunc, IRModule)):
            break
        program = getattr(program, attribute, program)
    if not isinstance(program, (PrimFunc, IRModule)):
        _core.fail(
            "TypeMismatch",
            "program_is_function",
            f"{operation}: a {type(program).__name__} is no program",
            hint="pass a PrimFunc or an IRModule",
        )
    return program


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        _core.fail(
            "UserError",
            "known_choice",
            f"{name} is {value!r}",
            hint=f"pass one of {', '.join(map(repr, choices))}",
        )
