// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace loopsmith {

/// The values coeff * k + base for integers k. A constant has coeff 0; {1, 0} says nothing.
/// `coeff` is not negative; 0 <= base < coeff unless coeff is 0.
struct ModularSet {
  std::int64_t coeff = 1;
  std::int64_t base = 0;

  bool operator==(const ModularSet&) const = default;
  bool is_everything() const { return coeff == 1; }
  bool contains(std::int64_t value) const;
};

namespace arith {

/// Arithmetic of such sets; what leaves 64 bits becomes everything.
ModularSet modular(std::int64_t coeff, std::int64_t base);
ModularSet unite(const ModularSet& a, const ModularSet& b);
/// Values that are in both; `a` itself where no value is.
ModularSet intersect(const ModularSet& a, const ModularSet& b);
ModularSet add(const ModularSet& a, const ModularSet& b);
ModularSet subtract(const ModularSet& a, const ModularSet& b);
ModularSet multiply(const ModularSet& a, const ModularSet& b);
/// Rounded down, by a constant that is not 0.
ModularSet floor_divide(const ModularSet& a, std::int64_t divisor);
ModularSet floor_modulo(const ModularSet& a, std::int64_t divisor);
/// The same values after they were reduced modulo 2^bits.
ModularSet wrap(const ModularSet& a, int bits);

}  // namespace arith
}  // namespace loopsmith
