// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/multiply_out.h"

#include <algorithm>
#include <functional>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

constexpr std::int64_t max_terms = 64;

/// The terms of an index that is multiplied out, or more than `max_terms`.
std::int64_t count_terms(const Expr& index) {
  const auto of_both = [](const auto& node, auto&& combine) {
    return std::min(combine(count_terms(node.a), count_terms(node.b)), max_terms + 1);
  };
  if (const auto* sum = index.as<Add>()) return of_both(*sum, std::plus<>());
  if (const auto* difference = index.as<Sub>()) return of_both(*difference, std::plus<>());
  if (const auto* product = index.as<Mul>()) return of_both(*product, std::multiplies<>());
  if (const auto* conversion = index.as<Cast>()) return count_terms(conversion->value);
  return 1;
}

Expr product_of_sums(const Expr& a, const Expr& b) {
  if (const auto* sum = a.as<Add>()) return product_of_sums(sum->a, b) + product_of_sums(sum->b, b);
  if (const auto* difference = a.as<Sub>()) {
    return product_of_sums(difference->a, b) - product_of_sums(difference->b, b);
  }
  return b.is<Add>() || b.is<Sub>() ? product_of_sums(b, a) : a * b;
}

Expr converted(DataType type, const Expr& index) {
  const auto inside = [&](const Expr& part) { return converted(type, part); };
  if (const auto* sum = index.as<Add>()) return inside(sum->a) + inside(sum->b);
  if (const auto* difference = index.as<Sub>())
    return inside(difference->a) - inside(difference->b);
  if (const auto* product = index.as<Mul>()) return inside(product->a) * inside(product->b);
  return cast(type, index);
}

}  // namespace

Expr multiply_out(const Expr& index) {
  if (count_terms(index) > max_terms) return index;
  Rewriter rewrite;
  rewrite.on<Mul>(
      [&](const Mul& node) { return product_of_sums(rewrite(node.a), rewrite(node.b)); });
  rewrite.on<Cast>([&](const Cast& node) -> Expr {
    const bool is_index = node.dtype.is_index() && node.value.dtype().is_index();
    return is_index ? converted(node.dtype, rewrite(node.value)) : Expr(&node);
  });
  return rewrite(index);
}

}  // namespace loopsmith
