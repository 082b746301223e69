// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/random_arguments.h"

#include <random>

namespace loopsmith::schedule_testing {
namespace {

std::int64_t drawn(DataType type, std::mt19937_64& random) {
  constexpr std::uint64_t field = (std::uint64_t{1} << 61) - 1;
  constexpr std::int64_t most = 9;
  if (type.is_float()) return static_cast<std::int64_t>(random() % field);
  const auto value = static_cast<std::int64_t>(random() >> 1);
  return type.is_index() ? value % (2 * most + 1) - most : wrap_to(type, value);
}

}  // namespace

std::vector<judge::JudgeArgument> random_arguments(const PrimFunc& func, std::int64_t size,
                                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<judge::JudgeArgument> arguments;
  for (std::size_t i = 0; i < func.params.size(); ++i) {
    judge::JudgeArgument& argument = arguments.emplace_back();
    const Ptr<Buffer>& buffer = func.buffer_map[i];
    const DataType type = buffer ? buffer->dtype : func.params[i]->dtype;
    if (!buffer) argument.elements = {type.is_integer() ? size : drawn(type, random)};
    if (!buffer) continue;
    std::int64_t count = 1;
    for (const Expr& extent : buffer->shape) {
      const std::int64_t* constant = as_int(extent);
      // The judge refuses what an extent made of sizes says otherwise.
      argument.shape.push_back(constant ? *constant : extent.is<Var>() ? size : -1);
      count *= argument.shape.back();
    }
    for (std::int64_t e = 0; e < count; ++e) argument.elements.push_back(drawn(type, random));
  }
  return arguments;
}

}  // namespace loopsmith::schedule_testing
