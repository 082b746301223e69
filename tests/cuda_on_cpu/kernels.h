// SPDX-License-Identifier: Apache-2.0
// What kernels in CUDA C++ find on a processor.
#pragma once
#include <utility>

#include "fibers.h"
#include "instructions.h"

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
/// Instructions that the source writes as inline assembly are in instructions.h.
#define LS_INSTRUCTIONS
#define LS_SHARED_POOL(name) \
  unsigned char* const name = reinterpret_cast<unsigned char*>(cuda_on_cpu::pool.data())

struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};

#define threadIdx (cuda_on_cpu::thread)
#define blockIdx (cuda_on_cpu::block)

inline void __syncthreads() {
  cuda_on_cpu::wait(cuda_on_cpu::Wait::block);
}
inline void __syncwarp() {
  cuda_on_cpu::wait(cuda_on_cpu::Wait::warp);
}
inline unsigned __activemask() {
  return 0xffffffffu;
}

template <class T>
T __shfl_sync(unsigned, T value, int lane, int width) {
  const auto from = [](int, int by, int lanes) { return by & (lanes - 1); };
  return cuda_on_cpu::exchange(value, from, lane, width);
}
template <class T>
T __shfl_up_sync(unsigned, T value, int by, int width) {
  const auto from = [](int lane, int by, int) { return lane >= by ? lane - by : lane; };
  return cuda_on_cpu::exchange(value, from, by, width);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int by, int width) {
  const auto from = [](int lane, int by, int lanes) {
    return lane + by < lanes ? lane + by : lane;
  };
  return cuda_on_cpu::exchange(value, from, by, width);
}

template <class T>
T atomicAdd(T* at, T value) {
  return std::exchange(*at, *at + value);
}
template <class T>
T atomicMin(T* at, T value) {
  return std::exchange(*at, value < *at ? value : *at);
}
template <class T>
T atomicMax(T* at, T value) {
  return std::exchange(*at, value > *at ? value : *at);
}
template <class T>
T atomicAnd(T* at, T value) {
  return std::exchange(*at, *at & value);
}
template <class T>
T atomicOr(T* at, T value) {
  return std::exchange(*at, *at | value);
}
template <class T>
T atomicXor(T* at, T value) {
  return std::exchange(*at, *at ^ value);
}

inline void ls_copy_async_4(void* into, const void* from, bool exists) {
  cuda_on_cpu::start_copy(into, from, 4, exists);
}
inline void ls_copy_async_8(void* into, const void* from, bool exists) {
  cuda_on_cpu::start_copy(into, from, 8, exists);
}
inline void ls_copy_async_16(void* into, const void* from, bool exists) {
  cuda_on_cpu::start_copy(into, from, 16, exists);
}
inline void ls_commit_copies() {
  cuda_on_cpu::commit_copies();
}
inline void ls_wait_for_copies(int under_way) {
  cuda_on_cpu::wait_for_copies(under_way);
}
