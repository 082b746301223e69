// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/c_operators.h"

#include <algorithm>

namespace loopsmith::detail {
namespace {

constexpr COperator operators[] = {
    {kind_of<Add>, "+", "add", CLevel::sum, arith::add},
    {kind_of<Sub>, "-", "sub", CLevel::sum, arith::subtract},
    {kind_of<Mul>, "*", "mul", CLevel::product, arith::multiply},
    {kind_of<Div>, "/", "div", CLevel::product, arith::trunc_divide},
    {kind_of<Mod>, "%", "mod", CLevel::product, arith::trunc_modulo},
    {kind_of<FloorDiv>, "/", "floordiv", CLevel::product, arith::floor_divide},
    {kind_of<FloorMod>, "%", "floormod", CLevel::product, arith::floor_modulo},
    {kind_of<Min>, "<", "min", CLevel::compare, arith::minimum},
    {kind_of<Max>, ">", "max", CLevel::compare, arith::maximum},
    {kind_of<EQ>, "==", "", CLevel::equal, nullptr},
    {kind_of<NE>, "!=", "", CLevel::equal, nullptr},
    {kind_of<LT>, "<", "", CLevel::compare, nullptr},
    {kind_of<LE>, "<=", "", CLevel::compare, nullptr},
    {kind_of<GT>, ">", "", CLevel::compare, nullptr},
    {kind_of<GE>, ">=", "", CLevel::compare, nullptr},
};

}  // namespace

const COperator& c_operator_of(const Expr& expr) {
  return *std::ranges::find(operators, expr.get()->kind, &COperator::kind);
}

bool fits_type(DataType dtype, const ConstIntBound& bound) {
  const ConstIntBound all = arith::all_of(dtype);
  return bound.min_value >= all.min_value && bound.max_value <= all.max_value &&
         bound.min_value != ConstIntBound::neg_inf && bound.max_value != ConstIntBound::pos_inf;
}

int depth_over(const CText& a, const CText& b) {
  return std::max(a.depth, b.depth) + 1;
}

CText c_infix(const CText& a, std::string_view sign, const CText& b, CLevel level) {
  // Of operators of one level, the left one comes first.
  const auto tighter = static_cast<CLevel>(static_cast<int>(level) + 1);
  return {.text = fmt::format("{} {} {}", a.in(level), sign, b.in(tighter)),
          .level = level,
          .is_wide = a.is_wide || b.is_wide,
          .depth = depth_over(a, b)};
}

}  // namespace loopsmith::detail
