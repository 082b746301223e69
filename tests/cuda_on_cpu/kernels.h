// SPDX-License-Identifier: Apache-2.0
// What kernels in CUDA C++ find on a processor. Blocks run one after the other; the threads of a
// block are fibers, which run in turns from one barrier to the next: forwards and backwards, so
// that what rests on their order gives another result. Lanes of a warp meet where they exchange
// values.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
/// Instructions that the source writes as inline assembly are at the end of this file.
#define LS_INSTRUCTIONS
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

/// A copy into shared memory that was started. Until it is done nobody knows what is there.
struct Copy {
  void* into;
  const void* from;
  std::size_t bytes;
  bool exists;
};

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  Index index;
  bool is_done;
  Wait waits;
  /// What it gave to its warp, last and before: who has taken the one may give the next.
  alignas(16) unsigned char given[2][largest_gift];
  std::size_t gifts;
  std::vector<Copy> started;             ///< And in no group yet.
  std::deque<std::vector<Copy>> groups;  ///< Under way.
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

/// Starts a copy, which reads and writes as late as it may.
inline void start_copy(void* into, const void* from, std::size_t bytes, bool exists) {
  if (reinterpret_cast<std::uintptr_t>(into) % bytes != 0 ||
      (exists && reinterpret_cast<std::uintptr_t>(from) % bytes != 0)) {
    std::fprintf(stderr, "cuda_on_cpu: a copy of %zu bytes is not aligned\n", bytes);
    std::abort();
  }
  std::memset(into, 0xCB, bytes);
  fibers[current].started.push_back({into, from, bytes, exists});
}

inline void commit_copies() {
  fibers[current].groups.push_back(std::move(fibers[current].started));
  fibers[current].started.clear();
}

inline void wait_for_copies(std::size_t under_way) {
  auto& groups = fibers[current].groups;
  for (; groups.size() > under_way; groups.pop_front()) {
    for (const Copy& copy : groups.front()) {
      if (copy.exists) std::memcpy(copy.into, copy.from, copy.bytes);
      if (!copy.exists) std::memset(copy.into, 0, copy.bytes);
    }
  }
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

void begin_barriers();

inline void run_block(const unsigned* size) {
  begin_barriers();
  constexpr std::size_t stack_bytes = 128 * 1024;
  fibers.resize(std::size_t(size[0]) * size[1] * size[2]);
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    Fiber& fiber = fibers[i];
    fiber.index = {unsigned(i % size[0]), unsigned(i / size[0] % size[1]),
                   unsigned(i / size[0] / size[1])};
    fiber.is_done = false;
    fiber.waits = Wait::nobody;
    fiber.gifts = 0;
    fiber.started.clear();
    fiber.groups.clear();
    fiber.stack.resize(stack_bytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
  }
  int asked_in_turn = 0;
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
    // Who asks for the phase of a barrier asks again, unless nobody comes any more.
    asked_in_turn = goes_on ? 0 : asked_in_turn + 1;
    const bool asks = std::any_of(fibers.begin(), fibers.end(), [](const Fiber& fiber) {
      return fiber.waits == Wait::nobody && !fiber.is_done;
    });
    if (!goes_on && (!asks || asked_in_turn > 4)) {
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
  pool.resize((shape[6] + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
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

namespace cuda_on_cpu {

inline float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024.0f + fraction, exponent - 25)
                          : std::ldexp(float(fraction), -24));
}
inline std::uint16_t to_half(float value) {
  const _Float16 half = static_cast<_Float16>(value);
  std::uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}
/// What is left of a number for tensor cores: 11 bits, to nearest, ties away from zero.
inline float to_tf32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x1000) & 0xFFFFE000;
  if (value == value) std::memcpy(&value, &bits, sizeof bits);
  return value;
}
inline float from_bfloat(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// What a thread holds of a tile, as a gift to its warp.
template <class T, std::size_t count>
struct Elements {
  T at[count];
};

/// results[r] += left * right of m16n8k16, of 32 bits m16n8k8, whose elements lie in the threads of
/// the warp as the PTX ISA says.
template <class T, class Sum, class Widen, class Narrow>
void multiply(Sum* results, const void* left, const void* right, Widen widen, Narrow narrow) {
  constexpr int steps = sizeof(T) == 4 ? 8 : 16, together = 4 / sizeof(T);
  const int lane = static_cast<int>(current % warp_size);
  Elements<T, steps / 2> a, of_row[4];
  Elements<T, steps / 4> b, of_column[2][4];
  std::memcpy(&a, left, sizeof a);
  std::memcpy(&b, right, sizeof b);
  const auto from = [](int, int by, int) { return by; };
  for (int q = 0; q < 4; ++q) of_row[q] = exchange(a, from, lane / 4 * 4 + q, int(warp_size));
  for (int c = 0; c < 2; ++c) {
    for (int q = 0; q < 4; ++q) {
      of_column[c][q] = exchange(b, from, (lane % 4 * 2 + c) * 4 + q, int(warp_size));
    }
  }
  for (int r = 0; r < 4; ++r) {
    for (int k = 0; k < steps; ++k) {
      const int part = k / (4 * together), q = k % (4 * together) / together;
      const int in_row = k % together + (r / 2 + part * 2) * together;
      const int in_column = k % together + part * together;
      const auto product = widen(of_row[q].at[in_row]) * widen(of_column[r % 2][q].at[in_column]);
      results[r] = narrow(results[r], product);
    }
  }
}

/// ldmatrix: each 8 lanes say where the rows of a matrix begin.
inline void load_matrices(void* into, const void* row, int count, bool is_transposed) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) {
    std::fprintf(stderr, "cuda_on_cpu: a row of a matrix is not aligned\n");
    std::abort();
  }
  const int lane = static_cast<int>(current % warp_size);
  const auto from = [](int, int by, int) { return by; };
  for (int m = 0; m < count; ++m) {
    for (int e = 0; e < 2; ++e) {
      const int asked = is_transposed ? lane % 4 * 2 + e : lane / 4;
      const int at = is_transposed ? lane / 4 : lane % 4 * 2 + e;
      const void* begin = exchange(row, from, m * 8 + asked, int(warp_size));
      std::memcpy(static_cast<std::uint16_t*>(into) + 2 * m + e,
                  static_cast<const std::uint16_t*>(begin) + at, sizeof(std::uint16_t));
    }
  }
}

}  // namespace cuda_on_cpu

