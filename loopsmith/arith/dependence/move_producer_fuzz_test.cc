// SPDX-License-Identifier: Apache-2.0
// Moving a producer, by running both programs on values that tell what they were made of.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/arith/dependence/oracle_test.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

using namespace testing;

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
  for (RecordedAccess& access : enumerate(root, {{n.get(), size}})) {
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

TEST(move_producer_fuzz, moved_producers_compute_the_same) {
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
