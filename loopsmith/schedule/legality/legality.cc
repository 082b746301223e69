// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/legality.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/storage_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_answers.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/legality/shared_tiles.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/schedule/queries/radix_terms.h"
#include "loopsmith/schedule/queries/zero_distance.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// True when `visit` is true of each pair of accesses to one buffer of which one writes, and two
/// buffers never share memory: which of their elements are the same is not told here.
template <class Visit>
bool each_pair(const ElementAccesses& accesses, Visit&& visit) {
  if (accesses.by_pointer) return false;
  for (std::size_t i = 0; i < accesses.all.size(); ++i) {
    const ElementAccess& a = accesses.all[i];
    if (!a.is_write || accesses.owned.contains(a.buffer)) continue;
    for (std::size_t k = 0; k < accesses.all.size(); ++k) {
      const ElementAccess& b = accesses.all[k];
      if (a.buffer != b.buffer) {
        if (a.buffer->data.same_as(b.buffer->data)) return false;
        continue;
      }
      if (b.is_write && k < i) continue;
      if (!visit(a, b)) return false;
    }
  }
  return true;
}

bool is_of_one_reduction(const ElementAccess& a, const ElementAccess& b) {
  return a.group && a.group == b.group;
}

std::int64_t step_of(const For& loop) {
  const auto* step = loop.step.as<IntImm>();
  return step ? step->value : 1;
}

OrderAnswer unknown(std::string why) {
  return {.kind = OrderAnswer::Kind::unknown, .witness = {}, .why = std::move(why)};
}

OrderAnswer proved() {
  return {.kind = OrderAnswer::Kind::proved};
}

/// The block, if it is all there is inside the loop but other loops.
std::optional<BlockRV> only_block(const Schedule& schedule, LoopRV loop) {
  NodeId node = schedule.node(loop);
  while (node != no_node && schedule.as<For>(node)) node = only_child(schedule, node);
  if (node == no_node || !schedule.as<BlockRealize>(node)) return {};
  return schedule.block_at(node);
}

bool has_reduction(const Block& block) {
  return std::ranges::any_of(
      block.iter_vars, [](const auto& axis) { return axis->iter_type == IterType::comm_reduce; });
}

/// Whether it matters that a block reads other elements of what it reduces into.
enum class OwnReads : std::uint8_t { count, pass };

bool have_true_axes(const Schedule& schedule, BlockRV handle, OwnReads own_reads) {
  const Block& block = schedule.get(handle);
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  if (!accesses.opaque.empty()) return false;
  // Axes of one value say nothing of other elements that an instance reads.
  const bool reads_apart = each_pair(accesses, [](const ElementAccess& a, const ElementAccess& b) {
    return b.is_write || !a.group || b.group;
  });
  if (own_reads == OwnReads::count && block.init && !reads_apart) return false;
  return std::ranges::all_of(block.iter_vars, [&](const auto& axis) {
    if (is_const_int(axis->dom->extent, 1)) return true;
    const bool is_reduction = axis->iter_type == IterType::comm_reduce;
    if (!is_reduction && axis->iter_type != IterType::data_par) return false;
    return each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
      return (own_reads == OwnReads::pass && a.group && !b.is_write && !b.group) ||
             (is_reduction && is_of_one_reduction(a, b)) ||
             has_zero_distance(accesses, a, b, *axis->var.get());
    });
  });
}

}  // namespace

namespace {

/// True when equal values of a block's axes mean equal values of the loops in `band`, while those
/// in `moving` have any.
bool axes_tell(const Schedule& schedule, BlockRV block, std::vector<Expr> axes,
               std::span<const LoopRV> moving, std::span<const LoopRV> band) {
  ElementAccesses space;
  space.forms = IndexForms(ranges_around(schedule, schedule.node(block)));
  for (const LoopRV loop : moving) space.inside.insert(schedule.get(loop).loop_var.get());
  ElementAccess instance;
  for (const Expr& value : join_radix_terms(std::move(axes))) {
    instance.indices.push_back(space.forms.read(value));
  }
  std::erase(instance.indices, std::nullopt);
  return std::ranges::all_of(band, [&](LoopRV handle) {
    const For& loop = schedule.get(handle);
    return is_const_int(loop.extent, 1) ||
           has_zero_distance(space, instance, instance, *loop.loop_var, step_of(loop));
  });
}

}  // namespace

