// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/expand_llvm_intrinsics.h"

#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

Ptr<PrimFunc> expand_llvm_intrinsics(
    const Ptr<PrimFunc>& func, const std::function<bool(std::string_view features)>& has_features) {
  Rewriter rewrite;
  rewrite.on<Call>([&](const Call& call) -> Expr {
    const Ptr<Call> inner = rewrite.children(call);
    const DotIntrinsic* intrinsic = find_dot_intrinsic(*inner);
    if (!intrinsic) return inner;
    const bool is_there = has_features(intrinsic->features) ||
                          (!intrinsic->or_these.empty() && has_features(intrinsic->or_these));
    if (is_there) return inner;
    const Expr meaning = meaning_of(*intrinsic, *inner);
    return meaning.defined() ? meaning : Expr(inner);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
