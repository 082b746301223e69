// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "loopsmith/runtime/argument.h"
#include "loopsmith/runtime/error_text.h"
#include "loopsmith/runtime/ndarray.h"
#include "loopsmith/runtime/signature.h"
#include "loopsmith/runtime/testing/error_of.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using Rules = std::vector<ExtentRule>;

ExtentRule n(std::int64_t value) {
  return ExtentRule::equals(value);
}
ExtentRule n(const char* symbol) {
  return ExtentRule::named(symbol);
}

/// The text of the error that a call with `arguments` gives; empty when they are accepted.
std::string check_all(const Signature& signature, std::span<const CallArgument> arguments) {
  ls_error error;
  const auto count = static_cast<std::int64_t>(arguments.size());
  const std::int32_t code =
      ls_check_arguments(&signature.c_view(), arguments.data(), count, &error);
  if (code == LS_OK) return {};
  EXPECT_EQ(code, error.code);
  return describe(error).problem;
}

template <class... Arguments>
std::string check(const Signature& signature, Arguments&&... arguments) {
  return check_all(signature, std::vector<CallArgument>{CallArgument(arguments)...});
}

/// matmul(A[m, k], B[k, n], C[m, n])
Signature matmul(bool noalias = true) {
  return Signature({.name = "matmul",
                    .parameters = {{.name = "A", .shape = {n("m"), n("k")}},
                                   {.name = "B", .shape = {n("k"), n("n")}},
                                   {.name = "C", .shape = {n("m"), n("n")}, .writable = true}},
                    .symbols = {{"m"}, {"k"}, {"n"}},
                    .noalias = noalias});
}

Signature of_one(ParameterSpec parameter, std::vector<Symbol> symbols = {}) {
  return Signature(
      {.name = "f", .parameters = {std::move(parameter)}, .symbols = std::move(symbols)});
}

const NDArray a = NDArray::zeros({2, 3}), b = NDArray::zeros({3, 4}), c = NDArray::zeros({2, 4});

TEST(check_arguments, accepts_what_agrees) {
  EXPECT_EQ(check(matmul(), a, b, c), "");
}

TEST(check_arguments, counts) {
  EXPECT_EQ(check(matmul(), a, b), "matmul: takes 3 arguments (A, B, C), not 2");
  EXPECT_EQ(check(Signature({.name = "f"}), 1), "f: takes 0 arguments, not 1");
}

TEST(check_arguments, tells_tensors_from_numbers) {
  EXPECT_EQ(check(matmul(), a, 3, c), "matmul: B is an integer, not a tensor");
  EXPECT_EQ(check(of_one({.name = "x", .kind = LS_FLOAT}), a),
            "f: x is a tensor, not a floating-point number");
  EXPECT_EQ(check(of_one({.name = "x", .kind = LS_INT, .dtype = dtype::int32}), 2.5),
            "f: x is a floating-point number, not an integer");
  EXPECT_EQ(check(of_one({.name = "x", .kind = LS_HANDLE}), 1), "f: x is an integer, not a handle");
  EXPECT_EQ(check(of_one({.name = "x", .kind = LS_HANDLE}), CallArgument::handle(nullptr)), "");
  EXPECT_EQ(check(matmul(), static_cast<DLTensor*>(nullptr), b, c), "matmul: A is a null pointer");
}

TEST(check_arguments, compares_types_and_ranks) {
  const NDArray doubles = NDArray::zeros({3, 4}, dtype::float64);
  const NDArray cube = NDArray::zeros({3, 4, 1});
  EXPECT_EQ(check(matmul(), a, doubles, c), "matmul: B has dtype float64, not float32");
  EXPECT_EQ(check(matmul(), a, cube, c), "matmul: B has 3 dimensions, not 2");
}