bool is_injective(const Schedule& schedule, BlockRV block, std::span<const LoopRV> band) {
  const auto loops = loops_around(schedule, schedule.node(block));
  return axes_tell(schedule, block, schedule.realize(block).iter_values, loops, band);
}

bool runs_each_once(const Schedule& schedule, BlockRV block, std::span<const LoopRV> inner) {
  return axes_tell(schedule, block, schedule.realize(block).iter_values, inner, inner);
}

bool axes_are_injective(const Schedule& schedule, BlockRV handle) {
  const Schedule::Known known = schedule.axes_are_injective(handle);
  if (known != Schedule::Known::not_yet) return known == Schedule::Known::yes;
  schedule.set_axes_are_injective(handle, Schedule::Known::no);
  if (schedule.at(schedule.node(handle)).first_child != no_node &&
      !child_blocks(schedule, schedule.node(handle)).empty()) {
    return false;
  }
  if (!have_true_axes(schedule, handle, OwnReads::count)) return false;
  schedule.set_axes_are_injective(handle, Schedule::Known::yes);
  return true;
}

bool writes_are_injective(const Schedule& schedule, BlockRV handle) {
  return child_blocks(schedule, schedule.node(handle)).empty() &&
         have_true_axes(schedule, handle, OwnReads::pass);
}

namespace {

/// True when the iterations of a loop give different results of one block, which is all there is
/// inside: spatial axes of the block tell the loop, and the block is what its axes say.
bool has_results_apart(const Schedule& schedule, LoopRV loop) {
  const auto block = only_block(schedule, loop);
  if (!block || !axes_are_injective(schedule, *block)) return false;
  const BlockRealize& realize = schedule.realize(*block);
  std::vector<Expr> spatial;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool is_spatial = realize.block->iter_vars[i]->iter_type == IterType::data_par;
    if (is_spatial) spatial.push_back(realize.iter_values[i]);
  }
  const auto loops = loops_around(schedule, schedule.node(*block));
  const std::span inner(std::ranges::find(loops, loop), loops.end());
  return axes_tell(schedule, *block, std::move(spatial), inner, {&loop, 1});
}

/// True when instances of the block that loops from `outermost` inward drive by different values of
/// spatial axes may write one element.
bool shares_results(const Schedule& schedule, BlockRV handle, LoopRV outermost) {
  const BlockRealize& realize = schedule.realize(handle);
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *realize.block->iter_vars[i];
    if (axis.iter_type == IterType::comm_reduce || is_const_int(axis.dom->extent, 1)) continue;
    const auto loops = loops_around(schedule, schedule.node(handle));
    const auto is_driving = [&](LoopRV loop) {
      return uses_variable(realize.iter_values[i], schedule.get(loop).loop_var);
    };
    const auto inner = std::ranges::find(loops, outermost);
    if (std::none_of(inner, loops.end(), is_driving)) continue;
    const bool is_told = each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
      return !b.is_write || has_zero_distance(accesses, a, b, *axis.var);
    });
    if (!is_told) return true;
  }
  return false;
}

/// True when a block inside of another has an init.
bool starts_reductions(const Schedule& schedule, BlockRV outer) {
  return std::ranges::any_of(child_blocks(schedule, schedule.node(outer)), [&](BlockRV inner) {
    return schedule.get(inner).init || starts_reductions(schedule, inner);
  });
}

/// True when several values of a spatial axis may write one element.
bool axes_share_elements(const Schedule& schedule, BlockRV handle) {
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  return std::ranges::any_of(schedule.get(handle).iter_vars, [&](const auto& axis) {
    if (axis->iter_type == IterType::comm_reduce || is_const_int(axis->dom->extent, 1)) {
      return false;
    }
    return !each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
      return !b.is_write || has_zero_distance(accesses, a, b, *axis->var);
    });
  });
}

