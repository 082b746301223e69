// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"
#include "loopsmith/tune/measure/measurement.h"
#include "loopsmith/tune/testing/product.h"

namespace loopsmith::tune {
namespace {

using testing::doubled_rows;
using testing::product;

/// A function that adds 1 to each element.
Ptr<PrimFunc> plus_one() {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
      "    for i in range(64):\n"
      "        B[i] = A[i] + T.float32(1)\n");
}

TEST(Tuner, finds_a_schedule_that_computes_the_same) {
  ::testing::internal::CaptureStderr();
  const Best best = search(product(), {.trials = 6, .seed = 3, .progress = true});
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(" of 6 trials, "), std::string::npos);
  EXPECT_EQ(best.trials.size(), 6U);
  EXPECT_NE(best.text().find("; 6 candidates"), std::string::npos) << best.text();
  const std::string page = best.html();
  for (const char* part : {"<h1>main</h1>", "best so far", "What failed", "<h2>The program</h2>"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_NE(page.find(best.svg()), std::string::npos);
  EXPECT_GT(best.seconds, 0);
  EXPECT_GT(best.default_seconds, 0);
  EXPECT_TRUE(best.is_checked);
  EXPECT_EQ(best.default_is_quicker(), best.default_seconds < best.seconds);
  const Workload workload(random_arguments(*product(), 5), build(product()));
  EXPECT_EQ(workload.check(build(best.schedule)).failure, "");
  // A trial's steps make a schedule of their own.
  tir::Schedule replayed(product());
  replayed.apply_json(best.trials[0].trace);
  EXPECT_EQ(replayed.trace_json(), best.trials[0].trace);
}

TEST(Tuner, searches_the_space_that_it_is_given) {
  SearchOptions options{.trials = 10, .seed = 1};
  options.space = [](tir::Schedule& sch) {
    const auto loops = sch.get_loops("C");
    const auto factor = sch.sample_categorical({8, 16}, {0.5, 0.5});
    sch.vectorize(sch.split(loops[1], {infer, factor})[1]);
  };
  const Best best = search(product(), options);
  EXPECT_EQ(best.trials.size(), 2U);  // There are no more programs in it.
  EXPECT_NE(best.schedule.trace().find("vectorize"), std::string::npos);
  const std::string said = best.explain();
  EXPECT_NE(said.find(" times: v"), std::string::npos) << said;
  EXPECT_NE(said.find("sample_categorical(candidates=[8, 16]"), std::string::npos) << said;
}

TEST(Tuner, takes_rules_beside_those_of_the_generated_space) {
  SearchOptions options{.trials = 40, .seed = 1, .strategy = Strategy::random};
  int asked = 0;
  options.rules.push_back({"columns", [&](tir::Schedule& sch, BlockRV block) {
                             ++asked;
                             const auto loops = sch.get_loops(block);
                             if (loops.size() != 3) return false;
                             const auto factor = sch.sample_categorical({3, 5}, {0.5, 0.5});
                             sch.split(loops[1], {infer, factor});
                             sch.annotate(loops[0], "by_rule", 1);
                             return true;
                           }});
  options.rules.push_back({"none", [](tir::Schedule&, BlockRV) { return false; }});
  options.runner = [](const Ptr<PrimFunc>& func) {  // Programs of the rule are quick.
    return std::vector{script(func).find("by_rule") == std::string::npos ? 2.0 : 1.0};
  };
  const Best best = search(product(), options);
  EXPECT_GT(asked, 2);
  EXPECT_EQ(best.trials.size(), 40U);
  EXPECT_EQ(best.seconds, 1);
  const auto is_by_rule = [](const Trial& trial) { return trial.seconds == 1; };
  EXPECT_EQ(std::ranges::count_if(best.trials, is_by_rule), 2);
  options.space = [](tir::Schedule&) {};
  EXPECT_EQ(::loopsmith::testing::refusal([&] { search(product(), options); }),
            "rules_are_of_the_generated_space: tune: rules are given, and a space of your own");
}

TEST(Tuner, searches_what_a_schedule_left_open) {
  tir::Schedule sch(product(), 1);
  const auto loops = sch.get_loops("C");
  sch.split(loops[0], {infer, sch.sample_categorical({2, 4, 8}, {0.4, 0.3, 0.3})});
  const Best best = search(sch, {.trials = 10});
  EXPECT_EQ(best.trials.size(), 3U);
}

/// The sum of each row, which vectors sum in another order.
Ptr<PrimFunc> row_sums() {
  return parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((16, 512), \"float32\"), B: T.Buffer((16,), \"float32\")):\n"
      "    for i, k in T.grid(16, 512):\n"
      "        with T.block(\"B\"):\n"
      "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
      "            with T.init():\n"
      "                B[vi] = T.float32(0)\n"
      "            B[vi] = B[vi] + A[vi, vk]\n");
}

/// Whether two functions give the same bits; the first is compiled as it is.
bool agree_to_the_bit(const Ptr<PrimFunc>& as_it_is, const tir::Schedule& schedule) {
  BuildOptions plain;
  plain.default_schedule = false;
  const Workload workload(random_arguments(*as_it_is, 5),
                          build(as_it_is, Target("llvm -mcpu=native"), plain), true);
  return workload.check(build(schedule)).failure.empty();
}

TEST(Tuner, keeps_bits_under_a_lock) {
  const Best strict = search(row_sums(), {.trials = 6, .seed = 2, .numerics = Numerics::strict});
  for (const Trial& trial : strict.trials) EXPECT_EQ(trial.failure, "");
  EXPECT_TRUE(strict.is_checked);
  EXPECT_TRUE(agree_to_the_bit(row_sums(), strict.schedule));
  // One order for whichever wins, which is not that of the program.
  const Best other =
      search(row_sums(), {.trials = 6, .seed = 2, .numerics = Numerics::reproducible});
  for (const Trial& trial : other.trials) EXPECT_EQ(trial.failure, "");
  EXPECT_NE(other.schedule.trace().find("rfactor"), std::string::npos);
  EXPECT_FALSE(agree_to_the_bit(row_sums(), other.schedule));
}

TEST(Tuner, asks_what_ranks_changes_and_measures) {
  int ranked = 0, changed = 0;
  std::vector<double> learned;
  SearchOptions options{.trials = 40, .seed = 1};
  options.model = [&](const Ptr<PrimFunc>&) { return static_cast<double>(++ranked); };
  options.mutator = [&](const std::vector<Decision>& decided, std::uint64_t) {
    ++changed;
    return decided;
  };
  options.runner = [](const Ptr<PrimFunc>& func) -> std::vector<double> {
    const auto length = static_cast<double>(script(func).size());
    return {length, length, length};  // Nothing is compiled.
  };
  options.learn = [&](const Ptr<PrimFunc>&, double seconds) { learned.push_back(seconds); };
  const Best best = search(product(), options);
  EXPECT_GT(ranked, 40);
  EXPECT_EQ(learned.size(), 40U);
  EXPECT_GT(changed, 0);
  EXPECT_FALSE(best.is_checked);
  for (const Trial& trial : best.trials) EXPECT_LE(best.seconds, trial.seconds);
  EXPECT_EQ(best.is_quicker(), best.seconds < best.default_seconds);
  options.patience = 3;
  options.runner = [](const Ptr<PrimFunc>&) -> std::vector<double> { return {1.0}; };
  const Best same = search(product(), options);
  EXPECT_LT(same.trials.size(), 16U);
  EXPECT_FALSE(same.is_quicker());
  options.runner = [](const Ptr<PrimFunc>&) -> std::vector<double> { return {}; };
  EXPECT_EQ(::loopsmith::testing::refusal([&] { search(product(), options); }),
            "a_candidate_works: tune: main: none of 3 candidates could be built and measured; no "
            "time: the runner returned nan s, expected a positive number");
}

#if !defined(__SANITIZE_ADDRESS__)  // its shadow memory is beyond any limit
TEST(Tuner, limits_what_a_candidate_takes) {
  // 84 MB, of which the process of a candidate makes a copy: more than any arena has in store.
  const Ptr<PrimFunc> func = parse_function(
      "@T.prim_func\n"
      "def main(A: T.Buffer((10485760,), \"int64\")):\n"
      "    for i in range(64):\n"
      "        A[i] = A[i] + T.int64(1)\n");
  SearchOptions options{.trials = 1};
  options.trial_bytes = 1 << 20;
  const std::string said = ::loopsmith::testing::refusal([&] { search(func, options); });
  EXPECT_NE(said.find("could be built and measured; run error: array: no memory for shape"),
            std::string::npos)
      << said;
}
#endif

TEST(Tuner, says_which_arguments_it_cannot_draw) {
  const Ptr<PrimFunc> func = parse_function(
      "@T.prim_func\n"
      "def main(a: T.handle):\n"
      "    m = T.int32()\n"
      "    A = T.match_buffer(a, (m,), \"float32\")\n"
      "    for i in range(m):\n"
      "        A[i] = T.float32(0)\n");
  EXPECT_EQ(::loopsmith::testing::refusal([&] { random_arguments(*func, 1); }),
            "arguments_can_be_drawn: search: tensor A has a size that is no constant, so arguments "
            "cannot be drawn");
}

TEST(Tuner, searches_on_a_device) {
  SearchOptions options{.target = Target("opencl"), .trials = 1, .seed = 1, .trial_seconds = 60};
  std::optional<Best> best;
  try {
    best = search(plus_one(), options);
  } catch (const UserError& error) {
    const std::string said = error.what();
    if (said.find("driver") == std::string::npos) throw;
    GTEST_SKIP() << "no driver for OpenCL";
  }
  EXPECT_EQ(best->trials.size(), 1U);
  EXPECT_TRUE(best->is_checked);
  EXPECT_GT(best->default_seconds, 0);
  EXPECT_NE(best->schedule.trace().find("threadIdx.x"), std::string::npos);
  options.regret = 0.1;
  EXPECT_EQ(::loopsmith::testing::refusal([&] { search(product(), options); }),
            "regret_has_a_model: tune: regret is given, and there is no model that predicts times "
            "on this target");
}

TEST(Tuner, says_that_nothing_could_be_measured) {
  SearchOptions options{.trials = 3};
  options.space = [](tir::Schedule& sch) { sch.get_block("D"); };
  EXPECT_EQ(::loopsmith::testing::refusal([&] { search(product(), options); }).substr(0, 93),
            "a_candidate_works: tune: main: none of 0 candidates could be built and measured; "
            "refused: get");
}

TEST(Tuner, tells_of_each_trial_and_ends_by_regret) {
  std::size_t told = 0;
  SearchOptions options{.trials = 200, .seed = 1, .regret = 0.02};
  options.model = [](const Ptr<PrimFunc>& func) {
    return static_cast<double>(script(func).size());
  };
  options.runner = [&](const Ptr<PrimFunc>& func) -> std::vector<double> {
    return {static_cast<double>(script(func).size())};  // As the model says.
  };
  options.on_trial = [&](const Trial& trial) {
    EXPECT_EQ(trial.function, "main");
    ++told;
  };
  const Best best = search(product(), options);
  EXPECT_EQ(told, best.trials.size());
  EXPECT_LT(told, 100U);
}

TEST(Tuner, searches_what_a_schedule_of_tensor_expressions_left_open) {
  const te::Tensor a = te::placeholder({64}, f32, "A");
  const te::Tensor b = te::compute({64}, [&](const Expr& i) { return a(i) + 1; }, "B");
  const te::Schedule steps = te::create_schedule({b});
  SearchOptions options{.trials = 10};
  options.space = [](tir::Schedule& sch) {
    sch.split(sch.get_loops("B")[0], {infer, sch.sample_categorical({4, 8}, {0.5, 0.5})});
  };
  const Best best = search(steps, {a, b}, options);
  EXPECT_EQ(best.trials.size(), 2U);
}

TEST(Tuner, finds_variants_for_ranges_of_sizes) {
  SearchOptions options{.trials = 20, .seed = 1};
  options.space = [](tir::Schedule& sch) {
    const auto factor = sch.sample_categorical({16, 32, 48}, {0.4, 0.3, 0.3});
    sch.split(sch.get_loops("B")[1], {infer, factor});
  };
  // Columns by 16 are quick for few rows, by 32 for many.
  options.runner = [](const Ptr<PrimFunc>& func) -> std::vector<double> {
    const std::string text = script(func);
    const bool is_large = text.find("T.grid(1000, ") != std::string::npos;
    const bool is_quick = text.find(is_large ? ", 2, 32)" : ", 4, 16)") != std::string::npos;
    return {is_quick ? 1.0 : 2.0};
  };
  const BestSizes best =
      search_sizes(doubled_rows(), {{"m", SizeWeights{{1, 1.0}, {10, 1.0}, {1000, 1.0}}}}, options);
  EXPECT_EQ(best.trials.size(), 3U);
  EXPECT_EQ(best.schedules.size(), 2U);
  EXPECT_FALSE(best.is_default());
  EXPECT_NEAR(best.speedup(), 2, 1e-9);
  EXPECT_EQ(best.tree.decide({{"m", 1}}), best.tree.decide({{"m", 10}}));
  EXPECT_NE(best.tree.decide({{"m", 1}}), best.tree.decide({{"m", 1000}}));
  const std::string text = script(best.function());
  EXPECT_NE(text.find("if m < 100:"), std::string::npos) << text;
  EXPECT_NE(best.explain(2).find("sample_categorical("), std::string::npos) << best.explain(2);
  EXPECT_EQ(::loopsmith::testing::refusal([&] { best.explain(0); }),
            "variant_is_searched: explain: variant 0 is none of 1 to 2");
}

TEST(Tuner, measures_the_sizes_that_were_drawn) {
  const BestSizes best = search_sizes(doubled_rows(), {{"m", SizeWeights{{1, 1}, {8, 1}, {64, 1}}}},
                                      {.trials = 6, .seed = 2});
  EXPECT_EQ(best.trials.size(), 6U);
  EXPECT_TRUE(best.is_checked);
  ASSERT_EQ(best.rows.front().sizes.at("m"), 1);
  EXPECT_EQ(best.rows.back().sizes.at("m"), 64);
  for (const SizedRow& row : best.rows) EXPECT_GT(row.best_seconds, 0);
  const std::vector<NDArray> arguments = random_arguments(*doubled_rows(), 5, {{"m", 37}});
  EXPECT_EQ(arguments[0].shape()[0], 37);
  const Workload workload(arguments, build(doubled_rows()));
  EXPECT_EQ(workload.check(build(best.function())).failure, "");
  EXPECT_NE(best.html().find(best.svg()), std::string::npos);
  EXPECT_NE(best.svg().find(">m</text>"), std::string::npos);
  EXPECT_NE(best.text().find("m=64: "), std::string::npos) << best.text();
}

TEST(Tuner, shares_trials_among_the_functions_of_a_module) {
  const Ptr<IRModule> module = make(IRModule{
      .names = {make(GlobalVar{.name_hint = "often"}), make(GlobalVar{.name_hint = "seldom"})},
      .functions = {product(), row_sums()}});
  SearchOptions options{.trials = 60, .seed = 1};
  options.runner = [](const Ptr<PrimFunc>& func) -> std::vector<double> {
    return {static_cast<double>(script(func).size())};
  };
  const BestModule best = search_module(module, {{"often", 50.0}}, options);
  const std::size_t often = best.functions.at("often").trials.size(),
                    seldom = best.functions.at("seldom").trials.size();
  EXPECT_EQ(often + seldom, 60U);
  EXPECT_GT(often, seldom);
  EXPECT_NE(best.html().find("<title>often, seldom</title>"), std::string::npos);
  const Ptr<IRModule> scheduled = best.scheduled();
  EXPECT_EQ(build(scheduled).names(), (std::vector<std::string>{"often", "seldom"}));
  EXPECT_EQ(
      ::loopsmith::testing::refusal([&] { search_module(module, {{"never", 1.0}}, options); }),
      "weights_fit_functions: search: the weight of never is 1; the functions are often, "
      "seldom");
  EXPECT_EQ(::loopsmith::testing::refusal([&] { search_module(make(IRModule{}), {}, options); }),
            "module_has_functions: search: the module has no functions");
  options.runner = [](const Ptr<PrimFunc>& func) -> std::vector<double> {
    return {func->name() == "often" ? 1.0 : NAN};
  };
  options.seconds = 1e-9;  // Each has a candidate all the same.
  const BestModule half = search_module(module, {}, options);
  EXPECT_EQ(half.functions.at("often").trials.size(), 1U);
  EXPECT_EQ(half.failures.at("seldom").substr(0, 92),
            "tune: seldom: none of 1 candidates could be built and measured; no time: the runner "
            "returned");
  EXPECT_EQ(build(half.scheduled()).names().size(), 2U);
  options.arguments = random_arguments(*product(), 1);
  EXPECT_EQ(::loopsmith::testing::refusal([&] { search_module(module, {}, options); }),
            "arguments_are_random: search: arguments are given, and a module");
}

}  // namespace
}  // namespace loopsmith::tune
