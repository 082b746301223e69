// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/threads.h"

#include <algorithm>
#include <utility>

#include "loopsmith/interp/machine.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

constexpr std::int64_t max_threads = 1 << 16;

const Instr* fork(const Instr* at, Word*, Machine& machine) {
  machine.run_team(*static_cast<const ThreadRegion*>(at->data), at);
  return at + at->jump;
}

const Instr* thread_end(const Instr*, Word*, Machine&) {
  return nullptr;
}

const Instr* barrier(const Instr* at, Word*, Machine& machine) {
  machine.step();
  return machine.suspend(at, static_cast<Wait>(at->c));
}

Team& team_of(const Instr* at, Machine& machine) {
  if (!machine.team()) {
    machine.fail(at, "inside_threads", hint("launch threads around it"),
                 "threads exchange values where there is only one");
  }
  return *machine.team();
}

const Instr* give(const Instr* at, Word* r, Machine& machine) {
  machine.step();
  Fiber& fiber = team_of(at, machine).fiber();
  fiber.given[++fiber.publications % 2].assign(r + at->a, r + at->a + at->b);
  return machine.suspend(at, static_cast<Wait>(at->c));
}

const std::vector<Word>& published_of(const Fiber& fiber, std::size_t number) {
  return fiber.given[number % 2];
}

template <Shuffling how>
const Instr* shuffle(const Instr* at, Word* r, Machine& machine) {
  Team& team = team_of(at, machine);
  const auto lane = static_cast<std::int64_t>(team.current % Team::warp_size);
  const std::int64_t width = std::clamp<std::int64_t>(r[at->b].i, 1, Team::warp_size);
  const std::int64_t first = lane / width * width, asked = r[at->a].i;
  std::int64_t from = lane;
  if (how == Shuffling::direct) from = first + ((asked % width) + width) % width;
  if (how == Shuffling::up && lane - asked >= first) from = lane - asked;
  if (how == Shuffling::down && lane + asked < first + width) from = lane + asked;
  const std::size_t source =
      team.current - static_cast<std::size_t>(lane) + static_cast<std::size_t>(from);
  const std::size_t number = team.fiber().publications;
  if (source >= team.fibers.size() || team.fibers[source].publications < number) {
    machine.fail(at, "lane_takes_part", hint("shuffle where all lanes of the warp are"),
                 "lane {} takes a value from lane {}, which gave none", lane, from);
  }
  const std::vector<Word>& published = published_of(team.fibers[source], number);
  std::copy(published.begin(), published.end(), r + at->d);
  return at + 1;
}

const Instr* gather(const Instr* at, Word* r, Machine& machine) {
  Team& team = team_of(at, machine);
  const auto& from = *static_cast<const Gather*>(at->data);
  const Fiber& self = team.fiber();
  const auto is_member = [&](const Fiber& other) {
    for (std::size_t i = 0; i < from.is_reduced.size(); ++i) {
      if (!from.is_reduced[i] && other.indices[i] != self.indices[i]) return false;
    }
    return other.publications >= self.publications &&
           published_of(other, self.publications)[0].i != 0;
  };
  for (std::int64_t& next = r[at->a].i; next < static_cast<std::int64_t>(team.fibers.size());) {
    const Fiber& other = team.fibers[static_cast<std::size_t>(next++)];
    if (!is_member(other)) continue;
    const std::vector<Word>& published = published_of(other, self.publications);
    std::copy(published.begin() + 1, published.end(), r + at->d);
    return at + 1;
  }
  return at + at->jump;
}

enum class Released : std::uint8_t { none, warps, block };

/// Lets threads go on whose block, or whose warp, waits at the same place.
Released release_threads(const std::vector<Fiber>& fibers, std::vector<bool>& runs) {
  // Whether all of `begin` .. `end` wait at one place; those that are done are missed at barriers
  // of the block alone.
  const auto release = [&](std::size_t begin, std::size_t end, bool is_block) {
    const Fiber* leader = nullptr;
    bool is_complete = true;
    for (std::size_t i = begin; i < end; ++i) {
      is_complete = is_complete && fibers[i].next;
      if (!fibers[i].next) continue;
      if (!leader) leader = &fibers[i];
      if (fibers[i].waits != leader->waits || (fibers[i].wait_kind == Wait::block) != is_block) {
        return false;
      }
    }
    if (!leader || (is_block && !is_complete)) return false;
    for (std::size_t i = begin; i < end; ++i) runs[i] = fibers[i].next != nullptr;
    return true;
  };
  if (release(0, fibers.size(), /*is_block=*/true)) return Released::block;
  Released released = Released::none;
  for (std::size_t warp = 0; warp < fibers.size(); warp += Team::warp_size) {
    const std::size_t end = std::min(warp + Team::warp_size, fibers.size());
    if (release(warp, end, /*is_block=*/false)) released = Released::warps;
  }
  return released;
}

}  // namespace

const Instr* Machine::suspend(const Instr* at, Wait wait_kind) {
  if (!team_) {
    fail(at, "inside_threads", hint("launch threads around it"),
         "a barrier stands where there is only one thread");
  }
  if (levels_.size() != team_levels_) {
    fail(at, "barrier_in_parallel_loop", hint("move the barrier out of the loop"),
         "a barrier stands in a parallel loop, whose iterations have no order");
  }
  Fiber& fiber = team_->fiber();
  fiber.waits = at;
  fiber.wait_kind = wait_kind;
  fiber.next = at + 1;
  return nullptr;
}

