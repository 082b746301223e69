// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "loopsmith/runtime/argument.h"
#include "loopsmith/runtime/dtype.h"

namespace loopsmith {

/// An n-d array of numbers, shared between its copies and views.
class NDArray {
 public:
  /// What the data of new arrays is aligned to, in bytes.
  static constexpr std::int64_t alignment = 64;

  /// A compact array in the processor's memory, of any content.
  static NDArray empty(std::vector<std::int64_t> shape, DLDataType dtype = dtype::float32);
  /// A compact array in the memory of a device.
  static NDArray empty_on(DLDevice device, std::vector<std::int64_t> shape,
                          DLDataType dtype = dtype::float32);
  /// A compact copy in the memory of a device, or for the processor's in its memory. The array must
  /// be compact.
  NDArray copy_to(DLDevice device) const;
  /// The same, filled with zeros.
  static NDArray zeros(std::vector<std::int64_t> shape, DLDataType dtype = dtype::float32);
  /// An array that another library lends. Takes ownership of `lent`, also when it throws.
  static NDArray from_dlpack(DLManagedTensorVersioned* lent);
  static NDArray from_dlpack(DLManagedTensor* lent);

  /// Lends the array to another library, which calls the deleter when done.
  DLManagedTensorVersioned* to_dlpack() const;
  /// The same in the form before DLPack 1.0, which cannot say that an array is read-only: it must
  /// not be.
  DLManagedTensor* to_dlpack_unversioned() const;

  std::span<const std::int64_t> shape() const { return {body_->shape.data(), body_->shape.size()}; }
  /// In elements.
  std::span<const std::int64_t> strides() const {
    return {body_->strides.data(), body_->strides.size()};
  }
  DLDataType dtype() const { return body_->tensor.dtype; }
  DLDevice device() const { return body_->tensor.device; }
  bool is_read_only() const { return body_->is_read_only; }
  /// Row-major without gaps.
  bool is_compact() const;
  /// How many elements it has.
  std::int64_t size() const;

  /// Its first element. T must be as large as an element.
  template <class T>
  T* data() const {
    check_element_size(sizeof(T));
    return reinterpret_cast<T*>(static_cast<char*>(body_->tensor.data) + body_->tensor.byte_offset);
  }

  /// The same data with another shape, strides (in elements) and first element, all inside of this
  /// array.
  NDArray view(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
               std::int64_t element_offset = 0) const;
  /// The same elements in row-major order with another shape; the array must be compact.
  NDArray reshape(std::vector<std::int64_t> shape) const;
  /// Elements begin..end-1 of one dimension.
  NDArray slice(int dimension, std::int64_t begin, std::int64_t end) const;
  /// The same array, which functions refuse to write.
  NDArray as_read_only() const;

  const DLTensor& c_tensor() const { return body_->tensor; }
  /// For a call; the array must outlive it.
  operator CallArgument() const& { return {&body_->tensor, body_->is_read_only}; }
  operator CallArgument() const&& = delete;

 private:
  struct Body {
    DLTensor tensor{};
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    std::shared_ptr<const void> owner;
    bool is_read_only = false;
  };

  explicit NDArray(Body body);
  template <class Managed>
  static NDArray adopt(Managed* lent, bool is_read_only);
  NDArray with_layout(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                      std::int64_t element_offset) const;
  void check_element_size(std::size_t size) const;

  std::shared_ptr<Body> body_;
};

}  // namespace loopsmith
