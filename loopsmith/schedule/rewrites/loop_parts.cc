// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/loop_parts.h"

#include <algorithm>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {

std::vector<const Block*> blocks_without_start(const Schedule& schedule, LoopRV handle,
                                               std::int64_t first_iteration,
                                               std::int64_t iterations) {
  const For& loop = schedule.get(handle);
  const std::int64_t start = *as_int(loop.min) + first_iteration * *as_int(loop.step);
  const std::int64_t last = start + (iterations - 1) * *as_int(loop.step);
  std::vector<const Block*> found;
  const auto visit = [&](const auto& self, NodeId node, IndexForms forms) -> void {
    const auto* inner = schedule.as<For>(node);
    if (inner && node != schedule.node(handle)) {
      if (const auto range = range_of(*inner)) forms.add_range(*range);
    }
    if (const auto* realize = schedule.as<BlockRealize>(node)) {
      bool never_starts = false;
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const IterVar& axis = *realize->block->iter_vars[i];
        forms.bind(axis.var, realize->iter_values[i]);
        const auto form = forms.read(axis.var);
        const auto values = form ? form->range() : std::nullopt;
        const std::int64_t* first = as_int(axis.dom->min);
        if (axis.iter_type != IterType::comm_reduce || !values || !first) continue;
        never_starts = never_starts || *first < values->first || *first > values->second;
      }
      // Where there is nothing to reduce, the init is given all the same: by the first part alone
      // of a loop of the reduction, by each part of another one for its own elements.
      const bool may_be_given =
          may_reduce_nothing(*realize->block) &&
          (first_iteration == 0 || !arith::is_reduction_loop(*realize, loop.loop_var));
      if (realize->block->init && never_starts && !may_be_given) {
        found.push_back(realize->block.get());
      }
    }
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      deep_call([&] { self(self, child, forms); });
    }
  };
  IndexForms forms(ranges_around(schedule, schedule.at(schedule.node(handle)).parent));
  forms.add_range({loop.loop_var.get(), std::min(start, last), std::max(start, last)});
  visit(visit, schedule.node(handle), std::move(forms));
  return found;
}

Stmt body_of_part(Schedule& schedule, std::uint32_t function, const Stmt& body,
                  std::span<const Block* const> without_start, const std::string& suffix,
                  const BufferOfPointer& buffers) {
  Rewriter rewrite;
  std::size_t changed = 0;
  rewrite.on<Block>([&](const Block& block) {
    const std::size_t before = changed;
    Block copy = *rewrite.children(block);
    if (!suffix.empty()) {
      copy.name_hint = schedule.fresh_block_name(function, block.name_hint + suffix);
    }
    if (std::ranges::find(without_start, &block) != without_start.end()) {
      ++changed;
      copy.init = nullptr;
      copy.reads.insert(copy.reads.begin(), copy.writes.begin(), copy.writes.end());
    } else if (changed != before) {
      copy.reads = access_regions(copy, buffers).reads;
    }
    return make(std::move(copy));
  });
  return rewrite(body);
}

}  // namespace loopsmith
