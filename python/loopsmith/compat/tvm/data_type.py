# SPDX-License-Identifier: Apache-2.0
"""Types of elements, whose names are texts with parts."""

from __future__ import annotations

import re

from loopsmith import UserError, tir

from .tir.vectors import dtype_of

__all__ = ["DataType"]

_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4}


class DataType(str):
    """The name of a type of elements, with its parts.

    Raises
    ------
    ValueError
        There is no type of that name.
    """

    INT, UINT, FLOAT, HANDLE, BFLOAT = range(5)

    def __new__(cls, dtype: object) -> DataType:
        """Return the type of that name."""
        name = dtype_of(str(dtype))
        try:
            return super().__new__(cls, str(tir.Var("x", name).dtype))
        except UserError as error:
            raise ValueError(str(error)) from error

    @property
    def _parts(self) -> tuple[str, int, int]:
        if self == "bool":
            return "uint", 1, 1
        found = re.fullmatch(r"([a-z]+?)(\d*)(?:x(?:vscalex)?(\d+))?", self)
        if found is None:
            return "float", 8, 1  # The floats of 8 bits have names of their own.
        kind, bits, lanes = found.groups()
        return kind, int(bits or 64), int(lanes or 1)

    @property
    def type_code(self) -> int:
        """What kind of numbers it holds: `INT`, `UINT`, `FLOAT`, `HANDLE` or `BFLOAT`."""
        return _CODES.get(self._parts[0], DataType.FLOAT)

    @property
    def bits(self) -> int:
        """How many bits an element has."""
        return self._parts[1]

    @property
    def lanes(self) -> int:
        """How many elements it holds."""
        return self._parts[2]

    def with_lanes(self, lanes: int) -> DataType:
        """Return the type of so many elements."""
        element = self.partition("x")[0]
        return DataType(element if lanes == 1 else f"{element}x{lanes}")
