// SPDX-License-Identifier: Apache-2.0
// The algebra of canonical sums: addition and scaling. Division is in sum_divisions.cc.
//
// The idea of sums of split indices is that of TVM's canonical simplifier; that pieces of one index
// are compared digit by digit, in the mixed radix of all their bounds, is ours.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <tuple>

#include "loopsmith/arith/simplifier.h"

namespace loopsmith::arith {
namespace {

using Wide = __int128;

/// Longer sums are cut: what was added so far becomes one opaque index.
constexpr std::uint32_t max_pieces = 64;
/// Pieces of one index that are compared digit by digit.
constexpr std::size_t max_digits = 12;

auto order(const Piece& piece) {
  return std::make_tuple(piece.index, -piece.lower, -piece.upper, piece.rounds_to_zero);
}

std::optional<std::int64_t> narrow_down(Wide value) {
  if (value >= ConstIntBound::pos_inf || value <= ConstIntBound::neg_inf) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// The pieces of one index, in the mixed radix of their bounds.
class Digits {
 public:
  /// False when the bounds do not divide each other, or the roundings differ.
  bool read(std::span<const Piece> pieces) {
    const auto split = std::ranges::find_if(pieces, [](const Piece& p) { return !p.is_whole(); });
    if (split == pieces.end()) return false;
    index_ = split->index;
    rounds_to_zero_ = split->rounds_to_zero;
    for (const Piece& piece : pieces) {
      if (!piece.is_whole() && piece.rounds_to_zero != rounds_to_zero_) return false;
      if (!add_bound(piece.lower) || !add_bound(piece.upper)) return false;
    }
    std::sort(bounds_.begin(), bounds_.begin() + count_);
    for (std::size_t k = 0; k + 1 < count_; ++k) {
      if (bounds_[k + 1] != Piece::no_upper && bounds_[k + 1] % bounds_[k] != 0) return false;
    }
    for (std::size_t k = 0; k + 1 < count_; ++k) {
      Wide total = 0;
      for (const Piece& piece : pieces) {
        if (piece.lower <= bounds_[k] && bounds_[k] < piece.upper) {
          total += Wide{piece.scale} * (bounds_[k] / piece.lower);
        }
      }
      const auto coefficient = narrow_down(total);
      if (!coefficient) return false;
      coefficients_[k] = *coefficient;
    }
    return true;
  }

  /// Each run of digits in their natural proportion as one piece: x % 16 and (x // 16) * 5.
  std::size_t as_runs(std::array<Piece, max_digits>& out) const {
    std::size_t used = 0;
    for (std::size_t k = 0; k + 1 < count_;) {
      std::size_t end = k + 1;
      Wide expected = coefficients_[k];
      while (end + 1 < count_) {
        expected *= bounds_[end] / bounds_[end - 1];
        if (expected != coefficients_[end]) break;
        ++end;
      }
      if (coefficients_[k] != 0) out[used++] = piece(k, bounds_[end], coefficients_[k]);
      k = end;
    }
    return used;
  }

  /// Every piece up to the highest bound: x and (x // 16) * 4.
  std::size_t as_quotients(std::array<Piece, max_digits>& out) const {
    std::size_t used = 0;
    for (std::size_t k = 0; k + 1 < count_; ++k) {
      const Wide below =
          k == 0 ? Wide{0} : Wide{coefficients_[k - 1]} * (bounds_[k] / bounds_[k - 1]);
      const auto rest = narrow_down(coefficients_[k] - below);
      if (!rest) return max_digits + 1;
      if (*rest != 0) out[used++] = piece(k, bounds_[count_ - 1], *rest);
    }
    return used;
  }

 private:
  bool add_bound(std::int64_t bound) {
    const auto* end = bounds_.data() + count_;
    if (std::find(static_cast<const std::int64_t*>(bounds_.data()), end, bound) != end) return true;
    if (count_ == max_digits) return false;
    bounds_[count_++] = bound;
    return true;
  }
  Piece piece(std::size_t k, std::int64_t upper, std::int64_t scale) const {
    const bool is_whole = bounds_[k] == 1 && upper == Piece::no_upper;
    return {index_, !is_whole && rounds_to_zero_, bounds_[k], upper, scale};
  }

  Term index_ = Term::none;
  bool rounds_to_zero_ = false;
  std::array<std::int64_t, max_digits> bounds_{};
  std::array<std::int64_t, max_digits> coefficients_{};
  std::size_t count_ = 0;
};

double size_of(std::span<const Piece> pieces) {
  double total = 0;
  for (const Piece& piece : pieces) total += std::abs(static_cast<double>(piece.scale));
  return total;
}

/// The pieces of one index in their shortest form; gives how many they are now.
std::size_t shorten(std::span<Piece> pieces) {
  Digits digits;
  if (pieces.size() > max_digits || !digits.read(pieces)) return pieces.size();
  std::array<Piece, max_digits> runs{};
  std::array<Piece, max_digits> quotients{};
  const std::size_t run_count = digits.as_runs(runs);
  const std::size_t quotient_count = digits.as_quotients(quotients);
  const bool prefers_quotients =
      quotient_count < run_count ||
      (quotient_count == run_count &&
       size_of({quotients.data(), quotient_count}) < size_of({runs.data(), run_count}));
  const auto& best = prefers_quotients ? quotients : runs;
  const std::size_t count = std::min(run_count, quotient_count);
  if (count > pieces.size()) return pieces.size();
  std::copy_n(best.begin(), count, pieces.begin());
  std::sort(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Piece& a, const Piece& b) { return order(a) < order(b); });
  return count;
}

}  // namespace

std::optional<std::int64_t> scaled_sum(std::int64_t a, std::int64_t b, std::int64_t scale) {
  return narrow_down(Wide{a} + Wide{b} * scale);
}

/// Shortens each index's pieces in the sum that starts at `first` and ends the pool.
void Simplifier::merge_digits(std::uint32_t first) {
  std::size_t kept = first;
  for (std::size_t i = first; i < pieces_.size();) {
    std::size_t end = i + 1;
    while (end < pieces_.size() && pieces_[end].index == pieces_[i].index) ++end;
    std::size_t count = end - i;
    if (count > 1) count = shorten({pieces_.data() + i, count});
    for (std::size_t k = 0; k < count; ++k) pieces_[kept++] = pieces_[i + k];
    i = end;
  }
  pieces_.resize(kept);
}

std::optional<Sum> Simplifier::add_scaled(const Sum& a, const Sum& b, std::int64_t scale) {
  const auto base = scaled_sum(a.base, b.base, scale);
  if (!base || a.count + b.count > max_pieces) return std::nullopt;
  Sum result{static_cast<std::uint32_t>(pieces_.size()), 0, *base};
  std::uint32_t i = a.first;
  std::uint32_t j = b.first;
  const std::uint32_t a_end = a.first + a.count;
  const std::uint32_t b_end = b.first + b.count;
  bool shares_index = false;
  while (i < a_end || j < b_end) {
    const bool takes_a = j == b_end || (i < a_end && order(pieces_[i]) <= order(pieces_[j]));
    Piece piece = takes_a ? pieces_[i++] : pieces_[j++];
    std::optional<std::int64_t> total = takes_a ? piece.scale : scaled_sum(0, piece.scale, scale);
    if (takes_a && j < b_end && piece.is_like(pieces_[j])) {
      total = scaled_sum(piece.scale, pieces_[j++].scale, scale);
    }
    if (!total) {
      pieces_.resize(result.first);
      return std::nullopt;
    }
    if (*total == 0) continue;
    piece.scale = *total;
    shares_index |= pieces_.size() > result.first && pieces_.back().index == piece.index;
    pieces_.push_back(piece);
  }
  if (shares_index) merge_digits(result.first);
  result.count = static_cast<std::uint32_t>(pieces_.size()) - result.first;
  const auto joined = with_joined_remainder(result);
  return joined ? with_joined_quotient(*joined) : std::nullopt;
}

/// A sum that leaves the same remainder by `divisor`, without remainders by multiples of it:
///
///     x % 30 * 2 + y    and    x * 2 + y    by 5
std::optional<Sum> Simplifier::without_remainders(const Sum& sum, std::int64_t divisor) {
  Sum result{static_cast<std::uint32_t>(pieces_.size()), 0, sum.base};
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    const Piece piece = pieces_[sum.first + i];
    const bool is_idle = piece.lower == 1 && piece.upper != Piece::no_upper &&
                         !piece.rounds_to_zero && Wide{piece.upper} * piece.scale % divisor == 0;
    const auto next = is_idle ? add_scaled(result, sum_of(piece.index), piece.scale)
                              : add_scaled(result, sum_of_piece(piece), 1);
    if (!next) return std::nullopt;
    result = *next;
  }
  return result;
}

