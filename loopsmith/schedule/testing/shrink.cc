// SPDX-License-Identifier: Apache-2.0
// A finding is made smaller by trying what makes it smaller, again and again.
#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include "loopsmith/arith/infer_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/testing/trial.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::schedule_testing {
namespace {

/// Something that may take the place of a node.
struct Change {
  const Object* node;
  Ref by;
};

class Changes {
 public:
  explicit Changes(const Ptr<PrimFunc>& func) {
    pre_order_visit(func->body, [&](const Ref& ref) {
      add_of(ref);
      return true;
    });
  }
  std::vector<Change> take() { return std::move(changes_); }

 private:
  void add(const Ref& node, Ref by) { changes_.push_back({node.get(), std::move(by)}); }

  void add_of(const Ref& ref) {
    if (const auto* sequence = ref.as<SeqStmt>()) {
      for (std::size_t i = 0; i < sequence->seq.size(); ++i) {
        std::vector<Stmt> rest = sequence->seq;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        add(ref, seq(std::move(rest)));
      }
    } else if (const auto* loop = ref.as<For>()) {
      add_of_loop(ref, *loop);
    } else if (const auto* branch = ref.as<IfThenElse>()) {
      add(ref, branch->then_case);
      if (branch->else_case) add(ref, branch->else_case);
      if (branch->else_case) {
        IfThenElse copy = *branch;
        copy.else_case = nullptr;
        add(ref, make(std::move(copy)));
      }
    } else if (const auto* realize = ref.as<BlockRealize>()) {
      add_of_block(ref, *realize);
    } else if (const auto* store = ref.as<BufferStore>()) {
      BufferStore copy = *store;
      copy.value = const_of(store->value.dtype(), 1);
      if (!store->value.is<IntImm>() && !store->value.is<FloatImm>())
        add(ref, make(std::move(copy)));
    } else if (const Expr expr = Expr::from(ref); expr.defined()) {
      add_of_value(expr);
    }
  }

  void add_of_loop(const Ref& ref, const For& loop) {
    add(ref, substitute(loop.body, {{loop.loop_var, loop.min}}));
    For copy = loop;
    if (!is_const_int(loop.min, 0)) {
      copy.min = 0;
      add(ref, make(For(copy)));
    }
    if (!is_const_int(loop.step, 1)) {
      copy = loop;
      copy.step = 1;
      add(ref, make(For(copy)));
    }
    copy = loop;
    if (const std::int64_t* extent = as_int(loop.extent)) {
      for (const std::int64_t less : {std::int64_t{1}, *extent - 1}) {
        if (less < 1 || less >= *extent) continue;
        copy.extent = static_cast<int>(less);
        add(ref, make(For(copy)));
      }
    } else {
      for (const int extent : {1, 2, 3}) {
        copy.extent = extent;
        add(ref, make(For(copy)));
      }
    }
  }

  void add_of_block(const Ref& ref, const BlockRealize& realize) {
    const Block& block = *realize.block;
    if (block.name_hint == "root") {
      for (std::size_t i = 0; i < block.alloc_buffers.size(); ++i) {
        BlockRealize copy = realize;
        Block without = block;
        without.alloc_buffers.erase(without.alloc_buffers.begin() + static_cast<std::ptrdiff_t>(i));
        copy.block = make(std::move(without));
        add(ref, make(std::move(copy)));
      }
      return;
    }
    if (!is_const_int(realize.predicate, 1)) {
      BlockRealize copy = realize;
      copy.predicate = true;
      add(ref, make(std::move(copy)));
    }
    Substitution values;
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      values[block.iter_vars[i]->var] = realize.iter_values[i];
    }
    if (!block.init) add(ref, substitute(block.body, values));
    if (block.init) {
      BlockRealize copy = realize;
      Block without = block;
      without.init = nullptr;
      copy.block = make(std::move(without));
      add(ref, make(std::move(copy)));
    }
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Ptr<Var>& var = block.iter_vars[i]->var;
      if (!as_int(realize.iter_values[i]) && uses_variable(block.body, var)) continue;
      BlockRealize copy = realize;
      Block without = block;
      const Substitution value = {{var, realize.iter_values[i]}};
      const auto at = static_cast<std::ptrdiff_t>(i);
      copy.iter_values.erase(copy.iter_values.begin() + at);
      without.iter_vars.erase(without.iter_vars.begin() + at);
      without.body = substitute(block.body, value);
      if (block.init) without.init = substitute(block.init, value);
      copy.block = make(std::move(without));
      add(ref, make(std::move(copy)));
    }
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (realize.iter_values[i].is<Var>() || as_int(realize.iter_values[i])) continue;
      for (const Ptr<Var>& var : free_variables(realize.iter_values[i])) {
        BlockRealize copy = realize;
        copy.iter_values[i] = var;
        add(ref, make(std::move(copy)));
      }
    }
  }

  void add_of_value(const Expr& expr) {
    const auto try_operand = [&](const Expr& operand) {
      if (operand.dtype() == expr.dtype()) add(expr, operand);
    };
    if (const auto* call = expr.as<Call>()) {
      for (const Expr& argument : call->args) try_operand(argument);
    } else if (const auto* literal = expr.as<IntImm>()) {
      if (literal->value > 0) add(expr, int_imm(literal->dtype, literal->value - 1));
    } else if (expr.is<Var>() || expr.is<FloatImm>() || expr.is<StringImm>()) {
      return;
    } else {
      if (expr.is<BufferLoad>() || expr.is<Cast>()) {
        if (expr.is<BufferLoad>() || expr.as<Cast>()->dtype.is_float() ||
            expr.as<Cast>()->dtype.is_integer()) {
          add(expr, const_of(expr.dtype(), 1));
        }
        if (expr.is<BufferLoad>()) return;
      }
      for_each_child(*expr.get(), [&](const Ref& child, Role) {
        if (const Expr operand = Expr::from(child); operand.defined()) try_operand(operand);
      });
    }
  }

  std::vector<Change> changes_;
};

