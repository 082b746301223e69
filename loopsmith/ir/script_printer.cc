// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/script_printer.h"

#include <algorithm>
#include <map>

#include "loopsmith/ir/script_writer.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace detail {

ScriptWriter::ScriptWriter(const ScriptOptions& options) : options_(options) {
  for (const Ref& node : options.underline) asked_.insert(node.get());
  for (const Ref& node : options.underline_path) asked_.insert(node.get());
  for (const auto& [node, text] : options.annotate) asked_.insert(node.get());
  asked_.erase(nullptr);
}

void ScriptWriter::put(std::string_view text) {
  cut_ = cut_ || text_.size() + text.size() > options_.max_bytes;
  if (!cut_) text_ += text;
}

void ScriptWriter::begin_line() {
  if (!text_.empty()) put("\n");
  const auto spaces = static_cast<std::size_t>(level_) * static_cast<std::size_t>(options_.indent);
  cut_ = cut_ || text_.size() + spaces > options_.max_bytes;
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

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back({text.substr(0, end), {}, {}});
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

/// The line at `position` of the text.
Line& line_at(std::vector<Line>& lines, std::size_t position) {
  const char* const begin = lines[0].text.data();
  const auto after = std::ranges::upper_bound(lines, position, {}, [&](const Line& line) {
    return static_cast<std::size_t>(line.text.data() - begin);
  });
  return *std::prev(after);
}

using Mark = ScriptWriter::Mark;

std::vector<Mark> marks_of(const std::vector<Mark>& marks, const Ref& node) {
  std::vector<Mark> own;
  std::ranges::copy_if(marks, std::back_inserter(own),
                       [&](const Mark& mark) { return mark.node == node.get(); });
  return own;
}

/// Of the innermost node of `path` that is printed, the marks inside those of the nodes around it.
std::vector<Mark> innermost(const std::vector<Mark>& marks, const std::vector<Ref>& path) {
  for (std::size_t k = path.size(); k > 0; --k) {
    std::vector<Mark> own = marks_of(marks, path[k - 1]);
    if (own.empty()) continue;
    for (std::size_t j = k - 1; j > 0; --j) {
      const std::vector<Mark> outer = marks_of(marks, path[j - 1]);
      std::vector<Mark> inside;
      std::ranges::copy_if(own, std::back_inserter(inside), [&](const Mark& mark) {
        return std::ranges::any_of(outer, [&](const Mark& around) {
          return around.begin <= mark.begin && mark.end <= around.end;
        });
      });
      if (!inside.empty()) own = std::move(inside);
    }
    return own;
  }
  return {};
}

/// Hands each mark to the line on which it begins, cut where that ends.
void distribute(std::vector<Line>& lines, const ScriptWriter& writer,
                const ScriptOptions& options) {
  const auto underline = [&](const Mark& mark) {
    Line& line = line_at(lines, mark.begin);
    const auto start = static_cast<std::size_t>(line.text.data() - lines[0].text.data());
    line.underlined.emplace_back(mark.begin - start, std::min(mark.end - start, line.text.size()));
  };
  for (const Ref& node : options.underline) {
    std::ranges::for_each(marks_of(writer.marks(), node), underline);
  }
  std::ranges::for_each(innermost(writer.marks(), options.underline_path), underline);
  for (const auto& [node, comment] : options.annotate) {
    for (const Mark& mark : marks_of(writer.marks(), node)) {
      line_at(lines, mark.begin).comments.push_back(comment);
    }
  }
}

void add_places(std::vector<Line>& lines, const ScriptWriter& writer) {
  for (const auto& [position, span] : writer.spans()) {
    line_at(lines, position)
        .comments.push_back(fmt::format("{}:{}", source_name(span.source), span.line));
  }
}

/// `^` below what is underlined.
std::string caret_line(const Line& line) {
  std::vector<int> opened(line.text.size() + 2);
  for (const auto& [first, last] : line.underlined) {
    ++opened[first];
    --opened[std::max(last, first + 1)];
  }
  std::string carets;
  int open = 0;
  for (std::size_t i = 0; i <= line.text.size(); ++i) {
    open += opened[i];
    const bool continues = i < line.text.size() && (line.text[i] & 0xC0) == 0x80;
    if (!continues) carets += open > 0 ? '^' : ' ';
  }
  carets.erase(carets.find_last_not_of(' ') + 1);
  return carets;
}

/// A long line, cut to what is near its first underlined part.
void shorten(Line& line) {
  constexpr std::size_t most = 160;
  constexpr std::size_t before = 60;
  if (line.text.size() <= most) return;
  const std::size_t first = line.underlined.empty() ? 0 : line.underlined[0].first;
  const std::size_t start = first > before ? first - before : 0;
  line.text = line.text.substr(start, most);
  std::erase_if(line.underlined, [&](const auto& part) { return part.first >= start + most; });
  for (auto& [from, to] : line.underlined) {
    from = from > start ? from - start : 0;
    to = std::min(to - start, line.text.size());
  }
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
  add_places(lines, writer);
  const bool context = options.context_lines >= 0 && !writer.marks().empty();
  const std::vector<bool> shown = shown_lines(lines, context ? options.context_lines : -1);
  const int width =
      options.line_numbers ? static_cast<int>(std::to_string(lines.size()).size()) : 0;

  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line& line = lines[i];
    if (context) shorten(line);
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
          hint("raise max_bytes, or print a part; an expression that shares nodes may be endless "
               "as text"),
          {}, "script: the text is longer than {} bytes", options.max_bytes);
  return finished(writer, options);
}

std::string to_string(const Ref& node, std::size_t max_bytes) {
  const ScriptOptions options{.header = false, .declare = false, .max_bytes = max_bytes};
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
