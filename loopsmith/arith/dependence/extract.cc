// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "loopsmith/arith/dependence/alike_updates.h"
#include "loopsmith/arith/dependence/linearize.h"
#include "loopsmith/arith/dependence/memories.h"
#include "loopsmith/arith/dependence/program.h"
#include "loopsmith/arith/empty_reductions.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/trusted_calls.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::dependence {
namespace {

using Kind = Context::Kind;

/// A block with an init, of which `init` writes the accumulators.
struct Reduction {
  int number;
  std::vector<const Object*> accumulators;
  bool is_declared;     ///< The block says how it combines, and does so.
  bool is_init = true;  ///< Its init is read, not its body.
};

bool is_accumulator(const Reduction& reduction, const Ptr<Buffer>& buffer) {
  const auto& known = reduction.accumulators;
  return std::find(known.begin(), known.end(), buffer.get()) != known.end();
}

/// True when a store makes one result of another one: then the order of updates counts.
bool reads_other_result(const Reduction& reduction, const BufferStore& store) {
  bool found = false;
  pre_order_visit(store.value, [&](const Ref& node) {
    const auto* load = node.as<BufferLoad>();
    found = found || (load && !load->buffer->data.same_as(store.buffer->data) &&
                      is_accumulator(reduction, load->buffer));
    return !found;
  });
  return found;
}

bool is_nothing(const Stmt& stmt) {
  return !stmt.defined() || is_no_op(stmt);
}

class Extractor {
 public:
  Extractor(Program& program, const std::vector<Ptr<Buffer>>& local,
            const std::vector<Ptr<Buffer>>& shared, const KnownValues& known)
      : program_(program), forms_(program, guards_), shared_(shared) {
    for (const Ptr<Buffer>& buffer : local) allocate(buffer->data);
    for (const auto& [variable, value] : known) {
      forms_.bind(variable, Linear{value});
    }
  }

  void visit(const Stmt& stmt) {
    deep_call([&] { visit_here(stmt); });
  }

  /// What is read from here on is another program.
  void begin_program() { may_have_returned_ = false; }

 private:
  void visit_here(const Stmt& stmt) {
    if (const auto* node = stmt.as<SeqStmt>()) {
      for (const Stmt& part : node->seq) {
        const std::size_t number = program_.parts.size();
        program_.parts.push_back(
            {part.get(), loops_, static_cast<int>(program_.statements.size())});
        visit(part);
        program_.parts[number].end_statement = static_cast<int>(program_.statements.size());
      }
    } else if (const auto* node = stmt.as<For>()) {
      if (const Stmt init = empty_reductions_.before(*node)) visit(init);
      visit_for(stmt, *node);
    } else if (const auto* node = stmt.as<BufferStore>()) {
      visit_store(stmt, *node);
    } else if (const auto* node = stmt.as<IfThenElse>()) {
      read_all(stmt, {node->condition});
      const int choice = node->else_case ? choice_count_++ : no_choice;
      under(node->condition, true, [&] { visit(node->then_case); }, choice, stmt);
      if (node->else_case) {
        under(node->condition, false, [&] { visit(node->else_case); }, choice, stmt);
      }
    } else if (const auto* node = stmt.as<BlockRealize>()) {
      visit_block(stmt, *node);
    } else if (const auto* node = stmt.as<LetStmt>()) {
      read_all(stmt, {node->value});
      bind(node->var, node->value);
      visit(node->body);
      surroundings_.pop_back();
    } else if (const auto* node = stmt.as<AssertStmt>()) {
      read_all(stmt, {node->condition});
      under(node->condition, true, [&] { visit(node->body); });
    } else if (const auto* node = stmt.as<AttrStmt>()) {
      read_all(stmt, {node->value});
      if (const auto* thread = node->node.as<IterVar>()) forms_.bind(thread->var, std::nullopt);
      visit(node->body);
    } else if (const auto* node = stmt.as<Allocate>()) {
      read_all(stmt, node->extents);
      if (!is_shared(node->buffer_var)) allocate(node->buffer_var);
      visit(node->body);
    } else if (const auto* node = stmt.as<AllocateConst>()) {
      visit(node->body);
    } else if (const auto* node = stmt.as<DeclBuffer>()) {
      visit(node->body);
    } else if (const auto* node = stmt.as<While>()) {
      visit_while(stmt, *node);
    } else if (const auto* node = stmt.as<Evaluate>()) {
      read_all(stmt, {node->value});
    } else if (stmt.is<Break>() || stmt.is<Continue>() || stmt.is<Return>()) {
      visit_control(stmt);
    } else if (!stmt.is<Prefetch>()) {
      begin(stmt);
      add_access(true);  // To any memory.
    }
  }

