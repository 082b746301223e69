// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/matrix_form.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/schedule/primitives/reindex.h"
#include "loopsmith/schedule/primitives/transform_block_layout.h"
#include "loopsmith/schedule/primitives/transform_layout.h"
#include "loopsmith/support/error.h"

namespace loopsmith::gpu {
namespace {

using Side = BufferSelector::Side;

/// A block, or a copy of an operand and the block that makes it, with the axes that it has: the
/// numbers that these had in the product.
struct Axes {
  std::vector<std::size_t> numbers;

  bool has(std::size_t number) const { return std::ranges::find(numbers, number) != numbers.end(); }
};

struct Copy {
  BlockRV block;
  BufferSelector buffer;
  Axes axes;
};

class MatrixForm {
 public:
  MatrixForm(Schedule& schedule, BlockRV block) : schedule_(schedule), block_(block) {
    const auto& axes = schedule.get(block).iter_vars;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      axes_.numbers.push_back(i);
      extents_.push_back(axes[i]->dom->extent);
    }
  }

  void run(const std::vector<std::vector<std::size_t>>& kinds) {
    for (const auto& buffer : {BufferSelector(0, Side::read), BufferSelector(1, Side::read),
                               BufferSelector(0, Side::write)}) {
      const BlockRV copy = reindex(schedule_, block_, buffer);
      copies_.push_back({copy, buffer, axes_of(buffer)});
    }
    for (const auto& kind : kinds) {
      for (std::size_t i = kind.size(); i-- > 1;) join(kind[i - 1], kind[i]);
    }
  }

 private:
  /// The axes by which the block indexes a copy, as it is after `reindex`.
  Axes axes_of(const BufferSelector& buffer) const {
    const Block& block = schedule_.get(block_);
    const auto& regions = buffer.side == Side::read ? block.reads : block.writes;
    const auto number = static_cast<std::size_t>(std::get<std::int64_t>(buffer.value));
    Axes axes;
    for (const Ptr<Range>& range : regions[number]->region) {
      for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
        if (range->min.same_as(block.iter_vars[i]->var)) axes.numbers.push_back(i);
      }
    }
    require(axes.numbers.size() == regions[number]->region.size(), "copies_have_axes",
            hint("keep the form"), "a copy is not indexed by axes");
    return axes;
  }

  /// One axis in the place of `outer`, of all that have both; buffers with one of them have both.
  void join(std::size_t outer, std::size_t inner) {
    for (Copy& copy : copies_) {
      if (!copy.axes.has(outer)) continue;
      const Ptr<IndexMap> map = joined(copy.axes, outer, inner);
      transform_layout(schedule_, block_, copy.buffer, map);
      transform_block_layout(schedule_, copy.block, map);
      std::erase(copy.axes.numbers, inner);
    }
    transform_block_layout(schedule_, block_, joined(axes_, outer, inner));
    std::erase(axes_.numbers, inner);
    extents_[outer] = extents_[outer] * extents_[inner];
  }

  Ptr<IndexMap> joined(const Axes& axes, std::size_t outer, std::size_t inner) const {
    IndexMap map;
    std::vector<Ptr<Var>> of_number(extents_.size());
    for (const std::size_t number : axes.numbers) {
      of_number[number] = var(fmt::format("i{}", number), extents_[number].dtype());
      map.initial_indices.push_back(of_number[number]);
    }
    for (const std::size_t number : axes.numbers) {
      if (number == inner) continue;
      Expr index = of_number[number];
      if (number == outer) index = index * extents_[inner] + of_number[inner];
      map.final_indices.push_back(index);
    }
    return make(std::move(map));
  }

  Schedule& schedule_;
  BlockRV block_;
  Axes axes_;
  std::vector<Expr> extents_;
  std::vector<Copy> copies_;
};

bool is_of_matrices(const Schedule& schedule, BlockRV block, const ProductLoops& product) {
  const Block& body = schedule.get(block);
  const auto is_axis = [&](const Ptr<Range>& range) {
    return as_int(range->min) || std::ranges::any_of(body.iter_vars, [&](const auto& axis) {
             return range->min.same_as(axis->var);
           });
  };
  for (const auto* regions : {&body.reads, &body.writes}) {
    for (const Ptr<BufferRegion>& region : *regions) {
      if (!std::ranges::all_of(region->region, is_axis)) return false;
    }
  }
  return product.rows.size() == 1 && product.columns.size() == 1 && product.reduction.size() == 1;
}

}  // namespace

