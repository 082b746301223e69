// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/matcher.h"

#include <algorithm>
#include <array>
#include <vector>

namespace loopsmith::arith {
namespace {

using Atom = Pattern::Atom;

constexpr std::uint32_t every_kind = (1U << kind_count) - 1;
static_assert(kind_count <= 32);

constexpr std::uint32_t bit(Kind kind) {
  return 1U << static_cast<unsigned>(kind);
}

/// The kinds of term that a pattern may match.
std::uint32_t kinds_of(const Atom& atom) {
  switch (atom.place) {
    case Place::variable: return every_kind;
    case Place::constant:
    case Place::literal:
    case Place::lanes: return bit(Kind::constant);
    case Place::node:
      // A broadcast constant is a constant.
      return atom.kind == Kind::broadcast ? bit(Kind::broadcast) | bit(Kind::constant)
                                          : bit(atom.kind);
  }
  return 0;
}

bool is_constant_place(const Atom& atom) {
  return atom.place == Place::constant || atom.place == Place::literal;
}

bool is_min_or_max(const Atom& atom) {
  return atom.place == Place::node && (atom.kind == Kind::min || atom.kind == Kind::max);
}

/// The only min or max of a pattern; its size where there is none, or more than one.
std::uint8_t only_min_or_max(const Pattern& pattern) {
  std::uint8_t found = pattern.size;
  for (std::uint8_t i = 0; i < pattern.size; ++i) {
    if (!is_min_or_max(pattern.atoms[i])) continue;
    if (found != pattern.size) return pattern.size;
    found = i;
  }
  return found;
}

/// Which atoms of a pattern may take their operands in reverse. The simplifier puts constants last,
/// so that a constant operand stays where it is; but for those of min and max.
std::vector<std::uint32_t> orders(const Rule& rule) {
  std::vector<std::uint32_t> result{0};
  if (rule.order == Order::as_written) return result;
  const Pattern& pattern = rule.before;
  for (std::uint8_t i = 0; i < pattern.size; ++i) {
    const Atom& atom = pattern.atoms[i];
    if (atom.place != Place::node || !is_commutative(atom.kind)) continue;
    const Atom& a = pattern.atoms[i + 1U];
    const Atom& b = pattern.atoms[i + 1U + a.size];
    const bool are_alike = a.place == Place::variable && a == b;
    const bool is_in_place = (is_constant_place(a) || is_constant_place(b)) && !is_min_or_max(atom);
    if (is_in_place || are_alike) continue;
    const std::size_t count = result.size();
    for (std::size_t k = 0; k < count; ++k) result.push_back(result[k] | 1U << i);
  }
  return result;
}

using Index = std::array<std::array<std::vector<Candidate>, kind_count>, kind_count>;

void add_rule(Index& index, const Rule& rule) {
  const auto& atoms = rule.before.atoms;
  const std::uint8_t choice = only_min_or_max(rule.before);
  const bool keeps_choice =
      choice != rule.before.size && only_min_or_max(rule.after) != rule.after.size;
  for (std::uint32_t swapped : orders(rule)) {
    const Atom* first = &atoms[1];
    const Atom* second = first->size + 1U < rule.before.size ? &atoms[1U + first->size] : nullptr;
    if (swapped & 1U) std::swap(first, second);
    const std::uint32_t second_kinds = second ? kinds_of(*second) : every_kind;
    for (std::size_t kind = 0; kind < kind_count; ++kind) {
      if (!(kinds_of(*first) >> kind & 1U)) continue;
      index[static_cast<std::size_t>(atoms[0].kind)][kind].push_back(
          {second_kinds, swapped, keeps_choice && (swapped >> choice & 1U) != 0, &rule});
    }
  }
}

const Index& rule_index() {
  static const auto* built = [] {
    auto* all = new Index;
    for (const RuleTable& table : rule_tables) {
      for (const Rule& rule : table.rules()) add_rule(*all, rule);
    }
    return all;
  }();
  return *built;
}

class Match {
 public:
  Match(Terms& terms, const Atom* atoms, std::uint32_t swapped, Binding& binding)
      : terms_(terms), atoms_(atoms), swapped_(swapped), binding_(binding) {}

