# SPDX-License-Identifier: Apache-2.0
"""``tvm.testing``: what tests of programs use."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..missing import other_names
from . import nd, testing_checks, testing_marks
from .testing_checks import *
from .testing_marks import *

__all__ = [
    "assert_allclose",
    "device_enabled",
    "enabled_targets",
    "exclude_targets",
    "fixture",
    "known_failing_targets",
    "main",
    "parameter",
    "parameters",
    "parametrize_targets",
    *testing_marks.__all__,
    *testing_checks.__all__,
]


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise an AssertionError unless two arrays have one shape and nearly the same elements."""
    actual, desired = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def main() -> None:
    """Run the tests of the file that calls this."""
    import pytest

    file = sys._getframe(1).f_globals["__file__"]
    raise SystemExit(pytest.main([file, *sys.argv[1:]]))


def enabled_targets() -> list[tuple[str, nd.Device]]:
    """Return the targets that programs can be compiled for here, with their devices."""
    return [("llvm", nd.cpu(0))]


def device_enabled(target: Any) -> bool:
    """Return whether programs of a target run here."""
    return str(target).partition(" ")[0] in ("llvm", "c")


def parametrize_targets(*targets: Any) -> Any:
    """Run a test for each target, as its arguments `target` and `dev`."""
    import pytest

    names = [] if targets and callable(targets[0]) else list(targets)
    chosen = [pair for pair in enabled_targets() if not names or pair[0] in names]
    mark = pytest.mark.parametrize(("target", "dev"), chosen)
    return mark(targets[0]) if targets and callable(targets[0]) else mark


def exclude_targets(*targets: Any) -> Any:
    """Run a test for all targets but some: for those that run here."""
    return lambda function: function


known_failing_targets = exclude_targets


def fixture(function: Any = None, *, cache_return_value: bool = False) -> Any:
    """Return a fixture of pytest; what it returns is made for each test."""
    import pytest

    return pytest.fixture(function) if function is not None else pytest.fixture


def parameter(*values: Any, ids: Any = None, by_dict: dict[str, Any] | None = None) -> Any:
    """Return a fixture that takes each value in turn."""
    import pytest

    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())
    return pytest.fixture(params=list(values), ids=ids)(lambda request: request.param)


def parameters(*value_sets: Any, ids: Any = None) -> list[Any]:
    """Return fixtures that take the items of each value in turn, together.

    Raises
    ------
    ValueError
        The values have different lengths.
    """
    import pytest

    if len({len(values) for values in value_sets}) != 1:
        raise ValueError("parameters: give each set as many values")

    def fixture(place: int) -> Any:
        return pytest.fixture(params=list(value_sets), ids=ids)(
            lambda request: request.param[place]
        )

    return [fixture(i) for i in range(len(value_sets[0]))]


__getattr__ = other_names("tvm.testing")
