// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/programs.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/te/te.h"

namespace loopsmith::schedule_testing {

using te::compute;
using te::IterVar;
using te::placeholder;
using te::reduce_axis;
using te::Tensor;

Ptr<PrimFunc> matmul(int n, int m, int k) {
  const Tensor A = placeholder({n, k}, f32, "A");
  const Tensor B = placeholder({k, m}, f32, "B");
  const IterVar axis = reduce_axis(0, k, "k");
  const Tensor C =
      compute({n, m}, [&](Expr i, Expr j) { return te::sum(A(i, axis) * B(axis, j), axis); }, "C",
              {.axes = {"i", "j"}});
  return te::create_prim_func({A, B, C});
}

Ptr<PrimFunc> two_stages(int n, int m) {
  const Tensor A = placeholder({n, m}, f32, "A");
  const Tensor B =
      compute({n, m}, [&](Expr i, Expr j) { return A(i, j) + 1; }, "B", {.axes = {"i", "j"}});
  const Tensor C =
      compute({n, m}, [&](Expr i, Expr j) { return B(i, j) * 2; }, "C", {.axes = {"i", "j"}});
  return te::create_prim_func({A, C});
}

std::string body_of(const Schedule& schedule) {
  schedule.check_tree();
  const Ptr<PrimFunc> func = schedule.func();
  verify_well_formed(func);
  const std::string text = script(func) + "\n";
  const std::string_view root = "    # with T.block(\"root\"):\n";
  const std::size_t start = text.find(root);
  return start == std::string::npos ? text : text.substr(start + root.size());
}

std::string error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const UserError& error) {
    return error.code() + ": " + error.problem();
  }
  return {};
}

void expect_replays(const Schedule& schedule, const Ptr<PrimFunc>& func) {
  const Trace trace = schedule.trace();
  Schedule direct(func);
  trace.apply_to(direct);
  require_structural_equal(direct.func(), schedule.func(), true);
  Schedule through_json(func);
  Trace::apply_json(trace.as_json(), through_json, all_primitives());
  require_structural_equal(through_json.func(), schedule.func(), true);
  EXPECT_EQ(through_json.trace().as_python(), trace.as_python());
  Schedule simplified(func);
  trace.simplified(false).apply_to(simplified);
  require_structural_equal(simplified.func(), schedule.func(), true);
}

}  // namespace loopsmith::schedule_testing