/// True when blocks inside of one may start one result for several values of its axes, or theirs.
bool restarts_results(const Schedule& schedule, BlockRV outer) {
  if (!starts_reductions(schedule, outer)) return false;
  if (axes_share_elements(schedule, outer)) return true;
  return std::ranges::any_of(child_blocks(schedule, schedule.node(outer)), [&](BlockRV inner) {
    return restarts_results(schedule, inner) ||
           (schedule.get(inner).init && axes_share_elements(schedule, inner));
  });
}

/// True when different iterations of `band` may run one instance of a reduction twice, or several
/// that write one element: then an init may come between updates.
bool repeats_reductions(const Schedule& schedule, std::span<const LoopRV> band) {
  const auto blocks = child_blocks(schedule, schedule.node(band[0]));
  const auto repeats = [&](BlockRV block) {
    return restarts_results(schedule, block) ||
           (starts_reductions(schedule, block) && !is_injective(schedule, block, band));
  };
  if (std::ranges::any_of(blocks, repeats)) return true;
  return std::ranges::any_of(blocks, [&](BlockRV block) {
    return schedule.get(block).init &&
           (!is_injective(schedule, block, band) || shares_results(schedule, block, band[0]));
  });
}

/// True when an expression may fall where a loop in it goes up.
bool may_fall(const Expr& value) {
  bool found = false;
  pre_order_visit(value, [&](const Ref& ref) {
    const auto* number = ref.as<IntImm>();
    found = found || ref.is<Sub>() || ref.is<FloorMod>() || (number && number->value < 0);
    return !found;
  });
  return found;
}

/// True when a reduction may start in another instance than the first: it goes through an axis in
/// another direction than its loops.
bool starts_late(const Schedule& schedule, BlockRV block) {
  const BlockRealize& realize = schedule.realize(block);
  const auto goes_down = [&](const Expr& value) {
    return std::ranges::any_of(loops_around(schedule, schedule.node(block)), [&](LoopRV loop) {
      const std::int64_t* step = as_int(schedule.get(loop).step);
      return (!step || *step < 0) && uses_variable(value, schedule.get(loop).loop_var);
    });
  };
  std::optional<IndexForms> forms;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Expr& value = realize.iter_values[i];
    const bool is_reduction = realize.block->iter_vars[i]->iter_type == IterType::comm_reduce;
    if (!is_reduction) continue;
    if (goes_down(value)) return true;
    if (value.is<Var>() || !may_fall(value)) continue;
    if (!forms) forms.emplace(ranges_around(schedule, schedule.node(block)));
    const auto form = forms->read(value);
    if (form && std::ranges::any_of(form->terms,
                                    [](const IndexTerm& term) { return term.coefficient < 0; })) {
      return true;
    }
  }
  return false;
}

/// True when the instance that starts a reduction may no longer be the first of its instances:
/// loops that change their order are bound to axes of both kinds at once, or it was not the first.
bool delays_init(const Schedule& schedule, std::span<const LoopRV> band,
                 std::span<const std::size_t> order) {
  return std::ranges::any_of(child_blocks(schedule, schedule.node(band[0])), [&](BlockRV block) {
    if (!schedule.get(block).init) return false;
    if (starts_late(schedule, block)) return true;
    const BlockRealize& realize = schedule.realize(block);
    const auto drives = [&](std::size_t place, std::size_t axis) {
      const For& loop = schedule.get(band[place]);
      return !is_const_int(loop.extent, 1) &&
             uses_variable(realize.iter_values[axis], loop.loop_var);
    };
    std::vector<bool> is_mixed(realize.iter_values.size());
    for (const std::size_t place : order) {
      std::vector<std::size_t> driven[2];
      for (std::size_t axis = 0; axis < is_mixed.size(); ++axis) {
        const bool is_reduction =
            realize.block->iter_vars[axis]->iter_type == IterType::comm_reduce;
        if (drives(place, axis)) driven[is_reduction].push_back(axis);
      }
      if (driven[0].empty() || driven[1].empty()) continue;
      for (const auto& axes : driven) {
        for (const std::size_t axis : axes) is_mixed[axis] = true;
      }
    }
    std::vector<std::size_t> driving;
    for (const std::size_t place : order) {
      for (std::size_t axis = 0; axis < is_mixed.size(); ++axis) {
        if (is_mixed[axis] && drives(place, axis)) {
          driving.push_back(place);
          break;
        }
      }
    }
    return !std::ranges::is_sorted(driving);
  });
}

