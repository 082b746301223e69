// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/ndarray.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "loopsmith/runtime/testing/error_of.h"

namespace loopsmith {
namespace {

using Shape = std::vector<std::int64_t>;

Shape list(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

NDArray counting(Shape shape) {
  NDArray array = NDArray::empty(std::move(shape));
  std::iota(array.data<float>(), array.data<float>() + array.size(), 0.0F);
  return array;
}

TEST(ndarray, is_compact_aligned_and_on_the_cpu) {
  for (const std::int64_t rows : {0, 1, 3, 3000000}) {
    const NDArray array = NDArray::zeros({rows, 5}, dtype::float64);
    EXPECT_EQ(list(array.shape()), (Shape{rows, 5}));
    EXPECT_EQ(list(array.strides()), (Shape{5, 1}));
    EXPECT_EQ(array.size(), rows * 5);
    EXPECT_TRUE(array.is_compact());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data<double>()) % NDArray::alignment, 0U);
    EXPECT_EQ(to_string(array.device()), "cpu");
    for (std::int64_t i = 0; i < std::min<std::int64_t>(array.size(), 100); ++i) {
      EXPECT_EQ(array.data<double>()[i], 0.0);
    }
  }
  EXPECT_EQ(NDArray::empty({}).size(), 1);
}

TEST(ndarray, refuses_shapes_that_no_memory_holds) {
  EXPECT_EQ(error_of([] { NDArray::empty({2, -1}); }).problem(),
            "array: shape (2, -1) has a negative size");
  EXPECT_EQ(
      error_of([] { NDArray::empty({std::int64_t{1} << 40, std::int64_t{1} << 40}); }).problem(),
      "array: shape (1099511627776, 1099511627776) of float32 spans more bytes than 63 bits "
      "count");
  EXPECT_EQ(error_of([] { NDArray::empty({std::int64_t{1} << 50}); }).problem(),
            "array: no memory for shape (1125899906842624) of float32, 4503599627370496 bytes");
}

TEST(ndarray, checks_the_size_of_elements) {
  const NDArray array = NDArray::empty({2});
  EXPECT_EQ(error_of([&] { array.data<double>(); }).problem(),
            "array: elements of float32 read as 8 bytes each");
}

TEST(ndarray, copies_and_views_share_data) {
  const NDArray array = counting({4, 6});
  const NDArray transposed = array.view({6, 4}, {1, 6});
  EXPECT_FALSE(transposed.is_compact());
  EXPECT_EQ(transposed.data<float>(), array.data<float>());
  const NDArray reversed = array.view({4, 6}, {-6, -1}, 23);
  EXPECT_EQ(reversed.data<float>()[0], 23.0F);
  EXPECT_EQ(reversed.view({6}, {-1}, -5).data<float>()[0], 18.0F);
  const NDArray rows = array.slice(0, 1, 3);
  EXPECT_EQ(list(rows.shape()), (Shape{2, 6}));
  EXPECT_EQ(rows.data<float>()[0], 6.0F);
  EXPECT_TRUE(rows.is_compact());
  EXPECT_FALSE(array.slice(1, 2, 4).is_compact());
  EXPECT_EQ(array.slice(1, 2, 4).slice(0, 3, 4).data<float>()[0], 20.0F);
  EXPECT_EQ(array.slice(0, 4, 4).size(), 0);
  EXPECT_EQ(list(array.reshape({2, 12}).strides()), (Shape{12, 1}));
}

TEST(ndarray, views_stay_inside) {
  const NDArray array = counting({4, 6});
  EXPECT_EQ(error_of([&] { array.view({4, 6}, {6, 1}, 1); }).problem(),
            "view: shape (4, 6), strides (6, 1) and offset 1 reach outside of an array of shape "
            "(4, 6)");
  EXPECT_EQ(error_of([&] { array.view({2}, {-1}); }).code(), "view_is_inside");
  EXPECT_EQ(error_of([&] { array.view({3}, {std::numeric_limits<std::int64_t>::max()}); }).code(),
            "view_is_inside");
  EXPECT_EQ(error_of([&] { array.slice(0, 0, 0).view({1}, {1}); }).code(), "view_is_inside");
  EXPECT_EQ(error_of([&] { array.view({4}, {6, 1}); }).problem(),
            "view: has 1 sizes and 2 strides");
  EXPECT_EQ(error_of([&] { array.reshape({5, 5}); }).problem(),
            "reshape: shape (5, 5) does not hold the 24 elements of shape (4, 6)");
  EXPECT_EQ(error_of([&] { array.view({6, 4}, {1, 6}).reshape({24}); }).problem(),
            "reshape: the array is not compact");
  EXPECT_EQ(error_of([&] { array.slice(2, 0, 1); }).problem(),
            "slice: dimension 2 of an array with 2");
  EXPECT_EQ(error_of([&] { array.slice(1, 3, 7); }).problem(),
            "slice: 3:7 of dimension 1, whose size is 6");
  EXPECT_EQ(error_of([&] { NDArray::empty({8}, {kDLUInt, 4, 1}).view({4}, {1}); }).problem(),
            "view: elements of uint4 are smaller than a byte");
}

TEST(ndarray, travels_through_dlpack_without_a_copy) {
  DLManagedTensorVersioned* lent = nullptr;
  const float* data = nullptr;
  {
    const NDArray array = counting({3, 4}).slice(0, 1, 3);
    data = array.data<float>();
    lent = array.as_read_only().to_dlpack();
  }  // the borrower keeps the data alive
  EXPECT_EQ(lent->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  const NDArray back = NDArray::from_dlpack(lent);
  EXPECT_EQ(back.data<float>(), data);
  EXPECT_EQ(back.data<float>()[0], 4.0F);
  EXPECT_EQ(list(back.shape()), (Shape{2, 4}));
  EXPECT_TRUE(back.is_read_only());
  EXPECT_EQ(error_of([&] { back.to_dlpack_unversioned(); }).problem(),
            "array: is read-only, which DLPack before 1.0 cannot say");
}

TEST(ndarray, travels_through_unversioned_dlpack) {
  const NDArray array = counting({3, 4});
  DLManagedTensor* lent = array.to_dlpack_unversioned();
  lent->dl_tensor.strides = nullptr;  // as older libraries say "compact"
  const NDArray back = NDArray::from_dlpack(lent);
  EXPECT_EQ(back.data<float>(), array.data<float>());
  EXPECT_EQ(list(back.strides()), (Shape{4, 1}));
  EXPECT_FALSE(back.is_read_only());
}

TEST(ndarray, gives_back_what_it_does_not_understand) {
  static int given_back = 0;
  DLManagedTensorVersioned lent{};
  lent.version = {2, 0};
  lent.deleter = [](DLManagedTensorVersioned*) { ++given_back; };
  EXPECT_EQ(error_of([&] { NDArray::from_dlpack(&lent); }).problem(),
            "array: lent in DLPack 2.0, where 1.x is understood");
  EXPECT_EQ(given_back, 1);

  std::int64_t shape[] = {-1};
  lent.version = {1, 0};
  lent.dl_tensor.ndim = 1;
  lent.dl_tensor.shape = shape;
  EXPECT_EQ(error_of([&] { NDArray::from_dlpack(&lent); }).code(), "extent_is_not_negative");
  EXPECT_EQ(given_back, 2);
}

}  // namespace
}  // namespace loopsmith
