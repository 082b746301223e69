// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/definite_assignment.h"

#include <algorithm>
#include <limits>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

/// Reads have this many earlier writes looked at, so that the cost stays linear.
constexpr int max_writes = 8;

/// The conditions between `scope` and an access inside it.
std::vector<Expr> guards_of(AccessTable& table, const Access& access, const Scope* scope) {
  std::vector<Expr> guards;
  for (const Scope* s = access.scope; s != scope; s = s->parent) {
    if (!s->condition.defined()) continue;
    const Expr simple = table.analyzer_at(s->parent).simplify(s->condition);
    const std::vector<Expr> more = arith::conjuncts(simple);
    guards.insert(guards.end(), more.begin(), more.end());
  }
  return guards;
}

/// Digits of a loop variable that counts from 0: variable // from % (to // from). All of them where
/// `from` is 1 and `to` is `no_end`.
struct Digits {
  Ptr<Var> variable;
  std::int64_t from = 1, to = no_end;

  static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
  bool overlap(const Digits& other) const {
    return variable.same_as(other.variable) && from < other.to && other.from < to;
  }
};

/// The values of one index: at least each of `min`, at most each of `max`.
struct Bounds {
  std::vector<Expr> min, max;
};

class Coverage {
 public:
  Coverage(AccessTable& table, const std::vector<Expr>& extents, const Access& write,
           const Access& read)
      : table_(table),
        extents_(extents),
        write_(write),
        read_(read),
        common_(common_scope(write.scope, read.scope)),
        write_guards_(guards_of(table, write, common_)),
        read_guards_(guards_of(table, read, common_)) {}

  bool holds() { return runs_over_all() || has_the_form(); }

 private:
  /// True when each index of the write runs over all values that the one of the read may have.
  bool runs_over_all() {
    std::vector<bool> used(write_guards_.size());
    for (std::size_t d = 0; d < write_.indices->size(); ++d) {
      const Expr& written = (*write_.indices)[d];
      const Expr& read = (*read_.indices)[d];
      if (structural_equal(written, read) && is_fixed(written)) continue;
      std::optional<Bounds> all_written = exact(written);
      if (!all_written) return false;
      narrow(written, write_, write_guards_, *all_written, &used);
      Bounds may_read = covering(read);
      // Memory may have changed since a guard was asked.
      if (read.dtype().is_scalar() && !reads_memory(read)) {
        narrow(read, read_, read_guards_, may_read, nullptr);
      }
      // Whatever the conditions and values in memory are, no program reads outside of its buffer.
      const Expr one = int_imm(extents_[d].dtype(), 1);
      may_read.min.push_back(zero_of(written.dtype()));
      may_read.max.push_back(extents_[d] - one);
      if (!lies_in(may_read, *all_written)) return false;
    }
    return happens(used);
  }
  bool has_the_form();

  /// True when the value is the same all over the common scope's inside.
  bool is_fixed(const Expr& e) { return moving_variables(e).empty() && !reads_memory(e); }
  /// Those that are defined inside the common scope.
  std::vector<Ptr<Var>> moving_variables(const Expr& e) {
    std::vector<Ptr<Var>> variables = free_variables(e);
    std::erase_if(variables, [&](const Ptr<Var>& variable) {
      const Scope* scope = table_.definition(variable);
      return !scope || !is_inside(common_, scope);
    });
    return variables;
  }
  /// What is known of the values of an index; nothing of one that is read from a buffer.
  Bounds covering(const Expr& index) {
    if (reads_memory(index)) return {};
    const auto values = relaxed(index);
    return values ? Bounds{{values->min}, {values->max}} : Bounds{};
  }
  /// Over all that is inside the common scope, itself left out.
  std::optional<arith::Interval> relaxed(const Expr& e) {
    if (e.dtype().is_scalar() && is_fixed(e)) return arith::Interval{e, e};
    return table_.values(e, common_);
  }

