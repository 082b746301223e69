// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/delinearize.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace loopsmith::dependence {
namespace {

using Monomial = std::vector<Symbol>;

/// The sizes whose product leads from one stride to the next: n from m to n*m.
Monomial ratio_of(const Monomial& larger, const Monomial& smaller) {
  Monomial result;
  std::set_difference(larger.begin(), larger.end(), smaller.begin(), smaller.end(),
                      std::back_inserter(result));
  return result;
}

/// The strides of one index of all accesses, the largest first; empty where they do not nest.
std::vector<Monomial> nested_strides(const std::vector<Polynomial>& indices) {
  std::set<Monomial> found{Monomial{}};
  for (const Polynomial& index : indices) {
    for (const auto& [stride, digit] : index) found.insert(stride);
  }
  std::vector<Monomial> strides(found.begin(), found.end());
  std::stable_sort(strides.begin(), strides.end(),
                   [](const Monomial& a, const Monomial& b) { return a.size() > b.size(); });
  for (std::size_t i = 0; i + 1 < strides.size(); ++i) {
    // One size between neighbours, so that the bound of a digit is linear.
    if (strides[i].size() != strides[i + 1].size() + 1) return {};
    if (ratio_of(strides[i], strides[i + 1]).size() != 1) return {};
  }
  return strides;
}

class Delinearizer {
 public:
  Delinearizer(Program& program, Polyhedra& polyhedra) : program_(program), polyhedra_(polyhedra) {}

  void run() {
    std::unordered_map<const Object*, std::vector<int>> by_memory;
    std::vector<const Object*> order;
    for (std::size_t i = 0; i < program_.accesses.size(); ++i) {
      const Object* memory = program_.accesses[i].memory.get();
      if (!memory) continue;
      if (by_memory[memory].empty()) order.push_back(memory);
      by_memory[memory].push_back(static_cast<int>(i));
    }
    for (const Object* memory : order) rewrite(by_memory[memory]);
  }

 private:
  Access& access(int i) { return program_.accesses[static_cast<std::size_t>(i)]; }

  void rewrite(const std::vector<int>& accesses) {
    const Access& first = access(accesses.front());
    // From the last position, so that those in front keep their place.
    for (std::size_t position = first.index.size(); position-- > 0;) {
      const bool is_open = std::any_of(accesses.begin(), accesses.end(), [&](int i) {
        return position < access(i).index.size() && !access(i).index[position];
      });
      if (is_open) rewrite(accesses, position);
    }
  }

  void rewrite(const std::vector<int>& accesses, std::size_t position) {
    std::vector<Polynomial> indices;
    for (const int i : accesses) {
      const Access& one = access(i);
      if (one.whole || !one.buffer.same_as(access(accesses.front()).buffer)) return;
      if (one.index[position]) {
        indices.push_back(polynomial_of(program_, *one.index[position]));
      } else if (position < one.products.size() && one.products[position]) {
        indices.push_back(*one.products[position]);
      } else {
        return;
      }
    }
    const std::vector<Monomial> strides = nested_strides(indices);
    if (strides.size() < 2) return;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      if (!has_digits(accesses[i], indices[i], strides)) return;
    }
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      Access& one = access(accesses[i]);
      std::vector<std::optional<Linear>> digits;
      for (const Monomial& stride : strides) digits.push_back(digit(indices[i], stride));
      const auto at = static_cast<std::ptrdiff_t>(position);
      one.index.erase(one.index.begin() + at);
      one.index.insert(one.index.begin() + at, digits.begin(), digits.end());
    }
  }

  static Linear digit(const Polynomial& index, const Monomial& stride) {
    const auto found = index.find(stride);
    return found == index.end() ? Linear() : found->second;
  }

  /// True when each digit but the first is proved to lie between 0 and the size above it.
  bool has_digits(int which, const Polynomial& index, const std::vector<Monomial>& strides) {
    for (std::size_t i = 1; i < strides.size(); ++i) {
      const Linear value = digit(index, strides[i]);
      const Symbol size = ratio_of(strides[i - 1], strides[i]).front();
      auto room = sum(linear_of(size), value, -1);
      if (room) room = sum(*room, Linear{-1});
      if (!room || !polyhedra_.is_never_negative(which, value) ||
          !polyhedra_.is_never_negative(which, *room)) {
        return false;
      }
    }
    return true;
  }

  Program& program_;
  Polyhedra& polyhedra_;
};

}  // namespace

Polynomial polynomial_of(const Program& program, const Linear& form) {
  Polynomial result;
  Linear rest{form.constant};
  for (const Term& term : form.terms) {
    const SymbolInfo& symbol = program.symbols[static_cast<std::size_t>(term.symbol)];
    if (symbol.kind == SymbolKind::parameter) {
      result[{term.symbol}] = Linear{term.coefficient};
    } else {
      rest.terms.push_back(term);
    }
  }
  if (rest != Linear()) result[{}] = std::move(rest);
  return result;
}

std::optional<Polynomial> sum(const Polynomial& a, const Polynomial& b, std::int64_t factor) {
  Polynomial result = a;
  for (const auto& [stride, digit] : b) {
    const auto total = sum(result[stride], digit, factor);
    if (!total) return std::nullopt;
    result[stride] = *total;
    if (*total == Linear()) result.erase(stride);
  }
  return result;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [stride_a, digit_a] : a) {
    for (const auto& [stride_b, digit_b] : b) {
      if (!digit_a.is_constant() && !digit_b.is_constant()) return std::nullopt;
      const auto part = digit_a.is_constant() ? product(digit_b, digit_a.constant)
                                              : product(digit_a, digit_b.constant);
      Monomial stride;
      std::merge(stride_a.begin(), stride_a.end(), stride_b.begin(), stride_b.end(),
                 std::back_inserter(stride));
      if (!part) return std::nullopt;
      const auto total = sum(result, Polynomial{{stride, *part}}, 1);
      if (!total) return std::nullopt;
      result = *total;
    }
  }
  return result;
}

bool has_products(const Program& program) {
  return std::any_of(program.accesses.begin(), program.accesses.end(), [](const Access& access) {
    return std::any_of(access.products.begin(), access.products.end(),
                       [](const auto& product) { return product.has_value(); });
  });
}

void delinearize(Program& program, Polyhedra& polyhedra) {
  Delinearizer(program, polyhedra).run();
}

}  // namespace loopsmith::dependence
