// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/check_launches.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

void check_axis(const For& loop, const GpuLimits& limits, const Target& target) {
  const ThreadAxis axis = thread_axis_of(loop);
  const std::int64_t* extent = as_int(loop.extent);
  const std::int64_t* most = is_block_axis(axis) ? limits.blocks : limits.threads;
  const std::int64_t limit = most[dimension_of(axis)];
  require(!extent || *extent <= limit, ErrorKind::lower, "launch_axis_fits_device",
          hint("split the loop, and bind the outer part to another axis"), loop.span,
          "loop {} over {} has {} iterations, target {} has at most {}", loop.loop_var->name,
          tag_of(axis), extent ? *extent : 0, target.text(), limit);
}

void check_instructions(const Stmt& stmt, const Target& target) {
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    require(!call || !multiplies_in_warpgroups(*call), ErrorKind::lower,
            "target_has_warpgroup_products",
            hint("build for cuda -arch=sm_90a, or tensorize by wmma_sync_..."), stmt.get()->span,
            "four warps multiply together (wgmma) on sm_90a alone, not on target {}",
            target.text());
    return true;
  });
}

void check_launch(const Stmt& stmt, const Target& target) {
  const GpuLimits limits = gpu_limits(target);
  if (!limits.has_warpgroup_products) check_instructions(stmt, target);
  const Launch launch = launch_of(stmt);
  for (const Ptr<For>& loop : launch.blocks) check_axis(*loop, limits, target);
  std::int64_t threads = 1;
  for (const Ptr<For>& loop : launch.threads) {
    check_axis(*loop, limits, target);
    const std::int64_t* extent = as_int(loop->extent);
    threads *= extent ? *extent : 1;
  }
  require(threads <= limits.threads_per_block, ErrorKind::lower, "threads_fit_block",
          hint("split the loops over threads, and bind the outer parts to blocks"),
          stmt.get()->span, "a block has {} threads, target {} runs {} at most", threads,
          target.text(), limits.threads_per_block);
  const std::int64_t pool_bytes = bytes_in_shared_pool(launch);
  const bool has_pool = pool_bytes > 0;
  const std::int64_t limit = has_pool ? limits.shared_pool_bytes : limits.shared_bytes_per_block;
  std::int64_t bytes = pool_bytes;
  std::string largest;
  std::int64_t most = -1;
  for (const Stmt& memory : launch.memory) {
    const auto* allocate = memory.as<Allocate>();
    // Memory of other sizes is refused where the kernel is written.
    if (!allocate || !std::ranges::all_of(allocate->extents, as_int)) continue;
    std::int64_t size = allocate->dtype.bytes();
    for (const Expr& extent : allocate->extents) size *= *as_int(extent);
    if (memory_scope(*allocate->buffer_var) != MemoryScope::shared_dynamic) bytes += size;
    if (size > most) largest = allocate->buffer_var->name;
    most = std::max(most, size);
  }
  require(
      bytes <= limit, ErrorKind::lower, "shared_memory_fits_block",
      hint("cache smaller tiles: split the loops around the copy, or compute it further inside"),
      stmt.get()->span,
      "the threads of a block share {} bytes, {} of them for {}; target {} has {}", bytes, most,
      largest, target.text(), limit);
}

}  // namespace

void check_launches(const PrimFunc& func, const Target& target) {
  pre_order_visit(func.body, [&](const Ref& ref) {
    const Stmt stmt = Stmt::from(ref);
    if (!is_launch_loop(stmt)) return !is_expr(*ref.get());
    check_launch(stmt, target);
    return false;
  });
}

}  // namespace loopsmith
