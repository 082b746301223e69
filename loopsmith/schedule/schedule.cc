// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/primitive_base.h"
#include "loopsmith/schedule/spelling_suggestions.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

const Condition handle_is_of_this_schedule{
    "handle_is_alive", "the {} is of another schedule",
    "look it up in this one; a copy knows what its original knew when it was copied"};
const Condition step_is_not_undone{"handle_is_alive", "the step that made the {} was undone",
                                   "look it up again"};
const Condition loop_is_alive{"handle_is_alive", "loop {} was {} at step {}{}",
                              "use what it became, or look loops up with get_loops"};
const Condition block_is_alive{"handle_is_alive", "block {} was {} at step {}{}",
                               "use what it became, or look it up with get_block"};

namespace {

std::uint32_t new_schedule_id() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

Ptr<IRModule> module_of(const Ptr<PrimFunc>& func) {
  require(func.defined(), ErrorKind::schedule, "function_is_given", hint("pass a PrimFunc"), {},
          "Schedule: there is no function");
  GlobalVar name;
  name.name_hint = func->name();
  return make(IRModule{.names = {make(std::move(name))}, .functions = {func}});
}

}  // namespace

Schedule::Schedule(Ptr<PrimFunc> func, std::int64_t seed) : Schedule(module_of(func), seed) {}

Schedule::Schedule(const Ptr<IRModule>& module, std::int64_t seed) : original_(module) {
  require(module.defined(), ErrorKind::schedule, "function_is_given", hint("pass an IRModule"), {},
          "Schedule: there is no module");
  require(seed == -1 || (seed >= 1 && seed <= Samples::modulus), ErrorKind::schedule,
          "seed_is_in_range", hint("pass a number from 1 to 2147483647, or None"), {},
          "Schedule: the seed is {}, not within 1 and {}", seed, Samples::modulus);
  for (const Ptr<PrimFunc>& func : module->functions) verify_well_formed(func);
  set_id(new_schedule_id());
  samples_.seed(seed == -1 ? std::random_device()() : seed);
  load_original();
}

/// Reads the original program, as if nothing had been done.
void Schedule::load_original() {
  load(*original_);
  known_facts_.clear();
  holes_.clear();
  steps_.clear();
  set_step(0);
}

/// Does the first steps again, and no others.
void Schedule::replay(std::size_t steps) {
  CowVector<Step> kept;
  for (std::size_t i = 0; i < steps; ++i) kept.push_back(steps_[i]);
  const Samples samples = std::exchange(samples_, {});  // They decide as they did.
  load_original();
  Trace(std::move(kept)).apply_to(*this);
  samples_ = samples;
}

Schedule Schedule::copy() {
  Schedule made(*this);
  made.ancestors_.push_back({id(), entity_count(), static_cast<std::uint32_t>(holes_.size())});
  made.set_id(new_schedule_id());
  made.samples_.seed(samples_.fork_seed());
  return made;
}

void Schedule::undo(std::size_t steps) {
  require(steps <= steps_.size(), ErrorKind::schedule, "steps_were_done",
          hint("see the trace for how many there are"), {},
          "undo: {} steps are to be undone, {} were done", steps, steps_.size());
  replay(steps_.size() - steps);
  const auto holes = static_cast<std::uint32_t>(holes_.size());
  ancestors_.push_back({id(), entity_count(), holes});
  for (Ancestor& known : ancestors_) {
    known.entities = std::min(known.entities, entity_count());
    known.holes = std::min(known.holes, holes);
  }
  set_id(new_schedule_id());
}

// ---- The program ----

Ptr<IRModule> Schedule::mod() const {
  IRModule module = *original_;
  for (std::size_t i = 0; i < functions().size(); ++i) module.functions[i] = functions()[i].func;
  return make(std::move(module));
}

Ptr<PrimFunc> Schedule::func() const {
  const auto function = function_named();
  require(function.has_value(), ErrorKind::schedule, "name_is_known",
          hint("say which one with work_on"), {}, "func: the module has {} functions, none is main",
          functions().size());
  return functions()[*function].func;
}

