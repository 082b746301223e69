// SPDX-License-Identifier: Apache-2.0
// Each question about random programs, against plain enumeration of their runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/dependence/enumerate_test.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

using testing::RecordedAccess;
using Loops = std::vector<Ptr<Var>>;

/// A perfect nest of two or three loops around a few statements, some of them under conditions or
/// in loops of their own; or two such nests, one after the other.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    is_symbolic_ = pick(3) == 0;
    for (const int rank : {1, 2, 1}) {
      buffers_.push_back(decl_buffer(std::vector<Expr>(static_cast<std::size_t>(rank), 1000), f32,
                                     std::string(1, static_cast<char>('A' + buffers_.size()))));
    }
    first = nest("ij", 2 + pick(2));
    if (pick(2) == 0) second = nest("uv", 2);
    root = second.root.defined() ? seq({first.root, second.root}) : first.root;
  }

  struct Nest {
    Loops loops;
    std::vector<Stmt> parts;
    Stmt root;
  };

  Nest first, second;
  Stmt root;
  Ptr<Var> n = var("n");

  bool is_symbolic() const { return is_symbolic_; }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  Nest nest(const std::string& name, int depth) {
    Nest result;
    std::vector<Expr> mins, extents;
    std::vector<int> steps;
    scope_.clear();
    for (int level = 0; level < depth; ++level) {
      extents.push_back(extent());
      mins.push_back(pick(3) == 0 ? Expr(pick(4) - 1) : Expr(0));
      steps.push_back(pick(8) == 0 ? -1 : pick(8) == 0 ? 2 : 1);
      result.loops.push_back(var(name + std::to_string(level)));
      scope_.push_back(result.loops.back());
    }
    const int count = 1 + pick(3);
    for (int i = 0; i < count; ++i) result.parts.push_back(statement());
    result.root = seq(result.parts);
    for (int level = depth; level-- > 0;) {
      const auto at = static_cast<std::size_t>(level);
      result.root = make(For{.loop_var = result.loops[at],
                             .min = mins[at],
                             .extent = extents[at],
                             .step = steps[at],
                             .body = result.root});
    }
    return result;
  }

  Expr extent() {
    if (is_symbolic_ && pick(2) == 0) return pick(3) == 0 ? n + 1 : Expr(n);
    if (!scope_.empty() && pick(6) == 0) {
      const Expr outer = scope_[static_cast<std::size_t>(pick(static_cast<int>(scope_.size())))];
      return pick(2) == 0 ? outer + 1 : min(outer + 2, 3);
    }
    return 1 + pick(5);
  }

  Stmt statement() {
    switch (pick(6)) {
      case 0: {
        Stmt otherwise = pick(2) == 0 ? assignment() : Stmt();
        return make(IfThenElse{
            .condition = condition(), .then_case = assignment(), .else_case = otherwise});
      }
      case 1: {
        const auto inner = var("r");
        const Expr size = extent();
        scope_.push_back(inner);
        Stmt body = assignment();
        scope_.pop_back();
        return for_loop(inner, 0, size, std::move(body));
      }
      default: return assignment();
    }
  }

  Stmt assignment() {
    const Ptr<Buffer>& target = buffer();
    Expr value = access();
    if (pick(2) == 0) value = value + access();
    if (pick(4) == 0) value = if_then_else(condition(), value, float_imm(f32, 0));
    return store(target, value, indices(*target));
  }

  const Ptr<Buffer>& buffer() { return buffers_[static_cast<std::size_t>(pick(3))]; }
  Expr access() {
    const Ptr<Buffer>& source = buffer();
    return load(source, indices(*source));
  }
  std::vector<Expr> indices(const Buffer& target) {
    std::vector<Expr> result;
    for (std::size_t i = 0; i < target.shape.size(); ++i) result.push_back(index());
    return result;
  }

  Expr variable() {
    return scope_[static_cast<std::size_t>(pick(static_cast<int>(scope_.size())))];
  }

  Expr index() {
    switch (pick(12)) {
      case 0: return pick(3);
      case 1: return variable() + variable();
      case 2: return variable() - variable();
      case 3: return variable() * 2 + pick(3);
      case 4: return variable() * 3 + variable();
      case 5: return floormod(variable() + pick(2), 2 + pick(2));
      case 6: return floordiv(variable() + pick(3), 2 + pick(2));
      case 7: return is_symbolic_ ? n - 1 - variable() : 4 - variable();
      case 8: return floordiv(variable() * 3 + variable(), 4);
      default: return variable() + (pick(3) - 1);
    }
  }

  Expr condition() {
    switch (pick(6)) {
      case 0: return floormod(variable(), 2) == 0;
      case 1: return variable() != variable();
      case 2: return variable() < variable() || variable() > 2;
      case 3: return variable() < 3 && variable() >= 1;
      case 4: return !(variable() == 1);
      default: return variable() + variable() < 4;
    }
  }

  std::mt19937 random_;
  std::vector<Ptr<Buffer>> buffers_;
  Loops scope_;
  bool is_symbolic_ = false;
};