TEST(check_arguments, binds_a_symbol_once_and_compares_it_later) {
  EXPECT_EQ(check(matmul(), a, a, c), "matmul: B.shape[0] is 2, not k = 3, which A.shape[1] gave");
  EXPECT_EQ(check(of_one({.name = "A", .shape = {n(2), n(5)}}), a), "f: A.shape[1] is 3, not 5");
  EXPECT_EQ(check(of_one({.name = "A", .shape = {ExtentRule::computed(), n(3)}}), a), "");

  const Signature with_length(
      {.name = "f",
       .parameters = {{.name = "n", .kind = LS_INT, .dtype = dtype::int32, .symbol = "n"},
                      {.name = "A", .shape = {n(2), n("n")}}},
       .symbols = {{"n"}}});
  EXPECT_EQ(check(with_length, 3, a), "");
  EXPECT_EQ(check(with_length, 4, a), "f: A.shape[1] is 3, not n = 4, which n gave");
  const Signature length_last(
      {.name = "f",
       .parameters = {{.name = "A", .shape = {n(2), n("n")}},
                      {.name = "n", .kind = LS_INT, .dtype = dtype::int64, .symbol = "n"}},
       .symbols = {{"n"}}});
  EXPECT_EQ(check(length_last, a, 3), "");
  EXPECT_EQ(check(length_last, a, 4), "f: n is 4, not n = 3, which A.shape[1] gave");
}

TEST(check_arguments, keeps_extents_in_the_range_of_their_symbol) {
  const Signature small = of_one({.name = "A", .shape = {n("m"), n("m")}}, {{"m", 2}});
  EXPECT_EQ(check(small, b), "f: A.shape[0] is 3, beyond 2, the limit of its type");
  DLTensor odd = a.c_tensor();
  std::int64_t shape[] = {2, -3};
  odd.shape = shape;
  EXPECT_EQ(check(matmul(), odd, b, c), "matmul: A.shape[1] is -3, negative");
  shape[0] = shape[1] = std::int64_t{1} << 32;
  EXPECT_EQ(check(matmul(), odd, b, c), "matmul: A spans more bytes than 63 bits count");
  shape[0] = std::int64_t{1} << 30;
  EXPECT_EQ(check(matmul(), odd, b, c), "matmul: A spans more bytes than 63 bits count");
  const Signature length =
      of_one({.name = "n", .kind = LS_INT, .dtype = dtype::int64, .symbol = "n"}, {{"n", 100}});
  EXPECT_EQ(check(length, 101), "f: n is 101, beyond 100, the limit of its type");
}

TEST(check_arguments, wants_compact_arrays_where_nothing_else_is_said) {
  const NDArray whole = NDArray::zeros({4, 6});
  EXPECT_EQ(check(matmul(), whole.slice(1, 0, 3).slice(0, 0, 2), b, c),
            "matmul: A.strides[0] is 6, not 3: the array is not compact (row-major without gaps)");
  const Signature any = of_one({.name = "A", .shape = {n("m"), n("n")}}, {{"m"}, {"n"}});
  EXPECT_EQ(check(any, whole.view({1, 6}, {-17, 1})), "");  // the stride of a size 1 says nothing
  EXPECT_EQ(check(any, whole.view({0, 6}, {5, 7})), "");    // nor any of an empty array
  DLTensor implicit = whole.c_tensor();
  implicit.strides = nullptr;
  EXPECT_EQ(check(any, implicit), "");
}

TEST(check_arguments, compares_strides_that_the_signature_names) {
  const NDArray whole = NDArray::zeros({4, 6});
  const Signature strided =
      of_one({.name = "A", .shape = {n("m"), n("n")}, .strides = Rules{n("s"), n(1)}},
             {{"m"}, {"n"}, {"s", 10}});
  EXPECT_EQ(check(strided, whole.slice(1, 0, 3)), "");
  EXPECT_EQ(check(strided, whole.view({3, 1}, {7, 3})), "");
  EXPECT_EQ(check(strided, whole.view({6, 4}, {1, 6})), "f: A.strides[1] is 6, not 1");
  EXPECT_EQ(check(strided, whole.view({2, 3}, {11, 1})),
            "f: A.strides[0] is 11, beyond 10, the limit of its type");
  const Signature square = of_one(
      {.name = "A", .shape = {n("m"), n("m")}, .strides = Rules{n("s"), n("s")}}, {{"m"}, {"s"}});
  EXPECT_EQ(check(square, whole.view({2, 2}, {3, 3})), "");
  EXPECT_EQ(check(square, whole.view({2, 2}, {3, 4})),
            "f: A.strides[1] is 4, not s = 3, which A.strides[0] gave");
  EXPECT_EQ(check(square, whole.view({0, 0}, {3, 4})), "");
  DLTensor implicit = NDArray::zeros({1}).c_tensor();
  std::int64_t shape[] = {2, 2};
  implicit = {implicit.data, implicit.device, 2, implicit.dtype, shape, nullptr, 0};
  EXPECT_EQ(check(square, implicit), "f: A.strides[1] is 1, not s = 2, which A.strides[0] gave");
  std::int64_t huge[] = {std::numeric_limits<std::int64_t>::max(),
                         std::numeric_limits<std::int64_t>::max()};
  implicit.strides = huge;
  shape[0] = shape[1] = 3;
  EXPECT_EQ(check(square, implicit), "f: A spans more bytes than 63 bits count");
}

