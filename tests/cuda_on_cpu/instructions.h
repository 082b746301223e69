// SPDX-License-Identifier: Apache-2.0
// Instructions that sources write as inline assembly: products of tensor cores, and barriers and
// tiles of the copy engine.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "fibers.h"

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

/// What a thread holds of a tile, as its warp takes it.
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
    cuda_on_cpu::wait(cuda_on_cpu::Wait::none);
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
