// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace loopsmith::tune {
namespace {

/// A chart, and the room around its axes.
constexpr double chart_width = 460, chart_height = 340;
constexpr double left_margin = 70, right_margin = 14, top_margin = 34, bottom_margin = 48;
constexpr std::array colours = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"};

/// Where numbers lie between the ends of a chart.
class Axis {
 public:
  Axis(bool is_log, double from, double to) : is_log_(is_log), from_(from), to_(to) {}

  /// Takes a number into the range.
  void include(double number) {
    low_ = std::min(low_, scaled(number));
    high_ = std::max(high_, scaled(number));
  }
  /// Leaves room around the numbers.
  void pad() {
    if (low_ > high_) low_ = 0, high_ = 1;
    const double room = low_ == high_ ? 0.5 : 0.06 * (high_ - low_);
    low_ -= room;
    high_ += room;
  }
  double place(double number) const {
    return from_ + (scaled(number) - low_) / (high_ - low_) * (to_ - from_);
  }
  /// Round numbers of the range.
  std::vector<double> ticks() const {
    std::vector<double> found;
    if (is_log_ && high_ - low_ >= 1) {
      const double step = std::ceil((high_ - low_) / 6);
      for (double power = std::ceil(low_); power <= high_; power += step) {
        found.push_back(std::pow(10, power));
      }
      return found;
    }
    const double low = is_log_ ? std::pow(10, low_) : low_;
    const double high = is_log_ ? std::pow(10, high_) : high_;
    const double rough = (high - low) / 4, unit = std::pow(10, std::floor(std::log10(rough)));
    const double step = unit * (rough / unit < 2 ? 1 : rough / unit < 5 ? 2 : 5);
    for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) {
      found.push_back(std::abs(tick) < step / 1e6 ? 0 : tick);
    }
    return found;
  }

 private:
  double scaled(double number) const { return is_log_ ? std::log10(number) : number; }

  bool is_log_;
  double from_, to_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -low_;
};

std::string text_at(double x, double y, const std::string& anchor, const std::string& text,
                    const std::string& more = {}) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'{}>{}</text>", x, y, anchor, more,
                     escaped(text));
}

std::string line_between(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#ddd'/>", x1,
                     y1, x2, y2);
}

/// A series in a chart.
std::string series_svg(const Series& series, const Axis& across, const Axis& up,
                       const char* colour) {
  std::string text, path;
  double before = 0;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double x = across.place(series.x[i]), y = up.place(series.y[i]);
    if (series.look == Look::steps && i > 0) path += fmt::format(" {:.1f},{:.1f}", x, before);
    path += fmt::format(" {:.1f},{:.1f}", x, y);
    before = y;
    if (series.look == Look::points || series.look == Look::line_with_points) {
      text += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.5' fill='{}'/>", x, y, colour);
    }
    if (i < series.labels.size()) {
      text += text_at(x + 4, y - 4, "start", series.labels[i], " font-size='9'");
    }
  }
  if (series.look == Look::points) return text;
  const char* dashes = series.look == Look::dashed ? " stroke-dasharray='5,4'" : "";
  return text + fmt::format("<polyline fill='none' stroke='{}'{} points='{}'/>", colour, dashes,
                            path.empty() ? path : path.substr(1));
}

std::string chart_svg(const Chart& chart, double offset) {
  Axis across(chart.is_x_log, offset + left_margin, offset + chart_width - right_margin);
  Axis up(chart.is_y_log, chart_height - bottom_margin, top_margin);
  for (const Series& series : chart.series) {
    for (const double x : series.x) across.include(x);
    for (const double y : series.y) up.include(y);
  }
  across.pad();
  up.pad();
  std::string text;
  for (const double tick : across.ticks()) {
    const double x = across.place(tick);
    text += line_between(x, top_margin, x, chart_height - bottom_margin);
    text += text_at(x, chart_height - bottom_margin + 14, "middle", fmt::format("{:.4g}", tick));
  }
  for (const double tick : up.ticks()) {
    const double y = up.place(tick);
    text += line_between(offset + left_margin, y, offset + chart_width - right_margin, y);
    text += text_at(offset + left_margin - 6, y + 4, "end", fmt::format("{:.4g}", tick));
  }
  const double middle_x = offset + (left_margin + chart_width - right_margin) / 2,
               middle_y = (top_margin + chart_height - bottom_margin) / 2;
  text += text_at(middle_x, chart_height - 12, "middle", chart.x_label);
  text += text_at(offset + 14, middle_y, "middle", chart.y_label,
                  fmt::format(" transform='rotate(-90 {:.1f} {:.1f})'", offset + 14, middle_y));
  double row = top_margin + 12;
  for (std::size_t i = 0; i < chart.series.size(); ++i, row += 14) {
    const Series& series = chart.series[i];
    const char* colour = colours[i % colours.size()];
    text += series_svg(series, across, up, colour);
    text += text_at(offset + chart_width - right_margin - 4, row, "end", series.name,
                    fmt::format(" fill='{}'", colour));
  }
  return text;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string made;
  for (const char letter : text) {
    switch (letter) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      case '\'': made += "&#x27;"; break;
      default: made += letter;
    }
  }
  return made;
}

std::string svg_of(const std::string& title, const std::vector<Chart>& charts) {
  const double whole = chart_width * static_cast<double>(charts.size());
  std::string text = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "style='max-width:100%' font-family='sans-serif' font-size='11'>"
      "<rect width='{0}' height='{1}' fill='white'/>",
      whole, chart_height);
  text += text_at(whole / 2, 18, "middle", title, " font-size='14'");
  for (std::size_t i = 0; i < charts.size(); ++i) {
    text += chart_svg(charts[i], chart_width * static_cast<double>(i));
  }
  return text + "</svg>";
}

}  // namespace loopsmith::tune
