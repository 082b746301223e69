// SPDX-License-Identifier: Apache-2.0
// The tables of rules. Each row is tested on random integers and proved by Z3 (rules_test.cc,
// tests/test_simplifier_rules.py). Private to this floor.
#pragma once
#include <span>

#include "loopsmith/arith/pattern.h"

namespace loopsmith::arith {

std::span<const Rule> sum_rules();         ///< + and -
std::span<const Rule> product_rules();     ///< *
std::span<const Rule> floor_rules();       ///< floordiv and floormod
std::span<const Rule> trunc_rules();       ///< truncdiv and truncmod
std::span<const Rule> min_max_rules();     ///< min and max
std::span<const Rule> comparison_rules();  ///< == != < <=
std::span<const Rule> logic_rules();       ///< and, or, not
std::span<const Rule> select_rules();      ///< select, and arithmetic of selects
std::span<const Rule> vector_rules();      ///< Ramps and broadcasts

/// All tables, by name, in the order in which rules are tried.
struct RuleTable {
  const char* name;
  std::span<const Rule> (*rules)();
};
inline constexpr RuleTable rule_tables[] = {
    {"sum", sum_rules},     {"product", product_rules}, {"floor", floor_rules},
    {"trunc", trunc_rules}, {"min_max", min_max_rules}, {"comparison", comparison_rules},
    {"logic", logic_rules}, {"select", select_rules},   {"vector", vector_rules},
};

}  // namespace loopsmith::arith
