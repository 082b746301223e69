# SPDX-License-Identifier: Apache-2.0
"""Stages of random programs that users write and schedules seldom see."""

from __future__ import annotations

import random
from collections.abc import Callable


class RandomStages:
    """Ties, data that decides, loops that start elsewhere or run concurrently, views, scans."""

    rng: random.Random
    lines: list[str]
    dtype: str

    source: Callable[[], tuple[str, tuple[str, ...]]]
    target: Callable[..., str]
    names: Callable[[int], list[str]]
    nest: Callable[[str, list[str], str, list[str]], None]
    number: Callable[[int], str]

    def unusual_stages(self) -> list[Callable[[], None]]:
        """Return what adds one stage each."""
        return [
            self.largest,
            self.decided_by_data,
            self.starting_elsewhere,
            self.view,
            self.at_once,
            self.prefix,
            self.guarded_twice,
            self.counts,
            self.updated_by_itself,
            self.exponentials,
        ]

    def updated_by_itself(self) -> None:
        """Update elements by those before them in the row, as a triangular system is solved."""
        source, shape = self.source()
        name = self.target(shape)
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = {source}[v0, v1]"])
        i, j, k = self.names(3)
        own, other = f"{name}[{i}, {j}]", f"{name}[{i}, {k}]"
        # What grows is not for numbers that round.
        grows = "float" not in self.dtype and self.rng.random() < 0.5
        value = f"{own} - {other}" if grows else f"T.max({own}, {other} - {self.number(1)})"
        self.lines += [
            f"for {i}, {j} in T.grid({', '.join(shape)}):",
            f"    for {k} in range({j}):",
            f"        {own} = {value}",
        ]

    def exponentials(self) -> None:
        """Add up exponentials less the largest of each row, as a softmax does."""
        source, shape = self.source()
        if "float" not in self.dtype:
            return self.largest()
        i, j, k = self.names(3)
        top = f"top{i}"
        total = self.target((shape[0],))
        value = f"T.exp({source}[v0, v1] - {top}[v0])"
        stages = [
            (top, j, f'T.min_value("{self.dtype}")', f"T.max({top}[v0], {source}[v0, v1])"),
            (total, k, self.number(0), f"{total}[v0] + {value}"),
        ]
        self.lines += [
            f'{top} = T.alloc_buffer(({shape[0]},), "{self.dtype}")',
            f"for {i} in range({shape[0]}):",
        ]
        for name, loop, first, combined in stages:
            self.lines += [
                f"    for {loop} in range({shape[1]}):",
                f'        with T.block("{name}"):',
                f'            v0, v1 = T.axis.remap("SR", [{i}, {loop}])',
                "            with T.init():",
                f"                {name}[v0] = {first}",
                f"            {name}[v0] = {combined}",
            ]
        return None

    def largest(self) -> None:
        """Find the largest element of each row and its place: of equal ones, the first."""
        source, shape = self.source()
        place = self.target((shape[0],), of_indices=True)
        value = self.target((shape[0],))
        taken = f"{value}[v0] > {source}[v0, v1]"
        taken = f"({taken} or ({value}[v0] == {source}[v0, v1] and {place}[v0] < v1))"
        body = [
            "with T.init():",
            f"    {place}[v0] = -1",
            f'    {value}[v0] = T.min_value("{self.dtype}")',
            f"{value}_place: T.int32 = T.Select({taken}, {place}[v0], v1)",
            f"{value}_value: T.{self.dtype} = T.Select({taken}, {value}[v0], {source}[v0, v1])",
            f"{place}[v0] = {value}_place",
            f"{value}[v0] = {value}_value",
        ]
        self.nest(value, list(shape), "SR", body)

    def decided_by_data(self) -> None:
        """Let values and places decide what is stored."""
        source, shape = self.source()
        name = self.target(shape)
        body = [
            f"if {source}[v0, v1] > {self.number(2)}:",
            f"    {name}[v0, v1] = {source}[v0, v1] * {self.number(2)}",
            "else:",
            "    if (v0 + v1) % 2 == 0:",
            f"        {name}[v0, v1] = {self.number(7)}",
            "    else:",
            f"        {name}[v0, v1] = {source}[v0, v1] + {source}[v0, 0]",
        ]
        self.nest(name, list(shape), "SS", body)

    def starting_elsewhere(self) -> None:
        """Count from below zero, or by twos."""
        source, shape = self.source()
        name = self.target(shape)
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = {self.number(4)}"])
        i, j = self.names(2)
        first = self.rng.choice([-3, 2])
        rows, row = f"range({first}, {shape[0]} + {first})", f"{i} - {first}"
        if self.rng.random() < 0.4:
            rows, row = f"range({self.rng.randint(0, 1)}, {shape[0]}, 2)", i
        self.lines += [
            f"for {i} in {rows}:",
            f"    for {j} in range({shape[1]}):",
            f'        with T.block("{name}_rows"):',
            f"            v0 = T.axis.spatial({shape[0]}, {row})",
            f"            v1 = T.axis.spatial({shape[1]}, {j})",
            f"            {name}[v0, v1] = {source}[v0, v1] + {self.number(1)}",
        ]

    def view(self) -> None:
        """See rows as buffers of their own."""
        source, shape = self.source()
        name = self.target(shape)
        i, j = self.names(2)
        size = shape[1]
        self.lines += [
            f"for {i} in range({shape[0]}):",
            f'    with T.block("{name}"):',
            f"        v0 = T.axis.spatial({shape[0]}, {i})",
            f"        T.reads({source}[v0, 0:{size}])",
            f"        T.writes({name}[v0, 0:{size}])",
            *(
                f"        {view} = T.match_buffer({buffer}[v0, 0:{size}], ({size},), "
                f'"{self.dtype}", offset_factor=1)'
                for view, buffer in ((f"{name}_from", source), (f"{name}_to", name))
            ),
            f"        for {j} in range({size}):",
            f"            {name}_to[{j}] = {name}_from[{j}] + {self.number(1)}",
        ]

    def at_once(self) -> None:
        """Start from loops that run concurrently already, or are annotated."""
        source, shape = self.source()
        name = self.target(shape)
        i, j = self.names(2)
        outer = self.rng.choice(["T.parallel", "T.serial", "range"])
        inner = self.rng.choice(["T.vectorized", "T.unroll", "range"])
        if shape[1] == "n":
            inner = "T.serial"
        self.lines += [
            f"for {i} in {outer}({shape[0]}):",
            f"    for {j} in {inner}({shape[1]}):",
            f'        with T.block("{name}"):',
            f'            v0, v1 = T.axis.remap("SS", [{i}, {j}])',
            f"            {name}[v0, v1] = {source}[v0, v1] * {self.number(2)}",
        ]

    def prefix(self) -> None:
        """Sum up each row, along an axis that is not taken apart."""
        source, shape = self.source()
        name = self.target(shape)
        before = f"T.if_then_else(v1 >= 1, {name}[v0, v1 - 1], {self.number(0)})"
        i, j = self.names(2)
        self.lines += [
            f"for {i}, {j} in T.grid({shape[0]}, {shape[1]}):",
            f'    with T.block("{name}"):',
            f"        v0 = T.axis.spatial({shape[0]}, {i})",
            f"        v1 = T.axis.opaque({shape[1]}, {j})",
            f"        {name}[v0, v1] = {before} + {source}[v0, v1]",
        ]

    def guarded_twice(self) -> None:
        """Read beside the element where that is inside, by two conditions one in the other."""
        source, shape = self.source()
        name = self.target(shape)
        beside = f"T.if_then_else(v1 < {shape[1]} - 1, {source}[v0 - 1, v1 + 1], {self.number(1)})"
        value = f"T.if_then_else(v0 >= 1, {beside}, {source}[v0, v1] * {self.number(2)})"
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = {value}"])

    def counts(self) -> None:
        """Add up elements that places far apart, or data, choose."""
        source, shape = self.source()
        name = self.target(("4",))
        chosen = "(v0 * 3 + v1) % 4"
        if self.dtype in {"uint8", "int16"}:
            chosen = f'T.Cast("int32", {source}[v0, v1]) % 4'
        i, j, k = self.names(3)
        self.lines += [
            f"for {k} in range(4):",
            f"    {name}[{k}] = {self.number(0)}",
            f"for {i}, {j} in T.grid({shape[0]}, {shape[1]}):",
            f'    with T.block("{name}"):',
            f"        v0 = T.axis.opaque({shape[0]}, {i})",
            f"        v1 = T.axis.opaque({shape[1]}, {j})",
            f"        {name}[{chosen}] = {name}[{chosen}] + {source}[v0, v1]",
        ]
