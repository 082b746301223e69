// SPDX-License-Identifier: Apache-2.0
// CUDA by its driver, libcuda.so.1. The few names of its interface that are needed are declared
// here, so that no header has to be there.
#include <algorithm>
#include <mutex>
#include <vector>

#include "loopsmith/runtime/drivers.h"
#include "loopsmith/runtime/kernel_cache.h"
#include "loopsmith/runtime/shared_library.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using CudaContext = struct CudaContextTag*;
using CudaModule = struct CudaModuleTag*;
using CudaFunction = struct CudaFunctionTag*;
using CudaStream = struct CudaStreamTag*;
using CudaEvent = struct CudaEventTag*;
using CudaPointer = std::uint64_t;
using Result = int;

constexpr Result fine = 0;
constexpr int max_dynamic_shared_size_bytes = 8;  // An attribute of a function.
constexpr int max_threads_per_block = 1, max_block_dim_x = 2, max_grid_dim_x = 5,
              max_shared_memory_per_block = 8, compute_capability_major = 75,
              compute_capability_minor = 76;  // Attributes of a device.

/// The functions of the driver.
struct Cuda {
  Result (*init)(unsigned);
  Result (*error_string)(Result, const char**);
  Result (*count)(int*);
  Result (*get_device)(int*, int);
  Result (*get_name)(char*, int, int);
  Result (*get_attribute)(int*, int, int);
  Result (*retain_context)(CudaContext*, int);
  Result (*set_context)(CudaContext);
  Result (*allocate)(CudaPointer*, std::size_t);
  Result (*release)(CudaPointer);
  Result (*write)(CudaPointer, const void*, std::size_t, CudaStream);
  Result (*read)(void*, CudaPointer, std::size_t, CudaStream);
  Result (*wait)();
  Result (*wait_for_stream)(CudaStream);
  Result (*create_event)(CudaEvent*, unsigned);
  Result (*destroy_event)(CudaEvent);
  Result (*record)(CudaEvent, CudaStream);
  Result (*wait_for_event)(CudaEvent);
  Result (*elapsed)(float*, CudaEvent, CudaEvent);
  Result (*load_module)(CudaModule*, const void*);
  Result (*unload_module)(CudaModule);
  Result (*get_function)(CudaFunction*, CudaModule, const char*);
  Result (*set_attribute)(CudaFunction, int, int);
  /// Null of drivers before that of CUDA 12.
  Result (*encode_tensor_map)(void*, int, unsigned, CudaPointer, const std::uint64_t*,
                              const std::uint64_t*, const unsigned*, const unsigned*, int, int, int,
                              int);
  Result (*launch)(CudaFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, CudaStream, void**, void**);

  Cuda() {
    const DriverLibrary library(library_names("LOOPSMITH_CUDA", {"libcuda.so.1", "libcuda.so"}),
                                "the CUDA driver",
                                "install NVIDIA's driver on a machine with one of its GPUs");
    library.find(init, "cuInit");
    library.find(error_string, "cuGetErrorString");
    library.find(count, "cuDeviceGetCount");
    library.find(get_device, "cuDeviceGet");
    library.find(get_name, "cuDeviceGetName");
    library.find(get_attribute, "cuDeviceGetAttribute");
    library.find(retain_context, "cuDevicePrimaryCtxRetain");
    library.find(set_context, "cuCtxSetCurrent");
    library.find(allocate, "cuMemAlloc_v2");
    library.find(release, "cuMemFree_v2");
    library.find(write, "cuMemcpyHtoDAsync_v2");
    library.find(read, "cuMemcpyDtoHAsync_v2");
    library.find(wait, "cuCtxSynchronize");
    library.find(wait_for_stream, "cuStreamSynchronize");
    library.find(create_event, "cuEventCreate");
    library.find(destroy_event, "cuEventDestroy_v2");
    library.find(record, "cuEventRecord");
    library.find(wait_for_event, "cuEventSynchronize");
    library.find(elapsed, "cuEventElapsedTime");
    library.find(load_module, "cuModuleLoadData");
    library.find(unload_module, "cuModuleUnload");
    library.find(get_function, "cuModuleGetFunction");
    library.find(set_attribute, "cuFuncSetAttribute");
    library.find(launch, "cuLaunchKernel");
    library.find_if_there(encode_tensor_map, "cuTensorMapEncodeTiled");
    require_success(init(0), "the driver does not start");
  }