inline void ls_mma_m16n8k16_fp16_fp32(void* results, const void* left, const void* right) {
  cuda_on_cpu::multiply<std::uint16_t>(static_cast<float*>(results), left, right,
                                       cuda_on_cpu::from_half,
                                       [](float sum, float product) { return sum + product; });
}
inline void ls_mma_m16n8k16_fp16_fp16(void* results, const void* left, const void* right) {
  cuda_on_cpu::multiply<std::uint16_t>(
      static_cast<std::uint16_t*>(results), left, right, cuda_on_cpu::from_half,
      [](std::uint16_t sum, float product) {
        return cuda_on_cpu::to_half(cuda_on_cpu::from_half(sum) + product);
      });
}
inline void ls_mma_m16n8k16_bf16_fp32(void* results, const void* left, const void* right) {
  cuda_on_cpu::multiply<std::uint16_t>(static_cast<float*>(results), left, right,
                                       cuda_on_cpu::from_bfloat,
                                       [](float sum, float product) { return sum + product; });
}
inline void ls_mma_m16n8k16_int8_int32(void* results, const void* left, const void* right) {
  cuda_on_cpu::multiply<std::int8_t>(
      static_cast<std::int32_t*>(results), left, right, [](std::int8_t x) { return int(x); },
      [](std::int32_t sum, int product) { return sum + product; });
}

inline void ls_mma_m16n8k8_tf32_fp32(void* results, const void* left, const void* right) {
  cuda_on_cpu::multiply<float>(static_cast<float*>(results), left, right, cuda_on_cpu::to_tf32,
                               [](float sum, float product) { return sum + product; });
}

namespace cuda_on_cpu {

/// Four products of bytes.
template <class Left, class Right>
int add_products(int left, int right, int sum) {
  for (int i = 0; i < 4; ++i) sum += Left(left >> 8 * i) * Right(right >> 8 * i);
  return sum;
}

}  // namespace cuda_on_cpu

inline int ls_dp4a_s8_s8(int left, int right, int sum) {
  return cuda_on_cpu::add_products<std::int8_t, std::int8_t>(left, right, sum);
}
inline int ls_dp4a_u8_u8(int left, int right, int sum) {
  return cuda_on_cpu::add_products<std::uint8_t, std::uint8_t>(left, right, sum);
}
inline int ls_dp4a_s8_u8(int left, int right, int sum) {
  return cuda_on_cpu::add_products<std::int8_t, std::uint8_t>(left, right, sum);
}
inline int ls_dp4a_u8_s8(int left, int right, int sum) {
  return cuda_on_cpu::add_products<std::uint8_t, std::int8_t>(left, right, sum);
}

