// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/accumulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

const Ptr<Buffer> addends = decl_buffer({8}, i32, "A"), updated = decl_buffer({8}, i32, "X");
const Ptr<Var> place = var("i");

/// What X[i] is updated with, and how often it would be counted as an update of that kind.
std::string operand_of(const Expr& value, Combiner combiner) {
  const Stmt stmt = store(updated, value, {place});
  const auto found = accumulation_of(*stmt.as<BufferStore>());
  if (!found) return "none";
  EXPECT_EQ(found->combiner, combiner);
  const std::string text = script(found->operand);
  return text.substr(text.rfind('\n') + 1);
}

TEST(accumulation, is_found_along_a_chain) {
  const Expr old = load(updated, {place}), b = load(addends, {place}), c = load(addends, {0});
  EXPECT_EQ(operand_of(old + b, Combiner::sum), "A[i]");
  EXPECT_EQ(operand_of(old + b + c, Combiner::sum), "A[i] + A[0]");
  EXPECT_EQ(operand_of(b + (old - c), Combiner::sum), "A[i] + (0 - A[0])");
  EXPECT_EQ(operand_of(max(b, max(old, c)), Combiner::maximum), "T.max(A[i], A[0])");
  EXPECT_EQ(operand_of(old & b, Combiner::bit_and), "A[i]");
  EXPECT_EQ(operand_of(c ^ old, Combiner::bit_xor), "A[0]");
}

TEST(accumulation, is_of_one_kind_and_reads_its_element_once) {
  const Expr old = load(updated, {place}), b = load(addends, {place});
  for (const Expr& value : {b, old, b - old, old + old, old * b + b, old + (b + old),
                            load(updated, {place + 1}) + b, load(updated, {old}) + old + old}) {
    EXPECT_EQ(operand_of(value, Combiner::sum), "none") << script(value);
  }
}

TEST(accumulation, may_read_other_elements) {
  const Expr old = load(updated, {place}), other = load(updated, {place + 1});
  EXPECT_EQ(operand_of(old - other, Combiner::sum), "0 - X[i + 1]");
  EXPECT_EQ(operand_of(min(other + load(updated, {0}), old), Combiner::minimum), "X[i + 1] + X[0]");
}

TEST(accumulation, may_be_combined_unless_arithmetic_says_no) {
  const Expr old = load(updated, {place}), b = load(addends, {place});
  const auto is_combination = [](const Expr& value) {
    const Stmt stmt = store(updated, value, {place});
    return may_combine(*stmt.as<BufferStore>());
  };
  EXPECT_TRUE(is_combination(old - b));
  EXPECT_TRUE(is_combination(select(old > b, old, b)));
  EXPECT_TRUE(is_combination(max(b, old)));
  EXPECT_FALSE(is_combination(b - old));
  EXPECT_FALSE(is_combination(max(b - old, old)));
  EXPECT_FALSE(is_combination(b));
}

TEST(accumulation, starts_from_what_changes_nothing) {
  const auto starts = [](DataType type) {
    std::string all;
    for (const Combiner combiner :
         {Combiner::sum, Combiner::product, Combiner::minimum, Combiner::maximum, Combiner::bit_and,
          Combiner::bit_or, Combiner::bit_xor}) {
      all += fmt::format("{} ", *as_int(neutral_element(combiner, type)));
    }
    return all;
  };
  EXPECT_EQ(starts(i8), "0 1 127 -128 -1 0 0 ");
  EXPECT_EQ(starts(u8), "0 1 255 0 255 0 0 ");
}

const Ptr<Buffer> numbers = decl_buffer({8}, f32, "F"), kept = decl_buffer({}, f32, "M");

std::optional<Combiner> selection(const Expr& condition, const Expr& value) {
  const Stmt branch = make(IfThenElse{.condition = condition, .then_case = store(kept, value, {})});
  const Stmt update = selected_update(*branch.as<IfThenElse>());
  if (!update.defined()) return {};
  const auto found = accumulation_of(*update.as<BufferStore>());
  EXPECT_TRUE(found && found->operand.same_as(value));
  return found ? std::optional(found->combiner) : std::nullopt;
}

TEST(accumulation, is_a_branch_that_compares) {
  const Expr old = load(kept, {}), e = load(numbers, {place}), other = load(numbers, {0});
  EXPECT_EQ(selection(e > old, e), Combiner::larger);
  EXPECT_EQ(selection(old <= e, e), Combiner::larger);
  EXPECT_EQ(selection(e < old, e), Combiner::smaller);
  EXPECT_EQ(selection(old >= e, e), Combiner::smaller);
  EXPECT_FALSE(selection(e > other, e));
  EXPECT_FALSE(selection(e > old, other));
  EXPECT_FALSE(selection(!(e <= old), e));
  EXPECT_FALSE(selection(old + e > old, old + e));
  const Stmt both = make(IfThenElse{
      .condition = e > old, .then_case = store(kept, e, {}), .else_case = store(kept, other, {})});
  EXPECT_FALSE(selected_update(*both.as<IfThenElse>()).defined());
}

TEST(accumulation, is_an_extreme_where_no_value_is_nan) {
  const Expr old = load(updated, {place}), b = load(addends, {place});
  EXPECT_EQ(operand_of(select(b > old, b, old), Combiner::maximum), "A[i]");
  EXPECT_EQ(operand_of(select(old > b, b, old), Combiner::minimum), "A[i]");
  EXPECT_EQ(operand_of(select(old > b, old, b), Combiner::maximum), "none");
}

}  // namespace
}  // namespace loopsmith
