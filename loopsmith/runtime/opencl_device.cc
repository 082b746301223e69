// SPDX-License-Identifier: Apache-2.0
// OpenCL 1.2 by its loader, libOpenCL.so.1. The few names of its interface that are needed are
// declared here, so that no header has to be there.
#include <chrono>
#include <mutex>
#include <vector>

#include "loopsmith/runtime/drivers.h"
#include "loopsmith/runtime/shared_library.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using Platform = struct PlatformTag*;
using DeviceId = struct DeviceTag*;
using ClContext = struct ContextTag*;
using Queue = struct QueueTag*;
using Memory = struct MemoryTag*;
using Program = struct ProgramTag*;
using Kernel = struct KernelTag*;
using Status = std::int32_t;
using Flags = std::uint64_t;

constexpr Status success = 0;
constexpr std::uint32_t yes = 1;
constexpr Flags all_devices = 0xFFFFFFFF, read_write = 1;
constexpr std::uint32_t max_work_group_size = 0x1004, max_work_item_sizes = 0x1005,
                        local_mem_size = 0x1023, device_name = 0x102B, single_fp_config = 0x101B,
                        build_log = 0x1183;
constexpr Flags rounds_divisions = 1 << 7;  // In the configuration of single precision.

struct StatusName {
  Status status;
  const char* name;
};
constexpr StatusName status_names[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},         {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},         {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},   {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},      {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},     {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},       {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},     {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},  {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"}};

std::string status_text(Status status) {
  for (const StatusName& each : status_names) {
    if (each.status == status) return each.name;
  }
  return fmt::format("error {}", status);
}

/// The functions of the loader.
struct OpenCl {
  Status (*get_platforms)(std::uint32_t, Platform*, std::uint32_t*);
  Status (*get_devices)(Platform, Flags, std::uint32_t, DeviceId*, std::uint32_t*);
  Status (*get_device_info)(DeviceId, std::uint32_t, std::size_t, void*, std::size_t*);
  ClContext (*create_context)(const std::intptr_t*, std::uint32_t, const DeviceId*,
                              void (*)(const char*, const void*, std::size_t, void*), void*,
                              Status*);
  Queue (*create_queue)(ClContext, DeviceId, Flags, Status*);
  Memory (*create_buffer)(ClContext, Flags, std::size_t, void*, Status*);
  Status (*release_memory)(Memory);
  Status (*write_buffer)(Queue, Memory, std::uint32_t, std::size_t, std::size_t, const void*,
                         std::uint32_t, const void*, void*);
  Status (*read_buffer)(Queue, Memory, std::uint32_t, std::size_t, std::size_t, void*,
                        std::uint32_t, const void*, void*);
  Status (*finish)(Queue);
  Program (*create_program)(ClContext, std::uint32_t, const char**, const std::size_t*, Status*);
  Status (*build_program)(Program, std::uint32_t, const DeviceId*, const char*,
                          void (*)(Program, void*), void*);
  Status (*get_build_info)(Program, DeviceId, std::uint32_t, std::size_t, void*, std::size_t*);
  Status (*release_program)(Program);
  Kernel (*create_kernel)(Program, const char*, Status*);
  Status (*set_argument)(Kernel, std::uint32_t, std::size_t, const void*);
  Status (*release_kernel)(Kernel);
  Status (*launch)(Queue, Kernel, std::uint32_t, const std::size_t*, const std::size_t*,
                   const std::size_t*, std::uint32_t, const void*, void*);

  OpenCl() {
    const std::string names[] = {"libOpenCL.so.1", "libOpenCL.so"};
    const DriverLibrary library(names, "the OpenCL loader",
                                "install a loader and a driver, on Debian ocl-icd-libopencl1 and "
                                "pocl-opencl-icd, which runs on the processor");
    library.find(get_platforms, "clGetPlatformIDs");
    library.find(get_devices, "clGetDeviceIDs");
    library.find(get_device_info, "clGetDeviceInfo");
    library.find(create_context, "clCreateContext");
    library.find(create_queue, "clCreateCommandQueue");
    library.find(create_buffer, "clCreateBuffer");
    library.find(release_memory, "clReleaseMemObject");
    library.find(write_buffer, "clEnqueueWriteBuffer");
    library.find(read_buffer, "clEnqueueReadBuffer");
    library.find(finish, "clFinish");
    library.find(create_program, "clCreateProgramWithSource");
    library.find(build_program, "clBuildProgram");
    library.find(get_build_info, "clGetProgramBuildInfo");
    library.find(release_program, "clReleaseProgram");
    library.find(create_kernel, "clCreateKernel");
    library.find(set_argument, "clSetKernelArg");
    library.find(release_kernel, "clReleaseKernel");
    library.find(launch, "clEnqueueNDRangeKernel");
  }

  /// The devices of all platforms.
  std::vector<DeviceId> devices() const {
    std::uint32_t count = 0;
    if (get_platforms(0, nullptr, &count) != success) return {};
    std::vector<Platform> platforms(count);
    get_platforms(count, platforms.data(), nullptr);
    std::vector<DeviceId> all;
    for (Platform platform : platforms) {
      std::uint32_t number = 0;
      if (get_devices(platform, all_devices, 0, nullptr, &number) != success) continue;
      std::vector<DeviceId> found(number);
      get_devices(platform, all_devices, number, found.data(), nullptr);
      all.insert(all.end(), found.begin(), found.end());
    }
    return all;
  }
};

const OpenCl& opencl() {
  static const OpenCl functions;
  return functions;
}

void require_success(Status status, std::string_view what) {
  require(status == success, ErrorKind::call, "device_does_it", hint("see what the driver says"),
          {}, "opencl: {}: {}", what, status_text(status));
}

class OpenClCode final : public DeviceCode {
 public:
  OpenClCode(Program program, Queue queue) : program_(program), queue_(queue) {}
  ~OpenClCode() override {
    for (const auto& [symbol, kernel] : kernels_) opencl().release_kernel(kernel);
    opencl().release_program(program_);
  }
  OpenClCode(const OpenClCode&) = delete;
  OpenClCode& operator=(const OpenClCode&) = delete;

  void launch(const KernelInfo& info, const LaunchShape& shape,
              std::span<const ls_value> arguments) override {
    // Arguments are a kernel's state.
    const std::lock_guard lock(mutex_);
    Kernel kernel = find(info);
    for (std::size_t i = 0; i < arguments.size(); ++i) set(kernel, info, i, arguments[i]);
    std::size_t global[3], local[3];
    for (std::size_t i = 0; i < 3; ++i) {
      local[i] = static_cast<std::size_t>(shape.threads[i]);
      global[i] = static_cast<std::size_t>(shape.blocks[i]) * local[i];
    }
    const Status status =
        opencl().launch(queue_, kernel, 3, nullptr, global, local, 0, nullptr, nullptr);
    require(status == success, ErrorKind::call, "kernel_is_launched",
            hint("launch fewer threads in a block, or use less shared memory"), {},
            "opencl: kernel {} is not launched with {}: {}", info.name, shape.text(),
            status_text(status));
  }

 private:
  Kernel find(const KernelInfo& info) {
    for (const auto& [symbol, kernel] : kernels_) {
      if (symbol == info.symbol) return kernel;
    }
    Status status = success;
    Kernel kernel = opencl().create_kernel(program_, info.symbol.c_str(), &status);
    require_success(status, fmt::format("kernel {}", info.name));
    kernels_.emplace_back(info.symbol, kernel);
    return kernel;
  }

  static void set(Kernel kernel, const KernelInfo& info, std::size_t i, const ls_value& value) {
    const auto number = static_cast<std::uint32_t>(i);
    const auto narrow = static_cast<float>(value.as_float);
    Status status = success;
    switch (info.arguments[i]) {
      case KernelArgument::memory:
        status =
            opencl().set_argument(kernel, number, sizeof(void*), static_cast<const void*>(&value));
        break;
      case KernelArgument::int64:
        status = opencl().set_argument(kernel, number, sizeof(std::int64_t), &value.as_int);
        break;
      case KernelArgument::float32:
        status = opencl().set_argument(kernel, number, sizeof narrow, &narrow);
        break;
      case KernelArgument::float64:
        status = opencl().set_argument(kernel, number, sizeof(double), &value.as_float);
        break;
    }
    require_success(status, fmt::format("argument {} of kernel {}", i, info.name));
  }

  std::mutex mutex_;
  Program program_;
  Queue queue_;
  std::vector<std::pair<std::string, Kernel>> kernels_;
};

class OpenClDevice final : public Device {
 public:
  OpenClDevice(int number, DeviceId device) : number_(number), device_(device) {
    Status status = success;
    context_ = opencl().create_context(nullptr, 1, &device, nullptr, nullptr, &status);
    require_success(status, "no context");
    queue_ = opencl().create_queue(context_, device, 0, &status);
    require_success(status, "no queue");
  }

  DLDevice id() const override { return {kDLOpenCL, number_}; }

  std::string name() const override {
    char text[256] = {};
    opencl().get_device_info(device_, device_name, sizeof text - 1, text, nullptr);
    return text;
  }

  DeviceLimits limits() const override {
    std::size_t threads = 0, sizes[3] = {};
    std::uint64_t shared = 0;
    const auto ask = [&](std::uint32_t what, auto& value) {
      opencl().get_device_info(device_, what, sizeof value, &value, nullptr);
    };
    ask(max_work_group_size, threads);
    ask(max_work_item_sizes, sizes);
    ask(local_mem_size, shared);
    DeviceLimits limits{.threads_per_block = static_cast<std::int64_t>(threads),
                        .shared_bytes_per_block = static_cast<std::int64_t>(shared)};
    for (std::size_t i = 0; i < 3; ++i) {
      limits.threads[i] = static_cast<std::int64_t>(sizes[i]);
      limits.blocks[i] = INT32_MAX;
    }
    return limits;
  }

  void* allocate(std::size_t bytes) override {
    Status status = success;
    Memory memory = opencl().create_buffer(context_, read_write, std::max<std::size_t>(bytes, 1),
                                           nullptr, &status);
    require(status == success, ErrorKind::call, "device_has_memory",
            hint("free arrays of the device, or work in parts"), {},
            "opencl: no memory of {} bytes: {}", bytes, status_text(status));
    return memory;
  }
  void release(void* memory) noexcept override {
    opencl().release_memory(static_cast<Memory>(memory));
  }
  void write(void* memory, std::size_t offset, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    require_success(opencl().write_buffer(queue_, static_cast<Memory>(memory), yes, offset, bytes,
                                          from, 0, nullptr, nullptr),
                    "memory is not written");
  }
  void read(void* into, void* memory, std::size_t offset, std::size_t bytes) override {
    if (bytes == 0) return;
    require_success(opencl().read_buffer(queue_, static_cast<Memory>(memory), yes, offset, bytes,
                                         into, 0, nullptr, nullptr),
                    "memory is not read");
  }
  void wait() override { require_success(opencl().finish(queue_), "a kernel failed"); }
  double seconds_of(const std::function<void()>& work) override {
    wait();
    const auto start = std::chrono::steady_clock::now();
    work();
    wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::shared_ptr<DeviceCode> compile(const std::string& source) override {
    const char* text = source.c_str();
    const std::size_t length = source.size();
    Status status = success;
    Program program = opencl().create_program(context_, 1, &text, &length, &status);
    require_success(status, "no program");
    Flags precision = 0;
    opencl().get_device_info(device_, single_fp_config, sizeof precision, &precision, nullptr);
    const char* options =
        (precision & rounds_divisions) != 0 ? "-cl-fp32-correctly-rounded-divide-sqrt" : "";
    status = opencl().build_program(program, 1, &device_, options, nullptr, nullptr);
    if (status != success) {
      const std::string log = log_of(program);
      opencl().release_program(program);
      fail(ErrorKind::call, "driver_compiles_kernel",
           hint("report it with module.source(\"opencl\")"), {},
           "opencl: the driver does not compile the kernels: {}\n{}", status_text(status), log);
    }
    return std::make_shared<OpenClCode>(program, queue_);
  }

 private:
  std::string log_of(Program program) const {
    std::size_t size = 0;
    opencl().get_build_info(program, device_, build_log, 0, nullptr, &size);
    std::string log(size, '\0');
    opencl().get_build_info(program, device_, build_log, size, log.data(), nullptr);
    return log.substr(0, log.find('\0'));
  }

  int number_;
  DeviceId device_;
  ClContext context_ = nullptr;
  Queue queue_ = nullptr;
};

}  // namespace

int opencl_count() {
  return static_cast<int>(opencl().devices().size());
}

std::shared_ptr<Device> open_opencl(int number) {
  const std::vector<DeviceId> devices = opencl().devices();
  require(number >= 0 && static_cast<std::size_t>(number) < devices.size(), ErrorKind::call,
          "device_exists",
          hint("count from 0; on Debian pocl-opencl-icd makes the processor a device"), {},
          "opencl: there is no device {}, there are {}", number, devices.size());
  return std::make_shared<OpenClDevice>(number, devices[static_cast<std::size_t>(number)]);
}

}  // namespace loopsmith
