// SPDX-License-Identifier: Apache-2.0
// The kernels of a module, and calls of its functions: their arrays on the device, and what the
// host's part asks of it.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "loopsmith/runtime/argument.h"
#include "loopsmith/runtime/device.h"
#include "loopsmith/runtime/host_function.h"

namespace loopsmith {

/// Kernels as source text. The driver compiles them when the first is launched.
class DeviceProgram {
 public:
  DeviceProgram(DLDevice device, std::string source, std::vector<KernelInfo> kernels)
      : id_(device), source_(std::move(source)), kernels_(std::move(kernels)) {}

  DLDevice id() const { return id_; }
  const KernelInfo* find(std::string_view name) const;
  /// The device, opened at the first call, and the code on it.
  Device& device() const;
  DeviceCode& code() const;

 private:
  void open() const;

  DLDevice id_;
  std::string source_;
  std::vector<KernelInfo> kernels_;
  mutable std::once_flag opened_;
  mutable std::shared_ptr<Device> device_;
  mutable std::shared_ptr<DeviceCode> code_;
};

/// Does what the host's part of `program` calls: launches, memory of the device; other calls go to
/// `others`.
HostFunction launcher(std::shared_ptr<const DeviceProgram> program, HostFunction others);

/// One call of a function with kernels. Arrays of the host are copied to the device before it and,
/// if they are written, back after it.
class DeviceCall {
 public:
  DeviceCall(const DeviceProgram& program, const ls_signature& signature,
             std::span<const CallArgument> arguments);
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  /// The arguments with all arrays on the device.
  std::span<const CallArgument> arguments() const { return staged_; }
  /// Copies results back to arrays of the host, when they are there.
  void finish();

  /// The call that this thread is in, for memory that it takes.
  static DeviceCall& current();
  void* allocate(std::size_t bytes);
  void release(void* memory);

 private:
  struct Copy {
    void* host;
    std::size_t bytes;
    void* memory;
    bool is_written;
  };
  void stage(std::size_t i, const DLTensor& tensor, bool is_written);

  const DeviceProgram& program_;
  std::vector<CallArgument> staged_;
  std::vector<DLTensor> tensors_;
  std::vector<Copy> copies_;
  std::vector<void*> memory_;
  DeviceCall* outer_;
};

/// The arguments as the check of calls of the host takes them: arrays of `device` count as arrays
/// of the host, each at an address of its own.
class CheckedArguments {
 public:
  CheckedArguments(DLDevice device, std::span<const CallArgument> arguments);
  std::span<const CallArgument> arguments() const { return arguments_; }

 private:
  std::vector<CallArgument> arguments_;
  std::vector<DLTensor> tensors_;
};

}  // namespace loopsmith
