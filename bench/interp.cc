// SPDX-License-Identifier: Apache-2.0
// How many statements the reference interpreter runs in a second of one processor's time.
//
//   interp [extent]      the default is 128
//
// A statement is a store with all that it reads: bounds, initialisation and overflow are checked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "loopsmith/interp/interp.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/runtime/ndarray.h"

using namespace loopsmith;

namespace {

constexpr double goal_per_second = 20e6;

struct Case {
  const char* name;
  std::vector<Ptr<Buffer>> buffers;
  Stmt body;
  double statements;  ///< How many stores the program makes.
};

Ptr<PrimFunc> function_of(const Case& each) {
  PrimFunc func;
  for (const Ptr<Buffer>& buffer : each.buffers) {
    func.params.push_back(var(buffer->name + "_handle", handle_type));
    func.buffer_map.push_back(buffer);
  }
  func.body = each.body;
  return make(std::move(func));
}

/// Statements in a second.
double rate(const Case& each, interp::Mode mode) {
  const Ptr<PrimFunc> func = function_of(each);
  std::vector<NDArray> arrays;
  for (const Ptr<Buffer>& buffer : each.buffers) {
    std::vector<std::int64_t> shape;
    for (const Expr& extent : buffer->shape) shape.push_back(*as_int(extent));
    const DLDataType field{kDLUInt, 64, 1};
    arrays.push_back(NDArray::zeros(shape, mode == interp::Mode::ring ? field : dtype::float32));
  }
  std::vector<CallArgument> arguments;
  for (const NDArray& array : arrays) arguments.push_back(array);
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::clock_t start = std::clock();
    interp::run(func, arguments, {.mode = mode});
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    best = std::max(best, each.statements / seconds);
  }
  return best;
}

std::vector<Case> cases(int n) {
  const auto matrix = [&](const char* name) { return decl_buffer({n, n}, f32, name); };
  const auto i = var("i"), j = var("j"), k = var("k");
  const auto nest = [&](Stmt body, const std::vector<Ptr<Var>>& loops) {
    for (std::size_t l = loops.size(); l-- > 0;) body = for_loop(loops[l], 0, n, body);
    return body;
  };
  const auto a = matrix("A"), b = matrix("B"), c = matrix("C");
  const double square = static_cast<double>(n) * n;
  const Expr zero = float_imm(f32, 0);
  const Stmt product = store(c, load(c, {i, j}) + load(a, {i, k}) * load(b, {k, j}), {i, j});
  const Stmt sum = store(c, load(a, {i, j}) + load(b, {i, j}), {i, j});
  const Stmt guarded = store(c,
                             if_then_else(Expr(j) >= 1 && Expr(j) < n - 1,
                                          load(a, {i, j - 1}) + load(a, {i, j + 1}), zero),
                             {i, j});
  return {{"fill", {c}, nest(store(c, zero, {i, j}), {k, i, j}), square * n},
          {"sum of matrices", {a, b, c}, nest(sum, {k, i, j}), square * n},
          {"product of matrices", {a, b, c}, nest(product, {i, j, k}), square * n},
          {"stencil", {a, c}, nest(guarded, {k, i, j}), square * n},
          {"sum of matrices, parallel",
           {a, b, c},
           for_loop(k, 0, n, for_loop(i, 0, n, for_loop(j, 0, n, sum), ForKind::parallel)),
           square * n}};
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 128;
  bool met = true;
  for (const Case& each : cases(n)) {
    const double typed = rate(each, interp::Mode::typed);
    const double ring = rate(each, interp::Mode::ring);
    fmt::print("{:28} {:6.1f} M/s typed {:6.1f} M/s ring\n", each.name, typed / 1e6, ring / 1e6);
    met = met && typed >= goal_per_second;
  }
  fmt::print("goal: {} M/s typed: {}\n", goal_per_second / 1e6, met ? "met" : "missed");
}
