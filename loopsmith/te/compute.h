// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

/// What a compute may say beside its shape, its function and its name.
struct ComputeOptions {
  std::string tag;                ///< Of what sort it is: `elemwise`, `broadcast`, ...
  Attrs attrs;                    ///< They become annotations of its block.
  std::vector<std::string> axes;  ///< Names of the axes. Without: i0, i1, ...
};

/// The values of all outputs at the given indices.
using ComputeFunction = std::function<std::vector<Expr>(const std::vector<Expr>& indices)>;

/// One tensor for each value that `function` gives, each of the given shape.
std::vector<Tensor> compute_outputs(std::vector<Expr> shape, const ComputeFunction& function,
                                    std::string name = "compute", ComputeOptions options = {},
                                    const Place& place = Place::current());

namespace detail {

template <std::size_t>
using AlwaysExpr = Expr;

template <class Fn, std::size_t... I>
constexpr bool takes_exprs(std::index_sequence<I...>) {
  return std::is_invocable_v<Fn&, AlwaysExpr<I>...>;
}

constexpr std::size_t max_parameters = 12;

/// How many indices `Fn` takes; `max_parameters` when it takes them as one vector.
template <class Fn, std::size_t Count = 0>
constexpr std::size_t parameter_count() {
  if constexpr (Count == max_parameters || takes_exprs<Fn>(std::make_index_sequence<Count>())) {
    return Count;
  } else {
    return parameter_count<Fn, Count + 1>();
  }
}

/// Stops unless a function that takes `count` indices is given that many.
void require_one_parameter_a_dimension(const std::string& name, std::size_t count,
                                       std::size_t given);

template <class Fn, std::size_t... I>
auto call_with(Fn& fn, const std::vector<Expr>& indices, std::index_sequence<I...>) {
  return fn(indices[I]...);
}

/// Calls `fn` with the indices, one by one or as a vector, as it takes them.
template <class Fn>
auto call_with(Fn& fn, const std::vector<Expr>& indices, const std::string& name) {
  constexpr std::size_t count = parameter_count<Fn>();
  if constexpr (count == max_parameters) {
    return fn(indices);
  } else {
    require_one_parameter_a_dimension(name, count, indices.size());
    return call_with(fn, indices, std::make_index_sequence<count>());
  }
}

}  // namespace detail

/// The tensor whose element at (i, j, ...) is `function(i, j, ...)`: a function of as many Exprs as
/// there are dimensions, or of one vector of them. Several tensors, when it gives a vector of
/// Exprs.
///
///     Tensor C = compute({n, n}, [&](Expr i, Expr j) { return A(i, j) + B(j, i); }, "C");
template <class Fn>
auto compute(std::vector<Expr> shape, Fn function, std::string name = "compute",
             ComputeOptions options = {}, const Place& place = Place::current()) {
  using Result = decltype(detail::call_with(function, std::vector<Expr>(), name));
  constexpr bool gives_one = std::is_convertible_v<Result, Expr>;
  const ComputeFunction values = [&](const std::vector<Expr>& indices) {
    if constexpr (gives_one) {
      return std::vector<Expr>{detail::call_with(function, indices, name)};
    } else {
      return std::vector<Expr>(detail::call_with(function, indices, name));
    }
  };
  auto outputs = compute_outputs(std::move(shape), values, name, std::move(options), place);
  if constexpr (gives_one) {
    return outputs[0];
  } else {
    return outputs;
  }
}

}  // namespace loopsmith::te
