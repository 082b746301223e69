// SPDX-License-Identifier: Apache-2.0

// ls_check_arguments: one pass over the parameters, without allocation or text when all is well.
#include <cstring>
#include <limits>
#include <memory>

#include "loopsmith/runtime/c_abi.h"

namespace {

/// The bytes that a tensor's elements lie in; 0 to 0 when it has none, which overlaps nothing.
struct ByteRange {
  std::uintptr_t begin;
  std::uintptr_t end;

  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};

template <class Pod>
std::int64_t bytes_of(const Pod& pod) {
  std::int64_t bytes = 0;
  static_assert(sizeof pod <= sizeof bytes);
  std::memcpy(&bytes, &pod, sizeof pod);
  return bytes;
}

/// Whether data on `device` is read and written by the processor as its own.
bool is_host(const DLDevice& device) {
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost ||
         device.device_type == kDLROCMHost || device.device_type == kDLCUDAManaged;
}

std::int64_t stride_of(const DLTensor& tensor, int dimension) {
  if (tensor.strides) return tensor.strides[dimension];
  std::int64_t compact = 1;
  for (int i = dimension + 1; i < tensor.ndim; ++i) compact *= tensor.shape[i];
  return compact;
}

/// Checks one call. The methods return whether all is well; else they have filled `error`.
class Checker {
 public:
  Checker(const ls_signature& signature, ls_error& error) : signature_(signature), error_(error) {}

  bool check(const ls_argument* arguments, std::int64_t count) {
    if (count != signature_.num_parameters) [[unlikely]] {
      return fail(LS_ARGUMENT_COUNT, -1, -1, signature_.num_parameters, count);
    }
    constexpr int few = 16;
    ByteRange near[few];
    std::unique_ptr<ByteRange[]> far;
    ByteRange* ranges = near;
    if (count > few) [[unlikely]] {
      far.reset(new ByteRange[static_cast<std::size_t>(count)]);
      ranges = far.get();
    }
    for (int i = 0; i < count; ++i) {
      ranges[i] = {0, 0};
      const bool good = signature_.parameters[i].kind == LS_TENSOR
                            ? check_tensor(i, arguments[i], ranges[i])
                            : check_scalar(i, arguments[i]);
      if (!good) [[unlikely]]
        return false;
    }
    return !signature_.noalias || check_aliases(ranges, static_cast<int>(count));
  }

 private:
  bool fail(ls_status code, int parameter, int dimension, std::int64_t expected,
            std::int64_t actual) {
    error_ = {code, parameter, dimension, &signature_, expected, actual, nullptr};
    return false;
  }

  bool check_tensor(int index, const ls_argument& argument, ByteRange& range) {
    const ls_parameter& parameter = signature_.parameters[index];
    if (argument.kind != LS_TENSOR) [[unlikely]] {
      return fail(LS_ARGUMENT_KIND, index, -1, LS_TENSOR, argument.kind);
    }
    if (!argument.value.as_tensor) [[unlikely]]
      return fail(LS_NULL_TENSOR, index, -1, 0, 0);
    const DLTensor& tensor = *argument.value.as_tensor;
    if (bytes_of(tensor.dtype) != bytes_of(parameter.dtype)) [[unlikely]] {
      return fail(LS_DTYPE, index, -1, bytes_of(parameter.dtype), bytes_of(tensor.dtype));
    }
    if (tensor.ndim != parameter.rank) [[unlikely]] {
      return fail(LS_RANK, index, -1, parameter.rank, tensor.ndim);
    }
    if (bytes_of(tensor.device) != bytes_of(signature_.device) &&
        !(is_host(tensor.device) && signature_.device.device_type == kDLCPU)) [[unlikely]] {
      return fail(LS_DEVICE, index, -1, bytes_of(signature_.device), bytes_of(tensor.device));
    }
    if (argument.read_only && parameter.writable) [[unlikely]] {
      return fail(LS_READ_ONLY, index, -1, 0, 0);
    }

    std::int64_t elements = 1;
    for (int i = 0; i < parameter.rank; ++i) {
      const std::int64_t extent = tensor.shape[i];
      if (extent < 0) [[unlikely]]
        return fail(LS_EXTENT_RANGE, index, i, most, extent);
      if (!check_extent(parameter.shape[i], LS_SHAPE, index, i, extent)) [[unlikely]]
        return false;
      if (__builtin_mul_overflow(elements, extent, &elements)) [[unlikely]] {
        return fail(LS_EXTENT_RANGE, index, -1, most, 0);
      }
    }
    std::int64_t bits = 0;
    if (__builtin_mul_overflow(elements, parameter.dtype.bits * parameter.dtype.lanes, &bits) ||
        bits > most - 7) [[unlikely]] {
      return fail(LS_EXTENT_RANGE, index, -1, most, 0);
    }

    if (elements == 0) return !parameter.strides || check_free_strides(index, tensor, nullptr);
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
    range = {address, address + static_cast<std::uintptr_t>((bits + 7) / 8)};
    const bool good = parameter.strides ? check_free_strides(index, tensor, &range)
                                        : check_compact_strides(index, tensor);
    if (!good) [[unlikely]]
      return false;
    if (!tensor.data) [[unlikely]]
      return fail(LS_NULL_DATA, index, -1, 0, elements);
    if ((address & static_cast<std::uintptr_t>(parameter.alignment - 1)) != 0) [[unlikely]] {
      return fail(LS_ALIGNMENT, index, -1, parameter.alignment, static_cast<std::int64_t>(address));
    }
    return true;
  }

