// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace loopsmith {
namespace {

std::string iteration_text(const Witness::Iteration& iteration) {
  std::vector<std::string> values;
  for (const auto& [loop, value] : iteration.loops) {
    values.push_back(fmt::format("{}={}", loop, value));
  }
  return fmt::format("iteration {} {}", fmt::join(values, ", "),
                     iteration.writes ? "writes" : "reads");
}

}  // namespace

std::string Witness::text() const {
  std::vector<std::string> indices;
  for (const std::int64_t index : element) indices.push_back(std::to_string(index));
  const std::string what = fmt::format("{}[{}]", buffer, fmt::join(indices, ", "));
  return fmt::format("{} {}, {} it", iteration_text(first), what, iteration_text(second));
}

std::string Refusal::problem() const {
  if (!change) return std::string(condition->problem);
  return fmt::format("results {}: {}", change->is_known ? "would change" : "may change",
                     change->problem);
}

Refusal changed_results(const ResultChange& change, std::vector<Argument> subjects,
                        std::optional<Witness> witness) {
  return {&step_keeps_results, std::move(subjects), std::move(witness), change};
}

}  // namespace loopsmith
