// SPDX-License-Identifier: Apache-2.0
// What kernels in CUDA C++ find on a processor. Blocks run one after the other; the threads of a
// block are fibers, which run in turns from one barrier to the next: forwards and backwards, so
// that what rests on their order gives another result. Lanes of a warp meet where they exchange
// values.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
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
#define LS_SHARED_POOL(name) \
  unsigned char* const name = reinterpret_cast<unsigned char*>(cuda_on_cpu::pool.data())

namespace cuda_on_cpu {

struct Index {
  unsigned x, y, z;
};

/// For whom a fiber waits.
enum class Wait { nobody, warp, block };

constexpr std::size_t warp_size = 32;
constexpr std::size_t largest_gift = 16;

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  Index index;
  bool is_done;
  Wait waits;
  /// What it gave to its warp, last and before: who has taken the one may give the next.
  alignas(16) unsigned char given[2][largest_gift];
  std::size_t gifts;
};

inline Index thread, block;
inline std::vector<std::max_align_t> pool;  ///< Shared memory whose size the launch gives.
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

inline void wait(Wait whom) {
  fibers[current].waits = whom;
  swapcontext(&fibers[current].context, &scheduler);
}

/// What the lane `lane` of a group of `width` lanes gives, when all lanes of the warp give.
template <class T>
T exchange(T value, int lane_from(int lane, int by, int width), int by, int width) {
  static_assert(sizeof(T) <= largest_gift);
  const std::size_t self = current;
  const std::size_t gift = fibers[self].gifts++ % 2;
  std::memcpy(fibers[self].given[gift], &value, sizeof value);
  wait(Wait::warp);
  const int lane = static_cast<int>(self % warp_size) % width;
  const std::size_t from = self - lane + lane_from(lane, by, width);
  if (from < fibers.size()) std::memcpy(&value, fibers[from].given[gift], sizeof value);
  return value;
}

template <class Holds>
bool all(std::size_t begin, std::size_t end, Holds holds) {
  return std::all_of(fibers.begin() + begin, fibers.begin() + end, holds);
}

/// Lets fibers go on that all wait for each other; false where they do not.
inline bool release(std::size_t begin, std::size_t end, Wait whom) {
  if (!all(begin, end, [&](const Fiber& fiber) { return fiber.waits == whom && !fiber.is_done; })) {
    return false;
  }
  for (std::size_t i = begin; i < end; ++i) fibers[i].waits = Wait::nobody;
  return true;
}

inline void run_block(const unsigned* size) {
  constexpr std::size_t stack_bytes = 128 * 1024;
  fibers.resize(std::size_t(size[0]) * size[1] * size[2]);
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    Fiber& fiber = fibers[i];
    fiber.index = {unsigned(i % size[0]), unsigned(i / size[0] % size[1]),
                   unsigned(i / size[0] / size[1])};
    fiber.is_done = false;
    fiber.waits = Wait::nobody;
    fiber.gifts = 0;
    fiber.stack.resize(stack_bytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (bool backwards = false;; backwards = !backwards) {
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      current = backwards ? fibers.size() - 1 - i : i;
      if (fibers[current].is_done || fibers[current].waits != Wait::nobody) continue;
      thread = fibers[current].index;
      swapcontext(&scheduler, &fibers[current].context);
    }
    if (all(0, fibers.size(), [](const Fiber& fiber) { return fiber.is_done; })) return;
    bool goes_on = release(0, fibers.size(), Wait::block);
    for (std::size_t warp = 0; warp < fibers.size(); warp += warp_size) {
      goes_on |= release(warp, std::min(warp + warp_size, fibers.size()), Wait::warp);
    }
    if (!goes_on) {
      std::fprintf(stderr, "cuda_on_cpu: some threads wait where others do not come by\n");
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

/// `shape`: blocks along x, y, z, then threads, then the bytes of shared memory.
inline void launch(const unsigned* shape, void (*function)(void**), void** given) {
  pool.resize(shape[6] / sizeof(std::max_align_t));
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
