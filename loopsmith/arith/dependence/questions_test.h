// SPDX-License-Identifier: Apache-2.0
// Short programs to ask about, and answers as text.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::dependence_testing {

using Loops = std::vector<Ptr<Var>>;

/// What programs are made of.
struct Program {
  Ptr<Var> i = var("i"), j = var("j"), k = var("k"), n = var("n"), m = var("m");
  Ptr<Buffer> a = decl_buffer({1000, 1000}, f32, "A"), b = decl_buffer({1000, 1000}, f32, "B"),
              c = decl_buffer({1000, 1000}, f32, "C"), x = decl_buffer({1000}, f32, "X"),
              y = decl_buffer({1000}, f32, "Y");

  static Stmt loop(const Ptr<Var>& variable, const Expr& extent, Stmt body, const Expr& min = 0) {
    return for_loop(variable, min, extent, std::move(body));
  }
};

inline std::string text_of(const DependenceAnswer& answer) {
  switch (answer.verdict) {
    case Verdict::proved: return answer.reductions ? "reduction" : "proved";
    case Verdict::unknown: return "unknown: " + answer.reason;
    case Verdict::violated: return answer.witness ? answer.witness->text() : answer.reason;
  }
  return {};
}

}  // namespace loopsmith::dependence_testing
