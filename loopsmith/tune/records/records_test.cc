// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/records/records.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <thread>

#include "loopsmith/ir/script_text.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/tune/testing/product.h"
#include "loopsmith/tune/testing/temporary_file.h"
#include "loopsmith/tune/tuner.h"

namespace loopsmith::tune {
namespace {

using ::loopsmith::testing::refusal;
using testing::TemporaryFile;

Ptr<PrimFunc> doubled(const std::string& name = "main") {
  const std::string text =
      "@T.prim_func\n"
      "def main(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
      "    for i in range(64):\n"
      "        B[i] = A[i] * T.float32(2)\n";
  return with_attr(parse_function(text), "global_symbol", string_imm(name));
}

Record split_by(int factor, double seconds) {
  const Ptr<PrimFunc> func = doubled();
  tir::Schedule schedule(func, 1);
  schedule.split("i", {infer, factor});
  Record record = record_of(func, schedule, target_key(Target("llvm")));
  record.seconds = seconds;
  return record;
}

TEST(Records, keep_what_they_are_given) {
  const TemporaryFile file;
  Record made = split_by(8, 0.5);
  made.default_seconds = 1.25;
  made.check = "not compared";
  Records(file.path()).add(made);
  const std::vector<Record> all = Records(file.path()).all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].key, made.key);
  EXPECT_EQ(all[0].program, made.program);
  EXPECT_EQ(all[0].trace, made.trace);
  EXPECT_EQ(all[0].seconds, 0.5);
  EXPECT_EQ(all[0].default_seconds, 1.25);
  EXPECT_EQ(all[0].check, "not compared");
  EXPECT_EQ(all[0].machine, machine_name());
  EXPECT_FALSE(all[0].version.empty());
}

TEST(Records, give_a_function_the_schedule_of_the_quickest) {
  const TemporaryFile file;
  const Records records(file.path());
  for (const auto& [factor, seconds] : {std::pair{2, 0.5}, {4, 0.25}, {8, 0.75}}) {
    records.add(split_by(factor, seconds));
  }
  const Ptr<PrimFunc> made = recorded(doubled("twice"), records, Target("llvm"));
  EXPECT_EQ(made->name(), "twice");
  EXPECT_EQ(made->attrs.get_int("tir.is_scheduled", 0), 1);
  EXPECT_NE(script(made).find("T.grid(16, 4)"), std::string::npos) << script(made);
  // Not for another target, options or program, nor for what has a schedule.
  const Ptr<PrimFunc> plain = doubled();
  EXPECT_TRUE(recorded(plain, records, Target("c")).same_as(plain));
  EXPECT_TRUE(recorded(plain, records, Target("llvm"), {.contract = false}).same_as(plain));
  EXPECT_TRUE(recorded(plain, records, Target("llvm"), {}, Numerics::strict).same_as(plain));
  EXPECT_TRUE(recorded(made, records, Target("llvm")).same_as(made));
}

TEST(Records, say_that_one_does_not_apply_any_more) {
  Record record = split_by(8, 0.5);
  record.trace.replace(record.trace.find("Split"), 5, "Cleave");
  record.version = "9.9";
  EXPECT_TRUE(refusal([&] { record.schedule(doubled()); }).starts_with("record_applies"));
}

TEST(Records, of_another_version_come_after_those_of_this_one) {
  const TemporaryFile file;
  const Records records(file.path());
  const Ptr<PrimFunc> func = doubled();
  std::vector<std::string> said;
  const auto found = [&] {
    return script(recorded(func, records, Target("llvm"), {}, Numerics::free,
                           [&](const std::string& what) { said.push_back(what); }));
  };
  Record other = split_by(2, 0.25), broken = split_by(16, 0.125);
  const std::string own = other.version;
  other.version = broken.version = "0.0.9";
  broken.trace.replace(broken.trace.find("Split"), 5, "Cleave");
  records.add(broken);
  EXPECT_EQ(refusal(found).substr(0, 72),
            "record_applies: the record of main by version 0.0.9 does not apply any m");
  records.add(other);  // Proved again, and said so; the one that does not apply is passed over.
  EXPECT_NE(found().find("T.grid(32, 2)"), std::string::npos);
  EXPECT_EQ(said, std::vector{"the record of main is by version 0.0.9, and this is " + own +
                              ": its steps were proved again, its times were not measured again; "
                              "tune it again"});
  records.add(split_by(4, 0.5));  // Slower, but of this version.
  EXPECT_NE(found().find("T.grid(16, 4)"), std::string::npos);
  EXPECT_EQ(said.size(), 1U);
  // One of this version that does not apply hides nothing.
  Record wrong = split_by(8, 0.125);
  wrong.trace.replace(wrong.trace.find("Split"), 5, "Cleave");
  records.add(wrong);
  EXPECT_TRUE(refusal(found).starts_with("record_applies: the record of main by version " + own));
}

