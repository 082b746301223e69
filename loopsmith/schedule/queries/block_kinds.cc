// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/block_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/reduction_start.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
bool reads_what_it_writes(const Block& block) {
  return std::ranges::any_of(block.reads, [&](const auto& read) {
    return std::ranges::any_of(block.writes, [&](const auto& written) {
      return written->buffer->data.same_as(read->buffer->data);
    });
  });
}

namespace {

bool writes(const Block& block, const Buffer* buffer) {
  return std::ranges::any_of(block.writes,
                             [&](const auto& region) { return region->buffer.get() == buffer; });
}

/// True when the block has an init, which reads nothing that the block writes, and writes all of it
/// that the body reads.
bool starts_anew(const Block& block) {
  bool is_new = block.init.defined();
  if (!is_new) return false;
  pre_order_visit(block.init, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    is_new = is_new && !(load && writes(block, load->buffer.get()));
    return is_new && !ref.is<Buffer>();
  });
  return is_new && arith::init_starts_all(block);
}

bool is_only_writer(const Schedule& schedule, BlockRV block, const ScopeAccesses& uses) {
  const NodeId place = schedule.node(block);
  return std::ranges::none_of(uses.all, [&](const BufferAccess& use) {
    return use.is_write && use.place.node != place && writes(schedule.get(block), use.buffer);
  });
}

/// True when what a block does with its axes stands in blocks inside it or behind views and calls:
/// then its declarations are all there is.
bool is_declared_only(const Schedule& schedule, BlockRV block) {
  if (!schedule.get(block).match_buffers.empty()) return true;
  if (!child_blocks(schedule, schedule.node(block)).empty()) return true;
  bool calls = false;
  pre_order_visit(schedule.get(block).body, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    calls = calls || (call && !call->op.is_pure());
    return !calls && !ref.is<Buffer>();
  });
  return calls;
}

// ---- Instances ----

/// What a binding runs through: all of [min, max], each end null where it is that of the domain.
struct Run {
  Expr binding;
  std::optional<IndexForm> form;
  bool covers_domain = false;
  Expr min;
  Expr max;
};

class InstanceFinder {
 public:
  InstanceFinder(const Schedule& schedule, BlockRV block)
      : schedule_(schedule),
        realize_(schedule.realize(block)),
        node_(schedule.node(block)),
        forms_(ranges_around(schedule, node_)) {}

  Instances find() && {
    if (collect() && (bind_sums() || bind_digits())) {
      for (const Expr& condition : conditions_) restate(condition);
      for (std::size_t k = 0; k < runs_.size(); ++k) limit(k);
    }
    return std::move(found_);
  }

 private:
  bool fail(std::string why) {
    if (found_.unknown.empty()) found_.unknown = std::move(why);
    return false;
  }

  /// The loops and conditions around the block.
  bool collect() {
    conditions_ = arith::conjuncts(realize_.predicate);
    NodeId below = node_;
    for (NodeId node = schedule_.at(node_).parent; node != no_node;
         below = node, node = schedule_.at(node).parent) {
      const Object& object = *schedule_.at(node).object;
      if (object.kind == kind_of<BlockRealize> || object.kind == kind_of<PrimFunc>) break;
      if (const auto* loop = schedule_.as<For>(node)) {
        loops_.push_back(loop);
      } else if (const auto* branch = schedule_.as<IfThenElse>(node)) {
        const bool is_then = schedule_.at(below).slot == 0;
        for (const Expr& part :
             arith::conjuncts(is_then ? branch->condition : !branch->condition)) {
          conditions_.push_back(part);
        }
      } else if (object.kind != kind_of<SeqStmt> && object.kind != kind_of<AssertStmt>) {
        return fail("it stands inside a statement that is no loop and no condition");
      }
    }
    for (std::size_t k = 0; k < realize_.iter_values.size(); ++k) {
      const Expr& binding = realize_.iter_values[k];
      runs_.push_back({.binding = binding, .form = forms_.read(binding)});
    }
    return others_run();
  }

