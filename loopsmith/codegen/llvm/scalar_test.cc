// SPDX-License-Identifier: Apache-2.0
// docs/semantics.md, over compiled code and the interpreter: each operation on each type, at the
// numbers where something might go wrong, one by one and as vectors. Nothing traps.
#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/codegen/llvm/testing/kernel.h"
#include "loopsmith/codegen/llvm/testing/scalars.h"
#include "loopsmith/interp/testing/call.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::function_of;
using testing::Kernel;
using testing::Number;

constexpr int vector_lanes = 8;

/// One operation: its name, and how it is written.
struct Operation {
  std::string name;
  std::function<Expr(const Expr&, const Expr&)> build;
  bool gives_bool = false;
};

template <class T>
Operation node(const char* name, bool gives_bool = false) {
  return {name, [](const Expr& a, const Expr& b) { return Expr(make(T{.a = a, .b = b})); },
          gives_bool};
}
Operation binary(Op op) {
  return {std::string(op.name()), [op](const Expr& a, const Expr& b) { return call(op, {a, b}); }};
}
Operation unary(Op op, bool gives_bool = false) {
  return {std::string(op.name()),
          [op, gives_bool](const Expr& a, const Expr&) {
            const DataType type = gives_bool ? boolean.with_lanes(a.dtype().lanes) : a.dtype();
            return call(type, op, {a});
          },
          gives_bool};
}

std::vector<Operation> comparisons() {
  return {node<EQ>("EQ", true), node<NE>("NE", true), node<LT>("LT", true),
          node<LE>("LE", true), node<GT>("GT", true), node<GE>("GE", true)};
}

std::vector<Operation> integer_operations() {
  std::vector<Operation> all = comparisons();
  for (const Operation& each :
       {node<Add>("Add"), node<Sub>("Sub"), node<Mul>("Mul"), node<Div>("Div"), node<Mod>("Mod"),
        node<FloorDiv>("FloorDiv"), node<FloorMod>("FloorMod"), node<Min>("Min"), node<Max>("Max"),
        binary(op("bitwise_and")), binary(op("bitwise_or")), binary(op("bitwise_xor")),
        binary(op("shift_left")), binary(op("shift_right")), unary(op("bitwise_not")),
        unary(op("popcount")), unary(op("clz")), unary(op("fabs"))}) {
    all.push_back(each);
  }
  return all;
}

std::vector<Operation> float_operations() {
  std::vector<Operation> all = comparisons();
  for (const Operation& each :
       {node<Add>("Add"), node<Sub>("Sub"), node<Mul>("Mul"), node<Div>("Div"), node<Min>("Min"),
        node<Max>("Max"), binary(op("copysign")), unary(op("sqrt")), unary(op("fabs")),
        unary(op("floor")), unary(op("ceil")), unary(op("trunc")), unary(op("round")),
        unary(op("nearbyint")), unary(op("isnan"), true), unary(op("isinf"), true),
        unary(op("isfinite"), true)}) {
    all.push_back(each);
  }
  return all;
}

/// Elements lanes * i, ... as a scalar or a vector.
Expr elements(const Expr& i, int lanes) {
  if (lanes == 1) return i;
  return make(Ramp{.base = i * lanes, .stride = 1, .lanes = lanes});
}

/// All pairs of interesting numbers, and a whole number of vectors of them.
struct Pairs {
  std::vector<Number> first, second;

  explicit Pairs(DataType dtype) {
    const std::vector<Number> numbers = testing::interesting(dtype);
    for (const Number& a : numbers) {
      for (const Number& b : numbers) add(a, b);
    }
    while (first.size() % vector_lanes != 0) add(numbers[0], numbers[0]);
  }
  void add(const Number& a, const Number& b) {
    first.push_back(a);
    second.push_back(b);
  }
};

/// What the interpreter is to do where compiled code has a result.
const interp::Options as_compiled{.wrap_overflow = true, .zero_division = true};

