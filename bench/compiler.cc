// SPDX-License-Identifier: Apache-2.0
// How long it takes from tensor expressions to a function that can be called, of the programs that
// are named, of all by default. Medians.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "loopsmith/codegen/llvm/compile.h"
#include "loopsmith/codegen/llvm/loader.h"
#include "loopsmith/driver/build.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace {

constexpr int rounds = 31;

Ptr<PrimFunc> add() {
  const Expr n = te::size_var("n");
  const te::Tensor a = te::placeholder({n}, f32, "A"), b = te::placeholder({n}, f32, "B");
  const te::Tensor c = te::compute({n}, [&](const Expr& i) { return a(i) + b(i); }, "C");
  return te::create_prim_func({a, b, c});
}

Ptr<PrimFunc> softmax() {
  const int rows = 4096, columns = 4096;
  const te::Tensor a = te::placeholder({rows, columns}, f32, "A");
  const te::IterVar k = te::reduce_axis(0, columns, "k"), l = te::reduce_axis(0, columns, "l");
  const te::Tensor most =
      te::compute({rows}, [&](const Expr& i) { return te::max(a(i, k), {k}); }, "most");
  const te::Tensor powers = te::compute(
      {rows, columns},
      [&](const Expr& i, const Expr& j) { return call(op("exp"), {a(i, j) - most(i)}); }, "powers");
  const te::Tensor total =
      te::compute({rows}, [&](const Expr& i) { return te::sum(powers(i, l), {l}); }, "total");
  const te::Tensor out = te::compute(
      {rows, columns}, [&](const Expr& i, const Expr& j) { return powers(i, j) / total(i); },
      "softmax");
  return te::create_prim_func({a, out});
}

Ptr<PrimFunc> matmul() {
  const int size = 1024;
  const te::Tensor a = te::placeholder({size, size}, f32, "A");
  const te::Tensor b = te::placeholder({size, size}, f32, "B");
  const te::IterVar k = te::reduce_axis(0, size, "k");
  const te::Tensor c = te::compute(
      {size, size}, [&](const Expr& i, const Expr& j) { return te::sum(a(i, k) * b(k, j), {k}); },
      "C");
  return te::create_prim_func({a, b, c});
}

Ptr<PrimFunc> conv2d() {
  const int batch = 1, channels = 64, size = 56, kernel = 3;
  const te::Tensor in = te::placeholder({batch, channels, size + 2, size + 2}, f32, "in");
  const te::Tensor weight = te::placeholder({channels, channels, kernel, kernel}, f32, "weight");
  const te::IterVar c = te::reduce_axis(0, channels, "c");
  const te::IterVar p = te::reduce_axis(0, kernel, "p"), q = te::reduce_axis(0, kernel, "q");
  const te::Tensor out = te::compute(
      {batch, channels, size, size},
      [&](const Expr& n, const Expr& f, const Expr& y, const Expr& x) {
        return te::sum(in(n, c, y + p, x + q) * weight(f, c, p, q), {c, p, q});
      },
      "out");
  return te::create_prim_func({in, weight, out});
}

/// Of this thread, so that what else the machine does counts for little.
double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double milliseconds(const std::function<void()>& run) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const double start = processor_milliseconds();
    run();
    times.push_back(processor_milliseconds() - start);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[rounds / 2];
}

void measure(std::string_view name, const std::function<Ptr<PrimFunc>()>& express) {
  const Target target("llvm -mcpu=native");
  const Ptr<PrimFunc> func = express();
  const Ptr<PrimFunc> scheduled = schedule_by_rule(func, target);
  const Ptr<PrimFunc> lowered = lower(scheduled, target);
  const CodeRequest request{{lowered}, target, {}};
  const std::vector<char> object = compile_object(request);
  fmt::print("{:10}{:10.2f}{:10.2f}{:10.2f}{:10.2f}{:10.2f}{:10.2f}\n", name,
             milliseconds([&] { (void)express(); }),
             milliseconds([&] { (void)schedule_by_rule(func, target); }),
             milliseconds([&] { (void)lower(scheduled, target); }),
             milliseconds([&] { (void)compile_object(request); }),
             milliseconds([&] { (void)LoadedObject(object); }),
             milliseconds([&] { (void)build(func, target); }));
}

}  // namespace
}  // namespace loopsmith

int main(int count, char** arguments) {
  using namespace loopsmith;
  const std::span<char*> names(arguments + 1, static_cast<std::size_t>(count - 1));
  const std::pair<std::string_view, Ptr<PrimFunc> (*)()> programs[] = {
      {"add", add}, {"softmax", softmax}, {"matmul", matmul}, {"conv2d", conv2d}};
  fmt::print("{:10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}  (ms)\n", "", "express", "schedule",
             "lower", "compile", "load", "build");
  for (const auto& [name, express] : programs) {
    if (names.empty() || std::ranges::find(names, name) != names.end()) measure(name, express);
  }
}
