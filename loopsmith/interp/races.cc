// SPDX-License-Identifier: Apache-2.0
// The search for races.
//
// Iterations of parallel loops run one after the other, and each gets a number, its strand, when it
// starts. So two accesses of one element are in different iterations of a loop that is running if
// the strand of the earlier one lies between the start of the loop and that of the iteration; then
// nothing orders them. For each element the last write and one read suffice: if a later access
// races with any, it races with those (as in the serial algorithms for nested parallelism of Feng
// and Leiserson, "Efficient detection of determinacy races in Cilk programs", 1997).
//
// Threads of a block are iterations that go on after others started, so that their strands have
// numbers in a list. A barrier starts the search anew; one of a warp orders the threads of that
// warp; an exchange of values orders nothing. So of reads by threads two are kept, of two warps if
// there are: a write races with one of them if with any.
//
// Two kinds of loops and memory ask for less. The lanes of a vectorized loop go in step: all of
// them do a statement before any does the next, and of a loop inside, however often each goes
// round, all that come to an iteration do it before any does the next, and all leave the loop
// before what follows. Or they go one by one, as they do here; so what is in the same order in both
// ways, taken apart by iterations and statements (`Interleaving`), is no race. And the buffers of a
// block lie where they are used after lowering: iterations may write one element each for itself,
// as long as each reads what it wrote, and no statement reads it later.
//
// Threads of a block may fill their shared memory alike: a store of the value that is there races
// neither with those that stored it nor with those that read it.
#include <algorithm>
#include <utility>

#include "loopsmith/interp/machine.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

constexpr int site_bits = 24;
constexpr std::uint64_t site_mask = (std::uint64_t{1} << site_bits) - 1;

/// True when each iteration of a loop may have memory of its own. Threads have, if they may.
bool may_be_own(const Memory& memory, const Level& level) {
  if (level.is_team()) return false;
  return level.loop->is_of_blocks ? memory.may_be_of_blocks : memory.may_be_private;
}

}  // namespace

std::int64_t Level::number_of(std::uint64_t strand) const {
  const auto after =
      std::ranges::upper_bound(starts, strand, {}, &std::pair<std::uint64_t, std::int64_t>::first);
  return after == starts.begin() ? static_cast<std::int64_t>(strand - begin)
                                 : std::prev(after)->second;
}

void Machine::open_level(const ParallelLoop& loop, std::int64_t min, std::int64_t step) {
  ++strand_;
  levels_.push_back({&loop, strand_, strand_, min, step, turn_});
  if (!loop.is_vector) {
    enter_loop(loop.statement);
  } else if (!turn_.loop) {
    turns_.clear();
    turn_ = Interleaving::lane;
  }
}

void Machine::next_iteration() {
  Level& level = levels_.back();
  const std::int64_t iteration = level.number_of(level.iteration);
  ++strand_;
  // Iterations of one strand each are numbered by their strands.
  const bool is_plain = level.starts.empty() && strand_ == level.iteration + 1;
  if (!is_plain) {
    if (level.starts.empty()) level.starts.emplace_back(level.iteration, iteration);
    level.starts.emplace_back(strand_, iteration + 1);
  }
  level.iteration = strand_;
  if (level.loop->is_vector) turn_ = level.around.loop ? level.around : Interleaving::lane;
}

void Machine::close_level() {
  turn_ = levels_.back().around;
  levels_.pop_back();
  ++strand_;
}

void Machine::enter_loop_of_lane(std::uint32_t statement) {
  if (turns_.size_bytes() > options_.max_bytes - bytes_) {
    const ParallelLoop& loop = *levels_.back().loop;
    fail_at(loop.span, "memory_limit", hint("raise `max_bytes`, or run a smaller problem"),
            fmt::format("what lanes of {} do inside, {} loops, does not fit into what is left of "
                        "{} bytes",
                        loop.name, turns_.size(), options_.max_bytes));
  }
  turn_ = turns_.enter(turn_, statement);
}