  /// Checks an extent or a stride against what the signature says of it.
  bool check_extent(const ls_extent& rule, ls_status code, int index, int dimension,
                    std::int64_t actual) {
    std::int64_t expected = rule.value;
    if (rule.rule == LS_COMPUTED) return true;
    if (rule.rule == LS_BIND) {
      symbols_[rule.symbol] = actual;
      if (actual <= rule.value && actual >= -rule.value - 1) [[likely]]
        return true;
      if (code == LS_SHAPE) code = LS_EXTENT_RANGE;
    } else {
      if (rule.rule == LS_MATCH) expected = symbols_[rule.symbol];
      if (actual == expected) [[likely]]
        return true;
    }
    return fail(code, index, dimension, expected, actual);
  }

  /// Row-major without gaps. The stride of an extent 1 says nothing and may be anything.
  bool check_compact_strides(int index, const DLTensor& tensor) {
    if (!tensor.strides) return true;
    std::int64_t compact = 1;
    for (int i = tensor.ndim - 1; i >= 0; --i) {
      if (tensor.strides[i] != compact && tensor.shape[i] != 1) [[unlikely]] {
        return fail(LS_STRIDES, index, i, compact, tensor.strides[i]);
      }
      compact *= tensor.shape[i];
    }
    return true;
  }

  /// Strides that the signature names; `range` becomes all bytes from the first to the last
  /// element. It is null for an empty tensor, whose strides say nothing.
  bool check_free_strides(int index, const DLTensor& tensor, ByteRange* range) {
    const ls_parameter& parameter = signature_.parameters[index];
    std::int64_t first = 0;  // offsets in elements
    std::int64_t last = 0;
    for (int i = 0; i < tensor.ndim; ++i) {
      const std::int64_t stride = stride_of(tensor, i);
      const ls_extent& rule = parameter.strides[i];
      const bool says_nothing = (!range || tensor.shape[i] == 1) && rule.rule != LS_BIND;
      if (!says_nothing && !check_extent(rule, LS_STRIDES, index, i, stride)) [[unlikely]] {
        return false;
      }
      if (!range) continue;
      std::int64_t reach = 0;
      std::int64_t& end = stride < 0 ? first : last;
      if (__builtin_mul_overflow(tensor.shape[i] - 1, stride, &reach) ||
          __builtin_add_overflow(end, reach, &end)) [[unlikely]] {
        return fail(LS_EXTENT_RANGE, index, -1, most, 0);
      }
    }
    if (!range) return true;
    const std::int64_t bits = parameter.dtype.bits * parameter.dtype.lanes;
    const std::uintptr_t start = range->begin;
    range->begin = start + static_cast<std::uintptr_t>(first * bits / 8);
    range->end = start + static_cast<std::uintptr_t>(((last + 1) * bits + 7) / 8);
    return true;
  }

  bool check_scalar(int index, const ls_argument& argument) {
    const ls_parameter& parameter = signature_.parameters[index];
    const bool is_integer = parameter.kind == LS_INT || parameter.kind == LS_BOOL;
    const bool given_integer = argument.kind == LS_INT || argument.kind == LS_BOOL;
    if (argument.kind != parameter.kind && !(is_integer && given_integer)) [[unlikely]] {
      return fail(LS_ARGUMENT_KIND, index, -1, parameter.kind, argument.kind);
    }
    if (!is_integer) return true;
    const std::int64_t value = argument.value.as_int;
    const int bits = parameter.kind == LS_BOOL ? 1 : parameter.dtype.bits;
    const bool is_signed = parameter.kind == LS_INT && parameter.dtype.code == kDLInt;
    if (bits < 64 && (is_signed ? value >> (bits - 1) != value >> 63 : value >> bits != 0))
        [[unlikely]] {
      return fail(LS_SCALAR_RANGE, index, -1, bytes_of(parameter.dtype), value);
    }
    return !parameter.shape || check_extent(parameter.shape[0], LS_SHAPE, index, -1, value);
  }

  /// What is written overlaps nothing.
  bool check_aliases(const ByteRange* ranges, int count) {
    for (int i = 0; i < count; ++i) {
      if (!signature_.parameters[i].writable) continue;
      for (int j = 0; j < count; ++j) {
        if (i != j && ranges[i].overlaps(ranges[j])) [[unlikely]] {
          return fail(LS_ALIAS, i, -1, j, 0);
        }
      }
    }
    return true;
  }

  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

  const ls_signature& signature_;
  ls_error& error_;
  std::int64_t symbols_[LS_MAX_SYMBOLS];
};

}  // namespace

std::int32_t ls_check_arguments(const ls_signature* signature, const ls_argument* arguments,
                                std::int64_t count, ls_error* error) {
  Checker checker(*signature, *error);
  return checker.check(arguments, count) ? LS_OK : error->code;
}
