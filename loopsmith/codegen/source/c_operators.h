// SPDX-License-Identifier: Apache-2.0
// Operators of C: which one computes a node, and how its operands are written.
#pragma once
#include "loopsmith/codegen/source/c_writer.h"

namespace loopsmith::detail {

/// What computes a binary node: an operator, or a function where that would leave its type.
struct COperator {
  std::uint16_t kind;
  std::string_view sign;
  std::string_view function;
  CLevel level;
  ConstIntBound (*bound)(const ConstIntBound&, const ConstIntBound&);
};
const COperator& c_operator_of(const Expr& expr);

/// `a sign b`, with parentheses where C needs them.
CText c_infix(const CText& a, std::string_view sign, const CText& b, CLevel level);

/// How deep an operator of both is.
int depth_over(const CText& a, const CText& b);

/// True when all values within `bound` are values of the type, and there are such bounds.
bool fits_type(DataType dtype, const ConstIntBound& bound);

}  // namespace loopsmith::detail