/// The loop of which `strand` is another iteration than the one that runs; null: it is ordered
/// before now.
const Level* Machine::level_between(std::uint64_t strand) const {
  if (strand < levels_.front().begin) return nullptr;
  for (std::size_t l = levels_.size(); l-- > 0;) {
    const Level& level = levels_[l];
    if (strand >= level.iteration) return nullptr;  // Also in this iteration of all around it.
    if (strand >= level.begin) return is_ordered(level, strand) ? nullptr : &level;
  }
  return nullptr;
}

/// Whether an earlier strand of a loop comes before what runs: it is of the same thread, or a
/// barrier of the warp is between them.
bool Machine::is_ordered(const Level& level, std::uint64_t strand) const {
  if (!level.is_team()) return false;
  const auto other = static_cast<std::size_t>(level.number_of(strand));
  if (other == team_->current) return true;
  const std::size_t warp = other / Team::warp_size;
  return warp == team_->current / Team::warp_size && strand < level.warp_begins[warp];
}

/// The loop by which `access` races with an earlier write, or read, of an element in some turn;
/// null: it does not.
const Level* Machine::racing_level(std::uint64_t earlier, Turn turn, bool with_write,
                                   const Access& access) const {
  const std::uint64_t strand = earlier >> site_bits;
  if (earlier == 0 || strand >= levels_.back().iteration) return nullptr;
  const Level* level = level_between(strand);
  if (!level) return nullptr;
  const Access& other = *library_.sites[earlier & site_mask];
  if (other.is_atomic && access.is_atomic) return nullptr;
  if (access.accumulates && other.accumulates == access.accumulates) return nullptr;
  if (level->loop->reduces && other.is_reduction && access.is_reduction) return nullptr;
  if (!level->loop->is_vector) return level;
  // Lanes go in step: what stands earlier comes earlier in all of them, a statement reads before it
  // writes, and of its writes the last lane's stays.
  const auto order = turns_.compare(turn, other.statement, turn_, access.statement);
  const bool keeps_order = order < 0 || (order == 0 && (!with_write || access.is_store));
  return keeps_order ? nullptr : level;
}

/// True when an earlier write, by another iteration of threads, and `access` combine their values
/// in either order.
bool Machine::combines(std::uint64_t earlier, const Access& access) const {
  if (earlier == 0 || !(access.accumulates || access.is_reduction)) return false;
  const Level* level = level_between(earlier >> site_bits);
  if (!level || level->loop->is_vector) return false;
  const Access& other = *library_.sites[earlier & site_mask];
  return (access.accumulates && other.accumulates == access.accumulates) ||
         (level->loop->reduces && other.is_reduction && access.is_reduction);
}

void Machine::note_access(Memory& memory, std::int64_t place, const Access& access, const Word* r,
                          bool keeps_value) {
  // What this iteration allocated, no other one knows.
  if (memory.birth >= levels_.back().iteration) return;
  if (memory.last_accesses.empty()) {
    memory.last_accesses = Zeroed<LastAccesses>(static_cast<std::size_t>(memory.granules));
  }
  LastAccesses& last_accesses = memory.last_accesses[static_cast<std::size_t>(place)];
  const std::uint64_t now = strand_ << site_bits | access.site;
  if (access.is_store) {
    const auto racing = [&](std::uint64_t earlier, Turn turn, bool with_write) -> const Level* {
      const Level* level = racing_level(earlier, turn, with_write, access);
      return level && keeps_value && level->is_team() ? nullptr : level;
    };
    const Level* by_write = racing(last_accesses.write, last_accesses.write_turn, true);
    const Level* by_read = racing(last_accesses.read, last_accesses.read_turn, false);
    const Level* by_other = by_read ? nullptr : racing(last_accesses.other_read, {}, false);
    const Level* by_any_read = by_read ? by_read : by_other;
    // What it adds to is not its own, and of several that add the first stays known: what reads
    // between them races with it.
    const bool is_combined = combines(last_accesses.write, access);
    if (const Level* level = by_write ? by_write : by_any_read) {
      // A strand that writes before it reads might have memory of its own.
      const Level* other =
          last_accesses.write ? level_between(last_accesses.write >> site_bits) : nullptr;
      if (!other || !may_be_own(memory, *other) || is_combined) {
        const std::uint64_t read = by_other ? last_accesses.other_read : last_accesses.read;
        report_race(memory, place, access, by_write ? last_accesses.write : read, *level, r);
      }
      last_accesses.mixed = other->begin;
      last_accesses.read = last_accesses.other_read = 0;
      memory.plain_bits = 0;  // From now on, `check_mixed` looks at each access.
    }
    if (is_combined) return;
    last_accesses.write = now;
    last_accesses.write_turn = turn_;
    return;
  }
  if (const Level* level =
          racing_level(last_accesses.write, last_accesses.write_turn, true, access)) {
    report_race(memory, place, access, last_accesses.write, *level, r);
  }
  // One read is enough: the first of those at the same time; of lanes in step, the latest.
  const Level* between =
      last_accesses.read ? level_between(last_accesses.read >> site_bits) : nullptr;
  if (between) {
    if (between->is_team()) return keep_other_read(last_accesses, now, *between);
    if (!between->loop->is_vector) return;
    const Access& other = *library_.sites[last_accesses.read & site_mask];
    if (turns_.compare(last_accesses.read_turn, other.statement, turn_, access.statement) > 0)
      return;
  }
  last_accesses.read = now;
  last_accesses.read_turn = turn_;
}