TEST(check_arguments, looks_at_alignment_data_and_device) {
  const Signature aligned = of_one({.name = "A", .shape = {n("n")}, .alignment = 64}, {{"n"}});
  const NDArray line = NDArray::zeros({100});
  EXPECT_EQ(check(aligned, line), "");
  EXPECT_EQ(check(aligned, line.slice(0, 16, 50)), "");
  const NDArray off = line.slice(0, 1, 50);
  EXPECT_TRUE(check(aligned, off).ends_with(", not at a multiple of 64 bytes"))
      << check(aligned, off);
  EXPECT_TRUE(check(aligned, off).starts_with("f: the data of A starts at 0x"));
  EXPECT_EQ(check(aligned, line.slice(0, 1, 1)), "");  // empty: no data is read

  DLTensor odd = line.c_tensor();
  odd.data = nullptr;
  EXPECT_EQ(check(aligned, odd), "f: A has 100 elements, but its data is a null pointer");
  std::int64_t zero[] = {0};
  odd.shape = zero;
  EXPECT_EQ(check(aligned, odd), "");

  odd = line.c_tensor();
  odd.device = {kDLCUDA, 1};
  EXPECT_EQ(check(aligned, odd), "f: A is on cuda:1, not on cpu");
  odd.device = {kDLCUDAHost, 0};  // pinned, but the processor's own
  EXPECT_EQ(check(aligned, odd), "");
}

TEST(check_arguments, does_not_write_what_is_read_only) {
  EXPECT_EQ(check(matmul(), a.as_read_only(), b, c), "");
  EXPECT_EQ(check(matmul(), a, b, c.as_read_only()),
            "matmul: C is written by the function, but the array is read-only");
}

TEST(check_arguments, finds_overlaps_with_what_is_written) {
  const NDArray whole = NDArray::zeros({6, 4});
  const NDArray top = whole.slice(0, 0, 3);
  const Signature copy({.name = "copy",
                        .parameters = {{.name = "A", .shape = {n("m"), n("n")}},
                                       {.name = "B", .shape = {n("m"), n("n")}, .writable = true}},
                        .symbols = {{"m"}, {"n"}}});
  EXPECT_EQ(check(copy, top, whole.slice(0, 3, 6)), "");
  EXPECT_EQ(check(copy, top, whole.slice(0, 2, 5)), "copy: B is written and overlaps A in memory");
  EXPECT_EQ(check(copy, top, top), "copy: B is written and overlaps A in memory");
  EXPECT_EQ(check(copy, whole.slice(0, 1, 1), whole.slice(0, 0, 0)), "");
  EXPECT_EQ(check(matmul(), whole.slice(0, 0, 4), whole.slice(0, 0, 4), NDArray::zeros({4, 4})),
            "");  // what is only read may overlap
  EXPECT_EQ(check(matmul(false), whole.slice(0, 0, 4), whole.slice(0, 0, 4), whole.slice(0, 0, 4)),
            "");

  const Signature reversed(
      {.name = "reverse",
       .parameters = {{.name = "A", .shape = {n("n")}, .strides = Rules{n("s")}},
                      {.name = "B", .shape = {n("n")}, .writable = true}},
       .symbols = {{"n"}, {"s"}}});
  const NDArray line = NDArray::zeros({10});
  EXPECT_EQ(check(reversed, line.view({5}, {-1}, 9), line.slice(0, 0, 5)), "");
  EXPECT_EQ(check(reversed, line.view({5}, {-2}, 9), line.slice(0, 0, 5)),
            "reverse: B is written and overlaps A in memory");
}

