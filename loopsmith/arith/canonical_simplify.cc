// SPDX-License-Identifier: Apache-2.0
// Terms as canonical sums, and back.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "loopsmith/arith/simplifier.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::arith {
namespace {

/// Index arithmetic that becomes sums. Vectors are left to the rules.
bool has_sum(DataType type) {
  return type.is_index() && type.is_scalar();
}

bool is_arithmetic(Kind kind) {
  return kind >= Kind::add && kind <= Kind::floormod;
}

/// Products of more factors stay as they were written.
constexpr std::size_t max_factors = 8;

}  // namespace

Term Simplifier::canonical(Term term) {
  const Kind kind = terms_[term].kind;
  if (kind == Kind::constant || kind == Kind::real) return term;
  const std::uint32_t epoch = knowledge_.facts.epoch();
  if (const Term* known = canonical_.find(term, epoch)) return *known;
  --visits_left_;
  canonical_.set(term, epoch, term);
  const Term result = deep_call([&] { return canonical_node(term); });
  canonical_.set(term, epoch, result);
  canonical_.set(result, epoch, result);
  return result;
}

Term Simplifier::canonical_node(Term term) {
  const TermNode node = terms_[term];
  if (has_sum(node.type) && (is_arithmetic(node.kind) || node.kind == Kind::variable) &&
      !node.has_effect) {
    const Sum sum = sum_of(term);
    const Term result = term_of(node.type, sum);
    if (result == Term::none || result == term) return term;
    sums_.set(result, knowledge_.facts.epoch(), sum);
    return result;
  }
  if (is_comparison(node.kind) && has_sum(terms_.type(node.a)) && !node.has_effect) {
    return canonical_comparison(node);
  }
  return simplify_operands(term, &Simplifier::canonical);
}

Sum Simplifier::sum_of_whole(Term term) {
  if (terms_.is_constant(term)) return sum_of_constant(terms_[term].value);
  return sum_of_piece({term, false, 1, Piece::no_upper, 1});
}

Sum Simplifier::sum_of_constant(std::int64_t value) {
  return {0, 0, value};
}

Sum Simplifier::sum_of(Term term) {
  const TermNode& node = terms_[term];
  if (node.kind == Kind::constant) return sum_of_constant(node.value);
  const std::uint32_t epoch = knowledge_.facts.epoch();
  if (const Sum* known = sums_.find(term, epoch)) return *known;
  sums_.set(term, epoch, sum_of_whole(term));
  const Sum result = deep_call([&] { return derive_sum(term); });
  sums_.set(term, epoch, result);
  return result;
}

Sum Simplifier::derive_sum(Term term) {
  const TermNode node = terms_[term];
  switch (node.kind) {
    case Kind::variable: {
      const Fact* fact = knowledge_.facts.find(term);
      if (fact && fact->value != Term::none) return sum_of(fact->value);
      return sum_of_whole(decide(term));
    }
    case Kind::add:
    case Kind::sub: {
      const Sum a = sum_of(node.a);
      const Sum b = sum_of(node.b);
      const std::int64_t sign = node.kind == Kind::add ? 1 : -1;
      if (const auto sum = add_scaled(a, b, sign)) return without_casts_of_sums(node.type, *sum);
      break;
    }
    case Kind::mul:
      if (const auto sum = product(node)) return *sum;
      break;
    case Kind::div:
    case Kind::mod:
    case Kind::floordiv:
    case Kind::floormod:
      if (const auto sum = division(node)) return *sum;
      break;
    default: {
      const Term result = canonical(term);
      return result == term ? sum_of_whole(term) : sum_of(result);
    }
  }
  // Too long, or out of 64 bits: one opaque index.
  const Term a = canonical(node.a);
  const Term b = canonical(node.b);
  const Term whole = combine(node.kind, node.type, a, b);
  return is_arithmetic(terms_[whole].kind) ? sum_of_whole(whole) : sum_of(whole);
}

/// The sum of casts that a cast of a sum is, where nothing wraps: what it converts is an index, and
/// the type is wider, or holds the sum and its terms.
std::optional<Sum> Simplifier::sum_of_casts(DataType type, const Piece& piece) {
  const TermNode node = terms_[piece.index];
  if (!piece.is_whole() || node.kind != Kind::cast) return std::nullopt;
  const DataType from = terms_.type(node.a);
  if (!has_sum(from) || terms_[node.a].is_data) return std::nullopt;
  const Sum inner = sum_of(node.a);
  const ConstIntBound all = all_of(type);
  const auto holds = [&](const ConstIntBound& bound) {
    return all.contains(bound.min_value) && all.contains(bound.max_value);
  };
  const bool is_wider = type.bits > from.bits;
  if (!is_wider && !holds(bound_of(inner))) return std::nullopt;
  std::optional<Sum> result = sum_of_constant(inner.base);
  for (std::uint32_t i = 0; i < inner.count && result; ++i) {
    Piece part = pieces_[inner.first + i];
    const std::int64_t scale = std::exchange(part.scale, 1);
    if (!is_wider && !holds(bound_of(part))) return std::nullopt;
    const Term term = terms_.make(Kind::cast, type, term_of(from, part));
    result = add_scaled(*result, sum_of_whole(term), scale);
  }
  return result ? scaled(*result, piece.scale) : result;
}