/// A remainder is of an index without the multiples of its divisor, a quotient is not. Where both
/// are parts of one index, they are added up as such:
///
///     ((x * 8 + y) // 7) * 7 + (x + y) % 7    is    x * 8 + y
std::optional<Sum> Simplifier::with_joined_remainder(const Sum& sum) {
  const std::span all(pieces_.data() + sum.first, sum.count);
  for (std::size_t q = 0; q < all.size(); ++q) {
    const Piece quotient = all[q];
    if (quotient.lower == 1 || quotient.rounds_to_zero) continue;
    const auto completes = [&](const Piece& piece) {
      return piece.lower == 1 && piece.upper == quotient.lower && !piece.rounds_to_zero &&
             Wide{piece.scale} * quotient.lower == quotient.scale;
    };
    const auto found = std::ranges::find_if(all, completes);
    if (found == all.end()) continue;
    const auto r = static_cast<std::size_t>(found - all.begin());
    const Piece remainder = *found;
    const Sum index = sum_of(quotient.index);
    const auto whole = without_remainders(index, quotient.lower);
    const auto reduced =
        whole ? floor_reduced(terms_.type(quotient.index), *whole, quotient.lower) : std::nullopt;
    const bool is_same = reduced && reduced->count == 1 && reduced->base == 0 &&
                         pieces_[reduced->first].scale == 1 &&
                         pieces_[reduced->first].is_like(remainder);
    if (!is_same) return sum;
    Sum rest{static_cast<std::uint32_t>(pieces_.size()), sum.count - 2, sum.base};
    for (std::size_t i = 0; i < sum.count; ++i) {
      if (i != q && i != r) pieces_.push_back(Piece(pieces_[sum.first + i]));
    }
    if (quotient.upper == Piece::no_upper) return add_scaled(rest, index, remainder.scale);
    return add_scaled(rest,
                      sum_of_piece({quotient.index, false, 1, quotient.upper, remainder.scale}), 1);
  }
  return sum;
}

