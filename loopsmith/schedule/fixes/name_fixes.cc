// SPDX-License-Identifier: Apache-2.0
// What may help where a name is not known, or a handle is not alive.
#include <algorithm>

#include "loopsmith/ir/data_type.h"
#include "loopsmith/schedule/fixes/candidate_fixes.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/spelling_suggestions.h"

namespace loopsmith {
namespace {

/// The call with the names that come closest to the one it was given.
Fixes with_names(const RefusedCall& call, std::string_view parameter,
                 std::vector<std::string> names) {
  Fixes fixes;
  const Argument* given = argument_of(call, parameter);
  const auto* wanted = given ? given->as<std::string>() : nullptr;
  if (!wanted) return fixes;
  for (std::string& name : closest_names(*wanted, std::move(names))) {
    fixes.push_back({again_with(call, parameter, std::move(name))});
  }
  return fixes;
}

/// The function in which the call looks a name up.
std::optional<std::uint32_t> function_of(const RefusedCall& call) {
  const Argument* name = argument_of(call, "func_name");
  const auto* text = name ? name->as<std::string>() : nullptr;
  return call.schedule.function_named(text ? std::optional<std::string_view>(*text) : std::nullopt);
}

std::vector<std::string> functions_of(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const auto& name : schedule.original()->names) names.push_back(name->name_hint);
  return names;
}

}  // namespace

Fixes similar_blocks(const RefusedCall& call) {
  const auto function = function_of(call);
  return function ? with_names(call, "name", call.schedule.block_names(*function)) : Fixes();
}

Fixes similar_loops(const RefusedCall& call) {
  const auto function = function_of(call);
  return function ? with_names(call, "name", call.schedule.loop_names(*function)) : Fixes();
}

Fixes loops_by_block(const RefusedCall& call) {
  Fixes fixes;
  const auto function = function_of(call);
  const Argument* given = argument_of(call, "name");
  const auto* name = given ? given->as<std::string>() : nullptr;
  if (!function || !name) return fixes;
  for (const LoopRV loop : call.schedule.loops_named(*function, *name)) {
    for (const BlockRV block : child_blocks(call.schedule, call.schedule.node(loop))) {
      fixes.push_back({call_of(get_loops, {block, *name})});
    }
  }
  return fixes;
}

Fixes similar_functions(const RefusedCall& call) {
  Fixes fixes = with_names(call, "func_name", functions_of(call.schedule));
  for (const std::string& name : functions_of(call.schedule)) {
    fixes.push_back({again_with(call, "func_name", name)});
  }
  return fixes;
}

Fixes similar_scopes(const RefusedCall& call) {
  return with_names(call, "storage_scope", {"global", "shared", "shared.dyn", "local", "warp"});
}

Fixes similar_types(const RefusedCall& call) {
  return with_names(call, "dtype",
                    {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
                     "uint8", "uint16", "uint32", "uint64", "bool"});
}

Fixes similar_threads(const RefusedCall& call) {
  return with_names(call, "thread_axis",
                    {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
                     "threadIdx.z", "vthread.x", "vthread.y", "vthread.z"});
}

Fixes similar_annotations(const RefusedCall& call) {
  const Argument* subject = argument_of(call, "block_or_loop");
  const auto* loop = subject ? subject->as<LoopRV>() : nullptr;
  const auto* block = subject ? subject->as<BlockRV>() : nullptr;
  if (!loop && !block) return {};
  const Attrs& known =
      loop ? call.schedule.get(*loop).annotations : call.schedule.get(*block).annotations;
  std::vector<std::string> keys;
  for (const auto& [key, value] : known) keys.push_back(key);
  return with_names(call, "ann_key", std::move(keys));
}

Fixes what_they_became(const RefusedCall& call) {
  Fixes fixes;
  const auto ended = [&](const auto& handle, const Condition& condition) {
    const auto refusal = call.schedule.refuse(handle);
    return refusal && refusal->condition == &condition;
  };
  // Each handle that ended, by each of those that took its place.
  const auto replaced = [&](const Argument& argument) -> std::vector<Argument> {
    std::vector<Argument> others;
    const auto* loop = argument.as<LoopRV>();
    const auto* block = argument.as<BlockRV>();
    if (loop && ended(*loop, loop_is_alive)) {
      for (const LoopRV other : call.schedule.became(*loop)) others.emplace_back(other);
    }
    if (block && ended(*block, block_is_alive)) {
      for (const BlockRV other : call.schedule.became(*block)) others.emplace_back(other);
    }
    return others;
  };
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    for (Argument& other : replaced(call.arguments[i])) {
      Step step = again(call);
      step.arguments[i] = std::move(other);
      fixes.push_back({std::move(step)});
    }
    const auto* list = call.arguments[i].as<Argument::List>();
    for (std::size_t k = 0; list && k < list->size(); ++k) {
      for (Argument& other : replaced((*list)[k])) {
        Step step = again(call);
        Argument::List items = *list;
        items[k] = std::move(other);
        step.arguments[i] = std::move(items);
        fixes.push_back({std::move(step)});
      }
    }
  }
  return fixes;
}

}  // namespace loopsmith
