// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/thread_team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include "loopsmith/runtime/park.h"
#include "loopsmith/runtime/wake_placement.h"

namespace loopsmith::detail {
namespace {

using Clock = std::chrono::steady_clock;

/// So many loops of hosts, and as many inside others, are shared at once; more run on their callers
/// alone.
constexpr int slots_per_level = 16;
constexpr int first_nested_slot = slots_per_level;

/// A slot's state is the number of helpers inside, whether more may join, and whether the caller
/// sleeps on it.
constexpr std::uint32_t open_bit = 1U << 31;
constexpr std::uint32_t sleep_bit = 1U << 30;
constexpr std::uint32_t helpers_mask = sleep_bit - 1;

/// More chunks spread load better, fewer cost less.
constexpr int max_chunks_per_part = 4;

constexpr int no_root = -1;
constexpr int caller = 0;  ///< Stands for the number of a worker where none is meant.

/// The innermost loop that the calling thread is in: of which team, and under which host's slot.
struct Here {
  const Team* team;
  int root;
};
thread_local constinit Here here{nullptr, no_root};

struct HereScope {
  explicit HereScope(Here inner) : outer(std::exchange(here, inner)) {}
  ~HereScope() { here = outer; }
  Here outer;
};

/// Waits a moment, longer moments later: pauses, and says when the time for pausing is over.
class Spin {
 public:
  explicit Spin(std::chrono::nanoseconds limit) : limit_(limit) {}

  bool over() {
    pause_cpu();
    if (++rounds_ % 64 != 0) return false;  // reading the clock takes as long as two pauses
    const auto now = Clock::now();
    if (rounds_ == 64) start_ = now;
    return now - start_ >= limit_;
  }
  void restart() { rounds_ = 0; }

 private:
  std::chrono::nanoseconds limit_;
  std::uint32_t rounds_ = 0;
  Clock::time_point start_;
};

}  // namespace

/// A place for one running loop. The fields of the loop are written while the slot is taken and not
/// open, and read by workers that joined while it was open.
struct alignas(64) Team::Slot {
  // All that a helper needs, in one cache line for one transfer.
  std::atomic<std::uint32_t> state{0};
  std::uint16_t num_parts = 0;
  std::uint8_t chunks_per_part = 0;
  std::atomic<bool> exhausted{false};  ///< No chunk is left to begin, or a body failed.
  Loop loop{};
  std::uint64_t number = 0;  ///< Counts the loops that this slot has run.
  /// How far the first parts are; the others follow in `more_parts`. It is the number of the loop
  /// that it counts for, then the next chunk: a count for an older loop reads as 0, so that opening
  /// a loop accesses none.
  std::atomic<std::uint64_t> parts[2]{};

  // What only the caller accesses, mostly.
  alignas(64) std::unique_ptr<std::atomic<std::uint64_t>[]> more_parts;
  std::atomic<bool> taken{false};
  std::atomic<bool> caller_waits{false};
  std::atomic<int> nested_in{
      no_root};  ///< For a nested loop: the slot of the host's loop around it.
  std::atomic<std::int32_t> status{LS_OK};
  std::exception_ptr exception;

  /// The next chunk of a part, for this thread alone; -1 when there is none.
  int claim(int part) {
    std::atomic<std::uint64_t>& claimed = part < 2 ? parts[part] : more_parts[part - 2];
    std::uint64_t seen = claimed.load(std::memory_order_relaxed);
    while (true) {
      const int next = (seen >> 8) == number ? static_cast<int>(seen & 0xff) : 0;
      if (next >= chunks_per_part) return -1;
      const std::uint64_t after = number << 8 | static_cast<std::uint64_t>(next + 1);
      if (claimed.compare_exchange_weak(seen, after, std::memory_order_relaxed)) return next;
    }
  }
};

struct alignas(64) Team::Worker {
  std::atomic<bool> busy{false};
  WakePlacement placement;
};

Team::Team(int num_threads, std::vector<int> affinity, std::chrono::nanoseconds spin,
           std::uint64_t process)
    : process(process),
      num_threads_(num_threads),
      affinity_(std::move(affinity)),
      spin_(spin),
      slots_(new Slot[2 * slots_per_level]),
      workers_(new Worker[static_cast<std::size_t>(num_threads)]) {}

Team::~Team() {
  stop();
}

void Team::start() {
  sigset_t all, before;  // signals are for the host's own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (int worker = 1; worker < num_threads_; ++worker) {
      threads_.emplace_back([this, worker] { work_until_stopped(worker); });
    }
  } catch (const std::system_error&) {
    // Those that did start are enough: no thread waits for a worker that has not joined.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Team::stop() {
  stopped_.store(
      true);  // before the count: a thread that loads the count as it is now sees this, too
  wakes_.fetch_add(1);
  sleepers_.fetch_sub(unpark(wakes_, INT_MAX));
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::int32_t Team::run(std::int64_t begin, std::int64_t end, ls_body body, void* closure) {
  if (begin >= end) return LS_OK;
  const std::uint64_t extent = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  const auto pieces = static_cast<std::uint64_t>(num_threads_) * max_chunks_per_part;
  const std::uint64_t piece = num_threads_ == 1 ? extent : (extent + pieces - 1) / pieces;
  const bool nested = here.team == this;
  while (true) {
    const std::uint64_t left = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    if (left > 1 && num_threads_ > 1 && is_worth_sharing(nested)) {
      if (Slot* slot = acquire(nested)) return share(*slot, {begin, end, body, closure});
    }
    const auto stop =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + std::min(piece, left));
    const HereScope scope(nested ? here : Here{this, no_root});
    const std::int32_t status = body(closure, begin, stop);
    if (status != LS_OK || stop == end) return status;
    begin = stop;
  }
}

