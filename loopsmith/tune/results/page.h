// SPDX-License-Identifier: Apache-2.0
// Reports of searches as a page of HTML that needs nothing else.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/tune/results/chart.h"
#include "loopsmith/tune/results/effects.h"
#include "loopsmith/tune/results/tried.h"

namespace loopsmith::tune {

/// What is told of the search for one function.
struct Report {
  std::string name;
  std::string summary;  ///< Some lines.
  std::vector<Tried> tried;
  std::vector<Chart> charts;
  std::vector<std::pair<std::string, std::vector<Effect>>> effects;  ///< By their headings.
  std::map<std::string, int> refused;                                ///< Draws, by what was said.
  std::vector<std::pair<std::string, std::string>> code;             ///< HTML, by its headings.
};

/// A page with some reports.
std::string page_of(const std::string& title, const std::vector<Report>& reports);
/// A text of code as HTML.
std::string code_html(const std::string& text);

}  // namespace loopsmith::tune
