// SPDX-License-Identifier: Apache-2.0
// Made by tools/cpp_schedule.py from the primitives.
#include "loopsmith/driver/schedule_methods.h"

#include "loopsmith/driver/schedule_values.h"

namespace loopsmith::tir {

BlockRV ScheduleMethods::get_block(const std::string& name,
                                   const std::optional<std::string>& func_name) {
  return *call("get_block", {value_of(name), value_of(func_name)}).as<BlockRV>();
}

Handles<LoopRV> ScheduleMethods::get_loops(const BlockArgument& block,
                                           const std::optional<std::string>& pattern) {
  return handles_in<LoopRV>(call("get_loops", {value_of(block), value_of(pattern)}));
}

LoopRV ScheduleMethods::get_loop(const std::string& name,
                                 const std::optional<std::string>& func_name) {
  return *call("get_loop", {value_of(name), value_of(func_name)}).as<LoopRV>();
}

Handles<BlockRV> ScheduleMethods::get_child_blocks(const BlockOrLoopArgument& block_or_loop) {
  return handles_in<BlockRV>(call("get_child_blocks", {value_of(block_or_loop)}));
}

Handles<LoopRV> ScheduleMethods::get_child_loops(
    const std::optional<BlockOrLoopArgument>& block_or_loop,
    const std::optional<std::string>& func_name) {
  return handles_in<LoopRV>(
      call("get_child_loops", {value_of(block_or_loop), value_of(func_name)}));
}

Handles<BlockRV> ScheduleMethods::get_producers(const BlockArgument& block) {
  return handles_in<BlockRV>(call("get_producers", {value_of(block)}));
}

Handles<BlockRV> ScheduleMethods::get_consumers(const BlockArgument& block) {
  return handles_in<BlockRV>(call("get_consumers", {value_of(block)}));
}

Handles<BlockRV> ScheduleMethods::get_output_blocks(const BlockArgument& scope_block) {
  return handles_in<BlockRV>(call("get_output_blocks", {value_of(scope_block)}));
}

Handles<LoopRV> ScheduleMethods::split(const LoopArgument& loop,
                                       const std::vector<SplitFactor>& factors,
                                       const std::optional<std::vector<std::string>>& names,
                                       bool preserve_unit_iters, bool disable_predication) {
  return handles_in<LoopRV>(
      call("split", {value_of(loop), value_of(factors), value_of(names),
                     value_of(preserve_unit_iters), value_of(disable_predication)}));
}

LoopRV ScheduleMethods::fuse(const std::vector<LoopArgument>& loops, bool preserve_unit_iters,
                             const std::optional<std::string>& name, bool wide) {
  return *call("fuse",
               {value_of(loops), value_of(preserve_unit_iters), value_of(name), value_of(wide)})
              .as<LoopRV>();
}

LoopRV ScheduleMethods::merge(const std::vector<LoopArgument>& loops, bool assume_independent) {
  return *call("merge", {value_of(loops), value_of(assume_independent)}).as<LoopRV>();
}

void ScheduleMethods::reorder(const std::vector<LoopArgument>& loops, bool assume_independent) {
  call("reorder", {value_of(loops), value_of(assume_independent)});
}

LoopRV ScheduleMethods::add_unit_loop(const BlockOrLoopArgument& block_or_loop) {
  return *call("add_unit_loop", {value_of(block_or_loop)}).as<LoopRV>();
}

void ScheduleMethods::parallel(const LoopArgument& loop, bool assume_independent,
                               const std::optional<SizeCondition>& condition) {
  call("parallel", {value_of(loop), value_of(assume_independent), value_of(condition)});
}

void ScheduleMethods::vectorize(const LoopArgument& loop, bool assume_independent) {
  call("vectorize", {value_of(loop), value_of(assume_independent)});
}

void ScheduleMethods::unroll(const LoopArgument& loop) {
  call("unroll", {value_of(loop)});
}

void ScheduleMethods::bind(const LoopArgument& loop, const std::string& thread_axis,
                           bool assume_independent) {
  call("bind", {value_of(loop), value_of(thread_axis), value_of(assume_independent)});
}

Handles<LoopRV> ScheduleMethods::loop_partition(const LoopArgument& loop,
                                                const std::vector<Factor>& factors,
                                                bool preserve_unit_iters) {
  return handles_in<LoopRV>(
      call("loop_partition", {value_of(loop), value_of(factors), value_of(preserve_unit_iters)}));
}

Handles<LoopRV> ScheduleMethods::version_loop(const std::vector<LoopArgument>& loops,
                                              const std::vector<std::int64_t>& least, bool uneven) {
  return handles_in<LoopRV>(
      call("version_loop", {value_of(loops), value_of(least), value_of(uneven)}));
}

Handles<LoopRV> ScheduleMethods::peel(const LoopArgument& loop, std::int64_t first,
                                      std::int64_t last, std::int64_t align, std::int64_t align_end,
                                      const std::optional<LoopValueArgument>& at) {
  return handles_in<LoopRV>(call("peel", {value_of(loop), value_of(first), value_of(last),
                                          value_of(align), value_of(align_end), value_of(at)}));
}

Handles<LoopRV> ScheduleMethods::distribute(const LoopArgument& loop) {
  return handles_in<LoopRV>(call("distribute", {value_of(loop)}));
}

void ScheduleMethods::shift(const LoopArgument& loop, std::int64_t offset) {
  call("shift", {value_of(loop), value_of(offset)});
}

void ScheduleMethods::skew(const LoopArgument& outer, const LoopArgument& inner,
                           std::int64_t factor) {
  call("skew", {value_of(outer), value_of(inner), value_of(factor)});
}

void ScheduleMethods::sink_if(const LoopArgument& loop) {
  call("sink_if", {value_of(loop)});
}

Handles<LoopRV> ScheduleMethods::hoist_if(const LoopArgument& loop) {
  return handles_in<LoopRV>(call("hoist_if", {value_of(loop)}));
}

void ScheduleMethods::reorder_statements(const BlockOrLoopArgument& first,
                                         const BlockOrLoopArgument& second) {
  call("reorder_statements", {value_of(first), value_of(second)});
}

LoopRV ScheduleMethods::merge_siblings(const std::vector<LoopArgument>& loops) {
  return *call("merge_siblings", {value_of(loops)}).as<LoopRV>();
}

LoopRV ScheduleMethods::merge_online(const std::vector<LoopArgument>& loops) {
  return *call("merge_online", {value_of(loops)}).as<LoopRV>();
}

void ScheduleMethods::expand_scalar(const BufferSelector& buffer, const LoopArgument& loop) {
  call("expand_scalar", {value_of(buffer), value_of(loop)});
}

void ScheduleMethods::substitute_scalar(const BufferSelector& buffer, const LoopArgument& loop) {
  call("substitute_scalar", {value_of(buffer), value_of(loop)});
}

Handles<LoopRV> ScheduleMethods::store_last(const LoopArgument& loop) {
  return handles_in<LoopRV>(call("store_last", {value_of(loop)}));
}

Handles<BlockRV> ScheduleMethods::normalize_nest(const LoopArgument& loop) {
  return handles_in<BlockRV>(call("normalize_nest", {value_of(loop)}));
}

Handles<LoopRV> ScheduleMethods::parallel_scan(const LoopArgument& loop, std::int64_t length,
                                               const std::optional<Annotation>& reducer,
                                               std::int64_t tile) {
  return handles_in<LoopRV>(
      call("parallel_scan", {value_of(loop), value_of(length), value_of(reducer), value_of(tile)}));
}

Handles<LoopRV> ScheduleMethods::inspect_split(const LoopArgument& loop, std::int64_t parts,
                                               bool cut_iterations) {
  return handles_in<LoopRV>(
      call("inspect_split", {value_of(loop), value_of(parts), value_of(cut_iterations)}));
}

void ScheduleMethods::compute_at(const BlockArgument& block, const LoopArgument& loop,
                                 bool preserve_unit_loops, std::int64_t index) {
  call("compute_at",
       {value_of(block), value_of(loop), value_of(preserve_unit_loops), value_of(index)});
}

void ScheduleMethods::reverse_compute_at(const BlockArgument& block, const LoopArgument& loop,
                                         bool preserve_unit_loops, std::int64_t index) {
  call("reverse_compute_at",
       {value_of(block), value_of(loop), value_of(preserve_unit_loops), value_of(index)});
}

void ScheduleMethods::compute_inline(const BlockArgument& block) {
  call("compute_inline", {value_of(block)});
}

void ScheduleMethods::reverse_compute_inline(const BlockArgument& block) {
  call("reverse_compute_inline", {value_of(block)});
}

void ScheduleMethods::fuse_reduction_epilogue(const BlockArgument& reduction_block,
                                              const BlockArgument& epilogue_block) {
  call("fuse_reduction_epilogue", {value_of(reduction_block), value_of(epilogue_block)});
}

void ScheduleMethods::rolling_buffer(const BlockArgument& block, std::int64_t write_buffer_index) {
  call("rolling_buffer", {value_of(block), value_of(write_buffer_index)});
}

void ScheduleMethods::store_at(const BlockArgument& block, const LoopArgument& loop,
                               std::int64_t write_buffer_index) {
  call("store_at", {value_of(block), value_of(loop), value_of(write_buffer_index)});
}

BlockRV ScheduleMethods::decompose_reduction(const BlockArgument& block, const LoopArgument& loop) {
  return *call("decompose_reduction", {value_of(block), value_of(loop)}).as<BlockRV>();
}

BlockRV ScheduleMethods::hoist_factor(const BlockArgument& block, bool through_casts) {
  return *call("hoist_factor", {value_of(block), value_of(through_casts)}).as<BlockRV>();
}

BlockRV ScheduleMethods::rfactor(const LoopArgument& loop, std::int64_t factor_axis) {
  return *call("rfactor", {value_of(loop), value_of(factor_axis)}).as<BlockRV>();
}

Handles<BlockRV> ScheduleMethods::tree_reduce(const LoopArgument& loop,
                                              const std::vector<Factor>& factors,
                                              std::int64_t factor_axis) {
  return handles_in<BlockRV>(
      call("tree_reduce", {value_of(loop), value_of(factors), value_of(factor_axis)}));
}

Handles<BlockRV> ScheduleMethods::privatize(const LoopArgument& loop,
                                            const std::optional<BufferSelector>& buffer) {
  return handles_in<BlockRV>(call("privatize", {value_of(loop), value_of(buffer)}));
}

void ScheduleMethods::atomic(const LoopArgument& loop) {
  call("atomic", {value_of(loop)});
}

void ScheduleMethods::pad_einsum(const BlockArgument& block,
                                 const std::vector<std::int64_t>& padding) {
  call("pad_einsum", {value_of(block), value_of(padding)});
}

void ScheduleMethods::pad_axes(const BlockArgument& block,
                               const std::vector<std::int64_t>& padding) {
  call("pad_axes", {value_of(block), value_of(padding)});
}

BlockRV ScheduleMethods::decompose_padding(const BlockArgument& block, const LoopArgument& loop) {
  return *call("decompose_padding", {value_of(block), value_of(loop)}).as<BlockRV>();
}

BlockRV ScheduleMethods::cache_read(
    const BlockArgument& block, const BufferSelector& read_buffer_index,
    const std::string& storage_scope,
    const std::optional<std::vector<BlockArgument>>& consumer_blocks) {
  return *call("cache_read", {value_of(block), value_of(read_buffer_index), value_of(storage_scope),
                              value_of(consumer_blocks)})
              .as<BlockRV>();
}

BlockRV ScheduleMethods::cache_write(
    const BlockArgument& block, const BufferSelector& write_buffer_index,
    const std::string& storage_scope,
    const std::optional<std::vector<BlockArgument>>& consumer_blocks) {
  return *call("cache_write", {value_of(block), value_of(write_buffer_index),
                               value_of(storage_scope), value_of(consumer_blocks)})
              .as<BlockRV>();
}

Handles<BlockRV> ScheduleMethods::cache_inplace(const BlockArgument& block,
                                                const BufferSelector& read_buffer_index,
                                                const std::string& storage_scope) {
  return handles_in<BlockRV>(call(
      "cache_inplace", {value_of(block), value_of(read_buffer_index), value_of(storage_scope)}));
}

Handles<BlockRV> ScheduleMethods::cache_index(const BlockArgument& block,
                                              const std::string& storage_scope,
                                              std::int64_t cse_thresh) {
  return handles_in<BlockRV>(
      call("cache_index", {value_of(block), value_of(storage_scope), value_of(cse_thresh)}));
}

BlockRV ScheduleMethods::cache_expression(const BlockArgument& block,
                                          const BufferSelector& buffer_index,
                                          const std::string& storage_scope,
                                          const IndexMapArgument& index_map) {
  return *call("cache_expression", {value_of(block), value_of(buffer_index),
                                    value_of(storage_scope), value_of(index_map)})
              .as<BlockRV>();
}

BlockRV ScheduleMethods::reindex(const BlockArgument& block, const BufferSelector& buffer) {
  return *call("reindex", {value_of(block), value_of(buffer)}).as<BlockRV>();
}

BlockRV ScheduleMethods::reindex_cache_read(const BlockArgument& block,
                                            const BufferSelector& buffer_index,
                                            const std::string& storage_scope,
                                            const IndexMapArgument& index_map) {
  return *call("reindex_cache_read", {value_of(block), value_of(buffer_index),
                                      value_of(storage_scope), value_of(index_map)})
              .as<BlockRV>();
}

BlockRV ScheduleMethods::reindex_cache_write(const BlockArgument& block,
                                             const BufferSelector& buffer_index,
                                             const std::string& storage_scope,
                                             const IndexMapArgument& index_map) {
  return *call("reindex_cache_write", {value_of(block), value_of(buffer_index),
                                       value_of(storage_scope), value_of(index_map)})
              .as<BlockRV>();
}

BlockRV ScheduleMethods::read_at(const LoopArgument& loop, const BlockArgument& block,
                                 const BufferSelector& read_buffer_index,
                                 const std::string& storage_scope) {
  return *call("read_at", {value_of(loop), value_of(block), value_of(read_buffer_index),
                           value_of(storage_scope)})
              .as<BlockRV>();
}

BlockRV ScheduleMethods::write_at(const LoopArgument& loop, const BlockArgument& block,
                                  const BufferSelector& write_buffer_index,
                                  const std::string& storage_scope) {
  return *call("write_at", {value_of(loop), value_of(block), value_of(write_buffer_index),
                            value_of(storage_scope)})
              .as<BlockRV>();
}

void ScheduleMethods::prefetch(const BlockArgument& block, const BufferSelector& read_buffer_index,
                               const LoopArgument& loop, std::int64_t offset) {
  call("prefetch",
       {value_of(block), value_of(read_buffer_index), value_of(loop), value_of(offset)});
}

void ScheduleMethods::storage_align(const BlockArgument& block, const BufferSelector& buffer_index,
                                    std::int64_t axis, std::int64_t factor, std::int64_t offset) {
  call("storage_align", {value_of(block), value_of(buffer_index), value_of(axis), value_of(factor),
                         value_of(offset)});
}

void ScheduleMethods::set_scope(const BlockArgument& block, const BufferSelector& buffer_index,
                                const std::string& storage_scope) {
  call("set_scope", {value_of(block), value_of(buffer_index), value_of(storage_scope)});
}

void ScheduleMethods::unsafe_set_dtype(const BlockArgument& block,
                                       const BufferSelector& buffer_index,
                                       const std::string& dtype) {
  call("unsafe_set_dtype", {value_of(block), value_of(buffer_index), value_of(dtype)});
}

void ScheduleMethods::set_axis_separator(const BlockArgument& block, const BufferSelector& buffer,
                                         const std::vector<std::int64_t>& axis_separators) {
  call("set_axis_separator", {value_of(block), value_of(buffer), value_of(axis_separators)});
}

void ScheduleMethods::unsafe_hide_buffer_access(const BlockArgument& block,
                                                const std::string& buf_type,
                                                const std::vector<std::int64_t>& buf_index_array) {
  call("unsafe_hide_buffer_access",
       {value_of(block), value_of(buf_type), value_of(buf_index_array)});
}

void ScheduleMethods::annotate_buffer_access(const BlockArgument& block, std::int64_t buffer_index,
                                             const std::string& buf_type,
                                             const IndexMapArgument& gen_new_ranges) {
  call("annotate_buffer_access",
       {value_of(block), value_of(buffer_index), value_of(buf_type), value_of(gen_new_ranges)});
}

void ScheduleMethods::transform_layout(const BlockArgument& block, const BufferSelector& buffer,
                                       const IndexMapArgument& index_map,
                                       const std::optional<Annotation>& pad_value,
                                       bool assume_injective_transform) {
  call("transform_layout", {value_of(block), value_of(buffer), value_of(index_map),
                            value_of(pad_value), value_of(assume_injective_transform)});
}

void ScheduleMethods::set_layout(const BufferSelector& buffer, const IndexMapArgument& map,
                                 const std::optional<Annotation>& pad) {
  call("set_layout", {value_of(buffer), value_of(map), value_of(pad)});
}

BlockRV ScheduleMethods::blockize(const LoopOrBlocksArgument& target, bool preserve_unit_iters) {
  return *call("blockize", {value_of(target), value_of(preserve_unit_iters)}).as<BlockRV>();
}

void ScheduleMethods::tensorize(const BlockOrLoopArgument& block_or_loop,
                                const IntrinArgument& tensor_intrin, bool preserve_unit_iters) {
  call("tensorize",
       {value_of(block_or_loop), value_of(tensor_intrin), value_of(preserve_unit_iters)});
}

void ScheduleMethods::transform_block_layout(const BlockArgument& block,
                                             const IndexMapArgument& index_map) {
  call("transform_block_layout", {value_of(block), value_of(index_map)});
}

void ScheduleMethods::annotate(const BlockOrLoopArgument& block_or_loop, const std::string& ann_key,
                               const Annotation& ann_val) {
  call("annotate", {value_of(block_or_loop), value_of(ann_key), value_of(ann_val)});
}

void ScheduleMethods::unannotate(const BlockOrLoopArgument& block_or_loop,
                                 const std::string& ann_key) {
  call("unannotate", {value_of(block_or_loop), value_of(ann_key)});
}

void ScheduleMethods::trust_calls(const std::vector<std::string>& names) {
  call("trust_calls", {value_of(names)});
}

void ScheduleMethods::reorder_block_iter_var(const BlockArgument& block,
                                             const std::vector<std::int64_t>& new_order) {
  call("reorder_block_iter_var", {value_of(block), value_of(new_order)});
}

ExprRV ScheduleMethods::sample_categorical(const std::vector<std::int64_t>& candidates,
                                           const std::vector<double>& probs,
                                           const std::optional<std::int64_t>& decision) {
  return *call("sample_categorical", {value_of(candidates), value_of(probs), value_of(decision)})
              .as<ExprRV>();
}

Handles<ExprRV> ScheduleMethods::sample_perfect_tile(
    const LoopArgument& loop, std::int64_t n, std::int64_t max_innermost_factor,
    const std::optional<std::vector<std::int64_t>>& decision) {
  return handles_in<ExprRV>(
      call("sample_perfect_tile",
           {value_of(loop), value_of(n), value_of(max_innermost_factor), value_of(decision)}));
}

Handles<ExprRV> ScheduleMethods::sample_partitioned_tile(
    const LoopArgument& loop, std::int64_t n, std::int64_t partition_pos,
    std::int64_t innerpart_factor, const std::optional<std::vector<std::int64_t>>& decision) {
  return handles_in<ExprRV>(
      call("sample_partitioned_tile", {value_of(loop), value_of(n), value_of(partition_pos),
                                       value_of(innerpart_factor), value_of(decision)}));
}

LoopRV ScheduleMethods::sample_compute_location(const BlockArgument& block,
                                                const std::optional<std::int64_t>& decision) {
  return *call("sample_compute_location", {value_of(block), value_of(decision)}).as<LoopRV>();
}

ExprRV ScheduleMethods::calculate(const std::string& operation, const std::optional<Factor>& a,
                                  const std::optional<Factor>& b) {
  return *call("calculate", {value_of(operation), value_of(a), value_of(b)}).as<ExprRV>();
}

void ScheduleMethods::enter_postproc() {
  call("enter_postproc", {});
}

void ScheduleMethods::begin_macro(const std::string& name, const std::string& arguments) {
  call("begin_macro", {value_of(name), value_of(arguments)});
}

void ScheduleMethods::end_macro() {
  call("end_macro", {});
}

}  // namespace loopsmith::tir