namespace cuda_on_cpu {

/// An element of a tile in shared memory: rows of 128 bytes, whose parts of 16 bytes take turns by
/// the address of the row, `apart` bytes from one 64 columns to the next.
template <class T>
T swizzled_element(const void* tile, int row, int column, int apart) {
  const auto* begin = reinterpret_cast<const unsigned char*>(pool.data());
  std::size_t at = static_cast<const unsigned char*>(tile) - begin;
  at += std::size_t(column / 64) * apart + std::size_t(row) * 128 + column % 64 * sizeof(T);
  at ^= (at >> 7 & 7) << 4;
  T element;
  std::memcpy(&element, begin + at, sizeof element);
  return element;
}

/// results[r] += left * right of m64n...k64: this thread's of the 16 rows of its warp.
template <int columns, bool left_has_steps_last, bool right_has_steps_last, class Widen>
void multiply_from_shared(void* results, const void* left, const void* right, Widen widen) {
  constexpr int steps = 64, apart = steps * 128;
  using T = std::uint16_t;
  const int lane = static_cast<int>(current % warp_size);
  const int warp = static_cast<int>(current / warp_size % 4);
  for (int r = 0; r < columns / 2; ++r) {
    const int row = warp * 16 + lane / 4 + r / 2 % 2 * 8, column = lane % 4 * 2 + r % 2 + r / 4 * 8;
    float& sum = static_cast<float*>(results)[r];
    for (int k = 0; k < steps; ++k) {
      const T a = left_has_steps_last ? swizzled_element<T>(left, row, k, apart)
                                      : swizzled_element<T>(left, k, row, apart);
      const T b = right_has_steps_last ? swizzled_element<T>(right, column, k, apart)
                                       : swizzled_element<T>(right, k, column, apart);
      sum += widen(a) * widen(b);
    }
  }
}

}  // namespace cuda_on_cpu

inline void ls_fence_for_products() {}
inline void ls_wait_for_products(int) {}
inline void ls_finish_m64n64(void*) {}
inline void ls_finish_m64n128(void*) {}
inline void ls_finish_m64n256(void*) {}

namespace cuda_on_cpu {

/// What a barrier in shared memory stands for: the 64 bits there are its number.
struct Barrier {
  unsigned threads, missing;
  std::int64_t bytes;       ///< That were announced and have not come.
  unsigned phases;          ///< That are over.
  std::vector<Copy> tiles;  ///< Started, of this phase.
};
inline std::deque<Barrier> barriers;

inline void begin_barriers() {
  barriers.clear();
}

inline Barrier& barrier_at(void* barrier) {
  std::uint64_t number;
  std::memcpy(&number, barrier, sizeof number);
  if (number >= barriers.size()) {
    std::fprintf(stderr, "cuda_on_cpu: a barrier is used before it is made\n");
    std::abort();
  }
  return barriers[number];
}

/// Ends the phase of a barrier at which all threads have arrived, as late as it may: when somebody
/// asks. What was copied is there then.
inline bool ends_phase(Barrier& barrier) {
  if (barrier.missing > 0) return false;
  for (const Copy& copy : barrier.tiles) {
    std::memcpy(copy.into, copy.from, copy.bytes);
    barrier.bytes -= static_cast<std::int64_t>(copy.bytes);
  }
  barrier.tiles.clear();
  if (barrier.bytes != 0) {
    std::fprintf(stderr, "cuda_on_cpu: other bytes than a barrier was told of have come\n");
    std::abort();
  }
  barrier.missing = barrier.threads;
  ++barrier.phases;
  return true;
}

/// The map that `cuTensorMapEncodeTiled` of driver.cc writes.
struct TensorMap {
  std::uint64_t address, extents[5], strides[4];
  std::uint32_t box[5], rank;
};

/// Rows of 128 bytes, whose parts of 16 bytes take turns.
inline void copy_tile(void* into, std::int64_t map_address, void* barrier, unsigned bytes,
                      const int* place) {
  const TensorMap& map = *reinterpret_cast<const TensorMap*>(map_address);
  Barrier& counting = barrier_at(barrier);
  if (counting.phases > 0 && counting.missing == 0) ends_phase(counting);
  counting.bytes += bytes;
  auto* begin = static_cast<unsigned char*>(into);
  const std::size_t offset = begin - reinterpret_cast<unsigned char*>(pool.data());
  std::uint64_t index[5] = {};
  for (unsigned row = 0; row * 128 < bytes; ++row) {
    std::uint64_t from = map.address + place[0] * 2;
    for (unsigned d = 1; d < map.rank; ++d) from += (place[d] + index[d]) * map.strides[d - 1];
    for (unsigned part = 0; part < 8; ++part) {
      const std::size_t at = row * 128 + part * 16;
      const std::size_t turned = (offset + at) ^ (((offset + at) >> 7 & 7) << 4);
      void* to = reinterpret_cast<unsigned char*>(pool.data()) + turned;
      std::memset(to, 0xCB, 16);
      counting.tiles.push_back({to, reinterpret_cast<const void*>(from + part * 16), 16, true});
    }
    for (unsigned d = 1; d < map.rank && ++index[d] == map.box[d]; ++d) index[d] = 0;
  }
}

}  // namespace cuda_on_cpu