  bool operands(const Atom* atom, Term a, Term b, Term c) {
    if (swapped_ >> (atom - atoms_) & 1U) std::swap(a, b);
    const Atom* end = atom + atom->size;
    const Atom* next = atom + 1;
    for (const Term operand : {a, b, c}) {
      if (next == end) return true;
      if (!term(next, operand)) return false;
      next += next->size;
    }
    return true;
  }

 private:
  bool term(const Atom* atom, Term found) {
    const TermNode& node = terms_[found];
    switch (atom->place) {
      case Place::variable: {
        Term& bound = binding_.variables[static_cast<std::size_t>(atom->value)];
        if (bound != Term::none) return bound == found;
        if (node.has_effect) return false;
        bound = found;
        return true;
      }
      case Place::constant: {
        if (node.kind != Kind::constant) return false;
        auto& bound = binding_.constants[static_cast<std::size_t>(atom->value)];
        const auto flag = static_cast<std::uint8_t>(1U << atom->value);
        if (binding_.bound_constants & flag) return bound == node.value;
        binding_.bound_constants |= flag;
        bound = node.value;
        return true;
      }
      case Place::literal: return node.kind == Kind::constant && node.value == atom->value;
      case Place::lanes: return false;
      case Place::node: break;
    }
    if (atom->kind == Kind::broadcast && node.kind == Kind::constant) {
      if (node.type.is_scalar()) return false;
      return term(atom + 1, terms_.constant(node.type.element(), node.value));
    }
    if (node.kind != atom->kind) return false;
    if (is_comparison(node.kind)) binding_.operand_type = terms_.type(node.a);
    return operands(atom, node.a, node.b, node.c);
  }

  Terms& terms_;
  const Atom* atoms_;
  std::uint32_t swapped_;
  Binding& binding_;
};

std::uint8_t types_of(DataType type) {
  if (type.is_bool()) return Types::condition;
  if (type.is_index()) return Types::index;
  return type.is_integer() ? Types::narrow : Types::real;
}

/// Evaluates and proves conditions of rules.
class Conditions {
 public:
  Conditions(Knowledge& knowledge, const Binding& binding)
      : knowledge_(knowledge), binding_(binding) {}

  bool holds(const Atom* atom) {
    if (const auto value = constant_value(atom, binding_)) return *value != 0;
    if (atom->place != Place::node) return false;
    const Atom* a = atom + 1;
    const Atom* b = a + a->size;
    switch (atom->kind) {
      case Kind::and_: return holds(a) && holds(b);
      case Kind::or_: return holds(a) || holds(b);
      case Kind::lt: return is_below(a, b, true);
      case Kind::le: return is_below(a, b, false);
      case Kind::eq: {
        const ConstIntBound left = bound(a);
        return left.is_point() && left == bound(b);
      }
      default: return false;
    }
  }

 private:
  bool is_below(const Atom* a, const Atom* b, bool strictly) {
    const ConstIntBound left = bound(a);
    const ConstIntBound right = bound(b);
    const bool is_known =
        left.max_value != ConstIntBound::pos_inf && right.min_value != ConstIntBound::neg_inf;
    if (is_known &&
        (strictly ? left.max_value < right.min_value : left.max_value <= right.min_value))
      return true;
    if (a->place != Place::variable || b->place != Place::variable) return false;
    return knowledge_.largest_difference(variable(a), variable(b)) <= (strictly ? -1 : 0);
  }

  Term variable(const Atom* atom) const {
    return binding_.variables[static_cast<std::size_t>(atom->value)];
  }

  ConstIntBound bound(const Atom* atom) {
    if (const auto value = constant_value(atom, binding_)) {
      const bool is_huge = *value < 0 && binding_.operand_type.element() == u64;
      return is_huge ? ConstIntBound{ConstIntBound::pos_inf - 1, ConstIntBound::pos_inf}
                     : point(*value);
    }
    if (atom->place == Place::variable) return knowledge_.bound(variable(atom));
    const Atom* a = atom + 1;
    const Atom* b = a + a->size;
    switch (atom->kind) {
      case Kind::add: return add(bound(a), bound(b));
      case Kind::sub: return subtract(bound(a), bound(b));
      case Kind::mul: return multiply(bound(a), bound(b));
      case Kind::floordiv: return floor_divide(bound(a), bound(b));
      case Kind::floormod:
        // The modular set of the dividend counts here: build the term.
        if (const auto divisor = constant_value(b, binding_);
            divisor && a->place == Place::variable) {
          Terms& terms = knowledge_.terms;
          const DataType type = terms.type(variable(a));
          return knowledge_.bound(
              terms.make(Kind::floormod, type, variable(a), terms.constant(type, *divisor)));
        }
        return floor_modulo(bound(a), bound(b));
      case Kind::min: return minimum(bound(a), bound(b));
      case Kind::max: return maximum(bound(a), bound(b));
      default: return {};
    }
  }