  // Statements and their accesses.

  Statement& begin(const Stmt& stmt) {
    Statement statement{stmt, block_, loops_, guards_, surroundings_, choices_};
    statement.is_exact = inexact_ == 0 && !may_have_returned_;
    if (may_have_returned_) statement.surroundings.push_back({Kind::opaque});
    statement.first_access = static_cast<int>(program_.accesses.size());
    program_.statements.push_back(std::move(statement));
    return program_.statements.back();
  }

  Access& add_access(bool writes) {
    Access access;
    access.statement = static_cast<int>(program_.statements.size()) - 1;
    access.writes = writes;
    access.guards.assign(guards_.begin() + guards_of_statement_, guards_.end());
    access.surroundings.assign(surroundings_.begin() + surroundings_of_statement_,
                               surroundings_.end());
    program_.accesses.push_back(std::move(access));
    ++program_.statements.back().access_count;
    return program_.accesses.back();
  }

  /// Reads of a statement that only evaluates expressions; none where nothing is read.
  void read_all(const Stmt& stmt, const std::vector<Expr>& expressions) {
    enter_expressions();
    begin(stmt);
    for (const Expr& expr : expressions) {
      if (expr.defined()) read(expr);
    }
    if (program_.statements.back().access_count == 0) program_.statements.pop_back();
  }

  void enter_expressions() {
    guards_of_statement_ = static_cast<std::ptrdiff_t>(guards_.size());
    surroundings_of_statement_ = static_cast<std::ptrdiff_t>(surroundings_.size());
  }

  void visit_store(const Stmt& stmt, const BufferStore& store) {
    enter_expressions();
    begin(stmt);
    const auto accumulation = accumulation_of(store);
    update_ = accumulation ? update_by(accumulation->combiner) : Update::none;
    updated_ = accumulation ? &store : nullptr;
    if (reduction_ && !reduction_->is_init && !reduction_->is_declared &&
        (!may_combine(store) || reads_other_result(*reduction_, store))) {
      ordered_.push_back(reduction_->number);
    }
    for (const Expr& index : store.indices) read(index);
    if (store.predicate.defined()) read(store.predicate);
    read(store.value);
    access(store.buffer, store.indices, true, update_, store.predicate.defined());
    updated_ = nullptr;
  }

  void access(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices, bool writes,
              Update update, bool is_masked) {
    Access& result = add_access(writes);
    memories_.place(result, buffer, indices);
    forms_.read_indices(result);
    if (is_masked) {
      result.surroundings.push_back({Kind::opaque});
      program_.statements.back().is_exact = false;
    }
    // What an init reads is no update, also where it is of the reduction's own results.
    const bool is_input_of_init = reduction_ && reduction_->is_init && !writes;
    if (reduction_ && !is_input_of_init && is_accumulator(*reduction_, buffer)) {
      result.reduction = reduction_->number;
      result.update = Update::declared;
      result.is_init = reduction_->is_init;
    } else {
      result.update = update;
    }
  }

  /// All elements of a region.
  void access_region(const BufferRegion& region, bool writes) {
    std::vector<Expr> first;
    for (const auto& range : region.region) first.push_back(range->min);
    Access& result = add_access(writes);
    memories_.place(result, region.buffer, first);
    if (result.whole) return;
    const std::size_t leading = result.expressions.size() - first.size();
    for (std::size_t i = 0; i < result.expressions.size(); ++i) {
      Expr& index = result.expressions[i];
      auto form = forms_.linear(index);
      const Expr& extent = i < leading ? Expr(1) : region.region[i - leading]->extent;
      if (!is_const_int(extent, 1)) {
        form = form ? forms_.moved_within(*form, extent, result.locals) : std::nullopt;
        index = nullptr;
      }
      result.index.push_back(std::move(form));
    }
  }