template <class... Nodes>
void add_rules(Rewriter& rewrite, const Change& change) {
  (rewrite.on<Nodes>([&rewrite, &change](const Nodes& node) {
    using Result = std::conditional_t<IsExprNode<Nodes>, Expr, Stmt>;
    if (&node == change.node) {
      if constexpr (IsExprNode<Nodes>)
        return Result(Expr::from(change.by));
      else
        return Result(Stmt::from(change.by));
    }
    return Result(rewrite.children(node));
  }),
   ...);
}

Ptr<PrimFunc> changed(const Ptr<PrimFunc>& func, const Change& change) {
  Rewriter rewrite;
  add_rules<SeqStmt, For, IfThenElse, BlockRealize, BufferStore, Call, IntImm, Cast, Add, Sub, Mul,
            Div, Mod, FloorDiv, FloorMod, Min, Max, And, Or, Not, Select, EQ, NE, LT, LE, GT, GE,
            BufferLoad>(rewrite, change);
  return with_body(func, rewrite(func->body));
}

/// The function with another number in the place of a number, wherever it stands.
Ptr<PrimFunc> with_number(const Ptr<PrimFunc>& func, std::int64_t from, std::int64_t to) {
  Rewriter rewrite;
  rewrite.on<IntImm>([&](const IntImm& literal) -> Expr {
    return literal.value == from && literal.dtype.is_index() ? int_imm(literal.dtype, to)
                                                             : Expr(Ptr<IntImm>(&literal));
  });
  return rewrite(func);
}

std::set<std::int64_t> numbers_of(const Ptr<PrimFunc>& func) {
  std::set<std::int64_t> found;
  pre_order_visit(func, [&](const Ref& ref) {
    if (const auto* literal = ref.as<IntImm>(); literal && literal->value > 0) {
      found.insert(literal->value);
    }
    return true;
  });
  return found;
}

template <class... Nodes>
void add_folding(Rewriter& rewrite) {
  (rewrite.on<Nodes>([&rewrite](const Nodes& node) {
    const Expr simpler = rewrite.children(node);
    const Expr folded = fold(simpler);
    return folded.defined() ? folded : simpler;
  }),
   ...);
}

/// As if it had been written anew: with the regions that its blocks have now.
Ptr<PrimFunc> written_anew(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  add_folding<Add, Sub, Mul, FloorDiv, FloorMod, Min, Max, And, Or, LT, LE, GT, GE, EQ, NE>(
      rewrite);
  rewrite.on<Block>([&](const Block& block) -> Stmt {
    Block copy = *rewrite.children(block);
    copy.reads.clear();
    copy.writes.clear();
    if (copy.name_hint == "root") return make(std::move(copy));
    return detect_regions(make(std::move(copy)));
  });
  return parse_function(script(infer_regions(rewrite(func))));
}

class Shrinker {
 public:
  Shrinker(Finding finding, double max_seconds)
      : finding_(std::move(finding)),
        end_(std::chrono::steady_clock::now() +
             std::chrono::microseconds(static_cast<std::int64_t>(max_seconds * 1e6))) {}

  Finding run() {
    while (shrink_steps() || shrink_body() || shrink_numbers() || shrink_parameters()) {
    }
    if (auto whole = finding_of(finding_.program, finding_.steps)) return *std::move(whole);
    return std::move(finding_);
  }