TEST(check_arguments, keeps_scalars_in_the_range_of_their_type) {
  const auto scalar = [](ls_kind kind, DLDataType type) {
    return of_one({.name = "x", .kind = kind, .dtype = type});
  };
  EXPECT_EQ(check(scalar(LS_INT, dtype::int8), 127), "");
  EXPECT_EQ(check(scalar(LS_INT, dtype::int8), -128), "");
  EXPECT_EQ(check(scalar(LS_INT, dtype::int8), 128), "f: x is 128, which int8 cannot hold");
  EXPECT_EQ(check(scalar(LS_INT, dtype::int8), -129), "f: x is -129, which int8 cannot hold");
  EXPECT_EQ(check(scalar(LS_INT, dtype::uint32), -1), "f: x is -1, which uint32 cannot hold");
  EXPECT_EQ(check(scalar(LS_INT, dtype::uint32), 0xffffffffLL), "");
  EXPECT_EQ(check(scalar(LS_INT, dtype::int64), std::numeric_limits<std::int64_t>::min()), "");
  EXPECT_EQ(check(scalar(LS_INT, dtype::uint64), ~std::uint64_t{0}), "");
  EXPECT_EQ(check(scalar(LS_INT, dtype::int32), true), "");
  EXPECT_EQ(check(scalar(LS_BOOL, dtype::boolean), 1), "");
  EXPECT_EQ(check(scalar(LS_BOOL, dtype::boolean), 2), "f: x is 2, which bool cannot hold");
  EXPECT_EQ(check(scalar(LS_FLOAT, dtype::float32), 1e300), "");
}

TEST(check_arguments, takes_many_parameters) {
  std::vector<ParameterSpec> parameters;
  std::vector<NDArray> arrays;
  std::vector<CallArgument> arguments;
  for (int i = 0; i < 40; ++i) {
    parameters.push_back(
        {.name = std::string("p").append(std::to_string(i)), .shape = {n(4)}, .writable = i == 39});
    arrays.push_back(NDArray::zeros({4}));
  }
  const Signature many({.name = "f", .parameters = parameters});
  for (const NDArray& array : arrays) arguments.emplace_back(array);
  EXPECT_EQ(check_all(many, arguments), "");
  arguments[39] = arguments[20];
  EXPECT_EQ(check_all(many, arguments), "f: p39 is written and overlaps p20 in memory");
}

TEST(error_text, adds_the_hint_and_fits_the_buffer) {
  ls_error error;
  const CallArgument arguments[] = {a, b};
  const Signature signature = matmul();
  ls_check_arguments(&signature.c_view(), arguments, 2, &error);
  char text[200];
  const int length = ls_error_text(&error, text, sizeof text);
  EXPECT_STREQ(text,
               "matmul: takes 3 arguments (A, B, C), not 2\n"
               "  hint: pass one for each parameter, outputs too");
  EXPECT_EQ(length, static_cast<int>(std::string(text).size()));
  EXPECT_EQ(ls_error_text(&error, text, 7), length);
  EXPECT_STREQ(text, "matmul");
}

TEST(error_text, has_words_for_what_kernels_report) {
  const auto words = [](ls_error error) { return describe(error).problem; };
  EXPECT_EQ(words({.code = LS_OK}), "no error");
  EXPECT_EQ(words({.code = LS_OUT_OF_MEMORY, .parameter = -1, .expected = 4096}),
            "no memory for 4096 bytes of workspace");
  EXPECT_EQ(words({.code = LS_ASSERTION, .parameter = -1}), "an assertion failed");
  EXPECT_EQ(words({.code = LS_ARGUMENT_COUNT, .parameter = -1, .expected = 2, .actual = 1}),
            "takes 2 arguments, not 1");
  EXPECT_EQ(words({.code = LS_SHAPE, .parameter = 3}), "failed with status 5");
}

TEST(signature, is_checked_when_it_is_made) {
  EXPECT_EQ(error_of([] { of_one({.name = "A", .alignment = 48}); }).problem(),
            "f: the alignment of A is 48, not a power of two");
  EXPECT_EQ(error_of([] {
              of_one({.name = "A", .shape = {n(1), n(2)}, .strides = Rules{n(1)}});
            }).problem(),
            "f: A has 2 dimensions and 1 strides");
  EXPECT_EQ(error_of([] { of_one({.name = "A", .shape = {n("n")}}); }).problem(),
            "f: A uses the unknown symbol n");
  EXPECT_EQ(error_of([] { of_one({.name = "A"}, std::vector<Symbol>(65)); }).problem(),
            "f: has 65 symbolic sizes, more than 64");
}

TEST(signature, copies_outlive_the_original) {
  auto original = std::make_unique<Signature>(matmul());
  const Signature copy = *original;
  original.reset();
  EXPECT_EQ(check(copy, a, b, c), "");
  EXPECT_EQ(copy.spec().parameters.size(), 3U);
}

}  // namespace
}  // namespace loopsmith
