// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/dependence_cache.h"

#include <algorithm>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

bool is_among(const std::vector<Ptr<Var>>& loops, const Ptr<Var>& loop) {
  return std::ranges::any_of(loops, [&](const Ptr<Var>& other) { return other.same_as(loop); });
}

CarriedDependences proved_answer() {
  return {.verdict = {.kind = OrderAnswer::Kind::proved}};
}

/// True when the distances say yes. Where there are reductions, it takes a closer look.
bool follows(const NestDependences& facts, DependenceQuery question,
             const std::vector<Ptr<Var>>& loops) {
  const bool is_controlled = std::ranges::any_of(
      loops, [&](const Ptr<Var>& loop) { return is_among(facts.controlled, loop); });
  // Distances leave out what iterations own, which threads may share.
  const bool is_other =
      question == DependenceQuery::merge || question == DependenceQuery::carried_in_block_threads;
  if (is_controlled || is_other) return false;
  if (question == DependenceQuery::order) return facts.distances.can_reorder(loops, true);
  return facts.distances.is_parallel(loops[0], true);
}

std::int64_t number_of(const Expr& extent) {
  const auto* number = extent.as<IntImm>();
  return number ? number->value : ConstIntBound::pos_inf;
}

}  // namespace

NodeId whole_nest(const Schedule& schedule, NodeId node) {
  NodeId nest = node;
  for (; schedule.at(node).parent != no_node; node = schedule.at(node).parent) {
    if (schedule.as<For>(node)) nest = node;
  }
  return nest;
}

std::optional<CarriedDependences> cached_answer(const Schedule& schedule, NodeId nest,
                                                DependenceQuery question,
                                                const std::vector<Ptr<Var>>& loops) {
  if (!schedule.known_facts().has_dependences()) return {};
  const auto facts = schedule.known_facts().dependences(schedule, nest);
  if (!facts) return {};
  for (const CachedAnswer& known : facts->answers) {
    if (known.question == question && std::ranges::equal(known.loops, loops, RefEqual())) {
      return known.answer;
    }
  }
  if (follows(*facts, question, loops)) return proved_answer();
  return {};
}

void cache_answer(const Schedule& schedule, NodeId nest, const Dependences& dependences,
                  const CachedAnswer& answer) {
  NestDependences facts;
  if (const auto known = schedule.known_facts().dependences(schedule, nest)) facts = *known;
  facts.distances = dependences.distances();
  facts.controlled = dependences.controlled_loops();
  facts.answers.push_back(answer);
  schedule.known_facts().keep_dependences(
      schedule, nest, std::make_shared<const NestDependences>(std::move(facts)));
}

DependenceUpdate::DependenceUpdate(Schedule& schedule, NodeId inside) : schedule_(schedule) {
  if (!schedule.known_facts().has_dependences()) return;
  nest_ = whole_nest(schedule, inside);
  if (const auto facts = schedule.known_facts().take_dependences(schedule, nest_)) facts_ = *facts;
}

/// Those about the loop, and those that may name it in a witness or a reason.
void DependenceUpdate::forget_answers_about(const Ptr<Var>& loop) {
  std::erase_if(facts_->answers, [&](const CachedAnswer& known) {
    const OrderAnswer& verdict = known.answer.verdict;
    const bool may_name_it =
        verdict.witness || (!verdict.is_proved() && !known.answer.is_reduction);
    return may_name_it || is_among(known.loops, loop);
  });
}

/// Says in terms of the parts of a loop which of its iterations conflict.
void DependenceUpdate::restate_witnesses(const For& loop, std::span<const For> parts,
                                         const std::vector<std::int64_t>& weights) {
  const std::int64_t *min = as_int(loop.min), *step = as_int(loop.step);
  const std::string& name = loop.loop_var->name;
  const bool is_one = schedule_.loops_named(schedule_.function_of(nest_), name).size() == 1;
  const bool is_told = min && step && is_one;  // A witness has the names of loops.
  std::erase_if(facts_->answers, [&](CachedAnswer& known) {
    if (is_among(known.loops, loop.loop_var)) return true;
    OrderAnswer& verdict = known.answer.verdict;
    if (!verdict.witness) return verdict.why.find(name) != std::string::npos;
    if (!is_told) return true;
    for (Witness::Iteration* side : {&verdict.witness->first, &verdict.witness->second}) {
      const auto place =
          std::ranges::find(side->loops, name, &std::pair<std::string, std::int64_t>::first);
      if (place == side->loops.end()) continue;
      const std::int64_t index = (place->second - *min) / *step;
      std::vector<std::pair<std::string, std::int64_t>> digits;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::int64_t whole = i > 0 ? index % weights[i - 1] : index;
        digits.emplace_back(parts[i].loop_var->name, whole / weights[i]);
      }
      side->loops.insert(side->loops.erase(place), digits.begin(), digits.end());
    }
    return false;
  });
}

void DependenceUpdate::split(const For& old, std::span<const For> parts) {
  if (!facts_) return;
  const Ptr<Var>& loop = old.loop_var;
  // How many iterations of the old loop one of each part is.
  std::vector<std::int64_t> weights(parts.size(), 1);
  for (std::size_t i = parts.size(); i-- > 1;) {
    const auto* extent = parts[i].extent.as<IntImm>();
    if (!extent || __builtin_mul_overflow(weights[i], extent->value, &weights[i - 1]) ||
        weights[i - 1] < 1) {
      return facts_.reset();
    }
  }
  Ptr<Var> rest = loop;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const bool is_last = i + 2 == parts.size();
    const Ptr<Var> inner = is_last ? parts[i + 1].loop_var : var("rest", loop->dtype);
    facts_->distances.split(rest, parts[i].loop_var, inner, weights[i], number_of(parts[i].extent));
    rest = inner;
  }
  if (parts.size() == 1) facts_->distances.rename(loop, parts[0].loop_var);
  restate_witnesses(old, parts, weights);
}

void DependenceUpdate::fuse(std::span<const LoopRV> loops, const Ptr<Var>& fused) {
  if (!facts_) return;
  Ptr<Var> outer = schedule_.get(loops[0]).loop_var;
  forget_answers_about(outer);
  for (const LoopRV inner : loops.subspan(1)) {
    const For& loop = schedule_.get(inner);
    const Ptr<Var> both = var("both", fused->dtype);
    facts_->distances.fuse(outer, loop.loop_var, both, number_of(loop.extent));
    forget_answers_about(loop.loop_var);
    outer = both;
  }
  facts_->distances.rename(outer, fused);
}

void DependenceUpdate::reorder(std::span<const For> order) {
  if (!facts_) return;
  std::vector<Ptr<Var>> loops;
  for (const For& loop : order) loops.push_back(loop.loop_var);
  facts_->distances.reorder(loops);
  facts_->answers.clear();
}

void DependenceUpdate::forget_lanes() {
  if (!facts_) return;
  std::erase_if(facts_->answers, [](const CachedAnswer& known) {
    return known.question == DependenceQuery::carried_in_lanes;
  });
}

void DependenceUpdate::keep() {
  if (!facts_) return;
  schedule_.known_facts().keep_dependences(
      schedule_, nest_, std::make_shared<const NestDependences>(*std::move(facts_)));
}

}  // namespace loopsmith
