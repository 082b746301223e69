// SPDX-License-Identifier: Apache-2.0
// How long the block bindings of split and fused loops take to detect and to simplify.
//
//   iter_map [repetitions]      the default is 20000
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/ir/operators.h"

using namespace loopsmith;

namespace {

struct Case {
  std::string name;
  std::vector<Iterator> iterators;
  std::vector<Expr> bindings;
  IterMapOptions options;
};

/// Of processor time, which other work on the machine does not count into.
double microseconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC * 1e6;
}

/// A matrix product of 1024^3, its spatial loops tiled twice; then the tiles fused.
std::vector<Case> cases() {
  std::vector<Case> result;
  const Ptr<Var> i0 = var("i0"), i1 = var("i1"), i2 = var("i2"), j0 = var("j0"), j1 = var("j1"),
                 j2 = var("j2"), k0 = var("k0"), k1 = var("k1"), f = var("f");
  const Expr i = (i0 * 16 + i1) * 4 + i2;
  const Expr j = (j0 * 8 + j1) * 8 + j2;
  const std::vector<Iterator> tiles{{i0, 0, 16}, {i1, 0, 16}, {i2, 0, 4},  {j0, 0, 16},
                                    {j1, 0, 8},  {j2, 0, 8},  {k0, 0, 32}, {k1, 0, 32}};
  result.push_back({"tiled matmul", tiles, {i, j, k0 * 32 + k1}, {}});
  const std::vector<Iterator> fused{{f, 0, 256}, {i1, 0, 16}, {i2, 0, 4}, {j1, 0, 8},
                                    {j2, 0, 8},  {k0, 0, 32}, {k1, 0, 32}};
  result.push_back(
      {"fused tiles",
       fused,
       {(floordiv(f, 16) * 16 + i1) * 4 + i2, (floormod(f, 16) * 8 + j1) * 8 + j2, k0 * 32 + k1},
       {}});
  const std::vector<Iterator> guarded{{i0, 0, 8}, {i1, 0, 14}};
  result.push_back({"split with a guard",
                    guarded,
                    {floordiv(i0 * 14 + i1, 10), floormod(i0 * 14 + i1, 10)},
                    {.predicate = i0 * 14 + i1 < 100}});
  const Ptr<Var> n = size_var("n");
  const std::vector<Iterator> dynamic{{i0, 0, floordiv(n + 15, 16)}, {i1, 0, 16}};
  result.push_back({"symbolic extent", dynamic, {i0 * 16 + i1}, {}});
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 20000;
  for (const Case& c : cases()) {
    Analyzer analyzer;
    const auto time = [&](auto&& work) {
      work();
      const double start = microseconds();
      for (int i = 0; i < repetitions; ++i) work();
      return (microseconds() - start) / repetitions;
    };
    const double detect =
        time([&] { return detect_iter_map(c.bindings, c.iterators, c.options, analyzer).ok(); });
    const double simplify = time(
        [&] { return iter_map_simplify(c.bindings, c.iterators, c.options, analyzer).size(); });
    fmt::print("{:20} {} bindings: detect {:6.2f} us, simplify {:6.2f} us\n", c.name,
               c.bindings.size(), detect, simplify);
  }
}
