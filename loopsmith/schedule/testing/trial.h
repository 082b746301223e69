// SPDX-License-Identifier: Apache-2.0
// For tests only: one program, some steps, and whether it still computes what it did.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/schedule/testing/random_step.h"

namespace loopsmith::schedule_testing {

/// What went wrong.
enum class Wrong : std::uint8_t {
  result,     ///< The program computes something else: so says the judge.
  interp,     ///< The same, says the interpreter, and the judge does not.
  program,    ///< It is no program any more, or the schedule is not consistent.
  exception,  ///< The primitive threw what is no refusal.
  refusal,    ///< A refused primitive left a trace, or `refuse` and the call do not agree.
  replay,     ///< The trace gives another program, or undoing it does not give the old one.
};
std::string_view to_string(Wrong wrong);

struct Finding {
  Wrong wrong;
  std::string reason;
  Ptr<PrimFunc> program;
  std::vector<DrawnStep> steps;  ///< Those that were accepted, and the one at fault.
};

/// The finding as text: the primitive, the program as script, the trace as Python.
std::string text(const Finding& finding);

enum class Taken : std::uint8_t { refused, same, cannot_say, wrong };

/// True when the judge runs the program to its end, all that it leaves is defined, and the
/// interpreter agrees.
bool is_valid(const Ptr<PrimFunc>& program);

/// A schedule of a valid program, each step of which is looked at by the judge and the interpreter.
class Trial {
 public:
  explicit Trial(Ptr<PrimFunc> program, bool asks_interp = true);

  /// Makes a call; `wrong`: the finding is there.
  Taken step(const DrawnStep& step);
  /// Whether the trace gives the same program again, and without it is what it was.
  Taken replay();

  const Schedule& schedule() const { return schedule_; }
  const std::vector<DrawnStep>& accepted() const { return accepted_; }
  const std::optional<Finding>& finding() const { return finding_; }
  /// Why nothing could be said of the last step, or the condition by which it was refused.
  const std::string& doubt() const { return doubt_; }

 private:
  Taken found(Wrong wrong, std::string reason);
  Taken compare();

  Ptr<PrimFunc> program_;
  Schedule schedule_;
  bool asks_interp_;
  int calls_ = 0;
  std::vector<DrawnStep> accepted_;
  std::optional<Finding> finding_;
  std::string doubt_;
};

/// Takes one to six steps, those that `seed` draws, until one goes wrong or nothing can be said of
/// it; `tell` is called for each, refused ones too. The trace of one trial in four is replayed.
void play(Trial& trial, std::uint64_t seed,
          const std::function<void(const DrawnStep&, Taken)>& tell);

/// The finding that these steps make of a program, if the last of them makes one, and only that.
std::optional<Finding> finding_of(const Ptr<PrimFunc>& program, const std::vector<DrawnStep>& steps,
                                  bool asks_interp = true);

/// A smaller program, and fewer steps, with the same kind of finding by the same primitive.
Finding shrunk(Finding finding, double max_seconds);

}  // namespace loopsmith::schedule_testing
