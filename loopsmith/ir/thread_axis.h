// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// What a loop of kind `thread_binding` runs over. The axes of a launch stand as loops of kernels
/// nest, from the outside in.
enum class ThreadAxis : std::uint8_t {
  none,  ///< Of any other statement.
  block_z,
  block_y,
  block_x,
  thread_z,
  thread_y,
  thread_x,
  virtual_thread,  ///< Iterations that run one after another in a thread, `vthread`, `vthread.x`.
  other,           ///< A tag that is not known.
};

/// The axes of a launch, from the outside in.
inline constexpr ThreadAxis launch_axes[] = {ThreadAxis::block_z,  ThreadAxis::block_y,
                                             ThreadAxis::block_x,  ThreadAxis::thread_z,
                                             ThreadAxis::thread_y, ThreadAxis::thread_x};

/// True for an axis of the blocks of a grid; of the threads of a block; of either.
constexpr bool is_block_axis(ThreadAxis axis) {
  return axis >= ThreadAxis::block_z && axis <= ThreadAxis::block_x;
}
constexpr bool is_thread_axis(ThreadAxis axis) {
  return axis >= ThreadAxis::thread_z && axis <= ThreadAxis::thread_x;
}
constexpr bool is_launch_axis(ThreadAxis axis) {
  return is_block_axis(axis) || is_thread_axis(axis);
}

/// The dimension of an axis of a launch: 0 for x, 1 for y, 2 for z.
constexpr int dimension_of(ThreadAxis axis) {
  return 2 - (static_cast<int>(axis) - 1) % 3;
}

/// The axis that a tag names, `blockIdx.x`; none without a tag.
ThreadAxis thread_axis_of(std::string_view tag);
/// The axis of a loop; none of any that is not bound to threads.
ThreadAxis thread_axis_of(const For& loop);
ThreadAxis thread_axis_of(const Stmt& stmt);

/// The tag of an axis of a launch: `blockIdx.x`.
std::string_view tag_of(ThreadAxis axis);

}  // namespace loopsmith
