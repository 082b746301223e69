// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/knowledge.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "loopsmith/support/deep_call.h"

namespace loopsmith::arith {
namespace {

/// How many minima and maxima, one inside the other, a difference is looked for through.
constexpr int max_extremes = 6;

bool is_within(const ConstIntBound& inner, const ConstIntBound& outer) {
  return inner.min_value >= outer.min_value && inner.max_value <= outer.max_value;
}

/// Index integers never overflow; values of other types that may are any value of the type.
ConstIntBound in_type(DataType type, const ConstIntBound& exact) {
  if (type.is_index()) return exact;
  const ConstIntBound all = all_of(type);
  // An infinite end of a uint64 may be past the largest.
  const bool may_wrap =
      !is_within(exact, all) || (type.is_uint() && exact.max_value == ConstIntBound::pos_inf);
  return may_wrap ? all : exact;
}

ConstIntBound bound_of_constant(const TermNode& node) {
  if (node.type.element() == u64 && node.value < 0)
    return {ConstIntBound::pos_inf - 1, ConstIntBound::pos_inf};
  return point(node.value);
}

/// The number of the only bit in a constant, or -1.
int power_of_two(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value > 0 && std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
}

}  // namespace

ConstIntBound Knowledge::bound(Term term) {
  const TermNode& node = terms[term];
  if (node.kind == Kind::constant) return bound_of_constant(node);
  if (!node.type.is_integer()) return {};
  const std::uint32_t epoch = facts.epoch();
  if (const ConstIntBound* known = bounds_.find(term, epoch)) return *known;
  ConstIntBound result = deep_call([&] { return derive_bound(term); });
  if (const Fact* fact = facts.find(term)) {
    const ConstIntBound both = intersect(result, fact->bound);
    // Facts that contradict each other say that this is never reached; anything holds.
    if (!both.is_empty()) result = both;
  }
  bounds_.set(term, epoch, result);
  return result;
}

ConstIntBound Knowledge::derive_bound(Term term) {
  const TermNode node = terms[term];
  const auto a = [&] { return bound(node.a); };
  const auto b = [&] { return bound(node.b); };
  // Divided by a 0 that was read, it is 0.
  const auto quotient = [&](const ConstIntBound& result) {
    const bool may_be_zero = terms[node.b].is_data && b().contains(0);
    return in_type(node.type, may_be_zero ? unite(result, point(0)) : result);
  };
  switch (node.kind) {
    case Kind::variable: {
      // Facts that lead back to the variable end at what its type says.
      bounds_.set(term, facts.epoch(), all_of(node.type));
      const Fact* fact = facts.find(term);
      if (fact && fact->value != Term::none) return bound(fact->value);
      const auto& variable = *reinterpret_cast<const Var*>(static_cast<std::intptr_t>(node.value));
      ConstIntBound all = all_of(node.type);
      if (variable.is_size) all.min_value = 0;
      if (!fact || fact->low == Term::none) return all;
      return intersect(all, {bound(fact->low).min_value, bound(fact->high).max_value});
    }
    case Kind::add: return in_type(node.type, add(a(), b()));
    case Kind::sub: {
      ConstIntBound result = in_type(node.type, subtract(a(), b()));
      if (node.type.is_index() && facts.has_differences()) {
        result.max_value = std::min(result.max_value, largest_difference(node.a, node.b));
        const std::int64_t reverse = largest_difference(node.b, node.a);
        if (reverse != ConstIntBound::pos_inf)
          result.min_value = std::max(result.min_value, -reverse);
      }
      return result;
    }
    case Kind::mul: {
      ConstIntBound product = multiply(a(), b());
      if (node.a == node.b) product = intersect(product, {0, ConstIntBound::pos_inf});
      return in_type(node.type, product);
    }
    case Kind::div: return quotient(trunc_divide(a(), b()));
    case Kind::mod: return quotient(trunc_modulo(a(), b()));
    case Kind::floordiv:
      return quotient(intersect(floor_divide(a(), b()), quotient_below_product(node)));
    case Kind::floormod: {
      // With a modular set, the remainder may be a constant: (8 k + 3) % 4.
      if (terms.is_constant(node.b) && terms[node.b].value > 0) {
        const ModularSet rest = floor_modulo(modular(node.a), terms[node.b].value);
        if (rest.coeff == 0) return point(rest.base);
        ConstIntBound result = floor_modulo(a(), b());
        // The largest value of the period that is in the set: (4 k + 1) % 12 <= 9.
        const ConstIntBound fits{rest.base, terms[node.b].value - rest.coeff + rest.base};
        return result.is_empty() || intersect(result, fits).is_empty() ? result
                                                                       : intersect(result, fits);
      }
      return quotient(floor_modulo(a(), b()));
    }
    case Kind::min: return minimum(a(), b());
    case Kind::max: return maximum(a(), b());
    case Kind::select:
    case Kind::if_then_else: return unite(bound(node.b), bound(node.c));
    case Kind::cast: {
      const ConstIntBound all = all_of(node.type);
      const ConstIntBound value =
          terms.type(node.a).is_integer() ? a() : bound_of_whole_logarithm(node.a);
      return is_within(value, all) ? value : all;
    }
    case Kind::ramp: {
      const std::int64_t last =
          node.type.is_scalable() ? ConstIntBound::pos_inf : node.type.lanes - 1;
      return in_type(node.type, add(a(), multiply(b(), {0, last})));
    }
    case Kind::broadcast: return a();
    case Kind::call: return in_type(node.type, derive_call_bound(term));
    default: return all_of(node.type);
  }
}

/// Of a logarithm to the base 2 of an integer, rounded to an integer. Up to `largest`, a double
/// tells those next to a power of two from it.
ConstIntBound Knowledge::bound_of_whole_logarithm(Term term) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  const auto argument_of = [&](Term call, Op name) {
    const bool is_call = terms[call].kind == Kind::call && terms.op(call) == name;
    return is_call ? terms.arguments(call)[0] : Term::none;
  };
  const Term ceiled = argument_of(term, op("ceil"));
  const Term rounded = ceiled == Term::none ? argument_of(term, op("floor")) : ceiled;
  const Term cast = rounded == Term::none ? rounded : argument_of(rounded, op("log2"));
  if (cast == Term::none || terms.type(cast) != f64) return {};
  ConstIntBound of;
  if (terms[cast].kind == Kind::cast && terms.type(terms[cast].a).is_integer()) {
    of = bound(terms[cast].a);
  } else if (terms[cast].kind == Kind::real) {
    const double value = std::bit_cast<double>(terms[cast].value);
    if (value != std::trunc(value) || std::fabs(value) > double{largest}) return {};
    of = point(static_cast<std::int64_t>(value));
  }
  if (of.min_value < 1 || of.max_value > largest) return {};
  const auto floor_of = [](std::int64_t value) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
  };
  const auto rounding = [&](std::int64_t value) {
    return ceiled == Term::none || value == 1 ? floor_of(value) : floor_of(value - 1) + 1;
  };
  return {rounding(of.min_value), rounding(of.max_value)};
}

