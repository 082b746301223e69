// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/check_reducer.h"

#include <cmath>
#include <string>
#include <vector>

#include "loopsmith/support/error.h"
#include "loopsmith/te/evaluate.h"

namespace loopsmith::te {
namespace {

using Tuple = std::vector<Number>;

/// The combiner as a function of numbers. Gives nothing where it cannot be computed.
class Combiner {
 public:
  explicit Combiner(const CommReducer& combiner) : combiner_(combiner) {}

  std::optional<Tuple> operator()(const std::optional<Tuple>& x,
                                  const std::optional<Tuple>& y) const {
    if (!x || !y) return {};
    Numbers values;
    for (std::size_t i = 0; i < x->size(); ++i) {
      values[combiner_.lhs[i].get()] = (*x)[i];
      values[combiner_.rhs[i].get()] = (*y)[i];
    }
    return all(combiner_.result, values);
  }
  std::optional<Tuple> identity() const { return all(combiner_.identity_element, {}); }

 private:
  static std::optional<Tuple> all(const std::vector<Expr>& exprs, const Numbers& values) {
    Tuple results;
    for (const Expr& expr : exprs) {
      const std::optional<Number> value = evaluate(expr, values);
      if (!value || (value->is_real && std::isnan(value->real))) return {};
      results.push_back(*value);
    }
    return results;
  }

  const CommReducer& combiner_;
};

/// Small numbers of a type. Tuples get positive ones: one of their values may well be a count.
std::vector<Number> samples_of(DataType type, bool is_tuple) {
  if (type.is_bool()) return {{.whole = 0}, {.whole = 1}};
  std::vector<Number> samples;
  const bool is_signed = !type.is_uint();
  for (const std::int64_t value : {3, 1, -2, 0, 5, 2}) {
    if (is_tuple ? value <= 0 : value < 0 && !is_signed) continue;
    if (type.is_integer() && (value < min_int(type) || value > max_int(type))) continue;
    Number number{.is_real = type.is_float(), .whole = value};
    if (number.is_real) number.real = static_cast<double>(value);
    samples.push_back(number);
  }
  return samples;
}

/// Tuples of sample values: the n-th takes its n-th value from each, by a stride of its own, so
/// that no two neighbours have a value in common.
std::vector<Tuple> sample_tuples(const CommReducer& combiner) {
  const std::size_t width = combiner.lhs.size();
  std::vector<std::vector<Number>> columns;
  std::size_t count = 0;
  for (const auto& operand : combiner.lhs) {
    columns.push_back(samples_of(operand->dtype, width > 1));
    count = std::max(count, columns.back().size());
  }
  std::vector<Tuple> tuples(count);
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t i = 0; i < width; ++i) {
      const auto& column = columns[i];
      const std::size_t stride = i % 2 == 0 ? 1 : 2;
      tuples[n].push_back(column[(n * stride + i) % column.size()]);
    }
  }
  return tuples;
}

bool close(const Tuple& a, const Tuple& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_real) {
      if (a[i].whole != b[i].whole) return false;
      continue;
    }
    const double scale = 1 + std::max(std::abs(a[i].real), std::abs(b[i].real));
    if (a[i].real != b[i].real && !(std::abs(a[i].real - b[i].real) <= 1e-6 * scale)) return false;
  }
  return true;
}

bool differ(const std::optional<Tuple>& a, const std::optional<Tuple>& b) {
  return a && b && !close(*a, *b);
}

/// Of two tuples, each value differs: no tie may hide in them.
bool distinct(const Tuple& a, const Tuple& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].whole == b[i].whole) return false;
  }
  return true;
}

std::string text(const Number& number) {
  return number.is_real ? fmt::format("{:g}", number.real) : std::to_string(number.whole);
}

std::string text(const Tuple& tuple) {
  std::vector<std::string> numbers;
  for (const Number& number : tuple) numbers.push_back(text(number));
  return tuple.size() == 1 ? numbers[0] : fmt::format("({})", fmt::join(numbers, ", "));
}
std::string text(const std::optional<Tuple>& tuple) {
  return tuple ? text(*tuple) : std::string();
}

void require_commutative(std::string_view name, const Combiner& combine,
                         const std::vector<Tuple>& samples) {
  for (const Tuple& x : samples) {
    for (const Tuple& y : samples) {
      if (!distinct(x, y)) continue;
      const auto forth = combine(x, y);
      const auto back = combine(y, x);
      require(!differ(forth, back), ErrorKind::user, "reducer_is_commutative",
              hint("a reduction combines its values in any order; write the loop as a scan"),
              current_span,
              "non-commutative reducer {}: {} with {} gives {}, the other way round {}", name,
              text(x), text(y), text(forth), text(back));
    }
  }
}

void require_associative(std::string_view name, const Combiner& combine,
                         const std::vector<Tuple>& samples) {
  const std::size_t n = samples.size();
  std::vector<std::optional<Tuple>> pairs;
  for (const Tuple& x : samples) {
    for (const Tuple& y : samples) pairs.push_back(combine(x, y));
  }
  // Every third triple is enough to find what is wrong with a reducer.
  for (std::size_t triple = 0; triple < n * n * n; triple += 3) {
    const std::size_t x = triple / n / n, y = triple / n % n, z = triple % n;
    const auto left = combine(pairs[x * n + y], samples[z]);
    const auto right = combine(samples[x], pairs[y * n + z]);
    require(!differ(left, right), ErrorKind::user, "reducer_is_associative",
            hint("a reduction combines its values in any order; write the loop as a scan"),
            current_span,
            "non-associative reducer {}: {}, {}, {} combined from the left give {}, from the "
            "right {}",
            name, text(samples[x]), text(samples[y]), text(samples[z]), text(left), text(right));
  }
}

void require_neutral_identity(std::string_view name, const Combiner& combine,
                              const std::vector<Tuple>& samples) {
  const auto identity = combine.identity();
  for (const Tuple& x : samples) {
    const auto result = combine(identity, x);
    require(!differ(result, x), ErrorKind::user, "identity_is_neutral",
            hint("to start from another value, pass it as init"), current_span,
            "reducer {}: its identity {} is not neutral, with {} it gives {}", name, text(identity),
            text(x), text(result));
  }
}

}  // namespace

void require_reducer(std::string_view name, const CommReducer& combiner) {
  const Combiner combine(combiner);
  const std::vector<Tuple> samples = sample_tuples(combiner);
  require_associative(name, combine, samples);
  require_commutative(name, combine, samples);
  require_neutral_identity(name, combine, samples);
}

}  // namespace loopsmith::te