/// The iteration of a loop at which an access was recorded, or -1.
std::int64_t iteration_of(const RecordedAccess& access, const Ptr<Var>& loop) {
  for (const testing::Step& step : access.steps) {
    if (step.loop == loop.get()) return step.iteration;
  }
  return -1;
}

/// The steps of an access, to be compared as words.
using Times = std::vector<std::int64_t>;

Times times_of(const RecordedAccess& access) {
  Times result;
  for (const testing::Step& step : access.steps) result.push_back(step.iteration);
  return result;
}

/// True when what happened first, at `a`, happens no longer before `b`.
using Breaks = std::function<bool(const RecordedAccess& a, const RecordedAccess& b)>;

/// The run of a program. Updates x = x + e of one element may change places with each other.
class Oracle {
 public:
  Oracle(const Stmt& root, const std::map<const Object*, std::int64_t>& sizes)
      : log_(testing::enumerate(root, sizes)) {
    for (std::size_t i = 0; i < log_.size(); ++i) {
      by_element_[{log_[i].buffer, log_[i].element}].push_back(i);
      const Object* statement = log_[i].statement;
      if (!updates_.contains(statement)) updates_[statement] = is_update(statement);
    }
  }

  bool is_broken(const Breaks& breaks) const {
    for (const auto& [element, accesses] : by_element_) {
      for (std::size_t x = 0; x < accesses.size(); ++x) {
        for (std::size_t y = x + 1; y < accesses.size(); ++y) {
          const RecordedAccess& a = log_[accesses[x]];
          const RecordedAccess& b = log_[accesses[y]];
          if ((a.writes || b.writes) && !may_change_places(a, b) && breaks(a, b)) return true;
        }
      }
    }
    return false;
  }

  /// True when the witness is in the record, its sides in their order, and broken.
  bool confirms(const ConflictWitness& witness, const Breaks& breaks) const {
    const auto found = by_element_.find({witness.buffer.get(), witness.element});
    if (found == by_element_.end()) return false;
    const auto is_side = [](const RecordedAccess& access, const ConflictSide& side) {
      return access.statement == side.statement.get() && access.writes == side.writes &&
             std::equal(access.values.begin(), access.values.end(), side.iteration.begin(),
                        side.iteration.end(), [](const auto& x, const auto& y) {
                          return x.first == y.first.get() && x.second == y.second;
                        });
    };
    for (std::size_t x = 0; x < found->second.size(); ++x) {
      for (std::size_t y = x + 1; y < found->second.size(); ++y) {
        const RecordedAccess& a = log_[found->second[x]];
        const RecordedAccess& b = log_[found->second[y]];
        if (is_side(a, witness.first) && is_side(b, witness.second) && breaks(a, b)) return true;
      }
    }
    return false;
  }

