/* SPDX-License-Identifier: Apache-2.0 */

/* ls_check_arguments: one pass over the parameters, without text when all is well. */
#include "loopsmith/runtime/c_abi.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifndef LS_RUNTIME_FUNCTION
#define LS_RUNTIME_FUNCTION
#endif
#define LS_MOST INT64_MAX
#define LS_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The bytes that a tensor's elements lie in; 0 to 0 when it has none, which overlaps nothing. */
typedef struct ls_byte_range {
  uintptr_t begin;
  uintptr_t end;
} ls_byte_range;

/* One call that is checked. Its functions return whether all is well; else they filled `error`. */
typedef struct ls_checker {
  const ls_signature* signature;
  ls_error* error;
  int64_t symbols[LS_MAX_SYMBOLS];
} ls_checker;

static int64_t ls_dtype_bytes(DLDataType dtype) {
  int64_t bytes = 0;
  memcpy(&bytes, &dtype, sizeof dtype);
  return bytes;
}

static int64_t ls_device_bytes(DLDevice device) {
  int64_t bytes = 0;
  memcpy(&bytes, &device, sizeof device);
  return bytes;
}

/* Whether data on `device` is read and written by the processor as its own. */
static bool ls_is_host(DLDevice device) {
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost ||
         device.device_type == kDLROCMHost || device.device_type == kDLCUDAManaged;
}

static int64_t ls_stride_of(const DLTensor* tensor, int dimension) {
  int64_t compact = 1;
  if (tensor->strides) return tensor->strides[dimension];
  for (int i = dimension + 1; i < tensor->ndim; ++i) compact *= tensor->shape[i];
  return compact;
}

static bool ls_refuse(ls_checker* self, int32_t code, int parameter, int dimension,
                      int64_t expected, int64_t actual) {
  const ls_error error = {code,     parameter, dimension, self->signature,
                          expected, actual,    NULL};
  *self->error = error;
  return false;
}

/* Checks an extent or a stride against what the signature says of it. */
static bool ls_check_extent(ls_checker* self, const ls_extent* rule, int32_t code, int index,
                            int dimension, int64_t actual) {
  int64_t expected = rule->value;
  if (rule->rule == LS_COMPUTED) return true;
  if (rule->rule == LS_BIND) {
    self->symbols[rule->symbol] = actual;
    if (actual <= rule->value && actual >= -rule->value - 1) return true;
    if (code == LS_SHAPE) code = LS_EXTENT_RANGE;
  } else {
    if (rule->rule == LS_MATCH) expected = self->symbols[rule->symbol];
    if (actual == expected) return true;
  }
  return ls_refuse(self, code, index, dimension, expected, actual);
}

/* Row-major without gaps. The stride of an extent 1 says nothing and may be anything. */
static bool ls_check_compact_strides(ls_checker* self, int index, const DLTensor* tensor) {
  int64_t compact = 1;
  if (!tensor->strides) return true;
  for (int i = tensor->ndim - 1; i >= 0; --i) {
    if (LS_UNLIKELY(tensor->strides[i] != compact && tensor->shape[i] != 1)) {
      return ls_refuse(self, LS_STRIDES, index, i, compact, tensor->strides[i]);
    }
    compact *= tensor->shape[i];
  }
  return true;
}

/* Strides that the signature names; `range` becomes all bytes from the first to the last element.
 * It is NULL for an empty tensor, whose strides say nothing. */
static bool ls_check_free_strides(ls_checker* self, int index, const DLTensor* tensor,
                                  ls_byte_range* range) {
  const ls_parameter* parameter = &self->signature->parameters[index];
  int64_t first = 0, last = 0; /* offsets in elements */
  for (int i = 0; i < tensor->ndim; ++i) {
    const int64_t stride = ls_stride_of(tensor, i);
    const ls_extent* rule = &parameter->strides[i];
    const bool says_nothing = (!range || tensor->shape[i] == 1) && rule->rule != LS_BIND;
    int64_t* const end = stride < 0 ? &first : &last;
    int64_t reach = 0;
    if (!says_nothing && !ls_check_extent(self, rule, LS_STRIDES, index, i, stride)) return false;
    if (!range) continue;
    if (LS_UNLIKELY(__builtin_mul_overflow(tensor->shape[i] - 1, stride, &reach) ||
                    __builtin_add_overflow(*end, reach, end))) {
      return ls_refuse(self, LS_EXTENT_RANGE, index, -1, LS_MOST, 0);
    }
  }
  if (range) {
    const int64_t bits = parameter->dtype.bits * parameter->dtype.lanes;
    const uintptr_t start = range->begin;
    range->begin = start + (uintptr_t)(first * bits / 8);
    range->end = start + (uintptr_t)(((last + 1) * bits + 7) / 8);
  }
  return true;
}

