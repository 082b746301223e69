// SPDX-License-Identifier: Apache-2.0
// Tensors and axes as users hold them.
#pragma once
#include <concepts>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/tensor.h"

namespace loopsmith::te {

using loopsmith::Expr;
using loopsmith::size_var;
using loopsmith::var;

/// Where a call stands, unless an enclosing call has already said where the user is. `Place()`:
/// unknown.
using Place = std::source_location;
Span span_of(const Place& place);

/// An axis; among expressions, its variable.
class IterVar : public Ptr<loopsmith::IterVar> {
 public:
  IterVar() = default;
  IterVar(const Ptr<loopsmith::IterVar>& node) : Ptr(node) {}
  operator Expr() const { return (*this)->var; }
};

/// An output of an operation. `A(i, j)` is an element of it.
class Tensor : public Ptr<loopsmith::Tensor> {
 public:
  Tensor() = default;
  Tensor(const Ptr<loopsmith::Tensor>& node) : Ptr(node) {}

  template <std::convertible_to<Expr>... Index>
  Expr operator()(const Index&... indices) const {
    return at(std::vector<Expr>{static_cast<Expr>(indices)...});
  }
  Expr operator()(std::vector<Expr> indices) const { return at(std::move(indices)); }
  /// The only element of a tensor without dimensions.
  operator Expr() const { return at({}); }

  /// The element at `indices`, one for each dimension. A BoundsError for any other number of them,
  /// and for a constant that no element has.
  Expr at(std::vector<Expr> indices) const;

  /// The name of its operation; followed by `.v1` if that has several outputs.
  std::string name() const;
  const std::vector<Expr>& shape() const { return (*this)->shape; }
  DataType dtype() const { return (*this)->dtype; }
  std::size_t ndim() const { return (*this)->shape.size(); }
  /// Axis `i` of the ComputeOp that makes it.
  IterVar axis(std::size_t i) const;
};

/// The same output of the same operation.
bool operator==(const Tensor& a, const Tensor& b);

/// An input of the given shape.
Tensor placeholder(std::vector<Expr> shape, DataType dtype = f32, std::string name = "placeholder",
                   const Place& place = Place::current());

/// An axis to reduce over: begin, begin + 1, ..., end - 1.
IterVar reduce_axis(const Expr& begin, const Expr& end, std::string name = "rv",
                    const Place& place = Place::current());

/// The name of an operation.
std::string_view name_of(const Ref& op);
/// How many tensors an operation makes.
std::size_t output_count(const Ref& op);
/// Output `index` of an operation.
Tensor output(const Ref& op, std::size_t index);

/// The tensors that an operation reads, each once, by first occurrence.
std::vector<Tensor> input_tensors(const Ref& op);
/// The operations that `tensors` depend on, and their own: each once, after all that it reads.
std::vector<Ref> post_order(const std::vector<Tensor>& tensors);

namespace detail {
/// Stops at a shape that no tensor can have; `what` and `name` say whose it is.
void require_shape(std::string_view what, std::string_view name, const std::vector<Expr>& shape,
                   DataType dtype);
}  // namespace detail

}  // namespace loopsmith::te