  /// The loop that a variable runs over inside of the common scope, around the write; null when it
  /// is none.
  const For* loop_around_write(const Ptr<Var>& variable) {
    const Scope* scope = table_.definition(variable);
    if (!scope || !is_around(scope, write_.scope)) return nullptr;
    const auto* loop = scope->stmt.as<For>();
    return loop && is_const_int(loop->step, 1) ? loop : nullptr;
  }
  Expr with_digits(const Expr& index, std::vector<std::pair<Ptr<Var>, Digits>>& digits);
  std::optional<Bounds> exact(const Expr& index);
  std::optional<std::vector<std::int64_t>> steps_of(const Access& access, const Ptr<Var>& variable);
  void narrow(const Expr& index, const Access& access, const std::vector<Expr>& guards,
              Bounds& bounds, std::vector<bool>* used);
  bool lies_in(const Bounds& inner, const Bounds& outer);
  bool is_read_under(const Expr& guard);
  bool happens(const std::vector<bool>& used);

  AccessTable& table_;
  const std::vector<Expr>& extents_;
  const Access& write_;
  const Access& read_;
  const Scope* common_;
  std::vector<Expr> write_guards_, read_guards_;
  std::vector<Digits> spent_;  // What one index runs over already.
};

/// The index with variables in place of digits of loops: v // 4 and v % 4 of a loop of 32
/// iterations run over 8 and 4 values, each with all of the other.
Expr Coverage::with_digits(const Expr& index, std::vector<std::pair<Ptr<Var>, Digits>>& digits) {
  Rewriter rewrite;
  const auto named = [&](const Expr& whole, const Expr& value, const Expr& by,
                         bool is_quotient) -> Expr {
    const auto* variable = value.as<Var>();
    const std::int64_t* factor = as_int(by);
    const For* loop = variable ? loop_around_write(Ptr<Var>(variable)) : nullptr;
    const std::int64_t* extent = loop ? as_int(loop->extent) : nullptr;
    const bool is_moving = loop && is_inside(common_, table_.definition(Ptr<Var>(variable)));
    if (!is_moving || !extent || !factor || *factor <= 0 || *extent % *factor != 0 ||
        !is_const_int(loop->min, 0)) {
      return whole;
    }
    digits.emplace_back(make(Var(*variable)), is_quotient
                                                  ? Digits{Ptr<Var>(variable), *factor, *extent}
                                                  : Digits{Ptr<Var>(variable), 1, *factor});
    return digits.back().first;
  };
  rewrite.on<FloorDiv>(
      [&](const FloorDiv& node) -> Expr { return named(Expr(&node), node.a, node.b, true); });
  rewrite.on<FloorMod>(
      [&](const FloorMod& node) -> Expr { return named(Expr(&node), node.a, node.b, false); });
  return rewrite(index);
}

/// The values of an index that runs over all of them: base + v0 + n0*v1 + n0*n1*v2 ..., with loops
/// v of extents n, or digits of them, each in no other index; none when that is not so.
std::optional<Bounds> Coverage::exact(const Expr& index) {
  if (reads_memory(index) || !index.dtype().is_scalar()) return std::nullopt;
  struct RadixTerm {
    std::optional<std::int64_t> extent;
    std::int64_t scale;
  };
  std::vector<std::pair<Ptr<Var>, Digits>> parts;
  const Expr sum = with_digits(index, parts);
  for (const Ptr<Var>& variable : free_variables(sum)) {
    const bool is_part =
        std::ranges::any_of(parts, [&](const auto& part) { return part.first.same_as(variable); });
    const Scope* scope = table_.definition(variable);
    if (is_part || !scope || !is_inside(common_, scope)) continue;
    const For* loop = loop_around_write(variable);
    if (!loop || !is_fixed(loop->min) || !is_fixed(loop->extent)) return std::nullopt;
    parts.emplace_back(variable, Digits{variable});
  }
  std::vector<RadixTerm> terms;
  Analyzer& analyzer = table_.analyzer_at(write_.scope);
  for (const auto& [variable, digits] : parts) {
    for (const Digits& other : spent_) {
      if (other.overlap(digits)) return std::nullopt;
    }
    spent_.push_back(digits);
    // Linear: two steps apart differ by twice one step, wherever they start.
    const Expr one = int_imm(variable->dtype, 1);
    const Expr step = analyzer.simplify(substitute(sum, {{variable, variable + one}}) - sum);
    const std::int64_t* scale = as_int(step);
    if (!scale || *scale <= 0) return std::nullopt;
    RadixTerm& term = terms.emplace_back(RadixTerm{{}, *scale});
    if (digits.to != Digits::no_end) {
      term.extent = digits.to / digits.from;
    } else if (const std::int64_t* extent = as_int(loop_around_write(variable)->extent)) {
      term.extent = *extent;
    }
  }
  std::ranges::sort(terms, {}, &RadixTerm::scale);
  std::int64_t reach = 1;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].scale > reach) return std::nullopt;
    if (!terms[i].extent && i + 1 < terms.size()) return std::nullopt;
    if (terms[i].extent) reach += (*terms[i].extent - 1) * terms[i].scale;
  }
  const auto values = relaxed(index);
  if (!values) return std::nullopt;
  return Bounds{{values->min}, {values->max}};
}