/// The sum with casts of sums as sums of casts, where that leaves less: cast(i + 1) - cast(i) is 1.
Sum Simplifier::without_casts_of_sums(DataType type, const Sum& sum) {
  int casts = 0;
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    casts += terms_[pieces_[sum.first + i].index].kind == Kind::cast ? 1 : 0;
  }
  if (casts < 2) return sum;
  std::optional<Sum> result = sum_of_constant(sum.base);
  for (std::uint32_t i = 0; i < sum.count && result; ++i) {
    const Piece piece = pieces_[sum.first + i];
    const std::optional<Sum> spread = sum_of_casts(type, piece);
    result = add_scaled(*result, spread ? *spread : sum_of_piece(piece), 1);
  }
  return result && result->count < sum.count ? *result : sum;
}

std::optional<Sum> Simplifier::product(const TermNode& node) {
  const Sum a = sum_of(node.a);
  const Sum b = sum_of(node.b);
  if (b.is_constant()) return scaled(a, b.base);
  if (a.is_constant()) return scaled(b, a.base);

  // Each factor without the largest constant that divides it, then all of them in one order.
  std::int64_t scale = 1;
  std::array<Term, max_factors> factors{};
  std::size_t count = 0;
  const auto add_factor = [&](Term factor) {
    if (count == max_factors) return false;
    std::size_t place = count++;
    for (; place > 0 && factors[place - 1] > factor; --place) factors[place] = factors[place - 1];
    factors[place] = factor;
    return true;
  };
  for (const Sum& factor : {a, b}) {
    std::int64_t content = std::abs(factor.base);
    for (std::uint32_t i = 0; i < factor.count; ++i) {
      content = std::gcd(content, pieces_[factor.first + i].scale);
    }
    if (factor.count == 1 && factor.base == 0) content = pieces_[factor.first].scale;
    if (__builtin_mul_overflow(scale, content, &scale)) return std::nullopt;
    Term rest = term_of(node.type, divided_exactly(factor, content));
    if (rest == Term::none) return std::nullopt;
    for (; terms_[rest].kind == Kind::mul; rest = terms_[rest].a) {
      if (!add_factor(terms_[rest].b)) return std::nullopt;
    }
    if (!add_factor(rest)) return std::nullopt;
  }
  Term index = factors[0];
  for (std::size_t i = 1; i < count; ++i)
    index = terms_.make(Kind::mul, node.type, index, factors[i]);
  return sum_of_piece({index, false, 1, Piece::no_upper, scale});
}

std::optional<Sum> Simplifier::division(const TermNode& node) {
  const Sum divisor = sum_of(node.b);
  const Sum dividend = sum_of(node.a);
  const bool is_finite =
      divisor.base > ConstIntBound::neg_inf && divisor.base < ConstIntBound::pos_inf;
  if (divisor.is_constant() && divisor.base != 0 && is_finite) {
    const std::optional<Sum> result = divided(node, dividend, divisor.base);
    if (!node.is_data || !result || !overflows_anew(node.type, dividend, *result)) return result;
  }
  if (!node.is_data) {
    if (const auto result = without_common_factors(node, dividend, divisor)) return result;
    if (const auto result = without_multiple(node, dividend, divisor)) return result;
  }
  const Term a = term_of(node.type, dividend);
  const bool is_zero = divisor.is_constant() && divisor.base == 0;
  const Term b = is_zero ? node.b : term_of(node.type, divisor);
  if (a == Term::none || b == Term::none) return std::nullopt;
  const Term whole = combine(node.kind, node.type, a, b);
  const TermNode& made = terms_[whole];
  const bool is_same = made.kind == node.kind && made.a == a && made.b == b;
  return is_same ? sum_of_whole(whole) : sum_of(whole);
}

/// The quotient or remainder by a constant that is not 0.
std::optional<Sum> Simplifier::divided(const TermNode& node, const Sum& dividend,
                                       std::int64_t divisor) {
  const std::int64_t size = std::abs(divisor);
  const std::int64_t sign = divisor < 0 ? -1 : 1;
  const auto times = [&](const std::optional<Sum>& sum, std::int64_t factor) {
    return sum ? scaled(*sum, factor) : sum;
  };
  switch (node.kind) {
    case Kind::div: return times(trunc_divided(node.type, dividend, size), sign);
    case Kind::mod: return trunc_reduced(node.type, dividend, size);
    default: break;
  }
  // a // -c is -a // c, and a % -c is -(-a % c).
  const auto numerator = scaled(dividend, sign);
  if (!numerator) return std::nullopt;
  return node.kind == Kind::floordiv ? floor_divided(node.type, *numerator, size)
                                     : times(floor_reduced(node.type, *numerator, size), sign);
}

