// SPDX-License-Identifier: Apache-2.0
// A program while it is scheduled: its tree, and what has been done.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/cow_vector.h"
#include "loopsmith/schedule/known_facts.h"
#include "loopsmith/schedule/program_tree.h"
#include "loopsmith/schedule/refusal.h"
#include "loopsmith/schedule/samples.h"
#include "loopsmith/schedule/step_report.h"
#include "loopsmith/schedule/trace.h"

namespace loopsmith {

/// What holds of each handle that is given to a primitive.
extern const Condition handle_is_of_this_schedule;
extern const Condition loop_is_alive;
extern const Condition block_is_alive;
extern const Condition step_is_not_undone;

/// What is scheduled: a program with the steps that were taken on it. A schedule belongs to one
/// thread.
class Schedule : public ProgramTree {
 public:
  /// Throws a UserError when the function is not well-formed. `seed` -1: a random one.
  explicit Schedule(Ptr<PrimFunc> func, std::int64_t seed = -1);
  explicit Schedule(const Ptr<IRModule>& module, std::int64_t seed = -1);
  Schedule(Schedule&&) noexcept = default;
  Schedule& operator=(Schedule&&) noexcept = default;

  /// Another schedule of the same program, with the same handles so far and a seed of its own. It
  /// costs the pointers to what the two share until one of them changes it.
  Schedule copy();
  /// The schedule as it is now, under the same id: to try steps that its user does not see.
  Schedule snapshot() const { return *this; }

  // ---- The program ----

  Ptr<IRModule> mod() const;
  /// The function that is worked on, or the only one, or `main`.
  Ptr<PrimFunc> func() const;
  /// Looks up blocks and loops in that function from here on.
  void work_on(std::string_view function);
  /// The number of the function named so; of the one worked on when it is not given.
  std::optional<std::uint32_t> function_named(std::optional<std::string_view> name = {}) const;

  /// Whether steps may combine the elements of a reduction in another order, which rounds floating-
  /// point numbers otherwise. They may unless told.
  bool allows_reassociation() const { return allows_reassociation_; }
  void allow_reassociation(bool allowed) { allows_reassociation_ = allowed; }

  /// Whether each step is decided by the exact check, also where a quick answer would do; that they
  /// agree is then checked, and an InternalError where they do not.
  bool verifies_quick_answers() const { return verifies_quick_answers_; }
  void verify_quick_answers(bool doubted) { verifies_quick_answers_ = doubted; }

  /// The program as it was given.
  const Ptr<IRModule>& original() const { return original_; }
  Trace trace() const { return Trace(steps_); }
  const CowVector<Step>& steps() const { return steps_; }
  /// Takes back the last steps. Handles that they made are of no use any more.
  void undo(std::size_t steps = 1);

  // ---- Handles ----

  std::optional<Refusal> refuse(LoopRV loop) const;
  std::optional<Refusal> refuse(BlockRV block) const;
  std::optional<Refusal> refuse(ExprRV hole) const;

  using ProgramTree::get;
  std::int64_t get(ExprRV hole) const { return holes_[hole.index]; }
  /// The number behind a factor; nullopt for `infer`.
  std::optional<std::int64_t> get(const Factor& factor) const;

  // ---- For commits. They cannot fail. ----

  /// Changes how the iterations of a loop run; `binding` is that of threads. Gives its node.
  For& set_kind(LoopRV loop, ForKind kind, Ptr<IterVar> binding = {});

  ExprRV add_hole(std::int64_t value);
  /// Keeps what `sample_*` decided in the step that is being done.
  void record_decision(Argument decision);
  /// What the sample that is being done was told, if that is for its primitive.
  std::optional<Argument> told_decision();
  Samples& samples() { return samples_; }

  /// What the last step reported; what the one that is being done says goes there.
  const StepReport& report() const { return report_; }
  StepReport& report() { return report_; }

  // ---- For primitives as such ----

  void begin_step(const PrimitiveBase& primitive, std::vector<Argument> arguments,
                  bool reorders_reduction = false);
  void end_step(Argument result);
  /// Takes back the step that is being done, of which a part may have happened.
  void abandon_step();

  /// What analyses have found out about the program: questions add to it.
  KnownFacts& known_facts() const { return known_facts_; }

 private:
  /// A schedule that this one is a copy of, and how much of it this one has.
  struct Ancestor {
    std::uint32_t id;
    std::uint32_t entities;
    std::uint32_t holes;
  };

  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;

  void load_original();
  void replay(std::size_t steps);
  Refusal ended(std::uint32_t entity, const Condition& condition) const;
  std::optional<Refusal> refuse_foreign(std::uint32_t schedule, std::uint32_t index,
                                        bool is_hole) const;

  std::vector<Ancestor> ancestors_;
  Ptr<IRModule> original_;
  std::optional<std::uint32_t> working_on_;
  CowVector<Step> steps_;
  StepReport report_;
  Samples samples_;
  std::vector<std::int64_t> holes_;
  mutable KnownFacts known_facts_;
  bool verifies_quick_answers_ = false;
  bool allows_reassociation_ = true;
};

}  // namespace loopsmith
