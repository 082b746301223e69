// SPDX-License-Identifier: Apache-2.0
// What kernels in CUDA C++ find on a processor. Blocks run one after the other; the threads of a
// block are fibers, which run in turns from one barrier to the next: forwards and backwards, so
// that what rests on their order gives another result.
#pragma once
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))

namespace cuda_on_cpu {

struct Index {
  unsigned x, y, z;
};

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  Index index;
  bool is_done;
};

inline Index thread, block;
inline std::vector<Fiber> fibers;
inline std::size_t current;
inline ucontext_t scheduler;
inline void (*kernel)(void**);
inline void** arguments;

inline void run_fiber() {
  kernel(arguments);
  fibers[current].is_done = true;
  swapcontext(&fibers[current].context, &scheduler);
}

inline void wait() {
  swapcontext(&fibers[current].context, &scheduler);
}

inline void run_block(const unsigned* size) {
  constexpr std::size_t stack_bytes = 128 * 1024;
  fibers.resize(std::size_t(size[0]) * size[1] * size[2]);
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    Fiber& fiber = fibers[i];
    fiber.index = {unsigned(i % size[0]), unsigned(i / size[0] % size[1]),
                   unsigned(i / size[0] / size[1])};
    fiber.is_done = false;
    fiber.stack.resize(stack_bytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (bool backwards = false;; backwards = !backwards) {
    std::size_t ended = 0;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      current = backwards ? fibers.size() - 1 - i : i;
      thread = fibers[current].index;
      swapcontext(&scheduler, &fibers[current].context);
      ended += fibers[current].is_done;
    }
    if (ended == fibers.size()) return;
    if (ended > 0) {
      std::fprintf(stderr, "cuda_on_cpu: some threads wait at a barrier, others have ended\n");
      std::abort();
    }
  }
}

template <class... Types, std::size_t... places>
void call(void (*function)(Types...), void** given, std::index_sequence<places...>) {
  function(*static_cast<std::remove_reference_t<Types>*>(given[places])...);
}

template <class... Types>
void call(void (*function)(Types...), void** given) {
  call(function, given, std::index_sequence_for<Types...>());
}

/// `shape`: blocks along x, y, z, then threads.
inline void launch(const unsigned* shape, void (*function)(void**), void** given) {
  kernel = function;
  arguments = given;
  for (block.z = 0; block.z < shape[2]; ++block.z) {
    for (block.y = 0; block.y < shape[1]; ++block.y) {
      for (block.x = 0; block.x < shape[0]; ++block.x) run_block(shape + 3);
    }
  }
}

}  // namespace cuda_on_cpu

struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};

#define threadIdx (cuda_on_cpu::thread)
#define blockIdx (cuda_on_cpu::block)

inline void __syncthreads() {
  cuda_on_cpu::wait();
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
