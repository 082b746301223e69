// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_init.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loopsmith/arith/empty_reductions.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

Ptr<Block> without_init(const Block& block, Stmt body) {
  Block copy = block;
  copy.init = nullptr;
  copy.body = std::move(body);
  return make(std::move(copy));
}

/// True when a reduction starts at what loops around the block say.
bool starts_by_loops(const Block& block) {
  return std::ranges::any_of(block.iter_vars, [](const auto& axis) {
    return arith::is_reduction(*axis) && !free_variables(axis->dom->min).empty();
  });
}

/// The init before the block, where the values of its reduction axes are at their start: inside of
/// it, loops have no values.
Stmt init_beside(const BlockRealize& realize) {
  const Block& block = *realize.block;
  Expr predicate = realize.predicate;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    if (!arith::is_reduction(axis)) continue;
    predicate = predicate && realize.iter_values[i] == axis.dom->min;
  }
  BlockRealize copy = realize;
  copy.block = without_init(block, block.body);
  return seq({clone_with(arith::init_block(realize, predicate), {}), make(std::move(copy))});
}

/// The block with its init under the condition that its reduction axes are at their start.
Stmt guard_init(const BlockRealize& realize) {
  const Block& block = *realize.block;
  const bool has_own_memory = !block.alloc_buffers.empty() || !block.match_buffers.empty();
  if (starts_by_loops(block) && !has_own_memory) return init_beside(realize);
  Expr at_start = true;
  for (const auto& axis : block.iter_vars) {
    if (arith::is_reduction(*axis)) at_start = at_start && axis->var == axis->dom->min;
  }
  BlockRealize copy = realize;
  copy.block = without_init(block, seq({guarded(at_start, block.init), block.body}));
  return make(std::move(copy));
}

bool is_reduction(const Block& block) {
  return std::ranges::any_of(block.iter_vars,
                             [](const auto& axis) { return arith::is_reduction(*axis); });
}

/// True for a store that says by itself how it combines.
bool accumulates(const Stmt& stmt) {
  const auto* store = stmt.as<BufferStore>();
  return store && accumulation_of(*store);
}

/// The buffers to which `stmt` stores.
std::vector<Ptr<Buffer>> stored_buffers(const Stmt& stmt) {
  std::vector<Ptr<Buffer>> stored;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) stored.push_back(store->buffer);
    return !is_expr(*ref.get());
  });
  return stored;
}

using Way = std::span<const arith::PathStep>;

/// The place on the way to a block of the outermost loop that is recorded to accumulate together
/// what the block updates; nullopt where there is none.
std::optional<std::size_t> regrouping_around(const Block& block, Way way) {
  const std::vector<Ptr<Buffer>> written = stored_buffers(block.body);
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (!way[i].loop) continue;
    const auto regrouped = regrouped_buffers(*way[i].loop);
    const bool is_it = std::ranges::any_of(regrouped, [&](const Ptr<Buffer>& buffer) {
      return std::ranges::any_of(written, [&](const auto& one) { return one.same_as(buffer); });
    });
    if (is_it) return i;
  }
  return {};
}

/// The place of the outermost reduction loop of a perfect nest, if the init may go before it.
std::optional<std::size_t> reduction_around(const BlockRealize& realize, Way way) {
  std::size_t first = way.size();
  for (std::size_t above = way.size(); above > 0 && way[above - 1].loop; --above) {
    if (arith::is_reduction_loop(realize, way[above - 1].loop->loop_var)) first = above - 1;
  }
  if (first == way.size() || !arith::have_own_elements(realize, way.subspan(first))) return {};
  return first;
}

/// The block with a mark on its body, by which it is known when blocks are gone.
Stmt marked(const BlockRealize& realize) {
  Block block = *realize.block;
  block.body = make(AttrStmt{.node = block.annotations.get(reducer_annotation),
                             .attr_key = std::string(combines_key),
                             .value = int_imm(i32, 1),
                             .body = block.body});
  BlockRealize copy = realize;
  copy.block = make(std::move(block));
  return make(std::move(copy));
}

}  // namespace

Ptr<PrimFunc> lower_init(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  // The way to the current place, from the last statement across which nothing moves.
  std::vector<arith::PathStep> path;
  std::unordered_map<const For*, std::vector<Stmt>> before;  // What goes before a loop.
  arith::EmptyReductions empty_reductions;
  std::unordered_set<const Block*> given;  // Whose inits before a loop run for nothing, too.

  const auto apart = [&](const auto& node) -> Stmt {
    std::vector<arith::PathStep> outside;
    outside.swap(path);
    const Stmt inner = rewrite.children(node);
    outside.swap(path);
    return inner;
  };
  rewrite.on<LetStmt>([&](const LetStmt& node) { return apart(node); });
  rewrite.on<While>([&](const While& node) { return apart(node); });

  rewrite.on<IfThenElse>([&](const IfThenElse& branch) -> Stmt {
    IfThenElse copy = branch;
    path.push_back({.condition = branch.condition});
    copy.then_case = rewrite(branch.then_case);
    path.back().condition = !branch.condition;
    if (branch.else_case) copy.else_case = rewrite(branch.else_case);
    path.pop_back();
    const bool is_same =
        copy.then_case.same_as(branch.then_case) && copy.else_case.same_as(branch.else_case);
    return is_same ? Stmt(&branch) : make(std::move(copy));
  });

  rewrite.on<For>([&](const For& loop) -> Stmt {
    empty_reductions.before(loop);  // Loops are entered from the outermost one.
    const std::size_t length = path.size();
    path.push_back({.loop = &loop});
    // A sequence, or memory.
    if (!loop.body.is<For>() && !loop.body.is<BlockRealize>()) path.emplace_back();
    Stmt inner = rewrite.children(loop);
    path.resize(length);
    std::vector<Stmt> all;
    if (const Stmt if_empty = empty_reductions.before(loop, given)) all.push_back(if_empty);
    if (const auto inits = before.find(&loop); inits != before.end()) {
      std::ranges::move(inits->second, std::back_inserter(all));
    }
    if (all.empty()) return inner;
    all.push_back(std::move(inner));
    return seq(std::move(all));
  });

  rewrite.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
    Stmt made = apart(realize);
    const auto regrouping = regrouping_around(*realize.block, path);
    if (regrouping && is_reduction(*realize.block) && !accumulates(realize.block->body)) {
      made = marked(*made.as<BlockRealize>());
    }
    const auto& inner = *made.as<BlockRealize>();
    if (!inner.block->init) return made;
    const auto place = regrouping ? std::optional(arith::init_place(inner, path, *regrouping))
                                  : reduction_around(inner, path);
    const auto hoisted = place ? arith::init_before(inner, std::span(path).subspan(*place))
                               : std::optional<arith::HoistedInit>();
    if (!hoisted) return guard_init(inner);
    before[path[*place].loop].push_back(hoisted->init);
    const bool is_inside =
        std::ranges::any_of(std::span(path).first(*place), [&](const arith::PathStep& step) {
          return step.loop && arith::is_reduction_loop(inner, step.loop->loop_var);
        });
    if (hoisted->is_for_nothing && !is_inside) given.insert(realize.block.get());
    BlockRealize copy = inner;
    copy.block = without_init(*inner.block, inner.block->body);
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
