// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/argument_reader.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/function_variables.h"
#include "loopsmith/schedule/spelling_suggestions.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool occurs_in(const Ref& root, const Ptr<Var>& variable) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    found = found || ref.get() == variable.get();
    return !found;
  });
  return found;
}

/// The variables of the scheduled function for those of `node` that it does not have, as those of
/// the function of which a trace was: its own of the same name.
Substitution own_variables(const Schedule& schedule, const Ref& node, std::string_view what) {
  Substitution values;
  const std::vector<Ptr<Var>> used = free_variables(node);
  if (used.empty()) return values;
  const std::uint32_t function = schedule.function_named().value_or(0);
  const auto given = function_variables(*schedule.as<PrimFunc>(schedule.root(function)));
  for (const Ptr<Var>& variable : used) {
    const auto is_it = [&](const Ptr<Var>& other) { return other.same_as(variable); };
    if (std::ranges::any_of(given, is_it) || occurs_in(schedule.mod(), variable)) continue;
    const auto stands_for = [&](const Ptr<Var>& other) {
      return other->name == variable->name && other->dtype == variable->dtype;
    };
    const auto found = std::ranges::find_if(given, stands_for);
    require(found != given.end(), ErrorKind::schedule, "variable_is_known",
            hint("use variables of the function, or numbers"), {},
            "{} uses {}, which the function does not have", what, variable->name);
    values[variable] = *found;
  }
  return values;
}

/// A map in terms of the function that is scheduled.
Ptr<IndexMap> of_scheduled_function(const Schedule& schedule, const Ptr<IndexMap>& map) {
  const Substitution values = own_variables(schedule, map, "an index map");
  if (values.empty()) return map;
  IndexMap copy = *map;
  for (Expr& index : copy.final_indices) index = substitute(index, values);
  if (copy.inverse_index_map) {
    IndexMap inverse = *copy.inverse_index_map;
    for (Expr& index : inverse.final_indices) index = substitute(index, values);
    copy.inverse_index_map = make(std::move(inverse));
  }
  return make(std::move(copy));
}

}  // namespace

bool ArgumentReader::read(const Argument& argument, bool& to) {
  if (const auto* flag = argument.as<bool>()) return to = *flag, true;
  const auto* number = argument.as<std::int64_t>();
  if (number) to = *number != 0;
  return number;
}

bool ArgumentReader::read(const Argument& argument, std::int64_t& to) {
  const auto* number = argument.as<std::int64_t>();
  if (number) to = *number;
  return number;
}

bool ArgumentReader::read(const Argument& argument, double& to) {
  if (const auto* number = argument.as<double>()) return to = *number, true;
  const auto* whole = argument.as<std::int64_t>();
  if (whole) to = static_cast<double>(*whole);
  return whole;
}

bool ArgumentReader::read(const Argument& argument, std::string& to) {
  const auto* text = argument.as<std::string>();
  if (text) to = *text;
  return text;
}

bool ArgumentReader::read(const Argument& argument, LoopRV& to) {
  if (const auto* loop = argument.as<LoopRV>()) return to = *loop, true;
  const auto* name = argument.as<std::string>();
  const auto function = schedule_.function_named();
  if (!name || !function) return false;
  const auto found = schedule_.loops_named(*function, *name);
  if (found.size() != 1) {
    const std::string advice =
        did_you_mean(found.empty() ? *name : "", schedule_.loop_names(*function),
                     "see get_loops(block, pattern)");
    fail(ErrorKind::schedule, found.empty() ? "name_is_known" : "name_is_unique", hint(advice), {},
         "{} loops are called {}", found.empty() ? "no" : std::to_string(found.size()), *name);
  }
  to = found[0];
  named_.emplace_back(*name, to);
  return true;
}

bool ArgumentReader::read(const Argument& argument, BlockRV& to) {
  if (const auto* block = argument.as<BlockRV>()) return to = *block, true;
  const auto* name = argument.as<std::string>();
  const auto function = schedule_.function_named();
  if (!name || !function) return false;
  const auto found = schedule_.blocks_named(*function, *name);
  if (found.size() != 1) {
    const std::string advice =
        did_you_mean(found.empty() ? *name : "", schedule_.block_names(*function),
                     "get_child_blocks lists those of a block or loop");
    fail(ErrorKind::schedule, found.empty() ? "name_is_known" : "name_is_unique", hint(advice), {},
         "{} blocks are called {}", found.empty() ? "no" : std::to_string(found.size()), *name);
  }
  to = found[0];
  named_.emplace_back(*name, to);
  return true;
}

bool ArgumentReader::read(const Argument& argument, ExprRV& to) {
  const auto* hole = argument.as<ExprRV>();
  if (hole) to = *hole;
  return hole;
}

