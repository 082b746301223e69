// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/legality.h"

#include <algorithm>
#include <utility>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_answers.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/legality/nest_memory.h"
#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/legality/repeated_reductions.h"
#include "loopsmith/schedule/legality/shared_tiles.h"
#include "loopsmith/schedule/queries/access_pairs.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/changed_accesses.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/schedule/queries/zero_distance.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

OrderAnswer unknown(std::string why) {
  return {.kind = OrderAnswer::Kind::unknown, .witness = {}, .why = std::move(why)};
}

OrderAnswer proved() {
  return {.kind = OrderAnswer::Kind::proved};
}

bool has_reduction(const Block& block) {
  return std::ranges::any_of(
      block.iter_vars, [](const auto& axis) { return axis->iter_type == IterType::comm_reduce; });
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
  if (!found.witness || !is_one_of(own, found.witness->buffer)) return false;
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

/// The memory that a loop accesses, asked by which pairs of accesses its indices do not separate.
class LoopMemory {
 public:
  LoopMemory(const Schedule& schedule, LoopRV loop, Concurrency how, OwnMemory& questions,
             const ChangedAccesses* changed = nullptr)
      : accesses(questions.take_accesses(loop, changed)),
        shared(take_shared(how, accesses)),
        owns_shared(!shared.empty()),
        nest(whole_nest(schedule, schedule.node(loop))),
        schedule_(schedule),
        loop_(loop),
        how_(how),
        changed_(changed),
        questions_(questions) {
    for (const Ptr<Buffer>& buffer : shared) taken_.push_back(buffer.get());
    add_shared_around(schedule, schedule.node(loop), how, shared);
    if (changed) std::erase_if(shared, [&](const auto& each) { return !changed->has(*each); });
  }

  LoopMemory(const LoopMemory&) = delete;
  LoopMemory& operator=(const LoopMemory&) = delete;
  ~LoopMemory() {
    accesses.owned.insert(taken_.begin(), taken_.end());
    questions_.give_back(loop_, changed_, std::move(accesses));
  }

  ElementAccesses accesses;
  std::vector<Ptr<Buffer>> shared;
  bool owns_shared;
  NodeId nest;
  std::vector<Ptr<Buffer>> alike;   ///< Filled by all iterations with the same values.
  std::vector<Ptr<Buffer>> memory;  ///< Each iteration may have it for itself, or fill it alike.
  std::vector<Ptr<Buffer>> own;     ///< Each iteration has it for itself.

  /// Fills `alike` and `memory`: most accesses need not ask them.
  void find() {
    if (std::exchange(is_found_, true)) return;
    if (how_ == Concurrency::in_block_threads) {
      alike = filled_identically(schedule_, loop_, shared, questions_);
    }
    memory = memory_of_nest(schedule_, nest, accesses, how_, questions_, alike);
  }

  /// True when these accesses of two iterations have no element in common.
  bool are_apart(const ElementAccess& a, const ElementAccess& b) {
    const For& loop = schedule_.get(loop_);
    if (has_zero_distance(accesses, a, b, *loop.loop_var, step_of(loop))) return true;
    find();
    return is_known_as_own(questions_, loop_, a.buffer, memory, own);
  }

  void leave_alike(std::vector<Ptr<Buffer>>& buffers) const {
    std::erase_if(buffers, [&](const Ptr<Buffer>& buffer) { return is_one_of(alike, buffer); });
  }

 private:
  const Schedule& schedule_;
  LoopRV loop_;
  Concurrency how_;
  const ChangedAccesses* changed_;
  OwnMemory& questions_;
  std::vector<const Object*> taken_;  ///< Shared memory that an iteration owns.
  bool is_found_ = false;
};

/// True when independent iterations of a loop stay so if they do in the memory that `accesses` are
/// about, whose accesses changed.
bool is_up_to_changed(LoopRV loop, OwnMemory& questions, const ElementAccesses& accesses) {
  if (!accesses.opaque.empty() || accesses.is_steered || accesses.by_pointer) return false;
  return std::ranges::none_of(accesses.all, [&](const ElementAccess& access) {
    return access.is_write && questions.feeds_shared_memory(loop, *access.buffer);
  });
}

}  // namespace

bool stays_independent(const Schedule& schedule, LoopRV loop, Concurrency how, OwnMemory& questions,
                       const ChangedAccesses& changed) {
  if (changed.is_all()) return false;
  LoopMemory memory(schedule, loop, how, questions, &changed);
  return is_up_to_changed(loop, questions, memory.accesses) &&
         each_pair(memory.accesses, [&](const ElementAccess& a, const ElementAccess& b) {
           return memory.are_apart(a, b);
         });
}

