// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/thread_axis.h"

#include <algorithm>
#include <iterator>

namespace loopsmith {
namespace {

/// In the order of `launch_axes`.
constexpr std::string_view tags[] = {"blockIdx.z",  "blockIdx.y",  "blockIdx.x",
                                     "threadIdx.z", "threadIdx.y", "threadIdx.x"};

}  // namespace

ThreadAxis thread_axis_of(std::string_view tag) {
  if (tag.empty()) return ThreadAxis::none;
  if (tag.starts_with("vthread")) return ThreadAxis::virtual_thread;
  const auto* found = std::ranges::find(tags, tag);
  return found == std::end(tags) ? ThreadAxis::other : launch_axes[found - tags];
}

ThreadAxis thread_axis_of(const For& loop) {
  if (loop.kind != ForKind::thread_binding) return ThreadAxis::none;
  return thread_axis_of(loop.thread_binding->thread_tag);
}

ThreadAxis thread_axis_of(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  return loop ? thread_axis_of(*loop) : ThreadAxis::none;
}

std::string_view tag_of(ThreadAxis axis) {
  return tags[static_cast<int>(axis) - static_cast<int>(ThreadAxis::block_z)];
}

}  // namespace loopsmith
