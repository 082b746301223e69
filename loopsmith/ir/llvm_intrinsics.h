// SPDX-License-Identifier: Apache-2.0
// What some of LLVM's intrinsics, and `dp4a`, mean: for the interpreter, for scheduling, and for
// machines without their instructions.
#pragma once
#include <span>
#include <string_view>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// An intrinsic that sums products of neighbouring lanes: lane i of the result is
/// acc[i] + a[group * i] * b[group * i] + ... + a[group * i + group - 1] * b[...].
struct DotIntrinsic {
  std::string_view name;
  DataType result;  ///< Of the lanes, as `acc`.
  DataType a;
  DataType b;
  int group = 1;
  bool accumulates = true;         ///< Its first operand is `acc`; else that is 0.
  std::string_view features;       ///< A processor with these has its instruction: `+avx512vnni`.
  std::string_view or_these = {};  ///< One with these, too.
};

/// All of LLVM's that are known, from those that do more at once to those that do less.
std::span<const DotIntrinsic> dot_intrinsics();

/// The intrinsic that a call of call_llvm_intrin or call_llvm_pure_intrin names, or what a call of
/// dp4a is; null where its meaning is not known.
const DotIntrinsic* find_dot_intrinsic(const Call& call);

/// The place of the first operand in a call of call_llvm_intrin or call_llvm_pure_intrin: after the
/// name, and how many of them decide the types, a constant of uint32, which may be left out.
std::size_t first_operand(const Call& call);

/// What such a call computes, as an expression without it; null where its operands do not fit.
Expr meaning_of(const DotIntrinsic& intrinsic, const Call& call);

}  // namespace loopsmith
