// SPDX-License-Identifier: Apache-2.0
// Memory of nodes: each thread keeps lists of free cells by size, and gives what is too much of
// them to a reserve that all threads share, so that a thread which only drops nodes feeds one which
// only makes them. Nothing waits: the reserve is pushed to by compare-and-swap and taken whole.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "loopsmith/ir/cell_allocator.h"
#include "loopsmith/ir/ref.h"

namespace loopsmith {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooled = false;  // AddressSanitizer watches each node by itself
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif
#else
constexpr bool pooled = true;
#endif

constexpr std::size_t grain = 16;
constexpr std::size_t largest = 256;
constexpr std::size_t sizes = largest / grain;
constexpr std::uint32_t batch_cells = 64;

/// A free cell. The first one of a batch also leads to the next batch.
struct Cell {
  Cell* next;
  Cell* next_batch;
};
static_assert(sizeof(Cell) <= sizeof(Object));

/// The free cells of one size that a thread has at hand, and the batches it has beside them.
struct FreeCells {
  Cell* first;
  std::uint32_t count;
  Cell* batches;
};

constinit std::array<std::atomic<Cell*>, sizes> reserve{};
constinit thread_local std::array<FreeCells, sizes> free_cells{};

/// Where this thread's lists are. A library that is loaded late finds a variable of a thread by a
/// call, but for few bytes that are found as those of the program are.
#ifdef __ELF__
[[gnu::tls_model("initial-exec")]]
#endif
constinit thread_local FreeCells* cells_of_thread = nullptr;

FreeCells* own_cells() noexcept {
  if (!cells_of_thread) [[unlikely]]
    cells_of_thread = free_cells.data();
  return cells_of_thread;
}

/// Adds batches that hang together from `first` to `last` to the reserve.
void give(std::size_t size, Cell* first, Cell* last) noexcept {
  Cell* rest = reserve[size].load(std::memory_order_relaxed);
  do {
    last->next_batch = rest;
  } while (!reserve[size].compare_exchange_weak(rest, first, std::memory_order_release,
                                                std::memory_order_relaxed));
}

/// Gives all that a thread has to the reserve when the thread ends.
struct AtThreadEnd {
  ~AtThreadEnd() {
    for (std::size_t size = 0; size < sizes; ++size) {
      FreeCells& cells = free_cells[size];
      if (cells.first) {
        cells.first->next_batch = std::exchange(cells.batches, nullptr);
        cells.batches = std::exchange(cells.first, nullptr);
        cells.count = 0;
      }
      if (!cells.batches) continue;
      Cell* last = cells.batches;
      while (last->next_batch) last = last->next_batch;
      give(size, std::exchange(cells.batches, nullptr), last);
    }
  }
};

/// A batch of new cells, one after the other.
Cell* new_batch(std::size_t cell_bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(cell_bytes * batch_cells));
  Cell* next = nullptr;
  for (std::size_t k = batch_cells; k-- > 0;)
    next = new (memory + k * cell_bytes) Cell{next, nullptr};
  return next;
}

/// Takes a batch of the thread's own, else all of the reserve's, else makes one.
void refill(std::size_t size) {
  static thread_local AtThreadEnd at_thread_end;
  FreeCells& cells = free_cells[size];
  if (!cells.batches) cells.batches = reserve[size].exchange(nullptr, std::memory_order_acquire);
  if (!cells.batches) cells.batches = new_batch((size + 1) * grain);
  cells.first = cells.batches;
  cells.batches = cells.first->next_batch;
  cells.count = 0;  // of a batch that a thread's end gave, fewer
  for (const Cell* cell = cells.first; cell; cell = cell->next) ++cells.count;
}

/// Gives a batch of what the thread has at hand to the reserve.
void shed(std::size_t size, FreeCells& cells) noexcept {
  Cell* first = cells.first;
  Cell* last = first;
  for (std::uint32_t k = 1; k < batch_cells; ++k) last = last->next;
  cells.first = std::exchange(last->next, nullptr);
  cells.count -= batch_cells;
  give(size, first, first);
}

}  // namespace

void* take_cell(std::size_t bytes) {
  if (!pooled || bytes > largest) return ::operator new(bytes);
  const std::size_t size = (bytes - 1) / grain;
  FreeCells& cells = own_cells()[size];
  if (!cells.first) refill(size);
  Cell* cell = cells.first;
  cells.first = cell->next;
  --cells.count;
  return cell;
}

void give_cell(void* memory, std::size_t bytes) noexcept {
  if (!pooled || bytes > largest) return ::operator delete(memory);
  const std::size_t size = (bytes - 1) / grain;
  FreeCells& cells = own_cells()[size];
  cells.first = new (memory) Cell{cells.first, nullptr};
  if (++cells.count == 2 * batch_cells) shed(size, cells);
}

void* Object::operator new(std::size_t bytes) {
  return take_cell(bytes);
}

void Object::operator delete(void* memory, std::size_t bytes) noexcept {
  give_cell(memory, bytes);
}

}  // namespace loopsmith