  void read(const Expr& expr) {
    deep_call([&] {
      if (const auto* load = expr.as<BufferLoad>()) {
        for (const Expr& index : load->indices) read(index);
        const bool is_masked = load->predicate.defined();
        if (is_masked) read(load->predicate);
        const bool is_old = updated_ && is_old_value(*updated_, *load);
        access(load->buffer, load->indices, false, is_old ? update_ : Update::none, is_masked);
      } else if (const auto* call = expr.as<Call>()) {
        read_call(*call);
      } else if (const auto* let = expr.as<Let>()) {
        read(let->value);
        bind(let->var, let->value);
        read(let->body);
        surroundings_.pop_back();
      } else if (!expr.is<Var>()) {
        for_each_child(*expr.get(), [&](const Ref& child, Role) {
          if (const Expr part = Expr::from(child); part.defined()) read(part);
        });
      }
    });
  }

  void read_call(const Call& call) {
    if (call.op == op("if_then_else")) {
      read(call.args[0]);
      under(call.args[0], true, [&] { read(call.args[1]); });
      under(call.args[0], false, [&] { read(call.args[2]); });
      return;
    }
    if (call.op.is_pure()) {
      for (const Expr& argument : call.args) read(argument);
      return;
    }
    if (inner_ && is_trusted_call(*inner_, call)) return read_trusted_call(call);
    const bool writes = call.op.info().effect != Effect::reads;
    bool names_memory = false;
    for (const Expr& argument : call.args) {
      pre_order_visit(argument, [&](const Ref& node) {
        const auto* pointer = node.as<Var>();
        const auto* buffer = node.as<Buffer>();
        if (buffer) pointer = buffer->data.get();
        if (pointer && pointer->dtype.is_handle()) {
          names_memory = true;
          for (const bool as_write : {false, true}) {
            if (as_write && !writes) continue;
            Access& known = add_access(as_write);
            known.memory = memories_.of(Ref(pointer));
            known.whole = true;
            if (buffer) known.buffer = Ptr<Buffer>(buffer);
          }
        }
        return true;
      });
    }
    if (!names_memory) add_access(writes);  // To any memory.
  }

  /// A call that keeps to what the block around it declares. Its other arguments are read here.
  void read_trusted_call(const Call& call) {
    for (const Expr& argument : call.args) {
      const auto* pointer = argument.as<Call>();
      const bool is_address = pointer && pointer->op == op("address_of");
      if (!is_address && argument.dtype().is_handle()) continue;
      if (!is_address) read(argument);
      const auto* element = is_address ? pointer->args[0].as<BufferLoad>() : nullptr;
      for (const Expr& index : element ? element->indices : std::vector<Expr>()) read(index);
    }
    for (const auto& region : inner_->reads) access_region(*region, false);
    for (const auto& region : inner_->writes) access_region(*region, true);
  }

  // What stands around statements.

  static constexpr int no_choice = -1;

  template <class Body>
  void under(const Expr& condition, bool holds, Body&& body, int choice = no_choice,
             const Ref& branch = nullptr) {
    const std::size_t guards = guards_.size();
    const bool is_exact = forms_.add_clauses(condition, holds, guards_);
    const bool is_choice = !is_exact && choice != no_choice;
    surroundings_.push_back({holds ? Kind::condition : Kind::negation, branch, condition});
    if (is_choice) choices_.push_back({choice, holds, static_cast<int>(loops_.size())});
    inexact_ += is_exact || is_choice ? 0 : 1;
    body();
    inexact_ -= is_exact || is_choice ? 0 : 1;
    if (is_choice) choices_.pop_back();
    surroundings_.pop_back();
    guards_.resize(guards);
  }

  void bind(const Ptr<Var>& variable, const Expr& value) {
    if (variable->dtype.is_handle()) memories_.name(variable, value);
    forms_.bind(variable, value);
    surroundings_.push_back({Kind::binding, nullptr, value, variable});
  }

