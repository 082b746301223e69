// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/control.h"
#include "loopsmith/interp/ring.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/packed_array.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp::detail {
namespace {

bool holds_blocks(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    found = found || ref.is<BlockRealize>();
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// The stores of a block, without those of blocks inside it.
std::vector<const BufferStore*> stores_in(const Block& block) {
  std::vector<const BufferStore*> found;
  for (const Stmt& part : {block.init, block.body}) {
    if (!part.defined()) continue;
    pre_order_visit(part, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) found.push_back(store);
      return !ref.is<Block>() && !is_expr(*ref.get());
    });
  }
  return found;
}

bool loads(const Stmt& stmt, const Buffer& buffer) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && load->buffer->data.same_as(buffer.data));
    return !found;
  });
  return found;
}

}  // namespace

bool feeds_reduction(const Ref& variable, const Stmt& body) {
  std::unordered_set<const Object*> derived{variable.get()};
  const auto is_derived = [&](const Expr& value) {
    bool found = false;
    post_order_visit(value, [&](const Ref& ref) { found = found || derived.contains(ref.get()); });
    return found;
  };
  // A loop that starts elsewhere in each iteration counts on from there.
  Substitution starts;
  const auto counted = [&](const Expr& value) {
    return starts.empty() ? value : Analyzer().simplify(substitute(value, starts));
  };
  bool reduces = false;
  pre_order_visit(body, [&](const Ref& ref) {
    if (const auto* loop = ref.as<For>()) {
      const Expr start = counted(loop->min);
      if (is_derived(start)) starts[loop->loop_var] = start + loop->loop_var;
    } else if (const auto* realize = ref.as<BlockRealize>()) {
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const IterVar& axis = *realize->block->iter_vars[i];
        if (!is_derived(counted(realize->iter_values[i]))) continue;
        derived.insert(axis.var.get());
        reduces = reduces || axis.iter_type == IterType::comm_reduce;
      }
    }
    return !is_expr(*ref.get());
  });
  return reduces;
}

bool Compiler::may_be_hash(const Expr& value) const {
  bool found = false;
  pre_order_visit(value, [&](const Ref& ref) {
    found = found || is_hash(ref);
    return !found;
  });
  return found;
}

void Compiler::stmt(const Stmt& s) {
  deep_call([&] { new_stmt(s); });
}

std::size_t Compiler::jump_unless(Register condition) {
  return emit({.run = jump_unless_handler(), .a = condition});
}
std::size_t Compiler::jump() {
  return emit({.run = jump_handler()});
}

void Compiler::new_stmt(const Stmt& s) {
  const Span outer = span_;
  if (s.span().known()) span_ = s.span();
  const std::uint32_t outer_statement = std::exchange(statement_, next_statement());
  const Scope scope(*this);
  if (run_by_first_threads(s)) {
    span_ = outer;
    statement_ = outer_statement;
    return;
  }
  if (const auto* n = s.as<For>()) {
    if (const Stmt init = empty_reductions_.before(*n)) {
      stmt(init);
      statement_ = next_statement();
    }
  }
  if (const auto* n = s.as<BufferStore>()) {
    store(*n);
  } else if (const auto* n = s.as<SeqStmt>()) {
    for (std::size_t i = 0; i < n->seq.size(); ++i) {
      if (i > 0) implied_barrier(s);
      stmt(n->seq[i]);
    }
  } else if (is_thread_loop(s)) {
    thread_loop(s);
  } else if (const auto* n = s.as<For>()) {
    loop(*n);
  } else if (const auto* n = s.as<While>()) {
    while_loop(*n);
  } else if (const auto* n = s.as<IfThenElse>()) {
    if_then_else(*n);
  } else if (const auto* n = s.as<BlockRealize>()) {
    block(*n);
  } else if (const auto* n = s.as<LetStmt>()) {
    if (is_ring() && may_be_hash(n->value)) hashed_.insert(n->var.get());
    if (differs_by_thread(n->value)) differing_.insert(n->var.get());
    define(n->var, expr(n->value));
    stmt(n->body);
  } else if (const auto* n = s.as<AttrStmt>()) {
    const auto outer = combiner_;
    if (n->attr_key == "reduce_scope") combiner_ = Ptr<CommReducer>::from(n->node);
    stmt(n->body);
    combiner_ = outer;
  } else if (const auto* n = s.as<AssertStmt>()) {
    assertion(*n);
  } else if (const auto* n = s.as<Allocate>()) {
    Expr count = int_imm(i64, 1);
    for (const Expr& extent : n->extents) count = count * cast(i64, extent);
    allocate(n->buffer_var, n->dtype, scalar(count), n->buffer_var->name,
             memory_scope(*n->buffer_var), /*may_be_private=*/n->extents.empty());
    stmt(n->body);
  } else if (const auto* n = s.as<AllocateConst>()) {
    allocate_constant(*n);
  } else if (const auto* n = s.as<DeclBuffer>()) {
    const auto pointer = values_.find(n->buffer->data.get());
    if (pointer == values_.end()) unsupported(*n, "a buffer that is declared on no pointer");
    define_buffer(n->buffer, measure(n->buffer, pointer->second.reg));
    stmt(n->body);
  } else if (const auto* n = s.as<Evaluate>()) {
    const auto* call = n->value.as<Call>();
    if (call && call->op == op("ret")) {
      emit({.run = leave_with_handler(), .a = scalar(call->args[0])});
    } else if (call && (is_packed_call(call->op) || call->op == op("call_extern"))) {
      known_.clear();
      call_host(*call, /*takes_result=*/false);
    } else {
      expr(n->value);
    }
  } else if (s.is<Break>() || s.is<Continue>()) {
    const bool is_break = s.is<Break>();
    if (exits_.empty()) unsupported(*s.get(), "a break or continue outside of a loop");
    if (is_break && exits_.back().is_parallel) {
      fail(ErrorKind::interp, "break_in_loop",
           hint("a parallel loop has no order in which it could be left"), span_,
           "break leaves a parallel loop");
    }
    if (is_break) emit({.run = leave_loop_handler()});
    (is_break ? exits_.back().breaks : exits_.back().continues).push_back(jump());
  } else if (const auto* n = s.as<Return>()) {
    return_value(*n);
  } else if (!s.is<Prefetch>()) {
    unsupported(*s.get(), fmt::format("a statement {}", node_info(*s.get()).name));
  }
  span_ = outer;
  statement_ = outer_statement;
}