bool Product::take(Term factor) {
  const auto found = std::ranges::find(factors, factor);
  if (found == factors.end()) return false;
  factors.erase(found);
  return true;
}

bool Product::take(const Product& others) {
  return std::ranges::all_of(others.factors, [&](Term factor) { return take(factor); });
}

std::optional<Product> product_of(const Terms& terms, Term term) {
  const TermNode& node = terms[term];
  if (terms.is_constant(term)) return Product{{}, node.value};
  if (node.kind != Kind::mul) return Product{{term}, 1};
  std::optional<Product> left = product_of(terms, node.a);
  const std::optional<Product> right = product_of(terms, node.b);
  if (!left || !right || __builtin_mul_overflow(left->constant, right->constant, &left->constant)) {
    return std::nullopt;
  }
  left->factors.insert(left->factors.end(), right->factors.begin(), right->factors.end());
  return left;
}

/// What a quotient of x by y is at most, as x is known to be below a product of y: x < y * z says
/// that x // y < z.
ConstIntBound Knowledge::quotient_below_product(const TermNode& node) {
  ConstIntBound result{};
  const bool may_be = node.type.is_index() && node.type.is_scalar() && !terms.is_constant(node.b) &&
                      bound(node.b).min_value >= 0;
  const auto divisor = may_be ? product_of(terms, node.b) : std::nullopt;
  if (!divisor || divisor->constant <= 0) return result;
  const auto learn = [&](Term product) {
    auto rest = product_of(terms, product);
    if (!rest || rest->constant % divisor->constant != 0 || !rest->take(*divisor)) return;
    ConstIntBound most = point(rest->constant / divisor->constant);
    for (const Term factor : rest->factors) most = multiply(most, bound(factor));
    result.max_value = std::min(result.max_value, add(most, point(-1)).max_value);
  };
  const TermNode above = terms[node.a];
  // A remainder has the sign of its divisor.
  if (above.kind == Kind::floormod && bound(above.b).min_value >= 0) learn(above.b);
  const Offset dividend = split_offset(terms, node.a);
  for (const auto& [smaller, larger, at_most] : facts.differences()) {
    if (smaller == dividend.rest && at_most + dividend.offset < 0) learn(larger);
  }
  const Fact* fact = facts.find(node.a);
  if (fact && fact->high != Term::none) {
    const auto [larger, offset] = split_offset(terms, fact->high);
    if (offset < 0) learn(larger);
  }
  return result;
}

