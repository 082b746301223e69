// SPDX-License-Identifier: Apache-2.0
// Every schedule primitive.
#pragma once
#include <span>
#include <string_view>

#include "loopsmith/schedule/primitives/add_unit_loop.h"
#include "loopsmith/schedule/primitives/annotate.h"
#include "loopsmith/schedule/primitives/atomic.h"
#include "loopsmith/schedule/primitives/block_regions.h"
#include "loopsmith/schedule/primitives/blockize.h"
#include "loopsmith/schedule/primitives/branches.h"
#include "loopsmith/schedule/primitives/cache_index.h"
#include "loopsmith/schedule/primitives/cache_inplace.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/calculate.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/primitives/copy_at.h"
#include "loopsmith/schedule/primitives/decompose_padding.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/distribute.h"
#include "loopsmith/schedule/primitives/enter_postproc.h"
#include "loopsmith/schedule/primitives/expand_scalar.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/fuse_reduction_epilogue.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loop.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/inspect_split.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/loop_partition.h"
#include "loopsmith/schedule/primitives/macro.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/merge_siblings.h"
#include "loopsmith/schedule/primitives/normalize_nest.h"
#include "loopsmith/schedule/primitives/pad_einsum.h"
#include "loopsmith/schedule/primitives/parallel_scan.h"
#include "loopsmith/schedule/primitives/peel.h"
#include "loopsmith/schedule/primitives/prefetch.h"
#include "loopsmith/schedule/primitives/privatize.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/reindex.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reorder_block_iter_var.h"
#include "loopsmith/schedule/primitives/reorder_statements.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/reverse_compute_inline.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/rolling_buffer.h"
#include "loopsmith/schedule/primitives/sample.h"
#include "loopsmith/schedule/primitives/sample_compute_location.h"
#include "loopsmith/schedule/primitives/set_layout.h"
#include "loopsmith/schedule/primitives/shift.h"
#include "loopsmith/schedule/primitives/skew.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/store_at.h"
#include "loopsmith/schedule/primitives/store_last.h"
#include "loopsmith/schedule/primitives/substitute_scalar.h"
#include "loopsmith/schedule/primitives/tensorize.h"
#include "loopsmith/schedule/primitives/transform_block_layout.h"
#include "loopsmith/schedule/primitives/transform_layout.h"
#include "loopsmith/schedule/primitives/tree_reduce.h"
#include "loopsmith/schedule/primitives/trust_calls.h"
#include "loopsmith/schedule/primitives/version_loop.h"

namespace loopsmith {

/// All of them, in the order of the manual. Replay, Python's methods and the manual are made of it.
std::span<const PrimitiveBase* const> all_primitives();

/// The one of that name; null when there is none.
const PrimitiveBase* find_primitive(std::string_view name);

}  // namespace loopsmith
