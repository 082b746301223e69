// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/ndarray.h"

#include <cstring>
#include <limits>
#include <utility>

#include "loopsmith/runtime/device.h"
#include "loopsmith/runtime/memory.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::vector<std::int64_t> compact_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

/// The number of elements; an error for a negative extent, or when their bytes overflow.
std::int64_t count_elements(std::span<const std::int64_t> shape, DLDataType dtype) {
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t extent : shape) {
    require(extent >= 0, ErrorKind::bounds, "extent_is_not_negative",
            hint("pass sizes of 0 or more"), {}, "array: shape ({}) has a negative size",
            fmt::join(shape, ", "));
    fits = fits && !__builtin_mul_overflow(count, extent, &count);
  }
  std::int64_t bits = 0;
  fits = fits && !__builtin_mul_overflow(count, dtype.bits * dtype.lanes, &bits) &&
         bits <= std::numeric_limits<std::int64_t>::max() - 7;
  require(fits, ErrorKind::bounds, "size_fits", hint("pass a smaller shape"), {},
          "array: shape ({}) of {} spans more bytes than 63 bits count", fmt::join(shape, ", "),
          to_string(dtype));
  return count;
}

}  // namespace

NDArray::NDArray(Body body) : body_(std::make_shared<Body>(std::move(body))) {
  body_->tensor.ndim = static_cast<std::int32_t>(body_->shape.size());
  body_->tensor.shape = body_->shape.data();
  body_->tensor.strides = body_->strides.data();
}

NDArray NDArray::empty(std::vector<std::int64_t> shape, DLDataType dtype) {
  const std::int64_t bytes = size_in_bytes(dtype, count_elements(shape, dtype));
  void* data = allocate_aligned(static_cast<std::size_t>(bytes), alignment);
  require(data != nullptr, ErrorKind::user, "memory_suffices",
          hint("free memory, or pass a smaller shape"), {},
          "array: no memory for shape ({}) of {}, {} bytes", fmt::join(shape, ", "),
          to_string(dtype), bytes);
  Body body;
  body.owner = std::shared_ptr<void>(data, free_aligned);
  body.tensor.data = data;
  body.tensor.device = {kDLCPU, 0};
  body.tensor.dtype = dtype;
  body.strides = compact_strides(shape);
  body.shape = std::move(shape);
  return NDArray(std::move(body));
}

NDArray NDArray::empty_on(DLDevice device, std::vector<std::int64_t> shape, DLDataType dtype) {
  if (device.device_type == kDLCPU) return empty(std::move(shape), dtype);
  const std::int64_t bytes = size_in_bytes(dtype, count_elements(shape, dtype));
  const std::shared_ptr<Device> owner = open_device(device);
  void* data = owner->allocate(static_cast<std::size_t>(bytes));
  Body body;
  body.owner = std::shared_ptr<void>(data, [owner](void* memory) { owner->release(memory); });
  body.tensor.data = data;
  body.tensor.device = device;
  body.tensor.dtype = dtype;
  body.strides = compact_strides(shape);
  body.shape = std::move(shape);
  return NDArray(std::move(body));
}

NDArray NDArray::copy_to(DLDevice target) const {
  require(is_compact(), ErrorKind::call, "array_is_compact", hint("copy it first"), {},
          "array: only arrays without gaps are copied to and from devices");
  NDArray copy = empty_on(target, {shape().begin(), shape().end()}, dtype());
  const auto bytes = static_cast<std::size_t>(size_in_bytes(dtype(), size()));
  const DLTensor &from = body_->tensor, &into = copy.body_->tensor;
  const auto is_host = [](const DLTensor& tensor) { return tensor.device.device_type == kDLCPU; };
  char* data = static_cast<char*>(from.data);
  if (is_host(from) && is_host(into)) {
    if (bytes > 0) std::memcpy(into.data, data + from.byte_offset, bytes);
  } else if (is_host(from)) {
    open_device(target)->write(into.data, 0, data + from.byte_offset, bytes);
  } else if (is_host(into)) {
    open_device(from.device)->read(into.data, data, from.byte_offset, bytes);
  } else {
    copy = copy_to({kDLCPU, 0}).copy_to(target);
  }
  return copy;
}

