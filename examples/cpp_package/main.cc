// SPDX-License-Identifier: Apache-2.0
#include <loopsmith/loopsmith.h>

#include <cmath>
#include <cstdio>

namespace ls = loopsmith;
namespace te = loopsmith::te;

/// Writes a matrix product as a tensor expression, compiles it, and checks one row of the result.
int main() {
  constexpr int n = 128;
  te::Tensor A = te::placeholder({n, n}, ls::f32, "A");
  te::Tensor B = te::placeholder({n, n}, ls::f32, "B");
  te::IterVar k = te::reduce_axis(0, n, "k");
  te::Tensor C = te::compute(
      {n, n}, [&](ls::Expr i, ls::Expr j) { return te::sum(A(i, k) * B(k, j), k); }, "C");
  ls::Module module = ls::build(te::create_prim_func({A, B, C}));

  ls::NDArray a = ls::NDArray::empty({n, n});
  ls::NDArray b = ls::NDArray::empty({n, n});
  ls::NDArray c = ls::NDArray::empty({n, n});
  for (int i = 0; i < n * n; ++i) {
    a.data<float>()[i] = static_cast<float>(i % 7 - 3);
    b.data<float>()[i] = static_cast<float>(i % 5 - 2);
  }
  module.entry()(a, b, c);

  double largest_error = 0;
  for (int j = 0; j < n; ++j) {
    double expected = 0;
    for (int x = 0; x < n; ++x) expected += a.data<float>()[x] * b.data<float>()[x * n + j];
    largest_error = std::fmax(largest_error, std::abs(expected - c.data<float>()[j]));
  }
  std::printf("matmul of %d x %d: largest error %g\n", n, n, largest_error);

  try {
    module.entry()(a, b);
  } catch (const ls::UserError& error) {
    std::printf("%s\n", error.what());
  }
  return largest_error == 0 ? 0 : 1;
}
