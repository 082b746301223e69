// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/primitive_base.h"
#include "loopsmith/schedule/spelling_suggestions.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

const Condition handle_is_of_this_schedule{
    "handle_is_of_this_schedule", "the {} is of another schedule",
    "look it up in this one; a copy knows what its original knew when it was copied"};
const Condition step_is_not_undone{"step_is_not_undone", "the step that made the {} was undone",
                                   "look it up again"};
const Condition loop_is_alive{"loop_is_alive", "loop {} was {} at step {}{}",
                              "use what it became, or look loops up with get_loops"};
const Condition block_is_alive{"block_is_alive", "block {} was {} at step {}{}",
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

constexpr std::int64_t modulus = 2147483647;

}  // namespace

Schedule::Schedule(Ptr<PrimFunc> func, std::int64_t seed) : Schedule(module_of(func), seed) {}

Schedule::Schedule(const Ptr<IRModule>& module, std::int64_t seed)
    : id_(new_schedule_id()), original_(module) {
  require(module.defined(), ErrorKind::schedule, "function_is_given", hint("pass an IRModule"), {},
          "Schedule: there is no module");
  require(seed == -1 || (seed >= 1 && seed <= modulus), ErrorKind::schedule, "seed_is_in_range",
          hint("pass a number from 1 to 2147483647, or None"), {},
          "Schedule: the seed is {}, not within 1 and {}", seed, modulus);
  for (const Ptr<PrimFunc>& func : module->functions) verify_well_formed(func);
  this->seed(seed == -1 ? std::random_device()() : seed);
  load();
}

/// Reads the original program, as if nothing had been done.
void Schedule::load() {
  functions_.clear();
  nodes_.clear();
  free_nodes_ = no_node;
  concurrent_loops_ = 0;
  empty_reductions_ = 0;
  facts_.clear();
  independent_loops_.clear();
  entities_.clear();
  holes_.clear();
  steps_.clear();
  functions_.resize(original_->functions.size());
  for (std::uint32_t i = 0; i < functions_.size(); ++i) {
    Function& function = functions_[i];
    function.global = original_->names[i];
    function.name = function.global->name_hint;
    function.func = original_->functions[i];
    function.root = new_node(*function.func.get(), no_node, i);
    const NodeId body = index(function.func->body, function.root, 0, nullptr);
    if (body != no_node) link(body);
  }
}

Schedule Schedule::copy() {
  Schedule made(*this);
  made.id_ = new_schedule_id();
  made.ancestors_.push_back({id_, static_cast<std::uint32_t>(entities_.size()),
                             static_cast<std::uint32_t>(holes_.size())});
  made.seed(fork_seed());
  return made;
}

void Schedule::undo(std::size_t steps) {
  require(steps <= steps_.size(), ErrorKind::schedule, "steps_were_done",
          hint("see the trace for how many there are"), {},
          "undo: {} steps are to be undone, {} were done", steps, steps_.size());
  CowVector<Step> kept;
  for (std::size_t i = 0; i + steps < steps_.size(); ++i) kept.push_back(steps_[i]);
  const auto random = random_;
  load();
  Trace(std::move(kept)).apply_to(*this);
  random_ = random;
  const auto entities = static_cast<std::uint32_t>(entities_.size());
  const auto holes = static_cast<std::uint32_t>(holes_.size());
  ancestors_.push_back({id_, entities, holes});
  for (Ancestor& known : ancestors_) {
    known.entities = std::min(known.entities, entities);
    known.holes = std::min(known.holes, holes);
  }
  id_ = new_schedule_id();
}

// ---- The program ----

Ptr<IRModule> Schedule::mod() const {
  IRModule module = *original_;
  for (std::size_t i = 0; i < functions_.size(); ++i) module.functions[i] = functions_[i].func;
  return make(std::move(module));
}

Ptr<PrimFunc> Schedule::func() const {
  const auto function = function_named();
  require(function.has_value(), ErrorKind::schedule, "function_is_known",
          hint("say which one with work_on"), {}, "func: the module has {} functions, none is main",
          functions_.size());
  return functions_[*function].func;
}

std::optional<std::uint32_t> Schedule::function_named(std::optional<std::string_view> name) const {
  if (!name) {
    if (working_on_) return working_on_;
    if (functions_.size() == 1) return 0;
    name = "main";
  }
  for (std::uint32_t i = 0; i < functions_.size(); ++i) {
    if (functions_[i].name == *name) return i;
  }
  return {};
}

const std::string& Schedule::function_name(std::uint32_t function) const {
  return functions_[function].name;
}

void Schedule::work_on(std::string_view function) {
  const auto found = function_named(function);
  if (!found) {
    std::vector<std::string> names;
    for (const Function& known : functions_) names.push_back(known.name);
    const std::string all = fmt::format("it has {}", fmt::join(names, ", "));
    require(false, ErrorKind::schedule, "function_exists",
            hint(did_you_mean(function, std::move(names), all)), {},
            "work_on: the module has no function {}", function);
  }
  working_on_ = found;
}