/// The left side of sum < limit without terms that decide nothing, and the limit of what is left:
/// of g * high + low < limit is left high < ceil((limit - low) / g), where that is one number.
Sum Simplifier::without_idle_digits(Sum sum, std::int64_t& limit) {
  std::array<std::int64_t, 8> places{};
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < sum.count && count < places.size(); ++i) {
    const std::int64_t place = std::abs(pieces_[sum.first + i].scale);
    if (place > 1) places[count++] = place;
  }
  std::sort(places.begin(), places.begin() + count, std::greater<>());
  const auto* end = std::unique(places.begin(), places.begin() + count);
  for (const auto* place = places.begin(); place != end; ++place) {
    const Sum low = pieces_where(sum, *place, false);
    if (low.count == 0 || low.count == sum.count) continue;
    const ConstIntBound range = bound_of(low);
    const auto limit_at = [&](std::int64_t value) -> std::optional<std::int64_t> {
      std::int64_t left = 0;
      if (__builtin_sub_overflow(limit, value, &left)) return std::nullopt;
      return -floor_quotient(-left, *place);
    };
    const bool is_finite =
        range.min_value != ConstIntBound::neg_inf && range.max_value != ConstIntBound::pos_inf;
    const auto first = is_finite ? limit_at(range.min_value) : std::nullopt;
    if (!first || first != limit_at(range.max_value)) continue;
    limit = *first;
    return divided_exactly(pieces_where(sum, *place, true), *place);
  }
  return sum;
}

/// a < b as sum + base < 0, divided by what all scales have in common, its negative terms on the
/// right: x * 4 < y * 4 + 3 is x <= y.
Term Simplifier::canonical_comparison(const TermNode& node) {
  const DataType type = terms_.type(node.a);
  const Term a = canonical(node.a);
  const Term b = canonical(node.b);
  const auto by_rules = [&] { return combine(node.kind, node.type, a, b); };
  const auto difference = add_scaled(sum_of(a), sum_of(b), -1);
  if (!difference || difference->is_constant()) return by_rules();

  Sum sum = *difference;
  std::int64_t common = 0;
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    common = std::gcd(common, pieces_[sum.first + i].scale);
  }
  const bool is_equality = node.kind == Kind::eq || node.kind == Kind::ne;
  if (is_equality && floor_remainder(sum.base, common) != 0) {
    return terms_.boolean_of(node.kind == Kind::ne);
  }
  // sum < -base, or sum <= -base: as a strict bound, sum / common < ceil(limit / common).
  const std::int64_t base = sum.base;
  sum.base = 0;
  sum = divided_exactly(sum, common);
  const std::int64_t strict = is_equality || node.kind == Kind::lt ? -base : -base + 1;
  std::int64_t limit = -floor_quotient(-strict, common);
  if (!is_equality) sum = without_idle_digits(sum, limit);

  Sum left{static_cast<std::uint32_t>(pieces_.size()), 0, 0};
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    if (pieces_[sum.first + i].scale > 0) {
      pieces_.push_back(Piece(pieces_[sum.first + i]));
      ++left.count;
    }
  }
  Sum right{static_cast<std::uint32_t>(pieces_.size()), 0, 0};
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    Piece piece = pieces_[sum.first + i];
    if (piece.scale > 0) continue;
    piece.scale = -piece.scale;
    pieces_.push_back(piece);
    ++right.count;
  }
  Kind kind = node.kind;
  if (is_equality) {
    // An equality may be read either way: the first term stays on the left.
    if (left.count == 0) {
      std::swap(left, right);
      right.base = -limit;
    } else {
      right.base = limit;
    }
  } else {
    // left < right + limit
    kind = Kind::lt;
    if (left.count == 0) {
      left.base = -limit;
    } else if (limit == 1 && right.count != 0) {
      kind = Kind::le;
    } else if (limit < 0 && right.count != 0) {
      left.base = -limit;
    } else {
      right.base = limit;
    }
  }
  const Term first = term_of(type, left);
  const Term second = term_of(type, right);
  if (first == Term::none || second == Term::none) return by_rules();
  const Term result = combine(kind, node.type, first, second);
  TermNode before = node;
  before.a = a;
  before.b = b;
  return overflows_anew(before, result) ? by_rules() : result;
}

}  // namespace loopsmith::arith
