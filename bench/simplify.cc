// SPDX-License-Identifier: Apache-2.0
// How many random index expressions the analyzer simplifies in a second.
//
//   simplify [expressions]      the default is 200000
//
// The expressions are those of split, fused and flattened loops: sums of products of bounded loop
// variables under floordiv and floormod, of 5 to 15 nodes each; they are built before the clock
// runs.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"

using namespace loopsmith;

namespace {

struct Loop {
  Ptr<Var> var;
  int extent;
};

class Indices {
 public:
  explicit Indices(unsigned seed) : random_(seed) {
    static constexpr int extents[] = {2, 4, 8, 16, 32, 64, 3, 7};
    for (int i = 0; i < 8; ++i) loops_.push_back({var(fmt::format("i{}", i)), extents[i]});
  }

  const std::vector<Loop>& loops() const { return loops_; }

  Expr next() {
    const Expr index = mixed_radix();
    switch (pick(6)) {
      case 0: return floordiv(index, factor());
      case 1: return floormod(index, factor());
      case 2: return floormod(floordiv(index, factor()), factor());
      case 3: return floordiv(index, factor()) * factor() + floormod(index, factor());
      case 4: return floordiv(index + pick(32), factor()) - floordiv(loop().var, factor());
      default: return index + loop().var * factor() - pick(8);
    }
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  const Loop& loop() { return loops_[static_cast<std::size_t>(pick(8))]; }
  int factor() {
    static constexpr int factors[] = {2, 4, 8, 16, 32, 64, 3, 7, 128, 256};
    return factors[pick(10)];
  }
  /// (a * |b| + b) * |c| + c: what fusing gives.
  Expr mixed_radix() {
    Expr index = loop().var;
    for (int digits = 1 + pick(2); digits > 0; --digits) {
      const Loop& inner = loop();
      index = index * (pick(4) == 0 ? factor() : inner.extent) + inner.var;
    }
    return index;
  }

  std::mt19937 random_;
  std::vector<Loop> loops_;
};

/// Of processor time, which other work on the machine does not count into.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 200000;
  Indices indices(1);
  std::vector<Expr> expressions;
  for (int i = 0; i < count; ++i) expressions.push_back(indices.next());

  const double cold = processor_seconds();
  Analyzer().simplify(expressions[0]);
  fmt::print("first expression of the process: {:.0f} us\n", (processor_seconds() - cold) * 1e6);

  const double start = processor_seconds();
  Analyzer analyzer;
  for (const Loop& loop : indices.loops()) analyzer.bind(loop.var, range(0, loop.extent));
  std::size_t changed = 0;
  for (const Expr& expr : expressions) changed += analyzer.simplify(expr).same_as(expr) ? 0 : 1;
  const double taken = processor_seconds() - start;
  fmt::print(
      "{} expressions in {:.3f} s of processor time: {:.0f} a second, {:.1f} % became simpler\n",
      count, taken, count / taken, 100.0 * static_cast<double>(changed) / count);
}
