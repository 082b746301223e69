// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/schedule.h"

#include <gtest/gtest.h>

#include "loopsmith/te/decisions.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

struct Product {
  Tensor A = placeholder({16, 8}, f32, "A");
  Tensor B = placeholder({8, 16}, f32, "B");
  IterVar k = reduce_axis(0, 8, "k");
  Tensor C = compute({16, 16},
                     [this](const Expr& i, const Expr& j) { return sum(A(i, k) * B(k, j), {k}); },
                     "C", {.axes = {"i", "j"}});
};

std::string leaves_of(const Stage& stage) {
  std::string text;
  for (const IterVar& axis : stage.data().leaf_iter_vars) {
    text += (text.empty() ? "" : " ") + axis->var->name;
  }
  return text;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.code() + ": " + error.problem();
  }
  return "";
}

TEST(te_schedule, records_what_becomes_of_axes) {
  const Product p;
  const Schedule s = create_schedule({p.C});
  Stage stage = s[p.C];
  EXPECT_EQ(leaves_of(stage), "i j k");
  const auto [io, jo, ii, ji] = stage.tile(p.C.axis(0), p.C.axis(1), 4, 8);
  EXPECT_EQ(leaves_of(stage), "i.outer j.outer i.inner j.inner k");
  stage.fuse({io, jo});
  const auto [ko, ki] = stage.split(p.k, SplitBy{.nparts = 2});
  stage.reorder({ko, ii}).vectorize(ji).unroll(ki);
  EXPECT_EQ(leaves_of(stage), "i.outer.j.outer.fused k.outer j.inner i.inner k.inner");
}

TEST(te_schedule, says_what_became_of_an_axis_that_is_no_loop) {
  const Product p;
  const Schedule s = create_schedule({p.C});
  Stage stage = s[p.C];
  stage.split(p.C.axis(0), 4);
  EXPECT_EQ(error_of([&] { stage.split(p.C.axis(0), 2); }),
            "axis_is_leaf: split: axis i of stage C has already been split into i.outer and "
            "i.inner");
}

TEST(te_schedule, copies_do_not_share_decisions) {
  const Product p;
  const Schedule s = create_schedule({p.C});
  const Schedule copy = s.copy();
  s[p.C].split(p.C.axis(0), 4);
  EXPECT_EQ(leaves_of(copy[p.C]), "i j k");
}

/// What reads a product element by element.
Tensor doubled(const Tensor& C) {
  return compute({16, 16}, [&](const Expr& i, const Expr& j) { return C(i, j) * 2; }, "D",
                 {.axes = {"i", "j"}});
}

TEST(te_schedule, normalize_says_of_each_stage_where_it_is_computed) {
  const Product p;
  const Tensor D = doubled(p.C);
  Schedule s = create_schedule({D});
  s.create_group({p.C}, {p.A, p.B}).compute_at(s[D], D.axis(0));
  const auto [outer, inner] = s[D].split(D.axis(0), 4);
  const Schedule normalized = s.normalize();
  const StageData& stage = normalized[p.C].data();
  EXPECT_EQ(stage.attach_type, AttachType::scope);
  EXPECT_TRUE(stage.attach_ivar.same_as(inner));
  EXPECT_EQ(s[p.C].data().attach_type, AttachType::root);
}

TEST(te_schedule, normalize_refuses_a_loop_that_was_fused_as_the_outer_one) {
  const Product p;
  const Tensor D = doubled(p.C);
  const Schedule s = create_schedule({D});
  s[p.C].compute_at(s[D], D.axis(0));
  s[D].fuse({D.axis(0), D.axis(1)});
  EXPECT_EQ(error_of([&] { s.normalize(); }),
            "attach_axis_is_loop: compute_at: stage C is to be computed in each iteration of i of "
            "stage D, which was fused as the outer of two loops");
}

TEST(te_schedule, cache_write_keeps_the_order_of_the_loops_as_a_layout) {
  const Product p;
  Schedule s = create_schedule({p.C});
  s[p.C].reorder({p.C.axis(1), p.C.axis(0)});
  const Tensor cache = s.cache_write(p.C, "local");
  EXPECT_EQ(cache.name(), "C.local");
  EXPECT_EQ(leaves_of(s[cache]), "j.c i.c k");
  EXPECT_EQ(leaves_of(s[p.C]), "i j");
  EXPECT_EQ(s.stages().size(), 4U);
}

TEST(te_schedule, rfactor_makes_a_stage_of_partial_results) {
  const Product p;
  Schedule s = create_schedule({p.C});
  const auto [ko, ki] = s[p.C].split(p.k, 4);
  const Tensor partial = s.rfactor(p.C, ki, -1)[0];
  EXPECT_EQ(partial.name(), "C.rf");
  EXPECT_EQ(leaves_of(s[partial]), "i j k.inner k.outer");
  EXPECT_EQ(leaves_of(s[p.C]), "ax0 ax1 k.inner.v");
}

}  // namespace
}  // namespace loopsmith::te