ConstIntBound Knowledge::derive_call_bound(Term term) {
  const TermNode node = terms[term];
  const auto argument = [&](std::size_t i) { return terms.arguments(term)[i]; };
  const Op call = terms.op(term);
  const ConstIntBound all = all_of(node.type);
  if (call == op("likely")) return bound(argument(0));
  if (call == op("vscale")) return {1, ConstIntBound::pos_inf};
  if (call == op("popcount") || call == op("clz")) {
    return {0, terms.type(argument(0)).bits};
  }
  if (call == op("bitwise_or") || call == op("bitwise_xor")) {
    const ConstIntBound a = bound(argument(0)), b = bound(argument(1));
    constexpr std::int64_t widest = std::int64_t{1} << 62;
    const std::int64_t most = std::max(a.max_value, b.max_value);
    if (a.min_value < 0 || b.min_value < 0 || most >= widest) return all;
    return {0, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most) + 1)) - 1};
  }
  const bool is_shift = call == op("shift_right") || call == op("shift_left");
  if (is_shift || call == op("bitwise_and")) {
    const ConstIntBound a = bound(argument(0));
    const ConstIntBound b = bound(argument(1));
    if (call == op("bitwise_and")) {
      if (a.min_value < 0 && b.min_value < 0) return all;
      if (a.min_value < 0 || b.min_value < 0)
        return {0, a.min_value < 0 ? b.max_value : a.max_value};
      return {0, std::min(a.max_value, b.max_value)};
    }
    constexpr int widest = 62;
    if (b.min_value < 0 || b.max_value > std::min<int>(widest, node.type.bits - 1)) return all;
    const ConstIntBound power{std::int64_t{1} << b.min_value, std::int64_t{1} << b.max_value};
    if (call == op("shift_right")) return floor_divide(a, power);
    return a.min_value < 0 ? all : multiply(a, power);
  }
  return all;
}

ModularSet Knowledge::modular(Term term) {
  const TermNode& node = terms[term];
  if (!node.type.is_integer()) return {};
  if (node.kind == Kind::constant) {
    const bool is_huge = node.type.element() == u64 && node.value < 0;
    return is_huge ? ModularSet{} : arith::modular(0, node.value);
  }
  const std::uint32_t epoch = facts.epoch();
  if (const ModularSet* known = modulars_.find(term, epoch)) return *known;
  ModularSet result = deep_call([&] { return derive_modular(term); });
  if (const Fact* fact = facts.find(term)) result = intersect(result, fact->modular);
  modulars_.set(term, epoch, result);
  return result;
}

ModularSet Knowledge::derive_modular(Term term) {
  const TermNode node = terms[term];
  const auto a = [&] { return modular(node.a); };
  const auto b = [&] { return modular(node.b); };
  const std::int64_t divisor =
      node.b != Term::none && terms.is_constant(node.b) ? terms[node.b].value : 0;
  // What may have wrapped keeps only the powers of two.
  const auto wrapped = [&](const ModularSet& exact) -> ModularSet {
    if (node.type.is_index()) return exact;
    const ModularSet rest = wrap(exact, node.type.bits);
    if (rest.coeff != 0) return rest;
    return all_of(node.type).contains(rest.base) && node.type.element() != u64 ? rest
                                                                               : ModularSet{};
  };
  switch (node.kind) {
    case Kind::variable:
      modulars_.set(term, facts.epoch(), {});
      if (const Fact* fact = facts.find(term); fact && fact->value != Term::none) {
        return modular(fact->value);
      }
      return {};
    case Kind::add: return wrapped(add(a(), b()));
    case Kind::sub: return wrapped(subtract(a(), b()));
    case Kind::mul: return wrapped(multiply(a(), b()));
    case Kind::floordiv: return divisor > 0 ? floor_divide(a(), divisor) : ModularSet{};
    case Kind::div: {
      if (divisor <= 0) return {};
      const ModularSet set = a();
      const bool is_exact = set.coeff % divisor == 0 && set.base % divisor == 0;
      return is_exact || is_non_negative(node.a) ? floor_divide(set, divisor) : ModularSet{};
    }
    case Kind::floormod: return divisor > 0 ? floor_modulo(a(), divisor) : ModularSet{};
    case Kind::mod:
      return divisor > 0 && is_non_negative(node.a) ? floor_modulo(a(), divisor) : ModularSet{};
    case Kind::min:
    case Kind::max: return unite(a(), b());
    case Kind::select:
    case Kind::if_then_else: return unite(modular(node.b), modular(node.c));
    case Kind::cast: {
      const DataType from = terms.type(node.a);
      if (!from.is_integer() || node.type.is_bool()) return {};
      return is_within(bound(node.a), all_of(node.type)) ? a() : wrapped(a());
    }
    case Kind::ramp: return wrapped(unite(a(), add(a(), b())));
    case Kind::broadcast: return a();
    case Kind::call: return derive_call_modular(term);
    default: return {};
  }
}

