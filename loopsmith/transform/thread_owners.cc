// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_owners.h"

#include <algorithm>
#include <map>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

/// scale * ((source // lower_factor) % extent)
struct Digit {
  std::int64_t extent = 1;
  const Var* variable = nullptr;  ///< The source, where it is one.
  std::int64_t lower_factor = 1;
};

/// An index as its base and its digits by their weights.
struct DigitSum {
  Expr base;
  std::map<std::int64_t, Digit> digits;
};

class OwnerFinder {
 public:
  explicit OwnerFinder(const ThreadPair& pair) : pair_(pair) {}

  bool are_of_one_thread() {
    return std::ranges::all_of(pair_.first, [&](const SharedAccess& first) {
      return std::ranges::all_of(pair_.second, [&](const SharedAccess& second) {
        const bool may_conflict =
            (first.is_write || second.is_write) && first.buffer->data.same_as(second.buffer->data);
        return !may_conflict || tell_thread(first, second);
      });
    });
  }

 private:
  struct Form {
    std::vector<std::optional<DigitSum>> indices;
  };

  bool tell_thread(const SharedAccess& first, const SharedAccess& second) {
    if (!first.buffer.same_as(second.buffer) || !has_elements_apart(*first.buffer).value_or(false))
      return false;
    const Form &a = form_of(first), &b = form_of(second);
    std::vector<Digit> known;
    for (std::size_t d = 0; d < a.indices.size(); ++d) {
      if (a.indices[d] && b.indices[d]) add_equal_digits(*a.indices[d], *b.indices[d], known);
    }
    return std::ranges::all_of(pair_.threads, [&](const Ptr<For>& thread) {
      const std::int64_t* extent = as_int(thread->extent);
      return extent && make_up(known, *thread->loop_var.as<Var>(), *extent);
    });
  }

  /// The digits of threads that are equal where the indices are.
  void add_equal_digits(const DigitSum& a, const DigitSum& b, std::vector<Digit>& known) {
    const bool is_same_base = a.base.same_as(b.base) || structural_equal(a.base, b.base) ||
                              analyzer_.can_prove_equal(a.base, b.base);
    if (!is_same_base) return;
    std::map<std::int64_t, std::int64_t> extents;
    for (const DigitSum* side : {&a, &b}) {
      for (const auto& [scale, digit] : side->digits) {
        std::int64_t& extent = extents[scale];
        extent = std::max(extent, digit.extent);
      }
    }
    std::int64_t reach = 1;
    for (const auto& [scale, extent] : extents) {
      if (scale < reach || __builtin_mul_overflow(scale, extent, &reach)) return;
    }
    for (const auto& [scale, digit] : a.digits) {
      const auto other = b.digits.find(scale);
      if (!digit.variable || other == b.digits.end()) continue;
      if (other->second.variable == digit.variable && other->second.extent == digit.extent &&
          other->second.lower_factor == digit.lower_factor) {
        known.push_back(digit);
      }
    }
  }

  /// True when digits tell a variable that runs through `extent` values.
  static bool make_up(std::span<const Digit> digits, const Var& variable, std::int64_t extent) {
    std::int64_t told = 1;
    while (told < extent) {
      const auto next = std::ranges::find_if(digits, [&](const Digit& digit) {
        return digit.variable == &variable && digit.lower_factor == told && digit.extent > 1;
      });
      if (next == digits.end() || __builtin_mul_overflow(told, next->extent, &told)) return false;
    }
    return true;
  }

  const Form& form_of(const SharedAccess& access) {
    const auto [found, is_new] = forms_.try_emplace(&access);
    if (!is_new) return found->second;
    std::vector<Iterator> iterators;
    const auto add = [&](const Ptr<For>& loop) {
      own_.insert(loop->loop_var.get());
      if (is_const_int(loop->step, 1)) {
        iterators.push_back({Ptr<Var>::from(loop->loop_var), loop->min, loop->extent});
      }
    };
    std::ranges::for_each(pair_.threads, add);
    if (pair_.loop) add(pair_.loop);
    std::ranges::for_each(access.loops, add);
    for (const Expr& index : access.indices) {
      found->second.indices.push_back(digits_of(index, iterators));
    }
    return found->second;
  }

  std::optional<DigitSum> digits_of(const Expr& index, std::span<const Iterator> iterators) {
    const IterSumExpr sum = normalize_to_iter_sum(analyzer_.simplify(index), iterators, analyzer_);
    DigitSum made{sum.base.expr(index.dtype()), {}};
    if (!is_alike(made.base)) return {};
    for (const IterSplitExpr& split : sum.args) {
      if (!split.extent.is_constant() || !split.scale.is_constant() ||
          !split.lower_factor.is_constant() || split.scale.constant <= 0) {
        return {};
      }
      if (split.extent.is(1)) continue;
      const Digit digit{split.extent.constant, split.source->var.as<Var>(),
                        split.lower_factor.constant};
      if (!made.digits.emplace(split.scale.constant, digit).second) return {};
    }
    return made;
  }

  /// True when all threads have the same value.
  bool is_alike(const Expr& value) const {
    bool is = true;
    pre_order_visit(value, [&](const Ref& ref) {
      is = is && !ref.is<BufferLoad>() && !ref.is<Call>() && !own_.contains(ref.get()) &&
           !pair_.own.contains(ref.get());
      return is;
    });
    return is;
  }

  const ThreadPair& pair_;
  Analyzer analyzer_;
  std::unordered_set<const Object*> own_;
  std::map<const SharedAccess*, Form> forms_;
};

}  // namespace

bool are_of_one_thread(const ThreadPair& pair) {
  return OwnerFinder(pair).are_of_one_thread();
}

}  // namespace loopsmith
