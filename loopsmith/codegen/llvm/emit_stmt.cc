// SPDX-License-Identifier: Apache-2.0
// Statements but loops and allocations.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include "loopsmith/codegen/llvm/debug_lines.h"
#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/codegen/profile_symbol.h"
#include "loopsmith/codegen/unsupported.h"
#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/runtime/profile.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/profile_loops.h"

namespace loopsmith::detail {

void Emitter::statement(const Stmt& stmt) {
  if (is_terminated()) return;  // After a break, continue or return.
  known_.clear();
  known_order_.clear();
  if (!module_.debug) return deep_call([&] { new_statement(stmt); });
  const llvm::DebugLoc outer = ir_.getCurrentDebugLocation();
  const llvm::DebugLoc own = module_.debug->of(*function_, *stmt.get());
  if (own) ir_.SetCurrentDebugLocation(own);
  deep_call([&] { new_statement(stmt); });
  ir_.SetCurrentDebugLocation(outer);
}

void Emitter::new_statement(const Stmt& stmt) {
  const Object& node = *stmt.get();
  switch (node.kind) {
    case kind_of<SeqStmt>:
      for (const Stmt& each : static_cast<const SeqStmt&>(node).seq) statement(each);
      return;
    case kind_of<LetStmt>: return let(static_cast<const LetStmt&>(node));
    case kind_of<AttrStmt>: return attribute(static_cast<const AttrStmt&>(node));
    case kind_of<AssertStmt>: return check_assertion(static_cast<const AssertStmt&>(node));
    case kind_of<BufferStore>: return store(static_cast<const BufferStore&>(node));
    case kind_of<Allocate>: return allocate(static_cast<const Allocate&>(node));
    case kind_of<AllocateConst>: return allocate_constant(static_cast<const AllocateConst&>(node));
    case kind_of<DeclBuffer>: return statement(static_cast<const DeclBuffer&>(node).body);
    case kind_of<Evaluate>: {
      const Expr& expr = static_cast<const Evaluate&>(node).value;
      const auto* call = expr.as<Call>();
      if (call && call->op == op("ret")) return leave_with(call->args[0]);
      if (call && is_packed_call(call->op)) {
        call_host(*call, LS_NONE);
      } else if (!expr.is<IntImm>()) {
        value(expr);
      }
      return;
    }
    case kind_of<IfThenElse>: return if_then_else(static_cast<const IfThenElse&>(node));
    case kind_of<For>: return loop(static_cast<const For&>(node));
    case kind_of<While>: return loop_while(static_cast<const While&>(node));
    case kind_of<Break>: return jump(/*to_end=*/true, stmt);
    case kind_of<Continue>: return jump(/*to_end=*/false, stmt);
    case kind_of<Return>: return leave_with(static_cast<const Return&>(node).value);
    default: break;
  }
  check(false, "codegen", "a statement {} was not lowered", node_info(node).name);
}

llvm::BasicBlock* Emitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(module_.context, name, function_);
}

void Emitter::let(const LetStmt& let) {
  if (let.value.dtype().is_index() && let.value.dtype().is_scalar()) {
    const bool is_non_negative = this->is_non_negative(let.value);
    variables_.insert_or_assign(let.var.get(),
                                Variable{nullptr, place(let.value), is_non_negative});
  } else {
    bind(let.var, value(let.value));
  }
  statement(let.body);
}

void Emitter::check_assertion(const AssertStmt& assertion) {
  leave_unless(value(assertion.condition), LS_ASSERTION, -1, -1, int64(0), int64(0),
               value(assertion.message));
  statement(assertion.body);
}

void Emitter::attribute(const AttrStmt& attribute) {
  if (attribute.attr_key == profile_key) return timed(attribute);
  const auto* buffer = attribute.node.as<Buffer>();
  if (attribute.attr_key != "nontemporal" || !buffer) return statement(attribute.body);
  const bool is_outermost = non_temporal_.insert(buffer->data.get()).second;
  statement(attribute.body);
  if (is_outermost) non_temporal_.erase(buffer->data.get());
}

/// Counts the runs of a statement and the ticks that they take, in memory that the loader finds by
/// its name. Runs that leave the function in the middle are not counted.
void Emitter::timed(const AttrStmt& attribute) {
  llvm::Type* const pair = llvm::ArrayType::get(ir_.getInt64Ty(), 2);
  const std::string name = profile_symbol(attribute);
  auto* counters = module_.module.getGlobalVariable(name);
  if (!counters) {
    counters = new llvm::GlobalVariable(module_.module, pair, /*isConstant=*/false,
                                        llvm::GlobalValue::ExternalLinkage,
                                        llvm::Constant::getNullValue(pair), name);
  }
  llvm::Value* const start = clock();
  statement(attribute.body);
  if (is_terminated()) return;
  const auto add = [&](std::size_t offset, llvm::Value* value) {
    llvm::Value* place = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), counters, offset);
    ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, place, value, llvm::MaybeAlign(8),
                        llvm::AtomicOrdering::Monotonic);
  };
  add(offsetof(LoopCounters, ticks), ir_.CreateSub(clock(), start));
  add(offsetof(LoopCounters, runs), int64(1));
}

