// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/reduce.h"

#include "loopsmith/support/error.h"
#include "loopsmith/te/check_reducer.h"

namespace loopsmith::te {
namespace {

std::vector<Ptr<Var>> operands(const std::string& name, const std::vector<DataType>& dtypes) {
  std::vector<Ptr<Var>> variables;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    variables.push_back(var(dtypes.size() == 1 ? name : name + "_" + std::to_string(i), dtypes[i]));
  }
  return variables;
}

std::vector<Expr> as_exprs(const std::vector<Ptr<Var>>& variables) {
  return {variables.begin(), variables.end()};
}

void require_reduce_axes(const std::string& name, const std::vector<IterVar>& axes) {
  for (const IterVar& axis : axes) {
    require(axis && axis->iter_type == IterType::comm_reduce, ErrorKind::user,
            "axis_is_reduce_axis", hint("make the axis with reduce_axis"), current_span,
            "{}: axis {} is not a reduction axis", name, axis ? axis->var->name : "null");
  }
}

/// The better of two (index, value) pairs; of equal values, that with the lower index.
std::vector<Expr> pick(bool largest, const std::vector<Expr>& x, const std::vector<Expr>& y) {
  const Expr better = largest ? x[1] > y[1] : x[1] < y[1];
  const Expr keeps = better || (x[1] == y[1] && x[0] <= y[0]);
  return {select(keeps, x[0], y[0]), select(keeps, x[1], y[1])};
}

/// What every value is at least as good as.
Expr worst(DataType type, bool largest) {
  const bool has_infinity = type.is_float() && type.code != TypeCode::float8_e4m3;
  if (has_infinity) return largest ? -infinity(type) : infinity(type);
  return largest ? min_value(type) : max_value(type);
}

template <class Combine, class Identity>
Reducer scalar_reducer(std::string name, Combine combine, Identity identity) {
  return trusted(comm_reducer(combine, identity, std::move(name)));
}

Reducer arg_reducer(std::string name, bool largest) {
  return trusted(Reducer(
      std::move(name), [largest](const auto& x, const auto& y) { return pick(largest, x, y); },
      [largest](const std::vector<DataType>& types) {
        // The index of no element: any other is lower when the values are equal.
        return std::vector<Expr>{max_value(types[0]), worst(types[1], largest)};
      }));
}

}  // namespace

Reducer trusted(Reducer reducer) {
  reducer.is_trusted_ = true;
  return reducer;
}

Reducer::Reducer(std::string name, Combine combine, Identity identity, std::string lhs,
                 std::string rhs)
    : name_(std::move(name)),
      combine_(std::move(combine)),
      identity_(std::move(identity)),
      lhs_(std::move(lhs)),
      rhs_(std::move(rhs)) {}

Ptr<CommReducer> Reducer::combiner_for(const std::vector<DataType>& dtypes) const {
  auto lhs = operands(lhs_, dtypes);
  auto rhs = operands(rhs_, dtypes);
  auto result = combine_(as_exprs(lhs), as_exprs(rhs));
  auto combiner = make(CommReducer{.lhs = std::move(lhs),
                                   .rhs = std::move(rhs),
                                   .result = std::move(result),
                                   .identity_element = identity_(dtypes)});
  if (!is_trusted_) require_reducer(name_, *combiner);
  return combiner;
}

std::vector<Expr> Reducer::operator()(std::vector<Expr> source, const Axes& axes,
                                      ReduceOptions options) const {
  // Over no axes there is one value to combine.
  if (axes.items.empty()) {
    return (*this)(std::move(source), reduce_axis(0, 1, "rv"), std::move(options));
  }
  require_reduce_axes(name_, axes.items);
  std::vector<DataType> dtypes;
  for (const Expr& value : source) {
    require(value.defined(), ErrorKind::type_mismatch, "value_is_expression",
            hint("give an expression"), current_span, "{}: a value to reduce is missing", name_);
    dtypes.push_back(value.dtype());
  }
  require(options.init.empty() || options.init.size() == source.size(), ErrorKind::user,
          "one_init_a_value", hint("give one initial value for each value, or none"), current_span,
          "{}: {} initial values for {} values", name_, options.init.size(), source.size());
  for (std::size_t i = 0; i < options.init.size(); ++i) {
    options.init[i] = cast(dtypes[i], options.init[i]);
  }
  const Expr condition = options.where.defined() ? options.where : Expr(true);
  const Ptr<CommReducer> combiner = combiner_for(dtypes);
  std::vector<Expr> results;
  for (std::size_t i = 0; i < source.size(); ++i) {
    results.emplace_back(make(Reduce{.combiner = combiner,
                                     .axis = {axes.items.begin(), axes.items.end()},
                                     .source = source,
                                     .init = options.init,
                                     .condition = condition,
                                     .value_index = static_cast<std::int64_t>(i)}));
  }
  return results;
}

Expr Reducer::operator()(const Expr& source, const Axes& axes, ReduceOptions options) const {
  return (*this)(std::vector<Expr>{source}, axes, std::move(options))[0];
}

Expr Reducer::fold(const std::vector<Expr>& values) const {
  require(!values.empty(), ErrorKind::user, "values_to_combine", hint("give one value or more"),
          current_span, "{}: no value to combine", name_);
  Expr result = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) result = combine_({result}, {values[i]})[0];
  return result;
}

Reducer sum_reducer() {
  return scalar_reducer(
      "sum", [](const Expr& x, const Expr& y) { return x + y; },
      [](DataType type) { return zero_of(type); });
}
Reducer prod_reducer() {
  return scalar_reducer(
      "prod", [](const Expr& x, const Expr& y) { return x * y; },
      [](DataType type) { return const_of(type, 1); });
}
Reducer min_reducer() {
  return scalar_reducer(
      "min", [](const Expr& x, const Expr& y) { return loopsmith::min(x, y); },
      [](DataType type) { return max_value(type); });
}
Reducer max_reducer() {
  return scalar_reducer(
      "max", [](const Expr& x, const Expr& y) { return loopsmith::max(x, y); },
      [](DataType type) { return min_value(type); });
}
Reducer argmin_reducer() {
  return arg_reducer("argmin", false);
}
Reducer argmax_reducer() {
  return arg_reducer("argmax", true);
}

Expr sum(const Expr& source, const Axes& axes, ReduceOptions options) {
  return sum_reducer()(source, axes, std::move(options));
}
Expr prod(const Expr& source, const Axes& axes, ReduceOptions options) {
  return prod_reducer()(source, axes, std::move(options));
}
Expr min(const Expr& source, const Axes& axes, ReduceOptions options) {
  return min_reducer()(source, axes, std::move(options));
}
Expr max(const Expr& source, const Axes& axes, ReduceOptions options) {
  return max_reducer()(source, axes, std::move(options));
}
Expr min(const Expr& source, const IterVar& axis, ReduceOptions options) {
  return min(source, Axes(axis), std::move(options));
}
Expr max(const Expr& source, const IterVar& axis, ReduceOptions options) {
  return max(source, Axes(axis), std::move(options));
}
std::vector<Expr> argmin(const Expr& index, const Expr& value, const Axes& axes,
                         ReduceOptions options) {
  return argmin_reducer()(std::vector<Expr>{index, value}, axes, std::move(options));
}
std::vector<Expr> argmax(const Expr& index, const Expr& value, const Axes& axes,
                         ReduceOptions options) {
  return argmax_reducer()(std::vector<Expr>{index, value}, axes, std::move(options));
}

}  // namespace loopsmith::te
