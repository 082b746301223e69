// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/inspect.h"

#include <algorithm>
#include <map>
#include <set>

#include "loopsmith/driver/back_ends.h"
#include "loopsmith/driver/export.h"
#include "loopsmith/driver/metadata.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/source.h"
#include "loopsmith/transform/hoist_calls.h"

namespace loopsmith {
namespace {

/// A line of a source, and the lines of the lowered program that came from it.
using SourceLines = std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>>;

/// Finds the lines of statements: the text of a function is read back, and the two trees, which
/// are the same, are walked side by side.
class LineFinder {
 public:
  /// Adds a function, the text of which begins after `lines_before` others.
  void add(const Ptr<PrimFunc>& func, const std::string& text, std::uint32_t lines_before) {
    // A text that names functions of its module cannot be read without them.
    if (calls_functions(func->body)) return;
    lines_before_ = lines_before;
    const auto copy = Ptr<PrimFunc>::from(
        parse(text, {.name = "<lowered>", .adds_root = false, .check_well_formed = false}));
    if (structural_equal(func, copy)) pair_up(func->body, copy->body);
  }
  const StatementLines& lines() const { return lines_; }
  const SourceLines& sources() const { return sources_; }

 private:
  struct Pair {
    Ref own, copy;
  };

  void pair_up(const Stmt& own, const Stmt& copy) {
    std::vector<Pair> pending = {{own, copy}};
    while (!pending.empty()) {
      const Pair pair = pending.back();
      pending.pop_back();
      const std::uint32_t line = pair.copy.get()->span.line + lines_before_;
      // A sequence stands where its statements do.
      if (!pair.own.is<SeqStmt>()) {
        lines_.emplace(pair.own.get(), line);
        note_sources(pair.own, line);
      }
      const std::vector<Ref> inside = statements_in(pair.own), same = statements_in(pair.copy);
      for (std::size_t i = 0; i < inside.size(); ++i) pending.push_back({inside[i], same[i]});
    }
  }

  static std::vector<Ref> statements_in(const Ref& node) {
    std::vector<Ref> found;
    for_each_child(*node.get(), [&](const Ref& child, Role) {
      if (Stmt::from(child).defined()) found.push_back(child);
    });
    return found;
  }

  /// Notes where a statement and its expressions came from.
  void note_sources(const Ref& statement, std::uint32_t line) {
    pre_order_visit(statement, [&](const Ref& node) {
      if (!node.same_as(statement) && Stmt::from(node).defined()) return false;
      const Span& span = node.get()->span;
      if (span.known()) sources_[{whole_source(span.source), span.line}].insert(line);
      return true;
    });
  }

  std::uint32_t lines_before_ = 0;
  StatementLines lines_;
  SourceLines sources_;
};

/// The user's lines, with the few between them that nothing came from.
std::vector<InspectedLine> quoted(const SourceLines& sources) {
  constexpr std::uint32_t max_lines_between = 3;
  std::vector<InspectedLine> lines;
  std::pair<std::uint32_t, std::uint32_t> last{0, 0};
  for (const auto& [place, made] : sources) {
    const auto [source, line] = place;
    const std::string file = source_name(source);
    const bool is_near = source == last.first && line - last.second <= max_lines_between + 1;
    for (std::uint32_t between = last.second + 1; is_near && between < line; ++between) {
      lines.push_back({file, between, source_line(source, between), {}});
    }
    if (!is_near && source == last.first)
      lines.push_back({.file = file, .text = "...", .made = {}});
    lines.push_back({file, line, source_line(source, line), {made.begin(), made.end()}});
    last = place;
  }
  return lines;
}

/// The text of the lowered functions, whose statements `finder` is to find.
TextWithLines text_of(const CodeRequest& request, LineFinder& finder) {
  TextWithLines ir;
  const auto add = [&](const Ptr<PrimFunc>& built) {
    const Ptr<PrimFunc> func = without_notes(built);
    const std::string text = script(func) + "\n";
    const auto lines_before = static_cast<std::uint32_t>(std::ranges::count(ir.text, '\n'));
    finder.add(func, text, lines_before);
    ir.text += text;
  };
  std::ranges::for_each(request.helpers, add);
  std::ranges::for_each(request.functions, add);
  ir.lines.resize(static_cast<std::size_t>(std::ranges::count(ir.text, '\n')));
  return ir;
}

/// Gives the lines of the statements in `stmt`, which is inside of the loops `around`, their names.
void name_lines(const Ref& stmt, const std::string& around, ProgramLines& lines) {
  deep_call([&] {
    const auto* loop = stmt.as<For>();
    std::string inside = around;
    if (loop) inside += (around.empty() ? "" : "/") + loop->loop_var->name;
    const auto line = lines.statements.find(stmt.get());
    if (line != lines.statements.end()) {
      if (lines.loops.size() <= line->second) lines.loops.resize(line->second + 1);
      lines.loops[line->second] = inside;
    }
    for_each_child(*stmt.get(), [&](const Ref& child, Role) {
      if (is_stmt(*child.get())) name_lines(child, inside, lines);
    });
  });
}

}  // namespace

ProgramLines program_lines(const CodeRequest& request) {
  LineFinder finder;
  (void)text_of(request, finder);
  ProgramLines made{.statements = finder.lines(), .loops = {}};
  for (const auto* functions : {&request.helpers, &request.functions}) {
    for (const Ptr<PrimFunc>& func : *functions) name_lines(func->body, "", made);
  }
  return made;
}

Inspection inspect(const CodeRequest& request) {
  LineFinder finder;
  TextWithLines ir = text_of(request, finder);
  for (const auto& [statement, line] : finder.lines()) {
    if (line > 0 && line <= ir.lines.size()) ir.lines[line - 1] = line;
  }
  Inspection made{.source = quoted(finder.sources()), .texts = {{"ir", std::move(ir)}}};
  for (const TextForm& form : back_end_of(request.target).forms()) {
    made.texts.push_back({form.name, form.lined(request, finder.lines())});
  }
  return made;
}

Inspection inspect(const Module& module) {
  return inspect(parse_request(module.source("json")));
}

}  // namespace loopsmith
