# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled functions that leave out outputs, or give arguments by name.

A call with one value for each parameter does not come here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Union

from . import _core

if TYPE_CHECKING:
    from ._core import Function, Module

    Callee = Union[Function, Module]


class LinearSize(NamedTuple):
    """A size that follows from others: a sum of multiples and a constant, divided, rounded down."""

    terms: list[tuple[str, int]]
    constant: int
    divisor: int

    def value(self, sizes: dict[str, int]) -> int | None:
        """Return the size; None where one that it follows from is not known."""
        if any(name not in sizes for name, _ in self.terms):
            return None
        total = self.constant + sum(sizes[name] * count for name, count in self.terms)
        return total // self.divisor

    def tell(self, extent: int, sizes: dict[str, int]) -> None:
        """Add the only size that is not known, where the extent tells it."""
        unknown = [(name, count) for name, count in self.terms if name not in sizes]
        if len(unknown) == 1 and self.divisor == 1:
            ((name, count),) = unknown
            known = sum(sizes[other] * each for other, each in self.terms if other != name)
            sizes[name] = (extent - self.constant - known) // count


class Parameter(NamedTuple):
    """What a compiled function takes at one place."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int | str | LinearSize | None, ...]
    """Of a tensor: numbers, names of symbolic sizes, linear sizes of these, and None for others."""
    is_output: bool
    is_written: bool
    symbol: str


def _parameter(described: tuple[Any, ...]) -> Parameter:
    parameter = Parameter(*described)
    shape = (LinearSize(*each) if isinstance(each, tuple) else each for each in parameter.shape)
    return parameter._replace(shape=tuple(shape))


MISSING = object()


def signature_of(function: Callee) -> Any:
    """Return the signature of a compiled function as `inspect` has it.

    Annotations are texts: ``float32[n, 16]``. Outputs may be left out; `out` stands for them. It is
    None of a module that cannot be called itself.
    """
    from inspect import Parameter as Place
    from inspect import Signature

    names = getattr(function, "names", None)
    if names is not None and len(names) != 1 and "main" not in names:
        return None
    places: list[Place] = []
    has_default = False
    for described in _core.describe_parameters(function):
        each = _parameter(described)
        has_default |= each.is_output
        sizes = ", ".join(str(size) if isinstance(size, (int, str)) else "?" for size in each.shape)
        places.append(
            Place(
                each.name if each.name.isidentifier() else f"_{len(places)}",
                # Behind an output that may be left out, others are given by name.
                Place.KEYWORD_ONLY
                if has_default and not each.is_output
                else Place.POSITIONAL_OR_KEYWORD,
                default=None if each.is_output else Place.empty,
                annotation=f"{each.dtype}[{sizes}]" if each.kind == "tensor" else each.dtype,
            )
        )
    places.sort(key=lambda place: place.kind)
    if has_default and all(place.name != "out" for place in places):
        places.append(Place("out", Place.KEYWORD_ONLY, default=None))
    return Signature(places)


def complete(function: Callee, args: list[Any], named: dict[str, Any]) -> Any:
    """Call a function with what was given, and with new arrays for the outputs that were not.

    Returns
    -------
    array, tuple of arrays or None
        The outputs that were left out or given as ``out``; of the kind of the first array that was
        given: NumPy's, PyTorch's, JAX's, or ours.
    """
    parameters = [_parameter(each) for each in _core.describe_parameters(function)]
    named = dict(named)
    takes_out = all(each.name != "out" for each in parameters)
    out = named.pop("out", None) if takes_out else None
    values = _placed(function, parameters, args, named)
    left_out = [i for i, value in enumerate(values) if value is MISSING]
    if any(not parameters[i].is_output for i in left_out):
        _core.call_with(function, [value for value in values if value is not MISSING])
        _refuse_missing(function, parameters, left_out)
    maker = _maker_for(args, named)
    made = _outputs(function, parameters, values, left_out, out, maker)
    for i, value in zip(left_out, made):
        values[i] = value
    function(*values)
    results = [maker.result(value) if out is None else value for value in made]
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)


def _placed(
    function: Callee, parameters: list[Parameter], args: list[Any], named: dict[str, Any]
) -> list[Any]:
    """Return the given values in the places of the parameters."""
    count = len(parameters)
    inputs = [i for i, each in enumerate(parameters) if not each.is_output]
    # All parameters in their order, or those that are no outputs.
    takes_inputs = len(args) <= len(inputs) and len(args) + len(named) < count
    places = inputs if takes_inputs else list(range(count))
    if len(args) > count:
        _core.call_with(function, args)
    values: list[Any] = [MISSING] * count
    for place, value in zip(places, args):
        values[place] = value
    by_name = {each.name: i for i, each in enumerate(parameters)}
    for name, value in named.items():
        if name not in by_name:
            _fail(
                function,
                "argument_exists",
                f"there is no parameter {name}",
                f"its parameters are {', '.join(by_name)}",
            )
        if values[by_name[name]] is not MISSING:
            _fail(function, "argument_is_given_once", f"{name} is given twice", "leave one out")
        values[by_name[name]] = value
    return values


def _refuse_missing(function: Callee, parameters: list[Parameter], left_out: list[int]) -> NoReturn:
    """Name the parameters that cannot be left out; the number of arguments is as it should be."""
    names = [parameters[i].name for i in left_out if not parameters[i].is_output]
    _fail(
        function,
        "argument_is_given",
        f"{', '.join(names)} is missing",
        "pass it: only outputs, which are written and not read before, may be left out",
    )


def _fail(function: Callee, code: str, problem: str, hint: str) -> NoReturn:
    names = [function.name] if isinstance(function, _core.Function) else function.names
    name = names[0] if len(names) == 1 else "main"
    _core.fail("TypeMismatch", code, f"{name}: {problem}", hint=hint)


def _outputs(
    function: Callee,
    parameters: list[Parameter],
    values: list[Any],
    left_out: list[int],
    out: Any,
    maker: ArrayMaker,
) -> list[Any]:
    """Return the arrays for the outputs that were left out: those of ``out``, or new ones."""
    if out is not None:
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(left_out):
            names = ", ".join(parameters[i].name for i in left_out) or "none"
            _fail(
                function,
                "out_has_outputs",
                f"out has {len(given)} arrays for {names}",
                "pass one for each output that is left out",
            )
        return given
    sizes = _sizes(parameters, values)
    return [
        maker.zeros(_shape_of(function, parameters[i], sizes), parameters[i].dtype)
        for i in left_out
    ]


def _sizes(parameters: list[Parameter], values: list[Any]) -> dict[str, int]:
    """Return the symbolic sizes that the given values tell."""
    sizes: dict[str, int] = {}
    for parameter, value in zip(parameters, values):
        if value is MISSING:
            continue
        if parameter.symbol:
            sizes[parameter.symbol] = int(value)
        for rule, extent in zip(parameter.shape, getattr(value, "shape", ())):
            if isinstance(rule, str):
                sizes.setdefault(rule, int(extent))
    for parameter, value in zip(parameters, values):
        for rule, extent in zip(parameter.shape, getattr(value, "shape", ())):
            if isinstance(rule, LinearSize):
                rule.tell(int(extent), sizes)
    return sizes


def _shape_of(function: Callee, parameter: Parameter, sizes: dict[str, int]) -> tuple[int, ...]:
    shape = []
    for rule in parameter.shape:
        extent = (
            rule.value(sizes)
            if isinstance(rule, LinearSize)
            else sizes.get(rule)
            if isinstance(rule, str)
            else rule
        )
        if extent is None:
            _fail(
                function,
                "size_is_known",
                f"a size of the output {parameter.name} is not known",
                f"pass an array for {parameter.name}",
            )
        shape.append(extent)
    return tuple(shape)


class ArrayMaker:
    """Makes arrays of our own."""

    def zeros(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return an array of zeros that a function may write."""
        return _core.zeros(shape, dtype)

    def result(self, array: Any) -> Any:
        """Return the array as the caller gets it."""
        return array