  void visit_for(const Stmt& stmt, const For& loop) {
    read_all(stmt, {loop.min, loop.extent, loop.step});
    Loop entry{stmt};
    entry.original = empty_reductions_.copied_from(loop);
    bool is_exact = true;
    entry.extents = forms_.upper_bounds(loop.extent, is_exact);
    Interval range{0, Interval::pos_inf};
    for (const Linear& extent : entry.extents) {
      const Interval limit = program_.range(extent);
      if (limit.max_value != Interval::pos_inf) {
        range.max_value = std::min(range.max_value, limit.max_value - 1);
      }
    }
    entry.iterator = forms_.new_symbol({.kind = SymbolKind::iterator, .range = range});
    const auto start = forms_.linear(loop.min), step = forms_.linear(loop.step);
    std::optional<Linear> value;
    if (start && step && step->is_constant()) {
      // A loop of one iteration has one value: in forms, `y_0 * n` is 0 then.
      value = range.max_value == 0 ? start : sum(*start, linear_of(entry.iterator), step->constant);
    }
    forms_.bind(loop.loop_var, std::move(value));
    inside(std::move(entry), {Kind::loop, stmt}, is_exact, [&] { visit(loop.body); });
  }

  void visit_while(const Stmt& stmt, const While& loop) {
    Loop entry{stmt};
    entry.control = "while";
    entry.iterator =
        forms_.new_symbol({.kind = SymbolKind::iterator, .range = {0, Interval::pos_inf}});
    inside(std::move(entry), {Kind::opaque}, false, [&] {
      read_all(stmt, {loop.condition});
      visit(loop.body);
    });
  }

  template <class Body>
  void inside(Loop loop, Context surrounding, bool is_exact, Body&& body) {
    loops_.push_back(static_cast<int>(program_.loops.size()));
    program_.loops.push_back(std::move(loop));
    surroundings_.push_back(std::move(surrounding));
    inexact_ += is_exact ? 0 : 1;
    body();
    inexact_ -= is_exact ? 0 : 1;
    surroundings_.pop_back();
    loops_.pop_back();
  }

  /// What follows such a statement, here or in a later iteration, may not be reached.
  void visit_control(const Stmt& stmt) {
    if (const auto* node = stmt.as<Return>()) read_all(stmt, {node->value});
    if (stmt.is<Continue>()) return mark_unreachable(1);
    if (stmt.is<Break>()) {
      if (!loops_.empty()) loop(loops_.size() - 1).control = "break";
      return mark_unreachable(1);
    }
    for (std::size_t i = 0; i < loops_.size(); ++i) loop(i).control = "return";
    mark_unreachable(loops_.size());
    may_have_returned_ = true;
  }

  Loop& loop(std::size_t depth) { return program_.loops[static_cast<std::size_t>(loops_[depth])]; }

  /// Statements in the innermost `count` loops may be left out, so their replay proves nothing.
  void mark_unreachable(std::size_t count) {
    for (std::size_t i = loops_.size() - std::min(count, loops_.size()); i < loops_.size(); ++i) {
      left_out_.push_back(loops_[i]);
    }
  }

  bool is_shared(const Ref& memory) const {
    return std::any_of(shared_.begin(), shared_.end(),
                       [&](const Ptr<Buffer>& buffer) { return buffer->data.same_as(memory); });
  }

  void allocate(const Ref& memory) { memories_.allocate(memory, static_cast<int>(loops_.size())); }