bool ArgumentReader::read(const Argument& argument, Factor& to) {
  if (argument.is_none()) {
    to = infer;
  } else if (const auto* hole = argument.as<ExprRV>()) {
    to = *hole;
  } else if (const auto* number = argument.as<std::int64_t>()) {
    to = *number;
  } else {
    return false;
  }
  return true;
}

bool ArgumentReader::read(const Argument& argument, SplitFactor& to) {
  if (const auto* node = argument.as<Ref>()) {
    const Expr expr = Expr::from(*node);
    if (!expr.defined()) return false;
    if (const std::int64_t* number = as_int(expr)) return to = *number, true;
    to = substitute(expr, own_variables(schedule_, expr, "a factor"));
    return true;
  }
  Factor factor;
  if (!read(argument, factor)) return false;
  to = factor;
  return true;
}

bool ArgumentReader::read(const Argument& argument, LoopValue& to) {
  if (const auto* number = argument.as<std::int64_t>()) return to = *number, true;
  if (const auto* node = argument.as<Ref>()) {
    const Expr expr = Expr::from(*node);
    if (!expr.defined()) return false;
    if (const std::int64_t* number = as_int(expr)) return to = *number, true;
    to = substitute(expr, own_variables(schedule_, expr, "a value of a loop"));
    return true;
  }
  LoopRV loop;
  if (!read(argument, loop)) return false;
  to = loop;
  return true;
}

bool ArgumentReader::read(const Argument& argument, SizeCondition& to) {
  if (bool flag = false; read(argument, flag)) return to.value = flag, true;
  const auto* node = argument.as<Ref>();
  const Expr expr = node ? Expr::from(*node) : Expr();
  if (expr.defined()) to.value = substitute(expr, own_variables(schedule_, expr, "a condition"));
  return expr.defined();
}

bool ArgumentReader::read(const Argument& argument, BlockOrLoop& to) {
  if (const auto* loop = argument.as<LoopRV>()) return to = *loop, true;
  // A name is a block's, if there is one.
  const auto* name = argument.as<std::string>();
  const auto function = schedule_.function_named();
  if (name && function && schedule_.blocks_named(*function, *name).empty() &&
      !schedule_.loops_named(*function, *name).empty()) {
    LoopRV loop;
    return read(argument, loop) && (to = loop, true);
  }
  BlockRV block;
  if (!read(argument, block)) return false;
  to = block;
  return true;
}

bool ArgumentReader::read(const Argument& argument, BufferSelector& to) {
  if (const auto* index = argument.as<std::int64_t>()) return to = BufferSelector(*index), true;
  if (const auto* name = argument.as<std::string>()) return to = BufferSelector(*name), true;
  if (const auto* node = argument.as<Ref>(); node && node->is<Buffer>()) {
    return to = BufferSelector(Ptr<Buffer>::from(*node)), true;
  }
  const auto* pair = argument.as<Argument::List>();
  if (!pair || pair->size() != 2) return false;
  const auto* side = (*pair)[0].as<std::string>();
  const auto* index = (*pair)[1].as<std::int64_t>();
  if (!side || !index || (*side != "read" && *side != "write")) return false;
  using Side = BufferSelector::Side;
  to = BufferSelector(*index, *side == "read" ? Side::read : Side::write);
  return true;
}

bool ArgumentReader::read(const Argument& argument, Annotation& to) {
  if (const auto* node = argument.as<Ref>()) return to = Annotation(*node), node->defined();
  if (const auto* flag = argument.as<bool>()) return to = Annotation(*flag), true;
  if (const auto* real = argument.as<double>()) return to = Annotation(*real), true;
  if (const auto* text = argument.as<std::string>()) return to = Annotation(*text), true;
  if (const auto* number = argument.as<std::int64_t>()) {
    const bool is_short = *number >= INT32_MIN && *number <= INT32_MAX;
    return to = Annotation(Ref(int_imm(is_short ? i32 : i64, *number))), true;
  }
  if (argument.as<ExprRV>()) {
    ExprRV known;
    if (!read(argument, known)) return false;
    // A number of another schedule is refused later on.
    const std::int64_t number = schedule_.refuse(known) ? 0 : schedule_.get(known);
    const bool is_short = number >= INT32_MIN && number <= INT32_MAX;
    to = Annotation(Ref(int_imm(is_short ? i32 : i64, number)));
    to.hole = known;
    return true;
  }
  const auto* items = argument.as<Argument::List>();
  if (!items) return false;
  List list;
  for (const Argument& item : *items) {
    Annotation value;
    if (!read(item, value)) return false;
    list.items.push_back(value.value);
  }
  to = Annotation(Ref(make(std::move(list))));
  return true;
}

bool ArgumentReader::read(const Argument& argument, Ptr<IndexMap>& to) {
  const auto* node = argument.as<Ref>();
  if (!node || !node->is<IndexMap>()) return false;
  to = of_scheduled_function(schedule_, Ptr<IndexMap>::from(*node));
  return true;
}

}  // namespace loopsmith
