// SPDX-License-Identifier: Apache-2.0
// Simplification, by the tables of rules and by canonical sums. Private to this floor.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/arith/knowledge.h"
#include "loopsmith/arith/matcher.h"

namespace loopsmith::arith {

/// scale * ((index % upper) / lower): some digits of `index`, where `lower` divides `upper`.
struct Piece {
  Term index;
  bool rounds_to_zero;  ///< Whether % and / are the truncating or the flooring ones.
  std::int64_t lower;
  std::int64_t upper;  ///< `no_upper`: the whole index.
  std::int64_t scale;

  static constexpr std::int64_t no_upper = ConstIntBound::pos_inf;
  bool is_whole() const { return lower == 1 && upper == no_upper; }
  /// True when both are the same but for their scale.
  bool is_like(const Piece& other) const {
    return index == other.index && rounds_to_zero == other.rounds_to_zero && lower == other.lower &&
           upper == other.upper;
  }
};

/// The sum of `count` pieces from `first` on, sorted by index, and `base`.
struct Sum {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::int64_t base = 0;

  bool is_constant() const { return count == 0; }
};

/// a + b * scale; nothing where that is beyond all bounds.
std::optional<std::int64_t> scaled_sum(std::int64_t a, std::int64_t b, std::int64_t scale);

/// Simplifies terms: `rewrite` by the first rule that applies, operands first, until none does;
/// `canonical` by turning index arithmetic into sums of pieces.
class Simplifier {
 public:
  explicit Simplifier(Knowledge& knowledge) : knowledge_(knowledge), terms_(knowledge.terms) {}

  /// Canonical, then `steps` times by rules and canonical in turn, until nothing changes.
  Term simplify(Term term, int steps);
  /// By rules alone, and as close to what was written as they allow: a `<=` stays one, a division
  /// rounds as it did, and the operands of min and max keep their order.
  Term rewrite_simplify(Term term);
  Term canonical_simplify(Term term);

  /// The same with x - 1 for x + -1, for people to read.
  Term presentable(Term term);

  /// Whether something in a term is made of data and may leave its type.
  bool data_may_overflow(Term term);

  /// Drops what was derived: terms have got new numbers.
  void forget();

  /// Records that a condition holds; restoring a mark of the facts takes it back.
  void assume(Term condition);

 private:
  /// Whether terms are brought into one form, for analysis, or keep that which was written.
  enum class Form { normal, as_written };

  /// Renews the budget of steps for a call from outside.
  void start(Form form = Form::normal);

  // By rules: rewrite_simplify.cc.
  Term rewrite(Term term);
  Term combine(Kind kind, DataType type, Term a, Term b = Term::none, Term c = Term::none);
  Term apply_rules(const TermNode& node);
  Term build(const Pattern::Atom* atom, const Binding& binding, DataType type);

  // What both have in common; `recurse` simplifies an operand: operands.cc, fold_calls.cc.
  using Recurse = Term (Simplifier::*)(Term);
  Term simplify_operands(Term term, Recurse recurse);
  Term simplify_where(Term condition, Term term, Recurse recurse);
  Term simplify_choice(const TermNode& node, Recurse recurse);
  Term simplify_logic(const TermNode& node, Recurse recurse);
  Term simplify_call(Term term, Recurse recurse);
  Term fold_call(Op call, DataType type, std::span<const Term> arguments);
  Term simplify_cast(const TermNode& node, Recurse recurse);
  Term simplify_other(Term term, Recurse recurse);
  Term simplify_let(const Let& let, Recurse recurse);
  Term simplify_reduce(const Reduce& reduce, Recurse recurse);

  // What the facts decide: decide.cc.
  Term decide(Term term);
  Term decide_comparison(const TermNode& node);
  /// The range of a difference of two terms and a constant; all numbers for other sums.
  ConstIntBound range_of_pair(const Sum& sum);
  ConstIntBound range_of_difference(Term a, Term b);
  Term negated(Term condition);