/// By how much each index grows with a variable; none where that is no constant.
std::optional<std::vector<std::int64_t>> Coverage::steps_of(const Access& access,
                                                            const Ptr<Var>& variable) {
  std::vector<std::int64_t> steps;
  const Expr next = variable + int_imm(variable->dtype, 1);
  for (const Expr& index : *access.indices) {
    const Expr step =
        table_.analyzer_at(access.scope).simplify(substitute(index, {{variable, next}}) - index);
    if (!as_int(step)) return std::nullopt;
    steps.push_back(*as_int(step));
  }
  return steps;
}

/// True when the read has the indices of the write, with other loops that are no longer: what it
/// reads, an iteration of these has written, as of elements that lie apart.
bool Coverage::has_the_form() {
  spent_.clear();
  std::vector<Ptr<Var>> reading;
  for (const Expr& index : *read_.indices) {
    for (const Ptr<Var>& variable : moving_variables(index)) reading.push_back(variable);
  }
  Substitution same;
  for (const Expr& index : *write_.indices) {
    for (const Ptr<Var>& variable : moving_variables(index)) {
      if (same.contains(variable)) continue;
      const For* loop = loop_around_write(variable);
      // Ends that are read from a buffer may be others when it is read.
      if (!loop || reads_memory(loop->min) || reads_memory(loop->extent)) return false;
      const auto steps = steps_of(write_, variable);
      if (!steps) return false;
      const auto matches = [&](const Ptr<Var>& other) {
        const auto* inner = table_.definition(other)->stmt.as<For>();
        return inner && is_const_int(inner->step, 1) && structural_equal(inner->min, loop->min) &&
               structural_equal(inner->extent, loop->extent) && steps_of(read_, other) == steps;
      };
      const auto found = std::ranges::find_if(reading, matches);
      if (found == reading.end()) return false;
      same[variable] = *found;
      spent_.push_back(Digits{variable});
      reading.erase(found);
    }
  }
  Analyzer& analyzer = table_.analyzer_at(read_.scope);
  for (std::size_t d = 0; d < write_.indices->size(); ++d) {
    const Expr written = substitute((*write_.indices)[d], same);
    if (reads_memory(written) || !analyzer.can_prove(written == (*read_.indices)[d])) return false;
  }
  // Where it is read, it has been written under the same conditions.
  std::vector<bool> used;
  for (const Expr& guard : write_guards_) {
    const Expr own = analyzer.simplify(substitute(guard, same));
    used.push_back(!reads_memory(guard) &&
                   std::ranges::any_of(read_guards_, [&](const Expr& other) {
                     return structural_equal(own, other);
                   }));
  }
  return happens(used);
}

