// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/dtype.h"

#include <gtest/gtest.h>

namespace loopsmith {
namespace {

TEST(dtype, is_written_as_in_the_script_language) {
  EXPECT_EQ(to_string(dtype::float32), "float32");
  EXPECT_EQ(to_string(dtype::bfloat16), "bfloat16");
  EXPECT_EQ(to_string(dtype::boolean), "bool");
  EXPECT_EQ(to_string(DLDataType{kDLUInt, 1, 8}), "uint1x8");
  EXPECT_EQ(to_string(DLDataType{kDLFloat8_e4m3fn, 8, 1}), "e4m3_float8");
  EXPECT_EQ(to_string(DLDataType{kDLFloat8_e5m2, 8, 4}), "e5m2_float8x4");
  EXPECT_EQ(to_string(DLDataType{kDLOpaqueHandle, 64, 1}), "handle");
  EXPECT_EQ(to_string(DLDataType{99, 8, 1}), "unknown8");
}

TEST(dtype, devices_have_names) {
  EXPECT_EQ(to_string(DLDevice{kDLCPU, 0}), "cpu");
  EXPECT_EQ(to_string(DLDevice{kDLCUDA, 1}), "cuda:1");
}

TEST(dtype, small_elements_are_packed) {
  EXPECT_EQ(size_in_bytes(dtype::float32, 3), 12);
  EXPECT_EQ(size_in_bytes(DLDataType{kDLUInt, 4, 1}, 3), 2);
  EXPECT_EQ(size_in_bytes(DLDataType{kDLUInt, 1, 1}, 9), 2);
}

}  // namespace
}  // namespace loopsmith
