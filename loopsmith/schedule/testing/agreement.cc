// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/agreement.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <vector>

#include "loopsmith/interp/interp.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/testing/random_arguments.h"

namespace loopsmith::schedule_testing {
namespace {

/// A tensor with room for its elements, for the interpreter.
struct LentTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
  DLTensor tensor{};
  std::size_t width = 8;

  LentTensor(DataType type, const judge::JudgeArgument& argument) : shape(argument.shape) {
    const bool is_field = type.is_float();
    width = is_field ? 8 : static_cast<std::size_t>(type.bytes());
    bytes.resize(argument.elements.size() * width + 8);
    for (std::size_t i = 0; i < argument.elements.size(); ++i) {
      std::memcpy(&bytes[i * width], &argument.elements[i], width);
    }
    const std::uint8_t code = is_field || type.is_uint() ? kDLUInt : kDLInt;
    tensor = {.data = bytes.data(),
              .device = {kDLCPU, 0},
              .ndim = static_cast<std::int32_t>(shape.size()),
              .dtype = {code, static_cast<std::uint8_t>(8 * width), 1},
              .shape = shape.data()};
  }
  bool holds(std::size_t i, std::int64_t value) const {
    return std::memcmp(&bytes[i * width], &value, width) == 0;
  }
};

/// Whether it computes something that is a hash, which each of the two makes in its own way.
bool has_hashes(const Ptr<PrimFunc>& func) {
  bool found = false;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    const auto* cast = ref.as<Cast>();
    found = found || (call && call->dtype.is_float() && call->op != op("if_then_else")) ||
            (cast && cast->value.dtype().is_float() && !cast->dtype.is_float());
    return true;
  });
  return found;
}

}  // namespace

namespace {

std::optional<std::string> disagreement_at(const Ptr<PrimFunc>& func, std::int64_t size) {
  const std::vector<judge::JudgeArgument> drawn = random_arguments(*func, size, 1);
  const judge::JudgeResult expected = judge::run(*func, drawn);
  if (expected.ending != judge::Ending::ran) return {};
  std::deque<LentTensor> tensors;
  std::vector<CallArgument> arguments;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (const Ptr<Buffer>& buffer = func->buffer_map[i]) {
      if (buffer->dtype.is_bool()) return {};
      arguments.push_back(&tensors.emplace_back(buffer->dtype, drawn[i]).tensor);
    } else {
      arguments.emplace_back(drawn[i].elements[0]);
    }
  }
  try {
    interp::run(func, arguments,
                {.mode = interp::Mode::ring,
                 .wrap_overflow = true,
                 .zero_division = true,
                 .check_races = false});
  } catch (const std::exception& error) {
    return error.what();
  }
  if (has_hashes(func)) return {};
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const judge::JudgedTensor& judged = expected.tensors[t];
    for (std::size_t i = 0; i < judged.elements.size(); ++i) {
      const judge::Scalar element = judged.elements[i];
      if (!element.is_poison && !tensors[t].holds(i, element.bits)) {
        return fmt::format("element {} of {} is another", i, judged.name);
      }
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> disagreement(const Ptr<PrimFunc>& func) {
  auto difference = disagreement_at(func, 5);
  return difference ? difference : disagreement_at(func, 0);
}

}  // namespace loopsmith::schedule_testing
