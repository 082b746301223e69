// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/conflict_witness.h"

#include <algorithm>
#include <random>
#include <unordered_map>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/transform/index_program.h"

namespace loopsmith {
namespace {

using Draws = std::minstd_rand;

/// The loops and conditions that say which iterations there are, in values by number.
class Nest {
 public:
  /// False where an end of the loop is not known.
  bool add(const For& loop, IndexProgram::Slots& slots) {
    const auto first = IndexProgram::compile(loop.min, slots);
    const auto count = IndexProgram::compile(loop.extent, slots);
    if (!first || !count || !is_const_int(loop.step, 1)) return false;
    const std::size_t slot = slots.emplace(loop.loop_var.get(), slots.size()).first->second;
    loops_.push_back({slot, *first, *count});
    return true;
  }
  bool add(const Expr& condition, const IndexProgram::Slots& slots) {
    const auto program = IndexProgram::compile(condition, slots);
    if (program) conditions_.push_back(*program);
    return program.has_value();
  }

  /// Draws an iteration; false where that fails.
  bool draw(Draws& draws, std::vector<std::int64_t>& values) const {
    for (const Loop& loop : loops_) {
      const auto first = loop.first.evaluate(values), count = loop.count.evaluate(values);
      if (!first || !count || *count <= 0) return false;
      values[loop.slot] = *first + static_cast<std::int64_t>(draws()) % *count;
    }
    return holds(values);
  }

  bool holds(const std::vector<std::int64_t>& values) const {
    return std::ranges::all_of(conditions_, [&](const IndexProgram& condition) {
      return condition.evaluate(values).value_or(0) != 0;
    });
  }

 private:
  struct Loop {
    std::size_t slot;
    IndexProgram first, count;
  };
  std::vector<Loop> loops_;
  std::vector<IndexProgram> conditions_;
};

/// An element, by its place in the buffer, and the thread that used it.
using Use = std::pair<std::int64_t, std::int64_t>;

/// The extents of digits that make one number, as indices make the place of an element.
class Extents {
 public:
  /// False where the extent is no constant, or the numbers are too large.
  bool add(const Expr& extent) {
    const std::int64_t* constant = as_int(extent);
    extents_.push_back(constant ? *constant : 0);
    return constant && !__builtin_mul_overflow(size_, *constant, &size_);
  }
  std::int64_t operator[](std::size_t digit) const { return extents_[digit]; }

 private:
  std::vector<std::int64_t> extents_;
  std::int64_t size_ = 1;
};

/// An access whose iterations can be drawn.
struct DrawnAccess {
  Nest nest;
  Extents extents;
  std::vector<IndexProgram> indices;
};

class WitnessSearch {
 public:
  explicit WitnessSearch(const StatementPlaces& place) : place_(place) {}

  bool has_place() {
    for (const Stmt& each : place_.around) {
      if (const auto* loop = each.as<For>()) {
        if (!around_.add(*loop, slots_)) return false;
      } else if (const auto* branch = each.as<IfThenElse>()) {
        // It may hold for some threads alone, and is asked of each.
        conditions_.push_back(branch->condition);
      }
    }
    if (place_.loop && !add_loop(*place_.loop)) return false;
    for (const Ptr<For>& thread : place_.threads) {
      if (!threads_.add(*thread, slots_) || !numbers_.add(thread->extent)) return false;
      thread_slots_.push_back(slots_.at(thread->loop_var.get()));
    }
    return true;
  }

  bool finds(const SharedAccess& first, const SharedAccess& second) {
    const auto a = drawn(first), b = drawn(second);
    if (!a || !b) return false;
    for (const std::size_t count : {64, 512}) {
      std::vector<std::int64_t> values(slots_.size());
      if (!around_.draw(draws_, values)) continue;
      auto later = values;
      if (place_.loop && !draw_two_iterations(values, later)) continue;
      std::unordered_map<std::int64_t, std::int64_t> users;
      for (const Use& use : draw_uses(*a, values, count)) users.insert(use);
      for (const auto& [element, thread] : draw_uses(*b, later, count)) {
        const auto user = users.find(element);
        if (user != users.end() && user->second != thread) return true;
      }
    }
    return false;
  }

