// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::gpu {

/// The loops of a product: those that both operands use, only one, only the other, and those that
/// are reduced over.
struct ProductLoops {
  std::vector<LoopRV> batch, rows, columns, reduction;
  std::int64_t row_operand = 0, column_operand = 1;  ///< Numbers among the reads.

  /// All of them, in this order.
  std::vector<LoopRV> in_order() const;
};

/// The loops of a block whose two operands each lack an axis of the result, columns being those
/// along which results are neighbours; none of other blocks.
std::optional<ProductLoops> product_loops(const Schedule& schedule, BlockRV block);
/// The same; throws where there are none, as in the form of matrices an axis of one row is none.
ProductLoops require_product_loops(const Schedule& schedule, BlockRV block);

/// The factors for `pad_einsum` that make rows, columns and steps of the reduction multiples of
/// these; none where they are already.
std::optional<std::vector<std::int64_t>> padding_of(const Schedule& schedule, BlockRV block,
                                                    const ProductLoops& product, std::int64_t rows,
                                                    std::int64_t columns, std::int64_t steps);

/// Which index of an operand of matrices counts the steps of the reduction.
std::optional<std::size_t> dimension_of_steps(const Schedule& schedule, BlockRV block,
                                              std::int64_t operand);

/// True when neighbours in the memory of an operand of matrices are steps of the reduction.
bool reads_steps_last(const Schedule& schedule, BlockRV block, std::int64_t operand);

/// Brings a product of several axes of a kind, as a convolution is one, into the form of a product
/// of matrices, on copies of its operands that are indexed by rows, columns and steps of the
/// reduction. The copies are blocks of their own, for steps that move or inline them:
///
///     Y[f, y, x] += X[c, y + p, x + q] * W[f, c, p, q]
///       =>
///     X'[y * w + x, c * 9 + p * 3 + q] = X[c, y + p, x + q]
///     W'[f, c * 9 + p * 3 + q] = W[f, c, p, q]
///     Y'[y * w + x, f] += X'[y * w + x, k] * W'[f, k]
///     Y[f, y, x] = Y'[y * w + x, f]
///
/// Where it is one already, no step is taken. A step that is refused throws.
void bring_into_matrix_form(Schedule& schedule, BlockRV block);

}  // namespace loopsmith::gpu