  std::string text(Result result) const {
    const char* words = nullptr;
    error_string(result, &words);
    return words ? words : fmt::format("error {}", result);
  }

  /// The kernel that was launched last; a fault is told by a later call.
  void note_launch(const std::string& kernel, const LaunchShape& shape) const {
    const std::lock_guard lock(mutex_);
    kernel_ = kernel;
    shape_ = shape;
  }

  /// Fails where a kernel has faulted, after which the driver does nothing more for this process.
  void require_no_fault(Result result) const {
    const bool is_of_kernel =
        result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719);
    if (!is_of_kernel) return;
    const std::lock_guard lock(mutex_);
    fail(ErrorKind::call, "kernel_has_no_fault",
         hint("run it by ls.interp.run, or under compute-sanitizer, to see where; what is on the "
              "device is lost, start the process again"),
         {}, "cuda: kernel {}, launched with {}, or one before it has faulted: {}", kernel_,
         shape_.text(), text(result));
  }

  void require_success(Result result, std::string_view what) const {
    require_no_fault(result);
    require(result == fine, ErrorKind::call, "device_does_it", hint("see what the driver says"), {},
            "cuda: {}: {}", what, text(result));
  }

 private:
  mutable std::mutex mutex_;
  mutable std::string kernel_;
  mutable LaunchShape shape_ = {};
};

const Cuda& cuda() {
  static const Cuda functions;
  return functions;
}

/// A source without its lines of comments, which say where statements come from: they differ where
/// the code does not.
std::string without_comments(std::string_view source) {
  std::string kept;
  while (!source.empty()) {
    const std::string_view line = source.substr(0, source.find('\n'));
    const std::size_t first = line.find_first_not_of(' ');
    const bool is_comment = first != line.npos && line.substr(first).starts_with("//");
    if (!is_comment) kept.append(line).push_back('\n');
    source.remove_prefix(std::min(line.size() + 1, source.size()));
  }
  return kept;
}

/// The stream of this thread.
CudaStream stream() {
  return reinterpret_cast<CudaStream>(current_stream());
}

/// A moment of a stream, by the device's clock.
class Event {
 public:
  Event() { cuda().require_success(cuda().create_event(&event_, 0), "no event"); }
  ~Event() { cuda().destroy_event(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() const { cuda().require_success(cuda().record(event_, stream()), "no event"); }
  double seconds_since(const Event& start) const {
    cuda().require_success(cuda().wait_for_event(event_), "a kernel failed");
    float milliseconds = 0;
    cuda().require_success(cuda().elapsed(&milliseconds, start.event_, event_), "no time");
    return milliseconds * 1e-3;
  }

 private:
  CudaEvent event_ = nullptr;
};

class CudaCode final : public DeviceCode {
 public:
  CudaCode(CudaContext context, CudaModule module) : context_(context), module_(module) {}
  ~CudaCode() override {
    cuda().set_context(context_);
    cuda().unload_module(module_);
  }
  CudaCode(const CudaCode&) = delete;
  CudaCode& operator=(const CudaCode&) = delete;

  void launch(const KernelInfo& info, const LaunchShape& shape,
              std::span<const ls_value> arguments) override {
    cuda().set_context(context_);
    CudaFunction function = find(info);
    std::vector<ls_value> values(arguments.begin(), arguments.end());
    std::vector<float> narrow(values.size());
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < values.size(); ++i) {
      narrow[i] = static_cast<float>(values[i].as_float);
      const bool is_narrow = info.arguments[i] == KernelArgument::float32;
      pointers.push_back(is_narrow ? static_cast<void*>(&narrow[i]) : &values[i]);
    }
    const auto part = [](std::int64_t extent) { return static_cast<unsigned>(extent); };
    const Result result =
        cuda().launch(function, part(shape.blocks[0]), part(shape.blocks[1]), part(shape.blocks[2]),
                      part(shape.threads[0]), part(shape.threads[1]), part(shape.threads[2]),
                      part(info.shared_pool_bytes), stream(), pointers.data(), nullptr);
    cuda().require_no_fault(result);
    require(result == fine, ErrorKind::call, "kernel_is_launched",
            hint("launch fewer threads in a block, or use less shared memory"), {},
            "cuda: kernel {} is not launched with {}: {}", info.name, shape.text(),
            cuda().text(result));
    cuda().note_launch(info.name, shape);
  }

 private:
  CudaFunction find(const KernelInfo& info) {
    const std::lock_guard lock(mutex_);
    for (const auto& [symbol, function] : functions_) {
      if (symbol == info.symbol) return function;
    }
    CudaFunction function = nullptr;
    cuda().require_success(cuda().get_function(&function, module_, info.symbol.c_str()),
                           fmt::format("kernel {}", info.name));
    // More than kernels may have declared needs to be asked for.
    if (info.shared_pool_bytes > 0) {
      const auto bytes = static_cast<int>(info.shared_pool_bytes);
      const Result result = cuda().set_attribute(function, max_dynamic_shared_size_bytes, bytes);
      require(result == fine, ErrorKind::call, "shared_memory_fits_device",
              hint("cache smaller tiles, or say what the device has: "
                   "cuda -max_shared_memory_per_block=..."),
              {}, "cuda: kernel {} needs {} bytes of shared memory: {}", info.name, bytes,
              cuda().text(result));
    }
    functions_.emplace_back(info.symbol, function);
    return function;
  }

  std::mutex mutex_;
  CudaContext context_;
  CudaModule module_;
  std::vector<std::pair<std::string, CudaFunction>> functions_;
};

/// Arrays as they are described to the copy engine, in the memory of a device.
class TensorMaps {
 public:
  /// The address of the description; kept, as the same arrays come again.
  CudaPointer find(const ArrayBoxes& boxes) {
    Key key{.pointer = reinterpret_cast<CudaPointer>(boxes.data), .type = code_of(boxes.type)};
    const std::size_t rank = boxes.extents.size();
    for (std::size_t d = rank; d-- > 0;) {
      key.extents.push_back(static_cast<std::uint64_t>(boxes.extents[d]));
      key.box.push_back(static_cast<unsigned>(boxes.box[d]));
      if (d + 1 == rank) continue;
      key.strides.push_back(static_cast<std::uint64_t>(boxes.strides[d]) * boxes.type.bits / 8);
    }
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(known_, key);
    if (known != known_.end()) return address_of(known - known_.begin());
    add(std::move(key));
    return address_of(std::ssize(known_) - 1);
  }