  void visit_block(const Stmt& stmt, const BlockRealize& realize) {
    const bool is_outermost = block_ < 0;
    if (is_outermost) {
      block_ = static_cast<int>(program_.blocks.size());
      program_.blocks.push_back({stmt, static_cast<int>(loops_.size()), {}});
      program_.blocks.back().started = empty_reductions_.started_by(*realize.block);
    }
    std::vector<Expr> values = realize.iter_values;
    values.push_back(realize.predicate);
    read_all(stmt, values);
    const Block& block = *realize.block;
    for (const auto& buffer : block.alloc_buffers) {
      if (!is_shared(buffer->data)) allocate(buffer->data);
    }
    for (const auto& match : block.match_buffers) memories_.match(*match);
    const Block* around = std::exchange(inner_, &block);
    under(realize.predicate, true, [&] {
      const std::size_t surroundings = surroundings_.size();
      for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
        bind(block.iter_vars[i]->var, realize.iter_values[i]);
      }
      if (is_outermost) {
        PlacedBlock& placed = program_.blocks.back();
        for (const Expr& value : realize.iter_values) placed.axes.push_back(forms_.linear(value));
        placed.is_exact = inexact_ == 0 && !may_have_returned_;
      }
      const std::optional<Reduction> outer = reduction_;
      if (!is_nothing(block.init)) {
        reduction_ = Reduction{reductions_++, {}, declared_reduction_of(block).has_value()};
        pre_order_visit(block.init, [&](const Ref& node) {
          if (const auto* store = node.as<BufferStore>()) {
            reduction_->accumulators.push_back(store->buffer.get());
          }
          return true;
        });
        visit_init(block);
        reduction_->is_init = false;
      }
      visit(block.body);
      reduction_ = outer;
      surroundings_.resize(surroundings);
    });
    inner_ = around;
    if (is_outermost) block_ = -1;
  }

  void visit_init(const Block& block) {
    Expr at_start = true;
    for (const auto& axis : block.iter_vars) {
      if (axis->iter_type == IterType::comm_reduce)
        at_start = at_start && axis->var == axis->dom->min;
    }
    under(at_start, true, [&] { visit(block.init); });
  }

 public:
  /// Marks what may not be reached, once all of it is known.
  void finish() {
    for (Statement& statement : program_.statements) {
      const bool unsure = std::any_of(statement.loops.begin(), statement.loops.end(), [&](int i) {
        return std::find(left_out_.begin(), left_out_.end(), i) != left_out_.end();
      });
      if (unsure) {
        statement.is_exact = false;
        statement.surroundings.push_back({Kind::opaque});
        if (statement.block >= 0) {
          program_.blocks[static_cast<std::size_t>(statement.block)].is_exact = false;
        }
      }
    }
    keep_alike_updates(program_, ordered_);
  }

 private:
  Program& program_;
  std::vector<Clause> guards_;
  Linearizer forms_;
  const std::vector<Ptr<Buffer>>& shared_;
  std::vector<int> loops_;
  int block_ = -1;                ///< The outermost block around what is read,
  const Block* inner_ = nullptr;  ///< and the innermost.
  std::vector<Context> surroundings_;
  std::vector<Choice> choices_;
  int choice_count_ = 0;
  std::ptrdiff_t guards_of_statement_ = 0;
  std::ptrdiff_t surroundings_of_statement_ = 0;
  Update update_ = Update::none;          ///< Of the store that is read,
  const BufferStore* updated_ = nullptr;  ///< and it, where it accumulates.
  std::optional<Reduction> reduction_;
  int reductions_ = 0;
  arith::EmptyReductions empty_reductions_;
  std::vector<int> ordered_;  ///< Those that do not combine their elements in any order.
  Memories memories_;
  std::vector<int> left_out_;
  bool may_have_returned_ = false;  ///< What is read now runs only where no `return` did before.
  int inexact_ = 0;  ///< How many of the loops and guards around are wider than they are.
};

}  // namespace

Program extract(const Stmt& root, const std::vector<Ptr<Buffer>>& local,
                const std::vector<Ptr<Buffer>>& shared, const KnownValues& known) {
  Program program;
  Extractor extractor(program, local, shared, known);
  extractor.visit(root);
  extractor.finish();
  return program;
}

Program extract_both(const Stmt& first, const Stmt& second, const std::vector<Ptr<Buffer>>& local,
                     int& border) {
  Program program;
  const std::vector<Ptr<Buffer>> no_shared;
  Extractor extractor(program, local, no_shared, {});
  extractor.visit(first);
  border = static_cast<int>(program.statements.size());
  extractor.begin_program();
  extractor.visit(second);
  extractor.finish();
  return program;
}

}  // namespace loopsmith::dependence
