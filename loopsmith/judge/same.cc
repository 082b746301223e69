// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "loopsmith/ir/walk.h"
#include "loopsmith/judge/judge.h"
#include "loopsmith/judge/scalar.h"

namespace loopsmith::judge {
namespace {

std::string place_of(std::int64_t element, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    text = fmt::format("{}{}{}", element % shape[d], text.empty() ? "" : ", ", text);
    element /= shape[d];
  }
  return text;
}

/// The buffers of tensors among the parameters, and their arguments.
struct Named {
  const Buffer* buffer;
  const JudgeArgument* argument;
};
std::vector<Named> tensors_of(const PrimFunc& func, const std::vector<JudgeArgument>& arguments) {
  std::vector<Named> found;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (func.buffer_map[i]) found.push_back({func.buffer_map[i].get(), &arguments[i]});
  }
  return found;
}

Judgement compared(const JudgeResult& expected, const JudgeResult& actual,
                   const std::vector<Named>& tensors) {
  Judgement judgement;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    for (std::size_t i = 0; i < expected.tensors[t].size(); ++i) {
      const auto at = [&] {
        return fmt::format("{}[{}]", tensors[t].buffer->name,
                           place_of(static_cast<std::int64_t>(i), tensors[t].argument->shape));
      };
      if (expected.is_undefined[t][i]) {
        judgement = {Sameness::cannot_say, at() + " is not defined before"};
      } else if (actual.is_undefined[t][i]) {
        return {Sameness::different, at() + " is not defined after"};
      } else if (expected.tensors[t][i] != actual.tensors[t][i]) {
        return {Sameness::different, fmt::format("{} is {} before and {} after", at(),
                                                 expected.tensors[t][i], actual.tensors[t][i])};
      }
    }
  }
  return judgement;
}

std::int64_t drawn(DataType type, std::uint64_t random) {
  if (type.is_float()) return static_cast<std::int64_t>(reduced(random));
  constexpr std::uint64_t most = 9;
  if (type.is_index()) {
    return static_cast<std::int64_t>(random % (2 * most + 1)) - static_cast<std::int64_t>(most);
  }
  return wrap_to(type, static_cast<std::int64_t>(random));
}

}  // namespace

std::vector<JudgeArgument> draw_arguments(const PrimFunc& func, std::span<const std::int64_t> sizes,
                                          std::uint64_t seed) {
  std::unordered_map<const Object*, std::int64_t> known;
  std::size_t next = 0;
  const auto size_of = [&](const Expr& extent) -> std::int64_t {
    if (const std::int64_t* value = as_int(extent)) return *value;
    if (!extent.is<Var>() || sizes.empty()) return -1;
    const auto [entry, is_new] = known.try_emplace(extent.get());
    if (is_new) entry->second = sizes[next++ % sizes.size()];
    return entry->second;
  };
  std::vector<JudgeArgument> arguments;
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    JudgeArgument& argument = arguments.emplace_back();
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    if (!buffer) {
      const DataType type = func.params[i]->dtype;
      argument.elements.push_back(type.is_integer() ? size_of(func.params[i])
                                                    : drawn(type, hash_of("number", {seed, i})));
      continue;
    }
    std::int64_t count = 1;
    for (const Expr& extent : buffer->shape) {
      argument.shape.push_back(size_of(extent));
      count *= argument.shape.back();
    }
    for (std::int64_t e = 0; e < count; ++e) {
      const std::uint64_t random = hash_of("element", {seed, i, static_cast<std::uint64_t>(e)});
      argument.elements.push_back(drawn(buffer->dtype, random));
    }
  }
  return arguments;
}

Judgement same(const PrimFunc& before, const PrimFunc& after, std::span<const std::int64_t> sizes,
               std::span<const std::uint64_t> seeds) {
  if (before.params.size() != after.params.size()) {
    return {Sameness::different, "the functions take other arguments"};
  }
  Judgement result;
  for (const std::uint64_t seed : seeds) {
    const std::vector<JudgeArgument> arguments = draw_arguments(before, sizes, seed);
    const JudgeResult expected = run(before, arguments, {.seed = seed});
    if (expected.ending != Ending::ran)
      return {Sameness::cannot_say, "before: " + expected.message};
    for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
      const RunOptions options{
          .order = order, .seed = seed, .max_steps = 100'000 + 100 * expected.steps};
      const JudgeResult actual = run(after, arguments, options);
      if (actual.ending == Ending::failed) return {Sameness::different, "after: " + actual.message};
      if (actual.ending == Ending::cannot_say) {
        return {Sameness::cannot_say, "after: " + actual.message};
      }
      Judgement judgement = compared(expected, actual, tensors_of(before, arguments));
      if (judgement.sameness == Sameness::different) return judgement;
      if (judgement.sameness == Sameness::cannot_say) result = std::move(judgement);
      if (!actual.runs_at_once) break;
    }
  }
  return result;
}

}  // namespace loopsmith::judge
