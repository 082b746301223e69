// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <vector>

#include "loopsmith/runtime/module.h"

namespace loopsmith::python {

/// Python values as the arguments of one call.
///
/// Arrays are not copied: this object holds what other libraries lend for the call, and the values
/// must outlive it. Made, used for a call and destroyed by a thread that holds Python's lock; the
/// call itself may run without.
class Arguments {
 public:
  /// Reads one value for each parameter. A value that is no argument at all (text, a list) is an
  /// error here; one that does not fit its parameter is left to the check of the call.
  Arguments(const Signature& signature, PyObject* const* values, std::size_t count);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  std::span<const CallArgument> list() const { return {arguments_, count_}; }
  /// Whether the tensors are so small that a call takes less time than to hand over Python's lock.
  bool are_tiny() const { return bytes_ < tiny_bytes; }

 private:
  struct Lease;
  static constexpr std::size_t few = 8;
  static constexpr std::uint64_t tiny_bytes = 16 * 1024;

  void read(std::size_t i, PyObject* value);
  bool read_scalar(std::size_t i, PyObject* value);
  void read_numpy(std::size_t i, PyObject* value);
  bool read_buffer(std::size_t i, PyObject* value);
  bool read_exchange(std::size_t i, PyObject* value);
  bool read_dlpack(std::size_t i, PyObject* value);
  void set_strides(std::size_t i, const std::int64_t* strides_bytes, std::int64_t element_bytes);
  void add_tensor(std::size_t i, bool is_read_only);
  void add_lent(std::size_t i, const DLManagedTensorVersioned& lent);
  [[noreturn]] void refuse(std::size_t i, PyObject* value) const;

  const ls_signature& signature_;
  std::size_t count_;
  std::uint64_t bytes_ = 0;
  CallArgument* arguments_;
  DLTensor* tensors_;
  std::vector<std::unique_ptr<Lease>> leases_;
  std::vector<std::unique_ptr<std::int64_t[]>> strides_;
  std::unique_ptr<std::byte[]> many_;
  // Not initialised: most calls use a few of them.
  alignas(CallArgument) std::byte few_arguments_[few * sizeof(CallArgument)];
  alignas(DLTensor) std::byte few_tensors_[few * sizeof(DLTensor)];
};

}  // namespace loopsmith::python
