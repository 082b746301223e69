// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/private_memory.h"

#include <algorithm>
#include <span>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/arith/reduction_start.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/schedule/queries/shared_sources.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"

namespace loopsmith {
namespace {

bool loads(const Block& block, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(block.body, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && load->buffer.same_as(buffer));
    return !found;
  });
  return found;
}

/// True when what a reduction starts with is made of what the buffer held before.
bool init_loads(const Block& block, const Buffer& buffer) {
  bool found = false;
  pre_order_visit(block.init, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && load->buffer->data.same_as(buffer.data));
    return !found;
  });
  return found;
}

bool loads_memory(const Expr& expr) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    found = found || ref.is<BufferLoad>();
    return !found;
  });
  return found;
}

/// Of a block: its own, and those of the `if`s around it in its scope.
std::vector<Expr> conditions_around(const Schedule& schedule, BlockRV block) {
  std::vector<Expr> conditions{schedule.realize(block).predicate};
  for (NodeId node = schedule.at(schedule.node(block)).parent;
       node != no_node && !schedule.as<BlockRealize>(node); node = schedule.at(node).parent) {
    if (const auto* branch = schedule.as<IfThenElse>(node)) {
      conditions.push_back(branch->condition);
    }
  }
  return conditions;
}

/// True when of the iterations of `loops` that give one result, the first is the one that starts
/// it.
bool starts_first(const Schedule& schedule, const BlockRealize& realize,
                  std::span<const LoopRV> loops) {
  Substitution first;
  for (const LoopRV handle : loops) {
    const For& loop = schedule.get(handle);
    if (!arith::is_reduction_loop(realize, loop.loop_var)) continue;
    // Where other loops of the reduction say how often it runs, the first may be empty.
    const bool is_apart =
        std::ranges::none_of(free_variables(loop.extent),
                             [&](const auto& variable) { return first.contains(variable); });
    if (!is_apart) return false;
    first[loop.loop_var] = substitute(loop.min, first);
  }
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    if (axis.iter_type != IterType::comm_reduce) continue;
    const Expr start = substitute(realize.iter_values[i], first);
    const std::int64_t* number = as_int(start);
    const bool is_least = number ? is_const_int(axis.dom->min, *number)
                                 : Analyzer().can_prove_equal(start, axis.dom->min);
    if (!is_least) return false;
  }
  return true;
}

}  // namespace

bool reads_what_it_started(const Schedule& schedule, BlockRV handle, const Ptr<Buffer>& buffer,
                           std::span<const LoopRV> inside) {
  const BlockRealize& realize = schedule.realize(handle);
  if (!realize.block->init || !child_blocks(schedule, schedule.node(handle)).empty()) return false;
  if (init_loads(*realize.block, *buffer)) return false;
  if (!arith::init_starts(*realize.block, *buffer)) return false;
  // A condition may leave out results, and no part of one.
  const auto leaves_out_parts = [&](const Expr& condition) {
    return loads_memory(condition) || std::ranges::any_of(inside, [&](LoopRV loop) {
             const Ptr<Var>& variable = schedule.get(loop).loop_var;
             return uses_variable(condition, variable) &&
                    arith::is_reduction_loop(realize, variable);
           });
  };
  if (std::ranges::any_of(conditions_around(schedule, handle), leaves_out_parts)) return false;
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  const bool reads_its_own = std::ranges::all_of(accesses.all, [&](const ElementAccess& access) {
    return access.is_write || access.buffer != buffer.get() || access.group;
  });
  if (!reads_its_own || !accesses.opaque.empty()) return false;
  if (!starts_first(schedule, realize, inside)) return false;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    if (axis.iter_type != IterType::comm_reduce) continue;
    const auto variables = free_variables(realize.iter_values[i]);
    const bool is_driven_inside = std::ranges::all_of(variables, [&](const Ptr<Var>& variable) {
      return std::ranges::any_of(
          inside, [&](LoopRV loop) { return schedule.get(loop).loop_var.same_as(variable); });
    });
    if (!is_driven_inside) return false;
  }
  return !continues_reduction(schedule, *block_around(schedule, schedule.node(handle)), handle);
}

namespace {

/// The loops around a block that are inside of another loop around it.
Handles<LoopRV> loops_within(const Schedule& schedule, LoopRV loop, BlockRV block) {
  const auto loops = loops_around(schedule, schedule.node(block));
  const auto found = std::ranges::find(loops, loop);
  if (found == loops.end()) return {};
  Handles<LoopRV> inside;
  for (auto each = found + 1; each != loops.end(); ++each) inside.push_back(*each);
  return inside;
}

/// True when a buffer is read to find out whether an instance of the block runs, or which.
bool decides_on(const Schedule& schedule, BlockRV block, const Ptr<Buffer>& buffer) {
  const BlockRealize& realize = schedule.realize(block);
  const auto reads = [&](const Expr& expr) {
    return std::ranges::any_of(free_buffers(expr), [&](const Ptr<Buffer>& other) {
      return other->data.same_as(buffer->data);
    });
  };
  return reads(realize.predicate) || std::ranges::any_of(realize.iter_values, reads);
}

/// `writes_what_it_reads` of a buffer that node `owner` defines.
bool writes_what_it_reads(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer,
                          NodeId owner, const BufferAccesses& uses) {
  const NodeId node = schedule.node(loop), scope = scope_of(schedule, node);
  if (!schedule.as<BlockRealize>(scope) || has_continue(schedule, loop)) return false;
  const Handles<BlockRV> readers = readers_of(schedule, scope, buffer);
  const Handles<BlockRV> writers = writers_of(schedule, scope, buffer);
  const auto is_in_block_inside = [&](NodeId use) {
    const auto is_around = [&](BlockRV block) {
      return is_inside(schedule, use, schedule.node(block)) &&
             is_inside(schedule, schedule.node(block), node);
    };
    return use == owner || std::ranges::any_of(readers, is_around) ||
           std::ranges::any_of(writers, is_around);
  };
  if (!uses.by_indices_alone() || !std::ranges::all_of(uses.nodes, is_in_block_inside)) {
    return false;
  }
  // Blocks do not declare to read what they are decided by.
  const auto is_decided = [&](BlockRV block) { return decides_on(schedule, block, buffer); };
  if (std::ranges::any_of(readers, is_decided) || std::ranges::any_of(writers, is_decided)) {
    return false;
  }
  Handles<BlockRV> users = readers;
  // What a reduction reads of its own results, it need not declare.
  for (const BlockRV writer : writers) {
    if (!contains(users, writer) && loads(schedule.get(writer), buffer)) users.push_back(writer);
  }
  return std::ranges::all_of(users, [&](BlockRV user) {
    const auto fills = [&](BlockRV writer) {
      return writer != user && is_filled_by(schedule, buffer, writer, user);
    };
    return std::ranges::any_of(writers, fills) ||
           (contains(writers, user) && is_inside(schedule, schedule.node(user), node) &&
            reads_what_it_started(schedule, user, buffer, loops_within(schedule, loop, user)));
  });
}

}  // namespace