bool contains(const std::vector<Ptr<Buffer>>& buffers, const Ptr<Buffer>& buffer) {
  return std::ranges::any_of(buffers, [&](const auto& each) { return each.same_as(buffer); });
}

/// Buffers that are allocated around a nest, and that nothing outside of it uses: iterations that
/// run so may have them each for itself, or fill them `alike`.
std::vector<Ptr<Buffer>> memory_of_nest(const Schedule& schedule, NodeId nest,
                                        const ElementAccesses& accesses, Concurrency how,
                                        OwnMemory& memory,
                                        const std::vector<Ptr<Buffer>>& alike = {}) {
  std::vector<Ptr<Buffer>> found;
  const auto is_written = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(accesses.all, [&](const ElementAccess& access) {
      return access.is_write && access.buffer == buffer.get();
    });
  };
  for (NodeId node = schedule.at(nest).parent; node != no_node; node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    for (const Ptr<Buffer>& buffer : realize->block->alloc_buffers) {
      const bool is_own = is_private_to_iteration(how, buffer->scope()) || contains(alike, buffer);
      if (!is_own || !is_written(buffer)) continue;
      const BufferAccesses& uses = memory.uses(node, buffer);
      const bool is_alone = std::ranges::all_of(
          uses.nodes, [&](NodeId use) { return is_inside(schedule, use, nest); });
      if (is_alone && uses.by_indices_alone()) found.push_back(buffer);
    }
  }
  return found;
}

/// True when the iterations of a loop may have the buffer, one of `memory`, each for itself; adds
/// it to `own` then.
bool is_known_as_own(OwnMemory& questions, LoopRV loop, const Buffer* buffer,
                     const std::vector<Ptr<Buffer>>& memory, std::vector<Ptr<Buffer>>& own) {
  const auto is_this = [&](const Ptr<Buffer>& each) { return each.get() == buffer; };
  if (std::ranges::any_of(own, is_this)) return true;
  const auto found = std::ranges::find_if(memory, is_this);
  if (found == memory.end() || !questions.has_for_itself(loop, *found)) return false;
  own.push_back(*found);
  return true;
}

/// True when the access is to one element in all iterations of a loop, if all else stays.
bool is_independent_of(const ElementAccess& access, const Var& loop) {
  return std::ranges::all_of(access.indices, [&](const std::optional<IndexForm>& index) {
    return index && std::ranges::none_of(index->terms, [&](const IndexTerm& term) {
             const Ptr<Var> variable(&loop);
             return uses_variable(term.atom, variable);
           });
  });
}