void Compiler::loop(const For& loop) {
  const Register min = scalar(loop.min), extent = scalar(loop.extent), step = scalar(loop.step);
  if (loop.kind == ForKind::serial || loop.kind == ForKind::unrolled) {
    const bool differs = differs_by_thread(loop.min) || differs_by_thread(loop.extent);
    serial_loop(loop.loop_var, min, extent, step, loop.body, differs);
  } else {
    parallel_loop(loop.loop_var, min, extent, step, loop.body, loop.kind == ForKind::vectorized);
  }
}

void Compiler::serial_loop(const Ptr<Var>& var, Register min, Register extent, Register step,
                           const Stmt& body, bool differs) {
  if (differs) differing_.insert(var.get());
  const bool was_uniform = std::exchange(is_uniform_, is_uniform_ && !differs);
  const Register variable = fresh(2);
  define(var, {variable});
  const std::size_t begin = emit({.run = loop_begin_handler(),
                                  .d = variable,
                                  .a = min,
                                  .b = extent,
                                  .c = step,
                                  .number = next_statement()});
  const std::size_t first = here();
  exits_.emplace_back();
  stmt(body);
  for (const std::size_t from : exits_.back().continues) land(from);
  implied_barrier(body);
  const std::size_t next = emit({.run = loop_next_handler(is_checked(var->dtype, options_)),
                                 .d = variable,
                                 .b = extent,
                                 .c = step,
                                 .type = var->dtype});
  code_.instrs[next].jump =
      static_cast<std::int32_t>(static_cast<std::int64_t>(first) - static_cast<std::int64_t>(next));
  land(begin);
  for (const std::size_t from : exits_.back().breaks) land(from);
  exits_.pop_back();
  is_uniform_ = was_uniform;
}

void Compiler::parallel_loop(const Ptr<Var>& var, Register min, Register extent, Register step,
                             const Stmt& body, bool is_vector,
                             const std::function<void(Register)>& bind) {
  code_.loops.push_back({.name = var->name,
                         .reduces = feeds_reduction(var, body),
                         .is_vector = is_vector,
                         .statement = next_statement(),
                         .span = span_});
  const Register variable = fresh(2);
  define(var, {variable});
  if (bind) bind(variable);
  const bool searches = options_.check_races;
  Instr begin{.run = searches ? parallel_begin_handler() : loop_begin_handler(),
              .d = variable,
              .a = min,
              .b = extent,
              .c = step};
  if (searches) begin.data = &code_.loops.back();
  const std::size_t from = emit(begin);
  const std::size_t first = here();
  exits_.push_back({.is_parallel = true});
  const bool was_uniform = std::exchange(is_uniform_, false);
  stmt(body);
  is_uniform_ = was_uniform;
  for (const std::size_t each : exits_.back().continues) land(each);
  const bool checked = is_checked(var->dtype, options_);
  const std::size_t next =
      emit({.run = searches ? parallel_next_handler(checked) : loop_next_handler(checked),
            .d = variable,
            .b = extent,
            .c = step,
            .type = var->dtype});
  code_.instrs[next].jump =
      static_cast<std::int32_t>(static_cast<std::int64_t>(first) - static_cast<std::int64_t>(next));
  land(from);
  exits_.pop_back();
}

