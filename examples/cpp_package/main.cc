// SPDX-License-Identifier: Apache-2.0
#include <loopsmith/loopsmith.h>

#include <cmath>
#include <cstdio>

namespace ls = loopsmith;
namespace te = loopsmith::te;

/// Writes a matrix product as a tensor expression, schedules and compiles it, and checks one row of
/// the result.
int main() {
  constexpr int n = 128;
  te::Tensor A = te::placeholder({n, n}, ls::f32, "A");
  te::Tensor B = te::placeholder({n, n}, ls::f32, "B");
  te::IterVar k = te::reduce_axis(0, n, "k");
  te::Tensor C = te::compute(
      {n, n}, [&](ls::Expr i, ls::Expr j) { return te::sum(A(i, k) * B(k, j), k); }, "C");

  ls::tir::Schedule sch(te::create_prim_func({A, B, C}));
  auto [i, j, sum] = sch.get_loops("C").take<3>();
  auto [i_outer, i_inner] = sch.split(i, {ls::infer, 32}).take<2>();
  auto [j_outer, j_inner] = sch.split(j, {ls::infer, 16}).take<2>();
  sch.reorder({i_outer, j_outer, sum, i_inner, j_inner});
  sch.parallel(i_outer);
  sch.vectorize(j_inner);
  try {
    sch.split(sum, {ls::infer, 0});
  } catch (const ls::UserError& error) {
    std::printf("%s\n", error.problem().c_str());
  }
  ls::Module module = ls::build(sch);

  ls::NDArray a = ls::NDArray::empty({n, n});
  ls::NDArray b = ls::NDArray::empty({n, n});
  ls::NDArray c = ls::NDArray::empty({n, n});
  for (int e = 0; e < n * n; ++e) {
    a.data<float>()[e] = static_cast<float>(e % 7 - 3);
    b.data<float>()[e] = static_cast<float>(e % 5 - 2);
  }
  module.entry()(a, b, c);

  double largest_error = 0;
  for (int column = 0; column < n; ++column) {
    double expected = 0;
    for (int x = 0; x < n; ++x) expected += a.data<float>()[x] * b.data<float>()[x * n + column];
    largest_error = std::fmax(largest_error, std::abs(expected - c.data<float>()[column]));
  }
  std::printf("matmul of %d x %d: largest error %g\n", n, n, largest_error);

  try {
    module.entry()(a, b);
  } catch (const ls::UserError& error) {
    std::printf("%s\n", error.what());
  }
  return largest_error == 0 ? 0 : 1;
}
