// SPDX-License-Identifier: Apache-2.0
// Memory that iterations may have for themselves, against plain enumeration: each reads only what
// it wrote itself before.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "loopsmith/arith/dependence/oracle_test.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

using namespace testing;

/// for i: some loops and statements that write and read T, and only store to B what they read.
class RandomScratch {
 public:
  explicit RandomScratch(unsigned seed) : random_(seed) {
    std::vector<Stmt> parts;
    for (int count = 2 + pick(3); count > 0; --count) parts.push_back(part());
    root = for_loop(i, 0, 3, seq(std::move(parts)));
  }

  Ptr<Var> i = var("i"), n = var("n");
  Ptr<Buffer> t = decl_buffer({20}, f32, "T"), b = decl_buffer({3, 20}, f32, "B");
  Stmt root;

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  Stmt part() {
    if (pick(4) == 0) return store(t, float_imm(f32, 1), {pick(2)});
    const auto j = var("j");
    Stmt body = pick(3) == 0 ? store(b, load(t, {near(j)}), {i, j})
                : pick(2)    ? store(t, load(t, {near(j)}), {near(j)})
                             : store(t, load(b, {i, j}), {near(j)});
    if (pick(6) == 0) body = make(IfThenElse{.condition = j > pick(3), .then_case = body});
    return make(For{.loop_var = j,
                    .min = pick(3),
                    .extent = pick(3) == 0 ? Expr(n) : Expr(4 + pick(2)),
                    .step = pick(6) == 0 ? 2 : 1,
                    .body = std::move(body)});
  }

  Expr near(const Expr& e) {
    switch (pick(6)) {
      case 0: return e + 1;
      case 1: return floordiv(e, 2);
      case 2: return 6 - e;
      case 3: return e - 1;
      default: return e;
    }
  }

  std::mt19937 random_;
};

/// True when no iteration reads of the scratch what it did not write.
bool is_own(const RandomScratch& program, int size) {
  std::map<std::int64_t, std::set<std::vector<std::int64_t>>> written;
  for (const RecordedAccess& access : enumerate(program.root, {{program.n.get(), size}})) {
    if (access.buffer != program.t.get()) continue;
    auto& own = written[iteration_of(access, program.i)];
    if (access.writes) {
      own.insert(access.element);
    } else if (!own.contains(access.element)) {
      return false;
    }
  }
  return true;
}

TEST(private_memory_fuzz, iterations_read_what_they_wrote) {
  int proved = 0, own = 0;
  for (unsigned seed = 0; seed < 400 && !::testing::Test::HasFailure(); ++seed) {
    const RandomScratch program(seed);
    Dependences dependences(program.root, {.local_buffers = {program.t}});
    const DependenceAnswer answer = dependences.parallelizable(program.i);
    bool is_right = true;
    for (int size = 0; size < 6; ++size) is_right = is_right && is_own(program, size);
    own += is_right ? 1 : 0;
    if (answer.verdict != Verdict::proved || answer.private_buffers.empty()) continue;
    EXPECT_TRUE(is_right) << script(program.root);
    ++proved;
  }
  EXPECT_GT(proved, 10);
  // Some are not needed, as no two iterations access an element.
  EXPECT_GT(proved, own / 2) << proved << " of " << own;
}

}  // namespace
}  // namespace loopsmith