void check_operations(DataType dtype, const std::vector<Operation>& operations, int lanes,
                      const std::string& target = "llvm -mcpu=native") {
  const Pairs pairs(dtype);
  const int count = static_cast<int>(pairs.first.size());
  const auto a = decl_buffer({count}, dtype, "A"), b = decl_buffer({count}, dtype, "B");
  std::vector<Ptr<Buffer>> buffers{a, b};
  const auto i = var("i");
  std::vector<Stmt> stores;
  std::vector<DataType> types;
  for (const Operation& operation : operations) {
    types.push_back(operation.gives_bool ? boolean : dtype);
    buffers.push_back(decl_buffer({count}, types.back(), operation.name));
    const Expr index = elements(i, lanes);
    stores.push_back(
        store(buffers.back(), operation.build(load(a, {index}), load(b, {index})), {index}));
  }
  const auto func = function_of(buffers, for_loop(i, 0, count / lanes, seq(stores)));

  Kernel kernel(func, {.contract = false}, target);
  auto first = testing::to_memory(dtype, pairs.first),
       second = testing::to_memory(dtype, pairs.second);
  std::deque<std::vector<std::uint8_t>> results;
  kernel.tensor(first).tensor(second);
  for (const DataType type : types) {
    results.push_back(testing::to_memory(type, std::vector<Number>(pairs.first.size())));
    kernel.tensor(results.back());
  }
  ASSERT_EQ(kernel.run(), LS_OK);
  interp::testing::Call interpreted(func);
  interpreted.tensor(first, {count}).tensor(second, {count});
  auto others = results;
  for (auto& other : others) {
    std::ranges::fill(other, 0);
    interpreted.tensor(other, {count});
  }
  interpreted.run(as_compiled);
  for (std::size_t o = 0; o < operations.size(); ++o) {
    const auto actual = testing::from_memory(types[o], results[o], pairs.first.size());
    const auto second_opinion = testing::from_memory(types[o], others[o], pairs.first.size());
    for (std::size_t k = 0; k < actual.size(); ++k) {
      const Number& x = pairs.first[k];
      const Number& y = pairs.second[k];
      const Number expected = testing::reference(operations[o].name, dtype, x, y);
      ASSERT_TRUE(same(types[o], actual[k], expected))
          << operations[o].name << " of " << to_string(dtype) << " " << to_string(dtype, x) << ", "
          << to_string(dtype, y) << " gave " << to_string(types[o], actual[k]) << ", not "
          << to_string(types[o], expected) << " (lanes: " << lanes << ")";
      ASSERT_TRUE(same(types[o], second_opinion[k], expected))
          << "interpreted, " << operations[o].name << " of " << to_string(dtype) << " "
          << to_string(dtype, x) << ", " << to_string(dtype, y) << " gave "
          << to_string(types[o], second_opinion[k]) << ", not " << to_string(types[o], expected);
    }
  }
}

const DataType integers[] = {i8, i16, i32, i64, u8, u16, u32, u64};
const DataType floats[] = {f16, bf16, f32, f64, f8e4m3, f8e5m2};
const DataType small_integers[] = {{TypeCode::int_, 1},  {TypeCode::int_, 2}, {TypeCode::int_, 4},
                                   {TypeCode::uint, 2},  {TypeCode::uint, 4}, {TypeCode::int_, 12},
                                   {TypeCode::uint, 24}, {TypeCode::int_, 48}};

std::vector<DataType> number_types() {
  std::vector<DataType> all(std::begin(integers), std::end(integers));
  all.insert(all.end(), std::begin(floats), std::end(floats));
  all.insert(all.end(), std::begin(small_integers), std::end(small_integers));
  return all;
}

TEST(scalar, integers_mean_what_the_table_says) {
  for (const DataType dtype : integers) check_operations(dtype, integer_operations(), 1);
}

TEST(scalar, vectors_of_integers_do_too) {
  for (const DataType dtype : integers) check_operations(dtype, integer_operations(), vector_lanes);
}

TEST(scalar, integers_of_odd_sizes_do_too) {
  for (const DataType dtype : small_integers) {
    check_operations(dtype, integer_operations(), 1);
    check_operations(dtype, integer_operations(), vector_lanes);
  }
}

TEST(scalar, floats_mean_what_the_table_says) {
  for (const DataType dtype : floats) check_operations(dtype, float_operations(), 1);
}

TEST(scalar, vectors_of_floats_do_too) {
  for (const DataType dtype : floats) check_operations(dtype, float_operations(), vector_lanes);
}

TEST(scalar, every_x86_processor_agrees) {
  for (const DataType dtype : {i32, u8, f16, bf16, f32, f8e4m3}) {
    const auto& operations = dtype.is_integer() ? integer_operations() : float_operations();
    check_operations(dtype, operations, vector_lanes, "llvm -mcpu=x86-64");
    check_operations(dtype, operations, vector_lanes, "llvm -mcpu=haswell");
  }
}