/// Ticks of a constant rate; see runtime/profile.h.
llvm::Value* Emitter::clock() {
  const bool is_x86 = module_.module.getTargetTriple().isX86();
  return ir_.CreateIntrinsic(
      is_x86 ? llvm::Intrinsic::readcyclecounter : llvm::Intrinsic::readsteadycounter, {});
}

void Emitter::branch_if(const Expr& condition, llvm::BasicBlock* yes, llvm::BasicBlock* no) {
  const auto* call = condition.as<Call>();
  llvm::MDNode* weights = nullptr;
  if (call && call->op == op("likely")) {
    weights = llvm::MDBuilder(module_.context).createLikelyBranchWeights();
  }
  ir_.CreateCondBr(value(condition), yes, no, weights);
}

void Emitter::if_then_else(const IfThenElse& branch) {
  if (const std::int64_t* constant = as_int(branch.condition)) {
    if (*constant != 0) return statement(branch.then_case);
    if (branch.else_case) statement(branch.else_case);
    return;
  }
  llvm::BasicBlock* yes = new_block("then");
  llvm::BasicBlock* end = new_block("end_if");
  llvm::BasicBlock* no = branch.else_case ? new_block("else") : end;
  branch_if(branch.condition, yes, no);
  ir_.SetInsertPoint(yes);
  statement(branch.then_case);
  if (!is_terminated()) ir_.CreateBr(end);
  if (branch.else_case) {
    ir_.SetInsertPoint(no);
    statement(branch.else_case);
    if (!is_terminated()) ir_.CreateBr(end);
  }
  continue_at(end);
}

void Emitter::in_either_case(llvm::Value* condition, const std::function<void()>& yes,
                             const std::function<void()>& no) {
  llvm::BasicBlock* yes_block = new_block("then");
  llvm::BasicBlock* no_block = new_block("else");
  llvm::BasicBlock* end = new_block("end_if");
  ir_.CreateCondBr(condition, yes_block, no_block);
  for (const bool first : {true, false}) {
    ir_.SetInsertPoint(first ? yes_block : no_block);
    (first ? yes : no)();
    if (!is_terminated()) ir_.CreateBr(end);
  }
  continue_at(end);
}

/// What follows is in `block`, unless nothing leads there.
void Emitter::continue_at(llvm::BasicBlock* block) {
  if (block->hasNPredecessorsOrMore(1)) {
    ir_.SetInsertPoint(block);
  } else {
    block->eraseFromParent();
  }
}

void Emitter::jump(bool to_end, const Stmt& stmt) {
  require(!exits_.empty() && (exits_.back().end || !to_end), "break_in_loop",
          hint("a parallel loop has no order in which it could be left"), "{} leaves {}",
          node_info(*stmt.get()).name, exits_.empty() ? "no loop" : "a parallel loop");
  release_to(exits_.back().held);
  ir_.CreateBr(to_end ? exits_.back().end : exits_.back().next);
}

void Emitter::leave_with(const Expr& result) {
  require(!is_loop_body_, "return_in_parallel_loop", hint("make the loop serial"),
          "Return leaves a parallel loop");
  if (result_ && result.defined()) {
    ir_.CreateStore(value(result), result_);
  } else {
    require(!result.defined() || is_const_int(result, 0), "return_has_no_value",
            hint("write results into a buffer, or call it from another function of the module"),
            "Return gives a value, which a host cannot take");
  }
  leave(ir_.getInt32(LS_OK));
}

void Emitter::leave(llvm::Value* code) {
  for (std::size_t i = held_.size(); i > 0; --i) give_back(held_[i - 1]);
  if (needs_fence_) ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {});
  ir_.CreateRet(code);
}

void Emitter::finish() {
  if (!is_terminated()) leave(ir_.getInt32(LS_OK));
}

void Emitter::leave_unless(llvm::Value* ok, int code, int parameter, int dimension,
                           llvm::Value* expected, llvm::Value* actual, llvm::Value* message) {
  llvm::BasicBlock* failed = new_block("failed");
  llvm::BasicBlock* passed = new_block("passed");
  ir_.CreateCondBr(ok, passed, failed,
                   llvm::MDBuilder(module_.context).createLikelyBranchWeights());
  ir_.SetInsertPoint(failed);
  const auto number = [&](int value) { return ir_.getInt32(static_cast<std::uint32_t>(value)); };
  leave(ir_.CreateCall(module_.fail(), {context_, number(code), number(parameter),
                                        number(dimension), expected, actual, message}));
  ir_.SetInsertPoint(passed);
}

void Emitter::leave_if_failed(llvm::Value* code) {
  llvm::BasicBlock* failed = new_block("failed");
  llvm::BasicBlock* passed = new_block("passed");
  ir_.CreateCondBr(ir_.CreateICmpEQ(code, ir_.getInt32(LS_OK)), passed, failed);
  ir_.SetInsertPoint(failed);
  leave(code);
  ir_.SetInsertPoint(passed);
}

}  // namespace loopsmith::detail
