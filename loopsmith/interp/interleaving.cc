// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/interleaving.h"

namespace loopsmith::interp {

bool Interleaving::Loop::operator==(const Loop& other) const {
  return around.loop == other.around.loop && around.iteration == other.around.iteration &&
         statement == other.statement;
}

std::size_t Interleaving::Hash::operator()(const Loop& loop) const {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio.
  const std::uint64_t turn = std::uint64_t{loop.around.loop} << 32 | loop.around.iteration;
  return ((turn * odd) ^ loop.statement) * odd >> 16;
}

void Interleaving::clear() {
  loops_.resize(2);
  if (!numbers_.empty()) numbers_.clear();
  last_ = 1;
}

std::int64_t Interleaving::size_bytes() const {
  // An entry of the table has two pointers beside it, and a place that points to it.
  constexpr std::size_t entry = sizeof(Loop) + sizeof(std::uint32_t) + 3 * sizeof(void*);
  return static_cast<std::int64_t>(size() * (sizeof(Loop) + entry));
}

Turn Interleaving::enter(Turn around, std::uint32_t statement) {
  const Loop loop{around, statement, loops_[around.loop].depth + 1};
  if (last_ + 1 < loops_.size() && loops_[last_ + 1] == loop) return {++last_};
  const auto [found, is_new] =
      numbers_.try_emplace(loop, static_cast<std::uint32_t>(loops_.size()));
  if (is_new) loops_.push_back(loop);
  last_ = found->second;
  return {last_};
}

std::strong_ordering Interleaving::compare(Turn a, std::uint32_t statement_of_a, Turn b,
                                           std::uint32_t statement_of_b) const {
  bool a_is_inside = false, b_is_inside = false;
  const auto leave = [&](Turn& turn, std::uint32_t& statement, bool& is_inside) {
    const Loop& loop = loops_[turn.loop];
    turn = loop.around;
    statement = loop.statement;
    is_inside = true;
  };
  while (a.loop != b.loop) {
    const std::uint32_t depth_of_a = loops_[a.loop].depth, depth_of_b = loops_[b.loop].depth;
    if (depth_of_a >= depth_of_b) leave(a, statement_of_a, a_is_inside);
    if (depth_of_b >= depth_of_a) leave(b, statement_of_b, b_is_inside);
  }
  if (a.iteration != b.iteration) return a.iteration <=> b.iteration;
  if (statement_of_a != statement_of_b) return statement_of_a <=> statement_of_b;
  return b_is_inside <=> a_is_inside;
}

}  // namespace loopsmith::interp
