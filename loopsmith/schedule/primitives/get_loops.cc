// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/get_loops.h"

#include <algorithm>

#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// True when `text` is like `pattern`, in which * stands for any text and ? for any letter.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

Planned<GetLoopsPlan> plan_get_loops(const Schedule& schedule, const GetLoopsArguments& arguments) {
  GetLoopsPlan plan{loops_around(schedule, schedule.node(arguments.block))};
  if (arguments.pattern) {
    std::erase_if(plan.loops,
                  [&](LoopRV loop) { return !matches(*arguments.pattern, schedule.name(loop)); });
  }
  return plan;
}

Handles<LoopRV> commit_get_loops(Schedule&, GetLoopsPlan&& plan) {
  return std::move(plan.loops);
}

}  // namespace loopsmith
