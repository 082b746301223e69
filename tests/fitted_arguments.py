# SPDX-License-Identifier: Apache-2.0
"""Arguments that go together: what makes it likely that a random step can be taken."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from loopsmith import tir

MAPS: list[list[Callable[..., Any]]] = [
    [],
    [lambda i: (i // 4, i % 4), lambda i: [7 - i], lambda i: [i]],
    [
        lambda i, j: (i, j),
        lambda i, j: (j, i),
        lambda i, j: (i // 2, j, i % 2),
        lambda i, j: [i * 4 + j],
        lambda i, j: [i * 12 + j],
        lambda i, j: (i, j // 4, j % 4),
        lambda i, j: [i],
        lambda i, j: (i, (j + i) % 12),
        lambda i, j: ((i + j // 2) % 8, j),
    ],
]
"""Index maps by the number of their parameters."""
OF_WRITES = {"set_scope", "storage_align", "transform_layout", "unsafe_set_dtype"}
"""Primitives that mostly mean a buffer that the block writes."""
BUFFERS = {"buffer", "buffer_index", "read_buffer_index", "write_buffer_index"}
"""Parameters that say which buffer of a block is meant."""


class Fits:
    """Changes drawn arguments of a primitive so that they fit the schedule."""

    def __init__(
        self,
        rng: random.Random,
        sch: tir.Schedule,
        blocks: list[Any],
        loops: list[Any],
        arguments: dict[str, Any],
    ) -> None:
        self.rng, self.sch = rng, sch
        self.blocks, self.loops, self.arguments = blocks, loops, arguments

    def fit(self, name: str) -> None:
        """Choose arguments for a primitive."""
        getattr(self, f"fit_{name}", lambda: None)()
        block = self.arguments.get("block")
        if isinstance(block, tir.BlockRV):
            self.fit_buffer(self.sch.get(block), is_write="write" in name or name in OF_WRITES)
            if "index_map" in self.arguments and name != "transform_layout":
                self.fit_map(len(self.sch.get(block).iter_vars))

    def any(self, preferred: Iterable[Any], default_values: list[Any]) -> Any:
        """Return one of what is preferred, if there is any."""
        return self.rng.choice(list(preferred) or default_values or ["none"])

    def block(self, is_preferred: Callable[[tir.Block], Any]) -> Any:
        """Choose a block, one of the preferred if possible."""
        found = [one for one in self.blocks if is_preferred(self.sch.get(one))]
        self.arguments["block"] = self.any(found, self.blocks)
        return self.arguments["block"]

    def loop(self, blocks: Iterable[Any], depth: slice = slice(None)) -> None:
        """Choose a loop around one of the blocks, those at `depth`."""
        found = [loop for one in blocks for loop in self.sch.get_loops(one)[depth]]
        self.arguments["loop"] = self.any(found, self.loops)

    def fit_buffer(self, block: tir.Block, *, is_write: bool) -> None:
        """Choose a buffer that the block has."""
        for name in BUFFERS & self.arguments.keys():
            kind = "write" if is_write or name.startswith("write") else "read"
            regions = block.writes if kind == "write" else block.reads
            index = self.rng.randrange(max(len(regions), 1))
            if "dtype" in self.arguments and regions:
                self.arguments["dtype"] = str(regions[index].buffer.dtype)
            self.arguments[name] = index if name.endswith("index") else (kind, index)

    def fit_map(self, parameters: int) -> None:
        """Choose a map of so many parameters."""
        if parameters < len(MAPS) and MAPS[parameters]:
            self.arguments["index_map"] = self.rng.choice(MAPS[parameters])

    def fit_set_layout(self) -> None:
        root = self.sch.get_block("root") if self.sch.can_apply("get_block", "root") else None
        local = list(self.sch.get(root).alloc_buffers) if root else []
        if local:
            buffer = self.rng.choice(local)
            self.arguments["buffer"] = buffer.name
            rank = len(buffer.shape)
            if rank < len(MAPS) and MAPS[rank]:
                self.arguments["map"] = self.rng.choice(MAPS[rank])

    def fit_split(self) -> None:
        fours = [loop for loop in self.loops if extent_of(self.sch, loop) in {8, 12}]
        if self.rng.random() < 0.3 and fours:
            self.arguments |= {"loop": self.rng.choice(fours), "factors": [None, 4]}
        windows = [one for one in self.blocks if self.is_window(one) and self.sch.get_loops(one)]
        if windows and self.rng.random() < 0.5:
            # Then memory may be kept in the outer loop, and computed in the inner one.
            outermost = self.sch.get_loops(self.rng.choice(windows))[0]
            self.arguments |= {"loop": outermost, "factors": [None, 2]}

    def is_window(self, block: Any) -> bool:
        """Return whether a block computes what the loop around moves a window over."""
        return self.sch.get(block).name_hint.startswith("window")

    def fit_neighbours(self) -> None:
        block = self.any((one for one in self.blocks if len(self.sch.get_loops(one)) > 1), [])
        if block != "none":
            chain = self.sch.get_loops(block)
            first = self.rng.randrange(len(chain) - 1)
            self.arguments["loops"] = chain[first : first + self.rng.randint(2, 3)]

    fit_fuse = fit_neighbours

    def fit_reorder(self) -> None:
        self.fit_neighbours()
        self.rng.shuffle(self.arguments["loops"])

    def fit_merge(self) -> None:
        outermost = [loops[0] for one in self.blocks if (loops := self.sch.get_loops(one))]
        first = self.rng.randrange(max(len(outermost) - 1, 1))
        self.arguments["loops"] = outermost[first : first + 2]

    def fit_merge_online(self) -> None:
        maximum = self.any((one for one in self.blocks if self.is_maximum(one)), [])
        if maximum != "none":
            sums = self.sch.get_consumers(maximum)
            self.arguments["loops"] = [self.sch.get_loops(one)[-1] for one in [maximum, *sums]]

    def is_maximum(self, block: Any) -> bool:
        """Return whether a block computes what is largest in a row, for exponentials."""
        return self.sch.get(block).name_hint.startswith("top") and bool(self.sch.get_loops(block))

    def fit_hoist_factor(self) -> None:
        self.block(lambda one: one.init is not None)

    def fit_compute_at(self) -> None:
        block = self.block(lambda one: self.sch.get_consumers(one.name_hint))
        self.loop(self.sch.get_consumers(block))

    def fit_reverse_compute_at(self) -> None:
        block = self.block(lambda one: self.sch.get_producers(one.name_hint))
        self.loop(self.sch.get_producers(block))

    def fit_at(self) -> None:
        self.loop([self.arguments["block"]])

    fit_read_at = fit_write_at = fit_at

    def fit_compute_inline(self) -> None:
        self.block(lambda one: not one.init and self.sch.get_consumers(one.name_hint))

    def fit_reverse_compute_inline(self) -> None:
        def has_one_producer(block: tir.Block) -> bool:
            producers = self.sch.get_producers(block.name_hint)
            return len(producers) == 1 and len(self.sch.get_consumers(producers[0])) == 1

        self.block(has_one_producer)

    def fit_fuse_reduction_epilogue(self) -> None:
        pairs = [
            (one, reader)
            for one in self.blocks
            if self.sch.get(one).init is not None
            for reader in self.sch.get_consumers(one)
        ]
        rows = [pair for pair in pairs if len(self.sch.get(pair[1]).iter_vars) == 1]
        rows = [pair for pair in rows if len(self.sch.get_producers(pair[1])) == 1] or rows
        if pairs:
            reduction, epilogue = self.any(rows, pairs)
            self.arguments = {"reduction_block": reduction, "epilogue_block": epilogue}

    def fit_rolling_buffer(self) -> None:
        self.block(lambda one: one.name_hint.startswith("window"))

    def fit_store_at(self) -> None:
        block = self.block(lambda one: one.name_hint.startswith("window"))
        self.loop([block], slice(1))

    def fit_decompose_reduction(self) -> None:
        self.loop([self.block(lambda one: one.init is not None)])

    def fit_rfactor(self) -> None:
        self.loop([self.block(lambda one: one.init is not None)], depth=slice(-2, None))
        block = self.sch.get(self.arguments.pop("block"))
        rank = len(block.writes[0].buffer.shape) if block.writes else 0
        self.arguments["factor_axis"] = self.rng.randint(0, rank)

    def fit_pad_einsum(self) -> None:
        block = self.block(lambda one: one.init is not None)
        axes = len(self.sch.get(block).iter_vars)
        self.arguments["padding"] = [self.rng.choice([1, 2, 4, 5]) for _ in range(axes)]

    def fit_pad_axes(self) -> None:
        self.fit_allocated()
        axes = self.sch.get(self.arguments["block"]).iter_vars
        spatial = [one.iter_type != "comm_reduce" for one in axes]
        self.arguments["padding"] = [self.rng.choice([1, 2, 4, 5]) if s else 1 for s in spatial]

    def fit_decompose_padding(self) -> None:
        self.loop([self.block(lambda one: "if_then_else" in one.script())])

    def fit_cache_inplace(self) -> None:
        def is_in_place(block: tir.Block) -> bool:
            written = {region.buffer.name for region in block.writes}
            return not block.init and any(one.buffer.name in written for one in block.reads)

        self.block(is_in_place)

    def fit_allocated(self) -> int:
        given = {buffer.name for buffer in self.sch.func.buffer_map.values()}
        block = self.block(lambda one: one.writes and one.writes[0].buffer.name not in given)
        writes = self.sch.get(block).writes
        return len(writes[0].buffer.shape) if writes else 0

    fit_set_scope = fit_unsafe_set_dtype = fit_allocated

    def fit_storage_align(self) -> None:
        self.arguments["axis"] = self.rng.randrange(max(self.fit_allocated(), 1))

    def fit_transform_layout(self) -> None:
        self.fit_map(self.fit_allocated())

    def fit_annotate_buffer_access(self) -> None:
        block = self.block(lambda one: one.reads and not one.init)
        reads = self.sch.get(block).reads
        ranges = [end for size in reads[0].buffer.shape for end in (0, size)] if reads else []
        self.arguments |= {"buffer_index": 0, "buf_type": "read"}
        axes = len(self.sch.get(block).iter_vars)
        self.arguments["gen_new_ranges"] = {
            1: lambda i: ranges,
            2: lambda i, j: ranges,
        }.get(axes, lambda: ranges)

    def fit_tensorize(self) -> None:
        scaled = [
            one
            for one in self.blocks
            if "T.float32(2) + T.float32(1)" in self.sch.get(one).script()
        ]
        innermost = [loops[-1] for one in scaled if (loops := self.sch.get_loops(one))]
        fours = [loop for loop in innermost if extent_of(self.sch, loop) == 4]
        self.arguments["block_or_loop"] = self.any(fours or innermost, self.loops)

    def fit_unannotate(self) -> None:
        noted = [one for one in self.blocks if "note" in self.sch.get(one).annotations]
        self.arguments |= {"block_or_loop": self.any(noted, self.blocks), "ann_key": "note"}


def extent_of(sch: tir.Schedule, loop: Any) -> int:
    """Return how often a loop runs; -1 if a variable says it."""
    extent = sch.get(loop).extent
    return extent.value if isinstance(extent, tir.IntImm) else -1
