// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/trial.h"

#include <fmt/ranges.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/schedule_error.h"
#include "loopsmith/schedule/testing/agreement.h"
#include "loopsmith/schedule/testing/random_arguments.h"

namespace loopsmith::schedule_testing {
namespace {

judge::Judgement judged(const PrimFunc& before, const PrimFunc& after) {
  judge::Judgement result;
  if (before.params.size() != after.params.size()) {
    return {judge::Sameness::different, "the functions take other arguments"};
  }
  for (const std::int64_t size : {7, 4, 1, 0}) {
    for (const std::uint64_t seed : {1, 2}) {
      const auto arguments = random_arguments(before, size, seed);
      judge::Judgement judgement = judge::same(before, after, arguments, seed);
      if (judgement.sameness == judge::Sameness::different) {
        judgement.reason += fmt::format(" (sizes that are open: {})", size);
        return judgement;
      }
      if (judgement.sameness == judge::Sameness::cannot_say) result = std::move(judgement);
    }
    const bool has_open_size = std::ranges::any_of(
        before.params, [](const Ptr<Var>& parameter) { return parameter->dtype.is_integer(); });
    if (!has_open_size) break;
  }
  return result;
}

bool has_other_parameters(const PrimFunc& before, const PrimFunc& after) {
  return !std::ranges::equal(before.buffer_map, after.buffer_map, RefEqual());
}

/// An index map as a person would write it.
std::string map_text(const IndexMap& map) {
  std::vector<std::string> from, to;
  for (const auto& index : map.initial_indices) from.push_back(index->name);
  for (const Expr& index : map.final_indices) to.push_back(to_string(index));
  return fmt::format("lambda {}: ({}{})", fmt::join(from, ", "), fmt::join(to, ", "),
                     to.size() == 1 ? "," : "");
}

}  // namespace

std::string_view to_string(Wrong wrong) {
  constexpr std::string_view names[] = {"result",    "interp",  "program",
                                        "exception", "refusal", "replay"};
  return names[static_cast<std::size_t>(wrong)];
}

std::string text(const Finding& finding) {
  Schedule schedule(finding.program, 1);
  std::string calls, last;
  for (const DrawnStep& step : finding.steps) {
    try {
      step.apply(schedule);
    } catch (const std::exception& error) {
      Step call{.primitive = step.primitive};
      for (const auto& argument : step.arguments)
        call.arguments.push_back(argument.value_or(Argument()));
      Trace trace;
      trace.append(std::move(call));
      last = fmt::format("{}\n", fmt::join(trace.as_python(), "\n"));
    }
  }
  std::string maps;
  for (const DrawnStep& step : finding.steps) {
    for (const auto& argument : step.arguments) {
      const Ref* node = argument ? argument->as<Ref>() : nullptr;
      if (const auto* map = node ? node->as<IndexMap>() : nullptr) {
        maps += fmt::format("# {} by {}\n", step.primitive->name, map_text(*map));
      }
    }
  }
  const Trace trace = schedule.trace();
  calls = fmt::format("{}\n{}", fmt::join(trace.as_python(), "\n"), last);
  const std::string_view primitive =
      finding.steps.empty() ? "nothing" : finding.steps.back().primitive->name;
  return fmt::format("# {}: {}: {}\n\n{}\n\n# The trace:\n{}{}\n# After it:\n{}\n", primitive,
                     to_string(finding.wrong), finding.reason, script(finding.program), maps, calls,
                     script(schedule.func()));
}

bool is_valid(const Ptr<PrimFunc>& program) {
  return judged(*program, *program).sameness == judge::Sameness::same && !disagreement(program);
}

Trial::Trial(Ptr<PrimFunc> program, bool asks_interp)
    : program_(std::move(program)), schedule_(program_, 1), asks_interp_(asks_interp) {
  // Quick answers are held against the exact ones.
  schedule_.verify_quick_answers(asks_interp);
}

namespace {

/// True for an error in making an expression of indices: no program is to blame for its types.
bool is_of_indices(const UserError& error) {
  constexpr std::string_view codes[] = {"operands_have_one_type", "range_of_integers",
                                        "axis_has_type_of_domain", "bounds_have_one_type"};
  return std::ranges::find(codes, error.code()) != std::end(codes);
}

}  // namespace

Taken Trial::found(Wrong wrong, std::string reason) {
  for (char& letter : reason) {
    if (letter == '\n') letter = ' ';
  }
  finding_ = {wrong, std::move(reason), program_, accepted_};
  return Taken::wrong;
}

Taken Trial::step(const DrawnStep& step) {
  const Ptr<PrimFunc> before = schedule_.func();
  const std::size_t steps = schedule_.steps().size();
  // What is asked first answers as the call does; this costs a plan, so not each time.
  const bool is_asked = ++calls_ % 4 == 0;
  bool may_apply = false;
  try {
    may_apply = is_asked && step.may_apply(schedule_);
    step.apply(schedule_);
  } catch (const UserError& error) {
    const bool is_kept = schedule_.func().same_as(before) && schedule_.steps().size() == steps;
    doubt_ = error.code();
    if (!dynamic_cast<const ScheduleError*>(&error) && is_of_indices(error)) {
      accepted_.push_back(step);
      return found(Wrong::exception, error.problem());
    }
    if (is_kept && !(is_asked && may_apply)) return Taken::refused;
    accepted_.push_back(step);
    return found(Wrong::refusal, is_kept ? "it was said to apply" : error.problem());
  } catch (const std::exception& error) {
    accepted_.push_back(step);
    return found(Wrong::exception, error.what());
  }
  // With other arguments the function gives other results.
  const bool is_layout = step.primitive->name == "transform_layout";
  if (is_layout && has_other_parameters(*before, *schedule_.func())) {
    schedule_.undo(schedule_.steps().size() - steps);
    doubt_ = "parameters_stay";
    return Taken::refused;
  }
  accepted_.push_back(step);
  if (is_asked && !may_apply) return found(Wrong::refusal, "it was said not to apply");
  try {
    schedule_.check_tree();
    verify_well_formed(schedule_.func());
  } catch (const std::exception& error) {
    return found(Wrong::program, error.what());
  }
  return schedule_.func().same_as(before) ? Taken::same : compare();
}

Taken Trial::compare() {
  const Ptr<PrimFunc> after = schedule_.func();
  const judge::Judgement judgement = judged(*program_, *after);
  interp::Verdict verdict;
  try {
    // Of a program with obligations, the interpreter would say that memory was not written.
    if (asks_interp_ && obligations(schedule_).empty()) {
      verdict = interp::compare(program_, after, {.implies_barriers = true});
    }
  } catch (const std::exception& error) {
    verdict.reason = error.what();
  }
  if (judgement.sameness == judge::Sameness::different) {
    if (verdict.answer == interp::Answer::same) {
      return found(Wrong::result, judgement.reason + "; the interpreter: the same");
    }
    return found(Wrong::result, judgement.reason);
  }
  // Values that no statement uses may be made of memory never written: the judge follows them.
  // Partial sums may overflow where the sum does not, and give the same sum.
  const auto complains_of = [&](std::string_view what) {
    return verdict.reason.find(what) != std::string::npos;
  };
  const bool is_harmless = judgement.sameness == judge::Sameness::same &&
                           (complains_of("was never written") || complains_of(" overflows int"));
  if (verdict.answer == interp::Answer::different && !is_harmless) {
    return found(Wrong::interp, verdict.reason);
  }
  if (judgement.sameness == judge::Sameness::same) return Taken::same;
  doubt_ = judgement.reason;
  return Taken::cannot_say;
}

Taken Trial::replay() {
  try {
    Schedule again(program_, 1);
    again.verify_quick_answers(asks_interp_);  // What is known of loops depends on what was asked.
    schedule_.trace().apply_to(again);
    if (!structural_equal(again.func(), schedule_.func(), true)) {
      return found(Wrong::replay, "the trace gives another program");
    }
    again.undo(again.steps().size());
    again.check_tree();
    if (structural_equal(again.func(), program_, true)) return Taken::same;
    return found(Wrong::replay, "without its steps it is another program");
  } catch (const std::exception& error) {
    return found(Wrong::replay, error.what());
  }
}

void play(Trial& trial, std::uint64_t seed,
          const std::function<void(const DrawnStep&, Taken)>& tell) {
  Draw draw(seed ^ 0x5bd1e995);
  const int steps = draw.between(1, 6);
  for (int attempts = 0; attempts < 5 * steps; ++attempts) {
    const DrawnStep step = draw_step(draw, trial.schedule());
    const Taken taken = trial.step(step);
    tell(step, taken);
    if (taken == Taken::wrong || taken == Taken::cannot_say) return;
    if (static_cast<int>(trial.accepted().size()) == steps) break;
  }
  const bool is_replayed = seed % 4 == 0 && !trial.accepted().empty();
  if (is_replayed && trial.replay() == Taken::wrong) tell(trial.accepted().back(), Taken::wrong);
}

std::optional<Finding> finding_of(const Ptr<PrimFunc>& program, const std::vector<DrawnStep>& steps,
                                  bool asks_interp) {
  if (!is_valid(program)) return {};
  Trial trial(program, asks_interp);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Taken taken = trial.step(steps[i]);
    if (taken == Taken::refused) return {};
    if (taken == Taken::wrong) {
      return i + 1 == steps.size() ? trial.finding() : std::nullopt;
    }
  }
  return trial.replay() == Taken::wrong ? trial.finding() : std::nullopt;
}

}  // namespace loopsmith::schedule_testing