 private:
  struct Key {
    CudaPointer pointer = 0;
    int type = 0;
    std::vector<std::uint64_t> extents = {}, strides = {};  ///< Innermost first; strides in bytes.
    std::vector<unsigned> box = {};
    bool operator==(const Key&) const = default;
  };

  static int code_of(DLDataType type) {
    constexpr int float16 = 6, bfloat16 = 9;  // CU_TENSOR_MAP_DATA_TYPE_...
    return type.code == kDLBfloat ? bfloat16 : float16;
  }

  CudaPointer address_of(std::ptrdiff_t number) const {
    return memory_ + static_cast<CudaPointer>(number) * bytes_of_map;
  }

  void add(Key key) {
    if (memory_ == 0) {
      cuda().require_success(cuda().allocate(&memory_, most * bytes_of_map), "no tensor map");
    }
    if (known_.size() == most) {
      // A kernel that was started may still read one.
      cuda().require_success(cuda().wait(), "a kernel failed");
      known_.clear();
    }
    require(cuda().encode_tensor_map != nullptr, ErrorKind::call, "driver_describes_arrays",
            hint("install a driver of CUDA 12 or later"), {},
            "cuda: the driver has no cuTensorMapEncodeTiled");
    constexpr int no_interleave = 0, swizzle_128_bytes = 3, promote_256_bytes = 3, fill_zeros = 0;
    const auto rank = static_cast<unsigned>(key.extents.size());
    const std::vector<unsigned> steps(rank, 1);
    alignas(64) unsigned char map[bytes_of_map];
    cuda().require_success(
        cuda().encode_tensor_map(map, key.type, rank, key.pointer, key.extents.data(),
                                 key.strides.data(), key.box.data(), steps.data(), no_interleave,
                                 swizzle_128_bytes, promote_256_bytes, fill_zeros),
        "no tensor map");
    const CudaPointer into = address_of(std::ssize(known_));
    cuda().require_success(cuda().write(into, map, bytes_of_map, stream()), "no tensor map");
    cuda().require_success(cuda().wait_for_stream(stream()), "no tensor map");
    known_.push_back(std::move(key));
  }

  static constexpr std::size_t bytes_of_map = 128, most = 256;
  std::mutex mutex_;
  CudaPointer memory_ = 0;  ///< The driver frees it with the context.
  std::vector<Key> known_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int number) : number_(number) {
    cuda().require_success(cuda().get_device(&device_, number), "no such device");
    cuda().require_success(cuda().retain_context(&context_, device_), "no context");
  }