  // Whether a simpler form may overflow where what was written did not: data_overflow.cc.
  bool may_overflow(Term term);
  bool may_be_zero(Term data);
  bool overflows_anew(const TermNode& before, Term after);
  bool overflows_anew(DataType type, const Sum& dividend, const Sum& after);

  // What facts a condition teaches: assume.cc.
  void assume_literal(Term condition);
  void assume_comparison(TermNode node);
  void assume_at_most(Term a, Term b, std::int64_t at_most);
  void assume_congruent(Term a, Term b);
  void assume_different(Term a, Term b);
  void assume_bound(Term term, const ConstIntBound& bound);
  void assume_truth(Term condition, bool truth);

  // Canonical sums: canonical_simplify.cc, sums.cc.
  Term canonical(Term term);
  Term canonical_node(Term term);
  Term canonical_comparison(const TermNode& node);
  Sum without_idle_digits(Sum sum, std::int64_t& limit);
  Sum sum_of(Term term);
  Sum derive_sum(Term term);
  Sum sum_of_whole(Term term);
  Sum sum_of_constant(std::int64_t value);
  std::optional<Sum> sum_of_casts(DataType type, const Piece& piece);
  Sum without_casts_of_sums(DataType type, const Sum& sum);
  std::optional<Sum> product(const TermNode& node);
  std::optional<Sum> division(const TermNode& node);
  std::optional<Sum> without_common_factors(const TermNode& node, const Sum& dividend,
                                            const Sum& divisor);
  std::optional<Sum> without_multiple(const TermNode& node, const Sum& dividend,
                                      const Sum& divisor);
  /// A product of factors, in the order of their numbers, times a constant.
  Sum monomial(DataType type, std::span<const Term> factors, std::int64_t scale);
  std::optional<Sum> divided(const TermNode& node, const Sum& dividend, std::int64_t divisor);
  std::optional<Sum> add_scaled(const Sum& a, const Sum& b, std::int64_t scale);
  std::optional<Sum> with_joined_remainder(const Sum& sum);
  std::optional<Sum> with_joined_quotient(const Sum& sum);
  std::optional<Sum> joined(const Piece& quotient, const Piece& remainder);
  std::optional<Sum> without_remainders(const Sum& sum, std::int64_t divisor);
  std::optional<Sum> scaled(const Sum& sum, std::int64_t factor);
  Sum divided_exactly(const Sum& sum, std::int64_t divisor);
  std::optional<Sum> floor_divided(DataType type, const Sum& sum, std::int64_t divisor);
  std::optional<Sum> floor_reduced(DataType type, const Sum& sum, std::int64_t divisor);
  std::optional<Sum> trunc_divided(DataType type, const Sum& sum, std::int64_t divisor);
  std::optional<Sum> trunc_reduced(DataType type, const Sum& sum, std::int64_t divisor);
  Sum sum_of_piece(const Piece& piece);
  Sum pieces_where(const Sum& sum, std::int64_t divisor, bool divisible);
  std::int64_t split_by_digit(const Sum& sum, std::int64_t divisor, Sum& high, Sum& low);
  void merge_digits(std::uint32_t first);
  ConstIntBound bound_of(const Piece& piece);
  ConstIntBound bound_of(const Sum& sum);
  /// The same, with what is known of the sum as a whole.
  ConstIntBound bound_of(DataType type, const Sum& sum);
  ModularSet modular_of(const Sum& sum);
  Term term_of(DataType type, const Sum& sum);
  Term term_of(DataType type, const Piece& piece);

  Knowledge& knowledge_;
  Terms& terms_;
  Memo<Term> rewritten_;
  Memo<Term> canonical_;
  Memo<Sum> sums_;
  Memo<Term> presentable_;
  std::vector<Piece> pieces_;
  Form form_ = Form::normal;
  int nesting_ = 0;
  int scopes_ = 0;
  std::int64_t steps_left_ = 0;
  std::int64_t visits_left_ = 0;
};

/// The constant that an operation gives for two constants; nullopt where it overflows a type that
/// must not, or divides by 0.
std::optional<std::int64_t> fold_constants(Kind kind, DataType operand_type, std::int64_t a,
                                           std::int64_t b);

}  // namespace loopsmith::arith
