// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unordered_map>

#include "loopsmith/ir/walk.h"
#include "loopsmith/judge/judge.h"
#include "loopsmith/judge/scalar.h"

namespace loopsmith::judge {
namespace {

std::string element_of(const JudgedTensor& tensor, std::size_t element) {
  auto left = static_cast<std::int64_t>(element);
  std::string indices;
  for (std::size_t d = tensor.shape.size(); d-- > 0; left /= tensor.shape[d]) {
    indices = fmt::format("{}{}{}", left % tensor.shape[d], indices.empty() ? "" : ", ", indices);
  }
  return fmt::format("{}[{}]", tensor.name, indices);
}

Judgement compared(const JudgeResult& before, const JudgeResult& after) {
  Judgement judgement;
  for (std::size_t t = 0; t < before.tensors.size(); ++t) {
    const JudgedTensor &expected = before.tensors[t], &actual = after.tensors[t];
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
      const auto name = [&] { return element_of(expected, i); };
      if (expected.is_undefined[i]) {
        judgement = {Sameness::cannot_say, name() + " is not defined before"};
      } else if (actual.is_undefined[i]) {
        return {Sameness::different, name() + " is not defined after"};
      } else if (expected.elements[i] != actual.elements[i]) {
        return {Sameness::different, fmt::format("{} is {} before and {} after", name(),
                                                 expected.elements[i], actual.elements[i])};
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
      Judgement judgement = compared(expected, actual);
      if (judgement.sameness == Sameness::different) return judgement;
      if (judgement.sameness == Sameness::cannot_say) result = std::move(judgement);
      if (!actual.runs_concurrently) break;
    }
  }
  return result;
}

}  // namespace loopsmith::judge
