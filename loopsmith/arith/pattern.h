// SPDX-License-Identifier: Apache-2.0
// The language in which rules of the simplifier are written: x + c1, floordiv(x * c1 + y, c2).
// Patterns are data, made when the compiler runs. Private to this floor.
#pragma once
#include <array>
#include <cstdint>

#include "loopsmith/arith/terms.h"

namespace loopsmith::arith {

/// What a place of a pattern is.
enum class Place : std::uint8_t {
  variable,  ///< Any term; the same one wherever its number occurs.
  constant,  ///< Any integer constant.
  literal,   ///< This constant.
  lanes,     ///< The number of lanes of the matched term.
  node,      ///< A term of `kind` with the patterns that follow as its operands.
};

/// An expression over pattern variables, in prefix order.
struct Pattern {
  struct Atom {
    Place place = Place::literal;
    Kind kind = Kind::other;
    std::uint8_t size = 1;   ///< How many atoms this one and its operands take.
    std::int16_t value = 0;  ///< The number of a variable or constant; the literal.

    bool operator==(const Atom&) const = default;
  };
  static constexpr std::size_t max_atoms = 31;

  std::array<Atom, max_atoms> atoms{};
  std::uint8_t size = 0;  ///< 0: the condition that always holds.

  constexpr Pattern() = default;
  constexpr Pattern(int literal) {
    append({Place::literal, Kind::constant, 1, static_cast<std::int16_t>(literal)});
  }
  constexpr Pattern(Place place, int number) {
    append({place, Kind::other, 1, static_cast<std::int16_t>(number)});
  }
  constexpr Pattern(Kind kind, std::initializer_list<Pattern> operands) {
    append({Place::node, kind, 1, 0});
    for (const Pattern& operand : operands) {
      for (std::uint8_t i = 0; i < operand.size; ++i) append(operand.atoms[i]);
    }
    atoms[0].size = size;
  }

 private:
  constexpr void append(Atom atom) { atoms[size++] = atom; }
};

/// The types whose terms a rule applies to.
enum Types : std::uint8_t {
  index = 1,      ///< int32 and wider signed integers, which never overflow.
  narrow = 2,     ///< All other integers: they wrap.
  real = 4,       ///< Floating point: for rules that are exact to the bit.
  condition = 8,  ///< bool.
  wraps = index | narrow,
  any = index | narrow | real,
};
constexpr Types operator|(Types a, Types b) {
  return static_cast<Types>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// Whether commutative operands of a pattern match in either order.
enum class Order : std::uint8_t { either, as_written };

/// Where `before` matches and `given` holds, it is the same as `after`, which is simpler.
///
/// `given` is a conjunction of comparisons. Those of constants are computed; those that mention
/// variables must follow from their bounds. That no divisor is 0 is understood.
struct Rule {
  Pattern before;
  Pattern after;
  Pattern given;
  Types types = index;
  Order order = Order::either;
  bool normalizes = false;  ///< Left out where the form that was written is to be kept.

  constexpr Rule(Pattern before, Pattern after, Pattern given = {}, Types types = index)
      : before(before), after(after), given(given), types(types) {}
  constexpr Rule(Pattern before, Pattern after, Types types, Order order = Order::either)
      : before(before), after(after), types(types), order(order) {}
  constexpr Rule(Pattern before, Pattern after, Pattern given, Order order)
      : before(before), after(after), given(given), order(order) {}
};

/// A rule that brings terms into one form, whatever form they had.
constexpr Rule normalizing(Rule rule) {
  rule.normalizes = true;
  return rule;
}

/// The names and operators with which rules are written.
namespace rule_language {

inline constexpr Pattern x{Place::variable, 0}, y{Place::variable, 1}, z{Place::variable, 2},
    w{Place::variable, 3};
/// Conditions.
inline constexpr Pattern p{Place::variable, 4}, q{Place::variable, 5}, r{Place::variable, 6};
inline constexpr Pattern c1{Place::constant, 0}, c2{Place::constant, 1}, c3{Place::constant, 2};
inline constexpr Pattern lanes{Place::lanes, 0};

constexpr Pattern operator+(Pattern a, Pattern b) {
  return {Kind::add, {a, b}};
}
constexpr Pattern operator-(Pattern a, Pattern b) {
  return {Kind::sub, {a, b}};
}
constexpr Pattern operator*(Pattern a, Pattern b) {
  return {Kind::mul, {a, b}};
}
/// Rounded down, as in Python.
constexpr Pattern operator/(Pattern a, Pattern b) {
  return {Kind::floordiv, {a, b}};
}
constexpr Pattern operator%(Pattern a, Pattern b) {
  return {Kind::floormod, {a, b}};
}
constexpr Pattern truncdiv(Pattern a, Pattern b) {
  return {Kind::div, {a, b}};
}
constexpr Pattern truncmod(Pattern a, Pattern b) {
  return {Kind::mod, {a, b}};
}
constexpr Pattern min(Pattern a, Pattern b) {
  return {Kind::min, {a, b}};
}
constexpr Pattern max(Pattern a, Pattern b) {
  return {Kind::max, {a, b}};
}
constexpr Pattern operator==(Pattern a, Pattern b) {
  return {Kind::eq, {a, b}};
}
constexpr Pattern operator!=(Pattern a, Pattern b) {
  return {Kind::ne, {a, b}};
}
constexpr Pattern operator<(Pattern a, Pattern b) {
  return {Kind::lt, {a, b}};
}
constexpr Pattern operator<=(Pattern a, Pattern b) {
  return {Kind::le, {a, b}};
}
constexpr Pattern operator>(Pattern a, Pattern b) {
  return {Kind::lt, {b, a}};
}
constexpr Pattern operator>=(Pattern a, Pattern b) {
  return {Kind::le, {b, a}};
}
constexpr Pattern operator&&(Pattern a, Pattern b) {
  return {Kind::and_, {a, b}};
}
constexpr Pattern operator||(Pattern a, Pattern b) {
  return {Kind::or_, {a, b}};
}
constexpr Pattern operator!(Pattern a) {
  return {Kind::not_, {a}};
}
constexpr Pattern select(Pattern a, Pattern b, Pattern c) {
  return {Kind::select, {a, b, c}};
}
constexpr Pattern ramp(Pattern base, Pattern stride) {
  return {Kind::ramp, {base, stride}};
}
constexpr Pattern broadcast(Pattern value) {
  return {Kind::broadcast, {value}};
}

inline constexpr Pattern truth{1}, falsehood{0};

}  // namespace rule_language
}  // namespace loopsmith::arith