bool conflicts_in_changed(const Schedule& schedule, LoopRV loop, Concurrency how,
                          const ChangedAccesses& changed) {
  if (changed.is_all()) return true;
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(loop), &changed);
  OwnMemory memory(schedule);
  if (!is_up_to_changed(loop, memory, accesses)) return true;
  return std::ranges::any_of(conflicting_buffers(schedule, loop, how), [&](const auto& buffer) {
    return !buffer.defined() || changed.has(*buffer);
  });
}

CarriedDependences carried_by(const Schedule& schedule, LoopRV handle, Concurrency how) {
  OwnMemory memory(schedule);
  return carried_by(schedule, handle, how, memory);
}

CarriedDependences carried_by(const Schedule& schedule, LoopRV handle, Concurrency how,
                              OwnMemory& questions) {
  const For& loop = schedule.get(handle);
  const auto* extent = loop.extent.as<IntImm>();
  if (extent && extent->value <= 1 && !is_left_by_break(schedule, handle)) return {proved()};
  LoopMemory memory(schedule, handle, how, questions);
  const ElementAccesses& accesses = memory.accesses;
  if (!accesses.opaque.empty()) return {unknown(accesses.opaque)};
  bool reduces = false;
  const bool is_told = each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
    if (memory.are_apart(a, b)) return true;
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
    return {
        .verdict = {.kind = OrderAnswer::Kind::violated}, .is_reduction = true, .own = memory.own};
  }
  const bool is_proved =
      (is_told && !reduces) || (!memory.owns_shared && has_results_apart(schedule, handle));
  const auto proved_apart = [&] {
    memory.leave_alike(memory.own);
    return CarriedDependences{.verdict = proved(), .own = std::move(memory.own)};
  };
  if (is_proved && !schedule.verifies_quick_answers()) return proved_apart();

  CachedAnswer answer{question_of(how), {loop.loop_var}, {}};
  if (auto known = cached_answer(schedule, memory.nest, answer.question, answer.loops)) {
    return *std::move(known);
  }
  memory.find();
  memory.leave_alike(memory.shared);
  DependenceOptions options{.local_buffers = memory.memory,
                            .shared_buffers = std::move(memory.shared)};
  if (is_proved) options.operations *= 100;  // A doubt is worth it.
  Dependences dependences(under_path_condition(schedule, memory.nest), std::move(options));
  const DependenceAnswer found = how == Concurrency::in_lanes
                                     ? dependences.vectorizable(loop.loop_var)
                                     : dependences.parallelizable(loop.loop_var);
  if (is_proved) {
    // In lanes, the exact check takes updates of what each lane has for itself for a reduction.
    const bool reduces = found.reductions && how != Concurrency::in_lanes &&
                         updates_elements_again(dependences, loop.loop_var);
    const bool is_violated =
        found.verdict == Verdict::violated && !is_declared_alone(accesses, memory.own, found);
    check(!is_violated && !reduces, "quick_answers", "iterations of loop {} are not apart: {}",
          loop.loop_var->name, found.witness ? found.witness->text() : "they reduce");
    return proved_apart();
  }
  answer.answer.verdict = answer_of(found);
  answer.answer.own = found.private_buffers;
  memory.leave_alike(answer.answer.own);
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
  cache_answer(schedule, memory.nest, dependences, answer);
  return std::move(answer.answer);
}

std::vector<Ptr<Buffer>> conflicting_buffers(const Schedule& schedule, LoopRV handle,
                                             Concurrency how) {
  OwnMemory questions(schedule);
  LoopMemory memory(schedule, handle, how, questions);
  memory.find();
  memory.leave_alike(memory.shared);
  Dependences dependences(
      under_path_condition(schedule, memory.nest),
      {.local_buffers = memory.memory, .shared_buffers = std::move(memory.shared)});
  const Ptr<Var>& variable = schedule.get(handle).loop_var;
  std::vector<Ptr<Buffer>> found;
  for (const CarriedDependence& dependence : dependences.carried(variable)) {
    const Ptr<Buffer>& buffer = dependence.buffer;
    if (is_one_of(found, buffer)) continue;
    const bool is_private = buffer.defined() && is_one_of(memory.memory, buffer) &&
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
