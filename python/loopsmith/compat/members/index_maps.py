# SPDX-License-Identifier: Apache-2.0
"""Maps of indices, applied to arrays and inverted."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopsmith.arith as arith
from loopsmith import build, te, tir


def _ranges(shape: Any) -> list[Any]:
    """Return sizes as ranges that start at 0; ranges are taken as they are."""
    return [each if isinstance(each, tir.Range) else tir.Range(0, each) for each in shape]


def is_equivalent(index_map: Any, other: Any) -> bool:
    """Return whether two maps map all indices alike, whatever the types of the indices are."""
    if len(index_map.initial_indices) != len(other.initial_indices):
        return False
    indices = [tir.Var(each.name, "int64") for each in index_map.initial_indices]
    one, two = index_map.map_indices(indices), other.map_indices(indices)
    analyzer = arith.Analyzer()
    return len(one) == len(two) and all(
        analyzer.can_prove_equal(tir.cast("int64", a), tir.cast("int64", b))
        for a, b in zip(one, two)
    )


def map_tensor(index_map: Any, arr_src: Any) -> Any:
    """Return an array whose elements stand where the map sends their indices."""
    from ..tvm import nd

    source = arr_src.numpy()
    shape = [int(size) for size in index_map.map_shape(list(source.shape))]
    grid = te.compute(
        source.shape,
        lambda *at: tir.cast("int64", _row_major(index_map.map_indices(list(at)), shape)),
        name="places",
    )
    places = np.zeros(source.shape, "int64")
    build([grid])(places)
    target = np.zeros(shape, source.dtype)
    target.reshape(-1)[places.reshape(-1)] = source.reshape(-1)
    return nd.array(target)


def _row_major(indices: Any, shape: Any) -> Any:
    place = tir.const(0, "int64")
    for index, size in zip(indices, shape):
        place = place * size + tir.cast("int64", index)
    return place


_core_inverse: Any = tir.IndexMap.inverse
_core_other_inverse: Any = tir.IndexMap.non_surjective_inverse


def inverse(index_map: Any, shape: Any) -> Any:
    return _core_inverse(index_map, _ranges(shape))


def non_surjective_inverse(index_map: Any, shape: Any) -> Any:
    return _core_other_inverse(index_map, _ranges(shape))
