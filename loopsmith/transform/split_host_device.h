// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// What a host calls to get memory of the device, to give it back, and to read a number of up to
/// eight bytes from it: memory, offset and size in bytes give the bits.
inline constexpr std::string_view device_allocate = "device.allocate";
inline constexpr std::string_view device_release = "device.release";
inline constexpr std::string_view device_read = "device.read";

/// A lowered function in two parts.
struct SplitFunction {
  Ptr<PrimFunc> host;                  ///< For a processor; it calls the kernels by their names.
  std::vector<Ptr<PrimFunc>> kernels;  ///< For the device, each one launch.
};

/// Splits a lowered function into what a host does and the kernels that it launches:
///
///     for t in range(T):                      for t in range(T):
///       for b in blockIdx.x(n // 32):           tvm_call_packed("f_kernel", n // 32, 1, 1, 32, 1,
///       1,
///         for i in threadIdx.x(32):     =>                      A, n, t)
///           A[...] = ...
///
/// A launch names the kernel, the blocks of the grid and the threads of a block along x, y and z,
/// and its arguments: memory first, then numbers. Memory that the function allocates outside of
/// kernels is asked of the device; numbers that the host reads are fetched from there. Throws a
/// UserError for a statement outside of all kernels that stores, as the host does not see memory of
/// the device.
SplitFunction split_host_device(const Ptr<PrimFunc>& func);

/// The variables that a kernel takes, in the order of its arguments: pointers first.
std::vector<Ptr<Var>> kernel_arguments(const Stmt& launch);

}  // namespace loopsmith
