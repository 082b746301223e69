// SPDX-License-Identifier: Apache-2.0
// Multiplies two matrices through the installed C++ package, and prints the median time of a call
// in seconds and the largest error against double precision over a few rows.
#include <loopsmith/loopsmith.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

namespace ls = loopsmith;
namespace te = loopsmith::te;

namespace {

constexpr int size = 1024;

ls::NDArray random_matrix(unsigned seed) {
  ls::NDArray matrix = ls::NDArray::empty({size, size});
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::generate_n(matrix.data<float>(), matrix.size(), [&] { return uniform(generator); });
  return matrix;
}

double largest_error(const ls::NDArray& a, const ls::NDArray& b, const ls::NDArray& c) {
  double largest = 0;
  for (std::int64_t i = 0; i < size; i += 101) {
    for (std::int64_t j = 0; j < size; ++j) {
      double exact = 0;
      for (std::int64_t k = 0; k < size; ++k) {
        exact += static_cast<double>(a.data<float>()[i * size + k]) * b.data<float>()[k * size + j];
      }
      largest = std::max(largest, std::abs(exact - c.data<float>()[i * size + j]));
    }
  }
  return largest;
}

}  // namespace

int main() {
  try {
    const te::Tensor a = te::placeholder({size, size}, ls::f32, "A");
    const te::Tensor b = te::placeholder({size, size}, ls::f32, "B");
    const te::IterVar k = te::reduce_axis(0, size, "k");
    const te::Tensor c = te::compute(
        {size, size}, [&](ls::Expr i, ls::Expr j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
    const ls::Module module = ls::build(te::create_prim_func({a, b, c}));

    ls::NDArray x = random_matrix(1);
    ls::NDArray y = random_matrix(2);
    ls::NDArray z = ls::NDArray::empty({size, size});
    const ls::CallArgument arguments[] = {x, y, z};
    const ls::Timing timing = module.entry().time(arguments);
    std::printf("%.9f %.3e\n", timing.median, largest_error(x, y, z));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