inline void ls_init_barrier(void* barrier, unsigned threads) {
  const std::uint64_t number = cuda_on_cpu::barriers.size();
  std::memcpy(barrier, &number, sizeof number);
  cuda_on_cpu::barriers.push_back({threads, threads, 0, 0, {}});
}
inline void ls_see_map(std::int64_t) {}
inline void ls_arrive_barrier(void* barrier) {
  cuda_on_cpu::Barrier& arrived = cuda_on_cpu::barrier_at(barrier);
  if (arrived.missing == 0) cuda_on_cpu::ends_phase(arrived);
  --arrived.missing;
}
inline void ls_wait_barrier(void* barrier, unsigned phase) {
  cuda_on_cpu::Barrier& waited = cuda_on_cpu::barrier_at(barrier);
  // The phase is over when the parity of the one at hand is the other.
  while (waited.phases % 2 == phase && !cuda_on_cpu::ends_phase(waited)) {
    cuda_on_cpu::wait(cuda_on_cpu::Wait::nobody);
  }
}
inline void ls_copy_tile_2d(void* into, std::int64_t map, void* barrier, unsigned bytes, int x,
                            int y) {
  const int place[] = {x, y};
  cuda_on_cpu::copy_tile(into, map, barrier, bytes, place);
}
inline void ls_copy_tile_3d(void* into, std::int64_t map, void* barrier, unsigned bytes, int x,
                            int y, int z) {
  const int place[] = {x, y, z};
  cuda_on_cpu::copy_tile(into, map, barrier, bytes, place);
}

#define LS_WARPGROUP_PRODUCT(columns, type, widen, left, right)                       \
  inline void ls_mma_m64n##columns##k64_##type##_fp32_##left##_##right(               \
      void* results, const void* a, const void* b) {                                  \
    constexpr bool rows = #left[0] == 'r', by_columns = #right[0] == 'c';             \
    cuda_on_cpu::multiply_from_shared<columns, rows, by_columns>(results, a, b,       \
                                                                 cuda_on_cpu::widen); \
  }
#define LS_WARPGROUP_PRODUCTS(columns)                       \
  LS_WARPGROUP_PRODUCT(columns, fp16, from_half, row, row)   \
  LS_WARPGROUP_PRODUCT(columns, fp16, from_half, row, col)   \
  LS_WARPGROUP_PRODUCT(columns, fp16, from_half, col, row)   \
  LS_WARPGROUP_PRODUCT(columns, fp16, from_half, col, col)   \
  LS_WARPGROUP_PRODUCT(columns, bf16, from_bfloat, row, row) \
  LS_WARPGROUP_PRODUCT(columns, bf16, from_bfloat, row, col) \
  LS_WARPGROUP_PRODUCT(columns, bf16, from_bfloat, col, row) \
  LS_WARPGROUP_PRODUCT(columns, bf16, from_bfloat, col, col)
LS_WARPGROUP_PRODUCTS(64)
LS_WARPGROUP_PRODUCTS(128)
LS_WARPGROUP_PRODUCTS(256)

inline void ls_load_matrix_x4(void* into, const void* row) {
  cuda_on_cpu::load_matrices(into, row, 4, false);
}
inline void ls_load_matrix_x4_trans(void* into, const void* row) {
  cuda_on_cpu::load_matrices(into, row, 4, true);
}
inline void ls_load_matrix_x2(void* into, const void* row) {
  cuda_on_cpu::load_matrices(into, row, 2, false);
}
