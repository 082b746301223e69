# SPDX-License-Identifier: Apache-2.0
"""Calls of primitives with the mistakes that people make, so that refusals offer fixes."""

from __future__ import annotations

import random
from typing import Any

from loopsmith import tir

KINDS = {
    "arguments_fit",
    "block_has_the_buffer",
    "block_is_complete",
    "block_is_no_output",
    "handle_is_alive",
    "loop_is_of_reduction",
    "name_is_known",
    "nest_is_perfect",
    "number_is_in_range",
    "step_keeps_results",
}
"""Conditions for whose refusals a fix is found often."""


class WrongCalls:
    """Draws calls that are wrong for a reason which a fix takes away."""

    def __init__(self, rng: random.Random, sch: tir.Schedule) -> None:
        self.rng, self.sch = rng, sch
        self.blocks = sch.get_child_blocks("root") if sch.can_apply("get_block", "root") else []
        self.loops = [loop for block in self.blocks for loop in sch.get_loops(block)] or ["none"]
        self.blocks = self.blocks or ["none"]
        """The handles of the program as it was: some of them end."""

    def draw(self) -> tuple[str, dict[str, Any]]:
        """Return the name of a primitive, and arguments for it."""
        rng = self.rng
        loop, block = rng.choice(self.loops), rng.choice(self.blocks)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("get_block", {"name": self.misspelled(block)}),
            ("get_block", {"name": "B1", "func_name": "mian"}),
            ("get_loop", {"name": self.misspelled(loop)}),
            ("bind", {"loop": loop, "thread_axis": "threadidx.x"}),
            ("set_scope", {"block": block, "buffer_index": 0, "storage_scope": "locale"}),
            ("cache_read", {"block": block, "read_buffer_index": 7, "storage_scope": "local"}),
            ("cache_write", {"block": block, "write_buffer_index": 0, "storage_scope": "share"}),
            ("split", {"loop": loop, "factors": rng.choice([[2, 1], [2, 0], [None, None]])}),
            ("split", {"loop": loop, "factors": [None, 2], "names": ["one"]}),
            ("fuse", {"loops": [loop, loop]}),
            ("fuse", {"loops": [rng.choice(self.loops), loop]}),
            ("reorder", {"loops": [loop, loop]}),
            ("unannotate", {"block_or_loop": block, "ann_key": "notes"}),
            ("unroll", {"loop": loop}),
            ("parallel", {"loop": loop}),
            ("compute_inline", {"block": block}),
            ("reverse_compute_at", {"block": block, "loop": loop}),
            ("rfactor", {"loop": loop, "factor_axis": rng.choice([0, 5])}),
        ]
        return rng.choice(calls)

    def misspelled(self, handle: Any) -> str:
        """Return the name of a block or loop with a letter too many."""
        if handle == "none" or not self.sch.can_apply("annotate", handle, "note", 1):
            return "no_such_name"
        node = self.sch.get(handle)
        return (node.name_hint if isinstance(node, tir.Block) else node.loop_var.name) + "x"