/// One turn of a thread: up to where it waits, or its end.
void Machine::run_turn(Team& team, std::size_t number) {
  team.current = number;
  Fiber& fiber = team.fiber();
  std::int64_t scale = 0;
  thread_ = 0;
  for (std::size_t i = 0; i < fiber.indices.size(); ++i, scale += 20) {
    thread_ |= fiber.indices[i] << scale;
  }
  // Threads along x, if there are any, are counted first.
  const bool has_lanes = team.region.axes.front().axis == ThreadAxis::thread_x;
  warp_ = has_lanes ? thread_ - fiber.indices.front() : thread_;
  if (options_.check_races) {
    Level& level = levels_.back();
    level.iteration = ++strand_;
    level.starts.emplace_back(strand_, static_cast<std::int64_t>(number));
  }
  frames_.swap(fiber.frames);
  turn_ = fiber.turn;
  r_ = frame().r;
  const Instr* at = std::exchange(fiber.next, nullptr);
  while (at) at = at->run(at, r_, *this);
  fiber.turn = turn_;
  frames_.swap(fiber.frames);
}

void Machine::run_team(const ThreadRegion& region, const Instr* at) {
  if (team_) {
    fail(at, "threads_in_threads", hint("launch all threads of a block at one place"),
         "threads are launched inside of threads");
  }
  std::int64_t count = 1;
  for (const ThreadDimension& axis : region.axes) {
    const std::int64_t extent = r_[axis.extent].i;
    if (extent <= 0) return;
    if (extent > max_threads / count) {
      fail(at, "thread_limit", hint("launch fewer threads in a block"),
           "a block has more than {} threads", max_threads);
    }
    count *= extent;
  }
  Team team{.region = region};
  if (options_.check_races) {
    open_level(region.loop, 0, 1);
    const auto warps = (static_cast<std::size_t>(count) + Team::warp_size - 1) / Team::warp_size;
    levels_.back().warp_begins.assign(warps, strand_);
  }
  for (std::int64_t number = 0; number < count; ++number) {
    Fiber& fiber = team.fibers.emplace_back();
    auto copy = std::make_unique<Frame>(code());
    copy->words = frame().words;
    copy->r = copy->words.data() + code().constants.size();
    copy->levels = levels_.size();
    std::int64_t rest = number;
    for (const ThreadDimension& axis : region.axes) {
      const std::int64_t extent = r_[axis.extent].i;
      fiber.indices.push_back(rest % extent);
      copy->r[axis.index].i = rest % extent;
      rest /= extent;
    }
    fiber.visits.resize(static_cast<std::size_t>(code().allocations));
    fiber.frames.push_back(std::move(copy));
    fiber.next = at + 1;
    fiber.turn = turn_;
  }
  std::vector<std::unique_ptr<Frame>> outer = std::move(frames_);
  frames_.clear();
  team_ = &team;
  team_levels_ = levels_.size();
  std::vector<bool> runs(team.fibers.size(), true);
  for (;;) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i]) run_turn(team, i);
    }
    const auto is_waiting = [](const Fiber& fiber) { return fiber.next != nullptr; };
    if (std::ranges::none_of(team.fibers, is_waiting)) break;
    runs.assign(runs.size(), false);
    const Released released = release_threads(team.fibers, runs);
    if (released == Released::none) report_divergence(team);
    if (options_.check_races) order_threads(team, runs, released == Released::block);
  }
  team_ = nullptr;
  thread_ = warp_ = -1;
  frames_ = std::move(outer);
  r_ = frame().r;
  if (options_.check_races) close_level();
}

/// What the threads that `runs` names do next comes after what they waited for.
void Machine::order_threads(const Team& team, const std::vector<bool>& runs, bool is_block) {
  Level& level = levels_.back();
  if (is_block) {
    level.begin = level.iteration = ++strand_;
    level.starts.clear();
    return;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool is_ordered = runs[i] && team.fibers[i].wait_kind == Wait::warp;
    if (is_ordered) level.warp_begins[i / Team::warp_size] = strand_ + 1;
  }
}

void Machine::report_divergence(const Team& team) {
  const auto is_waiting = [](const Fiber& fiber) { return fiber.next != nullptr; };
  const auto first = std::ranges::find_if(team.fibers, is_waiting);
  const auto other = std::find_if(first, team.fibers.end(), [&](const Fiber& fiber) {
    return fiber.next && fiber.waits != first->waits;
  });
  const auto number = [&](auto fiber) { return fiber - team.fibers.begin(); };
  const auto line = [&](const Fiber& fiber) {
    const Span span = span_of(fiber.waits);
    return span.known() ? fmt::format(" (line {})", span.line) : std::string();
  };
  const Hint everywhere = hint("put the barrier where all threads of the block pass");
  if (other == team.fibers.end()) {
    const auto absent = std::ranges::find_if_not(team.fibers, is_waiting);
    fail(first->waits, "barrier_is_reached", everywhere,
         "thread {} waits at a barrier{} that thread {} never reaches", number(first), line(*first),
         number(absent));
  }
  const auto place = [&](const Fiber& fiber) {
    return fiber.wait_kind == Wait::lanes ? "an exchange of values" : "one barrier";
  };
  fail(first->waits, "barriers_meet", everywhere, "thread {} waits at {}{}, thread {} at {}{}",
       number(first), place(*first), line(*first), number(other),
       other->wait_kind == Wait::lanes ? place(*other) : "another", line(*other));
}

Handler fork_handler() {
  return fork;
}
Handler thread_end_handler() {
  return thread_end;
}
Handler barrier_handler() {
  return barrier;
}
Handler publish_handler() {
  return give;
}
Handler shuffle_handler(Shuffling how) {
  if (how == Shuffling::up) return shuffle<Shuffling::up>;
  return how == Shuffling::down ? shuffle<Shuffling::down> : shuffle<Shuffling::direct>;
}
Handler gather_handler() {
  return gather;
}

}  // namespace loopsmith::interp
