// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/c_abi.h"

#include <gtest/gtest.h>

#include <cstddef>

extern "C" int run_c_host(void);

namespace {

// What compiled code relies on. A change here is a new LS_ABI_VERSION.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80);
static_assert(sizeof(ls_argument) == 16 && offsetof(ls_argument, kind) == 8);
static_assert(sizeof(ls_extent) == 16 && sizeof(ls_parameter) == 48 && sizeof(ls_signature) == 48);
static_assert(sizeof(ls_error) == 48 && offsetof(ls_error, message) == 40);
static_assert(sizeof(ls_context) == 120 && offsetof(ls_context, parallel_for) == 8);
static_assert(offsetof(ls_context, allocate) == 24 && offsetof(ls_context, release) == 32);
static_assert(offsetof(ls_context, fail) == 48 && offsetof(ls_context, error) == 56);
static_assert(offsetof(ls_context, call_host) == 104);

TEST(c_abi, serves_hosts_and_kernels_in_plain_c) {
  EXPECT_EQ(run_c_host(), 0) << "the line in c_abi_test.c";
}

}  // namespace
