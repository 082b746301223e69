# SPDX-License-Identifier: Apache-2.0
"""Scheduled functions of loops as scripts, to be read, saved and called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from loopsmith import driver, te, tir
from loopsmith.arith import Analyzer
from loopsmith.script import from_source

from .driver import schedule_to_module

__all__ = ["HybridModule", "build"]


class HybridModule:
    """A scheduled function as a script.

    Parameters
    ----------
    src
        The script; `load` reads one from a file.
    name
        The name of the function.
    """

    def __init__(self, src: str | None = None, name: str | None = None) -> None:
        self.name = name
        self._source = src

    def get_source(self) -> str:
        """Return the script.

        Raises
        ------
        ValueError
            There is none yet.
        """
        if self._source is None:
            raise ValueError("HybridModule: there is no script: load(path) reads one")
        return self._source

    def save(self, path: str) -> None:
        """Write the script to a file."""
        Path(path).write_text(self.get_source(), encoding="utf-8")

    def load(self, path: str) -> None:
        """Read the script of a file."""
        self._source = Path(path).read_text(encoding="utf-8")
        self.name = from_source(self._source).name

    def __call__(self, *args: Any) -> Any:
        """Return the tensors, or the arrays, that the function makes; sizes follow from shapes."""
        func = from_source(self.get_source())
        given = [each for each in args if hasattr(each, "shape")]
        if any(isinstance(each, te.Tensor) for each in given):
            return te.extern_primfunc(given, func, name=self.name or "hybrid")
        return _run(func, given)


def _run(func: Any, arrays: Sequence[Any]) -> Any:
    """Return the arrays that a function makes of those of its first parameters."""
    buffers = [func.buffer_map[param] for param in func.params]
    sizes: dict[Any, Any] = {
        extent: tir.const(size, extent.dtype)
        for buffer, array in zip(buffers, arrays)
        for extent, size in zip(buffer.shape, array.shape)
        if isinstance(extent, tir.Var)
    }
    simplify = Analyzer().simplify
    outputs = [
        np.zeros(
            [int(simplify(tir.substitute(each, sizes))) for each in buffer.shape], buffer.dtype
        )
        for buffer in buffers[len(arrays) :]
    ]
    driver.build(func)(*arrays, *outputs)
    return outputs[0] if len(outputs) == 1 else outputs


def build(
    sch: Any, inputs: Sequence[Any], outputs: Sequence[Any], name: str = "hybrid_func"
) -> HybridModule:
    """Return what a schedule makes of functions of loops, as a script."""
    tensors = [each for each in [*inputs, *outputs] if isinstance(each, te.Tensor)]
    return HybridModule(schedule_to_module(sch, tensors, name)[name].script(), name)
