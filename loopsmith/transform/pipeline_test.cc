// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/pipeline.h"

#include <cstdlib>

#include "loopsmith/ir/structural.h"
#include "loopsmith/transform/simplify.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct Pipeline : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({8, 8}, f32, "A");
  Ptr<Var> i = var("i"), j = var("j");
  Ptr<PrimFunc> func = function({a}, for_loop(i, 0, 8, for_loop(j, 0, 8, store(a, f(1), {i, j}))));
};

TEST_F(Pipeline, reports_each_pass_with_what_it_made) {
  std::vector<std::string_view> names;
  Ptr<PrimFunc> last = func;
  LowerOptions options;
  options.on_pass = [&](const PassRecord& record) {
    EXPECT_TRUE(record.before.same_as(last));
    EXPECT_GE(record.seconds, 0);
    names.push_back(record.name);
    last = record.after;
  };
  const auto lowered = lower_function(func, options);
  EXPECT_TRUE(lowered.same_as(last));
  ASSERT_EQ(names.size(), lowering_passes().size());
  for (std::size_t p = 0; p < names.size(); ++p) EXPECT_EQ(names[p], lowering_passes()[p].name);
}

TEST_F(Pipeline, prints_what_the_environment_asks_for) {
  ::testing::internal::CaptureStderr();
  setenv("LOOPSMITH_DUMP", "lower_init,flatten_buffers", 1);
  lower_function(func);
  unsetenv("LOOPSMITH_DUMP");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("# before lower_init\n"), std::string::npos);
  EXPECT_NE(text.find("# after lower_init, "), std::string::npos);
  EXPECT_NE(text.find("# after flatten_buffers, "), std::string::npos);
  EXPECT_NE(text.find("i * 8 + j"), std::string::npos) << text;
  EXPECT_EQ(text.find("# after simplify"), std::string::npos);
  setenv("LOOPSMITH_DUMP", "all,lower_int", 1);
  EXPECT_EQ(error_of([&] { lower_function(func); }).substr(0, 47),
            "LOOPSMITH_DUMP: there is no pass 'lower_int'\n  ");
  unsetenv("LOOPSMITH_DUMP");
}

TEST_F(Pipeline, simplifies_only_what_may_be_simpler) {
  const Stmt copy = store(a, load(a, {floordiv(i, 2), floormod(j + 1, 8)}), {i, j});
  LowerOptions options;
  Ptr<PrimFunc> flat;
  options.on_pass = [&](const PassRecord& record) {
    if (record.name == "flatten_buffers") flat = record.after;
  };
  lower_function(function({a}, for_loop(i, 0, 8, for_loop(j, 0, 8, copy))), options);
  EXPECT_TRUE(structural_equal(simplify(flat), flat));
}

TEST_F(Pipeline, names_the_pass_that_breaks_its_promise) {
  EXPECT_NE(error_of([&] { verify_form(func, Form::flat, "flatten_buffers"); })
                .find("internal error in flatten_buffers, please report: a BufferStore is left "
                      "that should be gone"),
            std::string::npos);
  const auto scheduled = function({a}, block({}, {}, store(a, f(1), {0, 0})));
  EXPECT_NE(error_of([&] {
              verify_form(scheduled, Form::loops, "lower_blocks");
            }).find("internal error in lower_blocks, please report: a BlockRealize is left"),
            std::string::npos);
  const auto undefined = function({a}, store(a, f(1), {i, j}));
  EXPECT_NE(error_of([&] {
              verify_form(undefined, Form::loops, "simplify");
            }).find("internal error in simplify, please report: what it made is not well"),
            std::string::npos);
}

TEST_F(Pipeline, says_that_lowering_failed) {
  const auto bad =
      function({a}, for_loop(i, 0, 1 << 17, store(a, f(1), {i, i}), ForKind::unrolled));
  EXPECT_EQ(error_of([&] { lower_function(bad); }),
            "lower: unroll: 131072 copies of the 1 statements of loop i are more than 65536 "
            "statements\n  hint: split the loop, unroll the inner one");
}

TEST(pipeline, takes_many_statements_and_deep_trees) {
  const Ptr<Buffer> a = decl_buffer({64}, f32, "A");
  std::vector<Stmt> many;
  for (int s = 0; s < 20000; ++s) many.push_back(store(a, f(s), {s % 64}));
  EXPECT_TRUE(lower_function(function({a}, seq(many)))->body.defined());

  const Ptr<Var> n = size_var("n");
  Stmt deep = store(a, f(1), {0});
  for (int level = 0; level < 100000; ++level) {
    deep = level % 2 ? for_loop(var("i"), 0, n, deep) : if_then(n > level, deep);
  }
  EXPECT_TRUE(lower_function(function({a}, deep, {n}))->body.defined());
}

}  // namespace
}  // namespace loopsmith
