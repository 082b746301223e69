// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/clamped_loads.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct ClampedLoads : ::testing::Test {
  static constexpr int lanes = 8;
  Ptr<Buffer> a = decl_buffer({100}, f32, "A"), bytes = decl_buffer({100}, i8, "bytes");
  Ptr<Var> i = var("i");

  Expr ramp(const Expr& base) const {
    return make(Ramp{.base = base, .stride = 1, .lanes = lanes});
  }
  static Expr all(const Expr& value) { return broadcast(value, lanes); }
  static Expr at(const Ptr<Buffer>& buffer, const Expr& index, const Expr& mask = nullptr) {
    BufferLoad node = *load(buffer, {index}).as<BufferLoad>();
    node.predicate = mask;
    return make(std::move(node));
  }
  static Expr rewritten(const Expr& load) {
    return without_idle_clamps(Ptr<BufferLoad>(load.as<BufferLoad>()));
  }
};

TEST_F(ClampedLoads, load_lanes_past_the_bound_once) {
  const Expr past = rewritten(at(a, min(ramp(i), all(50)) + all(3)));
  EXPECT_TRUE(
      same(past, if_then_else(i + 7 <= 50, at(a, ramp(i + 3)),
                              select(ramp(i) <= all(50), at(a, ramp(i + 3), ramp(i) <= all(50)),
                                     all(at(a, 53))))));
  const Expr before = rewritten(at(a, max(ramp(i), all(2))));
  EXPECT_TRUE(same(before, if_then_else(2 <= i, at(a, ramp(i)),
                                        select(all(2) <= ramp(i), at(a, ramp(i), all(2) <= ramp(i)),
                                               all(at(a, 2))))));
}

TEST_F(ClampedLoads, are_of_one_element_where_vectors_end_at_the_bound) {
  EXPECT_TRUE(same(rewritten(at(a, min(ramp(i * 8), all(55)))),
                   if_then_else(i * 8 + 7 <= 55, at(a, ramp(i * 8)), all(at(a, 55)))));
  EXPECT_TRUE(same(rewritten(at(bytes, max(ramp(i * 8 - 16), all(0)))),
                   if_then_else(0 <= i * 8 - 16, at(bytes, ramp(i * 8 - 16)), all(at(bytes, 0)))));
}

TEST_F(ClampedLoads, stay_lane_by_lane_where_masks_are_none_or_clamps_are_two) {
  const Expr narrow = at(bytes, min(ramp(i), all(50)));
  EXPECT_TRUE(same(rewritten(narrow), if_then_else(i + 7 <= 50, at(bytes, ramp(i)), narrow)));
  const Expr both = at(a, max(min(ramp(i), all(50)), all(0)));
  EXPECT_TRUE(same(rewritten(both), if_then_else(i + 7 <= 50 && 0 <= i, at(a, ramp(i)), both)));
  const Expr plain = at(a, ramp(i)), strided = at(a, min(ramp(i), all(50)) * all(2));
  EXPECT_TRUE(same(rewritten(plain), plain));
  EXPECT_TRUE(same(rewritten(strided), strided));
}

}  // namespace
}  // namespace loopsmith