ModularSet Knowledge::derive_call_modular(Term term) {
  const auto argument = [&](std::size_t i) { return terms.arguments(term)[i]; };
  const Op call = terms.op(term);
  if (call == op("likely")) return modular(argument(0));
  if (call != op("shift_right") && call != op("bitwise_and")) return {};
  if (!terms.is_constant(argument(1))) return {};
  const std::int64_t operand = terms[argument(1)].value;
  if (call == op("bitwise_and")) {
    const int power = operand == ConstIntBound::pos_inf ? -1 : power_of_two(operand + 1);
    return power < 0 ? ModularSet{} : floor_modulo(modular(argument(0)), std::int64_t{1} << power);
  }
  constexpr std::int64_t widest = 62;
  if (operand < 0 || operand > std::min<std::int64_t>(widest, terms.type(term).bits - 1)) return {};
  return floor_divide(modular(argument(0)), std::int64_t{1} << operand);
}

bool Knowledge::compact() {
  if (terms.size() < compact_at_) return false;
  constexpr std::size_t growth = std::size_t{1} << 16;
  facts.rename(terms.compact(facts.mentioned()));
  compact_at_ = 2 * terms.size() + growth;
  bounds_.clear();
  modulars_.clear();
  return true;
}

std::int64_t Knowledge::largest_difference(Term a, Term b) {
  return largest_difference(a, b, max_extremes);
}

std::int64_t Knowledge::largest_difference(Term a, Term b, int extremes) {
  // Sums of other types wrap.
  const bool splits = terms.type(a).is_index();
  const Offset from = splits ? split_offset(terms, a) : Offset{a, 0};
  const Offset to = splits ? split_offset(terms, b) : Offset{b, 0};
  const ConstIntBound offset = subtract(point(from.offset), point(to.offset));
  const auto shifted = [&](std::int64_t difference) {
    return difference == ConstIntBound::pos_inf ? ConstIntBound::pos_inf
                                                : add(point(difference), offset).max_value;
  };
  if (from.rest == to.rest) return offset.max_value;
  std::int64_t least = subtract(bound(a), bound(b)).max_value;
  if (facts.has_differences()) {
    least = std::min(least, shifted(facts.largest_difference(from.rest, to.rest)));
  }
  if (extremes == 0) return least;
  const auto is_extreme = [&](Term term) {
    return terms[term].kind == Kind::min || terms[term].kind == Kind::max;
  };
  // The largest of a maximum is that of an operand, and so is the least of a minimum.
  if (is_extreme(from.rest)) {
    const TermNode node = terms[from.rest];
    const std::int64_t first = largest_difference(node.a, to.rest, extremes - 1);
    const std::int64_t second = largest_difference(node.b, to.rest, extremes - 1);
    const bool is_max = node.kind == Kind::max;
    least = std::min(least, shifted(is_max ? std::max(first, second) : std::min(first, second)));
  } else if (is_extreme(to.rest)) {
    const TermNode node = terms[to.rest];
    const std::int64_t first = largest_difference(from.rest, node.a, extremes - 1);
    const std::int64_t second = largest_difference(from.rest, node.b, extremes - 1);
    const bool is_min = node.kind == Kind::min;
    least = std::min(least, shifted(is_min ? std::max(first, second) : std::min(first, second)));
  }
  return least;
}

bool fits(DataType type, std::int64_t value) {
  return type.element() == u64 || all_of(type).contains(value);
}

Offset split_offset(const Terms& terms, Term term) {
  const TermNode& node = terms[term];
  if (node.kind == Kind::add && terms.is_constant(node.b)) return {node.a, terms[node.b].value};
  if (node.kind == Kind::sub && terms.is_constant(node.b) &&
      terms[node.b].value != std::numeric_limits<std::int64_t>::min()) {
    return {node.a, -terms[node.b].value};
  }
  return {term, 0};
}

}  // namespace loopsmith::arith