 private:
  /// True for x = x + e where e does not read the buffer of x.
  static bool is_update(const Object* statement) {
    const auto* store = static_cast<const BufferStore*>(statement);
    const auto* add = store->value.as<Add>();
    if (!add) return false;
    const auto is_old = [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (!load || !load->buffer.same_as(store->buffer)) return false;
      for (std::size_t i = 0; i < load->indices.size(); ++i) {
        if (to_string(load->indices[i]) != to_string(store->indices[i])) return false;
      }
      return true;
    };
    const auto reads = [&](const Expr& e) {
      return to_string(e).find(store->buffer->name) != std::string::npos;
    };
    return (is_old(add->a) && !reads(add->b)) || (is_old(add->b) && !reads(add->a));
  }

  bool may_change_places(const RecordedAccess& a, const RecordedAccess& b) const {
    const auto updates = [&](const RecordedAccess& access) {
      const auto* store = static_cast<const BufferStore*>(access.statement);
      return access.buffer == store->buffer.get() && updates_.at(access.statement);
    };
    return updates(a) && updates(b);
  }

  std::vector<RecordedAccess> log_;
  std::map<const Object*, bool> updates_;
  std::map<std::pair<const Object*, std::vector<std::int64_t>>, std::vector<std::size_t>>
      by_element_;
};

class Checker {
 public:
  explicit Checker(RandomProgram& program) : program_(program), dependences_(program.root) {
    for (int size = program.is_symbolic() ? 0 : 1; size <= (program.is_symbolic() ? 5 : 1);
         ++size) {
      oracles_.emplace_back(program.root,
                            std::map<const Object*, std::int64_t>{{program.n.get(), size}});
    }
  }

  Dependences& dependences() { return dependences_; }

  bool is_broken(const Breaks& breaks) const {
    return std::any_of(oracles_.begin(), oracles_.end(),
                       [&](const Oracle& oracle) { return oracle.is_broken(breaks); });
  }

  void check(const std::string& question, const DependenceAnswer& answer, const Breaks& breaks) {
    const std::string where = question + "\n" + script(program_.root);
    if (answer.verdict == Verdict::proved) {
      EXPECT_FALSE(is_broken(breaks)) << "proved: " << where;
      ++proved;
    } else if (answer.verdict == Verdict::violated) {
      ASSERT_TRUE(answer.witness) << where;
      std::map<const Object*, std::int64_t> sizes{{program_.n.get(), 1}};
      for (const auto& [variable, value] : answer.witness->sizes) sizes[variable.get()] = value;
      EXPECT_TRUE(Oracle(program_.root, sizes).confirms(*answer.witness, breaks))
          << answer.witness->text() << " is not real: " << where;
      ++violated;
    } else {
      ADD_FAILURE() << "unknown: " << answer.reason << ": " << where;
    }
  }

  int proved = 0, violated = 0;

 private:
  RandomProgram& program_;
  Dependences dependences_;
  std::vector<Oracle> oracles_;
};

bool are_under(const RecordedAccess& a, const RecordedAccess& b, const Ptr<Var>& loop) {
  return iteration_of(a, loop) >= 0 && iteration_of(b, loop) >= 0;
}

/// Iterations of the loops in front of `loop` are the same.
bool are_equal_outside(const RecordedAccess& a, const RecordedAccess& b, const Ptr<Var>& loop) {
  for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    if (a.steps[i].loop == loop.get()) return true;
    if (a.steps[i].iteration != b.steps[i].iteration) return false;
  }
  return false;
}

Breaks run_at_once(const Ptr<Var>& loop) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    return are_under(a, b, loop) && are_equal_outside(a, b, loop) &&
           iteration_of(a, loop) != iteration_of(b, loop);
  };
}

Breaks run_in_lanes(const Ptr<Var>& loop) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    if (!run_at_once(loop)(a, b)) return false;
    const auto without = [&](const RecordedAccess& access) {
      Times result;
      for (const testing::Step& step : access.steps) {
        if (step.loop != loop.get()) result.push_back(step.iteration);
      }
      return result;
    };
    const Times before = without(a), after = without(b);
    // Within one step of a statement, reads come first, and an earlier lane writes first.
    if (before == after) return !(a.statement == b.statement && b.writes);
    return after < before;
  };
}

