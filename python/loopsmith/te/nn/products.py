# SPDX-License-Identifier: Apache-2.0
"""Sums of products, as their indices say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ...argument_errors import explained
from ..operations import compute
from ..reducers import sum as sum_of
from .dimensions import require_same_extent

__all__ = ["einsum"]


def _refuse(condition: str, problem: str, hint: str) -> Any:
    _core.fail("FormatError", condition, f"einsum: {problem}", hint=hint)


def _letters(subscripts: str, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """Return the letters of each operand's dimensions and of the result's.

    The dimensions of an ellipsis have signs of their own, which are no letters; the last one of
    each operand has the same.
    """
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    parts = inputs.split(",")
    if len(parts) != len(operands):
        _refuse(
            "subscripts_fit_operands",
            f"{subscripts!r} is about {len(parts)} operands, and {len(operands)} are given",
            "name the dimensions of each operand, separated by commas",
        )
    hidden = ""
    for part, operand in zip(parts, operands):
        named = part.replace("...", "")
        if not all(letter.isalpha() for letter in named):
            _refuse(
                "subscripts_are_letters",
                f"{subscripts!r} has {part!r}",
                "name each dimension by a letter; '...' stands for all others",
            )
        rest = operand.ndim - len(named)
        if rest < 0 or (rest > 0 and "..." not in part):
            _refuse(
                "subscripts_fit_dimensions",
                f"{part!r} names {len(named)} dimensions, and {operand.name} has {operand.ndim}",
                "name each dimension by a letter; '...' stands for all others",
            )
        if "..." in part and rest > len(hidden):
            hidden = "".join(chr(0x2460 + i) for i in reversed(range(rest)))
    named_parts = [
        part.replace("...", hidden[len(hidden) - (operand.ndim - len(part.replace("...", ""))) :])
        if "..." in part
        else part
        for part, operand in zip(parts, operands)
    ]
    if arrow:
        return named_parts, output.replace("...", hidden)
    everything = "".join(named_parts)
    once = sorted({each for each in everything if everything.count(each) == 1 and each.isalpha()})
    return named_parts, hidden + "".join(once)


@explained
def einsum(subscripts: str, *operands: Tensor) -> Tensor:
    """Return the sum of products that the subscripts say, as NumPy's function of that name.

    Parameters
    ----------
    subscripts
        The dimensions of each operand as letters, those of the result behind ``->``, as in
        ``"ik,kj->ij"``. What the result does not have is summed. Without ``->`` it has the letters
        that occur once, in alphabetical order. ``...`` stands for all other dimensions, of which
        those of extent 1 stretch.
    operands
        Of types that can be multiplied.
    """
    parts, result = _letters(subscripts, operands)
    extents: dict[str, tuple[Any, str]] = {}
    for part, operand in zip(parts, operands):
        for letter, extent in zip(part, operand.shape):
            known = extents.get(letter)
            stretches = not letter.isalpha() and (known is None or _is_one(known[0]))
            if known is None or stretches:
                extents[letter] = (extent, operand.name)
            elif letter.isalpha() or not _is_one(extent):
                require_same_extent(
                    "einsum",
                    f"extent {letter} of {known[1]}",
                    known[0],
                    f"that of {operand.name}",
                    extent,
                )
    for letter in result:
        if letter not in extents or result.count(letter) > 1:
            _refuse(
                "result_has_letters_of_operands",
                f"the result of {subscripts!r} has {letter!r}"
                + (" twice" if letter in extents else ", which no operand has"),
                "name each of its dimensions by a letter of the operands, once",
            )
    over = {
        letter: _core.te_reduce_axis(0, extent, letter if letter.isalpha() else "rest")
        for letter, (extent, _) in extents.items()
        if letter not in result
    }

    def element(*indices: Any) -> Any:
        at: dict[str, Any] = {**over, **dict(zip(result, indices))}
        value: Any = None
        for part, operand in zip(parts, operands):
            place = tuple(
                0 if not letter.isalpha() and _is_one(extent) else at[letter]
                for letter, extent in zip(part, operand.shape)
            )
            value = operand[place] if value is None else value * operand[place]
        return sum_of(value, axis=list(over.values())) if over else value

    return compute([extents[letter][0] for letter in result], element, name="einsum")


def _is_one(extent: Any) -> bool:
    return isinstance(extent, _core.IntImm) and int(extent) == 1
