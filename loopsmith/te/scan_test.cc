// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/scan.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace scan_test {

struct Series {
  Ptr<Var> m = size_var("m");
  Ptr<Var> n = size_var("n");
  Tensor X = placeholder({m, n}, f32, "X");
  Tensor state = placeholder({m, n}, f32, "state");
  Tensor init = compute({1, n}, [&](Expr, Expr i) { return X(0, i); }, "init");

  /// What scan says of an update of that value.
  template <class Fn>
  std::string error_with(Fn value) const {
    return testing::refusal([&] {
      const Tensor update = compute({m, n}, value, "update");
      create_prim_func({X, scan({init}, {update}, {state})[0]});
    });
  }
};

std::string body_of(const Ptr<PrimFunc>& func) {
  verify_well_formed(func);
  const std::string text = script(func) + "\n";
  return text.substr(text.find("    # with"));
}

TEST(scan, runs_over_time_in_order) {
  const Series s;
  const Tensor update =
      compute({s.m, s.n}, [&](Expr t, Expr i) { return s.state(t - 1, i) + s.X(t, i); }, "update",
              {.axes = {"t", "i"}});
  const Tensor sums = scan({s.init}, {update}, {s.state}, {s.X}, "sums")[0];
  EXPECT_EQ(body_of(create_prim_func({s.X, sums})), R"(    # with T.block("root"):
    for i0, i1 in T.grid(1, n):
        with T.block("init"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(X[0, v_i1])
            T.writes(sums[v_i0, v_i1])
            sums[v_i0, v_i1] = X[0, v_i1]
    for sums_idx in range(1, m):
        for i in range(n):
            with T.block("update"):
                v_t = T.axis.scan((1, m), sums_idx)
                v_i = T.axis.spatial(n, i)
                T.reads(sums[v_t - 1, v_i], X[v_t, v_i])
                T.writes(sums[v_t, v_i])
                sums[v_t, v_i] = sums[v_t - 1, v_i] + X[v_t, v_i]
)");
}

TEST(scan, computes_what_reads_the_state_in_its_loop) {
  const Series s;
  const Tensor twice = compute({s.m, s.n}, [&](Expr t, Expr i) { return s.X(t, i) * 2; }, "twice");
  const Tensor decayed =
      compute({s.m, s.n}, [&](Expr t, Expr i) { return s.state(t - 1, i) * 3; }, "decayed");
  const Tensor update =
      compute({s.m, s.n}, [&](Expr t, Expr i) { return decayed(t, i) + twice(t, i); }, "update");
  const std::string text = body_of(create_prim_func({s.X, scan({s.init}, {update}, {s.state})[0]}));
  // `twice` does not: it stays outside.
  EXPECT_LT(text.find("\"twice\""), text.find("scan_idx in"));
  EXPECT_LT(text.find("scan_idx in"), text.find("\"decayed\""));
  EXPECT_LT(text.find("\"decayed\""), text.find("\"update\""));
}

TEST(scan, advances_several_states) {
  const Series s;
  const Tensor other = placeholder({s.m, s.n}, f32, "other");
  const Tensor first =
      compute({s.m, s.n}, [&](Expr t, Expr i) { return other(t - 1, i); }, "first");
  const Tensor second = compute(
      {s.m, s.n}, [&](Expr t, Expr i) { return s.state(t - 1, i) + first(t, i); }, "second");
  const auto states = scan({s.init, s.init}, {first, second}, {s.state, other}, {}, "both");
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1].name(), "both.v1");
  EXPECT_EQ(body_of(create_prim_func({s.X, states[0], states[1]})), R"(    # with T.block("root"):
    for i0, i1 in T.grid(1, n):
        with T.block("init"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(X[0, v_i1])
            T.writes(both_v0[v_i0, v_i1])
            both_v0[v_i0, v_i1] = X[0, v_i1]
    for i0, i1 in T.grid(1, n):
        with T.block("both.v1_init"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(both_v0[v_i0, v_i1])
            T.writes(both_v1[v_i0, v_i1])
            both_v1[v_i0, v_i1] = both_v0[v_i0, v_i1]
    for both_idx in range(1, m):
        for i1 in range(n):
            with T.block("first"):
                v_i0 = T.axis.scan((1, m), both_idx)
                v_i1 = T.axis.spatial(n, i1)
                T.reads(both_v1[v_i0 - 1, v_i1])
                T.writes(both_v0[v_i0, v_i1])
                both_v0[v_i0, v_i1] = both_v1[v_i0 - 1, v_i1]
        for i1 in range(n):
            with T.block("second"):
                v_i0 = T.axis.scan((1, m), both_idx)
                v_i1 = T.axis.spatial(n, i1)
                T.reads(both_v0[v_i0 - 1:v_i0 - 1 + 2, v_i1])
                T.writes(both_v1[v_i0, v_i1])
                both_v1[v_i0, v_i1] = both_v0[v_i0 - 1, v_i1] + both_v0[v_i0, v_i1]
)");
}

TEST(scan, copies_rows_that_are_made_elsewhere) {
  const Series s;
  const Tensor first = placeholder({1, s.n}, f32, "first");
  const std::string text =
      body_of(create_prim_func({s.X, first, scan({first}, {s.X}, {s.state})[0]}));
  EXPECT_NE(text.find("scan[v_i0, v_i1] = first[v_i0, v_i1]"), std::string::npos) << text;
  EXPECT_NE(text.find("v_i0 = T.axis.scan((1, m), scan_idx)"), std::string::npos) << text;
  EXPECT_NE(text.find("scan[v_i0, v_i1] = X[v_i0, v_i1]"), std::string::npos) << text;
}

TEST(scan, reads_rows_that_are_there) {
  const Series s;
  EXPECT_EQ(s.error_with([&](Expr t, Expr i) { return s.state(t - 1, i); }), "");
  EXPECT_EQ(s.error_with([&](Expr t, Expr i) { return s.state(t, i); }),
            "scan_reads_earlier_rows: scan scan: update reads row 1000 of the state to compute row "
            "1000");
  EXPECT_EQ(s.error_with([&](Expr t, Expr i) { return s.state(t + 1, i); }),
            "scan_reads_earlier_rows: scan scan: update reads row 1001 of the state to compute row "
            "1000");
  const Tensor step =
      compute({s.m, s.n}, [&](Expr t, Expr i) { return s.state(t - 1, i); }, "step");
  EXPECT_EQ(s.error_with([&](Expr t, Expr i) { return step(t - 1, i); }),
            "scan_steps_share_row: scan scan: update reads step at another time than its own");
}

TEST(scan, keeps_its_state_inside) {
  const Series s;
  const Tensor update =
      compute({s.m, s.n}, [&](Expr t, Expr i) { return s.state(t - 1, i); }, "update");
  const Tensor sums = scan({s.init}, {update}, {s.state})[0];
  EXPECT_EQ(testing::refusal([&] { create_prim_func({s.X, sums, update}); }),
            "state_stays_in_scan: create_prim_func: update exists only inside scan scan, it cannot "
            "be an argument");
  const Tensor scalar = compute({}, [&] { return s.state(0, 0); }, "scalar");
  EXPECT_EQ(s.error_with([&](Expr, Expr) { return scalar(); }),
            "scan_step_has_time: scan scan: scalar reads the state but has no time axis");
}

TEST(scan, refuses_tensors_that_do_not_fit) {
  const Series s;
  const Tensor update = compute({s.m, s.n}, [&](Expr t, Expr i) { return s.X(t, i); }, "update");
  EXPECT_EQ(testing::refusal([&] { scan({s.init}, {update, update}, {s.state}); }),
            "scan_is_whole: scan scan: 1 inits, 2 updates, 1 states");
  EXPECT_EQ(testing::refusal([&] { scan({s.init}, {update}, {update}); }),
            "state_is_placeholder: scan scan: the state update is no placeholder");
  const Tensor whole = placeholder({s.m, s.n}, i32, "whole");
  EXPECT_EQ(testing::refusal([&] { scan({whole}, {update}, {s.state}); }),
            "scan_has_one_type: scan scan: init whole is int32, the state state is float32");
  const Tensor flat = placeholder({s.m}, f32, "flat");
  EXPECT_EQ(testing::refusal([&] { scan({flat}, {update}, {s.state}); }),
            "scan_has_one_shape: scan scan: init flat has 1 dimensions, the state state has 2");
  const Tensor narrow = placeholder({1, 4}, f32, "narrow");
  EXPECT_EQ(testing::refusal([&] { scan({narrow}, {update}, {s.state}); }),
            "scan_has_one_shape: scan scan: dimension 1 of init narrow is not that of the state "
            "state");
  const Tensor shorter = placeholder({4, s.n}, f32, "shorter");
  EXPECT_EQ(testing::refusal([&] { scan({s.init}, {shorter}, {s.state}); }),
            "scan_has_one_length: scan scan: update shorter and state state differ in length");
}

}  // namespace scan_test
}  // namespace loopsmith::te