std::optional<ProductLoops> product_loops(const Schedule& schedule, BlockRV block) {
  const NestLoops loops = loops_of(schedule, block);
  const auto& reads = schedule.get(block).reads;
  if (loops.reduction.empty() || loops.spatial.size() < 2 || reads.size() != 2) return {};
  ProductLoops found{.reduction = loops.reduction};
  for (const LoopRV loop : loops.spatial) {
    const Ptr<Var> axis = axis_of(schedule, block, loop);
    if (!axis.get()) return {};
    const bool of_first = uses(*reads[0], axis), of_second = uses(*reads[1], axis);
    (of_first == of_second ? found.batch : of_first ? found.rows : found.columns).push_back(loop);
  }
  for (const LoopRV loop : loops.reduction) {
    const Ptr<Var> axis = axis_of(schedule, block, loop);
    if (!axis.get() || !uses(*reads[0], axis) || !uses(*reads[1], axis)) return {};
  }
  if (found.rows.empty() || found.columns.empty()) return {};
  const Ptr<Var> last = axis_of(schedule, block, found.rows.back());
  const auto& written = schedule.get(block).writes[0]->region;
  if (!written.empty() && uses_variable(written.back()->min, last)) {
    std::swap(found.rows, found.columns);
    std::swap(found.row_operand, found.column_operand);
  }
  return found;
}

ProductLoops require_product_loops(const Schedule& schedule, BlockRV block) {
  auto found = product_loops(schedule, block);
  require(found.has_value(), "block_is_product", hint("keep the form"),
          "rows or columns of the product are gone");
  return *std::move(found);
}

std::vector<LoopRV> ProductLoops::in_order() const {
  std::vector<LoopRV> order = batch;
  for (const auto* loops : {&rows, &columns, &reduction}) {
    order.insert(order.end(), loops->begin(), loops->end());
  }
  return order;
}

std::optional<std::vector<std::int64_t>> padding_of(const Schedule& schedule, BlockRV block,
                                                    const ProductLoops& product, std::int64_t rows,
                                                    std::int64_t columns, std::int64_t steps) {
  std::vector<std::int64_t> factors;
  bool is_whole = true;
  for (const Ptr<IterVar>& axis : schedule.get(block).iter_vars) {
    const auto is_of = [&](const std::vector<LoopRV>& loops) {
      return loops.size() == 1 && axis->var.same_as(axis_of(schedule, block, loops[0]));
    };
    factors.push_back(is_of(product.rows)        ? rows
                      : is_of(product.columns)   ? columns
                      : is_of(product.reduction) ? steps
                                                 : 1);
    const std::int64_t* extent = as_int(axis->dom->extent);
    is_whole = is_whole && (factors.back() == 1 || (extent && *extent % factors.back() == 0));
  }
  return is_whole ? std::nullopt : std::optional(std::move(factors));
}

std::optional<std::size_t> dimension_of_steps(const Schedule& schedule, BlockRV block,
                                              std::int64_t operand) {
  const Block& body = schedule.get(block);
  const auto& region = body.reads[static_cast<std::size_t>(operand)]->region;
  const auto counts_steps = [&](const Ptr<Range>& range) {
    return std::ranges::any_of(body.iter_vars, [&](const Ptr<IterVar>& axis) {
      return axis->iter_type == IterType::comm_reduce && range->min.same_as(axis->var);
    });
  };
  for (std::size_t d = region.size(); d-- > 0;) {
    if (counts_steps(region[d])) return d;
  }
  return {};
}

bool reads_steps_last(const Schedule& schedule, BlockRV block, std::int64_t operand) {
  const auto steps = dimension_of_steps(schedule, block, operand);
  const Block& body = schedule.get(block);
  return steps && *steps + 1 == body.reads[static_cast<std::size_t>(operand)]->region.size();
}

void bring_into_matrix_form(Schedule& schedule, BlockRV block) {
  const auto product = product_loops(schedule, block);
  if (!product || is_of_matrices(schedule, block, *product)) return;
  const auto& axes = schedule.get(block).iter_vars;
  std::vector<std::vector<std::size_t>> kinds;
  for (const auto* loops :
       {&product->batch, &product->rows, &product->columns, &product->reduction}) {
    auto& kind = kinds.emplace_back();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto is_it = [&](LoopRV loop) {
        return axes[i]->var.same_as(axis_of(schedule, block, loop));
      };
      if (std::ranges::any_of(*loops, is_it)) kind.push_back(i);
    }
  }
  MatrixForm(schedule, block).run(kinds);
}

}  // namespace loopsmith::gpu