bool writes_what_it_reads(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer) {
  const NodeId owner = owner_of(schedule, schedule.node(loop), buffer);
  return owner != no_node &&
         writes_what_it_reads(schedule, loop, buffer, owner, uses_of(schedule, owner, buffer));
}

std::vector<Ptr<Buffer>> memory_of_iterations(const Schedule& schedule, LoopRV loop) {
  const NodeId node = schedule.node(loop);
  const auto around = block_around(schedule, node);
  if (!around) return {};
  const NodeId owner = schedule.node(*around);
  std::vector<Ptr<Buffer>> used = schedule.get(*around).alloc_buffers;
  std::erase_if(used, [&](const Ptr<Buffer>& buffer) {
    BufferAccesses uses = uses_of(schedule, owner, buffer);
    std::erase(uses.nodes, owner);
    return uses.nodes.empty() || !uses.by_indices_alone() ||
           !std::ranges::all_of(uses.nodes,
                                [&](NodeId use) { return is_inside(schedule, use, node); });
  });
  if (used.empty()) return {};
  const NodeId nest = whole_nest(schedule, node);
  Dependences dependences(under_path_condition(schedule, nest), {.local_buffers = used});
  std::erase_if(used, [&](const Ptr<Buffer>& buffer) {
    return !writes_what_it_reads(schedule, loop, buffer) &&
           !dependences.may_be_private(schedule.get(loop).loop_var, buffer);
  });
  return used;
}

OwnMemory::Known& OwnMemory::known(NodeId owner, const Ptr<Buffer>& buffer) {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& one) { return one.buffer == buffer.get() && one.owner == owner; });
  if (found != known_.end()) return *found;
  return known_.emplace_front(Known{buffer.get(), owner, uses_of(schedule_, owner, buffer)});
}

const BufferAccesses& OwnMemory::uses(NodeId owner, const Ptr<Buffer>& buffer) {
  return known(owner, buffer).uses;
}

NodeId OwnMemory::innermost_loop(const Known& known) const {
  NodeId common = no_node;
  for (const NodeId use : known.uses.nodes) {
    if (use == known.owner) continue;
    common = common == no_node ? use : common_ancestor(schedule_, common, use);
  }
  while (common != no_node && common != known.owner && !schedule_.as<For>(common)) {
    common = schedule_.at(common).parent;
  }
  return common == known.owner ? no_node : common;
}

bool OwnMemory::has_for_itself(LoopRV loop, const Ptr<Buffer>& buffer) {
  const NodeId node = schedule_.node(loop), owner = owner_of(schedule_, node, buffer);
  if (owner == no_node) return false;
  Known& memory = known(owner, buffer);
  if (!memory.is_own) {
    memory.inner = innermost_loop(memory);
    memory.is_own =
        memory.inner != no_node && writes_what_it_reads(schedule_, schedule_.loop_at(memory.inner),
                                                        buffer, owner, memory.uses);
  }
  if (memory.inner == no_node || !is_inside(schedule_, memory.inner, node)) return false;
  return *memory.is_own || (memory.inner != node &&
                            writes_what_it_reads(schedule_, loop, buffer, owner, memory.uses));
}

ElementAccesses OwnMemory::take_accesses(LoopRV loop, const ChangedAccesses* changed) {
  std::optional<Reading> last = std::exchange(last_, {});
  const NodeId node = schedule_.node(loop), around = schedule_.at(node).parent;
  if (!last || last->changed != changed || schedule_.node(last->loop) != around) {
    return accesses_inside(schedule_, node, changed);
  }
  last->accesses.inside.erase(schedule_.get(last->loop).loop_var.get());
  return std::move(last->accesses);
}

void OwnMemory::give_back(LoopRV loop, const ChangedAccesses* changed, ElementAccesses accesses) {
  last_.emplace(Reading{loop, changed, std::move(accesses)});
}

bool OwnMemory::feeds_shared_memory(LoopRV loop, const Buffer& buffer) {
  const NodeId nest = whole_nest(schedule_, schedule_.node(loop));
  if (std::exchange(nest_, nest) != nest) {
    sources_ = sources_of_shared_memory(schedule_.statement(nest));
  }
  return sources_.contains(buffer.data.get());
}

}  // namespace loopsmith