  Knowledge& knowledge_;
  const Binding& binding_;
};

}  // namespace

std::span<const Candidate> candidates(Kind kind, Kind first) {
  return rule_index()[static_cast<std::size_t>(kind)][static_cast<std::size_t>(first)];
}

bool match(const Candidate& candidate, Terms& terms, const TermNode& root, Binding& binding) {
  const Atom* atoms = candidate.rule->before.atoms.data();
  binding.swaps_min_max = candidate.swaps_min_max;
  binding.result_type = root.type;
  binding.operand_type = is_comparison(root.kind) ? terms.type(root.a) : root.type;
  Match match(terms, atoms, candidate.swapped, binding);
  return match.operands(atoms, root.a, root.b, root.c);
}

std::optional<std::int64_t> constant_value(const Atom* atom, const Binding& binding) {
  switch (atom->place) {
    case Place::variable: return std::nullopt;
    case Place::constant: return binding.constants[static_cast<std::size_t>(atom->value)];
    case Place::literal: return atom->value;
    case Place::lanes:
      if (binding.result_type.is_scalable()) return std::nullopt;
      return binding.result_type.lanes;
    case Place::node: break;
  }
  const Atom* first = atom + 1;
  const auto left = constant_value(first, binding);
  if (!left) return std::nullopt;
  if (atom->kind == Kind::not_) return *left == 0;
  if (atom->kind == Kind::broadcast) return left;
  if (!is_binary(atom->kind)) return std::nullopt;
  const auto right = constant_value(first + first->size, binding);
  if (!right) return std::nullopt;
  const std::int64_t a = *left;
  const std::int64_t b = *right;
  // The order of large uint64 is not that of their bits: leave it to the rule that makes the term.
  const bool is_ordered = is_division(atom->kind) || atom->kind == Kind::min ||
                          atom->kind == Kind::max || atom->kind == Kind::lt ||
                          atom->kind == Kind::le;
  if (is_ordered && (a < 0 || b < 0) && binding.operand_type.element() == u64) return std::nullopt;
  // Where constants wrap, they do so in 64 bits, and are cut to their type when they are made.
  const bool may_wrap = types_of(binding.operand_type) == Types::narrow;
  std::int64_t result = 0;
  if (is_division(atom->kind) &&
      (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min()))) {
    return std::nullopt;
  }
  switch (atom->kind) {
    case Kind::add:
      return __builtin_add_overflow(a, b, &result) && !may_wrap ? std::nullopt
                                                                : std::optional(result);
    case Kind::sub:
      return __builtin_sub_overflow(a, b, &result) && !may_wrap ? std::nullopt
                                                                : std::optional(result);
    case Kind::mul:
      return __builtin_mul_overflow(a, b, &result) && !may_wrap ? std::nullopt
                                                                : std::optional(result);
    case Kind::div: return a / b;
    case Kind::mod: return a % b;
    case Kind::floordiv: return floor_quotient(a, b);
    case Kind::floormod: return floor_remainder(a, b);
    case Kind::min: return std::min(a, b);
    case Kind::max: return std::max(a, b);
    case Kind::eq: return a == b;
    case Kind::ne: return a != b;
    case Kind::lt: return a < b;
    case Kind::le: return a <= b;
    case Kind::and_: return a != 0 && b != 0;
    case Kind::or_: return a != 0 || b != 0;
    default: return std::nullopt;
  }
}

bool is_given(const Rule& rule, Knowledge& knowledge, const Binding& binding) {
  if (!(types_of(binding.operand_type) & rule.types)) return false;
  return rule.given.size == 0 || Conditions(knowledge, binding).holds(rule.given.atoms.data());
}

}  // namespace loopsmith::arith
