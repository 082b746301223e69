// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/device_program.h"

#include <algorithm>
#include <utility>

#include "loopsmith/runtime/dtype.h"
#include "loopsmith/runtime/host_caller.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

constinit thread_local DeviceCall* current_call = nullptr;

bool is_on(const DLTensor& tensor, DLDevice device) {
  return tensor.device.device_type == device.device_type &&
         tensor.device.device_id == device.device_id;
}

/// How many bytes lie between the first and the last element; negative strides have no such range.
std::size_t extent_in_bytes(const DLTensor& tensor, const char* name) {
  std::int64_t last = 0, compact = 1;
  for (int i = tensor.ndim; i-- > 0;) {
    if (tensor.shape[i] == 0) return 0;
    const std::int64_t stride = tensor.strides ? tensor.strides[i] : compact;
    require(stride >= 0, ErrorKind::call, "array_runs_forward", hint("pass a copy"), {},
            "{}: its stride {} in dimension {} is negative, which a device cannot be given", name,
            stride, i);
    last += (tensor.shape[i] - 1) * stride;
    compact *= tensor.shape[i];
  }
  return static_cast<std::size_t>(size_in_bytes(tensor.dtype, last + 1));
}

/// Numbers of a launch: blocks along x, y, z, and threads.
LaunchShape shape_of(const HostCall& call) {
  LaunchShape shape{};
  for (std::size_t i = 0; i < 3; ++i) {
    shape.blocks[i] = call.arguments[i].value.as_int;
    shape.threads[i] = call.arguments[3 + i].value.as_int;
  }
  return shape;
}

void check_shape(const Device& device, const KernelInfo& kernel, const LaunchShape& shape) {
  const DeviceLimits limits = device.limits();
  const std::int64_t threads = shape.threads[0] * shape.threads[1] * shape.threads[2];
  require(threads <= limits.threads_per_block, ErrorKind::call, "threads_fit_block",
          hint("split the loops over threads, and bind the outer parts to blocks"), {},
          "kernel {} is launched with {}: device {} runs {} threads in a block at most",
          kernel.name, shape.text(), device.name(), limits.threads_per_block);
  for (std::size_t i = 0; i < 3; ++i) {
    require(
        shape.blocks[i] <= limits.blocks[i] && shape.threads[i] <= limits.threads[i],
        ErrorKind::call, "launch_fits_device",
        hint("bind other axes as well, so that each is shorter"), {},
        "kernel {} is launched with {}: device {} has at most {} blocks and {} threads along {}",
        kernel.name, shape.text(), device.name(), limits.blocks[i], limits.threads[i], "xyz"[i]);
  }
}

/// The address on the device that an argument of a host function stands for.
void* address_of(const ls_argument& argument) {
  return argument.kind == LS_TENSOR ? argument.value.as_tensor->data : argument.value.as_handle;
}

/// The bits of a number in the device's memory; waits for the kernels that were started before.
ls_value read_number(const DeviceProgram& program, const HostCall& call) {
  ls_value bits{.as_int = 0};
  program.device().read(&bits.as_int, address_of(call.arguments[0]),
                        static_cast<std::size_t>(call.arguments[1].value.as_int),
                        static_cast<std::size_t>(call.arguments[2].value.as_int));
  return bits;
}

/// Where the device finds what is told of an array to its copy engine.
ls_value tensor_map(const DeviceProgram& program, const HostCall& call) {
  std::vector<std::int64_t> numbers;
  for (const ls_argument& number : call.arguments.subspan(1)) {
    numbers.push_back(number.value.as_int);
  }
  const DLTensor& elements = *call.arguments[0].value.as_tensor;
  const std::span<const std::int64_t> all = numbers;
  const std::size_t rank = all.size() / 3;
  const ArrayBoxes boxes{.data = static_cast<char*>(elements.data) + elements.byte_offset,
                         .type = elements.dtype,
                         .extents = all.first(rank),
                         .strides = all.subspan(rank, rank),
                         .box = all.last(rank)};
  return {.as_int = program.device().tensor_map(boxes)};
}

void launch(const DeviceProgram& program, const KernelInfo& kernel, const HostCall& call) {
  const LaunchShape shape = shape_of(call);
  for (std::size_t i = 0; i < 3; ++i) {
    if (shape.blocks[i] <= 0 || shape.threads[i] <= 0) return;  // No thread at all.
  }
  check_shape(program.device(), kernel, shape);
  std::vector<ls_value> values;
  for (const ls_argument& argument : call.arguments.subspan(6)) {
    ls_value value = argument.value;
    if (argument.kind == LS_TENSOR) value.as_handle = address_of(argument);
    values.push_back(value);
  }
  check(values.size() == kernel.arguments.size(), "launch", "kernel {} takes {} arguments, not {}",
        kernel.name, kernel.arguments.size(), values.size());
  program.code().launch(kernel, shape, values);
}

}  // namespace

const KernelInfo* DeviceProgram::find(std::string_view name) const {
  const auto found = std::ranges::find(kernels_, name, &KernelInfo::name);
  return found == kernels_.end() ? nullptr : &*found;
}

void DeviceProgram::open() const {
  std::call_once(opened_, [&] {
    device_ = open_device(id_);
    code_ = device_->compile(source_);
  });
}

Device& DeviceProgram::device() const {
  open();
  return *device_;
}

DeviceCode& DeviceProgram::code() const {
  open();
  return *code_;
}