// ---- Handles ----

Refusal Schedule::ended(std::uint32_t entity, const Condition& condition) const {
  const Entity& old = entities_[entity];
  std::string became;
  for (std::uint32_t i = old.successors; i < old.successors_end; ++i) {
    if (entities_[i].is_loop != old.is_loop) continue;
    became += became.empty() ? " into " : ", ";
    became += old.is_loop ? std::string_view(entities_[i].var->name) : entities_[i].block_name;
  }
  const std::string name = old.is_loop ? old.var->name : old.block_name;
  return {&condition,
          {Argument(name), Argument(steps_[old.ended_at - 1].primitive->past),
           Argument(std::int64_t{old.ended_at}), Argument(became)}};
}

template <class Handle>
Handles<Handle> Schedule::successors_of(std::uint32_t entity) const {
  Handles<Handle> found;
  const Entity& subject = entities_[entity];
  if (!subject.ended_at) return {{id_, entity}};
  for (std::uint32_t i = subject.successors; i < subject.successors_end; ++i) {
    if (entities_[i].is_loop != subject.is_loop) continue;
    for (const Handle handle : successors_of<Handle>(i)) found.push_back(handle);
  }
  return found;
}

Handles<LoopRV> Schedule::became(LoopRV loop) const {
  return successors_of<LoopRV>(loop.index);
}

Handles<BlockRV> Schedule::became(BlockRV block) const {
  return successors_of<BlockRV>(block.index);
}

std::optional<Refusal> Schedule::refuse_foreign(std::uint32_t schedule, std::uint32_t index,
                                                std::uint32_t count, bool is_hole) const {
  if (schedule == id_ && index < count) return {};
  for (const Ancestor& ancestor : ancestors_) {
    if (ancestor.id != schedule) continue;
    if (index < (is_hole ? ancestor.holes : ancestor.entities)) return {};
    return Refusal{&step_is_not_undone, {Argument(is_hole ? "number" : "loop or block")}};
  }
  return Refusal{&handle_is_of_this_schedule, {Argument(is_hole ? "number" : "loop or block")}};
}

std::optional<Refusal> Schedule::refuse(LoopRV loop) const {
  const auto count = static_cast<std::uint32_t>(entities_.size());
  if (loop.schedule != id_) {
    if (auto foreign = refuse_foreign(loop.schedule, loop.index, count, false)) return foreign;
  }
  if (entities_[loop.index].ended_at) return ended(loop.index, loop_is_alive);
  return {};
}

std::optional<Refusal> Schedule::refuse(BlockRV block) const {
  const auto count = static_cast<std::uint32_t>(entities_.size());
  if (block.schedule != id_) {
    if (auto foreign = refuse_foreign(block.schedule, block.index, count, false)) return foreign;
  }
  if (entities_[block.index].ended_at) return ended(block.index, block_is_alive);
  return {};
}

std::optional<Refusal> Schedule::refuse(ExprRV hole) const {
  return refuse_foreign(hole.schedule, hole.index, static_cast<std::uint32_t>(holes_.size()), true);
}

const For& Schedule::get(LoopRV loop) const {
  return static_cast<const For&>(*nodes_[entities_[loop.index].node].object);
}

const BlockRealize& Schedule::realize(BlockRV block) const {
  return static_cast<const BlockRealize&>(*nodes_[entities_[block.index].node].object);
}

std::optional<std::int64_t> Schedule::get(const Factor& factor) const {
  if (const auto* number = std::get_if<std::int64_t>(&factor.value)) return *number;
  if (const auto* hole = std::get_if<ExprRV>(&factor.value)) return get(*hole);
  return {};
}

Handles<BlockRV> Schedule::blocks_named(std::uint32_t function, std::string_view name) const {
  Handles<BlockRV> found;
  std::uint32_t entity = functions_[function].blocks.first(name);
  for (; entity != no_node; entity = entities_[entity].next_of_name) found.push_back({id_, entity});
  std::ranges::sort(found);
  return found;
}

Handles<LoopRV> Schedule::loops_named(std::uint32_t function, std::string_view name) const {
  Handles<LoopRV> found;
  std::uint32_t entity = functions_[function].loops.first(name);
  for (; entity != no_node; entity = entities_[entity].next_of_name) found.push_back({id_, entity});
  std::ranges::sort(found);
  return found;
}

// ---- What is known of blocks ----

// Copies that share an entity share what is known of it, also when they belong to other threads.
Schedule::Known Schedule::axes_are_injective(BlockRV block) const {
  std::atomic_ref known(entities_[block.index].axes_are_injective);
  return known.load(std::memory_order_relaxed);
}

void Schedule::set_axes_are_injective(BlockRV block, Known known) const {
  std::atomic_ref(entities_[block.index].axes_are_injective)
      .store(known, std::memory_order_relaxed);
}