static bool ls_check_tensor(ls_checker* self, int index, const ls_argument* argument,
                            ls_byte_range* range) {
  const ls_signature* signature = self->signature;
  const ls_parameter* parameter = &signature->parameters[index];
  const DLTensor* tensor = argument->value.as_tensor;
  int64_t elements = 1, bits = 0;
  uintptr_t address;
  bool good;
  if (LS_UNLIKELY(argument->kind != LS_TENSOR)) {
    return ls_refuse(self, LS_ARGUMENT_KIND, index, -1, LS_TENSOR, argument->kind);
  }
  if (LS_UNLIKELY(!tensor)) return ls_refuse(self, LS_NULL_TENSOR, index, -1, 0, 0);
  if (LS_UNLIKELY(ls_dtype_bytes(tensor->dtype) != ls_dtype_bytes(parameter->dtype))) {
    return ls_refuse(self, LS_DTYPE, index, -1, ls_dtype_bytes(parameter->dtype),
                     ls_dtype_bytes(tensor->dtype));
  }
  if (LS_UNLIKELY(tensor->ndim != parameter->rank)) {
    return ls_refuse(self, LS_RANK, index, -1, parameter->rank, tensor->ndim);
  }
  if (LS_UNLIKELY(ls_device_bytes(tensor->device) != ls_device_bytes(signature->device) &&
                  !(ls_is_host(tensor->device) && signature->device.device_type == kDLCPU))) {
    return ls_refuse(self, LS_DEVICE, index, -1, ls_device_bytes(signature->device),
                     ls_device_bytes(tensor->device));
  }
  if (LS_UNLIKELY(argument->read_only && parameter->writable)) {
    return ls_refuse(self, LS_READ_ONLY, index, -1, 0, 0);
  }
  for (int i = 0; i < parameter->rank; ++i) {
    const int64_t extent = tensor->shape[i];
    if (LS_UNLIKELY(extent < 0)) {
      return ls_refuse(self, LS_EXTENT_RANGE, index, i, LS_MOST, extent);
    }
    if (!ls_check_extent(self, &parameter->shape[i], LS_SHAPE, index, i, extent)) return false;
    if (LS_UNLIKELY(__builtin_mul_overflow(elements, extent, &elements))) {
      return ls_refuse(self, LS_EXTENT_RANGE, index, -1, LS_MOST, 0);
    }
  }
  if (LS_UNLIKELY(
          __builtin_mul_overflow(elements, parameter->dtype.bits * parameter->dtype.lanes, &bits) ||
          bits > LS_MOST - 7)) {
    return ls_refuse(self, LS_EXTENT_RANGE, index, -1, LS_MOST, 0);
  }
  if (elements == 0) {
    return !parameter->strides || ls_check_free_strides(self, index, tensor, NULL);
  }
  address = (uintptr_t)tensor->data + tensor->byte_offset;
  range->begin = address;
  range->end = address + (uintptr_t)((bits + 7) / 8);
  good = parameter->strides ? ls_check_free_strides(self, index, tensor, range)
                            : ls_check_compact_strides(self, index, tensor);
  if (!good) return false;
  if (LS_UNLIKELY(!tensor->data)) return ls_refuse(self, LS_NULL_DATA, index, -1, 0, elements);
  if (LS_UNLIKELY((address & (uintptr_t)(parameter->alignment - 1)) != 0)) {
    return ls_refuse(self, LS_ALIGNMENT, index, -1, parameter->alignment, (int64_t)address);
  }
  return true;
}

static bool ls_check_scalar(ls_checker* self, int index, const ls_argument* argument) {
  const ls_parameter* parameter = &self->signature->parameters[index];
  const bool is_integer = parameter->kind == LS_INT || parameter->kind == LS_BOOL;
  const bool given_integer = argument->kind == LS_INT || argument->kind == LS_BOOL;
  const int64_t value = argument->value.as_int;
  const int bits = parameter->kind == LS_BOOL ? 1 : parameter->dtype.bits;
  const bool is_signed = parameter->kind == LS_INT && parameter->dtype.code == kDLInt;
  if (LS_UNLIKELY(argument->kind != parameter->kind && !(is_integer && given_integer))) {
    return ls_refuse(self, LS_ARGUMENT_KIND, index, -1, parameter->kind, argument->kind);
  }
  if (!is_integer) return true;
  if (LS_UNLIKELY(bits < 64 &&
                  (is_signed ? value >> (bits - 1) != value >> 63 : value >> bits != 0))) {
    return ls_refuse(self, LS_SCALAR_RANGE, index, -1, ls_dtype_bytes(parameter->dtype), value);
  }
  return !parameter->shape || ls_check_extent(self, parameter->shape, LS_SHAPE, index, -1, value);
}

/* What is written overlaps nothing. */
static bool ls_check_aliases(ls_checker* self, const ls_byte_range* ranges, int count) {
  for (int i = 0; i < count; ++i) {
    if (!self->signature->parameters[i].writable) continue;
    for (int j = 0; j < count; ++j) {
      const bool overlap = ranges[i].begin < ranges[j].end && ranges[j].begin < ranges[i].end;
      if (LS_UNLIKELY(i != j && overlap)) return ls_refuse(self, LS_ALIAS, i, -1, j, 0);
    }
  }
  return true;
}

LS_RUNTIME_FUNCTION int32_t ls_check_arguments(const ls_signature* signature,
                                               const ls_argument* arguments, int64_t count,
                                               ls_error* error) {
  enum { few = 16 };
  ls_byte_range near[few];
  ls_byte_range* ranges = near;
  ls_checker self;
  bool good = true;
  self.signature = signature;
  self.error = error;
  if (LS_UNLIKELY(count != signature->num_parameters)) {
    ls_refuse(&self, LS_ARGUMENT_COUNT, -1, -1, signature->num_parameters, count);
    return error->code;
  }
  if (LS_UNLIKELY(count > few)) {
    ranges = (ls_byte_range*)malloc((size_t)count * sizeof *ranges);
    if (!ranges) {
      ls_refuse(&self, LS_OUT_OF_MEMORY, -1, -1, count * (int64_t)sizeof *ranges, 0);
      return error->code;
    }
  }
  for (int i = 0; good && i < count; ++i) {
    ranges[i].begin = ranges[i].end = 0;
    good = signature->parameters[i].kind == LS_TENSOR
               ? ls_check_tensor(&self, i, &arguments[i], &ranges[i])
               : ls_check_scalar(&self, i, &arguments[i]);
  }
  if (good && signature->noalias) good = ls_check_aliases(&self, ranges, (int)count);
  if (ranges != near) free(ranges);
  return good ? LS_OK : error->code;
}
