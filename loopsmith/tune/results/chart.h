// SPDX-License-Identifier: Apache-2.0
// Charts: what they show, and how they are drawn as SVG.
#pragma once
#include <string>
#include <vector>

namespace loopsmith::tune {

/// How the points of a series are drawn.
enum class Look { points, line, line_with_points, steps, dashed };

/// Points that belong together. Their coordinates are finite, and positive where an axis is
/// logarithmic.
struct Series {
  std::string name;
  Look look = Look::points;
  std::vector<double> x, y;
  std::vector<std::string> labels = {};  ///< Beside the first points.
};

/// Some series over common axes.
struct Chart {
  std::string x_label, y_label;
  bool is_x_log = false;
  bool is_y_log = true;
  std::vector<Series> series = {};
};

/// Charts side by side, under a title, as an element of SVG.
std::string svg_of(const std::string& title, const std::vector<Chart>& charts);

/// A text as HTML and XML have it.
std::string escaped(const std::string& text);

}  // namespace loopsmith::tune