 private:
  bool is_late() const { return std::chrono::steady_clock::now() > end_; }

  bool try_this(const Ptr<PrimFunc>& program, const std::vector<DrawnStep>& steps) {
    if (is_late()) return false;
    std::optional<Finding> found = finding_of(program, steps, finding_.wrong == Wrong::interp);
    if (!found || found->wrong != finding_.wrong) return false;
    finding_ = *std::move(found);
    return true;
  }
  bool try_program(const std::function<Ptr<PrimFunc>()>& make_program) {
    if (is_late()) return false;
    Ptr<PrimFunc> program;
    try {
      program = written_anew(make_program());
    } catch (const std::exception&) {
      return false;
    }
    if (structural_equal(program, finding_.program)) return false;
    return try_this(program, finding_.steps);
  }

  bool shrink_steps() {
    bool is_smaller = false;
    for (std::size_t i = finding_.steps.size(); i-- > 0;) {
      if (i + 1 == finding_.steps.size() && finding_.wrong != Wrong::replay) continue;
      std::vector<DrawnStep> fewer = finding_.steps;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      is_smaller = try_this(finding_.program, fewer) || is_smaller;
    }
    for (std::size_t i = 0; i < finding_.steps.size(); ++i) {
      for (std::size_t a = 0; a < finding_.steps[i].arguments.size(); ++a) {
        const bool is_given = finding_.steps[i].arguments[a].has_value();
        if (!is_given || a < finding_.steps[i].primitive->required) continue;
        std::vector<DrawnStep> simpler = finding_.steps;
        simpler[i].arguments[a].reset();
        is_smaller = try_this(finding_.program, simpler) || is_smaller;
      }
    }
    return is_smaller || shrink_factors();
  }

  /// The numbers in lists among the arguments: factors, paddings.
  bool shrink_factors() {
    for (std::size_t i = 0; i < finding_.steps.size(); ++i) {
      for (std::size_t a = 0; a < finding_.steps[i].arguments.size(); ++a) {
        const auto& argument = finding_.steps[i].arguments[a];
        const auto* list = argument ? argument->as<Argument::List>() : nullptr;
        for (std::size_t n = 0; list && n < list->size(); ++n) {
          const auto* number = (*list)[n].as<std::int64_t>();
          if (!number || *number < 2) continue;
          std::vector<DrawnStep> simpler = finding_.steps;
          Argument::List fewer = *list;
          fewer[n] = Argument(*number - 1);
          simpler[i].arguments[a] = Argument(std::move(fewer));
          if (try_this(finding_.program, simpler)) return true;
        }
      }
    }
    return false;
  }

  bool shrink_numbers() {
    for (const std::int64_t number : numbers_of(finding_.program)) {
      for (const std::int64_t less : {std::int64_t{1}, std::int64_t{2}, number - 1}) {
        if (less < 1 || less >= number) continue;
        const Ptr<PrimFunc> program = finding_.program;
        if (try_program([&] { return with_number(program, number, less); })) return true;
      }
    }
    return false;
  }

  bool shrink_parameters() {
    const PrimFunc& func = *finding_.program;
    const auto buffers = free_buffers(func.body);
    for (std::size_t i = 0; i < func.params.size(); ++i) {
      if (!func.buffer_map[i]) continue;
      const bool is_used = std::ranges::any_of(buffers, [&](const Ptr<Buffer>& used) {
        return used->data.same_as(func.buffer_map[i]->data);
      });
      if (is_used) continue;
      const bool done = try_program([&] {
        PrimFunc copy = *finding_.program;
        copy.params.erase(copy.params.begin() + static_cast<std::ptrdiff_t>(i));
        copy.buffer_map.erase(copy.buffer_map.begin() + static_cast<std::ptrdiff_t>(i));
        return make(std::move(copy));
      });
      if (done) return true;
    }
    return false;
  }

  bool shrink_body() {
    // After a success, it goes on where it was: what stands before was in vain already.
    bool is_smaller = false;
    std::vector<Change> changes = Changes(finding_.program).take();
    for (std::size_t i = 0; i < changes.size() && !is_late();) {
      const Ptr<PrimFunc> program = finding_.program;
      if (try_program([&] { return changed(program, changes[i]); })) {
        is_smaller = true;
        changes = Changes(finding_.program).take();
      } else {
        ++i;
      }
    }
    return is_smaller;
  }

  Finding finding_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

Finding shrunk(Finding finding, double max_seconds) {
  return Shrinker(std::move(finding), max_seconds).run();
}

}  // namespace loopsmith::schedule_testing
