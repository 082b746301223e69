// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/fixes/tried_fixes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "loopsmith/schedule/fixes/candidate_fixes.h"
#include "loopsmith/schedule/python_text.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

constexpr std::size_t max_fixes = 3;
constexpr std::size_t max_trials = 24;
/// An argument whose text is longer is nothing that a reader would paste.
constexpr std::size_t max_characters = 200;

/// What identifies a handle: what it is of, its schedule, its number.
using HandleKey = std::tuple<char, std::uint32_t, std::uint32_t>;

std::optional<HandleKey> handle_key(const Argument& argument) {
  if (const auto* loop = argument.as<LoopRV>()) return HandleKey{'l', loop->schedule, loop->index};
  if (const auto* block = argument.as<BlockRV>())
    return HandleKey{'b', block->schedule, block->index};
  if (const auto* hole = argument.as<ExprRV>()) return HandleKey{'v', hole->schedule, hole->index};
  return {};
}

template <class Visit>
void each_key(const Argument& argument, const Visit& visit) {
  if (const auto key = handle_key(argument)) visit(*key);
  if (const auto* list = argument.as<Argument::List>()) {
    for (const Argument& item : *list) each_key(item, visit);
  }
}

/// Does the steps of a repair on a schedule and writes them down; nothing where a handle has no
/// name of its own, or a text no end.
class FixWriter {
 public:
  explicit FixWriter(Schedule& schedule) : schedule_(schedule) {}

  std::optional<std::string> run(const Fix& fix) {
    std::string lines;
    for (std::size_t i = 0; i < fix.size(); ++i) {
      const auto parameters = fix[i].primitive->parameters();
      std::vector<Argument> arguments;
      for (std::size_t k = 0; k < fix[i].arguments.size(); ++k) {
        const ParameterInfo& parameter = parameters[k];
        arguments.push_back(parameter.is_promise ? parameter.default_value
                                                 : real(fix[i].arguments[k]));
      }
      const std::string text = call_text(*fix[i].primitive, arguments);
      if (is_nameless_) return {};
      std::vector<const Argument*> given;
      for (const Argument& argument : arguments) given.push_back(&argument);
      const Argument made = fix[i].primitive->call(schedule_, given);
      if (i > 0) lines += '\n';
      if (is_used(fix[i].result, fix, i + 1)) lines += targets(fix[i].result, made);
      lines += text;
    }
    return lines;
  }

 private:
  /// The argument with what earlier steps have really given.
  Argument real(const Argument& argument) const {
    if (const auto key = handle_key(argument)) {
      const auto found = given_.find(*key);
      return found == given_.end() ? argument : found->second;
    }
    const auto* list = argument.as<Argument::List>();
    if (!list) return argument;
    Argument::List items;
    for (const Argument& item : *list) items.push_back(real(item));
    return items;
  }

  static bool is_used(const Argument& result, const Fix& fix, std::size_t from) {
    bool found = false;
    each_key(result, [&](const HandleKey& made) {
      for (std::size_t i = from; i < fix.size(); ++i) {
        for (const Argument& argument : fix[i].arguments) {
          each_key(argument, [&](const HandleKey& used) { found = found || used == made; });
        }
      }
    });
    return found;
  }

  /// `l0, l1 = `, with a name for each handle that was made.
  std::string targets(const Argument& expected, const Argument& made) {
    const auto take = [&](const Argument& now) {
      const HandleKey key = *handle_key(now);
      return variables_[key] = fmt::format("{}{}", std::get<0>(key), variables_.size());
    };
    const auto* now = made.as<Argument::List>();
    if (!now) {
      given_[*handle_key(expected)] = made;
      return take(made) + " = ";
    }
    const auto* before = expected.as<Argument::List>();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < now->size(); ++i) {
      if (before && i < before->size()) given_[*handle_key((*before)[i])] = (*now)[i];
      names.push_back(take((*now)[i]));
    }
    return fmt::format("{}{} = ", fmt::join(names, ", "), names.size() == 1 ? "," : "");
  }

  std::string call_text(const PrimitiveBase& primitive, const std::vector<Argument>& arguments) {
    const auto name = [this](const Argument& handle) {
      const auto known = name_of(handle);
      is_nameless_ = is_nameless_ || !known;
      return known.value_or("");
    };
    const auto parameters = primitive.parameters();
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string text = python_text(arguments[i], name);
      is_nameless_ = is_nameless_ || text.size() > max_characters;
      if (parameters[i].required) {
        parts.push_back(text);
      } else if (text != python_text(parameters[i].default_value, name)) {
        parts.push_back(fmt::format("{}={}", parameters[i].name, text));
      }
    }
    return fmt::format("sch.{}({})", primitive.name, fmt::join(parts, ", "));
  }

  /// A variable, or a call that finds it in the schedule as it is now.
  std::optional<std::string> name_of(const Argument& handle) const {
    if (const auto known = variables_.find(*handle_key(handle)); known != variables_.end()) {
      return known->second;
    }
    if (const auto* block = handle.as<BlockRV>()) return block_text(*block);
    if (const auto* loop = handle.as<LoopRV>()) return loop_text(*loop);
    return {};
  }

  std::string function_text(NodeId node) const {
    const std::uint32_t function = schedule_.function_of(node);
    if (schedule_.function_named() == function) return {};
    return ", " + quoted_text(schedule_.function_name(function));
  }

  std::optional<std::string> block_text(BlockRV block) const {
    if (schedule_.refuse(block)) return {};
    const NodeId node = schedule_.node(block);
    const std::string_view name = schedule_.name(block);
    if (schedule_.blocks_named(schedule_.function_of(node), name).size() != 1) return {};
    return fmt::format("sch.get_block({}{})", quoted_text(std::string(name)), function_text(node));
  }

  std::optional<std::string> loop_text(LoopRV loop) const {
    if (schedule_.refuse(loop)) return {};
    const NodeId node = schedule_.node(loop);
    const std::string_view name = schedule_.name(loop);
    if (schedule_.loops_named(schedule_.function_of(node), name).size() == 1) {
      return fmt::format("sch.get_loop({}{})", quoted_text(std::string(name)), function_text(node));
    }
    for (const BlockRV block : child_blocks(schedule_, node)) {
      const auto around = loops_around(schedule_, schedule_.node(block));
      const auto place = std::ranges::find(around, loop.index, &LoopRV::index) - around.begin();
      const auto text = block_text(block);
      if (text) return fmt::format("sch.get_loops({})[{}]", *text, place);
    }
    return {};
  }

  Schedule& schedule_;
  std::map<HandleKey, Argument> given_;         ///< By what the repair calls it.
  std::map<HandleKey, std::string> variables_;  ///< By what it is.
  bool is_nameless_ = false;                    ///< What was written has no meaning.
};

}  // namespace

std::vector<std::string> tried_fixes(const RefusedCall& call) {
  std::vector<std::string> fixes;
  std::size_t trials = 0;
  for (const Fix& fix : candidate_fixes(call)) {
    if (fixes.size() == max_fixes || ++trials > max_trials) break;
    Schedule copy = call.schedule.snapshot();
    try {
      auto lines = FixWriter(copy).run(fix);
      if (lines && std::ranges::find(fixes, *lines) == fixes.end()) {
        fixes.push_back(*std::move(lines));
      }
    } catch (const UserError&) {
      // Refused, too.
    }
  }
  return fixes;
}

}  // namespace loopsmith