  /// A loop that no axis tells must have iterations: without them no instance runs.
  bool others_run() {
    for (const For* loop : loops_) {
      const bool is_bound = std::ranges::any_of(realize_.iter_values, [&](const Expr& value) {
        return uses_variable(value, loop->loop_var);
      });
      if (!is_bound && !arith::runs_with(loop->extent, {})) {
        return fail(fmt::format("loop {} may have no iterations", loop->loop_var->name));
      }
    }
    return true;
  }

  const For* loop_of(const Object* var) const {
    for (const For* loop : loops_) {
      if (loop->loop_var.get() == var) return loop;
    }
    return nullptr;
  }

  /// Each binding a sum of whole loops, or of the two digits of one, that takes each value of an
  /// interval, none of them in two.
  bool bind_sums() {
    std::vector<const IndexTerm*> used;
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      Run& run = runs_[k];
      if (!run.form) return false;
      for (const IndexTerm& term : run.form->terms) {
        const For* loop = loop_of(term.inner().get());
        if (!loop || !(term.kind == IndexTerm::Kind::variable || divides(term.by, *loop))) {
          return false;
        }
        if (std::ranges::any_of(used, [&](const auto* other) { return overlap(term, *other); })) {
          return false;
        }
        used.push_back(&term);
      }
      if (!cover(run, *realize_.block->iter_vars[k]->dom)) return false;
    }
    return true;
  }

  /// True when x // by and x % by take all pairs of their values while x runs through the loop.
  static bool divides(std::int64_t by, const For& loop) {
    const std::int64_t* extent = as_int(loop.extent);
    return extent && *extent > 0 && by > 0 && *extent % by == 0 && is_const_int(loop.min, 0) &&
           is_const_int(loop.step, 1);
  }

  /// False for the two digits of one loop, and for different loops.
  static bool overlap(const IndexTerm& a, const IndexTerm& b) {
    if (!a.inner().same_as(b.inner())) return false;
    return a.kind == IndexTerm::Kind::variable || b.kind == IndexTerm::Kind::variable ||
           a.kind == b.kind || a.by != b.by;
  }

  bool cover(Run& run, const Range& domain) {
    const auto& terms = run.form->terms;
    if (terms.size() == 1 && terms[0].kind == IndexTerm::Kind::variable &&
        terms[0].coefficient == 1 && run.form->constant == 0) {
      // A loop as it is, whose bounds may be symbolic.
      const For& loop = *loop_of(terms[0].atom.get());
      if (!is_const_int(loop.step, 1)) return false;
      run.covers_domain =
          structural_equal(loop.min, domain.min) && structural_equal(loop.extent, domain.extent);
      run.min = loop.min;
      run.max = loop.min + loop.extent - 1;
      return true;
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> digits;  // Weight, number of values.
    const IndexTerm* open = nullptr;                            // A loop whose bounds are symbolic.
    std::int64_t low = run.form->constant, high = low;
    for (const IndexTerm& term : terms) {
      const For& loop = *loop_of(term.inner().get());
      if (!is_const_int(loop.step, 1) || term.coefficient < 0) return false;
      if (!term.is_bounded) {
        if (term.kind != IndexTerm::Kind::variable || std::exchange(open, &term)) return false;
        continue;
      }
      digits.emplace_back(term.coefficient, term.max - term.min + 1);
      low += term.coefficient * term.min;
      high += term.coefficient * term.max;
    }
    std::ranges::sort(digits);
    __int128 reach = 1;
    for (const auto& [weight, count] : digits) {
      if (weight > reach) return false;
      reach += static_cast<__int128>(weight) * (count - 1);
    }
    if (!open) return set_ends(run, domain, low, high);

    if (open->coefficient > reach) return false;
    const For& loop = *loop_of(open->atom.get());
    const DataType type = domain.min.dtype();
    const Expr weight = int_imm(type, open->coefficient);
    const Expr last = loop.min + loop.extent - int_imm(type, 1);
    run.min = loop.min * weight + int_imm(type, low);
    run.max = last * weight + int_imm(type, high);
    Analyzer analyzer;
    run.covers_domain = analyzer.can_prove(run.min <= domain.min) &&
                        analyzer.can_prove(run.max + int_imm(type, 1) >= domain.min + domain.extent,
                                           ProofStrength::symbolic_bound);
    return true;
  }

  static bool set_ends(Run& run, const Range& domain, std::int64_t low, std::int64_t high) {
    const auto* min = domain.min.as<IntImm>();
    const auto* extent = domain.extent.as<IntImm>();
    run.covers_domain =
        min && extent && low <= min->value && high >= min->value + extent->value - 1;
    const DataType type = domain.min.dtype();
    run.min = int_imm(type, low);
    run.max = int_imm(type, high);
    return true;
  }

  /// Digits of fused loops: the analysis of iteration maps knows them.
  bool bind_digits() {
    std::vector<Iterator> iterators;
    for (const For* loop : loops_) {
      if (!is_const_int(loop->step, 1)) return fail("a loop around it has a step");
      iterators.push_back({loop->loop_var, loop->min, loop->extent});
    }
    Analyzer analyzer;
    const IterMapResult map = detect_iter_map(realize_.iter_values, iterators,
                                              {.level = IterMapLevel::bijective}, analyzer);
    if (!map.ok()) return fail("its bindings are no independent digits of loops");
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      const IterSumExpr& sum = map.indices[k];
      const Range& domain = *realize_.block->iter_vars[k]->dom;
      if (sum.args.empty() && sum.base.is_constant()) {
        set_ends(runs_[k], domain, sum.base.constant, sum.base.constant);
        continue;
      }
      if (sum.args.size() != 1 || !sum.args[0].scale.is(1) || !sum.base.is_constant() ||
          !sum.args[0].extent.is_constant()) {
        return fail("its bindings have gaps");
      }
      set_ends(runs_[k], domain, sum.base.constant,
               sum.base.constant + sum.args[0].extent.constant - 1);
    }
    return true;
  }

  /// Says a condition on loops in terms of axes.
  void restate(const Expr& condition) {
    if (is_const_int(condition, 1)) return;
    if (restate_bound(condition)) return;
    Substitution values;
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      if (runs_[k].binding.is<Var>()) {
        values[runs_[k].binding] = realize_.block->iter_vars[k]->var;
      }
    }
    const Expr stated = substitute(condition, values);
    bool is_stated = true;
    pre_order_visit(stated, [&](const Ref& ref) {
      if (ref.is<BufferLoad>() || ref.is<Call>() || loop_of(ref.get())) is_stated = false;
      return is_stated;
    });
    if (is_stated)
      found_.conditions.push_back(stated);
    else
      fail("it runs under a condition that is not about its axes alone");
  }

  /// binding < limit, and the like, is axis < limit.
  bool restate_bound(const Expr& condition) {
    const auto take = [&](const Expr& a, const Expr& b, auto compare) {
      const auto form = forms_.read(a);
      if (!form || form->terms.empty()) return false;
      for (std::size_t k = 0; k < runs_.size(); ++k) {
        if (!runs_[k].form) continue;
        const auto offset = difference(*form, *runs_[k].form);
        if (!offset || uses_loops(b)) continue;
        const Ptr<IterVar>& axis = realize_.block->iter_vars[k];
        const Expr value = axis->var + int_imm(axis->var->dtype, *offset);
        if (!is_of_domain(compare(value, b), *axis)) {
          found_.conditions.push_back(compare(value, b));
        }
        return true;
      }
      return false;
    };
    if (const auto* node = condition.as<LT>()) {
      return take(node->a, node->b, [](const Expr& x, const Expr& y) { return x < y; }) ||
             take(node->b, node->a, [](const Expr& x, const Expr& y) { return x > y; });
    }
    if (const auto* node = condition.as<LE>()) {
      return take(node->a, node->b, [](const Expr& x, const Expr& y) { return x <= y; }) ||
             take(node->b, node->a, [](const Expr& x, const Expr& y) { return x >= y; });
    }
    if (const auto* node = condition.as<GE>()) {
      return take(node->a, node->b, [](const Expr& x, const Expr& y) { return x >= y; });
    }
    if (const auto* node = condition.as<GT>()) {
      return take(node->a, node->b, [](const Expr& x, const Expr& y) { return x > y; });
    }
    return false;
  }

  bool uses_loops(const Expr& expr) const {
    if (expr.is<IntImm>()) return false;
    const auto variables = free_variables(expr);
    return std::ranges::any_of(variables, [&](const auto& v) { return loop_of(v.get()); });
  }

  /// The constant by which `a` is larger than `b`; nullopt when more differs.
  static std::optional<std::int64_t> difference(const IndexForm& a, const IndexForm& b) {
    if (a.terms.size() != b.terms.size()) return {};
    const auto same = [](const IndexTerm& x, const IndexTerm& y) {
      return x.coefficient == y.coefficient && x.kind == y.kind &&
             (x.atom.same_as(y.atom) || structural_equal(x.atom, y.atom));
    };
    const bool is_same = std::ranges::all_of(a.terms, [&](const IndexTerm& term) {
      return std::ranges::any_of(b.terms, [&](const auto& other) { return same(term, other); });
    });
    return is_same ? std::optional(a.constant - b.constant) : std::nullopt;
  }

  /// True when a condition holds in the whole domain of its axis.
  static bool is_of_domain(const Expr& condition, const IterVar& axis) {
    if (const auto* node = condition.as<LT>();
        node && node->a.same_as(axis.var) && is_const_int(axis.dom->min, 0)) {
      if (structural_equal(node->b, axis.dom->extent)) return true;
    }
    Analyzer analyzer;
    analyzer.bind(axis.var, axis.dom);
    return analyzer.can_prove(condition);
  }

  /// Where loops do not reach the ends of a domain, that is a condition.
  void limit(std::size_t k) {
    const Run& run = runs_[k];
    if (run.covers_domain) return;
    const IterVar& axis = *realize_.block->iter_vars[k];
    for (const Expr& condition : {axis.var >= run.min, axis.var <= run.max}) {
      if (uses_loops(condition)) return void(fail("its loops depend on each other"));
      if (!is_of_domain(condition, axis)) found_.conditions.push_back(condition);
    }
  }

  const Schedule& schedule_;
  const BlockRealize& realize_;
  const NodeId node_;
  IndexForms forms_;
  std::vector<const For*> loops_;
  std::vector<Expr> conditions_;
  std::vector<Run> runs_;
  Instances found_;
};

}  // namespace