NDArray NDArray::zeros(std::vector<std::int64_t> shape, DLDataType dtype) {
  NDArray array = empty(std::move(shape), dtype);
  std::memset(array.body_->tensor.data, 0,
              static_cast<std::size_t>(size_in_bytes(dtype, array.size())));
  return array;
}

template <class Managed>
NDArray NDArray::adopt(Managed* lent, bool is_read_only) {
  const DLTensor& tensor = lent->dl_tensor;
  Body body;
  body.owner = std::shared_ptr<Managed>(lent, [](Managed* done) {
    if (done->deleter) done->deleter(done);
  });
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  body.shape.assign(tensor.shape, tensor.shape + rank);
  count_elements(body.shape, tensor.dtype);
  if (tensor.strides) {
    body.strides.assign(tensor.strides, tensor.strides + rank);
  } else {
    body.strides = compact_strides(body.shape);
  }
  body.tensor = tensor;
  body.is_read_only = is_read_only;
  return NDArray(std::move(body));
}

NDArray NDArray::from_dlpack(DLManagedTensorVersioned* lent) {
  const DLPackVersion version = lent->version;
  if (version.major != DLPACK_MAJOR_VERSION && lent->deleter) lent->deleter(lent);
  require(version.major == DLPACK_MAJOR_VERSION, ErrorKind::format, "dlpack_version",
          hint("update the older of the two libraries"), {},
          "array: lent in DLPack {}.{}, where {}.x is understood", version.major, version.minor,
          DLPACK_MAJOR_VERSION);
  return adopt(lent, (lent->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
}

NDArray NDArray::from_dlpack(DLManagedTensor* lent) {
  return adopt(lent, false);
}

DLManagedTensorVersioned* NDArray::to_dlpack() const {
  auto* lent = new DLManagedTensorVersioned{};
  lent->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  lent->manager_ctx = new NDArray(*this);
  lent->deleter = [](DLManagedTensorVersioned* self) {
    delete static_cast<NDArray*>(self->manager_ctx);
    delete self;
  };
  lent->flags = is_read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  lent->dl_tensor = body_->tensor;
  return lent;
}

DLManagedTensor* NDArray::to_dlpack_unversioned() const {
  require(!is_read_only(), ErrorKind::format, "dlpack_read_only",
          hint("use DLPack 1.0, or pass a writable array"), {},
          "array: is read-only, which DLPack before 1.0 cannot say");
  auto* lent = new DLManagedTensor{};
  lent->manager_ctx = new NDArray(*this);
  lent->deleter = [](DLManagedTensor* self) {
    delete static_cast<NDArray*>(self->manager_ctx);
    delete self;
  };
  lent->dl_tensor = body_->tensor;
  return lent;
}

bool NDArray::is_compact() const {
  std::int64_t stride = 1;
  for (std::size_t i = shape().size(); i-- > 0;) {
    if (shape()[i] != 1 && strides()[i] != stride) return size() == 0;
    stride *= shape()[i];
  }
  return true;
}

std::int64_t NDArray::size() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape()) count *= extent;
  return count;
}

NDArray NDArray::with_layout(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                             std::int64_t element_offset) const {
  Body body = *body_;
  body.shape = std::move(shape);
  body.strides = std::move(strides);
  body.tensor.byte_offset +=
      static_cast<std::uint64_t>(element_offset * (dtype().bits * dtype().lanes / 8));
  return NDArray(std::move(body));
}

