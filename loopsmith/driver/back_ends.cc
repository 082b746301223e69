// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_ends.h"

#include <algorithm>

#include "loopsmith/driver/back_ends/all.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

struct Row {
  TargetKind kind;
  const BackEnd& (*back_end)();
};

constexpr Row back_ends[] = {
    {TargetKind::llvm, llvm_back_end},
    {TargetKind::c, c_back_end},
    {TargetKind::opencl, opencl_back_end},
    {TargetKind::cuda, cuda_back_end},
};

}  // namespace

const BackEnd& back_end_of(const Target& target) {
  const Row* row = std::ranges::find(back_ends, target.kind(), &Row::kind);
  check(row != std::end(back_ends), "back_end_of", "target {} has none", target.text());
  return row->back_end();
}

}  // namespace loopsmith
