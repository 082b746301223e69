// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/product_sums.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/rules/plain_loops/products.h"
#include "loopsmith/rules/plain_loops/statements.h"
#include "loopsmith/schedule/queries/allocated_buffer.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::plain_loops {
namespace {

/// A variable that is summed up, and the loops that it gets a dimension for, the last one first.
struct ProductSum {
  Ptr<Buffer> variable;
  std::vector<LoopRV> loops;
};

/// The store of what a sum has come to, among the statements of a nest.
const Statement* result_of(const Statement& sum, std::size_t depth,
                           const std::vector<Statement>& statements) {
  const auto is_result = [&](const Statement& each) {
    return each.loops.size() == depth && !each.is_conditional &&
           !each.store->buffer.same_as(sum.store->buffer) &&
           loads_from(each.store->value, sum.store->buffer);
  };
  const auto found = std::ranges::find_if(statements, is_result);
  return found == statements.end() ? nullptr : &*found;
}

/// The variable of a statement, where its results make the statement a product. Its places are no
/// more than those of the results.
std::optional<ProductSum> product_sum(const Schedule& schedule, LoopRV nest, const Statement& sum,
                                      const std::vector<Statement>& statements,
                                      const Machine& machine) {
  const Ptr<Buffer>& variable = sum.store->buffer;
  if (!sum.is_accumulation || !has_one_element(*variable)) return {};
  const auto allocated = allocated_at(schedule, nest, {variable});
  if (!allocated || !is_inside(schedule, allocated->owner, schedule.node(nest))) return {};
  const Handles<LoopRV> around = loops_around(schedule, allocated->owner);
  const std::size_t depth = around.size(), first = nest_around(schedule, nest).size();
  const Statement* result = result_of(sum, depth, statements);
  if (!result) return {};
  Statement summed = sum;
  summed.references[0] = result->references[0];
  const auto product = product_of(summed, first, machine);
  if (!product || product->sum < depth || product->rows >= depth || product->columns >= depth) {
    return {};
  }
  ProductSum found{variable, {around[product->columns]}};
  for (std::size_t i = depth; i-- > std::min(product->rows, product->columns);) {
    const bool moves = motion_of(summed.references[0], *sum.loops[i]).kind != Motion::Kind::none;
    if (!moves) return {};
    if (i != product->columns) found.loops.push_back(around[i]);
  }
  return found;
}

}  // namespace

bool expand_product_sums(Steps& steps, LoopRV nest, const Machine& machine) {
  const Schedule& schedule = steps.schedule();
  std::vector<Statement> statements = statements_in(schedule.statement(schedule.node(nest)));
  const std::vector<const For*> around = nest_around(schedule, nest);
  for (Statement& each : statements) {
    each.loops.insert(each.loops.begin(), around.begin(), around.end());
  }
  std::vector<ProductSum> sums;
  for (const Statement& each : statements) {
    if (auto found = product_sum(schedule, nest, each, statements, machine)) {
      sums.push_back(*std::move(found));
    }
  }
  bool any = false;
  for (const ProductSum& sum : sums) {
    // Each dimension is put in front of those before.
    const auto expand = [&](LoopRV loop) { return steps.expand_scalar(sum.variable, loop); };
    any = std::ranges::all_of(sum.loops, expand) || any;
  }
  return any;
}

}  // namespace loopsmith::plain_loops
