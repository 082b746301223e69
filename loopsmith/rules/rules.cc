// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/rules.h"

#include "loopsmith/rules/all.h"

namespace loopsmith {

std::span<const Rule> cpu_rules() {
  // A subject belongs to the first rule that takes it. What none takes is turned into loops by
  // `make_loops`: products of sizes that are no constants; products of pairs of small integers.
  static constexpr Rule rules[] = {
      // Before the one that takes any nest without a reduction.
      {"transposes", schedule_transposes},
      // Before the one that packs the matrix, which is read once.
      {"few_rows", schedule_few_rows},
      // Before those for reductions whose operands are read where they are.
      {"products", schedule_products},
      {"elementwise", schedule_elementwise},
      {"whole_reduction", schedule_whole_reduction},
      {"rows", schedule_rows},
      {"columns", schedule_columns},
      {"row_groups", schedule_row_groups},
      {"plain_loops", schedule_plain_loops},
  };
  return rules;
}

std::span<const Rule> gpu_rules() {
  // Each is asked about all blocks before the next one is: kernels of several stages before those
  // of one, wider tiles before smaller ones. The last takes every block.
  static constexpr Rule rules[] = {
      {"attend", gpu::attend},
      {"fuse_rows", gpu::fuse_rows},
      {"tensor_core_product", gpu::tensor_core_product},
      {"tile_product", gpu::tile_product},
      {"cut_long_reduction", gpu::cut_long_reduction},
      {"reduce_columns", gpu::reduce_columns},
      {"reduce_rows", gpu::reduce_rows},
      {"reduce_in_threads", gpu::reduce_in_threads},
      {"transpose_tiles", gpu::transpose_tiles},
      {"bind_elements", gpu::bind_elements},
      {"scan_parts", gpu::scan_parts},
      {"bind_what_may", gpu::bind_what_may},
  };
  return rules;
}

}  // namespace loopsmith
