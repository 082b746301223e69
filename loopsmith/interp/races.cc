// SPDX-License-Identifier: Apache-2.0
// The search for races.
//
// Iterations of parallel loops run one after the other, and each gets a number, its strand, when it
// starts. So two accesses of one element are in different iterations of a loop that is running if
// the strand of the earlier one lies between the start of the loop and that of the iteration; then
// nothing orders them. For each element the last write and one read suffice: if a later access
// races with any, it races with those (as in the serial algorithms for nested parallelism of Feng
// and Leiserson, "Efficient detection of determinacy races in Cilk programs", 1997).
#include "loopsmith/interp/machine.h"

namespace loopsmith::interp {
namespace {

constexpr int site_bits = 24;
constexpr std::uint64_t site_mask = (std::uint64_t{1} << site_bits) - 1;

}  // namespace

void Machine::open_level(const ParallelLoop& loop, std::int64_t min, std::int64_t step) {
  ++strand_;
  levels_.push_back({&loop, strand_, strand_, min, step});
}

void Machine::next_iteration() {
  Level& level = levels_.back();
  const std::int64_t iteration = level.starts.empty()
                                     ? static_cast<std::int64_t>(level.iteration - level.begin)
                                     : level.starts.back().second;
  ++strand_;
  // Iterations of one strand each are numbered by their strands.
  const bool is_plain = level.starts.empty() && strand_ == level.iteration + 1;
  if (!is_plain) {
    if (level.starts.empty()) level.starts.emplace_back(level.iteration, iteration);
    level.starts.emplace_back(strand_, iteration + 1);
  }
  level.iteration = strand_;
}

void Machine::close_level() {
  levels_.pop_back();
  ++strand_;
}

/// The innermost loop of which `strand` is another iteration; null: it is ordered before now.
const Level* Machine::racing_level(std::uint64_t strand, bool is_reduction) const {
  for (std::size_t l = levels_.size(); l-- > 0;) {
    const Level& level = levels_[l];
    if (strand >= level.iteration) return nullptr;  // Also in this iteration of all around it.
    if (strand >= level.begin) return is_reduction && level.loop->reduces ? nullptr : &level;
  }
  return nullptr;
}

void Machine::touch(Memory& memory, std::int64_t place, const Access& access, const Word* r) {
  // What this iteration allocated, no other one knows.
  if (memory.birth >= levels_.back().iteration) return;
  if (memory.touched.empty()) memory.touched.resize(static_cast<std::size_t>(memory.granules));
  Touched& touched = memory.touched[static_cast<std::size_t>(place)];
  const std::uint64_t now = strand_ << site_bits | access.site;
  const auto racing = [&](std::uint64_t earlier) -> const Level* {
    if (earlier == 0) return nullptr;
    const std::uint64_t strand = earlier >> site_bits;
    if (strand >= levels_.back().iteration || strand < levels_.front().begin) return nullptr;
    const Access& other = *library_.sites[earlier & site_mask];
    if (other.is_atomic && access.is_atomic) return nullptr;
    if (access.accumulates && other.accumulates == access.accumulates) return nullptr;
    return racing_level(strand, other.is_reduction && access.is_reduction);
  };
  if (const Level* level = racing(touched.write)) {
    report_race(memory, place, access, touched.write, *level, r);
  }
  if (access.is_store) {
    if (const Level* level = racing(touched.read)) {
      report_race(memory, place, access, touched.read, *level, r);
    }
    touched.write = now;
  } else if (!racing(touched.read)) {
    touched.read = now;
  }
}

void Machine::report_race(const Memory& memory, std::int64_t place, const Access& access,
                          std::uint64_t other, const Level& level, const Word* r) {
  const auto value_of = [&](std::uint64_t strand) {
    std::int64_t iteration = static_cast<std::int64_t>(strand - level.begin);
    for (const auto& [start, number] : level.starts) {
      if (start <= strand) iteration = number;
    }
    return level.min + iteration * level.step;
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
