// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "loopsmith/runtime/dlpack.h"

namespace loopsmith {

/// The element types that tensors have most often.
namespace dtype {
inline constexpr DLDataType int8{kDLInt, 8, 1}, int16{kDLInt, 16, 1}, int32{kDLInt, 32, 1},
    int64{kDLInt, 64, 1}, uint8{kDLUInt, 8, 1}, uint16{kDLUInt, 16, 1}, uint32{kDLUInt, 32, 1},
    uint64{kDLUInt, 64, 1}, float16{kDLFloat, 16, 1}, bfloat16{kDLBfloat, 16, 1},
    float32{kDLFloat, 32, 1}, float64{kDLFloat, 64, 1}, boolean{kDLBool, 8, 1};
}  // namespace dtype

inline bool is_same(const DLDataType& a, const DLDataType& b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// `float32`, `int8x4`, `bool`, ...: as the script language writes it.
std::string to_string(const DLDataType& type);

/// `cpu`, `cuda:1`, ...
std::string to_string(const DLDevice& device);

/// How many bytes `count` elements take; types below 8 bits are packed.
inline std::int64_t size_in_bytes(const DLDataType& type, std::int64_t count) {
  return (count * type.bits * type.lanes + 7) / 8;
}

}  // namespace loopsmith
