// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_init.h"

#include <algorithm>
#include <unordered_map>

#include "loopsmith/arith/hoisted_inits.h"
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

/// The block with its init under the condition that its reduction axes are at their start.
Stmt guard_init(const BlockRealize& realize) {
  const Block& block = *realize.block;
  Expr at_start = true;
  for (const auto& axis : block.iter_vars) {
    if (axis->iter_type == IterType::comm_reduce)
      at_start = at_start && axis->var == axis->dom->min;
  }
  BlockRealize copy = realize;
  copy.block = without_init(block, seq({guarded(at_start, block.init), block.body}));
  return make(std::move(copy));
}

}  // namespace

Ptr<PrimFunc> lower_init(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  std::vector<const For*> nest;  // The loops with nothing but each other around the current place.
  std::unordered_map<const For*, Stmt> before;  // What goes before a loop.
  arith::HoistedInits initial_nests;

  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt if_empty = initial_nests.before(loop);
    const bool goes_on = loop.body.is<For>() || loop.body.is<BlockRealize>();
    nest.push_back(&loop);
    std::vector<const For*> outside;
    if (!goes_on) outside.swap(nest);
    const Stmt inner = rewrite.children(loop);
    if (!goes_on) outside.swap(nest);
    nest.pop_back();
    const auto init = before.find(&loop);
    if (init != before.end()) return seq({init->second, inner});
    return if_empty ? seq({if_empty, inner}) : inner;
  });

  rewrite.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
    std::vector<const For*> loops;
    loops.swap(nest);
    Ptr<BlockRealize> inner = rewrite.children(realize);
    loops.swap(nest);
    const Block& block = *inner->block;
    if (!block.init) return inner;

    const auto first = std::find_if(nest.begin(), nest.end(), [&](const For* loop) {
      return arith::is_reduction_loop(*inner, loop->loop_var);
    });
    const Stmt init =
        first == nest.end() ? Stmt() : initial_nests.nest_of(*inner, {first, nest.end()}, true);
    if (!init) return guard_init(*inner);
    before[*first] = init;
    BlockRealize copy = *inner;
    copy.block = without_init(block, block.body);
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