 private:
  bool add_loop(const For& loop) {
    first_ = IndexProgram::compile(loop.min, slots_);
    count_ = IndexProgram::compile(loop.extent, slots_);
    slots_.emplace(loop.loop_var.get(), slots_.size());
    return first_ && count_ && is_const_int(loop.step, 1);
  }

  /// False where the loop has no two iterations.
  bool draw_two_iterations(std::vector<std::int64_t>& earlier, std::vector<std::int64_t>& later) {
    const auto first = first_->evaluate(earlier), count = count_->evaluate(earlier);
    if (!first || !count || *count < 2) return false;
    const std::size_t slot = slots_.at(place_.loop->loop_var.get());
    const auto draw_below = [&](std::int64_t end) {
      return static_cast<std::int64_t>(draws_()) % end;
    };
    const std::int64_t a = draw_below(*count - 1);
    earlier[slot] = *first + a;
    later[slot] = earlier[slot] + 1 + (place_.is_next ? 0 : draw_below(*count - 1 - a));
    return true;
  }

  std::optional<DrawnAccess> drawn(const SharedAccess& access) {
    if (!access.is_certain) return {};
    DrawnAccess made;
    for (const Expr& extent : access.buffer->shape) {
      if (!made.extents.add(extent)) return {};
    }
    for (const Ptr<For>& loop : access.loops) {
      if (!made.nest.add(*loop, slots_)) return {};
    }
    for (const auto* conditions : {&std::as_const(conditions_), &access.conditions}) {
      for (const Expr& condition : *conditions) {
        if (!made.nest.add(condition, slots_)) return {};
      }
    }
    for (const Expr& index : access.indices) {
      auto program = IndexProgram::compile(analyzer_.simplify(index), slots_);
      if (!program) return {};
      made.indices.push_back(*std::move(program));
    }
    return made;
  }

  std::vector<Use> draw_uses(const DrawnAccess& access, std::vector<std::int64_t> values,
                             std::size_t count) {
    std::vector<Use> uses;
    values.resize(slots_.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!threads_.draw(draws_, values) || !access.nest.draw(draws_, values)) continue;
      Use use;
      bool is_inside = true;
      for (std::size_t d = 0; d < access.indices.size() && is_inside; ++d) {
        const std::int64_t extent = access.extents[d];
        const std::int64_t index = access.indices[d].evaluate(values).value_or(-1);
        is_inside = index >= 0 && index < extent;
        use.first = use.first * extent + index;
      }
      for (std::size_t k = 0; k < place_.threads.size(); ++k) {
        use.second = use.second * numbers_[k] + values[thread_slots_[k]];
      }
      if (is_inside) uses.push_back(use);
    }
    return uses;
  }

  const StatementPlaces& place_;
  Analyzer analyzer_;
  Draws draws_;  // From the same seed each time.
  IndexProgram::Slots slots_;
  Nest around_, threads_;
  std::optional<IndexProgram> first_, count_;  ///< Of the loop.
  Extents numbers_;                            ///< Of the threads.
  std::vector<std::size_t> thread_slots_;
  std::vector<Expr> conditions_;
};

}  // namespace

bool has_conflict_witness(const StatementPlaces& place, std::span<const SharedAccess> first,
                          std::span<const SharedAccess> second) {
  WitnessSearch search(place);
  if (!search.has_place()) return false;
  for (const SharedAccess& a : first) {
    for (const SharedAccess& b : second) {
      if ((a.is_write || b.is_write) && a.buffer.same_as(b.buffer) && search.finds(a, b)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace loopsmith