bool Schedule::has_independent_iterations(LoopRV loop) const {
  return std::ranges::find(independent_loops_, loop.index) != independent_loops_.end();
}

void Schedule::set_independent_iterations(LoopRV loop, bool are_independent) const {
  if (has_independent_iterations(loop) == are_independent) return;
  if (are_independent) {
    independent_loops_.push_back(loop.index);
  } else {
    std::erase(independent_loops_, loop.index);
  }
}

// ---- Names ----

std::vector<std::string> Schedule::block_names(std::uint32_t function) const {
  std::vector<std::string> names;
  functions_[function].blocks.each([&](const std::string& name) { names.push_back(name); });
  return names;
}

std::vector<std::string> Schedule::loop_names(std::uint32_t function) const {
  std::vector<std::string> names;
  functions_[function].loops.each([&](const std::string& name) { names.push_back(name); });
  return names;
}

void Schedule::add_name(UniqueNames& names, std::uint32_t entity, std::string_view name) {
  const std::uint32_t next = names.first(name);
  names.set_first(name, entity);
  Entity& added = entities_.edit(entity);
  added.next_of_name = next;
  added.previous_of_name = no_node;
  if (next != no_node) entities_.edit(next).previous_of_name = entity;
}

void Schedule::remove_name(std::uint32_t entity) {
  const Entity& removed = entities_[entity];
  const std::uint32_t next = removed.next_of_name;
  const std::uint32_t previous = removed.previous_of_name;
  Function& function = functions_[removed.function];
  if (previous == no_node) {
    UniqueNames& names = removed.is_loop ? function.loops : function.blocks;
    names.set_first(removed.is_loop ? removed.var->name : removed.block_name, next);
  } else {
    entities_.edit(previous).next_of_name = next;
  }
  if (next != no_node) entities_.edit(next).previous_of_name = previous;
}

std::string Schedule::fresh_loop_name(std::uint32_t function, std::string_view name) {
  return functions_[function].loops.fresh(name);
}

std::string Schedule::fresh_block_name(std::uint32_t function, std::string_view name) {
  return functions_[function].blocks.fresh(name);
}

void Schedule::load_buffer_names(Function& function) {
  if (std::exchange(function.has_buffer_names, true)) return;
  const auto add = [&](const Ptr<Buffer>& buffer) {
    if (buffer) function.buffers.set_first(buffer->name, 0);
  };
  for (const auto& buffer : function.func->buffer_map) add(buffer);
  pre_order_visit(function.func->body, [&](const Ref& ref) {
    if (const auto* block = ref.as<Block>()) {
      for (const auto& buffer : block->alloc_buffers) add(buffer);
      for (const auto& match : block->match_buffers) add(match->buffer);
    }
    return Stmt::from(ref).defined();
  });
}

std::string Schedule::fresh_buffer_name(std::uint32_t function, std::string_view name) {
  load_buffer_names(functions_[function]);
  UniqueNames& names = functions_[function].buffers;
  std::string made = names.fresh(name);
  names.set_first(made, 0);
  return made;
}

ExprRV Schedule::add_hole(std::int64_t value) {
  holes_.push_back(value);
  return {id_, static_cast<std::uint32_t>(holes_.size() - 1)};
}

// ---- Steps ----

Span Schedule::span_from(const Span& old) const {
  Span span = old;
  span.step = step();
  return span;
}

void Schedule::begin_step(const PrimitiveBase& primitive, std::vector<Argument> arguments,
                          bool reorders_reduction) {
  steps_.push_back({&primitive, std::move(arguments), {}, reorders_reduction});
  mirrors_.clear();
  parted_init_.reset();
}

void Schedule::end_step(Argument result) {
  steps_.edit_back().result = std::move(result);
}

void Schedule::abandon_step() {
  CowVector<Step> kept;
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) kept.push_back(steps_[i]);
  const auto random = random_;
  load();
  Trace(std::move(kept)).apply_to(*this);
  random_ = random;
}

void Schedule::record_decision(Argument decision) {
  // It is the last parameter of each primitive that has one.
  steps_.edit_back().arguments.back() = std::move(decision);
}

void Schedule::decide_samples(std::vector<Decision> decisions) {
  told_ = std::make_shared<const std::vector<Decision>>(std::move(decisions));
  next_told_ = 0;
}

std::optional<Argument> Schedule::told_decision() {
  if (!told_ || next_told_ == told_->size()) return {};
  const auto& [kind, decision] = (*told_)[next_told_++];
  if (kind != steps_.back().primitive->name) return {};
  return decision;
}

// ---- Random numbers ----

void Schedule::seed(std::int64_t seed) {
  const std::int64_t normal = seed % modulus;
  random_ = normal == 0 ? 1 : normal;
}

std::int64_t Schedule::next_random() {
  random_ = random_ * 48271 % modulus;
  return random_;
}

std::int64_t Schedule::fork_seed() {
  return next_random() * 32767 % 1999999973;
}

}  // namespace loopsmith