void Compiler::while_loop(const While& loop) {
  emit({.run = enter_loop_handler(), .number = statement_});
  const std::size_t begin = here();
  emit({.run = step_handler()});
  std::size_t to_end = 0;
  {
    const Scope scope(*this);
    to_end = jump_unless(scalar(loop.condition));
  }
  exits_.emplace_back();
  const bool was_uniform = std::exchange(is_uniform_, false);
  stmt(loop.body);
  is_uniform_ = was_uniform;
  for (const std::size_t from : exits_.back().continues) land(from);
  jump_to(begin);
  land(to_end);
  emit({.run = leave_loop_handler()});
  for (const std::size_t from : exits_.back().breaks) land(from);
  exits_.pop_back();
}

void Compiler::if_then_else(const IfThenElse& branch) {
  const std::size_t to_else = jump_unless(scalar(branch.condition));
  const bool was_uniform = std::exchange(is_uniform_, false);
  stmt(branch.then_case);
  if (branch.else_case) {
    const std::size_t to_end = jump();
    land(to_else);
    stmt(branch.else_case);
    land(to_end);
  } else {
    land(to_else);
  }
  is_uniform_ = was_uniform;
}

void Compiler::assertion(const AssertStmt& node) {
  const auto* message = node.message.as<StringImm>();
  code_.texts.push_back(message ? message->value : "it has no text");
  const Register condition = scalar(node.condition);
  emit({.run = assert_handler(), .a = condition, .data = &code_.texts.back()});
  stmt(node.body);
}

void Compiler::block(const BlockRealize& realize) {
  const Block& block = *realize.block;
  const bool is_conditional = !is_const_int(realize.predicate, 1);
  const std::size_t to_end = is_conditional ? jump_unless(scalar(realize.predicate)) : 0;
  const bool was_uniform = std::exchange(is_uniform_, is_uniform_ && !is_conditional);
  Register is_first = no_register;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    const Value value = expr(realize.iter_values[i]);
    define(axis.var, value);
    if (differs_by_thread(realize.iter_values[i])) differing_.insert(axis.var.get());
    if (!block.init || axis.iter_type != IterType::comm_reduce) continue;
    const Value starts = operation(binary_handler(kind_of<EQ>, axis.var->dtype, options_), boolean,
                                   axis.var->dtype, {value, expr(axis.dom->min)});
    is_first = is_first == no_register ? starts.reg
                                       : operation(binary_handler(kind_of<And>, boolean, options_),
                                                   boolean, boolean, {{is_first}, starts})
                                             .reg;
  }
  for (const auto& buffer : block.alloc_buffers) allocate_buffer(buffer);
  for (const auto& view : block.match_buffers) match(*view);

  const auto outer = reduction_buffers_;
  auto outer_stores = std::exchange(block_stores_, {});
  bool reduces = false;
  for (const auto& axis : block.iter_vars) {
    if (axis->iter_type != IterType::comm_reduce) continue;
    reduces = true;
    for (const auto& region : block.writes) {
      // A store that reads nothing of what it overwrites combines nothing.
      if (loads(block.body, *region->buffer)) reduction_buffers_.insert(region->buffer.get());
    }
  }
  if (!reduction_buffers_.empty()) block_stores_ = stores_in(block);
  if (block.init) {
    const std::size_t to_body = is_first == no_register ? 0 : jump_unless(is_first);
    const bool outside = std::exchange(is_uniform_, is_uniform_ && is_first == no_register);
    stmt(block.init);
    is_uniform_ = outside;
    if (is_first != no_register) land(to_body);
  }
  // One thread combines after the other: none comes between what is read and written.
  is_uniform_ = is_uniform_ && (!reduces || holds_blocks(block.body));
  stmt(block.body);
  reduction_buffers_ = outer;
  block_stores_ = std::move(outer_stores);
  is_uniform_ = was_uniform;
  if (is_conditional) land(to_end);
}

void Compiler::allocate_constant(const AllocateConst& node) {
  Allocation allocation{.name = node.buffer_var->name, .element = node.dtype};
  for (const Expr& each : node.data) {
    const Value value = constant_of(each);
    allocation.constants.push_back(code_.constants[static_cast<std::size_t>(-1 - value.reg)]);
  }
  code_.allocation_sites.push_back(std::move(allocation));
  Instr instr{.run = allocate_constant_handler(), .d = fresh(2), .b = code_.allocations++};
  instr.data = &code_.allocation_sites.back();
  emit(instr);
  define(node.buffer_var, {instr.d});
  stmt(node.body);
}

void Compiler::return_value(const Return& node) {
  if (!node.value.defined()) {
    emit({.run = leave_handler()});
  } else {
    emit({.run = leave_with_handler(), .a = scalar(node.value)});
  }
}

}  // namespace loopsmith::interp::detail
