// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map/check.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

IterMapResult detect_iter_map(std::span<const Expr> indices, std::span<const Iterator> iterators,
                              const IterMapOptions& options, Analyzer& analyzer) {
  IterMapResult result;
  arith::IterReader reader(iterators, options, analyzer);
  reader.constrain(options.predicate, false);
  for (const Expr& index : indices) {
    result.indices.push_back(arith::fused(reader.read(index), reader));
  }
  if (!reader.failed() && options.level != IterMapLevel::no_check) {
    result.is_injective = arith::check_digits(result.indices, options, reader);
  }
  if (!reader.failed()) {
    reader.forget_constraints();
    result.padding_predicate = arith::padding_predicate(result.indices, reader);
  }
  if (const char* reason = reader.arithmetic().failure()) {
    return {.errors = {reason}, .padding_predicate = false};
  }
  return result;
}

std::vector<Expr> iter_map_simplify(std::span<const Expr> indices,
                                    std::span<const Iterator> iterators,
                                    const IterMapOptions& options, Analyzer& analyzer) {
  std::vector<Expr> result(indices.begin(), indices.end());
  arith::IterReader reader(iterators, options, analyzer);
  reader.constrain(options.predicate, true);
  if (reader.failed()) return result;  // The iterators have no form that is known.
  // An index that has no such form stays as it is; its neighbours need not.
  std::vector<std::optional<IterSumExpr>> sums(result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    sums[i] = reader.read(result[i]);
    if (reader.arithmetic().take_failure()) sums[i].reset();
  }
  reader.forget_constraints();
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!sums[i]) continue;
    const Expr simple = arith::to_expr(reader, *sums[i], result[i].dtype());
    if (reader.arithmetic().take_failure()) continue;
    if (!structural_equal(simple, result[i])) result[i] = simple;
  }
  return result;
}

IterSumExpr normalize_to_iter_sum(const Expr& index, std::span<const Iterator> iterators,
                                  Analyzer& analyzer) {
  IterMapOptions options;
  options.level = IterMapLevel::no_check;
  options.simplify_trivial_iterators = false;
  arith::IterReader reader(iterators, options, analyzer);
  IterSumExpr sum = reader.read_what_is_known(index);
  return reader.failed() ? IterSumExpr{{}, SymbolicInt(index)} : sum;
}

Expr normalize_iter_map_to_expr(const IterSumExpr& sum, DataType dtype, Analyzer& analyzer) {
  arith::IterReader reader({}, {}, analyzer);
  const Expr result = arith::to_expr(reader, sum, dtype);
  require(!reader.failed(), "map_has_expression", hint("use smaller scales"),
          "normalize_iter_map_to_expr: the sum has no expression: {}",
          reader.arithmetic().failure());
  return result;
}

}  // namespace loopsmith