Breaks run_reordered(const Loops& order) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    for (const Ptr<Var>& loop : order) {
      if (!are_under(a, b, loop)) return false;
    }
    const auto times = [&](const RecordedAccess& access) {
      Times result = times_of(access);
      std::size_t next = 0;
      for (std::size_t i = 0; i < access.steps.size(); ++i) {
        const bool is_moved = std::any_of(order.begin(), order.end(), [&](const Ptr<Var>& loop) {
          return loop.get() == access.steps[i].loop;
        });
        if (is_moved) result[i] = iteration_of(access, order[next++]);
      }
      return result;
    };
    return times(b) < times(a);
  };
}

Breaks run_merged(const Loops& first, const Loops& second) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    Times before, after;
    for (std::size_t i = 0; i < first.size(); ++i) {
      before.push_back(iteration_of(a, first[i]));
      after.push_back(iteration_of(b, second[i]));
    }
    return before.front() >= 0 && after.front() >= 0 && after < before;
  };
}

/// The statements of a nest's innermost body are in its sequence's order; the cut is before `part`.
Breaks run_distributed(const Ptr<Var>& loop, const Loops& nest, std::int64_t part) {
  return [=](const RecordedAccess& a, const RecordedAccess& b) {
    if (!are_under(a, b, loop) || !are_equal_outside(a, b, loop)) return false;
    const auto position = [&](const RecordedAccess& access) {
      for (std::size_t i = 0; i + 1 < access.steps.size(); ++i) {
        if (access.steps[i].loop == nest.back().get()) return access.steps[i + 1].iteration;
      }
      return std::int64_t{-1};
    };
    return position(a) >= part && position(b) < part;
  };
}

TEST(dependence_fuzz, answers_agree_with_enumeration) {
  int proved = 0, violated = 0;
  for (unsigned seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    RandomProgram program(seed);
    Checker checker(program);
    Dependences& dependences = checker.dependences();
    for (const auto* nest : {&program.first, &program.second}) {
      if (!nest->root.defined()) continue;
      for (const Ptr<Var>& loop : nest->loops) {
        checker.check("parallel " + loop->name, dependences.parallelizable(loop),
                      run_at_once(loop));
        checker.check("vector " + loop->name, dependences.vectorizable(loop), run_in_lanes(loop));
      }
      Loops order = nest->loops;
      std::rotate(order.begin(), order.begin() + 1, order.end());
      checker.check("rotate", dependences.permutable(order), run_reordered(order));
      order = {nest->loops.back(), nest->loops.front()};
      checker.check("swap ends", dependences.permutable(order), run_reordered(order));
      for (std::size_t part = 1; part < nest->parts.size(); ++part) {
        const Ptr<Var>& loop = nest->loops[seed % 2];
        checker.check("cut", dependences.distributable(loop, nest->parts[part]),
                      run_distributed(loop, nest->loops, static_cast<std::int64_t>(part)));
      }
    }
    if (program.second.root.defined()) {
      for (const std::size_t depth : {1, 2}) {
        const Loops a(program.first.loops.begin(), program.first.loops.begin() + depth);
        const Loops b(program.second.loops.begin(), program.second.loops.begin() + depth);
        checker.check("merge", dependences.mergeable(a, b), run_merged(a, b));
      }
    }
    proved += checker.proved;
    violated += checker.violated;
  }
  EXPECT_GT(proved, 300);
  EXPECT_GT(violated, 300);
}

/// No loop of a random program has more iterations.
constexpr std::int64_t most_iterations = 8;

/// The loops of a perfect nest while they are transformed: what each iteration becomes.
class Coordinates {
 public:
  explicit Coordinates(const Loops& loops)
      : loops_(loops), nest_(loops), extents_(loops.size(), most_iterations) {}

  const Loops& loops() const { return loops_; }
  /// What the iterations of a loop are below.
  std::int64_t extent(std::size_t at) const { return extents_[at]; }

