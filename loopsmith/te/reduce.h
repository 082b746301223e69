// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

/// Axes to reduce over: `k` or `{ry, rx}`.
struct Axes {
  std::vector<IterVar> items;

  Axes(const IterVar& axis) : items{axis} {}
  Axes(std::initializer_list<IterVar> axes) : items(axes) {}
  Axes(std::vector<IterVar> axes) : items(std::move(axes)) {}
};

struct ReduceOptions {
  Expr where;              ///< Where false, nothing is combined. Null: everything is.
  std::vector<Expr> init;  ///< What to start from. Empty: the neutral element.
};

/// A commutative, associative combination of values, or of tuples of values.
class Reducer {
 public:
  using Combine =
      std::function<std::vector<Expr>(const std::vector<Expr>& lhs, const std::vector<Expr>& rhs)>;
  using Identity = std::function<std::vector<Expr>(const std::vector<DataType>& dtypes)>;

  /// `lhs` and `rhs` name the operands, in the singular: tuples count them.
  Reducer(std::string name, Combine combine, Identity identity, std::string lhs = "x",
          std::string rhs = "y");

  /// The combination of `source` over all values of the axes.
  Expr operator()(const Expr& source, const Axes& axes, ReduceOptions options = {}) const;
  /// The same for a tuple; one expression for each value, to be the outputs of one compute.
  std::vector<Expr> operator()(std::vector<Expr> source, const Axes& axes,
                               ReduceOptions options = {}) const;
  /// `values` combined here and now, from the left.
  Expr fold(const std::vector<Expr>& values) const;

  const std::string& name() const { return name_; }

 private:
  friend Reducer trusted(Reducer reducer);
  Ptr<CommReducer> combiner_for(const std::vector<DataType>& dtypes) const;

  std::string name_;
  Combine combine_;
  Identity identity_;
  std::string lhs_;
  std::string rhs_;
  bool is_trusted_ = false;  ///< One of ours: known to be commutative and associative.
};

/// A reducer of your own: `combine(x, y)` and `identity(dtype)` of Exprs, or of vectors of Exprs
/// and of types for tuples. Where it is found not to be associative or commutative, or the identity
/// not to be neutral, its use is refused with a counterexample.
///
///     Reducer xors = comm_reducer([](Expr x, Expr y) { return x ^ y; },
///                                 [](DataType t) { return int_imm(t, 0); }, "xors");
template <class Combine, class Identity>
Reducer comm_reducer(Combine combine, Identity identity, std::string name = "reduce") {
  using Exprs = std::vector<Expr>;
  if constexpr (std::is_invocable_v<Combine&, Expr, Expr>) {
    return Reducer(
        std::move(name),
        [combine](const Exprs& x, const Exprs& y) { return Exprs{combine(x[0], y[0])}; },
        [identity](const std::vector<DataType>& types) { return Exprs{identity(types[0])}; });
  } else {
    return Reducer(std::move(name), std::move(combine), std::move(identity));
  }
}

/// The reducers in common use.
Reducer sum_reducer();
Reducer prod_reducer();
Reducer min_reducer();
Reducer max_reducer();
/// Of (index, value): the smallest or largest value and its index; of equal ones, the first.
Reducer argmin_reducer();
Reducer argmax_reducer();

/// Sum, product, smallest and largest of `source` over the axes, in the type of `source`.
Expr sum(const Expr& source, const Axes& axes, ReduceOptions options = {});
Expr prod(const Expr& source, const Axes& axes, ReduceOptions options = {});
Expr min(const Expr& source, const Axes& axes, ReduceOptions options = {});
Expr max(const Expr& source, const Axes& axes, ReduceOptions options = {});
Expr min(const Expr& source, const IterVar& axis, ReduceOptions options = {});
Expr max(const Expr& source, const IterVar& axis, ReduceOptions options = {});
/// The smallest or largest `value`, and before it its `index`.
std::vector<Expr> argmin(const Expr& index, const Expr& value, const Axes& axes,
                         ReduceOptions options = {});
std::vector<Expr> argmax(const Expr& index, const Expr& value, const Axes& axes,
                         ReduceOptions options = {});

}  // namespace loopsmith::te