NDArray NDArray::view(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                      std::int64_t element_offset) const {
  require(shape.size() == strides.size(), ErrorKind::bounds, "stride_count",
          hint("pass one stride for each size"), {}, "view: has {} sizes and {} strides",
          shape.size(), strides.size());
  require(dtype().bits * dtype().lanes % 8 == 0, ErrorKind::type_mismatch, "view_of_packed",
          hint("copy what you need"), {}, "view: elements of {} are smaller than a byte",
          to_string(dtype()));
  // The elements that this array has, and that the view would have, as offsets from its own first
  // one.
  const auto reach = [](std::span<const std::int64_t> extents,
                        std::span<const std::int64_t> steps) {
    std::pair<std::int64_t, std::int64_t> range{0, 0};
    bool fits = true;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      std::int64_t step = 0;
      fits = fits && !__builtin_mul_overflow(extents[i] - 1, steps[i], &step);
      std::int64_t& end = step < 0 ? range.first : range.second;
      fits = fits && !__builtin_add_overflow(end, step, &end);
    }
    return fits ? range
                : std::pair{std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::int64_t>::max()};
  };
  if (count_elements(shape, dtype()) > 0) {
    const auto own = size() > 0 ? reach(this->shape(), this->strides())
                                : std::pair<std::int64_t, std::int64_t>{0, -1};
    const auto wanted = reach(shape, strides);
    std::int64_t first = 0;
    std::int64_t last = 0;
    const bool fits = !__builtin_add_overflow(element_offset, wanted.first, &first) &&
                      !__builtin_add_overflow(element_offset, wanted.second, &last);
    require(fits && first >= own.first && last <= own.second, ErrorKind::bounds, "view_is_inside",
            hint("make it smaller, or start it earlier"), {},
            "view: shape ({}), strides ({}) and offset {} reach outside of an array of shape ({})",
            fmt::join(shape, ", "), fmt::join(strides, ", "), element_offset,
            fmt::join(this->shape(), ", "));
  }
  return with_layout(std::move(shape), std::move(strides), element_offset);
}

NDArray NDArray::reshape(std::vector<std::int64_t> shape) const {
  require(is_compact(), ErrorKind::call, "reshape_of_compact", hint("copy it first"), {},
          "reshape: the array is not compact");
  require(count_elements(shape, dtype()) == size(), ErrorKind::bounds, "reshape_keeps_size",
          hint("the product of the sizes must stay"), {},
          "reshape: shape ({}) does not hold the {} elements of shape ({})", fmt::join(shape, ", "),
          size(), fmt::join(this->shape(), ", "));
  std::vector<std::int64_t> strides = compact_strides(shape);
  return with_layout(std::move(shape), std::move(strides), 0);
}

NDArray NDArray::slice(int dimension, std::int64_t begin, std::int64_t end) const {
  const auto rank = static_cast<int>(shape().size());
  require(dimension >= 0 && dimension < rank, ErrorKind::bounds, "dimension_exists",
          hint("count dimensions from 0"), {}, "slice: dimension {} of an array with {}", dimension,
          rank);
  const auto axis = static_cast<std::size_t>(dimension);
  require(begin >= 0 && begin <= end && end <= shape()[axis], ErrorKind::bounds, "slice_is_inside",
          hint("keep 0 <= begin <= end <= size"), {},
          "slice: {}:{} of dimension {}, whose size is {}", begin, end, dimension, shape()[axis]);
  std::vector<std::int64_t> shape = body_->shape;
  shape[axis] = end - begin;
  return view(std::move(shape), body_->strides, begin == end ? 0 : begin * strides()[axis]);
}

NDArray NDArray::as_read_only() const {
  Body body = *body_;
  body.is_read_only = true;
  return NDArray(std::move(body));
}

void NDArray::check_element_size(std::size_t size) const {
  require(static_cast<int>(size) * 8 == dtype().bits * dtype().lanes, ErrorKind::type_mismatch,
          "element_size", hint("use the C++ type of the array's dtype"), {},
          "array: elements of {} read as {} bytes each", to_string(dtype()), size);
}

}  // namespace loopsmith
