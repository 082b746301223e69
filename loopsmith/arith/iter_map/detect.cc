// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map/check.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {

IterMapResult detect_iter_map(std::span<const Expr> indices, std::span<const Iterator> iterators,
                              const IterMapOptions& options, Analyzer& analyzer) {
  IterMapResult result;
  try {
    arith::IterReader reader(iterators, options, analyzer);
    reader.constrain(options.predicate, false);
    for (const Expr& index : indices) {
      result.indices.push_back(arith::fused(reader.read(index), reader));
    }
    if (options.level != IterMapLevel::no_check) {
      result.is_injective = arith::check_digits(result.indices, options, reader);
    }
    reader.forget_constraints();
    result.padding_predicate = arith::padding_predicate(result.indices, reader);
  } catch (const arith::NoIterMap& failure) {
    result = {};
    result.padding_predicate = false;
    result.errors.emplace_back(failure.reason);
  }
  return result;
}

std::vector<Expr> iter_map_simplify(std::span<const Expr> indices,
                                    std::span<const Iterator> iterators,
                                    const IterMapOptions& options, Analyzer& analyzer) {
  std::vector<Expr> result(indices.begin(), indices.end());
  try {
    arith::IterReader reader(iterators, options, analyzer);
    reader.constrain(options.predicate, true);
    // An index that has no such form stays as it is; its neighbours need not.
    std::vector<std::optional<IterSumExpr>> sums(result.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      try {
        sums[i] = reader.read(result[i]);
      } catch (const arith::NoIterMap&) {
      }
    }
    reader.forget_constraints();
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!sums[i]) continue;
      const Expr simple = arith::to_expr(reader, *sums[i], result[i].dtype());
      if (!structural_equal(simple, result[i])) result[i] = simple;
    }
  } catch (const arith::NoIterMap&) {  // The iterators have no form that is known.
  }
  return result;
}

IterSumExpr normalize_to_iter_sum(const Expr& index, std::span<const Iterator> iterators,
                                  Analyzer& analyzer) {
  IterMapOptions options;
  options.level = IterMapLevel::no_check;
  options.simplify_trivial_iterators = false;
  try {
    return arith::IterReader(iterators, options, analyzer).read_what_is_known(index);
  } catch (const arith::NoIterMap&) {
    return {{}, SymbolicInt(index)};
  }
}

Expr normalize_iter_map_to_expr(const IterSumExpr& sum, DataType dtype, Analyzer& analyzer) {
  arith::IterReader reader({}, {}, analyzer);
  return arith::to_expr(reader, sum, dtype);
}

}  // namespace loopsmith
