// SPDX-License-Identifier: Apache-2.0
// Programs whose indices are clamped or padded at borders, run as written, scheduled, and lowered.
#include "loopsmith/rules/peel_boundaries.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <string_view>

#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/rules/testing/scheduled.h"
#include "loopsmith/te/te.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace peel_boundaries_test {

using te::compute;
using te::placeholder;
using te::Tensor;
using testing::numbers;
using testing::TestArgument;

constexpr CpuModel machine{.vector_bytes = 32, .vector_registers = 16, .cores = 2};

/// How many minima and maxima differ from lane to lane once the program is lowered.
int clamped_vectors(const Ptr<PrimFunc>& func) {
  int count = 0;
  pre_order_visit(lower_function(func)->body, [&](const Ref& ref) {
    const bool is_choice = ref.is<Min>() || ref.is<Max>();
    count += is_choice && !Expr::from(ref).dtype().is_scalar();
    return true;
  });
  return count;
}

/// Whether loops go over borders.
bool has_borders(const Ptr<PrimFunc>& func) {
  bool found = false;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    const std::string_view name = loop ? std::string_view(loop->loop_var->name) : "";
    found =
        found || name.ends_with("_border") || name.ends_with("_first") || name.ends_with("_last");
    return !found;
  });
  return found;
}

Ptr<PrimFunc> checked(const Ptr<PrimFunc>& func, const std::vector<TestArgument>& arguments) {
  return testing::checked_schedule(func, arguments, machine);
}

Expr clamp(const Expr& value, const Expr& low, const Expr& high) {
  return max(min(value, high), low);
}

/// Sums of the columns from `x - radius` to `x + radius`, the nearest at the borders.
Ptr<PrimFunc> blur(const std::vector<Expr>& shape, int radius, const Expr& step) {
  const Tensor image = placeholder(shape, i32, "image");
  return te::create_prim_func({image, compute(
                                          shape,
                                          [&](const std::vector<Expr>& at) {
                                            Expr sum = int_imm(i32, 0);
                                            for (int d = -radius; d <= radius; ++d) {
                                              std::vector<Expr> from = at;
                                              from[1] = clamp(at[1] + d * step, 0, shape[1] - 1);
                                              sum = sum + image(from);
                                            }
                                            return sum;
                                          },
                                          "blurred")});
}

TEST(peel_boundaries, merges_short_channels_between_the_borders) {
  const Ptr<Var> rows = size_var("rows"), columns = size_var("columns"), channels = size_var("c");
  const auto func = blur({rows, columns, channels}, 2, 1);
  for (const int width : {1, 2, 3, 4, 5, 6, 29}) {
    for (const int cells : {1, 3, 17}) {
      checked(func, {numbers({5, width, cells}), numbers({5, width, cells})});
    }
  }
  EXPECT_EQ(clamped_vectors(with_default_schedule(func, machine)), 0);
}

TEST(peel_boundaries, loads_whole_vectors_between_the_borders) {
  const Ptr<Var> rows = size_var("rows"), columns = size_var("columns");
  for (const int radius : {1, 3}) {
    const auto func = blur({rows, columns}, radius, 1);
    EXPECT_EQ(clamped_vectors(with_default_schedule(func, machine)), 0);
    for (const int width : {1, 2, 5, 8, 41}) {
      checked(func, {numbers({3, width}), numbers({3, width})});
    }
    EXPECT_EQ(
        clamped_vectors(checked(blur({3, 50}, radius, 1), {numbers({3, 50}), numbers({3, 50})})),
        0);
  }
}

TEST(peel_boundaries, loads_whole_vectors_of_short_channels) {
  const auto func = checked(blur({5, 50, 3}, 2, 1), {numbers({5, 50, 3}), numbers({5, 50, 3})});
  EXPECT_TRUE(has_borders(func));
  EXPECT_EQ(clamped_vectors(func), 0);
}

TEST(peel_boundaries, finds_borders_of_symbolic_width) {
  const Ptr<Var> columns = size_var("columns"), step = size_var("step");
  const Tensor image = placeholder({3, columns}, i32, "image");
  const Tensor steps = placeholder({step}, i32, "steps");
  const Tensor out = compute(
      {3, columns},
      [&](Expr y, Expr x) { return image(y, clamp(x - step, 0, columns - 1)) + steps(0); }, "out");
  const auto func = te::create_prim_func({image, steps, out});
  for (const int width : {1, 4, 30}) {
    for (const int by : {1, 3, 40}) {
      checked(func, {numbers({3, width}), numbers({by}), numbers({3, width})});
    }
  }
}

TEST(peel_boundaries, cuts_a_long_row_that_is_the_whole_nest) {
  const Tensor a = placeholder({50000}, i32, "a");
  const auto func = te::create_prim_func(
      {a, compute({50000}, [&](Expr x) { return a(clamp(x - 3, 0, 49000)) + a(x); }, "b")});
  EXPECT_EQ(clamped_vectors(checked(func, {numbers({50000}), numbers({50000})})), 0);
}

