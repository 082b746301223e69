# SPDX-License-Identifier: Apache-2.0
"""Words that tests of programs look for in what a schedule says when it refuses a step."""

from __future__ import annotations

from loopsmith import ScheduleError

_WORDS = {
    "argument_has_type": "Type mismatch; pad_value has outputs, should only have one output",
    "arguments_fit": "number of parameters mismatch",
    "axes_can_be_padded": "bindings are not variables of outer loops",
    "block_has_no_init": "the block has init statement",
    "block_has_the_buffer": "`buffer_index` is out of range",
    "block_is_complete_or_reduction": "not a complete or reduction block",
    "block_is_einsum": "does not match the Einsum pattern",
    "block_is_leaf": "not a leaf block",
    "block_updates_the_buffer": "does not both read & write the buffer",
    "body_is_one_store": "body pattern does not meet the condition for inlining; "
    "only a single buffer region",
    "body_pads": "expect the block to match padding pattern",
    "buffer_has_no_views": "the buffer is a subregion of another; has opaque access",
    "buffer_is_allocated": "not allocated by a block",
    "buffer_is_used_by_index": "has opaque access",
    "consumers_are_in_the_loop": "requires all the consumer(s) to be under the target loop",
    "index_map_uses_the_same_axes": "block itervars appeared in lhs and rhs of the index map do "
    "not match",
    "indices_are_unique": "indices are not a single point",
    "instances_are_known": "required to have an affine binding; partial affine binding",
    "loop_is_above_reduction": "the loop has to be higher than all the loops related to reduce "
    "block var",
    "loop_is_around_block": "expect the loop to be an ancestor of block",
    "loop_is_in_scope": "the loop and the block have to be in the same block scope",
    "loop_is_not_around": "the loop is not to be the ancestor of block",
    "loop_is_of_reduction": "the loop is required not to be touched by any data parallel block "
    "iter; or it is touched by both",
    "loop_is_plain": "the loop has annotation or thread binding",
    "loop_is_serial": "the loop is required to be `kSerial`",
    "map_is_bijective": "the index map is not bijective affine",
    "nest_is_perfect": "required to have only one child block",
    "nest_is_plain": "the block does not meet the requirements of rfactor",
    "number_is_in_range": "`axis` is out of range; `factor_axis` is out of range",
    "one_input_is_computed": "only a single buffer region",
    "padding_has_a_value": "the transformation would introduce padding at some indices",
    "producer_is_alone": "expects only a single producer block",
    "producers_are_in_the_loop": "requires all the producer(s) to be under the target loop",
    "readers_read_elements": "has opaque access",
    "reads_one_element": "not a single point",
    "reducer_is_known": "No matched reducer",
    "space_is_divisible": "can not be blockized",
}
"""By the code of a refusal; several where programs have several of them."""

_TAKE_SCOPES = (
    *("cache_index", "cache_inplace", "cache_read", "cache_write", "read_at", "reindex_cache_read"),
    *("reindex_cache_write", "set_scope", "write_at"),
)

_WORDS_OF_PRIMITIVES = {
    **{(each, "name_is_known"): "The storage scope given is invalid" for each in _TAKE_SCOPES},
    ("annotate_buffer_access", "name_is_known"): "Invalid buffer type",
    ("annotate_buffer_access", "number_is_in_range"): "`buffer_index` is out of range; "
    "Invalid buffer index array",
    ("compute_at", "number_is_in_range"): "Cannot find the insertion point",
    ("fuse", "bounds_are_independent"): "the extent of a loop is dependent on another",
    ("fuse", "nest_is_perfect"): "the outer loop is not the parent of inner loop",
    ("pad_einsum", "arguments_fit"): "the padding is not a list of n positive integers",
    ("reorder", "bounds_are_independent"): "dependent on an inner loop in the new order",
    ("reorder_block_iter_var", "arguments_fit"): "reorder indices are invalid",
    ("reverse_compute_at", "number_is_in_range"): "Cannot find the insertion point",
    ("split", "arguments_fit"): "only one factor can be specified as -1 or none",
    ("split", "number_is_in_range"): "All the constant factors are required to be positive",
    ("storage_align", "number_is_in_range"): "the factor is required to be positive",
    ("unannotate", "name_is_known"): "annotation key is not found",
}
"""Where they depend on the primitive that refuses."""


_KINDS = ("parallel", "vectorize", "unroll", "bind")

_core_text = ScheduleError.__str__


def text_of_refusal(error: ScheduleError) -> str:
    """Return what a refusal says, and these words under it."""
    text = _core_text(error)
    words = _WORDS_OF_PRIMITIVES.get((error.primitive, error.code)) or _WORDS.get(error.code, "")
    if error.code == "step_keeps_results":
        if error.primitive in _KINDS:
            words = f'The "{error.primitive}" cannot be fulfilled with regard to block'
        elif error.question == "cover":
            words = "region cover is not complete"
    return f"{text}\n  in TVM's words: {words}" if words else text