  DLDevice id() const override { return {kDLCUDA, number_}; }

  std::string name() const override {
    char text[256] = {};
    cuda().get_name(text, sizeof text - 1, device_);
    return text;
  }

  /// With the instructions that later architectures do not have: code is compiled where it runs.
  std::string arch() const override {
    constexpr int first_with_own_instructions = 9;
    const int major = attribute(compute_capability_major);
    return fmt::format("sm_{}{}{}", major, attribute(compute_capability_minor),
                       major >= first_with_own_instructions ? "a" : "");
  }

  DeviceLimits limits() const override {
    DeviceLimits limits{.threads_per_block = attribute(max_threads_per_block),
                        .shared_bytes_per_block = attribute(max_shared_memory_per_block)};
    for (int i = 0; i < 3; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      limits.threads[axis] = attribute(max_block_dim_x + i);
      limits.blocks[axis] = attribute(max_grid_dim_x + i);
    }
    return limits;
  }

  void* allocate(std::size_t bytes) override {
    cuda().set_context(context_);
    CudaPointer pointer = 0;
    const Result result = cuda().allocate(&pointer, std::max<std::size_t>(bytes, 1));
    cuda().require_no_fault(result);
    require(result == fine, ErrorKind::call, "device_has_memory",
            hint("free arrays of the device, or work in parts"), {},
            "cuda: no memory of {} bytes: {}", bytes, cuda().text(result));
    return reinterpret_cast<void*>(pointer);
  }
  void release(void* memory) noexcept override {
    cuda().set_context(context_);
    cuda().release(address(memory, 0));
  }
  void write(void* memory, std::size_t offset, const void* from, std::size_t bytes) override {
    cuda().set_context(context_);
    if (bytes == 0) return;
    cuda().require_success(cuda().write(address(memory, offset), from, bytes, stream()),
                           "memory is not written");
    // What is copied may be gone when this returns.
    cuda().require_success(cuda().wait_for_stream(stream()), "memory is not written");
  }
  void read(void* into, void* memory, std::size_t offset, std::size_t bytes) override {
    cuda().set_context(context_);
    if (bytes == 0) return;
    cuda().require_success(cuda().read(into, address(memory, offset), bytes, stream()),
                           "memory is not read");
    cuda().require_success(cuda().wait_for_stream(stream()), "memory is not read");
  }
  void wait() override {
    cuda().set_context(context_);
    cuda().require_success(cuda().wait(), "a kernel failed");
  }
  double seconds_of(const std::function<void()>& work) override {
    cuda().set_context(context_);
    const Event start, end;
    start.record();
    work();
    end.record();
    return end.seconds_since(start);
  }

  std::int64_t tensor_map(const ArrayBoxes& boxes) override {
    cuda().set_context(context_);
    return static_cast<std::int64_t>(maps_.find(boxes));
  }

  std::shared_ptr<DeviceCode> compile(const std::string& source) override {
    cuda().set_context(context_);
    const KernelCache cache = KernelCache::of_user();
    const std::string origin = fmt::format("cubin {} by NVRTC {}\n{}", arch(),
                                           cuda_compiler_version(), without_comments(source));
    std::optional<std::string> code = cache.find(origin);
    if (!code) {
      cache.keep(origin, code.emplace(compile_cuda(source, arch(), CudaCodeForm::cubin)));
    }
    CudaModule module = nullptr;
    cuda().require_success(cuda().load_module(&module, code->data()), "the code is not loaded");
    return std::make_shared<CudaCode>(context_, module);
  }

 private:
  static CudaPointer address(void* memory, std::size_t offset) {
    return reinterpret_cast<CudaPointer>(memory) + offset;
  }
  int attribute(int which) const {
    int value = 0;
    cuda().get_attribute(&value, which, device_);
    return value;
  }

  int number_;
  int device_ = 0;
  CudaContext context_ = nullptr;
  TensorMaps maps_;
};

}  // namespace

int cuda_count() {
  int count = 0;
  cuda().require_success(cuda().count(&count), "devices are not counted");
  return count;
}

std::shared_ptr<Device> open_cuda(int number) {
  const int count = cuda_count();
  require(number >= 0 && number < count, ErrorKind::call, "device_exists", hint("count from 0"), {},
          "cuda: there is no device {}, there are {}", number, count);
  return std::make_shared<CudaDevice>(number);
}

}  // namespace loopsmith