/// What a product of a quotient, and a remainder of the same divisor, no constant, are together,
/// but for the scale of the remainder; nothing where they are not of one index, nor is the quotient
/// of what is left of it:
///
///     (x // m + y) * m + x % m          is    x + y * m
///     (x % (n * m) // m) * m + x % m    is    x % (n * m)
std::optional<Sum> Simplifier::joined(const Piece& quotient, const Piece& remainder) {
  const TermNode rest = terms_[remainder.index];
  const auto divisor = product_of(terms_, rest.b);
  auto product = product_of(terms_, quotient.index);
  if (!divisor || !product ||
      Wide{quotient.scale} * product->constant != Wide{remainder.scale} * divisor->constant ||
      !product->take(*divisor) || product->factors.size() != 1) {
    return std::nullopt;
  }
  const auto is_of_index = [&](const Piece& piece) {
    const TermNode node = terms_[piece.index];
    if (!piece.is_whole() || piece.scale != 1 || node.kind != Kind::floordiv) return false;
    auto other = product_of(terms_, node.b);
    const bool is_same = other && other->constant == divisor->constant && other->take(*divisor) &&
                         other->factors.empty();
    if (!is_same || node.a == rest.a) return is_same;
    const TermNode part = terms_[node.a];
    auto period =
        part.kind == Kind::floormod && part.a == rest.a ? product_of(terms_, part.b) : std::nullopt;
    return period && period->constant % divisor->constant == 0 && period->take(*divisor);
  };
  const Sum factor = sum_of(product->factors[0]);
  for (std::uint32_t i = 0; i < factor.count; ++i) {
    const Piece piece = pieces_[factor.first + i];
    if (!is_of_index(piece)) continue;
    const Sum index = sum_of(terms_[piece.index].a);
    const auto others = add_scaled(factor, sum_of_piece(piece), -1);
    if (!others) return std::nullopt;
    if (others->count == 0 && others->base == 0) return index;
    const Term more = term_of(rest.type, *others);
    if (more == Term::none) return std::nullopt;
    return add_scaled(index, sum_of(combine(Kind::mul, rest.type, more, rest.b)), 1);
  }
  return std::nullopt;
}

