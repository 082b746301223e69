// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/refusal.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/schedule.h"

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

std::string iteration_text(const Witness::Iteration& iteration) {
  std::vector<std::string> values;
  for (const auto& [loop, value] : iteration.loops) {
    values.push_back(fmt::format("{}={}", loop, value));
  }
  return fmt::format("iteration {} {}", join(values), iteration.writes ? "writes" : "reads");
}

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

std::string Witness::text() const {
  std::vector<std::string> indices;
  for (const std::int64_t index : element) indices.push_back(std::to_string(index));
  const std::string what = fmt::format("{}[{}]", buffer, join(indices));
  return fmt::format("{} {}, {} it", iteration_text(first), what, iteration_text(second));
}

std::string explain(const Schedule& schedule, const Refusal& refusal) {
  std::string text;
  std::string_view rest = refusal.condition->problem;
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

ScheduleError::ScheduleError(const Schedule& schedule, std::string_view primitive, Refusal refusal)
    : UserError(ErrorKind::schedule, std::string(refusal.condition->id),
                fmt::format("{}: {}", primitive, explain(schedule, refusal)),
                std::string(refusal.condition->hint), span_of(schedule, refusal)),
      primitive_(primitive),
      refusal_(std::move(refusal)),
      picture_(picture_of(schedule, refusal_)),
      text_(UserError::what()) {
  for (const Argument& subject : refusal_.subjects) {
    subjects_.push_back(std::visit(Naming{schedule}, subject.value));
  }
  for (const std::string& fix : refusal_.fixes) text_ += "\n  fix: " + fix;
  if (!picture_.empty()) text_ += "\n\n" + picture_;
}

}  // namespace loopsmith
