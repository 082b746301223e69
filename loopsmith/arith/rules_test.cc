// SPDX-License-Identifier: Apache-2.0
// Every row of every table, on random integers. With LOOPSMITH_DUMP_RULES set to a path, the rows
// are written there as JSON, for the proofs of tests/test_simplifier_rules.py.
#include "loopsmith/arith/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "loopsmith/arith/const_int_bound.h"

namespace loopsmith::arith {
namespace {

using Atom = Pattern::Atom;
using Value = std::optional<std::int64_t>;

constexpr int lane_count = 4;

/// Numbers of 8 bits that wrap, or integers.
enum class Domain { integers, signed_byte, unsigned_byte };

struct Assignment {
  std::array<std::int64_t, 7> variables{};
  std::array<std::int64_t, 4> constants{};
  std::int64_t lane = 0;
  Domain domain = Domain::integers;
};

std::int64_t fit(Domain domain, std::int64_t value) {
  switch (domain) {
    case Domain::integers: return value;
    case Domain::signed_byte: return static_cast<std::int8_t>(value);
    case Domain::unsigned_byte: return static_cast<std::uint8_t>(value);
  }
  return value;
}

/// What the pattern is worth; nullopt where it divides by 0.
Value value_of(const Atom* atom, const Assignment& at) {
  switch (atom->place) {
    case Place::variable: return at.variables[static_cast<std::size_t>(atom->value)];
    case Place::constant: return at.constants[static_cast<std::size_t>(atom->value)];
    case Place::literal: return fit(at.domain, atom->value);
    case Place::lanes: return lane_count;
    case Place::node: break;
  }
  const Atom* first = atom + 1;
  const Value a = value_of(first, at);
  if (!a) return a;
  if (atom->kind == Kind::not_) return *a == 0;
  if (atom->kind == Kind::broadcast) return a;
  const Atom* second = first + first->size;
  if (atom->kind == Kind::select) return value_of(*a != 0 ? second : second + second->size, at);
  const Value b = value_of(second, at);
  if (!b) return b;
  if (is_division(atom->kind) && *b == 0) return std::nullopt;
  const auto fitted = [&](std::int64_t value) { return fit(at.domain, value); };
  switch (atom->kind) {
    case Kind::add: return fitted(*a + *b);
    case Kind::sub: return fitted(*a - *b);
    case Kind::mul: return fitted(*a * *b);
    case Kind::div: return fitted(*a / *b);
    case Kind::mod: return fitted(*a % *b);
    case Kind::floordiv: return fitted(floor_quotient(*a, *b));
    case Kind::floormod: return fitted(floor_remainder(*a, *b));
    case Kind::min: return std::min(*a, *b);
    case Kind::max: return std::max(*a, *b);
    case Kind::eq: return *a == *b;
    case Kind::ne: return *a != *b;
    case Kind::lt: return *a < *b;
    case Kind::le: return *a <= *b;
    case Kind::and_: return *a != 0 && *b != 0;
    case Kind::or_: return *a != 0 || *b != 0;
    case Kind::ramp: return fitted(*a + at.lane * *b);
    default: return std::nullopt;
  }
}

std::string text_of(const Atom* atom) {
  static constexpr const char* variables[] = {"x", "y", "z", "w", "p", "q", "r"};
  static constexpr std::pair<Kind, const char*> names[] = {{Kind::add, "add"},
                                                           {Kind::sub, "sub"},
                                                           {Kind::mul, "mul"},
                                                           {Kind::div, "truncdiv"},
                                                           {Kind::mod, "truncmod"},
                                                           {Kind::floordiv, "floordiv"},
                                                           {Kind::floormod, "floormod"},
                                                           {Kind::min, "min"},
                                                           {Kind::max, "max"},
                                                           {Kind::eq, "eq"},
                                                           {Kind::ne, "ne"},
                                                           {Kind::lt, "lt"},
                                                           {Kind::le, "le"},
                                                           {Kind::and_, "and"},
                                                           {Kind::or_, "or"},
                                                           {Kind::not_, "not"},
                                                           {Kind::select, "select"},
                                                           {Kind::ramp, "ramp"},
                                                           {Kind::broadcast, "broadcast"}};
  switch (atom->place) {
    case Place::variable: return fmt::format("\"{}\"", variables[atom->value]);
    case Place::constant: return fmt::format("\"c{}\"", atom->value + 1);
    case Place::literal: return std::to_string(atom->value);
    case Place::lanes: return "\"lanes\"";
    case Place::node: break;
  }
  std::string result;
  for (const auto& [kind, name] : names) {
    if (kind == atom->kind) result = fmt::format("[\"{}\"", name);
  }
  for (const Atom* next = atom + 1; next != atom + atom->size; next += next->size) {
    result += ", " + text_of(next);
  }
  return result + "]";
}

std::string text_of(const Pattern& pattern) {
  return pattern.size == 0 ? "1" : text_of(pattern.atoms.data());
}

/// Tries random values until the row was tried often enough; gives how often it was.
int try_row(const Rule& rule, Domain domain, std::mt19937& random, const std::string& where) {
  constexpr int wanted = 40;
  constexpr int max_attempts = 40000;
  const auto pick = [&](int low, int high) {
    return fit(domain, std::uniform_int_distribution(low, high)(random));
  };
  int tried = 0;
  for (int attempt = 0; attempt < max_attempts && tried < wanted; ++attempt) {
    Assignment at{.domain = domain};
    const int size = attempt % 3 == 0 ? 3 : 17;
    for (std::size_t i = 0; i < at.variables.size(); ++i) {
      at.variables[i] = i < 4 ? pick(-size, size) : pick(0, 1);
    }
    for (std::int64_t& constant : at.constants) constant = pick(-size, size);
    at.lane = pick(0, lane_count - 1);
    if (rule.given.size != 0) {
      const Value given = value_of(rule.given.atoms.data(), at);
      if (!given || *given == 0) continue;
    }
    const Value before = value_of(rule.before.atoms.data(), at);
    if (!before) continue;
    ++tried;
    const Value after = value_of(rule.after.atoms.data(), at);
    EXPECT_EQ(before, after) << where << " at x " << at.variables[0] << " y " << at.variables[1]
                             << " z " << at.variables[2] << " c1 " << at.constants[0] << " c2 "
                             << at.constants[1];
    if (before != after) break;
  }
  return tried;
}

TEST(rules, hold_for_random_integers) {
  std::mt19937 random(20);
  for (const RuleTable& table : rule_tables) {
    std::size_t row = 0;
    for (const Rule& rule : table.rules()) {
      const std::string where = fmt::format("{} {}: {} => {}", table.name, row++,
                                            text_of(rule.before), text_of(rule.after));
      EXPECT_GE(try_row(rule, Domain::integers, random, where), 20) << where << " is rarely given";
      if (!(rule.types & Types::narrow)) continue;
      for (const Domain domain : {Domain::signed_byte, Domain::unsigned_byte}) {
        EXPECT_GE(try_row(rule, domain, random, where), 20) << where << " is rarely given";
      }
    }
  }
}

TEST(rules, are_written_for_the_proofs) {
  const char* path = std::getenv("LOOPSMITH_DUMP_RULES");
  if (!path) GTEST_SKIP() << "tests/test_simplifier_rules.py sets LOOPSMITH_DUMP_RULES";
  std::ofstream out(path);
  out << "[";
  const char* separator = "\n";
  for (const RuleTable& table : rule_tables) {
    std::size_t row = 0;
    for (const Rule& rule : table.rules()) {
      out << separator
          << fmt::format(R"({{"table": "{}", "row": {}, "before": {}, "after": {}, "given": {}, )",
                         table.name, row++, text_of(rule.before), text_of(rule.after),
                         text_of(rule.given))
          << fmt::format(R"("wraps": {}}})", (rule.types & Types::narrow) != 0);
      separator = ",\n";
    }
  }
  out << "\n]\n";
  ASSERT_TRUE(out.good());
}

}  // namespace
}  // namespace loopsmith::arith