  void split(std::size_t at, const Ptr<Var>& outer, const Ptr<Var>& inner, std::int64_t factor) {
    steps_.push_back([=](Times& times) {
      const std::int64_t value = times[at];
      times[at] = value / factor;
      times.insert(times.begin() + static_cast<std::ptrdiff_t>(at) + 1, value % factor);
    });
    const auto next = static_cast<std::ptrdiff_t>(at) + 1;
    loops_[at] = outer;
    loops_.insert(loops_.begin() + next, inner);
    extents_[at] = (extents_[at] + factor - 1) / factor;
    extents_.insert(extents_.begin() + next, factor);
  }

  void fuse(std::size_t at, const Ptr<Var>& fused) {
    const std::int64_t inner_extent = extents_[at + 1];
    steps_.push_back([=](Times& times) {
      times[at] = times[at] * inner_extent + times[at + 1];
      times.erase(times.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    });
    const auto next = static_cast<std::ptrdiff_t>(at) + 1;
    loops_[at] = fused;
    loops_.erase(loops_.begin() + next);
    extents_[at] *= inner_extent;
    extents_.erase(extents_.begin() + next);
  }

  void swap(std::size_t a, std::size_t b) {
    steps_.push_back([=](Times& times) { std::swap(times[a], times[b]); });
    std::swap(loops_[a], loops_[b]);
    std::swap(extents_[a], extents_[b]);
  }

  Times operator()(const RecordedAccess& access) const {
    Times result;
    for (const Ptr<Var>& loop : nest_) result.push_back(iteration_of(access, loop));
    for (const auto& step : steps_) step(result);
    return result;
  }

  bool is_inside(const RecordedAccess& access) const {
    return iteration_of(access, nest_.front()) >= 0;
  }

 private:
  Loops loops_;
  Loops nest_;
  std::vector<std::int64_t> extents_;
  std::vector<std::function<void(Times&)>> steps_;
};

/// Iterations of the loop at `level` of the transformed nest run at once.
Breaks run_level_at_once(const Coordinates& coordinates, std::size_t level) {
  return [&coordinates, level](const RecordedAccess& a, const RecordedAccess& b) {
    if (!coordinates.is_inside(a) || !coordinates.is_inside(b)) return false;
    const Times before = coordinates(a), after = coordinates(b);
    const auto parted = std::mismatch(before.begin(), before.end(), after.begin()).first;
    return parted - before.begin() == static_cast<std::ptrdiff_t>(level);
  };
}

Breaks run_swapped(const Coordinates& coordinates, std::size_t x, std::size_t y) {
  return [&coordinates, x, y](const RecordedAccess& a, const RecordedAccess& b) {
    if (!coordinates.is_inside(a) || !coordinates.is_inside(b)) return false;
    Times before = coordinates(a), after = coordinates(b);
    std::swap(before[x], before[y]);
    std::swap(after[x], after[y]);
    return after < before;
  };
}

TEST(dependence_fuzz, tables_stay_sound_through_split_fuse_and_reorder) {
  int proved = 0, legal = 0;
  for (unsigned seed = 0; seed < 20 && !::testing::Test::HasFailure(); ++seed) {
    RandomProgram program(seed);
    Checker checker(program);
    DistanceTable table = checker.dependences().distances();
    Coordinates coordinates(program.first.loops);
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t count) { return random() % count; };
    // As if it were symbolic, half of the time.
    const auto known = [&](std::int64_t extent) { return pick(2) ? INT64_MAX : extent; };
    std::string done;
    for (int step = 0; step < 5; ++step) {
      const Loops loops = coordinates.loops();
      const std::size_t at = pick(loops.size());
      const auto fresh = [&](const char* name) { return var(name + std::to_string(step)); };
      const auto kind = pick(3);
      if (kind == 0) {
        const auto outer = fresh("o"), inner = fresh("s");
        const auto factor = static_cast<std::int64_t>(1 + pick(4));
        coordinates.split(at, outer, inner, factor);
        table.split(loops[at], outer, inner, factor, known(coordinates.extent(at)));
        done += fmt::format(" split {} by {};", at, factor);
      } else if (kind == 1 && at + 1 < loops.size()) {
        const auto fused = fresh("f");
        table.fuse(loops[at], loops[at + 1], fused, known(coordinates.extent(at + 1)));
        coordinates.fuse(at, fused);
        done += fmt::format(" fuse {};", at);
      } else if (kind == 2 && loops.size() > 1) {
        const std::size_t other = (at + 1 + pick(loops.size() - 1)) % loops.size();
        const std::size_t x = std::min(at, other), y = std::max(at, other);
        const Loops order{loops[y], loops[x]};
        const bool is_broken = checker.is_broken(run_swapped(coordinates, x, y));
        legal += is_broken ? 0 : 1;
        if (!table.can_reorder(order)) continue;
        done += fmt::format(" swap {} and {};", x, y);
        EXPECT_FALSE(is_broken) << done << "\n" << script(program.root);
        ++proved;
        table.reorder(order);
        coordinates.swap(x, y);
      }
      for (std::size_t level = 0; level < coordinates.loops().size(); ++level) {
        const bool is_broken = checker.is_broken(run_level_at_once(coordinates, level));
        legal += is_broken ? 0 : 1;
        if (!table.is_parallel(coordinates.loops()[level])) continue;
        EXPECT_FALSE(is_broken) << done << " parallel " << level << "\n" << script(program.root);
        ++proved;
      }
    }
  }
  // Of what enumeration finds legal at small sizes, they prove most.
  EXPECT_GT(proved, legal * 2 / 3) << proved << " of " << legal;
}

