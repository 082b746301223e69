// SPDX-License-Identifier: Apache-2.0
// Schedules as C++ users write them. The engine is behind a pointer: its headers are not needed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/driver/build.h"
#include "loopsmith/driver/schedule_methods.h"
#include "loopsmith/ir/function.h"

namespace loopsmith {
class Schedule;
}

namespace loopsmith::tir {

/// A program and how it is carried out. A step that would change its results is refused by a
/// UserError, and leaves the schedule as it was. It belongs to one thread.
///
///     tir::Schedule sch(func);
///     auto [i, j, k] = sch.get_loops("C").take<3>();
///     auto [io, ii] = sch.split(i, {infer, 32}).take<2>();
///     sch.parallel(io);
///     Module module = build(sch);
class Schedule final : public ScheduleMethods {
 public:
  /// Throws a UserError when the program is not well-formed. `seed` -1: a random one.
  explicit Schedule(const Ptr<PrimFunc>& func, std::int64_t seed = -1);
  explicit Schedule(const Ptr<IRModule>& module, std::int64_t seed = -1);
  /// A schedule of the engine, whose headers have more than this one.
  explicit Schedule(std::unique_ptr<loopsmith::Schedule> engine);
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(Schedule&&) noexcept;
  ~Schedule();

  /// The program as it is now.
  Ptr<IRModule> mod() const;
  Ptr<PrimFunc> func() const;
  /// Looks up blocks and loops in that function from here on.
  void work_on(std::string_view function);
  /// Another schedule with the same steps and handles.
  Schedule copy();
  /// Takes back the last steps.
  void undo(std::size_t steps = 1);

  /// Whether a primitive would be accepted.
  bool can_apply(std::string_view primitive, const std::vector<Argument>& arguments) const;
  /// The steps so far, as a function of Python, and as JSON.
  std::string trace() const;
  std::string trace_json() const;
  /// Does the steps that `trace_json` wrote.
  void apply_json(std::string_view json);

  loopsmith::Schedule& engine() { return *engine_; }
  const loopsmith::Schedule& engine() const { return *engine_; }

  /// Throws a UserError, as asked by `operation`, when steps rest on promises that are not kept
  /// yet.
  void require_no_obligations(std::string_view operation) const;

 private:
  Argument call(std::string_view primitive, std::vector<Argument> arguments) override;

  std::unique_ptr<loopsmith::Schedule> engine_;
};

/// The schedule that `build` gives to a function without one, as far as its rules take steps: it
/// may be seen, replayed on the function, and continued. With `leaves_holes`, its numbers are
/// samples with these decisions.
Schedule default_schedule(const Ptr<PrimFunc>& func,
                          const Target& target = Target("llvm -mcpu=native"),
                          bool leaves_holes = false, const BuildOptions& options = {});

}  // namespace loopsmith::tir

namespace loopsmith {

/// Compiles a program as it is scheduled, and loads the code.
Module build(const tir::Schedule& schedule, const Target& target = Target("llvm -mcpu=native"),
             const BuildOptions& options = {});

}  // namespace loopsmith