HostFunction launcher(std::shared_ptr<const DeviceProgram> program, HostFunction others) {
  return [program = std::move(program), others = std::move(others)](const HostCall& call) {
    if (call.name == "device.allocate") {
      const auto bytes =
          static_cast<std::size_t>(std::max<std::int64_t>(call.arguments[0].value.as_int, 0));
      return ls_value{.as_handle = DeviceCall::current().allocate(bytes)};
    }
    if (call.name == "device.release") {
      DeviceCall::current().release(call.arguments[0].value.as_handle);
      return ls_value{.as_int = 0};
    }
    if (call.name == "device.tensor_map") return tensor_map(*program, call);
    if (call.name == "device.read") return read_number(*program, call);
    if (const KernelInfo* kernel = program->find(call.name)) {
      launch(*program, *kernel, call);
      return ls_value{.as_int = 0};
    }
    if (!others) refuse_host_call(call.name);
    return others(call);
  };
}

DeviceCall::DeviceCall(const DeviceProgram& program, const ls_signature& signature,
                       std::span<const CallArgument> arguments)
    : program_(program), staged_(arguments.begin(), arguments.end()) {
  tensors_.resize(arguments.size());
  outer_ = std::exchange(current_call, this);
  try {
    program.device();
    for (std::size_t i = 0; i < staged_.size(); ++i) {
      if (staged_[i].kind != LS_TENSOR) continue;
      stage(i, *staged_[i].value.as_tensor, signature.parameters[i].writable != 0);
      staged_[i].value.as_tensor = &tensors_[i];
    }
  } catch (...) {
    for (void* memory : memory_) program_.device().release(memory);
    current_call = outer_;
    throw;
  }
}

DeviceCall::~DeviceCall() {
  for (void* memory : memory_) program_.device().release(memory);
  current_call = outer_;
}

void DeviceCall::stage(std::size_t i, const DLTensor& tensor, bool is_written) {
  Device& device = program_.device();
  DLTensor& staged = tensors_[i];
  staged = tensor;
  staged.device = program_.id();
  if (is_on(tensor, program_.id())) {
    // CUDA's addresses are numbers; an object of OpenCL has no part that could be passed.
    const bool is_address = program_.id().device_type == kDLCUDA;
    require(is_address || tensor.byte_offset == 0, ErrorKind::call, "array_is_whole",
            hint("pass a whole array of the device"), {},
            "argument {} begins inside of the device's memory", i);
    constexpr std::uintptr_t alignment = 16;  // What copies of four numbers need.
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
    require(!is_address || address % alignment == 0, ErrorKind::call, "array_is_aligned",
            hint("pass a copy"), {}, "argument {} begins at no multiple of {} bytes", i, alignment);
    staged.data = is_address ? static_cast<char*>(tensor.data) + tensor.byte_offset : tensor.data;
    staged.byte_offset = 0;
    return;
  }
  void* host = static_cast<char*>(tensor.data) + tensor.byte_offset;
  const std::size_t bytes = extent_in_bytes(tensor, "device call");
  staged.byte_offset = 0;
  // One array that is given twice is one on the device, too.
  const auto known = std::ranges::find_if(copies_, [&](const Copy& each) {
    return bytes > 0 && each.host == host && each.bytes == bytes;
  });
  if (known != copies_.end()) {
    known->is_written = known->is_written || is_written;
    staged.data = known->memory;
    return;
  }
  staged.data = allocate(bytes);
  copies_.push_back({host, bytes, staged.data, is_written});
  device.write(staged.data, 0, host, bytes);
}

void DeviceCall::finish() {
  // Arrays of the device are there for later reads, which wait.
  if (copies_.empty()) return;
  Device& device = program_.device();
  for (const Copy& copy : copies_) {
    if (copy.is_written) device.read(copy.host, copy.memory, 0, copy.bytes);
  }
}

DeviceCall& DeviceCall::current() {
  check(current_call != nullptr, "DeviceCall", "no function of a device is called");
  return *current_call;
}

void* DeviceCall::allocate(std::size_t bytes) {
  void* memory = program_.device().allocate(bytes);
  memory_.push_back(memory);
  return memory;
}

void DeviceCall::release(void* memory) {
  const auto found = std::ranges::find(memory_, memory);
  if (found == memory_.end()) return;
  memory_.erase(found);
  // A kernel may still be running; the driver keeps its memory until it has ended.
  if (program_.id().device_type == kDLCUDA) program_.device().wait();
  program_.device().release(memory);
}

CheckedArguments::CheckedArguments(DLDevice device, std::span<const CallArgument> arguments)
    : arguments_(arguments.begin(), arguments.end()) {
  // Far from the host's own addresses, and from each other.
  constexpr std::uintptr_t first = std::uintptr_t{1} << 62, apart = std::uintptr_t{1} << 50;
  tensors_.resize(arguments.size());
  std::vector<void*> seen;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const DLTensor* tensor =
        arguments_[i].kind == LS_TENSOR ? arguments_[i].value.as_tensor : nullptr;
    if (!tensor || !is_on(*tensor, device)) continue;
    const auto known = std::ranges::find(seen, tensor->data);
    const auto number = static_cast<std::uintptr_t>(known - seen.begin());
    if (known == seen.end()) seen.push_back(tensor->data);
    tensors_[i] = *tensor;
    tensors_[i].device = {kDLCPU, 0};
    tensors_[i].data = tensor->data ? reinterpret_cast<void*>(first + number * apart) : nullptr;
    arguments_[i].value.as_tensor = &tensors_[i];
  }
}

}  // namespace loopsmith