TEST(Records, warn_on_the_standard_error) {
  ::testing::internal::CaptureStderr();
  warn_on_standard_error("it is old");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "warning: it is old\n");
}

TEST(Records, take_the_writes_of_threads_at_once) {
  const TemporaryFile file;
  const Records records(file.path());
  const Record record = split_by(8, 0.5);
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int k = 0; k < 8; ++k) Records(file.path()).add(record);
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(records.all().size(), 32U);
}

TEST(Records, refuse_a_file_that_is_none) {
  const TemporaryFile file;
  std::ofstream(file.path()) << "no database, but long enough to be looked at as one.";
  EXPECT_TRUE(refusal([&] { Records(file.path()); }).starts_with("records_can_be_used"));
  EXPECT_TRUE(
      refusal([&] { Records("/no/such/folder/tuned.db"); }).starts_with("records_can_be_used"));
  const TemporaryFile foreign;
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(foreign.path().c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA user_version = 7", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  EXPECT_TRUE(refusal([&] { Records(foreign.path()); }).starts_with("records_can_be_used"));
}

TEST(Records, take_what_a_search_finds) {
  const TemporaryFile file;
  SearchOptions options{
      .target = Target("llvm"), .trials = 4, .numerics = Numerics::strict, .records = file.path()};
  options.space = [](tir::Schedule& sch) {
    auto factor = sch.sample_categorical({4, 8}, {0.5, 0.5});
    sch.split("i", {infer, factor});
  };
  // A nest counts as quicker than a loop.
  options.runner = [](const Ptr<PrimFunc>& func) {
    return std::vector{script(func).find("T.grid") != std::string::npos ? 0.5 : 1.0};
  };
  const Best best = search(doubled(), options);
  ASSERT_TRUE(best.is_quicker());
  EXPECT_EQ(best.record_failure, "");
  const std::vector<Record> all = Records(file.path()).all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].seconds, best.seconds);
  EXPECT_TRUE(structural_equal(all[0].schedule(doubled()).func(), best.schedule.func()));
}

TEST(Records, name_options_that_are_not_usual) {
  EXPECT_EQ(target_key(Target("llvm")), "llvm");
  EXPECT_EQ(target_key(Target("llvm"), {.contract = false, .fast_math = {"no_nans", "no_infs"}},
                       Numerics::reproducible, 3),
            "llvm, contract=False, default_schedule=False, fast_math=['no_nans', 'no_infs'], "
            "num_threads=3, numerics='reproducible'");
  EXPECT_NE(target_key(Target("llvm -mcpu=native")).find(machine_name()), std::string::npos);
}

TEST(Records, keep_variants_and_what_decides_between_them) {
  const TemporaryFile file;
  const Ptr<PrimFunc> func = testing::doubled_rows();
  SearchOptions options{.trials = 4};
  options.records = file.path();
  options.space = [](tir::Schedule& sch) {
    sch.split(sch.get_loops("B")[1], {infer, sch.sample_categorical({16, 32}, {0.5, 0.5})});
  };
  options.runner = [](const Ptr<PrimFunc>& made) -> std::vector<double> {
    return {script(made).find(", 4, 16)") == std::string::npos ? 2.0 : 1.0};
  };
  const BestSizes best = search_sizes(func, {{"m", SizeRange(1, 64)}}, options);
  EXPECT_EQ(best.record_failure, "");
  const std::vector<Record> all = Records(file.path()).all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].has_variants());
  EXPECT_DOUBLE_EQ(all[0].seconds, 1.0);
  const Ptr<PrimFunc> found = recorded(func, Records(file.path()));
  EXPECT_TRUE(structural_equal(found, best.function())) << script(found);
  EXPECT_EQ(refusal([&] { (void)all[0].schedule(func); }),
            "record_has_one_schedule: the record of main has several schedules, for ranges of "
            "sizes");
}

}  // namespace
}  // namespace loopsmith::tune