std::optional<Sum> Simplifier::with_joined_quotient(const Sum& sum) {
  for (std::uint32_t r = 0; r < sum.count; ++r) {
    const Piece remainder = pieces_[sum.first + r];
    const TermNode node = terms_[remainder.index];
    if (!remainder.is_whole() || node.kind != Kind::floormod || terms_[node.b].is_data) continue;
    for (std::uint32_t q = 0; q < sum.count; ++q) {
      const Piece quotient = pieces_[sum.first + q];
      if (!quotient.is_whole() || terms_[quotient.index].kind != Kind::mul) continue;
      const auto whole = joined(quotient, remainder);
      if (!whole) continue;
      Sum rest{static_cast<std::uint32_t>(pieces_.size()), sum.count - 2, sum.base};
      for (std::uint32_t i = 0; i < sum.count; ++i) {
        if (i != q && i != r) pieces_.push_back(Piece(pieces_[sum.first + i]));
      }
      return add_scaled(rest, *whole, remainder.scale);
    }
  }
  return sum;
}

std::optional<Sum> Simplifier::scaled(const Sum& sum, std::int64_t factor) {
  if (factor == 0) return Sum{};
  if (factor == 1) return sum;
  return add_scaled(Sum{}, sum, factor);
}

/// Of a sum whose scales and base `divisor` divides.
Sum Simplifier::divided_exactly(const Sum& sum, std::int64_t divisor) {
  if (divisor == 1) return sum;
  Sum result{static_cast<std::uint32_t>(pieces_.size()), sum.count, sum.base / divisor};
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    Piece piece = pieces_[sum.first + i];
    piece.scale /= divisor;
    pieces_.push_back(piece);
  }
  return result;
}

/// The pieces whose scale `divisor` divides, or the others; without the base.
Sum Simplifier::pieces_where(const Sum& sum, std::int64_t divisor, bool divisible) {
  Sum result{static_cast<std::uint32_t>(pieces_.size()), 0, 0};
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    const Piece piece = pieces_[sum.first + i];
    if ((piece.scale % divisor == 0) == divisible) pieces_.push_back(piece);
  }
  result.count = static_cast<std::uint32_t>(pieces_.size()) - result.first;
  return result;
}

Sum Simplifier::sum_of_piece(const Piece& piece) {
  pieces_.push_back(piece);
  return {static_cast<std::uint32_t>(pieces_.size()) - 1, 1, 0};
}

ConstIntBound Simplifier::bound_of(const Piece& piece) {
  ConstIntBound bound = knowledge_.bound(piece.index);
  if (piece.upper != Piece::no_upper) {
    if (piece.rounds_to_zero) {
      bound = trunc_modulo(bound, point(piece.upper));
    } else {
      const ModularSet set = knowledge_.modular(piece.index);
      bound = set.coeff % piece.upper == 0 ? point(floor_remainder(set.base, piece.upper))
                                           : floor_modulo(bound, point(piece.upper));
    }
  }
  if (piece.lower != 1) {
    bound = piece.rounds_to_zero ? trunc_divide(bound, point(piece.lower))
                                 : floor_divide(bound, point(piece.lower));
  }
  return piece.scale == 1 ? bound : multiply(bound, point(piece.scale));
}

