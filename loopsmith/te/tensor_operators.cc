// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/tensor_operators.h"

#include "loopsmith/support/error.h"
#include "loopsmith/te/same_extent.h"

namespace loopsmith::te {
namespace {

/// Extent `i` of the result of broadcasting, counted from the last.
Expr joint_extent(const Tensor& a, const Tensor& b, std::size_t from_last) {
  const auto extent = [&](const Tensor& tensor) {
    const std::size_t n = tensor.ndim();
    return from_last < n ? tensor.shape()[n - 1 - from_last] : Expr(1);
  };
  const Expr x = extent(a);
  const Expr y = extent(b);
  if (is_const_int(x, 1)) return y;
  if (is_const_int(y, 1)) return x;
  const std::int64_t* left = as_int(x);
  const std::int64_t* right = as_int(y);
  require(same_extent(x, y), ErrorKind::type_mismatch, "shapes_broadcast",
          hint("make the extents equal, or one of them 1"), current_span,
          "{} and {} do not broadcast: their extents {} from the last differ ({} and {})", a.name(),
          b.name(), from_last, left ? std::to_string(*left) : "symbolic",
          right ? std::to_string(*right) : "symbolic");
  return x;
}

std::vector<Expr> joint_shape(const Tensor& a, const Tensor& b) {
  std::vector<Expr> shape(std::max(a.ndim(), b.ndim()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[shape.size() - 1 - i] = joint_extent(a, b, i);
  }
  return shape;
}

/// The element of `tensor` that belongs to element `indices` of the result.
Expr element_at(const Tensor& tensor, const std::vector<Expr>& indices) {
  const std::size_t leading = indices.size() - tensor.ndim();
  std::vector<Expr> own;
  for (std::size_t i = 0; i < tensor.ndim(); ++i) {
    const bool is_stretched = is_const_int(tensor.shape()[i], 1);
    own.push_back(is_stretched ? zero_of(tensor.shape()[i].dtype()) : indices[leading + i]);
  }
  return tensor(std::move(own));
}

std::vector<std::string> axis_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("ax{}", i));
  return names;
}

}  // namespace

Tensor broadcast(const Tensor& a, const Tensor& b, const ElementFunction& function,
                 std::string name, const Place& place) {
  const SpanScope scope(span_of(place));
  std::vector<Expr> shape = joint_shape(a, b);
  const ComputeOptions options{.tag = "broadcast", .axes = axis_names(shape.size())};
  return compute(
      std::move(shape),
      [&](const std::vector<Expr>& i) { return function(element_at(a, i), element_at(b, i)); },
      std::move(name), options);
}

Tensor element_wise(const Tensor& a, const std::function<Expr(const Expr&)>& function,
                    std::string name, const Place& place) {
  const SpanScope scope(span_of(place));
  return compute(a.shape(), [&](const std::vector<Expr>& i) { return function(a(i)); },
                 std::move(name), {.tag = "elemwise", .axes = axis_names(a.ndim())});
}

Tensor cast(DataType dtype, const Tensor& a, const Place& place) {
  return element_wise(a, [&](const Expr& x) { return loopsmith::cast(dtype, x); }, "T_cast", place);
}

Tensor operator-(const Tensor& a) {
  return element_wise(a, [](const Expr& x) { return -x; }, "T_negative", Place());
}

namespace detail {

Tensor combine(const Tensor& a, const Tensor& b, const ElementFunction& function,
               std::string name) {
  return broadcast(a, b, function, std::move(name), Place());
}
Tensor combine(const Tensor& a, const Expr& b, const ElementFunction& function, std::string name) {
  return element_wise(a, [&](const Expr& x) { return function(x, b); }, std::move(name), Place());
}
Tensor combine(const Expr& a, const Tensor& b, const ElementFunction& function, std::string name) {
  return element_wise(b, [&](const Expr& y) { return function(a, y); }, std::move(name), Place());
}

}  // namespace detail

}  // namespace loopsmith::te
