# SPDX-License-Identifier: Apache-2.0
"""Names, order of arguments, defaults and results of primitives are those that users know."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import _core, tir
from loopsmith.script import tir as T

# What stands after the known arguments is our own, and has a default.
KNOWN = """
get_block(name, func_name=None) -> BlockRV
get_loops(block) -> list[LoopRV]
get_child_blocks(block_or_loop) -> list[BlockRV]
get_producers(block) -> list[BlockRV]
get_consumers(block) -> list[BlockRV]
get_output_blocks(scope_block) -> list[BlockRV]
sample_categorical(candidates, probs, decision=None) -> ExprRV
sample_perfect_tile(loop, n, max_innermost_factor=16, decision=None) -> list[ExprRV]
sample_partitioned_tile(loop, n, partition_pos=0, innerpart_factor=1, decision=None) -> list[ExprRV]
sample_compute_location(block, decision=None) -> LoopRV
merge(loops) -> LoopRV
fuse(loops, preserve_unit_iters=True) -> LoopRV
split(loop, factors, preserve_unit_iters=True, disable_predication=False) -> list[LoopRV]
loop_partition(loop, factors, preserve_unit_iters=True) -> list[LoopRV]
reorder(loops) -> None
reorder_block_iter_var(block, new_order) -> None
add_unit_loop(block_or_loop) -> LoopRV
parallel(loop) -> None
vectorize(loop) -> None
bind(loop, thread_axis) -> None
unroll(loop) -> None
cache_read(block, read_buffer_index, storage_scope, consumer_blocks=None) -> BlockRV
cache_write(block, write_buffer_index, storage_scope, consumer_blocks=None) -> BlockRV
reindex_cache_read(block, buffer_index, storage_scope, index_map) -> BlockRV
reindex_cache_write(block, buffer_index, storage_scope, index_map) -> BlockRV
cache_inplace(block, read_buffer_index, storage_scope) -> list[BlockRV]
cache_index(block, storage_scope, cse_thresh=0) -> list[BlockRV]
reindex(block, buffer) -> BlockRV
read_at(loop, block, read_buffer_index, storage_scope) -> BlockRV
write_at(loop, block, write_buffer_index, storage_scope) -> BlockRV
compute_at(block, loop, preserve_unit_loops=False, index=-1) -> None
reverse_compute_at(block, loop, preserve_unit_loops=False, index=-1) -> None
compute_inline(block) -> None
reverse_compute_inline(block) -> None
fuse_reduction_epilogue(reduction_block, epilogue_block) -> None
decompose_reduction(block, loop) -> BlockRV
rfactor(loop, factor_axis) -> BlockRV
storage_align(block, buffer_index, axis, factor, offset) -> None
set_scope(block, buffer_index, storage_scope) -> None
unsafe_set_dtype(block, buffer_index, dtype) -> None
blockize(target, preserve_unit_iters=True) -> BlockRV
tensorize(block_or_loop, tensor_intrin, preserve_unit_iters=True) -> None
annotate(block_or_loop, ann_key, ann_val) -> None
unannotate(block_or_loop, ann_key) -> None
trust_calls(names) -> None
transform_layout(block, buffer, index_map, pad_value=None, assume_injective_transform=False) -> None
transform_block_layout(block, index_map) -> None
set_axis_separator(block, buffer, axis_separators) -> None
decompose_padding(block, loop) -> BlockRV
pad_einsum(block, padding) -> None
rolling_buffer(block, write_buffer_index) -> None
unsafe_hide_buffer_access(block, buf_type, buf_index_array) -> None
annotate_buffer_access(block, buffer_index, buf_type, gen_new_ranges) -> None
enter_postproc() -> None
"""
# Our own.
OWN = {
    "calculate",
    *("get_loop", "prefetch", "peel", "distribute", "shift", "skew", "sink_if", "hoist_if"),
    *("reorder_statements", "merge_siblings", "expand_scalar", "normalize_nest", "parallel_scan"),
    "get_child_loops",
    *("hoist_factor", "merge_online"),
    *("begin_macro", "end_macro", "pad_axes", "inspect_split", "privatize", "atomic"),
    *("tree_reduce", "set_layout", "store_at", "cache_expression", "substitute_scalar"),
    *("store_last", "version_loop"),
}
LINES = {line.partition("(")[0]: line for line in KNOWN.split("\n") if line}
PRIMITIVES = {primitive["name"]: primitive for primitive in _core.primitives()}


@pytest.mark.parametrize("name", LINES)
def test_arguments_are_those_that_users_know(name: str):
    match = re.fullmatch(r"\w+\((.*)\) -> (.+)", LINES[name])
    assert match
    wanted = [part.partition("=") for part in match[1].split(", ") if part]
    given = PRIMITIVES[name]["parameters"]
    assert PRIMITIVES[name]["result"] == match[2]
    order = [parameter["name"] for parameter in given if parameter["name"] in match[1]]
    assert order == [parameter for parameter, _, _ in wanted]
    for parameter in given:
        known = [default for own, _, default in wanted if own == parameter["name"]]
        assert (parameter["default"] or "") == (known[0] if known else parameter["default"])
    assert callable(getattr(tir.Schedule, name))


def test_every_primitive_is_in_the_table():
    assert set(PRIMITIVES) - set(LINES) == OWN


@T.prim_func
def padded(X: T.Buffer((64,), "float32"), Y: T.Buffer((70,), "float32")):
    for i in range(70):
        with T.block("Y"):
            vi = T.axis.spatial(70, i)
            Y[vi] = T.if_then_else(3 <= vi and vi < 67, X[vi - 3], T.float32(0))


def test_whether_a_padding_can_be_decomposed_is_answered():
    sch = tir.Schedule(padded)
    (i,) = sch.get_loops("Y")
    assert sch.can_decompose_padding("Y", i)
    assert sch.can_decompose_padding(block="Y", loop=i)
    sch.decompose_padding("Y", i)
    assert not sch.can_decompose_padding("Y", i)
    assert "decompose_padding" in inspect.getdoc(tir.Schedule.can_decompose_padding)


MISTAKES = [
    (
        lambda sch, i: sch.split(i, [None, 4.0]),
        "split: the argument factors is [None, 4.0]",
        "it takes typing.Sequence[ExprRV | Expr | int | None]",
    ),
    (lambda sch, i: sch.split(i, [None, "4"]), 'split: the argument factors is [None, "4"]', ""),
    (
        lambda sch, i: sch.parallel([i, i]),
        "parallel: the argument loop is [a loop, a loop]",
        "it takes LoopRV | str: pass one at a time",
    ),
    (
        lambda sch, i: sch.parallel(sch.get_block("Y")),
        "parallel: the argument loop is a block",
        "it takes LoopRV | str",
    ),
    (lambda sch, i: sch.compute_inline(i), "compute_inline: the argument block is a loop", ""),
    (lambda sch, i: sch.vectorize(sch.func), "vectorize: the argument loop is a node PrimFunc", ""),
    (lambda sch, i: sch.parallel(["i" * 99]), 'parallel: the argument loop is ["' + "i" * 78, ""),
    (
        lambda sch, i: sch.annotate(i, "key", object()),
        "annotate: the argument ann_val is a object",
        "it takes a text, a number, True or False, or lists and dicts of them",
    ),
    (
        lambda sch, i: sch.split(i, [10**30, 4]),
        "split: the argument factors has a number of more than 64 bits",
        "pass a smaller one",
    ),
]


@pytest.mark.parametrize(("call", "text", "hint"), MISTAKES)
def test_a_mistake_is_told_with_what_came_and_what_was_expected(call, text: str, hint: str):
    sch = tir.Schedule(padded)
    with pytest.raises(ls.UserError) as caught:
        call(sch, sch.get_loops("Y")[0])
    assert text in str(caught.value)
    assert hint in str(caught.value)
    assert ls.structural_equal(sch.func, padded)
    assert all(step.kind.startswith("get_") for step in sch.trace.insts)


def test_whole_numbers_of_other_libraries_are_factors():
    sch = tir.Schedule(padded)
    outer, inner = sch.split(sch.get_loops("Y")[0], [None, np.int64(8)])
    assert [int(sch.get(loop).extent) for loop in (outer, inner)] == [9, 8]
