/* SPDX-License-Identifier: Apache-2.0 */

/* A host and a kernel in plain C; c_abi_test.cc runs them. */
#include "loopsmith/runtime/c_abi.h"

static int32_t add_one(void* closure, int64_t begin, int64_t end) {
  float* data = (float*)closure;
  for (int64_t i = begin; i < end; ++i) data[i] += 1.0f;
  return LS_OK;
}

/* A kernel as it is exported: adds 1 to each of n elements. */
static int32_t increment(ls_context* context, DLTensor* tensor, int64_t n) {
  if (!context) context = ls_default_context();
  if (tensor->ndim != 1 || tensor->shape[0] != n) {
    const ls_error error = {.code = LS_ASSERTION, .parameter = -1, .message = "n is the length"};
    return context->fail(context, &error);
  }
  float* data = (float*)((char*)tensor->data + tensor->byte_offset);
  return context->parallel_for(context->parallel_for_data, 0, n, add_one, data);
}

/* Returns 0, or the line at which something was not as it should be. */
int run_c_host(void) {
  float numbers[100] = {0};
  int64_t shape[1] = {100};
  DLTensor tensor = {.data = numbers,
                     .device = {kDLCPU, 0},
                     .ndim = 1,
                     .dtype = {kDLFloat, 32, 1},
                     .shape = shape};
  ls_context context;
  char text[40];

  ls_context_init(&context);
  if (increment(&context, &tensor, 100) != LS_OK) return __LINE__;
  if (increment(NULL, &tensor, 100) != LS_OK) return __LINE__;
  for (int i = 0; i < 100; ++i) {
    if (numbers[i] != 2.0f) return __LINE__;
  }
  if (increment(NULL, &tensor, 99) != LS_ASSERTION) return __LINE__;
  if (increment(&context, &tensor, 99) != LS_ASSERTION) return __LINE__;
  if (ls_error_text(&context.error, text, sizeof text) != 15) return __LINE__;
  return text[0] == 'n' ? 0 : __LINE__;
}