std::optional<std::uint32_t> Schedule::function_named(std::optional<std::string_view> name) const {
  if (!name) {
    if (working_on_) return working_on_;
    if (functions().size() == 1) return 0;
    name = "main";
  }
  for (std::uint32_t i = 0; i < functions().size(); ++i) {
    if (functions()[i].name == *name) return i;
  }
  return {};
}

void Schedule::work_on(std::string_view function) {
  const auto found = function_named(function);
  if (!found) {
    std::vector<std::string> names;
    for (const Function& known : functions()) names.push_back(known.name);
    const std::string all = fmt::format("it has {}", fmt::join(names, ", "));
    require(false, ErrorKind::schedule, "function_exists",
            hint(did_you_mean(function, std::move(names), all)), {},
            "work_on: the module has no function {}", function);
  }
  working_on_ = found;
}

// ---- Handles ----

Refusal Schedule::ended(std::uint32_t number, const Condition& condition) const {
  const Entity& old = entity(number);
  std::string became;
  for (const std::uint32_t next : successors(number)) {
    became += became.empty() ? " into " : ", ";
    became += entity(next).name();
  }
  return {&condition,
          {Argument(std::string(old.name())), Argument(steps_[old.ended_at - 1].primitive->past),
           Argument(std::int64_t{old.ended_at}), Argument(became)}};
}

std::optional<Refusal> Schedule::refuse_foreign(std::uint32_t schedule, std::uint32_t index,
                                                bool is_hole) const {
  const std::size_t count = is_hole ? holes_.size() : entity_count();
  if (schedule == id() && index < count) return {};
  for (const Ancestor& ancestor : ancestors_) {
    if (ancestor.id != schedule) continue;
    if (index < (is_hole ? ancestor.holes : ancestor.entities)) return {};
    return Refusal{&step_is_not_undone, {Argument(is_hole ? "number" : "loop or block")}};
  }
  return Refusal{&handle_is_of_this_schedule, {Argument(is_hole ? "number" : "loop or block")}};
}

std::optional<Refusal> Schedule::refuse(LoopRV loop) const {
  if (loop.schedule != id()) {
    if (auto foreign = refuse_foreign(loop.schedule, loop.index, false)) return foreign;
  }
  if (entity(loop.index).ended_at) return ended(loop.index, loop_is_alive);
  return {};
}

std::optional<Refusal> Schedule::refuse(BlockRV block) const {
  if (block.schedule != id()) {
    if (auto foreign = refuse_foreign(block.schedule, block.index, false)) return foreign;
  }
  if (entity(block.index).ended_at) return ended(block.index, block_is_alive);
  return {};
}

std::optional<Refusal> Schedule::refuse(ExprRV hole) const {
  return refuse_foreign(hole.schedule, hole.index, true);
}

std::optional<std::int64_t> Schedule::get(const Factor& factor) const {
  if (const auto* number = std::get_if<std::int64_t>(&factor.value)) return *number;
  if (const auto* hole = std::get_if<ExprRV>(&factor.value)) return get(*hole);
  return {};
}

For& Schedule::set_kind(LoopRV loop, ForKind kind, Ptr<IterVar> binding) {
  For& edited = edit(loop);
  edited.kind = kind;
  edited.thread_binding = std::move(binding);
  known_facts_.set_independent_iterations(loop, false);
  count_kinds(node(loop));
  return edited;
}

ExprRV Schedule::add_hole(std::int64_t value) {
  holes_.push_back(value);
  return {id(), static_cast<std::uint32_t>(holes_.size() - 1)};
}

// ---- Steps ----

void Schedule::begin_step(const PrimitiveBase& primitive, std::vector<Argument> arguments,
                          bool reorders_reduction) {
  steps_.push_back({&primitive, std::move(arguments), {}, reorders_reduction});
  set_step(static_cast<std::uint32_t>(steps_.size()));
  report_ = {};
}

void Schedule::end_step(Argument result) {
  steps_.edit_back().result = std::move(result);
}

void Schedule::abandon_step() {
  replay(steps_.size() - 1);
}

void Schedule::record_decision(Argument decision) {
  // It is the last parameter of each primitive that has one.
  steps_.edit_back().arguments.back() = std::move(decision);
}

std::optional<Argument> Schedule::told_decision() {
  return samples_.told(steps_.back().primitive->name);
}

}  // namespace loopsmith