void check_casts(DataType from, const std::vector<DataType>& targets, int lanes,
                 const std::string& target = "llvm -mcpu=native") {
  std::vector<Number> numbers = testing::interesting(from);
  while (numbers.size() % vector_lanes != 0) numbers.push_back(numbers[0]);
  const int count = static_cast<int>(numbers.size());
  const auto in = decl_buffer({count}, from, "in");
  std::vector<Ptr<Buffer>> buffers{in};
  const auto i = var("i");
  std::vector<Stmt> stores;
  for (const DataType to : targets) {
    const Expr index = elements(i, lanes);
    buffers.push_back(decl_buffer({count}, to, to_string(to)));
    stores.push_back(store(buffers.back(), cast(to.with_lanes(lanes), load(in, {index})), {index}));
  }
  const auto func = function_of(buffers, for_loop(i, 0, count / lanes, seq(stores)));
  Kernel kernel(func, {}, target);
  auto memory = testing::to_memory(from, numbers);
  kernel.tensor(memory);
  std::deque<std::vector<std::uint8_t>> results;
  for (const DataType to : targets) {
    results.push_back(testing::to_memory(to, std::vector<Number>(numbers.size())));
    kernel.tensor(results.back());
  }
  ASSERT_EQ(kernel.run(), LS_OK);
  interp::testing::Call interpreted(func);
  interpreted.tensor(memory, {count});
  auto others = results;
  for (auto& other : others) {
    std::ranges::fill(other, 0);
    interpreted.tensor(other, {count});
  }
  interpreted.run(as_compiled);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const auto actual = testing::from_memory(targets[t], results[t], numbers.size());
    const auto second_opinion = testing::from_memory(targets[t], others[t], numbers.size());
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const Number expected = testing::reference_cast(from, targets[t], numbers[k]);
      ASSERT_TRUE(same(targets[t], actual[k], expected))
          << to_string(from) << " " << to_string(from, numbers[k]) << " as "
          << to_string(targets[t]) << " gave " << to_string(targets[t], actual[k]) << ", not "
          << to_string(targets[t], expected) << " (lanes: " << lanes << ")";
      ASSERT_TRUE(same(targets[t], second_opinion[k], expected))
          << "interpreted, " << to_string(from) << " " << to_string(from, numbers[k]) << " as "
          << to_string(targets[t]) << " gave " << to_string(targets[t], second_opinion[k])
          << ", not " << to_string(targets[t], expected);
    }
  }
}

TEST(scalar, casts_truncate_saturate_and_round_once) {
  std::vector<DataType> all = number_types();
  all.push_back(boolean);
  for (const DataType from : all) {
    check_casts(from, all, 1);
    check_casts(from, all, vector_lanes);
  }
}

// Each type takes a run of the C compiler; the others were tried, too.
TEST(scalar, c_agrees) {
  for (const DataType dtype : {u64, DataType{TypeCode::int_, 12}, f16, f8e4m3}) {
    const auto& operations = dtype.is_integer() ? integer_operations() : float_operations();
    check_operations(dtype, operations, vector_lanes, "c");
  }
  check_operations(i32, integer_operations(), 1, "c");
}

TEST(scalar, casts_of_c_agree) {
  std::vector<DataType> all = number_types();
  all.push_back(boolean);
  for (const DataType from : {f32, u64, bf16}) check_casts(from, all, 1, "c");
}

TEST(scalar, products_and_sums_are_rounded_once_where_allowed) {
  const auto a = decl_buffer({3}, f32, "A"), out = decl_buffer({1}, f32, "out");
  const auto func =
      function_of({a, out}, store(out, load(a, {0}) * load(a, {1}) + load(a, {2}), {0}));
  const float x = 1 + 0x1p-12F;
  std::vector<float> operands{x, x, -(1 + 0x1p-11F)}, result(1);
  for (const char* target : {"llvm -mcpu=native", "c"}) {
    Kernel(func, {.contract = false}, target).tensor(operands).tensor(result).run();
    EXPECT_EQ(result[0], 0);
  }
  Kernel(func, {.contract = true}).tensor(operands).tensor(result).run();
  EXPECT_EQ(result[0], 0x1p-24F);
}

}  // namespace
}  // namespace loopsmith