// Moving a producer, by running both programs on values that tell what they were made of.

/// A statement in one iteration: what it reads and, last, what it writes.
struct RecordedInstance {
  std::vector<RecordedAccess> accesses;

  const RecordedAccess& write() const { return accesses.back(); }
};

using Memory = std::map<std::pair<const Object*, std::vector<std::int64_t>>, std::uint64_t>;

void execute(const RecordedInstance& instance, Memory& memory) {
  std::uint64_t value = reinterpret_cast<std::uintptr_t>(instance.write().statement);
  const auto mix = [&](std::uint64_t more) {
    value = (value ^ more) * 0x9E3779B97F4A7C15U;
    value ^= value >> 29;
  };
  for (const auto& [loop, at] : instance.write().values) mix(static_cast<std::uint64_t>(at));
  for (const RecordedAccess& access : instance.accesses) {
    if (!access.writes) mix(memory[{access.buffer, access.element}]);
  }
  memory[{instance.write().buffer, instance.write().element}] = value;
}

std::vector<RecordedInstance> instances_of(const Stmt& root, const Ptr<Var>& n, int size) {
  std::vector<RecordedInstance> result;
  RecordedInstance next;
  for (RecordedAccess& access : testing::enumerate(root, {{n.get(), size}})) {
    next.accesses.push_back(std::move(access));
    if (!next.write().writes) continue;
    result.push_back(std::move(next));
    next = {};
  }
  return result;
}

/// The memory after a run, but for what the producer writes.
Memory result_of(const std::vector<RecordedInstance>& run, const Object* produced) {
  Memory memory;
  for (const RecordedInstance& instance : run) execute(instance, memory);
  // Elements that were only read are 0.
  std::erase_if(memory, [&](const auto& element) {
    return element.first.first == produced || element.second == 0;
  });
  return memory;
}