/// Adds what the guards of an access say of its `index`: index < b and the like, with b fixed.
void Coverage::narrow(const Expr& index, const Access& access, const std::vector<Expr>& guards,
                      Bounds& bounds, std::vector<bool>* used) {
  Analyzer& analyzer = table_.analyzer_at(access.scope);
  const std::vector<Ptr<Var>> moving = moving_variables(index);
  for (std::size_t g = 0; g < guards.size(); ++g) {
    // What the guard does not have stays in the difference.
    const auto is_in_guard = [&](const Ptr<Var>& each) { return uses_variable(guards[g], each); };
    if (!std::ranges::all_of(moving, is_in_guard)) continue;
    Expr low, high;  // low < high, or low <= high.
    bool strict = false;
    if (const auto* n = guards[g].as<LT>()) low = n->a, high = n->b, strict = true;
    if (const auto* n = guards[g].as<LE>()) low = n->a, high = n->b;
    if (const auto* n = guards[g].as<GT>()) low = n->b, high = n->a, strict = true;
    if (const auto* n = guards[g].as<GE>()) low = n->b, high = n->a;
    if (!low.defined() || !low.dtype().is_index()) continue;
    const Expr slack = int_imm(low.dtype(), strict ? 1 : 0);
    const Expr upper = analyzer.simplify(high - slack - low + index);  // index <= upper
    const Expr lower = analyzer.simplify(low + slack - high + index);  // index >= lower
    if (is_fixed(upper)) {
      bounds.max.push_back(upper);
    } else if (is_fixed(lower)) {
      bounds.min.push_back(lower);
    } else {
      continue;
    }
    if (used) (*used)[g] = true;
  }
}

bool Coverage::lies_in(const Bounds& inner, const Bounds& outer) {
  Analyzer& analyzer = table_.analyzer_at(common_);
  const auto each_has = [&](const std::vector<Expr>& limits, const std::vector<Expr>& values,
                            auto&& within) {
    return std::ranges::all_of(limits, [&](const Expr& limit) {
      return std::ranges::any_of(
          values, [&](const Expr& value) { return analyzer.can_prove(within(value, limit)); });
    });
  };
  return each_has(outer.min, inner.min, [](const Expr& v, const Expr& l) { return l <= v; }) &&
         each_has(outer.max, inner.max, [](const Expr& v, const Expr& l) { return v <= l; });
}

bool Coverage::is_read_under(const Expr& guard) {
  if (!is_fixed(guard)) return false;
  return std::ranges::any_of(read_guards_,
                             [&](const Expr& other) { return structural_equal(guard, other); });
}

/// True when the write is not left out wherever its indices say that it is: loops over which no
/// index runs have a first iteration, in which the conditions that are not about indices hold.
bool Coverage::happens(const std::vector<bool>& used) {
  Substitution first;
  for (const Scope* s = write_.scope; s != common_; s = s->parent) {
    if (s->stmt.is<While>() || s->is_left) return false;
    const auto* loop = s->stmt.as<For>();
    const auto is_it = [&](const Digits& other) { return other.variable.same_as(loop->loop_var); };
    if (!loop || std::ranges::any_of(spent_, is_it)) continue;
    if (!table_.analyzer_at(s->parent).can_prove(loop->extent >= 1)) return false;
    first[loop->loop_var] = loop->min;
  }
  for (std::size_t g = 0; g < write_guards_.size(); ++g) {
    if (used[g] || is_read_under(write_guards_[g])) continue;
    const Expr condition = substitute(write_guards_[g], first);
    if (!table_.analyzer_at(write_.scope).can_prove(condition)) return false;
  }
  return true;
}

}  // namespace

bool fills_before(AccessTable& table, const Allocation& allocation, const Access& write,
                  const Access& read) {
  return Coverage(table, allocation.buffer->shape, write, read).holds();
}

bool writes_before_reads(AccessTable& table, const Allocation& allocation, const Scope* scope) {
  std::vector<const Access*> writes;
  for (const Access& access : allocation.accesses) {
    if (access.is_write) {
      if (writes.size() < max_writes) writes.push_back(&access);
      continue;
    }
    const bool covered = std::ranges::any_of(writes, [&](const Access* write) {
      return is_around(scope, common_scope(write->scope, access.scope)) &&
             fills_before(table, allocation, *write, access);
    });
    if (!covered) return false;
  }
  return true;
}

}  // namespace loopsmith
