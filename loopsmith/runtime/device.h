// SPDX-License-Identifier: Apache-2.0
// Devices with memory of their own, and the code that runs there. Drivers are opened when the first
// device of their kind is asked for; without one they are not needed.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loopsmith/runtime/c_abi.h"

namespace loopsmith {

/// How a kernel takes an argument: a pointer into the device's memory, or a number. Integers and
/// truth values travel as int64, floating-point numbers as float32 or float64.
enum class KernelArgument : std::uint8_t { memory, int64, float32, float64 };

/// What is known of a kernel.
struct KernelInfo {
  std::string name;    ///< By which a host function calls it.
  std::string symbol;  ///< In the code.
  std::vector<KernelArgument> arguments = {};
  std::int64_t shared_pool_bytes = 0;  ///< Memory that a launch gives its blocks.
};

/// How many blocks a launch has, and how many threads a block, along x, y and z.
struct LaunchShape {
  std::array<std::int64_t, 3> blocks;
  std::array<std::int64_t, 3> threads;

  /// `grid (4, 1, 1) of blocks (32, 8, 1)`
  std::string text() const;
};

/// What a device can do in one launch.
struct DeviceLimits {
  std::int64_t threads_per_block = 0;
  std::int64_t shared_bytes_per_block = 0;
  std::array<std::int64_t, 3> blocks = {};   ///< Along each axis.
  std::array<std::int64_t, 3> threads = {};  ///< Along each axis.
};

/// An array in the memory of a device of which boxes are copied into rows of 128 bytes, swizzled.
struct ArrayBoxes {
  void* data;
  DLDataType type;
  std::span<const std::int64_t> extents, strides;  ///< In elements, innermost last.
  std::span<const std::int64_t> box;               ///< Its extents.
};

/// Kernels that a device's driver has compiled. Any number of threads may launch concurrently.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
  /// Starts a kernel; those of one device run in the order of their starts. An error names the
  /// kernel and the launch.
  virtual void launch(const KernelInfo& kernel, const LaunchShape& shape,
                      std::span<const ls_value> arguments) = 0;
};

/// One device. Each of its methods throws a CallError with what the driver says.
class Device {
 public:
  virtual ~Device() = default;
  virtual DLDevice id() const = 0;
  /// What its driver calls it.
  virtual std::string name() const = 0;
  /// What code is compiled for, `sm_90` of CUDA; empty where the driver does not say.
  virtual std::string arch() const { return ""; }
  virtual DeviceLimits limits() const = 0;

  /// Memory of at least one byte.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void write(void* memory, std::size_t offset, const void* from, std::size_t bytes) = 0;
  virtual void read(void* into, void* memory, std::size_t offset, std::size_t bytes) = 0;
  /// Returns when all that was started has ended.
  virtual void wait() = 0;
  /// Seconds from the start to the end of what `work` starts, on the device's clock if it has one.
  virtual double seconds_of(const std::function<void()>& work) = 0;
  /// Where the device finds what its copy engine is told of an array.
  virtual std::int64_t tensor_map(const ArrayBoxes& boxes);
  virtual std::shared_ptr<DeviceCode> compile(const std::string& source) = 0;
};

/// Where this thread starts kernels of CUDA, copies, and waits: the driver's handle of a stream; 0
/// is the default one.
std::uintptr_t current_stream();
/// Chooses it, and gives the one before.
std::uintptr_t choose_stream(std::uintptr_t stream);

/// The device `id`: kDLOpenCL or kDLCUDA, and its number. Throws a CallError where there is no
/// driver, or no such device.
std::shared_ptr<Device> open_device(DLDevice id);
/// How many devices of a kind there are; 0 without a driver.
int device_count(DLDeviceType kind);

/// A device by its kind's name: `opencl`, `cuda`; `cpu` gives no device.
DLDevice parse_device(std::string_view kind, int number);

/// What CUDA's compiler makes.
enum class CudaCodeForm : std::uint8_t { ptx, cubin };

/// What CUDA's compiler makes of a source for an architecture such as `sm_80`. Throws a CallError
/// where the compiler is not there, or refuses the source.
std::string compile_cuda(const std::string& source, const std::string& arch,
                         CudaCodeForm form = CudaCodeForm::ptx);

}  // namespace loopsmith
