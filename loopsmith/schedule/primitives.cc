// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives.h"

#include <unordered_map>

#include "loopsmith/schedule/primitive_calls.h"
#include "loopsmith/schedule/primitives/all.h"

namespace loopsmith {

std::span<const PrimitiveBase* const> all_primitives() {
  static constexpr const PrimitiveBase* all[] = {
      // Queries.
      &get_block, &get_loops, &get_loop, &get_child_blocks, &get_child_loops, &get_producers,
      &get_consumers, &get_output_blocks,
      // Loops.
      &split, &fuse, &merge, &reorder, &add_unit_loop, &parallel, &vectorize, &unroll, &bind,
      &loop_partition, &version_loop, &peel, &distribute, &shift, &skew, &sink_if, &hoist_if,
      &reorder_statements, &merge_siblings, &merge_online, &expand_scalar, &substitute_scalar,
      &store_last, &normalize_nest, &parallel_scan, &inspect_split,
      // Places.
      &compute_at, &reverse_compute_at, &compute_inline, &reverse_compute_inline,
      &fuse_reduction_epilogue, &rolling_buffer, &store_at,
      // Reductions.
      &decompose_reduction, &hoist_factor, &rfactor, &tree_reduce, &privatize, &atomic, &pad_einsum,
      &pad_axes, &decompose_padding,
      // Caches.
      &cache_read, &cache_write, &cache_inplace, &cache_index, &cache_expression, &reindex,
      &reindex_cache_read, &reindex_cache_write, &read_at, &write_at, &prefetch,
      // Buffers.
      &storage_align, &set_scope, &unsafe_set_dtype, &set_axis_separator,
      &unsafe_hide_buffer_access, &annotate_buffer_access, &transform_layout, &set_layout,
      // Blocks.
      &blockize, &tensorize, &transform_block_layout, &annotate, &unannotate, &trust_calls,
      &reorder_block_iter_var,
      // Choices.
      &sample_categorical, &sample_perfect_tile, &sample_partitioned_tile, &sample_compute_location,
      &calculate, &enter_postproc, &begin_macro, &end_macro};
  return all;
}

const PrimitiveBase* find_primitive(std::string_view name) {
  static const auto* by_name = [] {
    auto* map = new std::unordered_map<std::string_view, const PrimitiveBase*>;
    for (const PrimitiveBase* primitive : all_primitives())
      map->emplace(primitive->name, primitive);
    return map;
  }();
  const auto found = by_name->find(name);
  return found == by_name->end() ? nullptr : found->second;
}

}  // namespace loopsmith
