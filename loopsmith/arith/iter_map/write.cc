// SPDX-License-Identifier: Apache-2.0
// Sums of digits as expressions.
#include <algorithm>

#include "loopsmith/arith/iter_map/reader.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::arith {
namespace {

class Writer {
 public:
  Writer(IterReader& reader, DataType dtype) : reader_(reader), dtype_(dtype) {}

  Expr operator()(const IterSumExpr& sum) {
    IterSumExpr flat = flattened(sum);
    std::stable_sort(flat.args.begin(), flat.args.end(),
                     [&](const auto& a, const auto& b) { return rank(a.scale) > rank(b.scale); });
    Expr result;
    SymbolicInt base = flat.base;
    // A whole variable is written without its least value.
    for (const IterSplitExpr& arg : flat.args) {
      if (!is_variable(arg)) continue;
      const SymbolicInt min(arg.source->min);
      base = reader_.arithmetic().subtract(base, reader_.arithmetic().multiply(min, arg.scale));
    }
    for (const IterSplitExpr& arg : flat.args) {
      const bool is_negative = arg.scale.is_constant() && arg.scale.constant < 0;
      if (is_negative && !result.defined() && !base.is(0)) {
        result = base.expr(dtype_);
        base = 0;
      }
      const SymbolicInt scale =
          is_negative ? reader_.arithmetic().multiply(arg.scale, -1) : arg.scale;
      const Expr term = digit(arg) * scale.expr(dtype_);
      if (is_negative) {
        result = result.defined() ? result - term : zero_of(dtype_) - term;
      } else {
        result = result.defined() ? result + term : term;
      }
    }
    if (!result.defined()) return base.expr(dtype_);
    if (base.is_constant() && base.constant < 0 && base.constant > -(std::int64_t{1} << 62)) {
      return result - int_imm(dtype_, -base.constant);
    }
    return result + base.expr(dtype_);
  }

  /// The value of a mark before it is divided.
  Expr source(const IterMark& mark) {
    if (!mark.var.defined()) return (*this)(mark.sum);
    return cast(dtype_, mark.var) - cast(dtype_, mark.min);
  }

 private:
  /// Symbolic scales before constants, large ones before small ones.
  static std::pair<bool, std::int64_t> rank(const SymbolicInt& scale) {
    return {!scale.is_constant(), scale.constant};
  }

  bool is_variable(const IterSplitExpr& split) {
    return split.source->var.defined() && split.lower_factor.is(1) &&
           arith::is_top(reader_.arithmetic(), split);
  }

  /// The sum in terms of digits that are no sums, but for those that no other form is known of.
  IterSumExpr flattened(const IterSumExpr& sum) {
    IterSumExpr result{{}, sum.base};
    for (const IterSplitExpr& arg : sum.args) {
      IterSumExpr part = parts(arg);
      result = reader_.sum(std::move(result), reader_.scaled(std::move(part), arg.scale));
    }
    return result;
  }

  /// The digit itself, without its scale, as a sum.
  IterSumExpr parts(IterSplitExpr digit) {
    digit.scale = 1;
    SymbolicArithmetic& arithmetic = reader_.arithmetic();
    const IterMark& mark = *digit.source;
    const bool is_top = arith::is_top(arithmetic, digit);
    if (digit.lower_factor.is(1) && is_top) {
      return mark.var.defined() ? IterSumExpr{{std::move(digit)}, 0} : flattened(mark.sum);
    }
    if (mark.var.defined() || reader_.failed()) return {{std::move(digit)}, 0};
    IterSumExpr result = reader_.divide(flattened(mark.sum), digit.lower_factor).quotient;
    if (!is_top) result = reader_.divide(std::move(result), digit.extent).remainder;
    const bool is_simpler =
        std::all_of(result.args.begin(), result.args.end(),
                    [&](const IterSplitExpr& arg) { return arg.source->depth < mark.depth; });
    if (is_simpler) result = flattened(result);
    // Where that fails, it stays a division of the whole.
    const bool is_division = arithmetic.take_failure() || !is_simpler;
    return is_division ? IterSumExpr{{std::move(digit)}, 0} : result;
  }

  Expr digit(const IterSplitExpr& split) {
    if (is_variable(split)) return cast(dtype_, split.source->var);
    Expr result = source(*split.source);
    if (!arith::is_top(reader_.arithmetic(), split)) {
      const SymbolicInt range = reader_.arithmetic().multiply(split.lower_factor, split.extent);
      result = floormod(result, range.expr(dtype_));
    }
    return floordiv(result, split.lower_factor.expr(dtype_));
  }

  IterReader& reader_;
  DataType dtype_;
};

}  // namespace

Expr to_expr(IterReader& reader, const IterSumExpr& sum, DataType dtype) {
  return Writer(reader, dtype)(sum);
}

Expr source_expr(IterReader& reader, const IterMark& mark, DataType dtype) {
  return Writer(reader, dtype).source(mark);
}

}  // namespace loopsmith::arith
