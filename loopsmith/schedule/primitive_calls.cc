// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitive_calls.h"

#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loop.h"
#include "loopsmith/schedule/python_text.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {

namespace {

/// A handle, by what it is one of.
std::string handle_text(const Argument& given) {
  if (given.as<LoopRV>()) return "a loop";
  return given.as<BlockRV>() ? "a block" : "a number that was sampled";
}

/// What was given, cut where it gets long.
std::string given_text(const Argument& given) {
  constexpr std::size_t max_shown_characters = 80;
  const auto* node = given.as<Ref>();
  const bool is_plain = node && (node->is<List>() || node->is<Dict>() || node->is<IntImm>() ||
                                 node->is<FloatImm>() || node->is<StringImm>());
  if (node && !is_plain) return fmt::format("a node {}", node_info(*node->get()).name);
  std::string text = python_text(given, handle_text);
  if (text.size() > max_shown_characters) text = text.substr(0, max_shown_characters) + "...";
  return text;
}

}  // namespace

void refuse_argument(std::string_view primitive, const ParameterInfo& parameter,
                     const Argument& given) {
  const bool is_one_of_many =
      given.as<Argument::List>() && parameter.type.find("Sequence") == std::string::npos;
  fail(ErrorKind::type_mismatch, "argument_has_type",
       hint(fmt::format("it takes {}{}", parameter.type,
                        is_one_of_many ? ": pass one at a time" : "")),
       {}, "{}: the argument {} is {}", primitive, parameter.name, given_text(given));
}

void refuse_missing(std::string_view primitive, std::string_view parameter) {
  fail(ErrorKind::type_mismatch, "argument_is_given", hint("pass it"), {},
       "{}: the argument {} is missing", primitive, parameter);
}

Refusal refusal_of(const UserError& error) {
  if (error.kind() != ErrorKind::bounds) throw;
  return {&numbers_fit_their_types, {Argument(error.problem())}};
}

void record_lookup(Schedule& schedule, std::string_view name, const BlockOrLoop& handle) {
  const NodeId place = schedule.node(handle);
  const std::string& function = schedule.function_name(schedule.function_of(place));
  if (const auto* block = std::get_if<BlockRV>(&handle)) {
    schedule.begin_step(get_block, {Argument(name), Argument(function)});
    schedule.end_step(*block);
  } else {
    schedule.begin_step(get_loop, {Argument(name), Argument(function)});
    schedule.end_step(std::get<LoopRV>(handle));
  }
}

}  // namespace loopsmith::detail
