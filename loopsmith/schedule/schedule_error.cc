// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/schedule_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/fixes/tried_fixes.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::string join(const std::vector<std::string>& parts, std::string_view between = ", ") {
  return fmt::format("{}", fmt::join(parts, between));
}

/// How a subject is called in a sentence.
struct Naming {
  const Schedule& schedule;

  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool flag) const { return flag ? "True" : "False"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(LoopRV loop) const { return std::string(schedule.name(loop)); }
  std::string operator()(BlockRV block) const { return std::string(schedule.name(block)); }
  std::string operator()(ExprRV hole) const { return std::to_string(schedule.get(hole)); }
  std::string operator()(const Ref& node) const {
    const auto* buffer = node.as<Buffer>();
    return buffer ? buffer->name : brief(node);
  }
  std::string operator()(const Argument::List& list) const {
    std::vector<std::string> names;
    for (const Argument& item : list) names.push_back(std::visit(*this, item.value));
    return join(names);
  }
};

#ifdef LOOPSMITH_INTERNAL_CHECKS
/// Whether a primitive may refuse by `condition`: it is one of its own, or of handles, or of what
/// all primitives are allowed.
bool is_condition_of(const PrimitiveBase& primitive, const Condition* condition) {
  const Condition* const of_all[] = {
      &handle_is_of_this_schedule,  &step_is_not_undone,     &loop_is_alive, &block_is_alive,
      &reductions_keep_their_order, &numbers_fit_their_types};
  return std::ranges::find(primitive.conditions, condition) != primitive.conditions.end() ||
         std::ranges::find(of_all, condition) != std::end(of_all);
}
#endif

/// The nodes of the handles among subjects that are in the program.
struct Places {
  const Schedule& schedule;
  std::vector<NodeId> nodes;

  void operator()(const Argument& subject) {
    if (const auto* loop = subject.as<LoopRV>()) add(schedule.node(*loop));
    if (const auto* block = subject.as<BlockRV>()) add(schedule.node(*block));
    if (const auto* list = subject.as<Argument::List>()) {
      for (const Argument& item : *list) (*this)(item);
    }
  }
  void add(NodeId node) {
    if (node != no_node) nodes.push_back(node);
  }
};

Span span_of(const Schedule& schedule, const Refusal& refusal) {
  Places places{schedule, {}};
  for (const Argument& subject : refusal.subjects) places(subject);
  for (const NodeId node : places.nodes) {
    const Span& span = schedule.at(node).object->span;
    if (span.known()) return span;
  }
  return {};
}

std::string picture_of(const Schedule& schedule, const Refusal& refusal) {
  Places places{schedule, {}};
  for (const Argument& subject : refusal.subjects) places(subject);
  if (places.nodes.empty()) return {};
  ScriptOptions options{.header = false, .context_lines = 2};
  for (const NodeId node : places.nodes) options.underline.emplace_back(schedule.at(node).object);
  const NodeId root = schedule.root(schedule.function_of(places.nodes[0]));
  return script(Ref(schedule.at(root).object), options);
}

}  // namespace

std::string explain(const Schedule& schedule, const Refusal& refusal) {
  std::string text;
  const std::string problem = refusal.problem();
  std::string_view rest = problem;
  for (const Argument& subject : refusal.subjects) {
    const std::size_t hole = rest.find("{}");
    if (hole == std::string_view::npos) break;
    text += rest.substr(0, hole);
    text += std::visit(Naming{schedule}, subject.value);
    rest.remove_prefix(hole + 2);
  }
  text += rest;
  if (refusal.witness) text += ": " + refusal.witness->text();
  return text;
}

struct ScheduleError::Parts {
  Schedule schedule;  ///< As it was.
  const PrimitiveBase* called = nullptr;
  std::string primitive;
  std::vector<Argument> arguments;
  Refusal refusal;
  std::vector<std::string> subjects;
  ErrorDetail detail = ErrorDetail::full;

  std::once_flag is_drawn, is_mended, is_told;
  std::string picture;
  std::vector<std::string> fixes;
  std::string text;

  const std::string& drawn() {
    std::call_once(is_drawn, [&] { picture = picture_of(schedule, refusal); });
    return picture;
  }
  const std::vector<std::string>& mended() {
    std::call_once(is_mended, [&] {
      if (called) fixes = tried_fixes({schedule, *called, arguments, refusal});
    });
    return fixes;
  }
  /// `whole` is the text of the error without the fixes and the picture.
  const std::string& told(std::string_view problem, const char* whole) {
    std::call_once(is_told, [&] {
      if (detail == ErrorDetail::none) {
        text = "(not rendered)";
      } else if (detail == ErrorDetail::brief) {
        text = problem;
      } else {
        text = whole;
        for (const std::string& fix : mended()) text += "\n  fix: " + indented(fix);
        if (!drawn().empty()) text += "\n\n" + drawn();
      }
    });
    return text;
  }

  static std::string indented(std::string_view lines) {
    std::string text;
    for (const char letter : lines) {
      text += letter;
      if (letter == '\n') text += "       ";
    }
    return text;
  }
};

ScheduleError::ScheduleError(const Schedule& schedule, std::string_view name, Refusal refusal)
    : UserError(ErrorKind::schedule, std::string(refusal.condition->id),
                fmt::format("{}: {}", name, explain(schedule, refusal)),
                std::string(refusal.hint()), span_of(schedule, refusal)),
      parts_(new Parts{.schedule = schedule.snapshot(),
                       .primitive = std::string(name),
                       .refusal = std::move(refusal)}) {
  for (const Argument& subject : parts_->refusal.subjects) {
    parts_->subjects.push_back(std::visit(Naming{schedule}, subject.value));
  }
}

ScheduleError::ScheduleError(const Schedule& schedule, const PrimitiveBase& primitive,
                             std::vector<Argument> arguments, Refusal refusal)
    : ScheduleError(schedule, primitive.name, std::move(refusal)) {
#ifdef LOOPSMITH_INTERNAL_CHECKS
  check(is_condition_of(primitive, parts_->refusal.condition), "primitive",
        "{} refuses by {}, which its conditions do not name", primitive.name,
        parts_->refusal.condition->id);
#endif
  parts_->called = &primitive;
  parts_->arguments = std::move(arguments);
}

const std::string& ScheduleError::primitive() const {
  return parts_->primitive;
}

const Refusal& ScheduleError::refusal() const {
  return parts_->refusal;
}

const std::vector<std::string>& ScheduleError::subjects() const {
  return parts_->subjects;
}

const std::string& ScheduleError::picture() const {
  return parts_->drawn();
}

const std::vector<std::string>& ScheduleError::fixes() const {
  return parts_->mended();
}

const char* ScheduleError::what() const noexcept {
  try {
    return parts_->told(problem(), UserError::what()).c_str();
  } catch (...) {
    return UserError::what();
  }
}

void ScheduleError::set_detail(ErrorDetail detail) {
  parts_->detail = detail;
}

}  // namespace loopsmith