ConstIntBound Simplifier::bound_of(const Sum& sum) {
  ConstIntBound total = point(sum.base);
  for (std::uint32_t i = 0; i < sum.count; ++i)
    total = add(total, bound_of(pieces_[sum.first + i]));
  return total;
}

ConstIntBound Simplifier::bound_of(DataType type, const Sum& sum) {
  const ConstIntBound bound = bound_of(sum);
  if (knowledge_.facts.empty() || sum.count < 2) return bound;
  const Term varying = term_of(type, Sum{sum.first, sum.count, 0});
  if (varying == Term::none) return bound;
  const ConstIntBound both = intersect(bound, add(knowledge_.bound(varying), point(sum.base)));
  return both.is_empty() ? bound : both;
}

ModularSet Simplifier::modular_of(const Sum& sum) {
  ModularSet total = modular(0, sum.base);
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    const Piece& piece = pieces_[sum.first + i];
    ModularSet set = piece.is_whole() ? knowledge_.modular(piece.index) : ModularSet{};
    if (!piece.rounds_to_zero && !piece.is_whole()) {
      set = knowledge_.modular(piece.index);
      if (piece.upper != Piece::no_upper) set = floor_modulo(set, piece.upper);
      set = floor_divide(set, piece.lower);
    }
    total = add(total, multiply(set, modular(0, piece.scale)));
  }
  return total;
}

Term Simplifier::term_of(DataType type, const Piece& piece) {
  Term term = piece.index;
  if (piece.upper != Piece::no_upper) {
    term = terms_.make(piece.rounds_to_zero ? Kind::mod : Kind::floormod, type, term,
                       terms_.constant(type, piece.upper));
  }
  if (piece.lower != 1) {
    term = terms_.make(piece.rounds_to_zero ? Kind::div : Kind::floordiv, type, term,
                       terms_.constant(type, piece.lower));
  }
  return piece.scale == 1 ? term
                          : terms_.make(Kind::mul, type, term, terms_.constant(type, piece.scale));
}

/// What is added first, then what is subtracted, then the base; none when a constant does not fit
/// the type.
Term Simplifier::term_of(DataType type, const Sum& sum) {
  const ConstIntBound all = all_of(type);
  const auto fits = [&](std::int64_t value) {
    return value != std::numeric_limits<std::int64_t>::min() && all.contains(value) &&
           all.contains(-value);
  };
  Term total = Term::none;
  const auto accumulate = [&](Kind kind, Term term) {
    total = total == Term::none ? term : terms_.make(kind, type, total, term);
  };
  bool has_negative = false;
  for (std::uint32_t i = 0; i < sum.count; ++i) {
    const Piece piece = pieces_[sum.first + i];
    const bool upper_fits = piece.upper == Piece::no_upper || fits(piece.upper);
    if (!fits(piece.scale) || !fits(piece.lower) || !upper_fits) return Term::none;
    if (piece.scale > 0) accumulate(Kind::add, term_of(type, piece));
    has_negative |= piece.scale < 0;
  }
  if (!all.contains(sum.base)) return Term::none;
  const Term base = terms_.constant(type, sum.base);
  // c - x; without a base, the first that is subtracted stays as it is: x * -1.
  const bool base_is_first = total == Term::none && sum.base > 0;
  if (base_is_first || sum.count == 0) total = base;
  for (std::uint32_t i = 0; i < sum.count && has_negative; ++i) {
    Piece piece = pieces_[sum.first + i];
    if (piece.scale >= 0) continue;
    if (total != Term::none) piece.scale = -piece.scale;
    accumulate(Kind::sub, term_of(type, piece));
  }
  if (sum.base != 0 && !base_is_first && sum.count != 0) accumulate(Kind::add, base);
  return total;
}

}  // namespace loopsmith::arith
