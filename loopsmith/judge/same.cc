// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "loopsmith/judge/judge.h"

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
      const Scalar a = expected.elements[i], b = actual.elements[i];
      if (a.is_poison) {
        judgement = {Sameness::cannot_say, element_of(expected, i) + " is not defined before"};
      } else if (b.is_poison) {
        return {Sameness::different, element_of(expected, i) + " is not defined after"};
      } else if (a.bits != b.bits) {
        return {Sameness::different, fmt::format("{} is {} before and {} after",
                                                 element_of(expected, i), a.bits, b.bits)};
      }
    }
  }
  return judgement;
}

}  // namespace

Judgement same(const PrimFunc& before, const PrimFunc& after,
               std::span<const JudgeArgument> arguments, std::uint64_t seed) {
  const JudgeResult expected = run(before, arguments);
  if (expected.ending != Ending::ran) return {Sameness::cannot_say, "before: " + expected.message};
  Judgement judgement;
  for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
    const std::int64_t max_steps = 100'000 + 100 * expected.steps;
    const JudgeResult actual = run(after, arguments, {order, seed, max_steps});
    const Sameness why =
        actual.ending == Ending::failed ? Sameness::different : Sameness::cannot_say;
    if (actual.ending != Ending::ran) return {why, "after: " + actual.message};
    judgement = compared(expected, actual);
    if (judgement.sameness == Sameness::different && expected.overflows)
      return {Sameness::cannot_say, "before: an integer overflows"};
    if (judgement.sameness == Sameness::different || !actual.runs_concurrently) break;
  }
  return judgement;
}

}  // namespace loopsmith::judge