/// True when an init inside the loop reads memory: it may read results of its own.
bool inits_read_memory(const Schedule& schedule, LoopRV loop) {
  bool found = false;
  pre_order_visit(schedule.statement(schedule.node(loop)), [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    if (block && block->init) {
      pre_order_visit(block->init, [&](const Ref& inner) {
        found = found || inner.is<BufferLoad>();
        return !found;
      });
    }
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// True when a block around the loop has an init: what is updated inside, it may start.
bool is_in_reduction(const Schedule& schedule, LoopRV loop) {
  for (NodeId node = schedule.node(loop); node != no_node; node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (realize && realize->block->init) return true;
  }
  return false;
}

/// Takes the shared memory of threads from what the iterations of a loop own when they run so.
std::vector<Ptr<Buffer>> take_shared(Concurrency how, ElementAccesses& accesses) {
  std::vector<Ptr<Buffer>> shared;
  if (how != Concurrency::in_block_threads) return shared;
  std::erase_if(accesses.owned, [&](const Object* object) {
    const Ptr<Buffer> buffer(static_cast<const Buffer*>(object));
    const bool is_shared = is_shared_by_threads(buffer->scope());
    if (is_shared) shared.push_back(buffer);
    return is_shared;
  });
  return shared;
}

/// Adds what blocks around a loop allocate and is not of one of its iterations when they run so.
void add_shared_around(const Schedule& schedule, NodeId loop, Concurrency how,
                       std::vector<Ptr<Buffer>>& shared) {
  for (NodeId node = schedule.at(loop).parent; node != no_node; node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    for (const Ptr<Buffer>& buffer : realize->block->alloc_buffers) {
      if (!is_private_to_iteration(how, buffer->scope())) shared.push_back(buffer);
    }
  }
}

DependenceQuery question_of(Concurrency how) {
  switch (how) {
    case Concurrency::in_threads: break;
    case Concurrency::in_lanes: return DependenceQuery::carried_in_lanes;
    case Concurrency::in_blocks: return DependenceQuery::carried_in_blocks;
    case Concurrency::in_block_threads: return DependenceQuery::carried_in_block_threads;
  }
  return DependenceQuery::carried_in_threads;
}

/// True when a conflict is about a buffer that each iteration has for itself, and the elements that
/// are accessed are known from declared regions alone: whether it can be private is then beyond the
/// exact check.
bool is_declared_alone(const ElementAccesses& accesses, const std::vector<Ptr<Buffer>>& own,
                       const DependenceAnswer& found) {
  if (!found.witness || !contains(own, found.witness->buffer)) return false;
  return std::ranges::any_of(accesses.all, [&](const ElementAccess& access) {
    const auto is_unknown = [](const auto& index) { return !index.has_value(); };
    return access.buffer == found.witness->buffer.get() &&
           std::ranges::any_of(access.indices, is_unknown);
  });
}

/// True when two iterations are certain to update one accumulator.
bool updates_elements_again(Dependences& dependences, const Ptr<Var>& loop) {
  return std::ranges::any_of(dependences.carried(loop), [](const CarriedDependence& found) {
    return found.is_reduction && found.is_certain;
  });
}

}  // namespace

CarriedDependences carried_by(const Schedule& schedule, LoopRV handle, Concurrency how) {
  OwnMemory memory(schedule);
  return carried_by(schedule, handle, how, memory);
}

CarriedDependences carried_by(const Schedule& schedule, LoopRV handle, Concurrency how,
                              OwnMemory& questions) {
  const For& loop = schedule.get(handle);
  const auto* extent = loop.extent.as<IntImm>();
  if (extent && extent->value <= 1 && !is_left_by_break(schedule, handle)) return {proved()};
  ElementAccesses accesses = accesses_inside(schedule, schedule.node(handle));
  if (!accesses.opaque.empty()) return {unknown(accesses.opaque)};
  std::vector<Ptr<Buffer>> shared = take_shared(how, accesses);
  const bool owns_shared = !shared.empty();
  const NodeId nest = whole_nest(schedule, schedule.node(handle));
  add_shared_around(schedule, schedule.node(handle), how, shared);
  std::vector<Ptr<Buffer>> alike;
  std::vector<Ptr<Buffer>> memory;
  bool is_memory_found = false;
  // Most accesses are told apart by their indices; what memory there is, the others ask.
  const auto find_memory = [&] {
    if (std::exchange(is_memory_found, true)) return;
    if (how == Concurrency::in_block_threads) alike = filled_identically(schedule, handle, shared);
    memory = memory_of_nest(schedule, nest, accesses, how, questions, alike);
  };
  std::vector<Ptr<Buffer>> own;
  bool reduces = false;
  const bool is_told = each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
    if (has_zero_distance(accesses, a, b, *loop.loop_var, step_of(loop))) return true;
    find_memory();
    if (is_known_as_own(questions, handle, a.buffer, memory, own)) return true;
    const bool is_update = how == Concurrency::in_lanes && extent && is_of_one_reduction(a, b) &&
                           is_independent_of(a, *loop.loop_var) &&
                           is_independent_of(b, *loop.loop_var);
    reduces = reduces || is_update;
    return is_update;
  });
  // Lemma. Let each pair of accesses that lanes may share be updates of one element by one
  // reduction, with an init that reads no memory or none; let no instance of a reduction run twice,
  // and no block around start what is updated. Then lanes do no more than reduce, each into a
  // result of its own.
  const LoopRV band[] = {handle};
  const bool reduces_in_lanes = is_told && reduces && !is_in_reduction(schedule, handle) &&
                                !inits_read_memory(schedule, handle) &&
                                !repeats_reductions(schedule, band);
  if (reduces_in_lanes && !schedule.verifies_quick_answers()) {
    return {.verdict = {.kind = OrderAnswer::Kind::violated}, .is_reduction = true, .own = own};
  }
  const bool is_proved =
      (is_told && !reduces) || (!owns_shared && has_results_apart(schedule, handle));
  const auto leave_alike = [&](std::vector<Ptr<Buffer>>& buffers) {
    std::erase_if(buffers, [&](const Ptr<Buffer>& buffer) { return contains(alike, buffer); });
  };
  if (is_proved && !schedule.verifies_quick_answers()) {
    leave_alike(own);
    return {.verdict = proved(), .own = std::move(own)};
  }

  CachedAnswer answer{question_of(how), {loop.loop_var}, {}};
  if (auto known = cached_answer(schedule, nest, answer.question, answer.loops)) {
    return *std::move(known);
  }
  find_memory();
  leave_alike(shared);
  DependenceOptions options{.local_buffers = memory, .shared_buffers = std::move(shared)};
  if (is_proved) options.operations *= 100;  // A doubt is worth it.
  Dependences dependences(under_path_condition(schedule, nest), std::move(options));
  const DependenceAnswer found = how == Concurrency::in_lanes
                                     ? dependences.vectorizable(loop.loop_var)
                                     : dependences.parallelizable(loop.loop_var);
  if (is_proved) {
    // In lanes, the exact check takes updates of what each lane has for itself for a reduction.
    const bool reduces = found.reductions && how != Concurrency::in_lanes &&
                         updates_elements_again(dependences, loop.loop_var);
    const bool is_violated =
        found.verdict == Verdict::violated && !is_declared_alone(accesses, own, found);
    check(!is_violated && !reduces, "quick_answers", "iterations of loop {} are not apart: {}",
          loop.loop_var->name, found.witness ? found.witness->text() : "they reduce");
    leave_alike(own);
    return {.verdict = proved(), .own = std::move(own)};
  }
  answer.answer.verdict = answer_of(found);
  answer.answer.own = found.private_buffers;
  leave_alike(answer.answer.own);
  check(!reduces_in_lanes || found.verdict != Verdict::violated, "quick_answers",
        "lanes of loop {} do more than reduce: {}", loop.loop_var->name,
        found.witness ? found.witness->text() : found.reason);
  if (found.verdict == Verdict::proved && found.reductions) {
    if (repeats_reductions(schedule, band)) {
      answer.answer.verdict = unknown("it runs instances of a reduction more than once");
    } else {
      answer.answer.verdict.kind = OrderAnswer::Kind::violated;
      answer.answer.verdict.witness = witness_of(found);
      answer.answer.is_reduction = true;
    }
  }
  cache_answer(schedule, nest, dependences, answer);
  return std::move(answer.answer);
}