TEST(peel_boundaries, leaves_zeros_around_a_picture_to_its_borders) {
  const Ptr<Var> rows = size_var("rows"), columns = size_var("columns");
  for (const int cells : {3, 5}) {
    const Tensor image = placeholder({rows, columns, cells}, i32, "image");
    const Tensor out = compute(
        {rows + 2, columns + 4, cells},
        [&](Expr y, Expr x, Expr c) {
          return if_then_else(1 <= y && y < rows + 1 && x >= 2 && columns > x - 2,
                              image(y - 1, x - 2, c), 7);
        },
        "out");
    const auto func = te::create_prim_func({image, out});
    for (const int width : {1, 6, 33}) {
      checked(func, {numbers({4, width, cells}), numbers({6, width + 4, cells})});
    }
  }
}

TEST(peel_boundaries, cuts_strided_and_falling_conditions) {
  for (const int cells : {1, 3}) {
    for (const int width : {2, 7, 40}) {
      const Tensor image = placeholder({width, cells}, i32, "image");
      const auto pair = [&](Expr x, Expr c) {
        return image(max(min(2 * x, width - 1) - 1, 0), c) * 100 + image(min(width - 1, x + 1), c) +
               select(width - x > 3, 1, 0) + select(5 <= x, 2, 0) + select(x * 3 > 7, 4, 0) +
               select(x != 4, 8, 0) + select(2 >= width - x, 16, 0);
      };
      checked(te::create_prim_func({image, compute({width, cells}, pair, "out")}),
              {numbers({width, cells}), numbers({width, cells})});
    }
  }
}

TEST(peel_boundaries, keeps_what_random_borders_compute) {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int cut = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const int width = draw(1, 40), cells = draw(1, 4), rows = draw(1, 3);
    const bool is_symbolic = draw(0, 1) == 1;
    const Expr columns = is_symbolic ? Expr(size_var("columns")) : int_imm(i32, width);
    const Tensor image = placeholder({rows, columns, cells}, i32, "image");
    const auto position = [&](const Expr& x) {
      const int scale = draw(0, 6) == 0 ? draw(-2, 3) : 1;
      return scale * x + draw(-4, 4);
    };
    const auto limit = [&] { return draw(0, 1) == 1 ? Expr(draw(-3, 9)) : columns - draw(-3, 9); };
    const auto holds = [&](const Expr& x) -> Expr {
      const Expr a = position(x), b = limit();
      const int kind = draw(0, 7);
      if (kind == 0) return a < b;
      if (kind == 1) return a <= b;
      if (kind == 2) return a > b;
      if (kind == 3) return a >= b;
      if (kind == 4) return b < a;
      if (kind == 5) return b >= a;
      return kind == 6 ? a == b : a != b;
    };
    const Tensor out = compute(
        {rows, columns, cells},
        [&](Expr y, Expr x, Expr c) {
          Expr sum = int_imm(i32, 0);
          for (int k = draw(1, 3); k > 0; --k) {
            Expr from = draw(0, 1) == 1 ? min(position(x), limit()) : max(limit(), position(x));
            from = clamp(from, 0, columns - 1);
            const Expr element = image(y, from, c) * draw(1, 3);
            sum = sum + (draw(0, 1) == 1 ? element : if_then_else(holds(x), element, 5));
          }
          return sum;
        },
        "out");
    const auto func = te::create_prim_func({image, out});
    const TestArgument pixels = numbers({rows, width, cells});
    cut += has_borders(checked(func, {pixels, pixels}));
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(cut, 40);
}

TEST(peel_boundaries, leaves_what_memory_decides) {
  const Tensor image = placeholder({3, 40}, i32, "image"), limit = placeholder({3}, i32, "limit");
  const Tensor out = compute(
      {3, 40}, [&](Expr y, Expr x) { return image(y, clamp(min(x, limit(y)), 0, 39)); }, "out");
  checked(te::create_prim_func({image, limit, out}),
          {numbers({3, 40}), numbers({3}), numbers({3, 40})});
}

TEST(peel_boundaries, finds_no_border_where_a_scalar_overflows) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const Ptr<Var> columns = size_var("columns"), alpha = var("alpha", i32);
  const Tensor image = placeholder({columns}, i32, "image");
  const std::vector<std::function<Expr(Expr)>> values{
      [&](const Expr& x) { return max(x - 3, alpha); },
      [&](const Expr& x) { return select(x < alpha, x, -x); },
      [&](const Expr& x) { return max(x, alpha); }};
  for (const auto& value : values) {
    const Tensor out =
        compute({columns}, [&](Expr x) { return max(image(max(x - 1, 0)), value(x)); });
    const auto func = te::create_prim_func({alpha, image, out});
    for (const std::int64_t each : {-most - 1, -most, std::int64_t{-2}, std::int64_t{5},
                                    std::int64_t{19}, most - 2, most - 1, most}) {
      checked(func, {{.scalar = each}, numbers({40}), numbers({40})});
    }
  }
}

}  // namespace peel_boundaries_test
}  // namespace loopsmith
