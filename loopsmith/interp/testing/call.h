// SPDX-License-Identifier: Apache-2.0
// For tests: functions made and run in a line.
#pragma once
#include <fmt/format.h>

#include <deque>
#include <string>
#include <vector>

#include "loopsmith/interp/interp.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::interp::testing {

/// A function of these tensors, and of scalars after them.
inline Ptr<PrimFunc> function(const std::vector<Ptr<Buffer>>& tensors, Stmt body,
                              const std::vector<Ptr<Var>>& scalars = {}) {
  PrimFunc func;
  for (const Ptr<Buffer>& buffer : tensors) {
    func.params.push_back(var(buffer->name + "_handle", handle_type));
    func.buffer_map.push_back(buffer);
  }
  for (const Ptr<Var>& scalar : scalars) {
    func.params.push_back(scalar);
    func.buffer_map.emplace_back();
  }
  func.body = std::move(body);
  return make(std::move(func));
}

/// A function with its arguments.
class Call {
 public:
  explicit Call(Ptr<PrimFunc> func) : func_(std::move(func)) {}

  /// Adds a tensor of the parameter's type: one-dimensional, or of the given shape.
  template <class T>
  Call& tensor(std::vector<T>& data, std::vector<std::int64_t> shape = {},
               std::vector<std::int64_t> strides = {}) {
    if (shape.empty()) shape = {static_cast<std::int64_t>(data.size())};
    const Ptr<Buffer>& parameter = func_->buffer_map[arguments_.size()];
    shapes_.push_back(std::move(shape));
    strides_.push_back(std::move(strides));
    tensors_.push_back({.data = data.data(),
                        .device = {kDLCPU, 0},
                        .ndim = static_cast<std::int32_t>(shapes_.back().size()),
                        .dtype = type_of(parameter ? parameter->dtype : f32),
                        .shape = shapes_.back().data(),
                        .strides = strides_.back().empty() ? nullptr : strides_.back().data(),
                        .byte_offset = 0});
    arguments_.emplace_back(&tensors_.back());
    return *this;
  }
  template <class T>
  Call& scalar(T value) {
    arguments_.emplace_back(value);
    return *this;
  }

  Outcome run(const Options& options = {}) { return interp::run(func_, arguments_, options); }

  /// What the run throws, as text with its code before it; empty when it throws nothing.
  std::string error(const Options& options = {}) {
    try {
      run(options);
    } catch (const UserError& error) {
      return fmt::format("{}: {}: {}", loopsmith::to_string(error.kind()), error.code(),
                         error.problem());
    }
    return {};
  }

 private:
  static DLDataType type_of(DataType type) {
    const auto of = [&](DLDataTypeCode code) {
      return DLDataType{static_cast<std::uint8_t>(code), type.bits, type.lanes};
    };
    switch (type.code) {
      case TypeCode::int_: return of(kDLInt);
      case TypeCode::uint: return type.is_bool() ? DLDataType{kDLBool, 8, type.lanes} : of(kDLUInt);
      case TypeCode::bfloat: return of(kDLBfloat);
      case TypeCode::float8_e4m3: return of(kDLFloat8_e4m3fn);
      case TypeCode::float8_e5m2: return of(kDLFloat8_e5m2);
      default: return of(kDLFloat);
    }
  }

  Ptr<PrimFunc> func_;
  std::deque<std::vector<std::int64_t>> shapes_, strides_;
  std::deque<DLTensor> tensors_;
  std::vector<CallArgument> arguments_;
};

}  // namespace loopsmith::interp::testing
