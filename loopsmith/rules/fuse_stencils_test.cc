// SPDX-License-Identifier: Apache-2.0
// Filters of images, run as written, in strips, and lowered.
#include "loopsmith/rules/fuse_stencils.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/rules/testing/scheduled.h"
#include "loopsmith/te/te.h"

namespace loopsmith {
namespace fuse_stencils_test {

using te::compute;
using te::placeholder;
using te::Tensor;
using testing::numbers;

/// The caches of its cores hold no image of these tests.
constexpr CpuModel machine{.vector_bytes = 32,
                           .vector_registers = 16,
                           .cores = 2,
                           .thread_start_cycles = 1000,
                           .core_cache_bytes = 1 << 10,
                           .cache_bytes = 1 << 20};

int count(const std::string& text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string steps_of(const std::vector<Tensor>& tensors, const CpuModel& on = machine) {
  const auto func = te::create_prim_func(std::vector<Ref>(tensors.begin(), tensors.end()));
  std::vector<testing::TestArgument> arguments;
  for (const Tensor& tensor : tensors) {
    std::vector<std::int64_t> shape;
    for (const Expr& extent : tensor->shape) shape.push_back(*as_int(extent));
    arguments.push_back(numbers(shape));
  }
  testing::checked_schedule(func, arguments, on);
  return default_schedule(func, on, /*leaves_holes=*/false).trace().text();
}

Tensor image(std::vector<int> shape, DataType type = f32) {
  std::vector<Expr> extents(shape.begin(), shape.end());
  return placeholder(extents, type, "A");
}

/// The sum of five neighbours down, or across; too many to be computed again for each.
Tensor filtered(const Tensor& from, int rows, int columns, bool is_down, const char* name) {
  return compute(
      {rows, columns},
      [&](const Expr& i, const Expr& j) {
        Expr sum = from(i, j);
        for (int d = 1; d < 5; ++d) sum = sum + (is_down ? from(i + d, j) : from(i, j + d));
        return sum;
      },
      name);
}

TEST(fuse_stencils, computes_what_strips_read_in_strips) {
  for (const auto& [rows, columns] : {std::pair{200, 48}, {197, 43}, {4, 81}, {203, 101}}) {
    const Tensor a = image({rows + 4, columns + 4});
    const Tensor across = filtered(a, rows + 4, columns, false, "across");
    const Tensor down = filtered(across, rows, columns, true, "down");
    const std::string steps = steps_of({a, down});
    EXPECT_EQ(count(steps, "sch.compute_at("), rows < 10 ? 0 : 1) << steps;
    EXPECT_EQ(count(steps, "sch.parallel("), rows < 10 ? 0 : 1) << steps;
  }
}

TEST(fuse_stencils, takes_chains_of_stages) {
  const Tensor a = image({252, 40});
  const Tensor first = filtered(a, 248, 40, true, "first");
  const Tensor second = filtered(first, 244, 40, true, "second");
  const Tensor third = filtered(second, 240, 40, true, "third");
  EXPECT_EQ(count(steps_of({a, third}), "sch.compute_at("), 2);
}

TEST(fuse_stencils, follows_strides_and_shared_stages) {
  const Tensor a = image({404, 44});
  const Tensor across = filtered(a, 404, 40, false, "across");
  const Tensor half = compute(
      {200, 40},
      [&](const Expr& i, const Expr& j) {
        return across(2 * i, j) + 2 * across(2 * i + 1, j) + 3 * across(2 * i + 2, j) +
               across(2 * i + 4, j) + across(2 * i + 3, j);
      },
      "half");
  const Tensor squares = compute(
      {200, 40}, [&](const Expr& i, const Expr& j) { return half(i, j) * across(2 * i + 1, j); },
      "squares");
  EXPECT_GE(count(steps_of({a, squares}), "sch.compute_at("), 1);
}

TEST(fuse_stencils, takes_planes_one_by_one) {
  const Tensor a = image({3, 88, 40});
  const auto plane = [&](const Tensor& from, int rows, const char* name) {
    return compute(
        {3, rows, 40},
        [&](const Expr& c, const Expr& i, const Expr& j) {
          Expr sum = from(c, i, j);
          for (int d = 1; d < 5; ++d) sum = sum + from(c, i + d, j) * d;
          return sum;
        },
        name);
  };
  const Tensor first = plane(a, 84, "first");
  EXPECT_EQ(count(steps_of({a, plane(first, 80, "second")}), "sch.compute_at("), 1);
}

TEST(fuse_stencils, leaves_what_others_read) {
  const Tensor a = image({204, 44});
  const Tensor across = filtered(a, 204, 40, false, "across");
  const Tensor down = filtered(across, 200, 40, true, "down");
  EXPECT_EQ(count(steps_of({a, across, down}), "sch.compute_at("), 0);
  const te::IterVar k = te::reduce_axis(0, 204, "k");
  const Tensor sums =
      compute({40}, [&](const Expr& j) { return te::sum(across(k, j), {k}); }, "sums");
  EXPECT_EQ(count(steps_of({a, down, sums}), "sch.compute_at("), 0);
}

TEST(fuse_stencils, leaves_images_that_a_cache_holds) {
  const Tensor a = image({204, 44});
  const Tensor across = filtered(a, 204, 40, false, "across");
  CpuModel large = machine;
  large.core_cache_bytes = 1 << 20;
  EXPECT_EQ(count(steps_of({a, filtered(across, 200, 40, true, "down")}, large), "sch.compute_at("),
            0);
}

}  // namespace fuse_stencils_test
}  // namespace loopsmith
