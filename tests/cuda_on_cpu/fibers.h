// SPDX-License-Identifier: Apache-2.0
// Blocks run one after the other; the threads of a block are fibers, which run in turns from one
// barrier to the next: forwards and backwards, so that what rests on their order gives another
// result. Lanes of a warp wait for each other where they exchange values.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

namespace cuda_on_cpu {

struct Index {
  unsigned x, y, z;
};

/// What a fiber waits for.
enum class Wait { none, warp, block };

constexpr std::size_t warp_size = 32;
constexpr std::size_t max_published_bytes = 16;

/// A copy into shared memory that was started. Until it is done the memory's contents are
/// undefined.
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
  /// What it gave to its warp, last and before: a fiber that has taken the one may give the next.
  alignas(16) unsigned char given[2][max_published_bytes];
  std::size_t publications;
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

inline void wait(Wait wait_kind) {
  fibers[current].waits = wait_kind;
  swapcontext(&fibers[current].context, &scheduler);
}

/// What the lane `lane` of a group of `width` lanes gives, when all lanes of the warp give.
template <class T>
T exchange(T value, int lane_from(int lane, int by, int width), int by, int width) {
  static_assert(sizeof(T) <= max_published_bytes);
  const std::size_t self = current;
  const std::size_t which = fibers[self].publications++ % 2;
  std::memcpy(fibers[self].given[which], &value, sizeof value);
  wait(Wait::warp);
  const int lane = static_cast<int>(self % warp_size) % width;
  const std::size_t from = self - lane + lane_from(lane, by, width);
  if (from < fibers.size()) std::memcpy(&value, fibers[from].given[which], sizeof value);
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
inline bool release(std::size_t begin, std::size_t end, Wait wait_kind) {
  if (!all(begin, end,
           [&](const Fiber& fiber) { return fiber.waits == wait_kind && !fiber.is_done; })) {
    return false;
  }
  for (std::size_t i = begin; i < end; ++i) fibers[i].waits = Wait::none;
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
    fiber.waits = Wait::none;
    fiber.publications = 0;
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
      if (fibers[current].is_done || fibers[current].waits != Wait::none) continue;
      thread = fibers[current].index;
      swapcontext(&scheduler, &fibers[current].context);
    }
    if (all(0, fibers.size(), [](const Fiber& fiber) { return fiber.is_done; })) return;
    bool goes_on = release(0, fibers.size(), Wait::block);
    for (std::size_t warp = 0; warp < fibers.size(); warp += warp_size) {
      goes_on |= release(warp, std::min(warp + warp_size, fibers.size()), Wait::warp);
    }
    // A fiber that asks for the phase of a barrier asks again, unless no fiber comes any more.
    asked_in_turn = goes_on ? 0 : asked_in_turn + 1;
    const bool asks = std::any_of(fibers.begin(), fibers.end(), [](const Fiber& fiber) {
      return fiber.waits == Wait::none && !fiber.is_done;
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