/// Keeps a second read of threads, which races with the one that is known, too.
void Machine::keep_other_read(LastAccesses& last_accesses, std::uint64_t now,
                              const Level& level) const {
  const auto warp_of = [&](std::uint64_t read) {
    return level.number_of(read >> site_bits) / static_cast<std::int64_t>(Team::warp_size);
  };
  const std::uint64_t known = last_accesses.other_read;
  const bool is_open = known && level_between(known >> site_bits) == &level;
  if (!is_open || warp_of(known) == warp_of(last_accesses.read)) last_accesses.other_read = now;
}

void Machine::check_mixed(Memory& memory, std::int64_t place, const Access& access) {
  if (memory.last_accesses.empty()) return;
  LastAccesses& last_accesses = memory.last_accesses[static_cast<std::size_t>(place)];
  if (last_accesses.mixed == 0) return;
  for (const Level& level : levels_) {
    if (level.begin == last_accesses.mixed) return;
  }
  if (!access.is_store) {
    fail_at(
        access.span, "no_race",
        hint("make the loop serial, or give each iteration elements of its own"),
        fmt::format("race on {}: several iterations of a parallel loop write an element that is "
                    "read after the loop",
                    access.buffer->name));
  }
  last_accesses.mixed = 0;
}

void Machine::report_race(const Memory& memory, std::int64_t place, const Access& access,
                          std::uint64_t other, const Level& level, const Word* r) {
  const auto value_of = [&](std::uint64_t strand) {
    return level.min + level.number_of(strand) * level.step;
  };
  const Access& earlier = *library_.sites[other & site_mask];
  std::string element;
  for (std::size_t d = 0; d < access.dims.size() && access.index_lanes == 1; ++d) {
    element += fmt::format("{}{}", d ? ", " : "", r[access.dims[d].index].i);
  }
  if (element.empty()) element = fmt::format("{} in memory", place);
  const auto line = [](const Span& span) {
    return span.known() ? fmt::format(" (line {})", span.line) : std::string();
  };
  const char* verbs[] = {"reads", "writes"};
  fail_at(
      access.span, "no_race",
      hint("make the loop serial, or give each iteration elements of its own"),
      fmt::format("race on {}[{}]: {} = {} {} it{}, {} = {} {} it{}, and nothing orders the two",
                  access.buffer->name.empty() ? memory.name : access.buffer->name, element,
                  level.loop->name, value_of(other >> site_bits), verbs[earlier.is_store],
                  line(earlier.span), level.loop->name, value_of(strand_), verbs[access.is_store],
                  line(access.span)));
}

}  // namespace loopsmith::interp