/// The run in which the producer's instances come at the start of those iterations of the loop,
/// of one iteration of `around`, that read what they write.
std::vector<RecordedInstance> moved(const std::vector<RecordedInstance>& run,
                                    const Object* producer, const Object* produced,
                                    const Loops& path, const Ptr<Var>& around) {
  const auto iteration = [&](const RecordedInstance& instance) {
    Times result;
    for (const Ptr<Var>& loop : path) result.push_back(iteration_of(instance.write(), loop));
    return result;
  };
  const auto shared = [&](const RecordedInstance& instance) {
    return iteration_of(instance.write(), around);
  };
  const auto is_producer = [&](const RecordedInstance& i) {
    return i.write().statement == producer;
  };
  std::vector<RecordedInstance> result;
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (is_producer(run[i])) continue;
    const bool is_inside = iteration(run[i]).back() >= 0;
    const bool is_first = is_inside && (i == 0 || is_producer(run[i - 1]) ||
                                        iteration(run[i - 1]) != iteration(run[i]) ||
                                        shared(run[i - 1]) != shared(run[i]));
    if (is_first) {
      std::map<std::vector<std::int64_t>, bool> wanted;
      for (std::size_t k = i; k < run.size() && iteration(run[k]) == iteration(run[i]) &&
                              shared(run[k]) == shared(run[i]);
           ++k) {
        for (const RecordedAccess& access : run[k].accesses) {
          if (access.buffer == produced) wanted[access.element] = true;
        }
      }
      for (const RecordedInstance& other : run) {
        if (is_producer(other) && shared(other) == shared(run[i]) &&
            wanted.contains(other.write().element)) {
          result.push_back(other);
        }
      }
    }
    result.push_back(run[i]);
  }
  return result;
}

TEST(dependence_fuzz, moved_producers_compute_the_same) {
  int proved = 0, violated = 0, same = 0;
  for (unsigned seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int count) {
      return static_cast<int>(random() % static_cast<unsigned>(count));
    };
    const auto n = var("n"), t = var("t"), p = var("p"), u = var("u"), v = var("v");
    const auto x = decl_buffer({100}, f32, "X"), y = decl_buffer({100}, f32, "Y"),
               made = decl_buffer({100}, f32, "T");
    const bool is_around = pick(3) == 0;
    const auto near = [&](const Expr& e) {
      switch (pick(6)) {
        case 0: return 7 - e;
        case 1: return floordiv(e, 2);
        case 2: return e * 2;
        default: return e + (pick(3) - 1);
      }
    };
    const auto& input = pick(3) == 0 ? y : x;
    const Stmt computed = store(made, load(input, {near(p)}) + load(x, {near(p)}), {near(p)});
    const Stmt producer = for_loop(p, 0, pick(2) ? Expr(n) : Expr(6), computed);
    const auto consumer_index = [&] { return pick(3) == 0 ? near(v) : near(u); };
    std::vector<Stmt> body;
    for (int count = 1 + pick(2); count > 0; --count) {
      body.push_back(store(pick(2) ? x : y, load(made, {consumer_index()}) + load(y, {near(u)}),
                           {consumer_index()}));
    }
    const Stmt consumer = for_loop(u, 0, pick(2) ? Expr(n) : Expr(5), for_loop(v, 0, 3, seq(body)));
    const Stmt between = store(pick(2) ? x : y, float_imm(f32, 1), {pick(4)});
    std::vector<Stmt> parts{producer};
    if (pick(3) == 0) parts.push_back(between);
    parts.push_back(consumer);
    Stmt root = seq(parts);
    if (is_around) root = for_loop(t, 0, 3, root);

    Dependences dependences(root);
    const bool to_inner = pick(2) == 0;
    const DependenceAnswer answer = dependences.movable(producer, to_inner ? v : u);
    const Loops path = to_inner ? Loops{u, v} : Loops{u};
    bool is_same = true;
    for (int size = 0; size < 6; ++size) {
      const auto run = instances_of(root, n, size);
      const auto changed = moved(run, computed.get(), made.get(), path, t);
      is_same = is_same && result_of(run, made.get()) == result_of(changed, made.get());
    }
    same += is_same ? 1 : 0;
    if (answer.verdict == Verdict::proved) {
      EXPECT_TRUE(is_same) << "to " << path.back()->name << "\n" << script(root);
      ++proved;
    } else if (answer.verdict == Verdict::violated) {
      ASSERT_TRUE(answer.witness);
      ++violated;
    }
  }
  EXPECT_GT(proved, 50);
  EXPECT_GT(violated, 50);
  EXPECT_GT(proved, same / 3) << proved << " of " << same;
}

}  // namespace
}  // namespace loopsmith
