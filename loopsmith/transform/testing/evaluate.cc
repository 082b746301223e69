// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/testing/evaluate.h"

#include <deque>

#include "loopsmith/interp/interp.h"
#include "loopsmith/interp/memory.h"

namespace loopsmith::testing {
namespace {

/// A tensor as the interpreter takes it.
struct Stored {
  DataType type;
  std::vector<std::byte> bytes;
  DLTensor tensor{};
};

DLDataType dlpack_of(DataType type) {
  const auto code = type.is_float() ? kDLFloat : type.is_int() ? kDLInt : kDLUInt;
  if (type.is_bool()) return {kDLBool, 8, 1};
  return {static_cast<std::uint8_t>(code), type.bits, 1};
}

}  // namespace

void evaluate(const Ptr<PrimFunc>& func, std::span<TestArgument> arguments) {
  std::deque<Stored> tensors;
  std::vector<loopsmith::CallArgument> list;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    TestArgument& argument = arguments[i];
    if (!func->buffer_map[i]) {
      list.emplace_back(argument.scalar);
      continue;
    }
    Stored& stored = tensors.emplace_back();
    stored.type = func->buffer_map[i]->dtype;
    const std::size_t count = argument.elements.size();
    stored.bytes.resize((count * static_cast<std::size_t>(interp::stored_bits(stored.type)) + 7) /
                        8);
    for (std::size_t e = 0; e < count; ++e) {
      interp::Word word{.f = argument.elements[e]};
      if (!stored.type.is_float()) word.i = static_cast<std::int64_t>(argument.elements[e]);
      interp::store_element(stored.bytes.data(), stored.type, static_cast<std::int64_t>(e), word);
    }
    stored.tensor = {.data = stored.bytes.data(),
                     .device = {kDLCPU, 0},
                     .ndim = static_cast<std::int32_t>(argument.shape.size()),
                     .dtype = dlpack_of(stored.type),
                     .shape = argument.shape.data(),
                     .strides = nullptr,
                     .byte_offset = 0};
    list.emplace_back(&stored.tensor);
  }
  interp::run(func, list);
  auto stored = tensors.begin();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!func->buffer_map[i]) continue;
    for (std::size_t e = 0; e < arguments[i].elements.size(); ++e) {
      const interp::Word word =
          interp::load_element(stored->bytes.data(), stored->type, static_cast<std::int64_t>(e));
      arguments[i].elements[e] = stored->type.is_float() ? word.f : static_cast<double>(word.i);
    }
    ++stored;
  }
}

}  // namespace loopsmith::testing
