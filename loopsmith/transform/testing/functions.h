// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::testing {

/// A function of the given tensors, and of scalars after them.
Ptr<PrimFunc> function(const std::vector<Ptr<Buffer>>& tensors, Stmt body,
                       const std::vector<Ptr<Var>>& scalars = {});

/// Success when both are structurally equal; else the first difference, with pictures.
::testing::AssertionResult same(const Ref& actual, const Ref& expected);

/// An axis over [0, extent).
Ptr<IterVar> axis(const Ptr<Var>& variable, Expr extent, IterType type = IterType::data_par);

/// A block of these axes and values.
Stmt block(const std::vector<Ptr<IterVar>>& axes, std::vector<Expr> values, Stmt body,
           Stmt init = nullptr, Expr predicate = true);

/// Memory for `buffer` around `body`.
Stmt allocated(const Ptr<Buffer>& buffer, Stmt body);

/// What `call` throws, as text; empty when it throws nothing.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

inline Expr f(double value) {
  return float_imm(f32, value);
}
inline Stmt if_then(Expr condition, Stmt then_case, Stmt else_case = nullptr) {
  return make(IfThenElse{.condition = condition, .then_case = then_case, .else_case = else_case});
}
inline Expr ramp(Expr base, Expr stride, int lanes) {
  return make(Ramp{.base = base, .stride = stride, .lanes = lanes});
}

}  // namespace loopsmith::testing
