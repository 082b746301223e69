// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/script_printer.h"

#include <algorithm>
#include <map>

#include "loopsmith/ir/script_writer.h"

namespace loopsmith {
namespace detail {

ScriptWriter::ScriptWriter(const ScriptOptions& options) : options_(options) {
  for (const Ref& node : options.underline) asked_.insert(node.get());
  for (const auto& [node, text] : options.annotate) asked_.insert(node.get());
  asked_.erase(nullptr);
}

void ScriptWriter::put(std::string_view text) {
  cut_ = cut_ || text_.size() + text.size() > options_.most_bytes;
  if (!cut_) text_ += text;
}

void ScriptWriter::begin_line() {
  if (!text_.empty()) put("\n");
  const auto spaces = static_cast<std::size_t>(level_ * options_.indent);
  cut_ = cut_ || text_.size() + spaces > options_.most_bytes;
  if (!cut_) text_.append(spaces, ' ');
}

void ScriptWriter::blank_line() {
  put("\n");
}

void ScriptWriter::mark(const Ref& node, std::size_t begin) {
  if (asked_.contains(node.get())) marks_.push_back({begin, text_.size(), node.get()});
}

}  // namespace detail

namespace {

using detail::ScriptWriter;

/// One line of a script, and what goes with it.
struct Line {
  std::string_view text;
  std::vector<std::pair<std::size_t, std::size_t>> underlined;  ///< Bytes, from its start.
  std::vector<std::string> comments;
};

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back({text.substr(0, end), {}, {}});
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

/// Hands each mark to the line on which it begins, cut where that ends.
void distribute(std::vector<Line>& lines, const ScriptWriter& writer,
                const ScriptOptions& options) {
  const char* const begin = writer.text().data();
  for (const ScriptWriter::Mark& mark : writer.marks()) {
    const auto after = std::ranges::upper_bound(lines, mark.begin, {}, [&](const Line& line) {
      return static_cast<std::size_t>(line.text.data() - begin);
    });
    Line& line = *std::prev(after);
    const auto start = static_cast<std::size_t>(line.text.data() - begin);
    const bool underlined = std::ranges::any_of(
        options.underline, [&](const Ref& node) { return node.get() == mark.node; });
    if (underlined) {
      line.underlined.emplace_back(mark.begin - start,
                                   std::min(mark.end - start, line.text.size()));
    }
    for (const auto& [node, comment] : options.annotate) {
      if (node.get() == mark.node) line.comments.push_back(comment);
    }
  }
}

std::string caret_line(const Line& line) {
  std::string carets;
  for (const auto& [first, last] : line.underlined) {
    const std::size_t from = columns(line.text.substr(0, first));
    const std::size_t to = std::max(columns(line.text.substr(0, last)), from + 1);
    if (carets.size() < to) carets.resize(to, ' ');
    std::fill(carets.begin() + static_cast<std::ptrdiff_t>(from),
              carets.begin() + static_cast<std::ptrdiff_t>(to), '^');
  }
  return carets;
}

/// Which lines are shown: those near an underlined one, or all.
std::vector<bool> shown_lines(const std::vector<Line>& lines, int context) {
  std::vector<bool> shown(lines.size(), context < 0);
  for (std::size_t i = 0; i < lines.size() && context >= 0; ++i) {
    if (lines[i].underlined.empty()) continue;
    const auto reach = static_cast<std::size_t>(context);
    const std::size_t first = i > reach ? i - reach : 0;
    const std::size_t last = std::min(i + reach + 1, lines.size());
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(first),
              shown.begin() + static_cast<std::ptrdiff_t>(last), true);
  }
  return shown;
}

std::string finished(const ScriptWriter& writer, const ScriptOptions& options) {
  std::vector<Line> lines = lines_of(writer.text());
  distribute(lines, writer, options);
  const bool context = options.context_lines >= 0 && !writer.marks().empty();
  const std::vector<bool> shown = shown_lines(lines, context ? options.context_lines : -1);
  const int width =
      options.line_numbers ? static_cast<int>(std::to_string(lines.size()).size()) : 0;

  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (!shown[i]) {
      if (i == 0 || shown[i - 1]) text += text.empty() ? "..." : "\n...";
      continue;
    }
    if (!text.empty() || i > 0) text += '\n';
    if (width) text += fmt::format("{:>{}} ", i + 1, width);
    text += line.text;
    for (const std::string& comment : line.comments) text += "  # " + comment;
    if (!line.underlined.empty()) {
      text += '\n' + std::string(width ? static_cast<std::size_t>(width) + 1 : 0, ' ') +
              caret_line(line);
    }
  }
  return text;
}

}  // namespace

std::string script(const Ref& node, const ScriptOptions& options) {
  ScriptWriter writer(options);
  writer.root(node);
  require(!writer.is_cut(), ErrorKind::bounds, "script_fits_limit",
          hint("raise most_bytes, or print a part; an expression that shares nodes may be endless "
               "as text"),
          {}, "script: the text is longer than {} bytes", options.most_bytes);
  return finished(writer, options);
}

std::string to_string(const Ref& node, std::size_t most_bytes) {
  const ScriptOptions options{.header = false, .declare = false, .most_bytes = most_bytes};
  ScriptWriter writer(options);
  writer.root(node);
  return writer.is_cut() ? writer.text() + "..." : writer.text();
}

std::string brief(const Ref& node) {
  std::string text = to_string(node, 200);
  const std::size_t end = text.find('\n');
  if (end != std::string::npos) text.resize(end);
  if (text.ends_with(':')) text.pop_back();
  return text;
}

}  // namespace loopsmith