class NumpyMaker(ArrayMaker):
    """Makes arrays of NumPy."""

    def result(self, array: Any) -> Any:
        """Return it as NumPy's, of the same memory."""
        return array.numpy()


class TorchMaker(ArrayMaker):
    """Makes tensors of PyTorch."""

    def zeros(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return a tensor of zeros."""
        torch = sys.modules["torch"]
        names = {"float8_e4m3": "float8_e4m3fn"}
        return torch.zeros(shape, dtype=getattr(torch, names.get(dtype, dtype)))


class JaxMaker(ArrayMaker):
    """Makes arrays of JAX: they cannot be written, so ours are given to it afterwards."""

    def result(self, array: Any) -> Any:
        """Return JAX's array of the same elements."""
        return sys.modules["jax"].numpy.asarray(array.numpy())


MAKERS: dict[str, type[ArrayMaker]] = {
    "numpy": NumpyMaker,
    "torch": TorchMaker,
    "jax": JaxMaker,
    "jaxlib": JaxMaker,
}


def _maker_for(args: Sequence[Any], named: dict[str, Any]) -> ArrayMaker:
    """Return what makes outputs: the library of the first array that was given."""
    for value in [*args, *named.values()]:
        if hasattr(value, "shape"):
            package = type(value).__module__.partition(".")[0]
            return MAKERS.get(package, ArrayMaker)()
    return NumpyMaker()