/// The slot of the host's loop that the loop in `slot` is inside, or is.
int Team::root_of(const Slot& slot) const {
  const auto index = static_cast<int>(&slot - slots_.get());
  return index < first_nested_slot ? index : slot.nested_in.load(std::memory_order_relaxed);
}

int Team::num_hosts() const {
  int count = 0;
  const int slots = num_host_slots_.load();
  for (int i = 0; i < slots; ++i) {
    count += (slots_[i].state.load() & open_bit) != 0;
  }
  return count;
}

/// A host shares its loop, also to be counted, unless there are hosts enough for all processors.
bool Team::is_worth_sharing(bool nested) const {
  const int hosts = num_hosts();
  if (!nested) return hosts < num_threads_;
  if (here.root != no_root && slots_[here.root].caller_waits.load(std::memory_order_relaxed)) {
    return true;
  }
  // Looks at a few workers at a time, others next time: this runs before each chunk.
  thread_local constinit unsigned turn = 0;
  const int candidates = std::min(num_threads_ - 1, num_threads_ - hosts);
  for (int i = 0; i < std::min(candidates, 8); ++i) {
    const int worker = 1 + static_cast<int>(turn++ % static_cast<unsigned>(candidates));
    if (!workers_[worker].busy.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

Team::Slot* Team::acquire(bool nested) {
  const int first = nested ? first_nested_slot : 0;
  std::atomic<int>& num_slots = nested ? num_nested_slots_ : num_host_slots_;
  for (int i = 0; i < slots_per_level; ++i) {
    Slot& slot = slots_[first + i];
    if (slot.taken.load(std::memory_order_relaxed)) continue;
    if (slot.taken.exchange(true, std::memory_order_acquire)) continue;
    if (!slot.more_parts) slot.more_parts.reset(new std::atomic<std::uint64_t>[num_threads_]());
    if (nested) slot.nested_in.store(here.root, std::memory_order_relaxed);
    int seen = num_slots.load();
    while (seen < i + 1 && !num_slots.compare_exchange_weak(seen, i + 1)) {
    }
    return &slot;
  }
  return nullptr;
}

std::int32_t Team::share(Slot& slot, const Loop& loop) {
  const std::uint64_t extent =
      static_cast<std::uint64_t>(loop.end) - static_cast<std::uint64_t>(loop.begin);
  const auto parts = std::min(extent, static_cast<std::uint64_t>(num_threads_));
  const auto max_chunks = static_cast<std::uint64_t>(max_chunks_per_part);
  slot.loop = loop;
  slot.number += 1;
  slot.num_parts = static_cast<std::uint16_t>(parts);
  slot.chunks_per_part = static_cast<std::uint8_t>(std::min((extent - 1) / parts + 1, max_chunks));
  slot.status.store(LS_OK, std::memory_order_relaxed);
  slot.exhausted.store(false, std::memory_order_relaxed);

  slot.parts[0].store(slot.number << 8 | 1, std::memory_order_relaxed);  // the caller's first chunk

  slot.state.fetch_or(open_bit);
  if (here.team != this) note_host_cpu();
  wake_workers(std::min(slot.num_parts - 1, 2));  // each of them wakes two more
  // With one chunk left there is nothing to share: closing the slot first saves a transfer of its
  // line.
  const bool one_is_left = parts == 2 && slot.chunks_per_part == 1;
  const HereScope scope({this, root_of(slot)});
  run_chunk(slot, 0, 0);
  if (!one_is_left) work(slot, caller);
  const std::uint32_t helpers = slot.state.fetch_and(~open_bit) & helpers_mask;
  if (one_is_left && !slot.exhausted.load(std::memory_order_relaxed) && slot.claim(1) == 0) {
    run_chunk(slot, 1, 0);
  }
  if (helpers != 0) wait_for_helpers(slot);

  const std::int32_t status = slot.status.load(std::memory_order_relaxed);
  std::exception_ptr exception;
  if (status != LS_OK) exception = std::exchange(slot.exception, nullptr);
  slot.taken.store(false, std::memory_order_release);
  if (exception) std::rethrow_exception(exception);
  return status;
}

/// Runs chunks until none is left, or until this worker's processor is needed by a host.
void Team::work(Slot& slot, int worker) {
  if (worker != caller && slot.num_parts > 2) wake_workers(2);
  int part = worker % slot.num_parts;
  for (int i = 0; i < slot.num_parts; ++i) {
    while (!slot.exhausted.load(std::memory_order_relaxed)) {
      const int chunk = slot.claim(part);
      if (chunk < 0) break;
      run_chunk(slot, part, chunk);
      if (worker != caller) {
        if (!may_work(worker)) return;
      } else if (const int refused = refused_.load();
                 refused != none_refused && may_work(refused)) {
        refused_.store(none_refused);
        wake_workers(INT_MAX);  // the processor of a host that left is free
      }
    }
    part = part + 1 == slot.num_parts ? 0 : part + 1;
  }
  if (worker != caller && slot.num_parts > 2) slot.exhausted.store(true, std::memory_order_relaxed);
}

void Team::run_chunk(Slot& slot, int part, int chunk) {
  // The first of `count` nearly equal pieces of 0..extent-1, without overflow.
  const auto piece = [](std::uint64_t extent, std::uint64_t count, std::uint64_t i) {
    return extent / count * i + std::min(extent % count, i);
  };
  const Loop& loop = slot.loop;
  const auto begin = static_cast<std::uint64_t>(loop.begin);
  const std::uint64_t extent = static_cast<std::uint64_t>(loop.end) - begin;
  const auto parts = static_cast<std::uint64_t>(slot.num_parts);
  const auto index = static_cast<std::uint64_t>(part);
  const std::uint64_t part_begin = piece(extent, parts, index);
  const std::uint64_t part_extent = piece(extent, parts, index + 1) - part_begin;
  const auto chunks = static_cast<std::uint64_t>(slot.chunks_per_part);
  const auto step = static_cast<std::uint64_t>(chunk);
  const std::uint64_t from = part_begin + piece(part_extent, chunks, step);
  const std::uint64_t to = part_begin + piece(part_extent, chunks, step + 1);
  if (from == to) return;

  std::int32_t status = LS_OK;
  std::exception_ptr exception;
  try {
    status = loop.body(loop.closure, static_cast<std::int64_t>(begin + from),
                       static_cast<std::int64_t>(begin + to));
  } catch (...) {
    status = LS_EXCEPTION;
    exception = std::current_exception();
  }
  if (status == LS_OK) [[likely]]
    return;
  std::int32_t none = LS_OK;
  if (slot.status.compare_exchange_strong(none, status)) slot.exception = std::move(exception);
  slot.exhausted.store(true, std::memory_order_relaxed);
}

bool Team::help_any(int worker) {
  const bool helped = help(0, num_host_slots_.load(), worker, no_root);
  return help(first_nested_slot, num_nested_slots_.load(), worker, no_root) || helped;
}

/// Joins open loops in some slots, only those under host slot `root` unless that is `no_root`.
bool Team::help(int first_slot, int num_slots, int worker, int root) {
  bool helped = false;
  for (int i = first_slot; i < first_slot + num_slots; ++i) {
    Slot& slot = slots_[i];
    if ((slot.state.load() & open_bit) == 0) continue;
    if (slot.exhausted.load(std::memory_order_relaxed)) continue;
    const auto is_wanted = [&] { return root == no_root || root_of(slot) == root; };
    if (!is_wanted()) continue;
    if (worker != caller && !may_work(worker)) {
      note_refused(worker);
      if (!may_work(worker)) return helped;  // a host that left before could not be told
    }
    // From here on the slot keeps its loop, which may be a later one under another root.
    if ((slot.state.fetch_add(1) & open_bit) != 0 && is_wanted()) {
      const HereScope scope({this, root_of(slot)});
      if (worker != caller) workers_[worker].busy.store(true, std::memory_order_relaxed);
      work(slot, worker);
      if (worker != caller) workers_[worker].busy.store(false, std::memory_order_relaxed);
      helped = true;
    }
    leave(slot);
  }
  return helped;
}

void Team::leave(Slot& slot) {
  if (slot.state.fetch_sub(1) == (sleep_bit | 1)) unpark(slot.state, 1);
}

/// Waits until no helper is inside; meanwhile it helps with the loops that they have opened.
void Team::wait_for_helpers(Slot& slot) {
  const auto has_helpers = [&] { return (slot.state.load() & helpers_mask) != 0; };
  for (int i = 0; i < 64; ++i) {
    if (!has_helpers()) return;
    pause_cpu();
  }
  slot.caller_waits.store(true, std::memory_order_relaxed);
  const int root = root_of(slot);
  Spin spin(spin_);
  const auto help_inside = [&] {
    return root != no_root && help(first_nested_slot, num_nested_slots_.load(), caller, root);
  };
  while (has_helpers()) {
    if (help_inside()) {
      spin.restart();
    } else if (spin.over()) {
      const std::uint32_t state = slot.state.fetch_or(sleep_bit) | sleep_bit;
      // A loop that was opened before its caller could see the bit is seen now.
      if (!help_inside() && (state & helpers_mask) != 0) {
        park(slot.state, state);  // model: park_caller
      }
      slot.state.fetch_and(~sleep_bit);
      spin.restart();
    }
  }
  slot.caller_waits.store(false, std::memory_order_relaxed);
}

/// Tells callers, who ask after each chunk, to wake workers as soon as this one may work.
void Team::note_refused(int worker) {
  int seen = refused_.load();
  while (worker < seen && !refused_.compare_exchange_weak(seen, worker)) {
  }
}

/// Keeps sleeping workers off the processor that the calling host is on.
void Team::note_host_cpu() {
  const int cpu = sched_getcpu();
  if (host_cpu_.load(std::memory_order_relaxed) == cpu) return;
  host_cpu_.store(cpu, std::memory_order_relaxed);
  if (sleepers_.load() <= 0 || !affinity_.empty()) return;
  constexpr int max_moved = 8;  // each takes a microsecond
  int num_moved = 0;
  for (int worker = 1; worker < num_threads_ && num_moved < max_moved; ++worker) {
    if (workers_[worker].placement.move_from(cpu)) ++num_moved;
  }
}

/// Wakes up to `count` sleeping workers, if workers may work at all now; and the host that waits
/// for the loop around this one.
void Team::wake_workers(int count) {
  if (here.team == this && here.root != no_root) {
    Slot& root = slots_[here.root];
    if ((root.state.load() & sleep_bit) != 0) {
      root.state.fetch_and(~sleep_bit);  // if it does not sleep yet, it will not
      unpark(root.state, 1);
    }
  }
  if (sleepers_.load() <= 0) return;
  const int hosts = num_hosts();
  if (hosts >= num_threads_) {
    note_refused(1);
    return;
  }
  if (hosts > 1) count = INT_MAX;  // some of them may not work
  wakes_.fetch_add(1);
  sleepers_.fetch_sub(unpark(wakes_, count));
}

void Team::work_until_stopped(int worker) {
  char name[16];
  std::snprintf(name, sizeof name, "loopsmith-%d", worker);
  pthread_setname_np(pthread_self(), name);
  if (!affinity_.empty()) {
    const int cpu = affinity_[static_cast<std::size_t>(worker) % affinity_.size()];
    cpu_set_t* set = CPU_ALLOC(cpu + 1);
    CPU_ZERO_S(CPU_ALLOC_SIZE(cpu + 1), set);
    CPU_SET_S(cpu, CPU_ALLOC_SIZE(cpu + 1), set);
    sched_setaffinity(0, CPU_ALLOC_SIZE(cpu + 1), set);
    CPU_FREE(set);
  }

  Spin spin(spin_);
  while (!stopped_.load()) {
    if (help_any(worker)) {
      spin.restart();
    } else if (spin.over()) {
      // In this order: load the count, be counted, ask for all that is a reason to stay awake, and
      // sleep on the count. What comes later raises the count first, so that `park` returns; what
      // came earlier is seen here: the end, and a loop whose caller could not see this sleeper.
      WakePlacement& placement = workers_[worker].placement;
      if (affinity_.empty()) placement.begin_sleep(host_cpu_.load(std::memory_order_relaxed));
      const std::uint32_t wakes = wakes_.load();
      sleepers_.fetch_add(1);
      const bool woken =
          !stopped_.load() && !help_any(worker) && park(wakes_, wakes);  // model: park_worker
      placement.end_sleep();
      if (!woken) sleepers_.fetch_sub(1);
      spin.restart();
    } else if (!may_work(worker)) {
      sched_yield();  // hosts need the processors
    }
  }
}

}  // namespace loopsmith::detail
