// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/arguments.h"

#include <algorithm>

#include "loopsmith/interp/ring.h"
#include "loopsmith/runtime/dtype.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

template <class... Args>
[[noreturn]] void refuse(std::string_view code, Hint hint, fmt::format_string<Args...> format,
                         Args&&... args) {
  fail(ErrorKind::call, code, hint, {}, format, std::forward<Args>(args)...);
}

}  // namespace

DLDataType dlpack_type(DataType type, Mode mode) {
  const auto as = [&](DLDataTypeCode code, int bits) {
    return DLDataType{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), type.lanes};
  };
  if (mode == Mode::ring && type.is_float()) return as(kDLUInt, 64);
  switch (type.code) {
    case TypeCode::int_: return as(kDLInt, type.bits);
    case TypeCode::uint: return type.is_bool() ? as(kDLBool, 8) : as(kDLUInt, type.bits);
    case TypeCode::float_: return as(kDLFloat, type.bits);
    case TypeCode::bfloat: return as(kDLBfloat, type.bits);
    case TypeCode::float8_e4m3: return as(kDLFloat8_e4m3fn, type.bits);
    case TypeCode::float8_e5m2: return as(kDLFloat8_e5m2, type.bits);
    case TypeCode::handle: break;
  }
  return as(kDLOpaqueHandle, type.bits);
}

BoundArguments::BoundArguments(const Code& code, std::span<const CallArgument> arguments,
                               const Options& options)
    : code_(code), options_(options) {
  if (arguments.size() != code.parameters.size()) {
    refuse("argument_count", hint("pass one argument for each parameter"),
           "{} takes {} arguments, {} were given", code.name, code.parameters.size(),
           arguments.size());
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (code.parameters[i].buffer) {
      take_tensor(code.parameters[i], arguments[i]);
    } else {
      take_scalar(code.parameters[i], arguments[i]);
    }
  }
}

void BoundArguments::take_scalar(const Parameter& parameter, const CallArgument& argument) {
  const DataType type = parameter.var->dtype;
  const std::string& name = parameter.var->name;
  if (type.is_handle() ||
      (argument.kind != LS_INT && argument.kind != LS_BOOL && argument.kind != LS_FLOAT)) {
    refuse("argument_kind", hint("pass a number"), "{}: {} takes {}", code_.name, name,
           type.is_handle() ? "a pointer, which the interpreter does not know" : "a number");
  }
  const bool is_real = argument.kind == LS_FLOAT;
  if (type.is_float()) {
    const double value =
        is_real ? argument.value.as_float : static_cast<double>(argument.value.as_int);
    if (options_.mode == Mode::ring) {
      words_.push_back({.u = ring::from_double(type, round_to(type, value))});
    } else {
      words_.push_back({.f = round_to(type, value)});
    }
    return;
  }
  const std::int64_t value = argument.value.as_int;
  if (is_real || wrap_to(type, value) != value) {
    refuse("argument_range", hint("pass an integer that its type holds"),
           "{}: {} is of type {}, which does not hold {}", code_.name, name, to_string(type),
           is_real ? fmt::format("{}", argument.value.as_float) : fmt::format("{}", value));
  }
  words_.push_back({.i = value});
}