std::vector<Ptr<Buffer>> conflicting_buffers(const Schedule& schedule, LoopRV handle,
                                             Concurrency how) {
  ElementAccesses accesses = accesses_inside(schedule, schedule.node(handle));
  std::vector<Ptr<Buffer>> shared = take_shared(how, accesses);
  const NodeId nest = whole_nest(schedule, schedule.node(handle));
  add_shared_around(schedule, schedule.node(handle), how, shared);
  OwnMemory questions(schedule);
  const std::vector<Ptr<Buffer>> memory = memory_of_nest(schedule, nest, accesses, how, questions);
  Dependences dependences(under_path_condition(schedule, nest),
                          {.local_buffers = memory, .shared_buffers = std::move(shared)});
  const Ptr<Var>& variable = schedule.get(handle).loop_var;
  std::vector<Ptr<Buffer>> found;
  for (const CarriedDependence& dependence : dependences.carried(variable)) {
    const Ptr<Buffer>& buffer = dependence.buffer;
    if (contains(found, buffer)) continue;
    const bool is_private = buffer.defined() && contains(memory, buffer) &&
                            dependences.may_be_private(variable, buffer);
    if (!is_private) found.push_back(buffer);
  }
  return found;
}

std::optional<Refusal> refuse_own_reads(const Schedule& schedule, LoopRV loop,
                                        std::span<const Ptr<Buffer>> buffers) {
  const NodeId nest = whole_nest(schedule, schedule.node(loop));
  Dependences dependences(under_path_condition(schedule, nest));
  for (const Ptr<Buffer>& buffer : buffers) {
    const auto found = dependences.accumulator_is_private(schedule.get(loop).loop_var, buffer);
    if (found.verdict == Verdict::proved) continue;
    return changed_results(updates_are_read,
                           {Argument(loop), Argument(Ref(buffer)), Argument(found.reason)},
                           witness_of(found));
  }
  return {};
}