BlockKinds kinds_of(const Schedule& schedule, BlockRV handle, const ScopeAccesses& uses) {
  const Block& block = schedule.get(handle);
  const auto all_axes = [&](auto... types) {
    return std::ranges::all_of(
        block.iter_vars, [&](const auto& axis) { return ((axis->iter_type == types) || ...); });
  };
  const bool is_only = is_only_writer(schedule, handle, uses);
  const bool is_true = axes_are_injective(schedule, handle) ||
                       (is_declared_only(schedule, handle) && declares_own_elements(block) &&
                        !decides_on_itself(schedule, handle, {}));
  BlockKinds kinds;
  kinds.breaks_complete = !all_axes(IterType::data_par) ? 1
                          : !is_only                    ? 2
                          : reads_what_it_writes(block) ? 3
                          : !is_true                    ? 4
                                                        : 0;
  kinds.breaks_reduction = !starts_anew(block)                                    ? 1
                           : !all_axes(IterType::data_par, IterType::comm_reduce) ? 2
                           : !is_only                                             ? 3
                           : is_true                                              ? 0
                           : writes_are_injective(schedule, handle)               ? 5
                                                                                  : 4;
  return kinds;
}

Instances instances_of(const Schedule& schedule, BlockRV block) {
  return InstanceFinder(schedule, block).find();
}

}  // namespace loopsmith
