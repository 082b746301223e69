// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/spelling_suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace loopsmith {
namespace {

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

/// How many letters are to be put in, taken out, changed (a change of case alone is none) or
/// swapped with their neighbour: the distance of Damerau and Levenshtein, of adjacent swaps.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t k = 0; k <= b.size(); ++k) last[k] = k;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const bool is_same = lower(a[i - 1]) == lower(b[k - 1]);
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (is_same ? 0 : 1)});
      const bool is_swapped = i > 1 && k > 1 && lower(a[i - 1]) == lower(b[k - 2]) &&
                              lower(a[i - 2]) == lower(b[k - 1]);
      if (is_swapped) row[k] = std::min(row[k], before[k - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> closest_names(std::string_view wanted, std::vector<std::string> names) {
  constexpr std::size_t longest = 200, most = 3;
  std::vector<std::pair<std::size_t, std::string>> found;
  for (std::string& name : names) {
    if (name == wanted || wanted.size() > longest || name.size() > longest) continue;
    const std::size_t letters = std::max(wanted.size(), name.size());
    const std::size_t away = distance(wanted, name);
    if (away * 2 <= letters) found.emplace_back(away, std::move(name));
  }
  std::ranges::sort(found);
  std::vector<std::string> closest;
  for (auto& [away, name] : found) {
    if (closest.size() < most && away <= found.front().first + 1) {
      closest.push_back(std::move(name));
    }
  }
  return closest;
}

std::string did_you_mean(std::string_view wanted, std::vector<std::string> names,
                         std::string_view default_value) {
  const auto closest = closest_names(wanted, std::move(names));
  if (closest.empty()) return std::string(default_value);
  return fmt::format("did you mean {}?", fmt::join(closest, " or "));
}

}  // namespace loopsmith