std::optional<Refusal> refuse_own_reads(const Schedule& schedule, LoopRV loop, BlockRV block) {
  std::vector<Ptr<Buffer>> buffers;
  for (const auto& region : schedule.get(block).writes) buffers.push_back(region->buffer);
  return refuse_own_reads(schedule, loop, buffers);
}

OrderAnswer may_reorder(const Schedule& schedule, std::span<const LoopRV> band,
                        std::span<const std::size_t> order) {
  if (std::ranges::is_sorted(order)) return proved();
  if (delays_init(schedule, band, order)) {
    return unknown("the init of a reduction may then come after its updates");
  }
  if (const auto block = only_block(schedule, band[0]);
      block && axes_are_injective(schedule, *block)) {
    if (!has_reduction(schedule.get(*block)) || is_injective(schedule, *block, band)) {
      return proved();
    }
  }
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(band[0]));
  if (!accesses.opaque.empty()) return unknown(accesses.opaque);
  const NodeId nest = whole_nest(schedule, schedule.node(band[0]));
  CachedAnswer answer{DependenceQuery::order, {}, {}};
  for (const std::size_t place : order) answer.loops.push_back(schedule.get(band[place]).loop_var);
  if (auto known = cached_answer(schedule, nest, answer.question, answer.loops)) {
    return std::move(known->verdict);
  }
  OwnMemory questions(schedule);
  Dependences dependences(under_path_condition(schedule, nest),
                          {.local_buffers = memory_of_nest(schedule, nest, accesses,
                                                           Concurrency::in_threads, questions)});
  const DependenceAnswer found = dependences.permutable(answer.loops);
  OrderAnswer& verdict = answer.answer.verdict;
  if (found.verdict == Verdict::proved && found.reductions && repeats_reductions(schedule, band)) {
    verdict = unknown("they run instances of a reduction more than once");
  } else {
    verdict = answer_of(found);
    verdict.reorders_updates = verdict.is_proved() && found.reductions;
  }
  cache_answer(schedule, nest, dependences, answer);
  return std::move(verdict);
}

std::vector<MergeAnswer> may_merge(const Schedule& schedule,
                                   std::span<const std::vector<LoopRV>> nests) {
  const NodeId nest = whole_nest(schedule, schedule.at(schedule.node(nests[0][0])).parent);
  // Outside of loops, nothing but the nests themselves runs between two of their iterations.
  const bool is_alone = !schedule.as<For>(nest);
  std::vector<Stmt> statements;
  for (const std::vector<LoopRV>& loops : nests) {
    statements.push_back(schedule.statement(schedule.node(loops[0])));
  }
  std::optional<Dependences> dependences;
  std::vector<MergeAnswer> answers;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    for (std::size_t k = i + 1; k < nests.size(); ++k) {
      CachedAnswer answer{DependenceQuery::merge, {}, {}};
      for (const auto& loops : {nests[i], nests[k]}) {
        for (const LoopRV loop : loops) answer.loops.push_back(schedule.get(loop).loop_var);
      }
      auto known = cached_answer(schedule, nest, answer.question, answer.loops);
      if (!known) {
        if (!dependences) {
          dependences.emplace(is_alone ? seq(statements) : under_path_condition(schedule, nest));
        }
        const std::span<const Ptr<Var>> all = answer.loops;
        const std::size_t depth = nests[i].size();
        answer.answer.verdict =
            answer_of(dependences->mergeable(all.first(depth), all.subspan(depth)));
        if (!is_alone) cache_answer(schedule, nest, *dependences, answer);
      }
      answers.push_back({i, k, std::move(known ? *known : answer.answer).verdict});
      if (answers.back().answer.kind == OrderAnswer::Kind::violated) return answers;
    }
  }
  return answers;
}

}  // namespace loopsmith
