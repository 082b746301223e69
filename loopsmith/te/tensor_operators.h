// SPDX-License-Identifier: Apache-2.0
// Operators between whole tensors, element by element. Shapes are broadcast as NumPy does: aligned
// at the last dimension, an extent of 1 stretched.
#pragma once
#include "loopsmith/te/compute.h"

namespace loopsmith::te {

/// `function` of each element of `a` and that of `b` at its place.
using ElementFunction = std::function<Expr(const Expr& a, const Expr& b)>;
Tensor broadcast(const Tensor& a, const Tensor& b, const ElementFunction& function,
                 std::string name, const Place& place = Place::current());
/// `function` of each element of `a`.
Tensor element_wise(const Tensor& a, const std::function<Expr(const Expr&)>& function,
                    std::string name, const Place& place = Place::current());
/// The elements of `a` as values of `dtype`.
Tensor cast(DataType dtype, const Tensor& a, const Place& place = Place::current());

namespace detail {

/// `function` of two operands of which one is a tensor, the other may be a number.
Tensor combine(const Tensor& a, const Tensor& b, const ElementFunction& function, std::string name);
Tensor combine(const Tensor& a, const Expr& b, const ElementFunction& function, std::string name);
Tensor combine(const Expr& a, const Tensor& b, const ElementFunction& function, std::string name);

template <class A, class B>
concept OneIsTensor =
    (std::same_as<A, Tensor> && (std::same_as<B, Tensor> || std::convertible_to<B, Expr>)) ||
    (std::same_as<B, Tensor> && std::convertible_to<A, Expr>);

}  // namespace detail

template <class A, class B>
  requires detail::OneIsTensor<A, B>
Tensor operator+(const A& a, const B& b) {
  return detail::combine(a, b, [](const Expr& x, const Expr& y) { return x + y; }, "T_add");
}
template <class A, class B>
  requires detail::OneIsTensor<A, B>
Tensor operator-(const A& a, const B& b) {
  return detail::combine(a, b, [](const Expr& x, const Expr& y) { return x - y; }, "T_subtract");
}
template <class A, class B>
  requires detail::OneIsTensor<A, B>
Tensor operator*(const A& a, const B& b) {
  return detail::combine(a, b, [](const Expr& x, const Expr& y) { return x * y; }, "T_multiply");
}
template <class A, class B>
  requires detail::OneIsTensor<A, B>
Tensor operator/(const A& a, const B& b) {
  return detail::combine(a, b, [](const Expr& x, const Expr& y) { return x / y; }, "T_divide");
}
Tensor operator-(const Tensor& a);

}  // namespace loopsmith::te
