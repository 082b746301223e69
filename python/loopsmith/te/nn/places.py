# SPDX-License-Identifier: Apache-2.0
"""Elements at places that another tensor holds: taken from there, and put there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._core import Tensor
from ...argument_errors import explained
from ..operations import compute
from .dimensions import positions
from .loops import made_by

__all__ = ["gather", "gather_nd", "scatter", "scatter_nd"]

# What takes the place of an element `old`, and of what is given for it.
_MODES = {
    "update": "{new}",
    "add": "{old} + {new}",
    "mul": "{old} * {new}",
    "min": "T.min({old}, {new})",
    "max": "T.max({old}, {new})",
}

_SCATTER = """
@T.prim_func
def scatter(d: T.handle, i: T.handle, u: T.handle, o: T.handle):
{sizes}
    data = T.match_buffer(d, ({extents},), "{dtype}")
    indices = T.match_buffer(i, ({index_extents},), "{index_dtype}")
    updates = T.match_buffer(u, ({update_extents},), "{dtype}")
    result = T.match_buffer(o, ({extents},), "{dtype}")
    for {all} in T.grid({extents}):
        result[{all}] = data[{all}]
    for {loops} in T.grid({update_extents}):
{places}
        if {are_inside}:
            result[{at}] = {value}
"""


@explained
def gather(x: Tensor, indices: Tensor, axis: int = -1) -> Tensor:
    """Return ``x[i, indices[i, j, k], k]`` for axis 1, and so for others.

    Every place is one of the dimension: from 0 to its extent less 1.
    """
    (place,) = positions("gather", x, axis)

    def element(*i: Any) -> Any:
        return x[(*i[:place], indices[i], *i[place + 1 :])]

    return compute(indices.shape, element, name=f"{x.name}_gathered")


@explained
def gather_nd(x: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Return the elements, or blocks of them, at the places ``indices[:, j, ...]``.

    Parameters
    ----------
    indices
        Of shape (number of dimensions that they are about, ...). Each is one of its dimension.
    batch_dims
        How many dimensions `x` and the places share, behind that first one: each place is looked up
        in the part of `x` that it stands in.
    """
    depth, rank = _depth("gather_nd", indices), indices.ndim - 1

    def element(*i: Any) -> Any:
        chosen = [indices[(d, *i[:rank])] for d in range(depth)]
        return x[(*i[:batch_dims], *chosen, *i[rank:])]

    shape = [*indices.shape[1:], *x.shape[batch_dims + depth :]]
    return compute(shape, element, name=f"{x.name}_gathered")


def _depth(name: str, indices: Tensor) -> int:
    depth = indices.shape[0]
    if not isinstance(depth, _core.IntImm):
        _core.fail(
            "TypeMismatch",
            "depth_is_constant",
            f"{name}: the first extent of {indices.name} is {depth!r}, no constant",
            hint="say of how many dimensions the places are",
        )
    return int(depth)


def _scattered(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    mode: str,
    loop_count: int,
    place_of: dict[int, str],
    rest: Sequence[int],
) -> Tensor:
    """Return `data` with elements changed.

    Parameters
    ----------
    loop_count
        Of how many dimensions the updates are.
    place_of
        The dimensions of `data` that places are about, with the text of each place.
    rest
        By which loop each other dimension of `data` goes, in order.
    """
    if mode not in _MODES:
        _core.fail(
            "FormatError",
            "mode_is_known",
            f"scatter: mode is {mode!r}, not one of {', '.join(_MODES)}",
            hint="write the loops as a script, and te.extern_primfunc",
        )
    if updates.dtype != data.dtype:
        _core.fail(
            "TypeMismatch",
            "updates_have_type",
            f"scatter: {updates.name} is {updates.dtype}, and {data.name} is {data.dtype}",
            hint="convert the updates",
        )
    letters = {"n": data.ndim, "m": indices.ndim, "u": loop_count}
    names = {letter: [f"{letter}{i}" for i in range(count)] for letter, count in letters.items()}
    loops = [f"j{i}" for i in range(loop_count)]
    others = iter(rest)
    at = [f"p{i}" if i in place_of else loops[next(others)] for i in range(data.ndim)]
    places = [
        f"        p{i}: T.int64 = T.Cast('int64', {text})\n"
        f"        if p{i} < 0:\n            p{i} = p{i} + n{i}"
        for i, text in place_of.items()
    ]
    inside = [f"p{i} >= 0 and p{i} < n{i}" for i in place_of]
    joined = ", ".join(at)
    new = f"updates[{', '.join(loops)}]"
    text = _SCATTER.format(
        sizes="\n".join(f"    {name} = T.int32()" for part in names.values() for name in part),
        dtype=data.dtype,
        index_dtype=indices.dtype,
        extents=", ".join(names["n"]),
        index_extents=", ".join(names["m"]),
        update_extents=", ".join(names["u"]),
        all=", ".join(f"i{i}" for i in range(data.ndim)),
        loops=", ".join(loops),
        places="\n".join(places),
        are_inside=" and ".join(inside) or "True",
        at=joined,
        value=_MODES[mode].format(old=f"result[{joined}]", new=new),
    )
    return made_by(text, [data, indices, updates], f"{data.name}_scattered")


@explained
def scatter(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = -1, mode: str = "update"
) -> Tensor:
    """Return `data` with ``updates[i, j, k]`` put at ``[i, indices[i, j, k], k]`` for axis 1.

    Parameters
    ----------
    indices, updates
        Of one shape, in no dimension but `axis` longer than `data`. A place below 0 counts from the
        end; one that is not there is left out.
    mode
        What an update does to the element: ``"update"``, ``"add"``, ``"mul"``, ``"min"``,
        ``"max"``. Of several updates of one element, each follows those before it.
    """
    (place,) = positions("scatter", data, axis)
    count = updates.ndim
    loops = ", ".join(f"j{i}" for i in range(count))
    rest = [i for i in range(count) if i != place]
    return _scattered(data, indices, updates, mode, count, {place: f"indices[{loops}]"}, rest)


@explained
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """Return `data` with updates put at the places ``indices[:, j, ...]``; see `scatter`.

    Parameters
    ----------
    indices
        Of shape (number of dimensions that they are about, ...).
    updates
        Of the shape of the places, with the other dimensions of `data` behind it.
    """
    depth, rank = _depth("scatter_nd", indices), indices.ndim - 1
    loops = ", ".join(f"j{i}" for i in range(rank))
    place_of = {d: f"indices[{d}, {loops}]" for d in range(depth)}
    rest = range(rank, updates.ndim)
    return _scattered(data, indices, updates, mode, updates.ndim, place_of, rest)