void BoundArguments::take_tensor(const Parameter& parameter, const CallArgument& argument) {
  const Buffer& buffer = *parameter.buffer;
  const auto rank = static_cast<std::int32_t>(buffer.shape.size());
  if (argument.kind != LS_TENSOR || !argument.value.as_tensor) {
    refuse("argument_kind", hint("pass an array"), "{}: {} takes an array", code_.name,
           buffer.name);
  }
  const DLTensor& tensor = *argument.value.as_tensor;
  if (tensor.ndim != rank) {
    refuse("argument_rank", hint("pass an array of as many dimensions"),
           "{}: {} has {} dimensions, not {}", code_.name, buffer.name, tensor.ndim, rank);
  }
  const DLDataType expected = dlpack_type(buffer.dtype, options_.mode);
  const bool is_bool_byte = buffer.dtype.is_bool() && tensor.dtype.code == kDLUInt &&
                            (tensor.dtype.bits == 8 || tensor.dtype.bits == 1);
  if (!is_same(tensor.dtype, expected) && !is_bool_byte) {
    refuse("argument_dtype", hint("convert the array"), "{}: {} is an array of {}, not {}",
           code_.name, buffer.name, to_string(tensor.dtype), to_string(expected));
  }
  if (tensor.device.device_type != kDLCPU) {
    refuse("argument_device", hint("copy it into the processor's memory"),
           "{}: {} lies on {}, where the interpreter cannot reach", code_.name, buffer.name,
           to_string(tensor.device));
  }
  std::vector<std::int64_t> strides(static_cast<std::size_t>(rank), 1);
  for (int d = rank - 1; d > 0; --d) strides[d - 1] = strides[d] * tensor.shape[d];
  if (tensor.strides) {
    for (int d = 0; d < rank; ++d) {
      const bool is_free = !buffer.strides.empty() || tensor.shape[d] <= 1;
      if (!is_free && tensor.strides[d] != strides[d] &&
          std::ranges::count(std::span(tensor.shape, rank), 0) == 0) {
        refuse("argument_strides", hint("pass a compact array, or declare the buffer's strides"),
               "{}: {} has stride {} in dimension {}, not {}", code_.name, buffer.name,
               tensor.strides[d], d, strides[d]);
      }
      if (!buffer.strides.empty()) strides[d] = tensor.strides[d];
    }
  }
  for (int d = 0; d < rank; ++d) {
    if (buffer.auto_broadcast && tensor.shape[d] == 1) strides[d] = 0;
  }
  std::int64_t offset = 0;
  Memory& memory = memory_of(tensor, buffer, strides, argument.read_only != 0, offset);
  words_.push_back({.memory = &memory});
  words_.push_back({.i = offset * memory.granule_bits});
  for (int d = 0; d < rank; ++d) words_.push_back({.i = tensor.shape[d]});
  for (const std::int64_t stride : strides) words_.push_back({.i = stride});
}

/// The memory of a tensor, from its lowest element on; `offset` is where its first element lies. A
/// tensor given twice is one memory.
Memory& BoundArguments::memory_of(const DLTensor& tensor, const Buffer& buffer,
                                  const std::vector<std::int64_t>& strides, bool is_read_only,
                                  std::int64_t& offset) {
  std::int64_t last = 0;
  bool is_empty = false;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    is_empty = is_empty || tensor.shape[d] == 0;
    const std::int64_t reach = (tensor.shape[d] - 1) * strides[d];
    (reach < 0 ? offset : last) += reach;
  }
  offset = -offset;
  const DataType element = buffer.dtype.element();
  const bool is_ring = options_.mode == Mode::ring;
  const int bits = is_ring && element.is_float() ? 64 : stored_bits(element);
  const std::int64_t count = is_empty ? 0 : (last + offset + 1) * buffer.dtype.lanes;
  auto* bytes = static_cast<std::byte*>(tensor.data) + tensor.byte_offset -
                offset * buffer.dtype.lanes * bits / 8;

  Memory fresh;
  fresh.name = buffer.name;
  fresh.granule_bits = fresh.plain_bits = stored_bits(element);
  fresh.granules = count;
  fresh.bytes = bytes;
  fresh.is_ring = is_ring;
  fresh.is_read_only = is_read_only;
  if (is_read_only) fresh.plain_bits = 0;
  offset *= buffer.dtype.lanes;
  const bool is_copied = is_ring && !element.is_float();
  for (std::size_t m = 0; m < memories_.size() && !is_copied; ++m) {
    Memory& known = memories_[m];
    if (known.bytes == bytes && known.granules == count && count > 0 &&
        known.granule_bits == fresh.granule_bits && known.is_read_only == is_read_only) {
      return known;
    }
  }
  Memory& memory = memories_.emplace_back(std::move(fresh));
  if (is_copied) {
    memory.storage = Zeroed<std::uint64_t>(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      memory.storage[static_cast<std::size_t>(i)] = load_element(bytes, element, i).u;
    }
    memory.bytes = reinterpret_cast<std::byte*>(memory.storage.data());
    if (!is_read_only) copied_.push_back({&memory, bytes, element, count});
  }
  return memory;
}

void BoundArguments::finish() {
  for (const Copied& each : copied_) {
    const std::int64_t parts = each.count ? each.memory->granules / each.count : 1;
    for (std::int64_t i = 0; i < each.count; ++i) {
      const Word value{.u = each.memory->storage[static_cast<std::size_t>(i * parts)]};
      store_element(each.bytes, each.element, i, value);
    }
  }
}

}  // namespace loopsmith::interp
